//! The person's clone: where its remote is, which branch is the default, and
//! where our worktrees live. We never touch the person's own working files,
//! index or branches; we add refs, objects and worktrees beside them.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use butler_protocol::{BranchName, CommitSha, ThreadId};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::{
    Error, Git, Result,
    git::{RULES, clear_scratch, version},
    lock::{FileLock, WorktreeLock},
    refs::push::jitter,
};

const FETCHES: u32 = 6;
/// Folders in folders, in a clone that leaves even those with the remote.
const DEEPEST: u32 = 100;

/// The folder of all worktrees, below the clone.
pub(crate) const BRANCHES: &[&str] = &[".codebutler", "branches"];

/// A clone that the team works in. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Repo {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    root: PathBuf,
    git: Git,
    common: PathBuf,
    remote: Option<Remote>,
    default_branch: BranchName,
    /// Whether the clone leaves objects with the remote until they are needed.
    is_partial: bool,
}

/// The remote that we fetch from and push to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// As in `origin`.
    pub name: String,
    pub url: String,
}

impl Repo {
    /// Opens the clone whose top folder is `root`.
    /// Fails when `root` is not the top of a repository, its config includes other files, or its
    /// remote or default branch cannot be told.
    pub async fn open(root: &Path) -> Result<Self> {
        Self::open_with(Git::at(root)).await
    }

    /// The default branch as [`Repo::open`] finds it, for somebody who only
    /// wants to know: nothing is written.
    /// Fails when the remote or its default branch cannot be told.
    pub async fn default_branch_at(root: &Path) -> Result<BranchName> {
        let git = Git::at(root);
        let remote = choose_remote(&git).await?;
        default_branch(&git, remote.as_ref()).await
    }

