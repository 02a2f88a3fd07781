//! Reading while another process (here: another thread with its own file) writes.

use std::sync::atomic::{AtomicBool, Ordering};

use butler_journal::{Journal, read};
use butler_protocol::Epoch;

use crate::{note, scratch};

#[test]
fn a_reader_sees_a_growing_prefix_while_the_owner_writes() {
    let (_folder, path) = scratch();
    let (mut journal, _) = Journal::open(&path, Epoch(1)).unwrap();
    let done = AtomicBool::new(false);
    let text = "long enough to need more than one page ".repeat(300);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut last = 0;
            while !done.load(Ordering::Acquire) {
                let log = read(&path).unwrap();
                assert!(log.entries.len() >= last, "what was seen stays");
                last = log.entries.len();
            }
            last
        });
        for at in 0..100 {
            let expected = journal.append(note(&text), at).unwrap().seq;
            assert_eq!(read(&path).unwrap().entries.len() as u64, expected);
        }
        done.store(true, Ordering::Release);
        assert!(reader.join().unwrap() <= 100);
    });
    assert_eq!(read(&path).unwrap().entries.len(), 100);
}
