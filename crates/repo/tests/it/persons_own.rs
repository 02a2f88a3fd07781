//! What is the person's stays as it is. A person and the team do things in one
//! clone, in any order; after each step of the team every file, ref and index
//! entry of the person's is compared with what it was before.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use butler_protocol::Role;
use butler_repo::{Error, Repo, Worktree};
use butler_testkit::{ScratchRepo, git};
use proptest::prelude::*;

use crate::support::*;

const TITLE: &str = "Greet";

/// One thing that happens in the clone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    // The person.
    ChecksOutInTheClone,
    AddsAWorktree,
    AddsOneAmongOurs,
    AddsOneInOurPlace,
    PutsAFolderInOurPlace,
    CommitsOnTheBranch,
    RebasesTheBranch,
    GoesBackToMain,
    MovesOursByGit,
    MovesOursByHand,
    DeletesOurs,
    ReplacesOursByALink,
    LinksBranches,
    LinksCodebutler,
    UsesOursForABranch,
    // The team.
    Create,
    Find,
    Work,
    Knowledge,
    Review,
    Hibernate,
    Reconcile,
    Remove,
}

use Step::{
    AddsAWorktree, AddsOneAmongOurs, AddsOneInOurPlace, ChecksOutInTheClone, CommitsOnTheBranch,
    Create, DeletesOurs, Find, GoesBackToMain, Hibernate, Knowledge, LinksBranches,
    LinksCodebutler, MovesOursByGit, MovesOursByHand, PutsAFolderInOurPlace, RebasesTheBranch,
    Reconcile, Remove, ReplacesOursByALink, Review, UsesOursForABranch, Work,
};

const PERSON: &[Step] = &[
    ChecksOutInTheClone,
    AddsAWorktree,
    AddsOneAmongOurs,
    AddsOneInOurPlace,
    PutsAFolderInOurPlace,
    CommitsOnTheBranch,
    RebasesTheBranch,
    GoesBackToMain,
    MovesOursByGit,
    MovesOursByHand,
    DeletesOurs,
    ReplacesOursByALink,
    LinksBranches,
    LinksCodebutler,
    UsesOursForABranch,
];
const TEAM: &[Step] = &[
    Create, Find, Work, Knowledge, Review, Hibernate, Reconcile, Remove,
];

/// A clone, the person's things in it, and what they look like.
struct Scene {
    scratch: ScratchRepo,
    repo: Repo,
    branch: String,
    /// Checkouts that are not ours.
    checkouts: BTreeSet<PathBuf>,
    /// Folders that are no checkouts.
    folders: BTreeSet<PathBuf>,
    last: BTreeMap<String, String>,
    count: u32,
}

fn try_git(dir: &Path, args: &[&str]) -> bool {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir);
    command.args(["-c", "user.name=ana", "-c", "user.email=ana@example.org"]);
    command.args(["-c", "core.editor=true"]);
    command.args(args).output().unwrap().status.success()
}

/// What git says, or that it says nothing.
fn said(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(dir)
        .args(args)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .output()
        .unwrap();
    match output.status.success() {
        true => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        false => "no answer".to_owned(),
    }
}

impl Scene {
    async fn new() -> Self {
        let scratch = ScratchRepo::new();
        let root = scratch.root().canonicalize().unwrap();
        let repo = open(&scratch).await;
        // Something of every kind that is only here.
        put(&root, "staged.txt", "staged\n");
        git(&root, &["add", "staged.txt"]);
        put(&root, "README.md", "# changed by ana\n");
        put(&root, "private/notes.txt", "untracked\n");
        git(&root, &["branch", "unpushed"]);
        put(&root, ".git/hooks/pre-push", "#!/bin/sh\n");
        put(&root, ".codebutler/coder.md", "a role\n");
        let branch = butler_repo::branch(&thread(1), TITLE).to_string();
        let mut scene = Self {
            scratch,
            repo,
            branch,
            checkouts: BTreeSet::from([root]),
            folders: BTreeSet::new(),
            last: BTreeMap::new(),
            count: 0,
        };
        scene.last = scene.look();
        scene
    }

    fn root(&self) -> PathBuf {
        self.scratch.root().canonicalize().unwrap()
    }