    /// Opens the clone that `git` runs in.
    pub fn open_with(git: Git) -> BoxFuture<'static, Result<Self>> {
        Box::pin(async move {
            let root = git.dir().to_owned();
            let not_a_repo = || Error::NotARepo { path: root.clone() };
            let common = git.common_dir()?;
            write_rules(&common)?;
            version(git.settings()).await?;
            clear_scratch(&common).await?;
            let git = git.without_files();
            let said = git
                .call(["config", "--get-regexp"])
                .arg(r"^(core\.worktree|remote\..*\.promisor)$")
                .accept(&[0, 1])
                .finish()
                .await?;
            let elsewhere = said.lines().find_map(|line| {
                let files = line.strip_prefix("core.worktree ")?;
                Some(git.git_dir().ok()?.join(files).canonicalize().ok())
            });
            // Git would work on another folder than ours.
            if elsewhere.is_some_and(|files| files.as_deref() != Some(&root)) {
                return Err(not_a_repo());
            }
            let is_partial = said.lines().any(|line| line.ends_with(".promisor true"));
            let remote = choose_remote(&git).await?;
            let default_branch = default_branch(&git, remote.as_ref()).await?;
            let disarmed = git.disarmed().await?;
            if !disarmed.is_empty() {
                tracing::warn!(keys = ?disarmed, "the repository's git config names programs; they are not run");
            }
            let repo = Self {
                inner: Arc::new(Inner {
                    root,
                    git,
                    common,
                    remote,
                    default_branch,
                    is_partial,
                }),
            };
            repo.repair(&CancellationToken::new()).await?;
            Ok(repo)
        })
    }

    /// The top folder of the clone.
    pub fn root(&self) -> &Path {
        &self.inner.root
    }

    /// Git in the clone.
    pub fn git(&self) -> &Git {
        &self.inner.git
    }

    /// The remote, when there is one.
    pub fn remote(&self) -> Option<&Remote> {
        self.inner.remote.as_ref()
    }

    /// The branch that pull requests are merged into.
    pub fn default_branch(&self) -> &BranchName {
        &self.inner.default_branch
    }

    /// The folder of all worktrees, `.codebutler/branches`.
    pub fn branches(&self) -> PathBuf {
        self.root().join(BRANCHES.join("/"))
    }

    /// The last fetched default branch; the local one without a remote.
    pub fn default_ref(&self) -> String {
        self.tracking_ref(self.default_branch())
    }

    /// Where a branch of the remote is kept in this clone.
    pub(crate) fn tracking_ref(&self, branch: &BranchName) -> String {
        match self.remote() {
            Some(remote) => format!("refs/remotes/{}/{branch}", remote.name),
            None => format!("refs/heads/{branch}"),
        }
    }

    /// Fetches the default branch and every branch of ours; forgets those that
    /// are gone from the remote. Without a remote there is nothing to do.
    pub async fn fetch(&self, cancel: &CancellationToken) -> Result<()> {
        let Some(remote) = self.remote() else {
            return Ok(());
        };
        let default = self.default_branch();
        let specs = [
            format!("+refs/heads/{default}:{}", self.default_ref()),
            format!(
                "+refs/heads/codebutler/*:refs/remotes/{}/codebutler/*",
                remote.name
            ),
        ];
        self.fetch_refs(&specs, cancel).await
    }

    /// Fetches by refspecs, one fetch at a time. A push from another worktree
    /// moves the same refs (git notes what it pushed); then git ends with 1
    /// and the fetch is simply made again.
    pub(crate) async fn fetch_refs(
        &self,
        specs: &[String],
        cancel: &CancellationToken,
    ) -> Result<()> {
        let _alone = FileLock::take(&self.lock_file("fetch"), cancel).await?;
        for attempt in 0..FETCHES {
            match self.fetch_once(specs, cancel).await {
                Err(error) if error.is_exit(1) && attempt + 1 < FETCHES => {
                    jitter(attempt, cancel).await?;
                }
                outcome => return outcome,
            }
        }
        Ok(())
    }

    async fn fetch_once(&self, specs: &[String], cancel: &CancellationToken) -> Result<()> {
        let remote = self.need_remote()?;
        self.git()
            .call(["fetch", "--quiet", "--no-tags", "--prune"])
            .args([
                "--no-write-fetch-head",
                "--no-auto-maintenance",
                "--no-filter",
            ])
            .args(["--end-of-options", &remote.name])
            .args(specs)
            .remote()
            .run(cancel)
            .await
            .map(drop)
            .map_err(|error| self.why_not_fetched(error))
    }

    /// The same error, or what it comes from.
    fn why_not_fetched(&self, error: Error) -> Error {
        let Error::Failed { stderr, .. } = &error else {
            return error;
        };
        let (branch, remote) = (self.default_branch(), self.remote());
        let gone = format!("couldn't find remote ref refs/heads/{branch}");
        match remote {
            Some(remote) if stderr.contains(&gone) => Error::DefaultGone {
                branch: branch.clone(),
                remote: remote.name.clone(),
            },
            // A branch of that name, seen by an ordinary fetch, is where a folder is needed.
            Some(remote)
                if stderr.contains(&format!("refs/remotes/{}/codebutler' exists", remote.name)) =>
            {
                Error::InTheWay {
                    branch: BranchName::new("codebutler/*"),
                }
            }
            _ => error,
        }
    }

    /// Fetches what a partial clone has left with the remote of these commits' files:
    /// in the sandbox git cannot.
    pub(crate) async fn bring(
        &self,
        git: &Git,
        commits: &[&str],
        cancel: &CancellationToken,
    ) -> Result<()> {
        // Folders first, then what is in them.
        for _ in 0..DEEPEST {
            if !self.inner.is_partial {
                return Ok(());
            }
            let listed = git
                .call(["rev-list", "--objects", "--missing=print", "--no-walk"])
                .arg("--end-of-options")
                .args(commits)
                .run(cancel)
                .await?;
            let missing: Vec<String> = listed
                .lines()
                .filter_map(|line| Some(format!("{}\n", line.strip_prefix('?')?)))
                .collect();
            if missing.is_empty() {
                return Ok(());
            }
            self.git()
                .call(["fetch", "--quiet", "--no-tags"])
                .args(["--no-write-fetch-head", "--no-auto-maintenance"])
                .args(["--filter=blob:none", "--stdin", "--end-of-options"])
                .arg(&self.need_remote()?.name)
                .input(missing.concat())
                .remote()
                .run(cancel)
                .await?;
        }
        Ok(())
    }

    pub(crate) fn need_remote(&self) -> Result<&Remote> {
        self.remote().ok_or_else(|| Error::NoRemote {
            path: self.root().to_owned(),
        })
    }

    /// The commit that a name stands for, if there is one.
    pub async fn resolve(&self, name: &str) -> Result<Option<CommitSha>> {
        resolve(self.git(), name).await
    }

    /// The lock of a thread's worktree, if it is free.
    /// Fails when the lock file cannot be made.
    pub fn try_lock(&self, thread: &ThreadId) -> Result<Option<WorktreeLock>> {
        self.try_lock_short(&thread.short())
    }

    /// The same for what cannot go on without. With a moment's patience: until its program
    /// runs, a process that is being started holds whatever we hold.
    pub(crate) async fn lock_soon(&self, thread: &ThreadId) -> Result<WorktreeLock> {
        for pause in [1, 4, 16, 64, 256] {
            if let Some(held) = self.try_lock(thread)? {
                return Ok(held);
            }
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        self.try_lock(thread)?.ok_or_else(|| Error::Busy {
            what: format!("the worktree of {}", thread.short()),
        })
    }

    pub(crate) fn try_lock_short(&self, short: &str) -> Result<Option<WorktreeLock>> {
        let path = self.lock_file(&format!("{short}.activation"));
        Ok(FileLock::try_take(&path)?.map(|held| WorktreeLock::new(held, path)))
    }

    /// Lock files live beside the refs, not in the worktrees, so that they
    /// outlive them.
    pub(crate) fn lock_file(&self, name: &str) -> PathBuf {
        self.inner
            .common
            .join("codebutler")
            .join("locks")
            .join(name)
    }

    /// The lock that git needs around adding and removing worktrees.
    pub(crate) async fn alone(&self, cancel: &CancellationToken) -> Result<FileLock> {
        FileLock::take(&self.lock_file("worktrees"), cancel).await
    }

    /// The right to run commands that change one worktree's index, refs or
    /// files. Shared with the git child, so that a crash of ours cannot leave
    /// two writers behind.
    pub(crate) async fn writer(&self, name: &str, cancel: &CancellationToken) -> Result<FileLock> {
        FileLock::take(&self.lock_file(&format!("{name}.writer")), cancel).await
    }

    /// Whether objects are left at the remote until they are needed.
    pub(crate) fn is_partial(&self) -> bool {
        self.inner.is_partial
    }

    /// The git state that all worktrees share.
    pub(crate) fn common(&self) -> &Path {
        &self.inner.common
    }

    /// Makes `.codebutler/branches`, refuses a link in its place, and keeps it
    /// out of the person's `git status`.
    pub(crate) fn make_branches_folder(&self) -> Result<PathBuf> {
        let branches = self.branches();
        for path in [self.root().join(".codebutler"), branches.clone()] {
            match fs::create_dir(&path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(Error::file(path)(error));
                }
                _ => {}
            }
            let meta = fs::symlink_metadata(&path).map_err(Error::file(&path))?;
            if meta.is_symlink() {
                return Err(Error::Link { path });
            }
        }
        let exclude = self.inner.common.join("info").join("exclude");
        let line = "/.codebutler/branches/";
        let text = fs::read_to_string(&exclude).unwrap_or_default();
        if !text.lines().any(|l| l == line) {
            let gap = if text.is_empty() || text.ends_with('\n') {
                ""
            } else {
                "\n"
            };
            fs::create_dir_all(self.inner.common.join("info"))
                .and_then(|()| fs::write(&exclude, format!("{text}{gap}{line}\n")))
                .map_err(Error::file(&exclude))?;
        }
        Ok(branches)
    }
}

