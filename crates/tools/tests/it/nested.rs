//! A repository inside the worktree that tries to run programs through our own
//! git. A command in the sandbox can make one; its config uses names that the
//! outer one does not know, and `.gitmodules` asks git to look into it.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use butler_protocol::Role;
use butler_testkit::git;
use serde_json::json;

use crate::fixture::Fixture;

/// How a repository makes git start a program.
const WAYS: &[&str] = &["clean", "process", "fsmonitor", "hook", "alias"];

struct Trap {
    fixture: Fixture,
    sprung: PathBuf,
}

impl Trap {
    fn set(way: &str) -> Self {
        butler_repo::confine_with(env!("CARGO_BIN_EXE_butler-tools-sandbox").into());
        let fixture = Fixture::new();
        let sprung = fixture.scratch.path().join("sprung");
        let script = fixture.root.join("program.sh");
        fixture.write(
            "program.sh",
            format!("#!/bin/sh\ntouch '{}'\ncat\n", sprung.display()),
        );
        fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
        git(&fixture.root, &["init", "--quiet", "-b", "main", "."]);
        let inner = fixture.root.join("sub");
        inside(&inner, way, script.to_str().unwrap());
        let head = git(&inner, &["rev-parse", "HEAD"]);
        fixture.write(
            ".gitmodules",
            "[submodule \"sub\"]\n\tpath = sub\n\turl = ./sub\n\tignore = none\n",
        );
        let link = format!("160000,{head},sub");
        git(
            &fixture.root,
            &["update-index", "--add", "--cacheinfo", &link],
        );
        git(&fixture.root, &["add", ".gitmodules", "program.sh"]);
        git(&fixture.root, &["commit", "--quiet", "-m", "outer"]);
        // Made by a command later: something that git has to look at closely.
        fixture.write("sub/x.txt", "y\n");
        let later = SystemTime::now() + Duration::from_secs(10);
        let file = fs::File::options().write(true).open(inner.join("x.txt"));
        file.unwrap().set_modified(later).unwrap();
        let _ = fs::remove_file(&sprung);
        Self { fixture, sprung }
    }
}

/// A repository with a commit and a trap.
fn inside(inner: &Path, way: &str, run: &str) {
    fs::create_dir(inner).unwrap();
    git(inner, &["init", "--quiet", "-b", "main", "."]);
    fs::write(inner.join("x.txt"), "x\n").unwrap();
    git(inner, &["add", "."]);
    git(inner, &["commit", "--quiet", "-m", "inner"]);
    fs::write(inner.join(".gitattributes"), "* filter=other\n").unwrap();
    match way {
        "clean" => git(inner, &["config", "filter.other.clean", run]),
        "process" => git(inner, &["config", "filter.other.process", run]),
        "fsmonitor" => git(inner, &["config", "core.fsmonitor", run]),
        "alias" => git(inner, &["config", "alias.status", &format!("!{run}")]),
        _ => {
            let hook = inner.join(".git/hooks/post-index-change");
            fs::create_dir_all(hook.parent().unwrap()).unwrap();
            fs::copy(run, hook).map(|_| String::new()).unwrap()
        }
    };
}

#[tokio::test]
async fn git_runs_no_program_of_a_nested_repository() {
    let mut ran = Vec::new();
    for way in WAYS {
        let trap = Trap::set(way);
        for (tool, arguments) in [
            ("GitStatus", json!({})),
            ("GitDiff", json!({})),
            ("GitDiff", json!({"base": "HEAD"})),
            ("GitDiff", json!({"commit": "HEAD"})),
            ("GitLog", json!({})),
        ] {
            let outcome = trap.fixture.call_as(Role::Coder, tool, arguments).await;
            assert!(outcome.ok, "{tool}: {}", outcome.text);
            if trap.sprung.exists() {
                ran.push(format!("{tool}: {way}"));
                fs::remove_file(&trap.sprung).unwrap();
            }
        }
    }
    assert!(
        ran.is_empty(),
        "programs of the nested repository ran: {ran:?}"
    );
}

/// An unpacked archive may say that its files are somewhere else.
#[tokio::test]
async fn git_looks_at_no_other_folder_than_its_own() {
    butler_repo::confine_with(env!("CARGO_BIN_EXE_butler-tools-sandbox").into());
    let fixture = Fixture::new();
    git(&fixture.root, &["init", "--quiet", "-b", "main", "."]);
    fixture.write("x.txt", "x\n");
    git(&fixture.root, &["add", "."]);
    git(&fixture.root, &["commit", "--quiet", "-m", "x"]);
    let secret = fixture.outside("person/.ssh/id_ed25519", "the secret\n");
    let elsewhere = secret.parent().unwrap().to_str().unwrap().to_owned();
    git(&fixture.root, &["config", "core.worktree", &elsewhere]);
    for (tool, arguments) in [
        ("GitStatus", json!({})),
        ("GitDiff", json!({})),
        ("GitDiff", json!({"base": "HEAD"})),
    ] {
        let outcome = fixture.call(tool, arguments).await;
        let told = outcome.text.contains("id_ed25519") || outcome.text.contains("the secret");
        assert!(!told, "{tool}: {}", outcome.text);
    }
}

/// Commands see the clone's config without its logins.
#[tokio::test]
async fn logins_in_the_config_are_not_seen_by_commands() {
    let token = ["ghp", "_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let fixture = Fixture::with_sandbox(Vec::new());
    git(&fixture.root, &["init", "--quiet", "-b", "main", "."]);
    let address = format!("https://{token}@example.org/you/app.git");
    git(&fixture.root, &["remote", "add", "origin", &address]);
    git(
        &fixture.root,
        &["config", "http.extraheader", &format!("basic {token}")],
    );
    let command = "cat .git/config; git config --list; git remote -v; grep -r . .git/codebutler";
    let shown = fixture.call("Bash", json!({"command": command})).await;
    assert!(
        shown.text.contains("https://example.org/you/app.git"),
        "{}",
        shown.text
    );
    assert!(!shown.text.contains(&token), "{}", shown.text);
}
