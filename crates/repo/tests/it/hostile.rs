//! A repository that tries to run something whenever it is touched. Every trap
//! writes its name into one file; at the end the file must not exist.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use butler_protocol::Role;
use butler_repo::{DiffOf, Error, Forge, Git, Merge, Repo, Worktree};
use butler_testkit::{ScratchRepo, git};

use crate::support::*;

struct Trap {
    script: std::path::PathBuf,
    sprung: std::path::PathBuf,
}

impl Trap {
    fn new(folder: &Path) -> Self {
        let script = folder.join("trap.sh");
        let sprung = folder.join("sprung");
        let text = format!(
            "#!/bin/sh\necho \"$0 $*\" >> '{}'\ntimeout 2 cat\n",
            sprung.display()
        );
        fs::write(&script, text).unwrap();
        fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
        Self { script, sprung }
    }

    fn hook(&self, git_dir: &Path) {
        let hooks = git_dir.join("hooks");
        fs::create_dir_all(&hooks).unwrap();
        for name in [
            "pre-commit",
            "commit-msg",
            "prepare-commit-msg",
            "post-commit",
            "post-checkout",
            "pre-push",
            "pre-rebase",
            "post-rewrite",
            "post-merge",
            "reference-transaction",
            "post-index-change",
            "pre-auto-gc",
            "fsmonitor-watchman",
            "applypatch-msg",
        ] {
            let hook = hooks.join(name);
            fs::copy(&self.script, &hook).unwrap();
            fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).unwrap();
        }
    }

    fn config(&self, dir: &Path) {
        let run = self.script.to_str().unwrap();
        for (key, value) in [
            ("core.fsmonitor", run),
            ("core.sshCommand", run),
            ("core.pager", run),
            ("core.editor", run),
            ("core.askPass", run),
            ("core.gitProxy", run),
            ("core.alternateRefsCommand", run),
            ("core.hooksPath", "evil-hooks"),
            ("sequence.editor", run),
            ("diff.external", run),
            ("diff.evil.textconv", run),
            ("diff.evil.command", run),
            ("filter.evil.clean", run),
            ("filter.evil.smudge", run),
            ("filter.evil.required", "true"),
            ("filter.evil2.process", run),
            ("merge.evil.driver", &format!("{run} %O %A %B")),
            ("gpg.program", run),
            ("commit.gpgSign", "true"),
            ("push.gpgSign", "if-asked"),
            ("credential.helper", &format!("!{run}")),
            (
                "remote.origin.uploadpack",
                &format!("{run}; git-upload-pack"),
            ),
            (
                "remote.origin.receivepack",
                &format!("{run}; git-receive-pack"),
            ),
            ("trailer.CodeButler-Key.command", run),
            ("alias.status", &format!("!{run}")),
            ("alias.rev-parse", &format!("!{run}")),
            ("protocol.ext.allow", "always"),
            ("submodule.recurse", "true"),
            ("rebase.autoSquash", "true"),
            ("interactive.diffFilter", run),
            ("uploadpack.packObjectsHook", run),
        ] {
            git(dir, &["config", key, value]);
        }
    }

    fn check(&self, step: &str) {
        let sprung = fs::read_to_string(&self.sprung).unwrap_or_default();
        assert!(sprung.is_empty(), "{step} ran: {sprung}");
    }
}

/// A commit on the remote that names every driver and carries strange names.
fn poison(scratch: &ScratchRepo) {
    scratch.push_to_main(
        ".gitattributes",
        "* filter=evil diff=evil merge=evil\n*.bin filter=evil2\n",
    );
    scratch.push_to_main(
        ".gitmodules",
        "[submodule \"s\"]\n\tpath = s\n\turl = ext::sh -c touch%20sprung\n",
    );
    scratch.push_to_main("--upload-pack=x", "a file with an option's name");
    scratch.push_to_main("a\n\"b\"\t$(touch sprung)`x`", "strange");
}

/// A repository inside the worktree, with traps of its own.
fn nest(trap: &Trap, worktree: &Worktree) {
    let inner = worktree.path.join("inner");
    fs::create_dir(&inner).unwrap();
    git(&inner, &["init", "--quiet", "."]);
    fs::write(inner.join("x.txt"), "x").unwrap();
    git(&inner, &["add", "."]);
    git(&inner, &["commit", "--quiet", "-m", "inner"]);
    fs::write(inner.join(".gitattributes"), "* filter=evil diff=evil\n").unwrap();
    trap.config(&inner);
    trap.hook(&inner.join(".git"));
    fs::write(inner.join("x.txt"), "y").unwrap();
}