/// How our own append-only files are merged: both sides' lines are kept.
const MERGE_RULES: &str = "\
/.codebutler/journals/** merge=union
/.codebutler/**/*.jsonl merge=union
/.codebutler/JOURNEY.md merge=union
";

fn write_rules(common: &Path) -> Result<()> {
    let file = common.join(RULES);
    if fs::read(&file).is_ok_and(|there| there == MERGE_RULES.as_bytes()) {
        return Ok(());
    }
    let folder = common.join("codebutler");
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(&file, MERGE_RULES))
        .map_err(Error::file(&file))
}

/// The commit that a name stands for, if there is one.
pub(crate) async fn resolve(git: &Git, name: &str) -> Result<Option<CommitSha>> {
    let output = git
        .call(["rev-parse", "--verify", "--quiet", "--end-of-options"])
        .arg(format!("{name}^{{commit}}"))
        .accept(&[0, 1, 128])
        .finish()
        .await?;
    let text = output.text();
    Ok((output.code == 0 && !text.is_empty()).then(|| CommitSha::new(text)))
}

pub(crate) async fn choose_remote(git: &Git) -> Result<Option<Remote>> {
    let names: Vec<String> = git.call(["remote"]).finish().await?.lines().collect();
    let name = match names.as_slice() {
        [] => return Ok(None),
        [only] => only,
        several => several
            .iter()
            .find(|name| *name == "origin")
            .ok_or_else(|| Error::WhichRemote {
                names: several.join(", "),
            })?,
    };
    let url = git
        .call(["remote", "get-url", "--end-of-options", name])
        .finish()
        .await?
        .text();
    Ok(Some(Remote {
        name: name.clone(),
        url,
    }))
}

