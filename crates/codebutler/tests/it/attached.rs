//! What people attach reaches the role that they speak to: on the page, and as a file of
//! its own when it was pasted.

use std::os::unix::fs::PermissionsExt;

use crate::team::{Team, says};

/// The smallest whole PNG picture.
const PIXEL: &[u8] = &[
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0,
    0, 0, 31, 21, 196, 137, 0, 0, 0, 13, 73, 68, 65, 84, 120, 156, 99, 248, 207, 192, 240, 31, 0,
    5, 0, 1, 255, 137, 153, 61, 29, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attached_files_are_read_and_pasted_logs_become_files() {
    let team = Team::start(include_str!("scenarios/attached.yaml")).await;
    let log = b"one\nERROR: out of paper\nthree\n";
    let words = "what does the printer want?";
    let root = team.say_with_file("", words, ("printer.log", log)).await;
    team.until(&root, "the answer", |thread| says(thread, "out of paper"))
        .await;

    let pasted = "and this?\n".to_owned() + &"a line of it\n".repeat(3_999);
    team.say_with_file(&root, &pasted, ("shot.png", PIXEL))
        .await;
    team.until(&root, "both", |thread| says(thread, "I have seen both"))
        .await;

    // They are in no change, and nobody can run them.
    let folder = team.scratch.root().join(".codebutler/attached");
    let threads = std::fs::read_dir(&folder).unwrap().flatten();
    let kept = threads
        .filter(|thread| thread.path().is_dir())
        .flat_map(|thread| std::fs::read_dir(thread.path()).unwrap().flatten());
    let modes: Vec<u32> = kept
        .map(|file| file.metadata().unwrap().permissions().mode() & 0o777)
        .collect();
    assert_eq!(modes, [0o400; 3]);
    let status = team.scratch.clone.git(&["status", "--porcelain"]);
    assert!(!status.contains("attached"), "{status}");
}