    /// Where the thread's worktree would be made.
    fn place(&self) -> PathBuf {
        let name = self.branch.trim_start_matches("codebutler/");
        self.root().join(".codebutler/branches").join(name)
    }

    /// Where it is.
    async fn ours(&self) -> Option<PathBuf> {
        let all = self.repo.list(&go()).await.unwrap();
        let ours = all.into_iter().find(|w| w.branch.as_str() == self.branch);
        ours.map(|worktree| worktree.path)
    }

    fn elsewhere(&mut self, name: &str) -> PathBuf {
        self.count += 1;
        let folder = self.scratch.folder().canonicalize().unwrap();
        folder.join(format!("{name}-{}", self.count))
    }

    async fn play(&mut self, step: Step) {
        match PERSON.contains(&step) {
            true => {
                self.person(step).await;
                self.last = self.look();
            }
            false => {
                self.team(step).await;
                let now = self.look();
                for (what, before) in &self.last {
                    let after = now.get(what).map_or("nothing", String::as_str);
                    assert_eq!(after, before, "after {step:?}: {what}");
                }
                assert_eq!(now.len(), self.last.len(), "after {step:?}: something came");
            }
        }
    }

    async fn person(&mut self, step: Step) {
        let (root, branch, place) = (self.root(), self.branch.clone(), self.place());
        let ours = self.ours().await;
        match step {
            ChecksOutInTheClone => {
                let args = ["checkout", "--merge", "--ignore-other-worktrees", &branch];
                try_git(&root, &args);
            }
            AddsAWorktree => {
                let path = self.elsewhere("anas");
                self.add(&path, &branch);
            }
            AddsOneAmongOurs => {
                let path = place.with_file_name(format!("anas-{}", self.count));
                self.count += 1;
                self.add(&path, &branch);
            }
            AddsOneInOurPlace => self.add(&place, &branch),
            PutsAFolderInOurPlace => {
                if fs::symlink_metadata(&place).is_err() {
                    put(&place, "notes.txt", "ana's\n");
                    self.folders.insert(place);
                }
            }
            CommitsOnTheBranch => {
                for checkout in self.checkouts.clone() {
                    if said(&checkout, &["symbolic-ref", "--short", "HEAD"]) == branch {
                        try_git(&checkout, &["commit", "--allow-empty", "-m", "ana's"]);
                    }
                }
            }
            RebasesTheBranch => {
                for checkout in self.checkouts.clone() {
                    if said(&checkout, &["symbolic-ref", "--short", "HEAD"]) == branch {
                        let sequence = "sequence.editor=sed -i 1ibreak";
                        try_git(&checkout, &["-c", sequence, "rebase", "-i", "HEAD~0"]);
                    }
                }
            }
            GoesBackToMain => {
                try_git(&root, &["rebase", "--abort"]);
                try_git(&root, &["checkout", "--merge", "main"]);
            }
            MovesOursByGit | MovesOursByHand => {
                let Some(ours) = ours else { return };
                let path = self.elsewhere("moved");
                match step {
                    MovesOursByGit => {
                        let (from, to) = (ours.to_str().unwrap(), path.to_str().unwrap());
                        if !try_git(&root, &["worktree", "move", from, to]) {
                            return;
                        }
                    }
                    _ => fs::rename(ours, &path).unwrap(),
                }
                self.checkouts.insert(path);
            }
            DeletesOurs => {
                if let Some(ours) = ours {
                    fs::remove_dir_all(ours).unwrap();
                }
            }
            ReplacesOursByALink => {
                let Some(ours) = ours else { return };
                let path = self.elsewhere("linked");
                put(&path, "notes.txt", "ana's\n");
                let aside = self.elsewhere("aside");
                fs::rename(&ours, &aside).unwrap();
                symlink(&path, &ours).unwrap();
                self.folders.extend([path, ours]);
                self.checkouts.insert(aside);
            }
            LinksBranches => self.link(&root.join(".codebutler/branches")),
            LinksCodebutler => self.link(&root.join(".codebutler")),
            UsesOursForABranch => {
                if let Some(ours) = ours {
                    try_git(&ours, &["checkout", "-b", &format!("anas-{}", self.count)]);
                    self.count += 1;
                }
            }
            _ => unreachable!("a step of the team"),
        }
    }

