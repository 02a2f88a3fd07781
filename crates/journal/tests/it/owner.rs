//! One owner, one epoch, and no line that is not known to be on the disk.

use std::fs::{self, OpenOptions};
use std::io::Write;

use butler_journal::{Journal, JournalError, is_owned, read};
use butler_protocol::Epoch;

use crate::{note, scratch, three_lines};

#[test]
fn a_log_has_one_owner_until_that_one_is_gone() {
    let (_folder, path) = scratch();
    assert!(!is_owned(&path).unwrap());
    let (first, _) = Journal::open(&path, Epoch(1)).unwrap();
    assert!(is_owned(&path).unwrap());
    let problem = Journal::open(&path, Epoch(2)).unwrap_err();
    assert!(matches!(problem, JournalError::Owned { .. }), "{problem}");
    drop(first);
    assert!(!is_owned(&path).unwrap());
    assert!(Journal::open(&path, Epoch(2)).is_ok());
}

#[test]
fn only_the_owner_cuts_a_torn_tail() {
    let (_folder, path) = scratch();
    three_lines(&path);
    let (owner, _) = Journal::open(&path, Epoch(1)).unwrap();
    OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap()
        .write_all(b"{\"crc\"")
        .unwrap();
    let before = fs::read(&path).unwrap();
    assert!(Journal::open(&path, Epoch(1)).is_err());
    assert_eq!(fs::read(&path).unwrap(), before);
    drop(owner);
}

#[test]
fn an_older_epoch_may_not_write_where_a_later_one_has() {
    let (_folder, path) = scratch();
    let (mut later, _) = Journal::open(&path, Epoch(7)).unwrap();
    let entry = later.append(note("mine"), 5).unwrap();
    assert_eq!((entry.seq, entry.epoch, entry.at_ms), (1, 7, 5));
    drop(later);
    let problem = Journal::open(&path, Epoch(6)).unwrap_err();
    assert!(
        matches!(
            problem,
            JournalError::Stale {
                found: Epoch(7),
                ..
            }
        ),
        "{problem}"
    );
    assert!(Journal::open(&path, Epoch(7)).is_ok());
}

#[test]
fn several_records_go_out_together_and_in_order() {
    let (_folder, path) = scratch();
    let (mut journal, _) = Journal::open(&path, Epoch(1)).unwrap();
    assert!(journal.append_all(vec![], 1).unwrap().is_empty());
    let entries = journal.append_all(vec![note("a"), note("b")], 1).unwrap();
    assert_eq!(
        entries.iter().map(|entry| entry.seq).collect::<Vec<_>>(),
        [1, 2]
    );
    assert_eq!(journal.append(note("c"), 2).unwrap().seq, 3);
    assert_eq!(read(&path).unwrap().entries.len(), 3);
}

#[test]
fn a_log_that_somebody_else_touched_or_removed_takes_nothing_more() {
    let (_folder, path) = scratch();
    let (mut journal, _) = Journal::open(&path, Epoch(1)).unwrap();
    journal.append(note("a"), 1).unwrap();
    OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap()
        .write_all(b"x")
        .unwrap();
    let problem = journal.append(note("b"), 2).unwrap_err();
    assert!(matches!(problem, JournalError::Touched { .. }), "{problem}");
    let problem = journal.append(note("c"), 3).unwrap_err();
    assert!(matches!(problem, JournalError::Closed { .. }), "{problem}");
    drop(journal);

    let (mut journal, entries) = Journal::open(&path, Epoch(1)).unwrap();
    assert_eq!(entries.len(), 1, "opening again cuts what was not ours");
    fs::remove_file(&path).unwrap();
    assert!(journal.append(note("d"), 4).is_err());
}

#[test]
fn a_folder_where_the_log_should_be_is_named() {
    let (_folder, path) = scratch();
    fs::create_dir_all(&path).unwrap();
    let problem = Journal::open(&path, Epoch(1)).unwrap_err().to_string();
    assert!(problem.contains("coder.jsonl"), "{problem}");
}