#[tokio::test]
async fn none_of_its_commands_run() {
    let scratch = ScratchRepo::new();
    poison(&scratch);
    let trap = Trap::new(scratch.folder());
    trap.hook(&scratch.root().join(".git"));
    trap.config(scratch.root());
    fs::create_dir_all(scratch.root().join("evil-hooks")).unwrap();

    let repo = open(&scratch).await;
    trap.check("open");
    let base = repo.base(&go()).await.unwrap();
    put(&base, "README.md", "scribble");
    repo.base(&go()).await.unwrap();
    trap.check("base");
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    trap.check("create");
    nest(&trap, &worktree);
    write(&worktree, "README.md", "changed\n");
    write(&worktree, "new.bin", "new\n");
    worktree.status(&go()).await.unwrap();
    worktree.diff(DiffOf::Thread, &go()).await.unwrap();
    worktree.tree().await.unwrap();
    trap.check("status, diff, tree");
    let commit = worktree
        .commit_all(Role::Coder, "x", &key("k"), &go())
        .await
        .unwrap();
    assert!(commit.is_some());
    worktree
        .commit_all(Role::Coder, "x", &key("k"), &go())
        .await
        .unwrap();
    trap.check("commit");
    worktree.push(&go()).await.unwrap();
    trap.check("push");
    scratch.push_to_main("README.md", "# scratch\n\nmore\n\n\n");
    let conflict = worktree.rebase_on_default(&go()).await;
    assert!(
        matches!(conflict, Err(Error::Conflict { .. })),
        "{conflict:?}"
    );
    trap.check("a rebase with a conflict");
    scratch.push_to_main("README.md", "# scratch\n");
    worktree.rebase_on_default(&go()).await.unwrap();
    trap.check("a rebase");
    let forge = Forge::local(&repo).unwrap();
    let pull = forge.create(&pull(&worktree.branch), &go()).await.unwrap();
    forge.diff(pull.number, &go()).await.unwrap();
    let head = worktree.head().await.unwrap();
    repo.review_checkout(&thread(1), &head, &go())
        .await
        .unwrap();
    forge
        .merge(&Merge::of(pull.number, &head), &go())
        .await
        .unwrap();
    trap.check("pull request");
    repo.remove(&thread(1), &go()).await.unwrap();
    trap.check("remove");
    assert_eq!(
        scratch.remote_file("main", "README.md").as_deref(),
        Some("changed\n")
    );
    assert!(
        repo.git()
            .disarmed()
            .await
            .unwrap()
            .contains(&"filter.evil.clean".to_owned())
    );
    assert!(!scratch.root().join("sprung").exists());
}

#[tokio::test]
async fn the_traps_are_real() {
    let scratch = ScratchRepo::new();
    poison(&scratch);
    let trap = Trap::new(scratch.folder());
    trap.hook(&scratch.root().join(".git"));
    trap.config(scratch.root());
    git(scratch.root(), &["config", "--unset", "core.hooksPath"]);
    let _ = std::process::Command::new("git")
        .arg("-C")
        .arg(scratch.root())
        .arg("status")
        .output();
    assert!(
        trap.sprung.exists(),
        "git itself must fall into at least one of them"
    );
}

#[tokio::test]
async fn a_config_that_changes_later_is_disarmed_too() {
    let scratch = ScratchRepo::new();
    let trap = Trap::new(scratch.folder());
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    trap.config(scratch.root());
    write(&worktree, ".gitattributes", "* filter=evil\n");
    worktree
        .commit_all(Role::Coder, "x", &[], &go())
        .await
        .unwrap()
        .unwrap();
    worktree.push(&go()).await.unwrap();
    trap.check("commit after the config changed");
}

