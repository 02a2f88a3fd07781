//! Reading a log: by its owner before it writes, and by anybody else at any time.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

use butler_protocol::Entry;

use crate::{
    JournalError,
    line::{self, Bad},
};

/// What a log holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Log {
    /// Every whole line, in order.
    pub entries: Vec<Entry>,
    /// Whether something stands behind the last whole line.
    pub tail: Tail,
}

/// What stands behind the last whole line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// Nothing.
    Clean,
    /// The beginning of a line: being written now, or torn by a crash.
    Torn {
        /// Bytes of whole lines before it.
        good_bytes: u64,
    },
}

impl Log {
    /// Whether the last line is not whole.
    #[must_use]
    pub fn torn(&self) -> bool {
        self.tail != Tail::Clean
    }
}

/// Reads a log without owning it, and never changes it. A log that does not
/// exist yet is empty.
///
/// # Errors
/// When the file cannot be read, or a line before the last is damaged.
pub fn read(path: &Path) -> Result<Log, JournalError> {
    match fs::read(path) {
        Ok(bytes) => parse(path, &bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Log {
            entries: Vec::new(),
            tail: Tail::Clean,
        }),
        Err(error) => Err(JournalError::io("read", path)(error)),
    }
}

/// Bytes at the end of a log that are looked at.
const TAIL_BYTES: u64 = 64 * 1024;

/// The last whole lines of a log, oldest first, without reading all of it; none
/// when the log is empty or its last line alone is longer than what is read. A
/// torn end is passed over.
///
/// # Errors
/// When the file cannot be read, or one of these lines is damaged.
pub fn last_entries(path: &Path) -> Result<Vec<Entry>, JournalError> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(JournalError::io("open", path)(error)),
    };
    let failed = |error| JournalError::io("read", path)(error);
    let length = file.metadata().map_err(failed)?.len();
    let from = length.saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(from)).map_err(failed)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(failed)?;
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    // What stands behind the last newline is no line yet.
    lines.pop();
    if from > 0 && !lines.is_empty() {
        // The first one was cut by us.
        lines.remove(0);
    }
    let whole = lines
        .into_iter()
        .map(|line| line::decode(line).map_err(|bad| refused(path, 0, bad)));
    whole.collect()
}

/// A line without its newline was torn. So was a last line whose bytes did not
/// all arrive: a crash may keep the end of a write and lose its middle. A bad
/// line with anything behind it is damage, also when the newline between the
/// two is what was damaged.
pub(crate) fn parse(path: &Path, bytes: &[u8]) -> Result<Log, JournalError> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut good = 0;
    while good < bytes.len() {
        let rest = &bytes[good..];
        let end = rest.iter().position(|byte| *byte == b'\n');
        let (line, next) = end.map_or((rest, bytes.len()), |end| (&rest[..end], good + end + 1));
        let expected = entries.len() as u64 + 1;
        let decoded = line::decode(line).and_then(|entry| in_order(entry, expected));
        match decoded {
            Ok(entry) if end.is_some() => entries.push(entry),
            // Also at the end, where a broken one would be cut off.
            Err(bad @ Bad::Newer(_)) if end.is_some() => {
                return Err(refused(path, expected, bad));
            }
            Err(bad) if next < bytes.len() || line::hides_another(line) => {
                return Err(refused(path, expected, bad));
            }
            _ => {
                let good_bytes = good as u64;
                return Ok(Log {
                    entries,
                    tail: Tail::Torn { good_bytes },
                });
            }
        }
        good = next;
    }
    Ok(Log {
        entries,
        tail: Tail::Clean,
    })
}

fn refused(path: &Path, line: u64, bad: Bad) -> JournalError {
    let path = path.to_owned();
    match bad {
        Bad::Broken(problem) => JournalError::Damaged {
            path,
            line,
            problem,
        },
        Bad::Newer(problem) => JournalError::Newer {
            path,
            line,
            problem,
        },
    }
}

fn in_order(entry: Entry, expected: u64) -> Result<Entry, Bad> {
    if entry.seq == expected {
        return Ok(entry);
    }
    let problem = format!("it has number {} instead of {expected}", entry.seq);
    Err(Bad::Broken(problem))
}

#[cfg(test)]
mod tests {
    use butler_protocol::Record;
    use proptest::prelude::*;

    use super::*;

    fn log(texts: &[String]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (seq, text) in (1..).zip(texts) {
            let record = Record::Note { text: text.clone() };
            let entry = Entry {
                seq,
                epoch: 1,
                at_ms: 0,
                record,
            };
            line::encode(&entry, &mut bytes).unwrap();
        }
        bytes
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(Path::new("x"), &bytes);
        }

        /// Whatever one changed byte does, no line before it is lost without a word.
        #[test]
        fn a_changed_byte_never_goes_unnoticed(
            texts in prop::collection::vec(".{0,20}", 1..5), at: prop::sample::Index, change in 1u8..
        ) {
            let whole = log(&texts);
            let mut bytes = whole.clone();
            let at = at.index(bytes.len());
            bytes[at] ^= change;
            let line = whole[..at].iter().filter(|byte| **byte == b'\n').count();
            match parse(Path::new("x"), &bytes) {
                Err(JournalError::Damaged { line: named, .. }) => prop_assert_eq!(named, line as u64 + 1),
                Err(other) => prop_assert!(false, "{}", other),
                Ok(log) => {
                    prop_assert!(log.torn());
                    prop_assert_eq!(log.entries.len(), line);
                    prop_assert_eq!(line + 1, texts.len());
                }
            }
        }
    }
}

#[cfg(test)]
mod end_tests {
    use std::io::Write;

    use butler_protocol::{Epoch, Record};

    use super::*;
    use crate::Journal;

    /// What an older build finds after somebody went back to it.
    #[test]
    fn what_a_newer_build_wrote_is_refused_and_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("coder.jsonl");
        let entry = r#"{"seq":1,"epoch":1,"at_ms":0,"record":{"t":"of_tomorrow"}}"#;
        let crc = crc32c::crc32c(entry.as_bytes());
        for middle in ["", "\"v\":2,"] {
            let line = format!("{{\"crc\":\"{crc:08x}\",{middle}\"entry\":{entry}}}\n");
            std::fs::write(&path, &line).unwrap();
            let refused = Journal::open(&path, Epoch(9)).unwrap_err();
            assert!(
                refused.to_string().contains("newer codebutler"),
                "{refused}"
            );
            let refused = last_entries(&path).unwrap_err();
            assert!(
                refused.to_string().contains("newer codebutler"),
                "{refused}"
            );
            assert_eq!(std::fs::read_to_string(&path).unwrap(), line);
        }
    }

    #[test]
    fn the_end_of_a_long_log_is_read_alone_and_a_torn_line_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("coder.jsonl");
        assert!(last_entries(&path).unwrap().is_empty(), "no log yet");
        let (mut journal, _) = Journal::open(&path, Epoch(1)).unwrap();
        for number in 0..300 {
            let text = format!("{number} {}", "x".repeat(500));
            journal.append(Record::Note { text }, number).unwrap();
        }
        drop(journal);
        let all = read(&path).unwrap().entries;
        let last = last_entries(&path).unwrap();
        assert!((50..300).contains(&last.len()), "{}", last.len());
        assert_eq!(last, all[all.len() - last.len()..]);
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(b"{\"crc\":\"0000").unwrap();
        assert_eq!(last_entries(&path).unwrap().last(), all.last());
    }
}
