//! A thread that was closed long ago: packed into one file, and back with the
//! first word in it.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use serde_json::json;

use crate::{
    said::ended,
    team::{Team, command, says},
};

/// Makes everything below look as if nobody had written it for so long.
fn age(folder: &Path, days: u64) {
    let then = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
    for item in fs::read_dir(folder).unwrap().flatten() {
        if item.file_type().unwrap().is_dir() {
            age(&item.path(), days);
        } else {
            touch(&item.path(), then);
        }
    }
    touch(folder, then);
}

fn touch(path: &Path, then: SystemTime) {
    let times = fs::FileTimes::new().set_modified(then);
    fs::File::open(path).unwrap().set_times(times).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_that_was_closed_long_ago_is_packed_and_comes_back() {
    let scenario = include_str!("../../demo/scenarios/json-flag.yaml");
    let team = Team::start_configured(scenario, |config| {
        config["retentionDays"] = json!(30);
        // The same round looks after silent worktrees: every half second.
        config["limits"] = json!({"quietHours": 0.001});
    })
    .await;
    let root = team.say("add a --json flag").await;
    team.press(&root, "approve").await;
    team.press(&root, "merge").await;
    team.until(&root, "the report", ended).await;
    let threads = team.scratch.root().join(".codebutler/threads");
    let name = format!("{}-{}", team.channel, root.replace('.', "-"));
    let (folder, archive) = (threads.join(&name), threads.join(format!("{name}.tar.gz")));
    let before = team.log(&root, "coder");
    assert!(!before.is_empty());

    // Old enough, and somebody is still in it.
    age(&folder, 40);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(folder.exists());
    for role in ["pm", "coder", "reviewer", "lead"] {
        team.kill(role);
    }
    // Nobody is in it, and it is not old enough.
    age(&folder, 20);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(folder.exists());
    age(&folder, 40);
    team.wait("the archive", || archive.exists() && !folder.exists())
        .await;
    let show = command(team.scratch.root(), &team.home())
        .args(["threads", "show", &name])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&show.stderr);
    assert!(said.contains("is packed in"), "{said}");

    team.reply(&root, "cost").await;
    team.until(&root, "the bill", |thread| says(thread, "rehearsal/coder"))
        .await;
    team.wait("the folder", || folder.exists() && !archive.exists())
        .await;
    assert_eq!(team.log(&root, "coder"), before);

    // One that is damaged is told in the thread, and taken up when it is repaired.
    for role in ["pm", "coder", "reviewer", "lead"] {
        team.kill(role);
    }
    age(&folder, 40);
    team.wait("the second archive", || {
        archive.exists() && !folder.exists()
    })
    .await;
    let whole = fs::read(&archive).unwrap();
    fs::write(&archive, &whole[..whole.len() / 2]).unwrap();
    team.reply(&root, "and what did we do here?").await;
    team.until(&root, "the trouble", |thread| {
        says(thread, "I had to stop") && says(thread, &format!("{name}.tar.gz"))
    })
    .await;
    fs::write(&archive, whole).unwrap();
    team.wait("the folder again", || folder.exists() && !archive.exists())
        .await;
}