#[tokio::test]
async fn includes_and_links_are_refused() {
    let scratch = ScratchRepo::new();
    git(scratch.root(), &["config", "include.path", "../more"]);
    let error = Repo::open(scratch.root()).await.unwrap_err();
    assert!(
        matches!(&error, Error::Include { key, .. } if key == "include.path"),
        "{error}"
    );
    git(scratch.root(), &["config", "--unset", "include.path"]);
    let repo = open(&scratch).await;
    fs::create_dir_all(scratch.folder().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(
        scratch.folder().join("elsewhere"),
        scratch.root().join(".codebutler"),
    )
    .unwrap();
    let error = repo.create(&thread(1), "x", &go()).await.unwrap_err();
    assert!(matches!(error, Error::Link { .. }), "{error}");
}

#[tokio::test]
async fn a_folder_without_its_git_file_does_not_fall_through_to_the_clone_around_it() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    fs::remove_file(worktree.path.join(".git")).unwrap();
    let outcome = Git::at(&worktree.path)
        .call(["rev-parse", "HEAD"])
        .run(&go())
        .await;
    assert!(
        matches!(outcome, Err(Error::NotARepo { .. })),
        "{outcome:?}"
    );
    assert!(worktree.head().await.is_err());
}

/// As a command in the sandbox can make it: a submodule whose repository names its
/// programs otherwise than the outer one, and `.gitmodules` that has git look.
fn lure(trap: &Trap, worktree: &Worktree) {
    let inner = worktree.path.join("sub");
    fs::create_dir(&inner).unwrap();
    git(&inner, &["init", "--quiet", "."]);
    fs::write(inner.join("x.txt"), "x\n").unwrap();
    git(&inner, &["add", "."]);
    git(&inner, &["commit", "--quiet", "-m", "inner"]);
    let head = git(&inner, &["rev-parse", "HEAD"]);
    let link = format!("160000,{head},sub");
    git(
        &worktree.path,
        &["update-index", "--add", "--cacheinfo", &link],
    );
    write(
        worktree,
        ".gitmodules",
        "[submodule \"sub\"]\n\tpath = sub\n\turl = ./sub\n\tignore = none\n",
    );
    fs::write(inner.join(".gitattributes"), "* filter=other diff=other\n").unwrap();
    let run = trap.script.to_str().unwrap();
    for key in [
        "filter.other.clean",
        "filter.other.process",
        "core.fsmonitor",
    ] {
        git(&inner, &["config", key, run]);
    }
    git(
        &inner,
        &[
            "config",
            "core.worktree",
            worktree.repo().root().to_str().unwrap(),
        ],
    );
    trap.hook(&inner.join(".git"));
    stir(worktree);
}

/// The same size and another time: git has to read it to know.
fn stir(worktree: &Worktree) {
    let file = fs::File::create(worktree.path.join("sub/x.txt")).unwrap();
    std::io::Write::write_all(&mut &file, b"y\n").unwrap();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(10);
    file.set_modified(later).unwrap();
}

#[tokio::test]
async fn a_nested_repository_with_names_of_its_own_runs_nothing() {
    let scratch = ScratchRepo::new();
    let trap = Trap::new(scratch.folder());
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    lure(&trap, &worktree);
    let _ = fs::remove_file(&trap.sprung);
    worktree.status(&go()).await.unwrap();
    worktree.diff(DiffOf::Thread, &go()).await.unwrap();
    worktree.tree().await.unwrap();
    trap.check("status, diff, tree");
    write(&worktree, "README.md", "ours\n");
    worktree
        .commit_all(Role::Coder, "x", &[], &go())
        .await
        .unwrap();
    worktree.push(&go()).await.unwrap();
    trap.check("commit, push");
    scratch.push_to_main("README.md", "theirs\n");
    let conflict = worktree.rebase_on_default(&go()).await;
    assert!(
        matches!(conflict, Err(Error::Conflict { .. })),
        "{conflict:?}"
    );
    trap.check("a rebase with a conflict");
    let base = worktree.base_commit(&go()).await.unwrap();
    let trial = repo.lay_out(&base, &go()).await.unwrap();
    let files = ["README.md".into()];
    trial.lay_over(&worktree, &files, &go()).await.unwrap();
    drop(trial);
    let head = worktree.head().await.unwrap();
    repo.review_checkout(&thread(1), &head, &go())
        .await
        .unwrap();
    trap.check("checkouts");
    repo.hibernate(&thread(1), &go()).await.unwrap();
    repo.find(&thread(1)).await.unwrap();
    repo.remove(&thread(1), &go()).await.unwrap();
    trap.check("sleep, remove");
}
