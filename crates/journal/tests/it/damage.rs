//! Torn tails, flipped bits and foreign bytes.

use std::fs;

use butler_journal::{Journal, JournalError, read};
use butler_protocol::Epoch;

use crate::{note, scratch, three_lines};

fn line_starts(bytes: &[u8]) -> Vec<usize> {
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    std::iter::once(0)
        .chain(ends.map(|(at, _)| at + 1))
        .collect()
}

#[test]
fn a_log_torn_at_any_byte_keeps_every_whole_line_and_goes_on() {
    let (_folder, path) = scratch();
    three_lines(&path);
    let whole = fs::read(&path).unwrap();
    let starts = line_starts(&whole);
    for length in 0..=whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let kept = starts.iter().filter(|start| **start <= length).count() - 1;

        let seen = read(&path).unwrap();
        assert_eq!(seen.entries.len(), kept, "read at {length}");
        assert_eq!(seen.torn(), !starts.contains(&length), "torn at {length}");
        assert_eq!(
            fs::read(&path).unwrap(),
            &whole[..length],
            "a reader cuts nothing"
        );

        let (mut journal, entries) = Journal::open(&path, Epoch(1)).unwrap();
        assert_eq!(entries, seen.entries, "opened at {length}");
        let entry = journal.append(note("after"), 9).unwrap();
        assert_eq!(entry.seq, kept as u64 + 1);
        drop(journal);
        let after = read(&path).unwrap();
        assert_eq!((after.entries.len(), after.torn()), (kept + 1, false));
        assert_eq!(
            fs::read(&path).unwrap()[..starts[kept]],
            whole[..starts[kept]]
        );
    }
}

#[test]
fn a_flipped_bit_in_the_middle_stops_the_log_and_names_the_line() {
    let (_folder, path) = scratch();
    three_lines(&path);
    let whole = fs::read(&path).unwrap();
    let starts = line_starts(&whole);
    for at in 0..starts[2] {
        for bit in [0, 5] {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            fs::write(&path, &bytes).unwrap();
            let line = starts.iter().filter(|start| **start <= at).count() as u64;
            let problem = Journal::open(&path, Epoch(1)).unwrap_err();
            match &problem {
                // A flipped newline joins two lines, so the first is the bad one.
                JournalError::Damaged { line: named, .. } => assert_eq!(*named, line, "byte {at}"),
                other => panic!("byte {at}: {other}"),
            }
            assert!(problem.to_string().contains("coder.jsonl"), "{problem}");
            assert!(read(&path).is_err());
            assert_eq!(fs::read(&path).unwrap(), bytes, "the file is left alone");
        }
    }
}

#[test]
fn a_last_line_that_lost_its_middle_counts_as_torn() {
    let (_folder, path) = scratch();
    three_lines(&path);
    let mut bytes = fs::read(&path).unwrap();
    let start = line_starts(&bytes)[2];
    bytes[start + 20..start + 30].fill(0);
    fs::write(&path, &bytes).unwrap();
    let (_, entries) = Journal::open(&path, Epoch(1)).unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(fs::read(&path).unwrap().len(), start);
}

#[test]
fn a_missing_or_doubled_line_is_damage() {
    let (_folder, path) = scratch();
    three_lines(&path);
    let whole = fs::read(&path).unwrap();
    let starts = line_starts(&whole);
    let first = &whole[..starts[1]];
    for bytes in [
        whole[starts[1]..].to_vec(),
        [first, first, &whole[starts[1]..]].concat(),
    ] {
        fs::write(&path, &bytes).unwrap();
        let problem = read(&path).unwrap_err().to_string();
        assert!(problem.contains("instead of"), "{problem}");
    }
}

#[test]
fn foreign_files_are_refused_and_nothing_panics() {
    let (_folder, path) = scratch();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    for bytes in [
        &b"hello\nworld\n"[..],
        b"{}\n{}\n",
        b"\n\n",
        b"\xff\xfe\n\xff\n",
    ] {
        fs::write(&path, bytes).unwrap();
        assert!(matches!(
            read(&path),
            Err(JournalError::Damaged { line: 1, .. })
        ));
    }
}
