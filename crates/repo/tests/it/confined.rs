//! Git that looks at files runs in the sandbox. A `git` that is first on PATH notes
//! in which mount namespace it is started, and with what.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use butler_protocol::Role;
use butler_repo::{DiffOf, Forge, Merge, Repo};
use butler_testkit::{ScratchRepo, git};

use crate::support::*;

const ROOT: &str = "CODEBUTLER_TEST_CONFINED";

/// Notes to a file outside and, where it may write there, beside the git state.
fn recorder(folder: &Path) -> PathBuf {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).unwrap();
    let log = folder.join("log");
    let real = Command::new("sh")
        .args(["-c", "command -v git"])
        .output()
        .unwrap();
    let real = String::from_utf8(real.stdout).unwrap();
    let script = format!(
        "#!/bin/sh\n\
         line=\"$(readlink /proc/self/ns/mnt)|$PWD|$GIT_DIR|$GIT_WORK_TREE|$*\"\n\
         (echo \"$line\" >> '{}') 2>/dev/null\n\
         [ -z \"$GIT_DIR\" ] || (echo \"$line\" >> \"$GIT_DIR/codebutler-recorded\") 2>/dev/null\n\
         exec {} \"$@\"\n",
        log.display(),
        real.trim(),
    );
    let program = bin.join("git");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    bin
}

/// Not a test of its own: the life of a thread, with the recorder on PATH.
#[tokio::test]
#[ignore = "started by the test below, with a PATH of its own"]
async fn recorded() {
    let Some(root) = std::env::var_os(ROOT) else {
        return;
    };
    let _ = go();
    let repo = Repo::open(Path::new(&root)).await.unwrap();
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    write(&worktree, "a.txt", "a\n");
    worktree.status(&go()).await.unwrap();
    worktree.diff(DiffOf::Thread, &go()).await.unwrap();
    worktree.tree().await.unwrap();
    worktree
        .commit_all(Role::Coder, "a", &key("a"), &go())
        .await
        .unwrap();
    worktree.rebase_on_default(&go()).await.unwrap();
    let forge = Forge::local(&repo).unwrap();
    let opened = forge.create(&pull(&worktree.branch), &go()).await.unwrap();
    let head = worktree.head().await.unwrap();
    repo.review_checkout(&thread(1), &head, &go())
        .await
        .unwrap();
    forge.diff(opened.number, &go()).await.unwrap();
    repo.hibernate(&thread(1), &go()).await.unwrap();
    repo.find(&thread(1)).await.unwrap().unwrap();
    let notes = worktree
        .git()
        .git_dir()
        .unwrap()
        .join("codebutler-recorded");
    fs::copy(notes, Path::new(&root).join("inside")).unwrap();
    forge
        .merge(&Merge::of(opened.number, &head), &go())
        .await
        .unwrap();
    repo.remove(&thread(1), &go()).await.unwrap();
}

#[test]
fn no_git_looks_at_files_outside_the_sandbox() {
    let scratch = ScratchRepo::new();
    let bin = recorder(scratch.folder());
    scratch.push_to_main("meanwhile.txt", "x");
    let path = std::env::var("PATH").unwrap();
    let run = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "confined::recorded", "--ignored", "--nocapture"])
        .env("PATH", format!("{}:{path}", bin.display()))
        .env(ROOT, scratch.root())
        .output()
        .unwrap();
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    let host = fs::read_link("/proc/self/ns/mnt")
        .unwrap()
        .display()
        .to_string();
    let read = |file: PathBuf| -> Vec<Vec<String>> {
        let text = fs::read_to_string(file).unwrap();
        let part = |line: &str| line.splitn(5, '|').map(str::to_owned).collect();
        text.lines().map(part).collect()
    };
    let outside = read(scratch.folder().join("log"));
    for line in &outside {
        let [_, folder, _, files, args] = line.as_slice() else {
            panic!("{line:?}")
        };
        let command = args.split(' ').next().unwrap();
        let reads_files = [
            "status", "diff", "add", "commit", "checkout", "rebase", "reset",
        ];
        assert!(!reads_files.contains(&command), "outside: {args}");
        assert_eq!(files, "", "outside: {args}");
        let is_remote = ["fetch", "push", "ls-remote"].contains(&command);
        assert!(
            is_remote || !Path::new(folder).join(".git").exists(),
            "outside in {folder}: {args}"
        );
    }
    assert!(outside.iter().any(|line| line[4].starts_with("push")));
    let inside = read(scratch.root().join("inside"));
    let sandboxed = |what: &str| {
        let mut lines = inside.iter().filter(|line| line[0] != host);
        assert!(
            lines.any(|line| line[4].starts_with(what)),
            "{what}: {inside:?}"
        );
    };
    sandboxed("read-tree");
}

