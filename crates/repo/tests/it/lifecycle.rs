//! A thread's worktree from its making to its end, every step twice.

use butler_protocol::Role;
use butler_repo::{DiffOf, Error, Repo};
use butler_testkit::{ScratchRepo, git};

use crate::support::*;

#[tokio::test]
async fn a_worktree_is_made_once_and_pushed() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    assert_eq!(repo.default_branch().as_str(), "main");
    let first = repo.create(&thread(1), "Say hello!", &go()).await.unwrap();
    let name = format!("codebutler/say-hello-{}", thread(1).short());
    assert_eq!(first.branch.as_str(), name);
    assert!(first.path.ends_with(format!(
        ".codebutler/branches/say-hello-{}",
        thread(1).short()
    )));
    assert_eq!(read(&first, "README.md"), "# scratch\n");
    assert!(scratch.remote_branches().contains(&name));

    let again = repo
        .create(&thread(1), "Another title", &go())
        .await
        .unwrap();
    assert_eq!((&again.path, &again.branch), (&first.path, &first.branch));
    let found = repo.find(&thread(1)).await.unwrap().unwrap();
    assert_eq!(found.path, first.path);
    assert!(repo.find(&thread(2)).await.unwrap().is_none());
    assert_eq!(repo.list(&go()).await.unwrap().len(), 1);
    assert_eq!(git(scratch.root(), &["status", "--porcelain"]), "");
}

#[tokio::test]
async fn it_starts_from_the_default_branch_as_it_is_on_the_remote_now() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    scratch.push_to_main("new.txt", "new");
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    assert_eq!(read(&worktree, "new.txt"), "new");
}

#[tokio::test]
async fn another_clone_adopts_the_branch_from_the_remote() {
    let scratch = ScratchRepo::new();
    let here = open(&scratch).await;
    let worktree = here.create(&thread(1), "Say hello", &go()).await.unwrap();
    deliver(&worktree, "hello.txt", "hello").await;

    let other = Repo::open(scratch.clone_as("other").root()).await.unwrap();
    let found = other.find(&thread(1)).await.unwrap().unwrap();
    assert_eq!(found.branch, worktree.branch);
    assert_eq!(read(&found, "hello.txt"), "hello");
    let made = other.create(&thread(1), "Renamed", &go()).await.unwrap();
    assert_eq!(made.path, found.path);
}

#[tokio::test]
async fn an_interrupted_making_is_continued() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let root = scratch.root();
    // As far as a crash between "add" and "files" gets.
    let name = format!("say-hello-{}", thread(1).short());
    let branch = format!("codebutler/{name}");
    let folder = format!(".codebutler/branches/{name}");
    git(root, &["branch", &branch, "origin/main"]);
    git(
        root,
        &[
            "worktree",
            "add",
            "--no-checkout",
            "--lock",
            "--reason",
            "codebutler: being made",
            &folder,
            &branch,
        ],
    );
    let lock = root.join(".git/worktrees").join(&name).join("index.lock");
    std::fs::write(&lock, "").unwrap();
    assert!(repo.list(&go()).await.unwrap().is_empty());

    let worktree = repo.create(&thread(1), "Say hello", &go()).await.unwrap();
    assert_eq!(read(&worktree, "README.md"), "# scratch\n");
    assert!(!lock.exists() && scratch.remote_branches().contains(&branch));
    assert!(worktree.status(&go()).await.unwrap().is_clean());
}

#[tokio::test]
async fn a_folder_that_was_deleted_by_hand_comes_back_and_a_strange_one_is_kept() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    deliver(&worktree, "a.txt", "a").await;
    std::fs::remove_dir_all(&worktree.path).unwrap();
    put(&worktree.path, "notes.txt", "somebody's");
    let again = repo.create(&thread(1), "x", &go()).await.unwrap();
    assert_eq!(read(&again, "a.txt"), "a");
    assert_ne!(again.path, worktree.path);
    assert_eq!(read(&worktree, "notes.txt"), "somebody's");
}

