//! Undo: whatever a command did to the files, they come back byte for byte.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{FileExt, PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use butler_repo::{SavedFiles, Undo};
use butler_testkit::{ScratchRepo, git};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::support::*;

/// What is compared: bytes and "executable" of files, targets of links.
type Snapshot = BTreeMap<PathBuf, (Vec<u8>, bool)>;

fn snapshot(root: &Path) -> Snapshot {
    let mut found = Snapshot::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let (path, about) = (entry.path(), entry.metadata().unwrap());
            let name = path.strip_prefix(root).unwrap().to_owned();
            if name == Path::new(".git") || name == Path::new("build") {
                continue;
            }
            if about.is_dir() {
                open.push(path);
            } else if about.is_symlink() {
                let target = fs::read_link(&path).unwrap();
                found.insert(name, (target.as_os_str().as_bytes().to_vec(), false));
            } else if about.is_file() {
                let runs = about.permissions().mode() & 0o100 != 0;
                found.insert(name, (fs::read(&path).unwrap(), runs));
            }
        }
    }
    found
}

/// A repository with everything that is easily lost.
fn workshop() -> ScratchRepo {
    let scratch = ScratchRepo::new();
    let root = scratch.root();
    put(root, ".gitignore", "build/\n*.log\n");
    put(
        root,
        ".gitattributes",
        "*.txt text eol=lf\n*.bin filter=none\n",
    );
    put(root, "src/main.rs", "fn main() {}\n");
    put(root, "src/deep/er/lib.rs", "pub fn f() {}\n");
    put(root, "kept.log", "tracked although ignored\n");
    put(root, "notes.txt", "one\r\ntwo\r\n");
    git(root, &["add", "-A", "-f", "."]);
    git(
        root,
        &[
            "-c",
            "user.name=ana",
            "-c",
            "user.email=ana@example.org",
            "commit",
            "-qm",
            "x",
        ],
    );
    put(root, "src/main.rs", "fn main() { uncommitted() }\n");
    put(root, "new/untracked.rs", "not in git\n");
    put(root, "run.sh", "#!/bin/sh\n");
    fs::set_permissions(root.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    put(root, "a \"quoted\\name\nwith lines.md", "odd\n");
    fs::write(
        root.join(OsStr::from_bytes(b"not-\xff-text")),
        [0, 159, 146, 150],
    )
    .unwrap();
    symlink("src/main.rs", root.join("link")).unwrap();
    symlink("/nowhere", root.join("dangling")).unwrap();
    put(root, "build/out", "made again\n");
    scratch
}

async fn newest(undo: &Undo) -> SavedFiles {
    undo.list(&go()).await.unwrap().remove(0)
}

fn sh(root: &Path, command: &str) {
    let status = Command::new("bash")
        .args(["-c", command])
        .current_dir(root)
        .env("HOME", root.parent().unwrap())
        .output();
    status.unwrap();
}

#[tokio::test]
async fn what_a_command_lost_comes_back_byte_for_byte() {
    let commands = include_str!("undoing.txt");
    let commands = commands
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut count = 0;
    let scratch = workshop();
    for command in commands {
        let copy = tempfile::tempdir().unwrap();
        let root = copy.path().canonicalize().unwrap().join("repo");
        let copied = Command::new("cp")
            .arg("-a")
            .args([scratch.root(), &root])
            .status();
        assert!(copied.unwrap().success());
        let undo = Undo::of(&root, "exec").unwrap();
        let before = snapshot(&root);
        assert!(before.len() > 10);
        let saved = undo.save(command, &go()).await.unwrap();
        assert!(saved.is_some(), "{command}");
        let away = tempfile::tempdir().unwrap();
        let command = command.replace("/tmp/away", &away.path().display().to_string());
        sh(&root, &command);
        let saved = newest(&undo).await;
        undo.restore(&saved, &go()).await.unwrap();
        let after = snapshot(&root);
        for (path, was) in &before {
            assert_eq!(after.get(path), Some(was), "{command}: {}", path.display());
        }
        assert_eq!(after.len(), before.len(), "{command}");
        count += 1;
    }
    assert!(count >= 60, "{count}");
}

#[tokio::test]
async fn a_save_happens_only_when_something_changed() {
    let scratch = workshop();
    let root = scratch.root();
    let undo = Undo::of(root, "exec").unwrap();
    undo.save("first", &go()).await.unwrap().unwrap();
    // Files that were just made may change without their time telling.
    tokio::time::sleep(std::time::Duration::from_millis(120)).await;
    undo.save("settled", &go()).await.unwrap();
    assert_eq!(undo.save("nothing", &go()).await.unwrap(), None);
    put(root, "build/out", "ignored\n");
    assert_eq!(undo.save("ignored", &go()).await.unwrap(), None);
    put(root, "src/main.rs", "other\n");
    let saved = undo.save("changed", &go()).await.unwrap().unwrap();
    assert_eq!(
        git(root, &["show", &format!("{}:src/main.rs", saved.commit)]),
        "other"
    );
    assert_eq!(
        git(root, &["show", &format!("{}:kept.log", saved.commit)]),
        "tracked although ignored"
    );
    fs::remove_file(root.join("run.sh")).unwrap();
    let saved = undo.save("gone", &go()).await.unwrap().unwrap();
    let names = git(
        root,
        &["ls-tree", "-r", "--name-only", saved.commit.as_str()],
    );
    assert!(
        !names.contains("run.sh") && names.contains("new/untracked.rs"),
        "{names}"
    );
    // The person's own index and branch play no part.
    assert!(git(root, &["status", "--porcelain"]).contains("?? new/"));
}

#[tokio::test]
async fn an_undo_can_be_undone() {
    let scratch = workshop();
    let root = scratch.root().canonicalize().unwrap();
    let undo = Undo::of(&root, "exec").unwrap();
    undo.save("first", &go()).await.unwrap();
    let first = newest(&undo).await;
    sh(&root, "rm -r src; echo later > later");
    let changed = snapshot(&root);
    undo.restore(&first, &go()).await.unwrap();
    assert!(root.join("src/main.rs").exists() && !root.join("later").exists());
    let before = undo.list(&go()).await.unwrap();
    let before = before
        .iter()
        .find(|one| one.why.contains("before undo"))
        .unwrap();
    undo.restore(before, &go()).await.unwrap();
    assert_eq!(snapshot(&root), changed);
}

#[tokio::test]
async fn nothing_is_written_through_a_link() {
    let scratch = workshop();
    let root = scratch.root().canonicalize().unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("main.rs"), "the person's\n").unwrap();
    let undo = Undo::of(&root, "exec").unwrap();
    undo.save("first", &go()).await.unwrap();
    let first = newest(&undo).await;
    fs::remove_dir_all(root.join("src")).unwrap();
    symlink(outside.path(), root.join("src")).unwrap();
    undo.restore(&first, &go()).await.unwrap();
    assert_eq!(
        fs::read_to_string(root.join("src/main.rs")).unwrap(),
        "fn main() { uncommitted() }\n"
    );
    assert_eq!(
        fs::read_to_string(outside.path().join("main.rs")).unwrap(),
        "the person's\n"
    );
}

