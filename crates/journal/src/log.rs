//! The owner's side of a log. Ownership is a lock on the file itself, so it
//! ends with the process, however that ends.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use butler_protocol::{Entry, Epoch, Record, fault};

use crate::{
    JournalError, Tail,
    dir::{create_dirs, sync_dirs, write_whole},
    line,
    read::{parse, read},
};

/// One log, owned.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    epoch: Epoch,
    next_seq: u64,
    /// Bytes that are in the file as far as we know.
    length: u64,
    usable: bool,
    /// Folders in which something was made for this log: to be flushed with its
    /// first line, because a log without a line is as good as none.
    made_in: Vec<PathBuf>,
}

impl Journal {
    /// Takes ownership of a log, making it when it is not there, and reads what
    /// it holds. A torn last line is cut off.
    ///
    /// # Errors
    /// When somebody else owns it, a later epoch has written to it, a line in
    /// the middle is damaged, or the disk says no.
    pub fn open(path: &Path, epoch: Epoch) -> Result<(Self, Vec<Entry>), JournalError> {
        let (mut file, mut made_in) = open_or_create(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(JournalError::Owned {
                    path: path.to_owned(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(JournalError::io("lock", path)(error)),
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)
            .map_err(JournalError::io("read", path))?;
        let log = parse(path, &bytes)?;
        let found = Epoch(
            log.entries
                .iter()
                .map(|entry| entry.epoch)
                .max()
                .unwrap_or(0),
        );
        if found > epoch {
            return Err(JournalError::Stale {
                path: path.to_owned(),
                ours: epoch,
                found,
            });
        }
        let length = match log.tail {
            Tail::Clean => bytes.len() as u64,
            Tail::Torn { good_bytes } => {
                cut(&file, good_bytes).map_err(JournalError::io("cut the torn end of", path))?;
                good_bytes
            }
        };
        if log.entries.is_empty() && made_in.is_empty() {
            // Whoever made it may have died before its first line.
            made_in.extend(path.parent().map(Path::to_owned));
        }
        let journal = Self {
            path: path.to_owned(),
            file,
            epoch,
            next_seq: log.entries.len() as u64 + 1,
            length,
            usable: true,
            made_in,
        };
        Ok((journal, log.entries))
    }

    /// How many lines it has.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.next_seq - 1
    }

    /// Writes one record; it is on the disk when this returns.
    ///
    /// # Errors
    /// When it could not be written. Nothing more is taken after that.
    pub fn append(&mut self, record: Record, at_ms: i64) -> Result<Entry, JournalError> {
        let entry = self.entry(self.next_seq, record, at_ms);
        self.write(std::slice::from_ref(&entry))?;
        Ok(entry)
    }

    /// Writes several records with one write and one flush. A crash in the
    /// middle keeps the first few of them, never one without those before it.
    ///
    /// # Errors
    /// When they could not be written. Nothing more is taken after that.
    pub fn append_all(
        &mut self,
        records: Vec<Record>,
        at_ms: i64,
    ) -> Result<Vec<Entry>, JournalError> {
        let entries: Vec<Entry> = (self.next_seq..)
            .zip(records)
            .map(|(seq, record)| self.entry(seq, record, at_ms))
            .collect();
        self.write(&entries)?;
        Ok(entries)
    }

    fn entry(&self, seq: u64, record: Record, at_ms: i64) -> Entry {
        Entry {
            seq,
            epoch: self.epoch.0,
            at_ms,
            record,
        }
    }

    fn write(&mut self, entries: &[Entry]) -> Result<(), JournalError> {
        if !self.usable {
            return Err(JournalError::Closed {
                path: self.path.clone(),
            });
        }
        if entries.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::new();
        for entry in entries {
            line::encode(entry, &mut bytes).map_err(|source| JournalError::Record {
                path: self.path.clone(),
                source,
            })?;
        }
        self.check_untouched()?;
        fault("journal.before-append");
        // After a failed write or flush nobody knows what the disk holds: only
        // reading it again tells, so the journal closes itself.
        self.usable = false;
        self.file
            .write_all(&bytes)
            .and_then(|()| self.file.sync_data())
            .map_err(JournalError::io("append to", &self.path))?;
        sync_dirs(&self.made_in)?;
        self.made_in.clear();
        self.usable = true;
        fault("journal.after-append");
        self.length += bytes.len() as u64;
        self.next_seq += entries.len() as u64;
        Ok(())
    }

    /// A line written behind foreign bytes, or to a file that was deleted, is
    /// no record of anything.
    fn check_untouched(&mut self) -> Result<(), JournalError> {
        let metadata = self
            .file
            .metadata()
            .map_err(JournalError::io("look at", &self.path))?;
        if metadata.len() == self.length && metadata.nlink() > 0 {
            return Ok(());
        }
        self.usable = false;
        Err(JournalError::Touched {
            path: self.path.clone(),
        })
    }
}

/// Makes a log that of another owner: the first `keep` lines stay, `entries` follow. Lines
/// of ours beyond that are put aside, under another name.
///
/// # Errors
/// When somebody owns the log, or the disk says no; it is then as it was.
pub fn adopt(path: &Path, keep: u64, entries: &[Entry]) -> Result<(), JournalError> {
    if is_owned(path)? {
        return Err(JournalError::Owned {
            path: path.to_owned(),
        });
    }
    let ours = read(path)?.entries;
    let keep = usize::try_from(keep).unwrap_or(usize::MAX).min(ours.len());
    let mut bytes = Vec::new();
    for entry in ours[..keep].iter().chain(entries) {
        line::encode(entry, &mut bytes).map_err(|source| JournalError::Record {
            path: path.to_owned(),
            source,
        })?;
    }
    if ours.len() > keep {
        let epoch = ours.iter().map(|entry| entry.epoch).max().unwrap_or(0);
        let aside = path.with_extension(format!("jsonl.aside-{epoch}"));
        let old = fs::read(path).map_err(JournalError::io("read", path))?;
        write_whole(&aside, &old)?;
    }
    write_whole(path, &bytes)
}

/// Opens for reading and appending. Where something had to be made, the folders
/// that must be flushed to make that durable.
fn open_or_create(path: &Path) -> Result<(File, Vec<PathBuf>), JournalError> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).mode(0o600);
    match options.open(path) {
        Ok(file) => return Ok((file, Vec::new())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(JournalError::io("open", path)(error)),
    }
    let parent = path.parent().unwrap_or(Path::new("."));
    let mut made_in = create_dirs(parent)?;
    fault("journal.before-create");
    let file = options
        .create(true)
        .open(path)
        .map_err(JournalError::io("create", path))?;
    fault("journal.after-create");
    made_in.push(parent.to_owned());
    Ok((file, made_in))
}

fn cut(file: &File, good_bytes: u64) -> io::Result<()> {
    fault("journal.before-cut");
    file.set_len(good_bytes)?;
    file.sync_all()?;
    fault("journal.after-cut");
    Ok(())
}

/// Whether somebody owns the log at `path` right now.
///
/// # Errors
/// When the file is there and cannot be looked at.
pub fn is_owned(path: &Path) -> Result<bool, JournalError> {
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(JournalError::io("open", path)(error)),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(JournalError::io("lock", path)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_of_another_owner_is_taken_over_and_lines_of_ours_alone_are_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("coder.jsonl");
        let line = |seq: u64, epoch: u64| Entry {
            seq,
            epoch,
            at_ms: 5,
            record: Record::Note {
                text: format!("{seq} of {epoch}"),
            },
        };
        adopt(&path, 0, &[line(1, 1), line(2, 1)]).unwrap();
        let (mut journal, log) = Journal::open(&path, Epoch(2)).unwrap();
        assert_eq!(log, [line(1, 1), line(2, 1)]);
        let mine = journal.append(Record::Dequeued, 7).unwrap();
        assert!(matches!(
            adopt(&path, 2, &[]),
            Err(JournalError::Owned { .. })
        ));
        drop(journal);
        adopt(&path, 2, &[line(3, 3)]).unwrap();
        assert_eq!(
            read(&path).unwrap().entries,
            [line(1, 1), line(2, 1), line(3, 3)]
        );
        let aside = read(&folder.path().join("coder.jsonl.aside-2")).unwrap();
        assert_eq!(aside.entries.last(), Some(&mine));
        Journal::open(&path, Epoch(2)).unwrap_err();
        Journal::open(&path, Epoch(3)).unwrap();
    }

    #[test]
    fn what_was_made_for_a_log_is_flushed_with_its_first_line() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("thread/conversations");
        let path = folder.join("coder.jsonl");
        let note = || Record::Note { text: "x".into() };
        let (journal, _) = Journal::open(&path, Epoch(1)).unwrap();
        let above = [scratch.path(), &scratch.path().join("thread"), &folder];
        assert_eq!(journal.made_in, above);
        drop(journal);
        // Its maker died; the one who writes the first line still flushes.
        let (mut journal, _) = Journal::open(&path, Epoch(1)).unwrap();
        assert_eq!(journal.made_in, [folder]);
        journal.made_in.push(scratch.path().join("gone"));
        let problem = journal.append(note(), 1).unwrap_err();
        assert!(matches!(problem, JournalError::Io { .. }), "{problem}");
        let problem = journal.append(note(), 2).unwrap_err();
        assert!(matches!(problem, JournalError::Closed { .. }), "{problem}");
        drop(journal);
        let (journal, _) = Journal::open(&path, Epoch(1)).unwrap();
        assert!(journal.made_in.is_empty(), "it has a line");
    }

    #[test]
    fn after_a_failed_write_nothing_more_is_taken_until_the_log_is_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("coder.jsonl");
        let note = || Record::Note { text: "x".into() };
        let (mut journal, _) = Journal::open(&path, Epoch(1)).unwrap();
        journal.append(note(), 1).unwrap();
        // A descriptor without the right to write fails as a full disk does.
        let writable = std::mem::replace(&mut journal.file, File::open(&path).unwrap());
        let problem = journal.append(note(), 2).unwrap_err();
        assert!(matches!(problem, JournalError::Io { .. }), "{problem}");
        journal.file = writable;
        let problem = journal.append(note(), 3).unwrap_err();
        assert!(matches!(problem, JournalError::Closed { .. }), "{problem}");
        drop(journal);
        let (mut journal, entries) = Journal::open(&path, Epoch(1)).unwrap();
        assert_eq!(entries.len(), 1);
        assert_eq!(journal.append(note(), 4).unwrap().seq, 2);
    }
}