#[tokio::test]
async fn a_commit_holds_all_files_names_its_role_and_is_made_once() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    let commit = |text: &'static str, id: &'static str| {
        let worktree = worktree.clone();
        async move {
            worktree
                .commit_all(Role::Coder, text, &key(id), &go())
                .await
                .unwrap()
        }
    };
    assert_eq!(commit("nothing", "k0").await, None);
    write(&worktree, ".gitignore", "secret.env\n");
    write(&worktree, "secret.env", "x");
    write(&worktree, "dir/new file\n.txt", "new");
    std::fs::remove_file(worktree.path.join("README.md")).unwrap();
    let first = commit("Say hello", "k1").await.unwrap();
    assert_eq!(commit("Say hello", "k1").await.as_ref(), Some(&first));
    assert_eq!(worktree.head().await.unwrap(), first);
    assert_eq!(commit("nothing new", "k2").await, None);
    let shown = git(
        &worktree.path,
        &[
            "show",
            "--name-only",
            "-z",
            "--format=%an|%ae|%s|%(trailers)",
            "HEAD",
        ],
    );
    assert!(
        shown.starts_with(
            "CodeButler coder|coder@codebutler.invalid|Say hello|CodeButler-Key: k1\n"
        ),
        "{shown}"
    );
    assert!(
        shown.contains("README.md")
            && shown.contains("dir/new file\n.txt")
            && !shown.contains("secret.env")
    );
    assert!(worktree.status(&go()).await.unwrap().is_clean());

    // A file that became a folder, and back.
    write(&worktree, "x", "file");
    commit("file", "k3").await.unwrap();
    std::fs::remove_file(worktree.path.join("x")).unwrap();
    write(&worktree, "x/y", "in a folder");
    commit("folder", "k4").await.unwrap();
    assert!(worktree.status(&go()).await.unwrap().is_clean());
    assert_eq!(
        git(
            &worktree.path,
            &["ls-tree", "-r", "--name-only", "HEAD", "x"]
        ),
        "x/y"
    );
}

#[tokio::test]
async fn a_diff_shows_new_files_too() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    deliver(&worktree, "one.txt", "one\n").await;
    write(&worktree, "two.txt", "two\n");
    let uncommitted = worktree.diff(DiffOf::Uncommitted, &go()).await.unwrap();
    assert!(
        uncommitted.contains("+two") && !uncommitted.contains("+one"),
        "{uncommitted}"
    );
    scratch.push_to_main("theirs.txt", "theirs\n");
    repo.fetch(&go()).await.unwrap();
    let thread = worktree.diff(DiffOf::Thread, &go()).await.unwrap();
    assert!(
        thread.contains("+two") && thread.contains("+one") && !thread.contains("theirs"),
        "{thread}"
    );
    let status = worktree.status(&go()).await.unwrap();
    assert_eq!(status.changes.len(), 1);
    assert_eq!((status.changes[0].code.as_str(), status.ahead), ("??", 0));
}

#[tokio::test]
async fn the_base_and_review_checkouts_follow_what_they_show() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let base = repo.base(&go()).await.unwrap();
    assert!(base.join("README.md").exists());
    scratch.push_to_main("later.txt", "later");
    put(&base, "README.md", "scribbled");
    assert_eq!(repo.base(&go()).await.unwrap(), base);
    assert!(base.join("later.txt").exists());
    assert_eq!(
        std::fs::read_to_string(base.join("README.md")).unwrap(),
        "# scratch\n"
    );
    assert_eq!(repo.saved("_base", &go()).await.unwrap().len(), 1);

    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    deliver(&worktree, "a.txt", "1").await;
    let head = worktree.head().await.unwrap();
    let other = Repo::open(scratch.clone_as("other").root()).await.unwrap();
    let review = other
        .review_checkout(&thread(1), &head, &go())
        .await
        .unwrap();
    assert_eq!(std::fs::read_to_string(review.join("a.txt")).unwrap(), "1");
    deliver(&worktree, "a.txt", "2").await;
    let head = worktree.head().await.unwrap();
    assert_eq!(
        other
            .review_checkout(&thread(1), &head, &go())
            .await
            .unwrap(),
        review
    );
    assert_eq!(std::fs::read_to_string(review.join("a.txt")).unwrap(), "2");
    other.remove(&thread(1), &go()).await.unwrap();
    assert!(!review.exists());
}

#[tokio::test]
async fn removal_takes_worktree_and_branch_and_may_be_repeated() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    let other = repo.create(&thread(2), "y", &go()).await.unwrap();
    deliver(&worktree, "a.txt", "a").await;
    for _ in 0..2 {
        repo.remove(&thread(1), &go()).await.unwrap();
        assert!(!worktree.path.exists() && other.path.exists());
        assert_eq!(
            git(
                scratch.root(),
                &["branch", "--list", worktree.branch.as_str()]
            ),
            ""
        );
    }
    assert!(
        repo.saved(&thread(1).short(), &go())
            .await
            .unwrap()
            .is_empty()
    );
    assert!(
        scratch
            .remote_branches()
            .contains(&worktree.branch.to_string())
    );
    let back = repo.find(&thread(1)).await.unwrap().unwrap();
    assert_eq!(read(&back, "a.txt"), "a");
}

