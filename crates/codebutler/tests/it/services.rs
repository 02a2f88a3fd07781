//! The team as services of a real `systemd --user`, in namespaces of its own, and
//! what `status` says of teams however they are kept.

mod systemd;

use std::{fs, path::Path, time::Duration};

use serde_json::{Value, json};

use self::systemd::Systemd;
use crate::{
    running::{Running, line_with},
    scratch::{Scratch, pushed},
    story::{REQUEST, SCENARIO, assert_remote, assert_story, merged},
    team::{Team, says},
};

/// Everything at once, because to start a team takes most of the time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_team_of_services_lives_through_a_kill_a_restart_and_a_new_binary() {
    let systemd = match Systemd::prepare() {
        Ok(systemd) => systemd,
        Err(why) => return println!("SKIPPED: {why}"),
    };
    let inside = systemd.clone();
    let team = Team::start_apart(SCENARIO, Box::new(move |scratch, _| inside.start(scratch))).await;
    let root = team.scratch.root().to_owned();
    let run = |words: &[&str]| systemd.codebutler(&root, words);

    // Installed and started: everything runs, is connected, and is told.
    let (code, status) = systemd.status(&root);
    assert_eq!(code, 0, "{status:#}");
    for process in processes(&status) {
        assert_eq!(process["keptBy"], "service", "{process:#}");
        assert_eq!(process["connected"], true, "{process:#}");
    }
    let (code, _, err) = run(&["up", "--listen", "127.0.0.1:0"]);
    assert_eq!(code, 4);
    assert!(err.contains("runs already, as services"), "{err}");

    // A story, with a `kill -9` and a restart of everything in the middle of it.
    let request = team.say(REQUEST).await;
    team.press(&request, "approve").await;
    let working = |thread: &Value| says(thread, "is approved");
    team.until(&request, "the Coder's work", working).await;
    systemd.systemctl(&["kill", "--signal=KILL", "codebutler.clone.coder.service"]);
    let (code, out, err) = run(&["restart"]);
    assert_eq!(code, 0, "{out}\n{err}");
    team.press(&request, "merge").await;
    let thread = team.until(&request, "the merge", merged).await;
    assert_story(&thread);
    assert_remote(&team);

    a_new_binary_is_taken_up(&team, &systemd, &root).await;
    a_crash_loop_ends_and_is_told(&team, &systemd, &root).await;

    // Stopped: nothing of ours is left. Removed: nothing but what people need.
    let (code, out, err) = run(&["stop"]);
    assert_eq!(code, 0, "{out}\n{err}");
    assert_eq!(systemd.processes(), Vec::<String>::new());
    let (code, status) = systemd.status(&root);
    assert_eq!(code, 10, "{status:#}");
    assert!(processes(&status).all(|one| one["state"] == "stopped"));
    let (code, out, err) = run(&["uninstall"]);
    assert_eq!(code, 0, "{out}\n{err}");
    assert!(out.contains("stays:") && out.contains("/threads"), "{out}");
    assert_eq!(systemd.unit_files(), Vec::<String>::new());
    let (code, out, _) = run(&["status"]);
    assert_eq!(code, 10, "{out}");
    assert!(
        out.contains("nothing runs") && out.contains("codebutler up"),
        "{out}"
    );
}

/// Each process ends by itself and comes back; the channel reads one line about it.
async fn a_new_binary_is_taken_up(team: &Team, systemd: &Systemd, root: &Path) {
    let before = pids(&systemd.status(root).1);
    systemd.install_again();
    let renewed = || {
        let (code, status) = systemd.status(root);
        let now = pids(&status);
        code == 0 && before.iter().zip(&now).all(|(before, now)| before != now)
    };
    team.wait("the new binary", renewed).await;
    let back = || async {
        let path = format!("v1/channels/{}/messages", team.channel);
        let page = team.page(&path).await;
        page.matches("I am back, version").count()
    };
    let told = async {
        while back().await == 0 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), told)
        .await
        .unwrap();
    assert_eq!(back().await, 1);
}

