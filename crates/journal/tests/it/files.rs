//! The folder of a thread, and files that are replaced whole.

use std::{fs, os::unix::fs::PermissionsExt};

use butler_journal::{Journal, ThreadDir, write_whole};
use butler_protocol::{Epoch, RequestId, Role, ThreadId};

fn thread() -> ThreadId {
    "C0001/1700000000.000100".parse().unwrap()
}

#[test]
fn a_thread_knows_where_its_files_are() {
    let folder = tempfile::tempdir().unwrap();
    let dir = ThreadDir::new(folder.path(), &thread());
    let root = folder.path().join("C0001-1700000000-000100");
    assert_eq!(dir.root(), root);
    let expected = [
        (dir.conversation(Role::Pm), "conversations/pm.jsonl"),
        (
            dir.research(&RequestId::new("k3m9qa")),
            "conversations/researcher-k3m9qa.jsonl",
        ),
        (
            dir.decisions(&dir.conversation(Role::Lead)),
            "decisions/lead.jsonl",
        ),
        (
            dir.usage(&dir.research(&RequestId::new("k3m9qa"))),
            "usage/researcher-k3m9qa.jsonl",
        ),
        (dir.facts(), "thread.json"),
    ];
    for (path, tail) in expected {
        assert_eq!(path, root.join(tail));
    }
}

#[test]
fn threads_are_found_again_and_other_folders_are_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let threads = folder.path().join("threads");
    assert!(ThreadDir::list(&threads).unwrap().is_empty());
    let path = ThreadDir::new(&threads, &thread()).conversation(Role::Pm);
    let (journal, _) = Journal::open(&path, Epoch(1)).unwrap();
    drop(journal);
    fs::create_dir(threads.join("not-a-thread")).unwrap();
    assert_eq!(ThreadDir::list(&threads).unwrap(), [thread()]);
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "others read no transcripts");
}

#[test]
fn a_file_is_replaced_whole_and_leaves_nothing_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let dir = ThreadDir::new(folder.path(), &thread());
    write_whole(&dir.facts(), b"first").unwrap();
    let first = fs::File::open(dir.facts()).unwrap();
    write_whole(&dir.facts(), b"second").unwrap();
    assert_eq!(fs::read(dir.facts()).unwrap(), b"second");
    assert_eq!(
        std::io::read_to_string(first).unwrap(),
        "first",
        "a reader keeps what it opened"
    );
    assert_eq!(fs::read_dir(dir.root()).unwrap().count(), 1);
}

#[test]
fn a_replacement_that_fails_leaves_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("plan.md");
    fs::create_dir(&target).unwrap();
    fs::write(target.join("inside"), "x").unwrap();
    let problem = write_whole(&target, b"new").unwrap_err().to_string();
    assert!(problem.contains("plan.md"), "{problem}");
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "no temporary file stays"
    );
}