/// Nothing came of it: nothing of it stays, here or on the remote. Where something did, or
/// somebody pushed there, the remote branch is left.
#[tokio::test]
async fn a_branch_is_given_back_whole_when_there_is_nothing_on_it() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let empty = repo.create(&thread(1), "x", &go()).await.unwrap();
    scratch.push_to_main("meanwhile.txt", "meanwhile");
    for _ in 0..2 {
        repo.give_back(&thread(1), &go()).await.unwrap();
        assert!(!empty.path.exists());
        assert_eq!(scratch.remote_branches(), ["main"]);
    }
    let built = repo.create(&thread(2), "y", &go()).await.unwrap();
    deliver(&built, "a.txt", "a").await;
    let pushed = repo.create(&thread(3), "z", &go()).await.unwrap();
    let there = Repo::open(scratch.clone_as("other").root()).await.unwrap();
    let there = there.find(&thread(3)).await.unwrap().unwrap();
    deliver(&there, "b.txt", "b").await;
    for number in [2, 3] {
        repo.give_back(&thread(number), &go()).await.unwrap();
    }
    let mut left = [built, pushed].map(|one| one.branch.to_string());
    left.sort();
    assert_eq!(
        scratch.remote_branches()[..2],
        left,
        "what is on them stays"
    );
    let again = repo.create(&thread(1), "x", &go()).await.unwrap();
    assert!(again.path.exists());
}

#[tokio::test]
async fn a_clone_without_a_remote_works_alone() {
    let scratch = ScratchRepo::new();
    git(scratch.root(), &["remote", "remove", "origin"]);
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    write(&worktree, "a.txt", "a");
    let made = worktree
        .commit_all(Role::Coder, "a", &[], &go())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(worktree.push(&go()).await.unwrap(), made);
    repo.remove(&thread(1), &go()).await.unwrap();
    assert_eq!(
        repo.saved(&thread(1).short(), &go()).await.unwrap().len(),
        1
    );
}

#[tokio::test]
async fn what_is_no_repository_is_named() {
    let scratch = ScratchRepo::new();
    let inside = scratch.root().join("sub");
    std::fs::create_dir(&inside).unwrap();
    let error = Repo::open(&inside).await.unwrap_err();
    assert!(matches!(error, Error::NotARepo { .. }), "{error}");
    git(scratch.root(), &["remote", "rename", "origin", "a"]);
    git(scratch.root(), &["remote", "add", "b", "x"]);
    let error = Repo::open(scratch.root()).await.unwrap_err();
    assert!(error.to_string().contains("a, b"), "{error}");
}

/// A clone that fetches files only when they are needed: in the sandbox git could not.
#[tokio::test]
async fn a_partial_clone_gets_its_files() {
    for filter in ["blob:none", "tree:0"] {
        let scratch = ScratchRepo::new();
        scratch.remote_git(&["config", "uploadpack.allowFilter", "true"]);
        scratch.remote_git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
        scratch.push_to_main("deep/down/file.txt", "deep\n");
        let address = format!("file://{}", scratch.remote().display());
        let filter = format!("--filter={filter}");
        let args = [
            "clone",
            "--quiet",
            "--no-checkout",
            &filter,
            &address,
            "part",
        ];
        git(scratch.folder(), &args);
        let _ = go();
        let repo = Repo::open(&scratch.folder().join("part")).await.unwrap();
        let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
        assert_eq!(read(&worktree, "deep/down/file.txt"), "deep\n");
        deliver(&worktree, "deep/other.txt", "other\n").await;
        scratch.push_to_main("deep/down/file.txt", "deeper\n");
        worktree.rebase_on_default(&go()).await.unwrap();
        assert_eq!(read(&worktree, "deep/down/file.txt"), "deeper\n");
        let base = repo.base(&go()).await.unwrap();
        assert!(base.join("deep/down/file.txt").exists());
    }
}

#[tokio::test]
async fn a_branch_in_the_way_is_named_with_what_to_do() {
    let scratch = ScratchRepo::new();
    git(scratch.root(), &["branch", "codebutler"]);
    let repo = open(&scratch).await;
    let error = repo.create(&thread(1), "x", &go()).await.unwrap_err();
    assert!(matches!(error, Error::InTheWay { .. }), "{error}");
    git(scratch.root(), &["branch", "-m", "codebutler", "other"]);
    repo.create(&thread(1), "x", &go()).await.unwrap();
}

#[tokio::test]
async fn an_address_that_is_written_from_the_clone_is_found() {
    let scratch = ScratchRepo::new();
    git(
        scratch.root(),
        &["remote", "set-url", "origin", "../remote.git"],
    );
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    deliver(&worktree, "a.txt", "a").await;
    let pushed = scratch.remote_file(worktree.branch.as_str(), "a.txt");
    assert_eq!(pushed.as_deref(), Some("a"));
}