async fn default_branch(git: &Git, remote: Option<&Remote>) -> Result<BranchName> {
    let Some(remote) = remote else {
        let head = git
            .call(["symbolic-ref", "--quiet", "--short", "HEAD"])
            .accept(&[0, 1])
            .finish()
            .await?;
        return match head.text() {
            name if name.is_empty() => Err(Error::NoDefaultBranch {
                remote: git.dir().display().to_string(),
            }),
            name => Ok(BranchName::new(name)),
        };
    };
    let prefix = format!("refs/remotes/{}/", remote.name);
    let known = git
        .call(["symbolic-ref", "--quiet", &format!("{prefix}HEAD")])
        .accept(&[0, 1])
        .finish()
        .await?
        .text();
    if let Some(name) = known.strip_prefix(&prefix) {
        return Ok(BranchName::new(name));
    }
    // A clone made before the first push does not know it: ask.
    let asked = git
        .call(["ls-remote", "--symref", "--end-of-options"])
        .args([&remote.name, "HEAD"])
        .remote()
        .finish()
        .await?;
    let said = asked.lines().find_map(|line| {
        let name = line.strip_prefix("ref: refs/heads/")?.split('\t').next()?;
        Some(BranchName::new(name))
    });
    match said {
        Some(name) => Ok(name),
        None => usual_branch(git, remote).await,
    }
}

/// A bare repository that was made before the first push may name a branch that
/// nobody pushed, and then it names none. What it has decides, never what is
/// checked out here: all roles must come to the same answer, whenever they ask.
async fn usual_branch(git: &Git, remote: &Remote) -> Result<BranchName> {
    let listed = git
        .call(["ls-remote", "--heads", "--end-of-options"])
        .args([&remote.name])
        .remote()
        .finish()
        .await?;
    let heads: Vec<String> = listed
        .lines()
        .filter_map(|line| Some(line.split_once("\trefs/heads/")?.1.to_owned()))
        .filter(|name| !name.starts_with("codebutler/"))
        .collect();
    let usual = ["main", "master", "trunk"];
    let usual = usual
        .iter()
        .find_map(|name| heads.iter().find(|head| head == name));
    let only = || match heads.as_slice() {
        [one] => Some(one),
        _ => None,
    };
    usual
        .or_else(only)
        .map(BranchName::new)
        .ok_or_else(|| Error::NoDefaultBranch {
            remote: remote.name.clone(),
        })
}
