//! Repositories as they are found: each row makes one, and the team does a thread's whole work
//! in it, or is told precisely what does not go.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use butler_protocol::Role;
use butler_repo::{Error, Forge, Git, Repo, Settings, Worktree};
use butler_testkit::{ScratchRepo, git};

use crate::support::*;

/// Everything of a person's that may not change, but for our own folder and git's.
fn belongings(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let ours = path.ends_with(".git") || path.ends_with(".codebutler");
            match fs::symlink_metadata(&path).unwrap().is_dir() {
                _ if ours => {}
                true => open.push(path),
                false => all.push((path.clone(), fs::read(&path).unwrap_or_default())),
            }
        }
    }
    all.sort();
    all
}

/// A thread's whole work: worktree, commit, push, pull request, merge, clean-up.
async fn work(scratch: &ScratchRepo, root: &Path) -> Worktree {
    let cancel = go();
    let before = (belongings(root), git(root, &["status", "--porcelain"]));
    let repo = Repo::open(root).await.unwrap();
    let worktree = repo.create(&thread(1), "Greet", &cancel).await.unwrap();
    deliver(&worktree, "hello.txt", "hello\n").await;
    let forge = Forge::local(&repo).unwrap();
    let opened = forge
        .create(&pull(&worktree.branch), &cancel)
        .await
        .unwrap();
    let diff = forge.diff(opened.number, &cancel).await.unwrap();
    let files = diff.lines().filter(|line| line.starts_with("diff --git"));
    assert_eq!(files.count(), 1, "nothing but the change: {diff}");
    let merged = forge
        .merge(
            &butler_repo::Merge::of(opened.number, &opened.head),
            &cancel,
        )
        .await
        .unwrap();
    repo.remove(&thread(1), &cancel).await.unwrap();
    let touched = [
        "diff",
        "--name-only",
        &format!("{merged}^"),
        merged.as_str(),
    ];
    assert_eq!(scratch.remote_git(&touched), "hello.txt");
    assert!(!worktree.path.exists());
    let after = (belongings(root), git(root, &["status", "--porcelain"]));
    assert_eq!(before, after, "what is the person's stays as it is");
    worktree
}

