//! Undo on the time line: each call that may lose files has a button, and a click on it
//! brings them back, whatever the files are called.

use std::{fs, path::PathBuf};

use crate::team::{Team, says};

/// The number in the form of the call whose row holds `words`.
fn number_beside(page: &str, words: &str) -> u32 {
    let row = page.split("<li").find(|row| row.contains(words));
    let row = row.unwrap_or_else(|| panic!("no row with {words}: {page}"));
    let value = row.split("value=\"undo ").nth(1).unwrap();
    value.split('"').next().unwrap().parse().unwrap()
}

/// What the browser does when the button of that row is pressed.
async fn click(team: &Team, root: &str, words: &str) {
    let page = team
        .page(&format!("c/{}/{root}/timeline", team.channel))
        .await;
    assert!(!page.contains("<img src=x>"), "{page}");
    let number = number_beside(&page, words);
    let word = format!("undo {number}");
    let path = format!("c/{}/say", team.channel);
    team.submit(&path, &[("thread_ts", root), ("text", &word)])
        .await;
}

fn worktree(team: &Team) -> PathBuf {
    let branches = team.scratch.root().join(".codebutler/branches");
    let mut folders = fs::read_dir(branches).unwrap().flatten();
    let own = folders.find(|one| one.file_name().to_string_lossy().starts_with("say-hello"));
    own.unwrap().path()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_click_on_the_time_line_brings_the_files_back() {
    let team = Team::start(include_str!("scenarios/undo.yaml")).await;
    let root = team.say("say hello").await;
    team.press(&root, "approve").await;
    let asks = "Is this the greeting you meant?";
    team.until(&root, "the question", |thread| says(thread, asks))
        .await;
    let folder = worktree(&team);
    let greeting = || fs::read_to_string(folder.join("hello.txt")).ok();
    let odd = folder.join("\"></form><img src=x>.txt");
    assert_eq!(greeting().as_deref(), Some("lost"));

    click(&team, &root, "printf lost").await;
    let thread = team
        .until(&root, "the answer", |thread| {
            says(thread, "as they were before Bash printf")
        })
        .await;
    assert_eq!(greeting().as_deref(), Some("hello\n"));
    assert!(
        odd.exists() && says(&thread, "1 written, 0 removed"),
        "{thread:#}"
    );

    click(&team, &root, "&lt;img src=x&gt;.txt").await;
    team.until(&root, "the next answer", |thread| {
        says(thread, "0 written, 1 removed")
    })
    .await;
    assert!(!odd.exists() && greeting().as_deref() == Some("hello\n"));

    // What was there before an undo comes back by the same word.
    team.reply(&root, "undo 4").await;
    team.until(&root, "the way back", |thread| says(thread, "before undo"))
        .await;
    assert_eq!(greeting().as_deref(), Some("lost"));
    team.reply(&root, "undo 99").await;
    team.until(&root, "a no", |thread| {
        says(thread, "Nothing is saved here as 99")
    })
    .await;
}