    fn add(&mut self, path: &Path, branch: &str) {
        let text = path.to_str().unwrap();
        if fs::symlink_metadata(path).is_err()
            && try_git(&self.root(), &["worktree", "add", "--force", text, branch])
        {
            put(path, "anas.txt", "untracked\n");
            self.checkouts.insert(path.to_owned());
        }
    }

    /// Moves a folder away with all that is in it, and leaves a link to it.
    fn link(&mut self, place: &Path) {
        if !fs::symlink_metadata(place).is_ok_and(|meta| meta.is_dir()) {
            return;
        }
        let path = self.elsewhere("target");
        fs::rename(place, &path).unwrap();
        symlink(&path, place).unwrap();
        self.folders.insert(path);
        self.folders.insert(place.to_owned());
    }

    async fn team(&mut self, step: Step) {
        let (repo, one, cancel) = (self.repo.clone(), thread(1), go());
        match step {
            Create => may_refuse(repo.create(&one, TITLE, &cancel).await),
            Find => may_refuse(repo.find(&one).await.map(drop)),
            Work => {
                self.count += 1;
                let outcome = self.work().await;
                may_refuse(outcome);
            }
            Knowledge => {
                may_refuse(repo.knowledge(&one, &cancel).await);
                repo.remove_knowledge(&one, &cancel).await.unwrap();
            }
            Review => {
                let head = repo.resolve("origin/main").await.unwrap().unwrap();
                may_refuse(repo.review_checkout(&one, &head, &cancel).await);
                may_refuse(repo.base(&cancel).await);
            }
            // A thread can always end.
            Hibernate => drop(repo.hibernate(&one, &cancel).await.unwrap()),
            Reconcile => drop(repo.reconcile(&cancel).await.unwrap()),
            Remove => repo.remove(&one, &cancel).await.unwrap(),
            _ => unreachable!("a step of the person"),
        }
    }

    async fn work(&self) -> Result<(), Error> {
        let worktree = self.repo.create(&thread(1), TITLE, &go()).await?;
        self.stands_alone(&worktree);
        let file = format!("work-{}.txt", self.count);
        write(&worktree, &file, "the team's\n");
        worktree.commit_all(Role::Coder, "work", &[], &go()).await?;
        worktree.rebase_on_default(&go()).await?;
        let pushed = self.scratch.remote_file(&self.branch, &file);
        assert_eq!(pushed.as_deref(), Some("the team's\n"));
        for private in ["private/notes.txt", "anas.txt", "notes.txt"] {
            let leaked = self.scratch.remote_file(&self.branch, private);
            assert_eq!(leaked, None, "{private} was pushed");
        }
        Ok(())
    }

    /// The team's folder is none of the person's.
    fn stands_alone(&self, worktree: &Worktree) {
        let path = worktree.path.canonicalize().unwrap();
        let theirs = self.checkouts.iter().chain(&self.folders);
        for other in theirs.filter(|other| **other != self.root()) {
            let other = other.canonicalize().unwrap();
            assert!(!path.starts_with(&other), "the team works in {other:?}");
        }
        assert!(path.starts_with(self.root().join(".codebutler/branches")));
    }

    /// Everything of the person's.
    fn look(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        for folder in self.checkouts.iter().chain(&self.folders) {
            self.files(folder, &mut all);
        }
        let mut held = BTreeSet::new();
        for checkout in &self.checkouts {
            let mut note = |what: &str, args: &[&str]| {
                all.insert(
                    format!("{what} of {}", checkout.display()),
                    said(checkout, args),
                );
            };
            note("the index", &["ls-files", "--stage"]);
            note("the commit", &["rev-parse", "HEAD"]);
            note("the branch", &["symbolic-ref", "--quiet", "HEAD"]);
            note(
                "the rebase",
                &["rev-parse", "--quiet", "--verify", "REBASE_HEAD"],
            );
            held.insert(said(checkout, &["symbolic-ref", "--quiet", "HEAD"]));
            let git_dir = said(checkout, &["rev-parse", "--absolute-git-dir"]);
            let begun = Path::new(&git_dir).join("rebase-merge/head-name");
            held.extend(fs::read_to_string(begun).map(|text| text.trim().to_owned()));
        }
        let root = self.root();
        let refs = said(
            &root,
            &["for-each-ref", "--format=%(refname) %(objectname)"],
        );
        for (name, at) in refs.lines().filter_map(|line| line.split_once(' ')) {
            let ours = [
                "refs/codebutler/",
                "refs/remotes/",
                "refs/heads/codebutler/",
            ];
            if held.contains(name) || !ours.iter().any(|start| name.starts_with(start)) {
                all.insert(name.to_owned(), at.to_owned());
            }
        }
        for file in ["config", "HEAD", "hooks/pre-push"] {
            let text = fs::read_to_string(root.join(".git").join(file)).unwrap();
            all.insert(format!(".git/{file}"), text);
        }
        all
    }