/// A configuration that cannot be used, on the branch that counts.
async fn a_crash_loop_ends_and_is_told(team: &Team, systemd: &Systemd, root: &Path) {
    let config = root.join(".codebutler/config.json");
    let good = fs::read_to_string(&config).unwrap();
    let commit = |text: &str| {
        fs::write(&config, text).unwrap();
        let git = |words: &[&str]| butler_testkit::git(root, words);
        git(&[
            "pull",
            "--quiet",
            "--rebase",
            "--autostash",
            "origin",
            "main",
        ]);
        git(&[
            "commit",
            "--quiet",
            "--all",
            "--message",
            "another configuration",
        ]);
        git(&["push", "--quiet", "origin", "HEAD:main"]);
    };
    commit(&good.replacen('{', "{\"modles\": {},", 1));
    // The working copy is the person's: they can still ask.
    fs::write(&config, &good).unwrap();
    let coder = "codebutler.clone.coder.service";
    systemd.hurry(coder);
    systemd.systemctl(&["restart", coder]);
    let failed = || {
        let (code, status) = systemd.status(root);
        let state = &processes(&status)
            .find(|one| one["name"] == "coder")
            .unwrap()["state"];
        (code, state) == (5, &json!("failed"))
    };
    team.wait("the end of the crash loop", failed).await;
    let (code, out, _) = systemd.codebutler(root, &["status"]);
    assert_eq!(code, 5, "{out}");
    assert!(
        out.contains("given up") && out.contains("exit code 3"),
        "{out}"
    );
    assert!(out.contains("modles"), "the reason is told: {out}");
    commit(&good);
    let (code, out, err) = systemd.codebutler(root, &["start"]);
    assert_eq!(code, 0, "{out}\n{err}");
}

fn processes(status: &Value) -> impl Iterator<Item = &Value> {
    status["repos"][0]["processes"].as_array().unwrap().iter()
}

fn pids(status: &Value) -> Vec<Value> {
    processes(status).map(|one| one["pid"].clone()).collect()
}

fn set_up() -> Scratch {
    let scratch = Scratch::new();
    let url = crate::endpoint::listing(&["qwen3:8b"]);
    pushed(&scratch.root());
    assert_eq!(scratch.run(&["init", "--yes", "--model-url", &url]).code, 0);
    scratch
}

#[test]
fn status_knows_a_team_of_up_and_says_how_to_begin_where_nothing_runs() {
    let scratch = set_up();
    let nothing = scratch.run(&["status"]);
    assert_eq!(nothing.code, 10, "{nothing:?}");
    assert!(nothing.out.contains("nothing runs"), "{nothing:?}");
    let mut up = Running::start(&mut scratch.codebutler(&["up", "--listen", "127.0.0.1:0"]));
    line_with(&up.out, "the team is at work");
    let status = scratch.run(&["status", "--json"]);
    let told: Value = serde_json::from_str(&status.out).unwrap();
    assert_eq!(status.code, 0, "{told:#}");
    for process in processes(&told) {
        assert_eq!(
            (&process["keptBy"], &process["connected"]),
            (&json!("up"), &json!(true))
        );
        let version = process["version"].as_str().unwrap();
        assert!(version.starts_with(env!("CARGO_PKG_VERSION")), "{version}");
    }
    assert_eq!(told["repos"][0]["openThreads"], 0);
    let said = scratch.run(&["status"]).out;
    assert!(
        said.contains("coder") && said.contains("spent today"),
        "{said}"
    );
    // Not a repository of ours: everything that this machine knows.
    let mut elsewhere = scratch.codebutler(&["status"]);
    let elsewhere = crate::scratch::ran(elsewhere.current_dir("/"));
    assert_eq!(elsewhere.code, 0, "{elsewhere:?}");
    assert!(elsewhere.out.contains("spent today"), "{elsewhere:?}");
    up.interrupt();
    assert_eq!(scratch.run(&["status"]).code, 10);
}

#[test]
fn without_a_session_services_are_refused_and_up_is_named() {
    let scratch = set_up();
    let person = scratch.root().join("../person");
    let ask = |words: &[&str]| {
        let mut command = scratch.codebutler(words);
        crate::scratch::ran(command.env("HOME", &person))
    };
    let refused = ask(&["start"]);
    assert_eq!(refused.code, 4, "{refused:?}");
    assert!(
        refused.err.contains("no systemd user session"),
        "{refused:?}"
    );
    assert!(refused.err.contains("codebutler up"), "{refused:?}");
    assert!(!person.exists(), "nothing was written");
    let stop = ask(&["stop"]);
    assert_eq!(stop.code, 4, "{stop:?}");
    assert!(
        stop.err.contains("no services of app are installed"),
        "{stop:?}"
    );
    assert_eq!(ask(&["uninstall"]).code, 0);
}