/// One kind of repository: what it is, and how the scratch one becomes it.
type Row = (&'static str, fn(&ScratchRepo) -> PathBuf);

fn share(scratch: &ScratchRepo, message: &str) {
    scratch.clone.commit(message);
    scratch.clone.git(&["push", "--quiet", "origin", "HEAD"]);
}

fn here(scratch: &ScratchRepo) -> PathBuf {
    scratch.root().to_owned()
}

fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

const ROWS: &[Row] = &[
    ("a submodule", |scratch| {
        let inner = scratch.folder().join("inner");
        fs::create_dir(&inner).unwrap();
        git(&inner, &["init", "--quiet", "--initial-branch=main"]);
        git(
            &inner,
            &["commit", "--quiet", "--allow-empty", "--message", "inner"],
        );
        let inner = inner.display().to_string();
        let add = [
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "add",
            "--quiet",
        ];
        let add: Vec<&str> = add.into_iter().chain([inner.as_str(), "lib"]).collect();
        scratch.clone.git(&add);
        share(scratch, "a submodule");
        here(scratch)
    }),
    ("pointers of Git LFS", |scratch| {
        scratch.clone.write(
            ".gitattributes",
            "*.png filter=lfs diff=lfs merge=lfs -text\n",
        );
        let pointer = format!(
            "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 12345\n",
            "a".repeat(64)
        );
        scratch.clone.write("logo.png", &pointer);
        share(scratch, "a picture");
        // The person has git-lfs; the team may not have it.
        let configured = ["config", "filter.lfs.clean", "cat"];
        scratch.clone.git(&configured);
        scratch
            .clone
            .git(&["config", "filter.lfs.required", "true"]);
        here(scratch)
    }),
    ("a sparse checkout", |scratch| {
        scratch.clone.write("docs/a.md", "a\n");
        scratch.clone.write("src/b.txt", "b\n");
        share(scratch, "two folders");
        scratch.clone.git(&["sparse-checkout", "set", "docs"]);
        assert!(!scratch.root().join("src").exists());
        here(scratch)
    }),
    ("a shallow clone", |scratch| {
        scratch.clone.write("a.txt", "1\n");
        share(scratch, "one");
        scratch.clone.write("a.txt", "2\n");
        share(scratch, "two");
        let remote = format!("file://{}", scratch.remote().display());
        let clone = ["clone", "--quiet", "--depth", "1", &remote, "shallow"];
        git(scratch.folder(), &clone);
        scratch.folder().join("shallow")
    }),
    ("another default branch", |scratch| {
        git(&scratch.remote(), &["branch", "-m", "main", "trunk"]);
        git(
            scratch.folder(),
            &["clone", "--quiet", "remote.git", "trunk"],
        );
        scratch.folder().join("trunk")
    }),
    ("hooks that refuse everything", |scratch| {
        for hook in [
            "pre-commit",
            "commit-msg",
            "pre-push",
            "post-checkout",
            "pre-rebase",
        ] {
            script(&scratch.root().join(".git/hooks").join(hook), "exit 1");
        }
        here(scratch)
    }),
    ("line ends of another system", |scratch| {
        scratch
            .clone
            .write(".gitattributes", "*.bat text eol=crlf\n* text=auto\n");
        scratch.clone.write("run.bat", "echo 1\r\necho 2\r\n");
        scratch.clone.write("mixed.txt", "a\n");
        share(scratch, "line ends");
        scratch.clone.git(&["config", "core.autocrlf", "true"]);
        here(scratch)
    }),
    ("names that differ in case only", |scratch| {
        scratch.clone.write("Makefile", "a\n");
        scratch.clone.write("makefile", "b\n");
        share(scratch, "two names");
        here(scratch)
    }),
    (
        "commits that must be signed, with a key that is not there",
        |scratch| {
            scratch.clone.git(&["config", "commit.gpgsign", "true"]);
            scratch.clone.git(&["config", "gpg.format", "ssh"]);
            scratch
                .clone
                .git(&["config", "user.signingkey", "/nowhere/id.pub"]);
            here(scratch)
        },
    ),
    ("settings in one folder of many", |scratch| {
        scratch
            .clone
            .write("apps/web/.codebutler/config.json", "{}\n");
        scratch.clone.write("apps/api/main.txt", "api\n");
        share(scratch, "a monorepo");
        here(scratch)
    }),
    ("worktrees and untracked files of the person", |scratch| {
        let beside = scratch.folder().join("beside").display().to_string();
        scratch
            .clone
            .git(&["worktree", "add", "--quiet", "-b", "mine", &beside]);
        fs::write(scratch.folder().join("beside/private.txt"), "mine\n").unwrap();
        scratch.clone.write("notes.txt", "not committed\n");
        here(scratch)
    }),
    (
        "a fork, with what it was forked from as a second remote",
        |scratch| {
            scratch
                .clone
                .git(&["remote", "add", "upstream", "/nowhere/original.git"]);
            here(scratch)
        },
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_thread_is_worked_on_in_every_kind_of_repository() {
    for (what, make) in ROWS {
        let scratch = ScratchRepo::new();
        let root = make(&scratch);
        println!("{what}");
        work(&scratch, &root).await;
    }
}

/// The gate takes 10,000 files, a night 100,000.
#[tokio::test(flavor = "multi_thread")]
async fn many_files_are_no_trouble() {
    let count = match std::env::var_os("CODEBUTLER_NIGHTLY") {
        Some(_) => 100_000,
        None => 10_000,
    };
    let scratch = ScratchRepo::new();
    for number in 0..count {
        let name = format!("d{}/f{number}.txt", number % 100);
        scratch.clone.write(&name, "x\n");
    }
    share(&scratch, "many files");
    work(&scratch, scratch.root()).await;
}

/// What the team cannot keep as Git LFS keeps it, it does not commit.
#[tokio::test(flavor = "multi_thread")]
async fn a_raw_file_of_git_lfs_is_refused_by_name() {
    let scratch = ScratchRepo::new();
    scratch
        .clone
        .write("art/.gitattributes", "*.png filter=lfs -text\n");
    share(&scratch, "pictures are large");
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "Draw", &go()).await.unwrap();
    write(&worktree, "art/new.png", "a picture, not a pointer");
    write(&worktree, "readme.txt", "words\n");
    let cancel = go();
    let commit = || worktree.commit_all(Role::Artist, "draw", &[], &cancel);
    let refused = commit().await.unwrap_err();
    assert!(matches!(refused, Error::Lfs { .. }), "{refused}");
    let said = refused.to_string();
    assert!(
        said.contains("art/new.png") && said.contains("git-lfs"),
        "{said}"
    );
    fs::rename(
        worktree.path.join("art/new.png"),
        worktree.path.join("new.png"),
    )
    .unwrap();
    assert!(
        commit().await.unwrap().is_some(),
        "elsewhere it is a file like others"
    );
}

/// The default branch was renamed on the remote: it is said, with what to do.
#[tokio::test(flavor = "multi_thread")]
async fn a_default_branch_that_is_gone_is_named_with_what_to_do() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    git(&scratch.remote(), &["branch", "-m", "main", "trunk"]);
    git(
        &scratch.remote(),
        &["symbolic-ref", "HEAD", "refs/heads/trunk"],
    );
    let error = repo.fetch(&go()).await.unwrap_err();
    assert!(matches!(error, Error::DefaultGone { .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains("git remote set-head origin --auto"),
        "{error}"
    );
    scratch.clone.git(&["fetch", "--quiet", "origin"]);
    scratch
        .clone
        .git(&["remote", "set-head", "origin", "--auto"]);
    let again = Repo::open(scratch.root()).await;
    let again = match again {
        Ok(repo) => repo,
        Err(error) => panic!("{error}"),
    };
    assert_eq!(again.default_branch().as_str(), "trunk");
    again.create(&thread(1), "x", &go()).await.unwrap();
}

/// A branch named `codebutler` on the remote, where ours need a folder of that name.
#[tokio::test(flavor = "multi_thread")]
async fn a_branch_in_the_way_on_the_remote_is_named() {
    for fetched in [false, true] {
        let scratch = ScratchRepo::new();
        git(&scratch.remote(), &["branch", "codebutler", "main"]);
        if fetched {
            scratch.clone.git(&["fetch", "--quiet"]);
        }
        let repo = open(&scratch).await;
        let made = repo.create(&thread(1), "x", &go()).await;
        let error = made.unwrap_err();
        assert!(
            matches!(error, Error::InTheWay { .. }),
            "{fetched}: {error}"
        );
        git(&scratch.remote(), &["branch", "-m", "codebutler", "other"]);
        if fetched {
            scratch.clone.git(&["fetch", "--quiet", "--prune"]);
        }
        repo.create(&thread(1), "x", &go()).await.unwrap();
    }
}

/// The settings may lie in a folder of the repository; the team works in the whole of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_folder_of_a_repository_is_not_a_repository() {
    let scratch = ScratchRepo::new();
    scratch.clone.write("apps/web/main.txt", "web\n");
    let _ = go();
    let error = Repo::open(&scratch.root().join("apps/web"))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::NotARepo { .. }), "{error}");
    assert!(error.to_string().contains("apps/web"), "{error}");
}

