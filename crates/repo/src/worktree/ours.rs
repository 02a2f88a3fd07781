//! Which worktrees are ours. Git knows all worktrees of a clone, the person's own
//! too; ours are folders directly below `.codebutler/branches` whose git state
//! carries our mark, a file that says what the worktree is for. Nothing else is
//! ever worked in, changed or removed, whatever branch it has checked out.
//!
//! The mark lies where git keeps a worktree's state, not in the folder: no branch
//! can bring it along, and a folder that somebody else puts there has none.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use butler_protocol::BranchName;

use crate::{Error, Repo, Result, git::places, worktree::name};

/// The file with the mark: a branch of ours, or the name of a checkout.
pub(crate) const MARK: &str = "codebutler";
/// Git's own lock on a worktree whose files are not all there yet; what it is for
/// follows.
pub(crate) const MAKING: &str = "codebutler: being made";
/// Beside the mark while we delete the folder.
const GOING: &str = "codebutler-going";
/// Says that worktrees of versions without marks have been marked.
const MARKED: &str = "marked";

/// A worktree that git remembers.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub path: PathBuf,
    /// Where git keeps its state.
    pub git_dir: PathBuf,
    /// The branch that it is on, or is in the middle of rebasing.
    pub branch: Option<BranchName>,
    /// What it is for, if it is ours.
    pub mark: Option<String>,
    /// Whether its files are still being made.
    pub making: bool,
    /// Whether we had begun to delete it.
    pub going: bool,
    pub place: Place,
}

/// What stands where a worktree should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The worktree.
    Whole,
    Gone,
    /// Something else, or it is not where ours are.
    Foreign,
}

impl Entry {
    /// Whether this is our worktree for `mark`, and there.
    pub(crate) fn is(&self, mark: &str) -> bool {
        self.is_whole() && self.mark.as_deref() == Some(mark)
    }

    /// Whether this is a worktree of ours, and there.
    pub(crate) fn is_whole(&self) -> bool {
        self.mark.is_some() && self.place == Place::Whole
    }

    /// Whether this is ours for a mark like that, and can be taken away.
    pub(crate) fn may_go(&self, like: impl FnOnce(&str) -> bool) -> bool {
        (self.is_whole() || self.going) && self.mark.as_deref().is_some_and(like)
    }

    /// The branch that a thread's worktree is for.
    pub(crate) fn for_branch(&self) -> Option<BranchName> {
        let branch = BranchName::new(self.mark.as_deref()?);
        name::is_ours(&branch).then_some(branch)
    }

    /// Says that its files are not all there.
    pub(crate) fn set_making(&self) -> Result<()> {
        let lock = self.git_dir.join("locked");
        let reason = making(self.mark.as_deref().unwrap_or_default());
        fs::write(&lock, reason).map_err(Error::file(&lock))
    }

    /// Says that they are.
    pub(crate) fn set_made(&self) -> Result<()> {
        let lock = self.git_dir.join("locked");
        match fs::remove_file(&lock) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::file(&lock)(error))
            }
            _ => Ok(()),
        }
    }

    /// Says that its folder is being deleted, so that the rest may go too.
    pub(crate) fn set_going(&self) -> Result<()> {
        let note = self.git_dir.join(GOING);
        fs::write(&note, "").map_err(Error::file(&note))
    }

    pub(crate) fn write_mark(&self, mark: &str) -> Result<()> {
        // There, so that nobody in the sandbox can make it.
        let config = self.git_dir.join("config.worktree");
        if !config.exists() {
            fs::write(&config, "").map_err(Error::file(&config))?;
        }
        let file = self.git_dir.join(MARK);
        fs::write(&file, format!("{mark}\n")).map_err(Error::file(&file))
    }
}

/// The reason of git's lock on a worktree that is being made.
pub(crate) fn making(mark: &str) -> String {
    format!("{MAKING}: {mark}")
}

impl Repo {
    /// The folder of all worktrees if it is one; a link in its place leads
    /// to something that is not ours.
    pub(crate) fn branches_folder(&self) -> Option<PathBuf> {
        let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
        let branches = self.branches();
        (branches.parent().is_some_and(is_folder) && is_folder(&branches)).then_some(branches)
    }

    /// Every worktree that git remembers, the person's own too, but not the clone.
    pub(crate) async fn entries(&self) -> Result<Vec<Entry>> {
        self.mark_old().await?;
        let mut entries = self.unmarked().await?;
        for entry in &mut entries {
            entry.mark = self.mark_of(entry);
        }
        Ok(entries)
    }

    /// Our worktree for `mark`, if it is there.
    pub(crate) async fn ours(&self, mark: &str) -> Result<Option<Entry>> {
        let mut entries = self.entries().await?.into_iter();
        Ok(entries.find(|entry| entry.is(mark)))
    }

    fn mark_of(&self, entry: &Entry) -> Option<String> {
        if entry.place == Place::Foreign && !entry.going {
            return None;
        }
        if let Ok(mark) = fs::read_to_string(entry.git_dir.join(MARK)) {
            return Some(mark.trim().to_owned());
        }
        // Killed between adding it and marking it.
        let reason = fs::read_to_string(entry.git_dir.join("locked")).ok()?;
        match reason.trim().strip_prefix(MAKING)?.strip_prefix(": ") {
            Some(mark) => Some(mark.to_owned()),
            None => usual_mark(entry),
        }
    }

