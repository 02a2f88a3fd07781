//! The promises of the journal, on a real disk.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod damage;
mod files;
mod owner;
mod together;

use std::path::PathBuf;

use butler_journal::Journal;
use butler_protocol::{Epoch, Record};
use tempfile::TempDir;

/// A scratch folder and the path of a log in it that is not there yet.
fn scratch() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("conversations/coder.jsonl");
    (folder, path)
}

fn note(text: &str) -> Record {
    Record::Note { text: text.into() }
}

/// A log with three lines of different length, closed again.
fn three_lines(path: &std::path::Path) {
    let (mut journal, _) = Journal::open(path, Epoch(1)).unwrap();
    journal.append(note("one"), 1).unwrap();
    journal
        .append(note("zwei\nmit Umbruch, \"Zitat\" und ü"), 2)
        .unwrap();
    journal.append(note("three three three"), 3).unwrap();
}