/// An older git is refused before anything is made.
#[tokio::test(flavor = "multi_thread")]
async fn an_old_git_is_refused_before_anything_is_made() {
    let scratch = ScratchRepo::new();
    let tools = scratch.folder().join("tools");
    script(&tools.join("git"), "echo git version 2.34.1");
    let variables = [("PATH".into(), tools.into_os_string())];
    let settings = Settings::from_variables(variables);
    let git = Git::with(scratch.root(), Arc::new(settings));
    let error = Repo::open_with(git).await.unwrap_err();
    assert!(matches!(error, Error::TooOld { .. }), "{error}");
    assert!(error.to_string().contains("2.38"), "{error}");
    assert!(!scratch.root().join(".codebutler").exists());
}

/// ssh that wants to ask somebody fails with a word instead of waiting.
#[tokio::test(flavor = "multi_thread")]
async fn ssh_asks_nobody() {
    let scratch = ScratchRepo::new();
    let tools = scratch.folder().join("tools");
    // As ssh does: without BatchMode it would ask, and wait for ever.
    script(
        &tools.join("ssh"),
        "case \"$*\" in *BatchMode=yes*) echo 'Host key verification failed.' >&2; exit 255 ;; esac\n\
         exec sleep 1000",
    );
    let address = "git@host.invalid:you/scratch.git";
    scratch.clone.git(&["remote", "set-url", "origin", address]);
    let path = std::env::var_os("PATH").unwrap();
    let all = std::iter::once(tools.clone()).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(all).unwrap();
    let own = format!("{} -i '/home/you/key'", tools.join("ssh").display());
    for ssh in [None, Some(own)] {
        let mut variables = vec![("PATH".into(), path.clone())];
        variables.extend(ssh.map(|ssh| ("GIT_SSH_COMMAND".into(), ssh.into())));
        let settings = Settings::from_variables(variables);
        let repo = Repo::open_with(Git::with(scratch.root(), Arc::new(settings)))
            .await
            .unwrap();
        let error = repo.fetch(&go()).await.unwrap_err();
        assert!(
            error.to_string().contains("Host key verification failed"),
            "{error}"
        );
    }
}