/// Swaps a folder and a link to somebody's own folder as quickly as it can, as a command
/// that runs in the background may.
fn swapping(root: &Path, stop: &AtomicBool) {
    let (folder, link) = (root.join("swapped"), root.join("way-out"));
    while !stop.load(Ordering::Relaxed) {
        let _ = renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE);
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn a_folder_that_becomes_a_link_meanwhile_leads_nowhere() {
    let scratch = workshop();
    let root = scratch.root().canonicalize().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let key = outside.path().join("key");
    fs::write(&key, "the person's\n").unwrap();
    put(&root, "swapped/key", "the team's\n");
    symlink(outside.path(), root.join("way-out")).unwrap();
    let undo = Undo::of(&root, "exec").unwrap();
    undo.save("first", &go()).await.unwrap();
    let first = newest(&undo).await;
    let stop = Arc::new(AtomicBool::new(false));
    let swaps = {
        let (root, stop) = (root.clone(), Arc::clone(&stop));
        std::thread::spawn(move || swapping(&root, &stop))
    };
    for round in 0..120 {
        put(&root, "src/main.rs", &format!("{round}\n"));
        undo.save("meanwhile", &go()).await.unwrap();
        if round % 4 == 0 {
            // May fail: the folder is a moving target.
            let _ = undo.restore(&first, &go()).await;
        }
        let there = fs::read_to_string(&key).ok();
        assert_eq!(there.as_deref(), Some("the person's\n"), "round {round}");
    }
    stop.store(true, Ordering::Relaxed);
    swaps.join().unwrap();
    // Commands may read what git keeps.
    let persons = git(&root, &["hash-object", &key.display().to_string()]);
    let every = "--batch-check=%(objectname)";
    let kept = git(&root, &["cat-file", "--batch-all-objects", every]);
    assert!(
        !kept.contains(&persons),
        "what no command may read was saved"
    );
}

/// A pipe would hold us for ever, an endless device fill the memory.
#[tokio::test]
async fn what_stands_in_the_place_of_ignore_rules_holds_nothing_up() {
    let scratch = workshop();
    let root = scratch.root().canonicalize().unwrap();
    sh(
        &root,
        "mkdir pipe zero far; mkfifo pipe/.gitignore; ln -s /dev/zero zero/.gitignore; \
         ln -s ../../elsewhere far/.gitignore; echo '*' > ../elsewhere; \
         echo 1 | tee pipe/a zero/a far/a; echo 'b' > far/c; echo skip > src/skip.tmp; \
         echo '*.tmp' > src/.gitignore; echo '!kept.tmp' > src/deep/.gitignore; \
         echo 2 | tee src/deep/kept.tmp src/deep/gone.tmp; echo 'never/' >> .git/info/exclude; \
         mkdir never; echo 3 > never/a",
    );
    let undo = Undo::of(&root, "exec").unwrap();
    for again in 0..2 {
        put(&root, "src/main.rs", &format!("{again}\n"));
        let saved = undo.save("before", &go()).await.unwrap().unwrap();
        let names = git(
            &root,
            &["ls-tree", "-r", "--name-only", saved.commit.as_str()],
        );
        let has = |name: &str| names.lines().any(|line| line == name);
        for name in [
            "pipe/a",
            "zero/a",
            "far/a",
            "far/c",
            "src/deep/kept.tmp",
            "src/.gitignore",
        ] {
            assert!(has(name), "{name}: {names}");
        }
        for name in [
            "src/skip.tmp",
            "src/deep/gone.tmp",
            "never/a",
            "build/out",
            "pipe/.gitignore",
        ] {
            assert!(!has(name), "{name}: {names}");
        }
    }
}

#[tokio::test]
async fn what_is_large_comes_back_too() {
    let scratch = workshop();
    let root = scratch.root().canonicalize().unwrap();
    let sparse = |name: &str, last: &[u8]| {
        let file = fs::File::create(root.join(name)).unwrap();
        file.set_len(9 << 20).unwrap();
        file.write_all_at(last, 9 << 20).unwrap();
    };
    sparse("first.bin", b"1");
    let undo = Undo::of(&root, "exec").unwrap();
    undo.save("first", &go()).await.unwrap().unwrap();
    sparse("later.bin", b"22");
    let before = snapshot(&root);
    undo.save("second", &go()).await.unwrap().unwrap();
    let second = newest(&undo).await;
    sparse("first.bin", b"333");
    fs::remove_file(root.join("later.bin")).unwrap();
    undo.restore(&second, &go()).await.unwrap();
    assert_eq!(snapshot(&root), before);
    git(&root, &["fsck", "--strict", "--no-dangling"]);
}

#[tokio::test]
async fn a_subfolder_and_a_linked_worktree_are_saved_by_themselves() {
    let scratch = workshop();
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    write(&worktree, "only-here.txt", "1");
    for root in [scratch.root().join("src"), worktree.path.clone()] {
        let root = root.canonicalize().unwrap();
        let undo = Undo::of(&root, "exec").unwrap();
        undo.save("first", &go()).await.unwrap();
        let first = newest(&undo).await;
        assert_eq!(first.folder, root);
        let before = snapshot(&root);
        sh(&root, "find . -type f -not -path './.git*' -delete");
        undo.restore(&first, &go()).await.unwrap();
        assert_eq!(snapshot(&root), before);
    }
    assert!(scratch.root().join("run.sh").exists());
    let nowhere = tempfile::tempdir().unwrap();
    assert!(Undo::of(nowhere.path(), "exec").is_none());
    fs::create_dir(nowhere.path().join(".git")).unwrap();
    assert!(Undo::of(nowhere.path(), "exec").is_none());
}

/// An undo at the command line and whatever moves a branch save under the same name
/// while a team works.
#[tokio::test]
async fn what_somebody_else_saved_meanwhile_is_never_overwritten() {
    let scratch = workshop();
    let root = scratch.root().canonicalize().unwrap();
    let (team, person) = (Undo::of(&root, "x").unwrap(), Undo::of(&root, "x").unwrap());
    team.save("team 1", &go()).await.unwrap().unwrap();
    put(&root, "src/main.rs", "the person's\n");
    let persons = person.save("person", &go()).await.unwrap().unwrap();
    put(&root, "src/main.rs", "the team's\n");
    let teams = team.save("team 2", &go()).await.unwrap().unwrap();
    assert_ne!(persons.name, teams.name);
    assert_eq!(team.newest().await, Some(3));
    for (saved, text) in [(&persons, "the person's"), (&teams, "the team's")] {
        let held = git(&root, &["rev-parse", &saved.name]);
        assert_eq!(held, saved.commit.as_str());
        assert_eq!(git(&root, &["show", &format!("{held}:src/main.rs")]), text);
    }
}

#[tokio::test]
async fn old_saves_go_and_the_newest_stay() {
    let scratch = workshop();
    let root = scratch.root().canonicalize().unwrap();
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    let undo = Undo::of(&root, "exec").unwrap();
    for number in 0..23 {
        put(&root, "src/main.rs", &format!("{number}\n"));
        undo.save(&format!("save {number}"), &go())
            .await
            .unwrap()
            .unwrap();
    }
    let of_worktree = Undo::of(&worktree.path, worktree.short()).unwrap();
    of_worktree.save("there", &go()).await.unwrap().unwrap();
    // Not a save for an undo, so not to be pruned.
    git(
        &root,
        &["update-ref", "refs/codebutler/saved/asleep/1", "HEAD"],
    );
    let now = jiff::Timestamp::now().as_second();
    assert_eq!(
        repo.prune_saved(now, &go()).await.unwrap(),
        0,
        "all are young"
    );
    let later = now + 15 * 24 * 60 * 60;
    assert_eq!(repo.prune_saved(later, &go()).await.unwrap(), 3);
    let left = undo.list(&go()).await.unwrap();
    assert!(
        left.iter()
            .all(|one| !["exec/1", "exec/2", "exec/3"].contains(&one.name.as_str()))
    );
    assert_eq!(left.len(), 21);
    // The oldest that is left still comes back whole.
    let oldest = left.iter().find(|one| one.name == "exec/4").unwrap();
    undo.restore(oldest, &go()).await.unwrap();
    assert_eq!(fs::read_to_string(root.join("src/main.rs")).unwrap(), "3\n");
    // What was there before that undo was saved too, so one more is too many; and of a
    // folder that is gone nothing stays.
    fs::remove_dir_all(&worktree.path).unwrap();
    assert_eq!(repo.prune_saved(later, &go()).await.unwrap(), 2);
    let left = undo.list(&go()).await.unwrap();
    let oldest = left.last().map(|one| one.name.as_str());
    assert_eq!((left.len(), oldest), (20, Some("exec/5")));
    git(&root, &["rev-parse", "refs/codebutler/saved/asleep/1"]);
}

/// Saves after the first one are written without git, so git is asked whether they are
/// sound, and whether they hold what is there.
#[tokio::test]
async fn what_is_written_without_git_is_what_git_would_write() {
    let scratch = workshop();
    let root = scratch.root().canonicalize().unwrap();
    let undo = Undo::of(&root, "exec").unwrap();
    undo.save("first", &go()).await.unwrap().unwrap();
    let steps = [
        "echo 1 > src/main.rs",
        "rm -r src; echo 'now a file' > src",
        "rm src; mkdir -p src/a src/a.b src/a-b; echo x | tee src/a/x src/a.b/x src/a-b/x src/a0",
        "chmod +x src/a0; ln -s a0 src/link; rm src/a/x",
        "mkdir -p deep/1/2/3/4; echo y > deep/1/2/3/4/y; mv src elsewhere",
        "rm -r deep elsewhere; printf 'a\\nb' > \"$(printf 'odd\\nname')\"; : > empty",
        "cp notes.txt again.txt",
    ];
    let mut saves = Vec::new();
    for step in steps {
        sh(&root, step);
        let saved = undo.save(step, &go()).await.unwrap().unwrap();
        saves.push((saved.name.clone(), snapshot(&root)));
        let tree = git(&root, &["rev-parse", &format!("{}^{{tree}}", saved.commit)]);
        let listed = git(&root, &["ls-tree", "-r", "--name-only", "-z", &tree]);
        let held = listed.split('\0').filter(|name| !name.is_empty()).count();
        let there = snapshot(&root).len();
        assert_eq!(held, there, "{step}: {listed}");
    }
    let sound = Command::new("git")
        .args(["fsck", "--strict", "--no-dangling"])
        .current_dir(&root)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&sound.stderr);
    assert!(sound.status.success() && !said.contains("error"), "{said}");
    // Every one of them comes back byte for byte.
    for (name, then) in saves.iter().rev() {
        let all = undo.list(&go()).await.unwrap();
        let short = name.strip_prefix("refs/codebutler/saved/").unwrap();
        let wanted = all.iter().find(|one| one.name == short).unwrap();
        undo.restore(wanted, &go()).await.unwrap();
        assert_eq!(snapshot(&root), *then, "{name}");
    }
}

/// A clone that names its objects otherwise: git writes all of it.
#[tokio::test]
async fn a_store_of_another_kind_is_left_to_git() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    git(&root, &["init", "--quiet", "--object-format=sha256", "."]);
    put(&root, "a", "1\n");
    let undo = Undo::of(&root, "exec").unwrap();
    for text in ["2\n", "3\n", "4\n"] {
        undo.save("before", &go()).await.unwrap().unwrap();
        put(&root, "a", text);
    }
    let saved = undo.list(&go()).await.unwrap();
    assert!(saved.iter().all(|one| one.commit.as_str().len() == 64));
    let first = saved.iter().find(|one| one.name == "exec/1").unwrap();
    undo.restore(first, &go()).await.unwrap();
    assert_eq!(fs::read_to_string(root.join("a")).unwrap(), "1\n");
}
