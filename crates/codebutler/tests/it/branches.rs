//! `threads` and `pr`: what the team has under way, on a real remote.

use std::{fs, process::Command};

use butler_protocol::{Role, ThreadId};
use butler_repo::{Author, Forge, NewComment, NewPull, Place, PullRequest, Repo};
use butler_testkit::ScratchRepo;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::scratch::{Ran, Scratch, binary, json_lines, ran};

struct Stage {
    repo: ScratchRepo,
    threads: Vec<ThreadId>,
    pull: PullRequest,
}

impl Stage {
    /// One thread with a pull request, one with unfinished work, one with words only.
    async fn new() -> Self {
        let repo = ScratchRepo::new();
        fs::create_dir_all(repo.root().join(".codebutler")).unwrap();
        fs::write(repo.root().join(".codebutler/.gitignore"), "*\n").unwrap();
        let threads: Vec<ThreadId> = (1..=3)
            .map(|n| format!("C1/1700000000.{n:06}").parse().unwrap())
            .collect();
        for thread in &threads {
            let folder = repo
                .root()
                .join(".codebutler/threads")
                .join(thread.dir_name());
            fs::create_dir_all(folder).unwrap();
        }
        let go = CancellationToken::new();
        let clone = Repo::open(repo.root()).await.unwrap();
        let done = clone
            .create(&threads[0], "Add a greeting", &go)
            .await
            .unwrap();
        fs::write(done.path.join("hello.txt"), "good morning\n").unwrap();
        done.commit_all(Role::Coder, "say hello", &[], &go)
            .await
            .unwrap()
            .unwrap();
        done.push(&go).await.unwrap();
        let begun = clone
            .create(&threads[1], "Begin something", &go)
            .await
            .unwrap();
        fs::write(begun.path.join("half.txt"), "half\n").unwrap();
        let new = NewPull {
            branch: done.branch.clone(),
            base: None,
            title: "Add a greeting".into(),
            body: "Greets whoever comes.".into(),
            draft: false,
        };
        let forge = Forge::of(&clone, &butler_repo::ForgeHosts::default())
            .await
            .unwrap();
        let pull = forge.create(&new, &go).await.unwrap();
        let comment = NewComment {
            author: Author::Role(Role::Reviewer),
            body: "What about the evening?".into(),
            place: Some(Place {
                path: "hello.txt".into(),
                line: 1,
            }),
            key: "first".into(),
        };
        forge.comment(pull.number, &comment, &go).await.unwrap();
        Self {
            repo,
            threads,
            pull,
        }
    }

    fn run(&self, args: &[&str]) -> Ran {
        let mut command = Command::new(binary());
        command
            .args(args)
            .current_dir(self.repo.root())
            .env("CODEBUTLER_HOME", self.repo.folder().join("home"));
        ran(&mut command)
    }
}

#[tokio::test]
async fn threads_are_listed_with_branch_files_and_pull_request() {
    let stage = Stage::new().await;
    let run = stage.run(&["threads"]);
    assert!(run.code == 0 && run.err.is_empty(), "{run:?}");
    let lines: Vec<_> = run.out.lines().collect();
    assert_eq!(lines.len(), 6, "two for each: {run:?}");
    let heads = lines.iter().step_by(2);
    for ((line, thread), number) in heads.zip(&stage.threads).zip(1..) {
        let begins = format!("{number:>3}  {}  ", thread.short());
        assert!(line.starts_with(&begins), "{line}");
    }
    assert!(lines[0].ends_with("  Add a greeting"), "{}", lines[0]);
    assert!(lines[1].contains("#1 open · codebutler/add-a-greeting-"));
    assert!(lines[1].ends_with(" clean"), "{}", lines[1]);
    assert!(lines[3].ends_with(" 1 changed file"), "{}", lines[3]);
    assert!(!lines[5].contains("codebutler/"), "{}", lines[5]);
    let third = stage.threads[2].short();
    for name in ["last", "3", &third] {
        let shown = stage.run(&["threads", "show", name]);
        assert_eq!(shown.out, format!("thread {third}\n"), "{name}: {shown:?}");
        let cost = stage.run(&["cost", name]);
        assert!(cost.out.starts_with(&third), "{name}: {cost:?}");
    }

    let rows = json_lines(&stage.run(&["threads", "--json"]).out).remove(0);
    assert_eq!(rows[0]["pull"]["number"], 1, "{rows}");
    assert_eq!(rows[1]["worktree"]["changes"], 1, "{rows}");
    assert!(
        rows[2]["worktree"].is_null() && rows[2]["pull"].is_null(),
        "{rows}"
    );
}

#[tokio::test]
async fn a_pull_request_is_listed_shown_and_printed() {
    let stage = Stage::new().await;
    let list = stage.run(&["pr", "list"]);
    assert!(
        list.out.starts_with("#1  open  codebutler/add-a-greeting-"),
        "{list:?}"
    );
    let show = stage.run(&["pr", "show", "1"]);
    for part in [
        "Greets whoever comes.",
        "into main",
        "no check has run",
        "Reviewer on hello.txt:1:",
        "the evening?",
    ] {
        assert!(show.out.contains(part), "{part} is missing: {show:?}");
    }
    let diff = stage.run(&["pr", "diff", "1"]);
    assert!(
        diff.code == 0 && diff.out.contains("+good morning"),
        "{diff:?}"
    );
    let shown = json_lines(&stage.run(&["pr", "show", "1", "--json"]).out).remove(0);
    assert_eq!(
        shown["pull"]["head"],
        Value::String(stage.pull.head.to_string())
    );
    let missing = stage.run(&["pr", "show", "7"]);
    assert!(
        missing.code == 4 && missing.err.contains("#7"),
        "{missing:?}"
    );

    let clone = Repo::open(stage.repo.root()).await.unwrap();
    let forge = Forge::of(&clone, &butler_repo::ForgeHosts::default())
        .await
        .unwrap();
    forge
        .close(stage.pull.number, &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(stage.run(&["pr", "list"]).out, "");
    assert!(
        stage
            .run(&["pr", "list", "--all"])
            .out
            .starts_with("#1  closed")
    );
}

#[test]
fn without_a_remote_there_are_threads_but_no_pull_requests() {
    let scratch = Scratch::new();
    assert_eq!(scratch.run(&["threads"]).code, 4, "not set up");
    assert_eq!(scratch.run(&["init", "--yes"]).code, 0);
    crate::scratch::git(
        &scratch.root(),
        &["commit", "--quiet", "--allow-empty", "-m", "first"],
    );
    let threads = scratch.run(&["threads"]);
    assert!(
        threads.code == 0 && threads.err.contains("no threads yet"),
        "{threads:?}"
    );
    let pulls = scratch.run(&["pr", "list"]);
    assert!(
        pulls.code == 4 && pulls.err.contains("git remote add"),
        "{pulls:?}"
    );
}
