//! A log file that does not grow for ever: at a size it becomes `….1`, the one
//! before it `….2`, and the oldest goes.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// When a file is full.
pub(crate) const FULL: u64 = 4 * 1024 * 1024;
/// Full files that are kept besides the one being written.
pub(crate) const KEPT: u32 = 4;

/// One rotated file, private to its owner.
#[derive(Debug)]
pub(crate) struct Rotated {
    path: PathBuf,
    file: Option<File>,
    size: u64,
    full: u64,
}

impl Rotated {
    /// Goes on with the file at `path`, or begins it.
    pub(crate) fn open(path: &Path, full: u64) -> io::Result<Self> {
        if let Some(folder) = path.parent()
            && !folder.is_dir()
        {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)?;
        }
        let file = begin(path)?;
        let size = file.metadata()?.len();
        Ok(Self {
            path: path.to_owned(),
            file: Some(file),
            size,
            full,
        })
    }

    /// Writes one line. A log that cannot be written must not stop the work.
    pub(crate) fn write(&mut self, line: &str) {
        if self.size >= self.full {
            self.rotate();
        }
        let Some(file) = &mut self.file else { return };
        // One write, so that a reader never sees half of a short line.
        if file.write_all(format!("{line}\n").as_bytes()).is_ok() {
            self.size += line.len() as u64 + 1;
        }
    }

    fn rotate(&mut self) {
        for number in (1..KEPT).rev() {
            let _ = fs::rename(
                numbered(&self.path, number),
                numbered(&self.path, number + 1),
            );
        }
        let _ = fs::rename(&self.path, numbered(&self.path, 1));
        self.file = begin(&self.path).ok();
        self.size = 0;
    }
}

fn begin(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
}

/// The name of an older file: 1 is the newest of them.
pub(crate) fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file_moves_on_and_the_oldest_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs/coder.jsonl");
        let mut log = Rotated::open(&path, 20).unwrap();
        for number in 0..40 {
            log.write(&format!("line {number:03}"));
        }
        let text = |path: &Path| fs::read_to_string(path).unwrap();
        assert!(text(&path).contains("line 039"));
        assert!(text(&numbered(&path, 1)).lines().count() <= 3);
        assert!(numbered(&path, KEPT).exists() && !numbered(&path, KEPT + 1).exists());
        // Every line of what is left is whole and in order.
        let kept = (1..=KEPT).rev().map(|n| text(&numbered(&path, n)));
        let all: String = kept.chain([text(&path)]).collect();
        let numbers: Vec<u32> = all.lines().map(|l| l[5..].parse().unwrap()).collect();
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1));
        drop(log);
        Rotated::open(&path, 20).unwrap().write("after a restart");
        assert!(text(&path).ends_with("after a restart\n"));
    }
}