    async fn unmarked(&self) -> Result<Vec<Entry>> {
        let branches = self.branches_folder();
        let mut entries = Vec::new();
        let listed = fs::read_dir(self.common().join("worktrees"));
        for found in listed.into_iter().flatten().flatten() {
            let git_dir = found.path();
            // One that somebody is just adding or removing has no such file.
            let Ok(text) = fs::read_to_string(git_dir.join("gitdir")) else {
                continue;
            };
            let pointer = lexical(&git_dir.join(text.trim_end_matches('\n')));
            let path = pointer.parent().unwrap_or(&pointer).to_owned();
            let reason = fs::read_to_string(git_dir.join("locked")).unwrap_or_default();
            entries.push(Entry {
                place: place(branches.as_deref(), &path, &git_dir),
                branch: self.checked_out(&git_dir).await?.into_iter().next(),
                making: reason.starts_with(MAKING),
                going: git_dir.join(GOING).exists(),
                mark: None,
                path,
                git_dir,
            });
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }

    /// Versions before this one did not mark. What they made is marked once; from
    /// then on the mark alone counts.
    async fn mark_old(&self) -> Result<()> {
        let locks = self.lock_file("");
        let done = locks.with_file_name(MARKED);
        if done.exists() {
            return Ok(());
        }
        if locks.exists() {
            for entry in self.unmarked().await? {
                let is_marked = entry.git_dir.join(MARK).exists();
                if entry.place == Place::Whole
                    && !is_marked
                    && let Some(mark) = usual_mark(&entry)
                {
                    entry.write_mark(&mark)?;
                }
            }
        }
        let folder = done.parent().unwrap_or(&done);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&done, ""))
            .map_err(Error::file(&done))
    }

    /// A folder other than `but` (a worktree's git state) in which a branch is
    /// checked out or being rebased. Git must not move a branch under somebody.
    pub(crate) async fn holder(
        &self,
        branch: &BranchName,
        but: Option<&Path>,
    ) -> Result<Option<PathBuf>> {
        let common = self.common();
        if self.checked_out(common).await?.contains(branch) {
            let clone = common.parent().filter(|_| common.ends_with(".git"));
            return Ok(Some(clone.unwrap_or(common).to_owned()));
        }
        for entry in self.unmarked().await? {
            if Some(entry.git_dir.as_path()) != but
                && !entry.going
                && self.checked_out(&entry.git_dir).await?.contains(branch)
            {
                return Ok(Some(entry.path));
            }
        }
        Ok(None)
    }

    /// The branches that a checkout is on, or is in the middle of rebasing or bisecting.
    pub(crate) async fn checked_out(&self, git_dir: &Path) -> Result<Vec<BranchName>> {
        let mut names = Vec::new();
        for file in ["HEAD", "rebase-merge/head-name", "rebase-apply/head-name"] {
            let text = fs::read_to_string(git_dir.join(file)).unwrap_or_default();
            names.push(text.trim().trim_start_matches("ref: ").to_owned());
        }
        let bisected = fs::read_to_string(git_dir.join("BISECT_START")).unwrap_or_default();
        names.push(format!("refs/heads/{}", bisected.trim()));
        // With the newer storage of refs the file says nothing.
        if names[0] == "refs/heads/.invalid" {
            let call = self.git().call(["symbolic-ref", "--quiet", "HEAD"]);
            let call = call.variable("GIT_DIR", git_dir).accept(&[0, 1]);
            names[0] = call.finish().await?.text();
        }
        let branch = |name: &String| {
            let name = name.strip_prefix("refs/heads/")?;
            (!name.is_empty()).then(|| BranchName::new(name))
        };
        Ok(names.iter().filter_map(branch).collect())
    }
}

/// What a worktree in its usual folder is for.
fn usual_mark(entry: &Entry) -> Option<String> {
    let folder = entry.path.file_name()?.to_str()?;
    if let Some(branch) = entry.branch.as_ref().filter(|branch| name::is_ours(branch)) {
        let usual = name::folder(Path::new(""), branch);
        return (usual == Path::new(folder)).then(|| branch.to_string());
    }
    let checkout = matches!(folder, "_base" | "_checks") || folder.starts_with("_review-");
    (checkout && entry.branch.is_none()).then(|| folder.to_owned())
}

fn place(branches: Option<&Path>, path: &Path, git_dir: &Path) -> Place {
    if branches.is_none() || path.parent() != branches {
        return Place::Foreign;
    }
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Place::Gone,
        Ok(meta) if meta.is_dir() && leads_to(path, git_dir) => Place::Whole,
        _ => Place::Foreign,
    }
}

/// Whether a folder's `.git` is the file that names this git state.
pub(crate) fn leads_to(path: &Path, git_dir: &Path) -> bool {
    let is_file = fs::symlink_metadata(path.join(".git")).is_ok_and(|meta| meta.is_file());
    is_file && places(path).is_some_and(|places| places.own == git_dir)
}

/// Takes `.` and `..` out by text alone: the path may lead nowhere.
fn lexical(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}