/// A program that git was talked into starting finds nothing to read or to spoil.
#[tokio::test]
async fn a_program_that_runs_all_the_same_finds_nothing() {
    let scratch = ScratchRepo::new();
    let secret = scratch.folder().join("secret");
    fs::write(&secret, "the secret").unwrap();
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    let common = worktree.git().common_dir().unwrap();
    let before = refs(scratch.root());
    let script = format!(
        "!f() {{ cat '{}' > stolen 2>&1; rm -rf '{common}/refs' '{common}/objects' '{common}/config'; \
         echo x > '{common}/config'; echo x > '{common}/hooks/post-checkout'; \
         touch ran; }}; f",
        secret.display(),
        common = common.display(),
    );
    // An alias on the command line: git starts it, whatever the settings say.
    let call = worktree
        .git()
        .call(["-c", &format!("alias.try={script}"), "try"]);
    call.run(&go()).await.unwrap();
    assert!(worktree.path.join("ran").exists());
    assert!(!read(&worktree, "stolen").contains("the secret"));
    assert_eq!(refs(scratch.root()), before);
    assert!(!common.join("hooks/post-checkout").exists());
    git(scratch.root(), &["fsck", "--strict"]);
    assert_ne!(fs::read_to_string(common.join("config")).unwrap(), "x\n");
}

fn refs(root: &Path) -> String {
    git(root, &["for-each-ref"])
}

/// Scratch files are private, and none stays.
#[tokio::test]
async fn nothing_is_left_in_the_scratch_folders() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    deliver(&worktree, "a.txt", "a").await;
    let folders = scratch.root().join(".git/codebutler/tmp");
    let mode = fs::metadata(&folders).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
    for folder in fs::read_dir(&folders).unwrap().flatten() {
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
    // What a process left that is gone: its objects are kept, the rest goes.
    let blob = git(scratch.root(), &["hash-object", "-w", "README.md"]);
    let (start, rest) = blob.split_at(2);
    let stored = scratch.root().join(".git/objects").join(start).join(rest);
    let left = folders.join("4000000-0/7/objects").join(start);
    fs::create_dir_all(&left).unwrap();
    fs::rename(&stored, left.join(rest)).unwrap();
    open(&scratch).await;
    assert!(stored.exists() && !folders.join("4000000-0").exists());
}

/// A token in the config is for git outside.
#[tokio::test]
async fn logins_in_the_config_are_not_seen_inside() {
    let scratch = ScratchRepo::new();
    let token = ["ghp", "_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let (header, address) = (
        format!("basic {token}"),
        format!("https://{token}@example.org/"),
    );
    git(
        scratch.root(),
        &["config", "http.https://example.org/.extraheader", &header],
    );
    git(scratch.root(), &["config", "submodule.x.url", &address]);
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    let config = worktree.git().common_dir().unwrap().join("config");
    let see = format!("alias.see=!cat '{}' > seen", config.display());
    let call = worktree.git().call(["-c", &see, "see"]);
    call.run(&go()).await.unwrap();
    let seen = read(&worktree, "seen");
    assert!(
        seen.contains("https://example.org/") && !seen.contains(&token),
        "{seen}"
    );
    assert!(fs::read_to_string(&config).unwrap().contains(&token));
    // What changes later is cleaned too.
    git(scratch.root(), &["config", "my.apitoken", &token]);
    let call = worktree.git().call(["-c", &see, "see"]);
    call.run(&go()).await.unwrap();
    assert!(!read(&worktree, "seen").contains(&token));
}

/// Every git of the product is started in one place.
#[test]
fn nothing_else_starts_git() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut folders: Vec<PathBuf> = fs::read_dir(crates)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        // The stand-ins of tests play the person.
        .filter(|path| !path.ends_with("testkit"))
        .map(|path| path.join("src"))
        .collect();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap_or_default();
            let product = text.split("#[cfg(test)]").next().unwrap_or_default();
            let starts = ["Command::new(\"git", "program: \"git\""];
            if starts.iter().any(|start| product.contains(start)) {
                found.push(path.strip_prefix(crates).unwrap().display().to_string());
            }
        }
    }
    found.retain(|path| !path.starts_with("repo/src/git/"));
    // Sets the sample project of the demo up, which is ours and new.
    assert_eq!(found, ["codebutler/src/commands/run/demo/stage.rs"]);
}

/// A store for other repositories is made beside, and this one stays what it is.
#[tokio::test]
async fn a_new_repository_is_made_where_it_is_said() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let (store, config) = (
        scratch.folder().join("store"),
        scratch.root().join(".git/config"),
    );
    let before = fs::read_to_string(&config).unwrap();
    let call = repo
        .git()
        .call(["init", "--quiet", "--bare", "--template="]);
    call.arg(&store).run(&go()).await.unwrap();
    assert!(store.join("HEAD").exists());
    assert_eq!(fs::read_to_string(&config).unwrap(), before);
}