    fn files(&self, path: &Path, all: &mut BTreeMap<String, String>) {
        let Ok(meta) = fs::symlink_metadata(path) else {
            return;
        };
        let content = if meta.is_symlink() {
            format!("a link to {}", fs::read_link(path).unwrap().display())
        } else if meta.is_dir() {
            let root = self.root();
            let ours = [root.join(".git"), root.join(".codebutler/branches")];
            if ours.iter().any(|ours| ours == path) {
                return;
            }
            for entry in fs::read_dir(path).unwrap().flatten() {
                self.files(&entry.path(), all);
            }
            "a folder".to_owned()
        } else {
            let mode = meta.permissions().mode();
            format!(
                "{mode:o} {}",
                String::from_utf8_lossy(&fs::read(path).unwrap())
            )
        };
        all.insert(path.display().to_string(), content);
    }
}

/// Working may be refused with a clear word where nothing can be ours.
fn may_refuse<T>(outcome: Result<T, Error>) {
    match outcome {
        Ok(_) | Err(Error::Link { .. } | Error::OtherBranch { .. }) => {}
        Err(error) => panic!("{error}: {error:?}"),
    }
}

fn play(steps: &[Step]) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut scene = Scene::new().await;
        for step in steps {
            scene.play(*step).await;
        }
    });
}

/// Every layout with every way to end, the thread's work pushed before.
#[test]
fn a_thread_may_end_in_any_way_wherever_its_branch_is_checked_out() {
    let layouts: &[&[Step]] = &[
        &[ChecksOutInTheClone],
        &[
            Remove,
            Work,
            Hibernate,
            ChecksOutInTheClone,
            CommitsOnTheBranch,
        ],
        &[AddsAWorktree, CommitsOnTheBranch],
        &[AddsAWorktree, RebasesTheBranch],
        &[AddsOneAmongOurs],
        &[Hibernate, AddsOneInOurPlace],
        &[Hibernate, PutsAFolderInOurPlace],
        &[MovesOursByGit],
        &[MovesOursByHand],
        &[ReplacesOursByALink],
        &[LinksBranches],
        &[LinksCodebutler],
        &[UsesOursForABranch],
    ];
    let ends: &[&[Step]] = &[
        &[Remove],
        &[Reconcile, Work, Hibernate, Work, Knowledge, Review, Remove],
    ];
    for layout in layouts {
        for end in ends {
            let steps = [&[Work], *layout, *end].concat();
            let played = std::panic::catch_unwind(|| play(&steps));
            assert!(played.is_ok(), "{steps:?}");
        }
    }
}

/// The worst that was ever seen: the whole clone was deleted.
#[test]
fn a_branch_that_is_checked_out_in_the_clone_itself_costs_nothing() {
    play(&[Work, Hibernate, ChecksOutInTheClone, Remove]);
    play(&[Work, Hibernate, ChecksOutInTheClone, Work, Remove]);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if std::env::var_os("CODEBUTLER_NIGHTLY").is_some() { 500 } else { 12 },
        max_shrink_iters: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn nothing_of_the_persons_changes_whatever_happens(
        steps in prop::collection::vec(
            prop_oneof![prop::sample::select(PERSON), prop::sample::select(TEAM)],
            1..9,
        ),
    ) {
        play(&[&[Work], steps.as_slice(), &[Remove]].concat());
    }
}
