//! What can go wrong between us and git. Every variant names the command, file,
//! branch or key it is about, so that a caller never has to read an error's text
//! to decide what to do next.

use std::{fmt::Display, io, path::PathBuf};

use butler_protocol::{BranchName, CommitSha, PrNumber};

/// The result of everything in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why git, a worktree or a pull request could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program is missing or may not be started.
    #[error("cannot start `{command}`")]
    Start { command: String, source: io::Error },
    /// The command ran and said no.
    #[error("`{command}` ended with code {code}: {stderr}")]
    Failed {
        command: String,
        /// Its exit code, or minus the signal that ended it.
        code: i32,
        /// What it wrote to standard error.
        stderr: String,
    },
    /// The command ran too long and was ended.
    #[error("`{command}` was ended after {seconds} s")]
    Deadline { command: String, seconds: u64 },
    /// Somebody pressed stop.
    #[error("`{what}` was stopped")]
    Cancelled {
        /// The command, or what was being waited for.
        what: String,
    },
    /// The command wrote more than we are willing to hold.
    #[error("`{command}` wrote more than {limit} bytes")]
    TooMuch { command: String, limit: usize },
    /// The command answered in a way we cannot read.
    #[error("cannot read the answer of `{command}`: {answer}")]
    Unreadable {
        command: String,
        /// What it said, shortened.
        answer: String,
    },
    /// Git is older than what we ask of it.
    #[error("git {found} is too old: install git 2.38 or newer")]
    TooOld { found: String },
    /// A branch stands where ours need a folder of branches.
    #[error(
        "a branch named `codebutler` is in the way of `{branch}`, here or on the remote: rename it, here with `git branch -m codebutler <another name>`"
    )]
    InTheWay {
        /// The branch that cannot be made.
        branch: BranchName,
    },
    /// A file could not be read or written.
    #[error("cannot use `{}`", path.display())]
    File { path: PathBuf, source: io::Error },
    /// Files that the repository keeps in Git LFS, which we do not run.
    #[error(
        "{} belongs to Git LFS by .gitattributes, and the team does not run git-lfs: leave it out of the change, and let a person with git-lfs add it",
        names(files)
    )]
    Lfs { files: Vec<PathBuf> },
    /// The branch that everything starts from is not on the remote any more.
    #[error(
        "the default branch `{branch}` is gone from `{remote}`: run `git fetch {remote} && git remote set-head {remote} --auto`, then start the team again"
    )]
    DefaultGone {
        /// What it was called.
        branch: BranchName,
        remote: String,
    },
    /// A submodule that we do not bring.
    #[error("the submodule `{path}` is not brought: {why}")]
    Submodule {
        /// Its folder, or its commit.
        path: String,
        why: String,
    },
    /// The folder is not the top of a repository.
    #[error("`{}` is not the top of a git repository", path.display())]
    NotARepo { path: PathBuf },
    /// A folder that must be ours is a link to somewhere else.
    #[error("`{}` is a link: worktrees are kept in real folders only", path.display())]
    Link { path: PathBuf },
    /// Somebody has put another branch into a folder of ours.
    #[error(
        "`{}` is the team's folder for `{branch}`, but `{on}` is checked out in it: run `git switch {branch}` there, or ask for the work in a new thread",
        path.display()
    )]
    OtherBranch {
        path: PathBuf,
        /// The branch it is for.
        branch: BranchName,
        /// The branch it is on.
        on: BranchName,
    },
    /// The repository's own config pulls in further files, which could change
    /// between our look at them and git's.
    #[error("`{}` sets `{key}`: remove it, or move it to your own git config", file.display())]
    Include { file: PathBuf, key: String },
    /// There are remotes, and none is obviously the one.
    #[error("which remote? there are {names}, and none is called `origin`")]
    WhichRemote { names: String },
    /// The repository has no remote.
    #[error(
        "`{}` has no remote: `git remote add origin <address>`; a bare repository on this machine will do",
        path.display()
    )]
    NoRemote { path: PathBuf },
    /// A remote on a host of which nobody said what answers there.
    #[error(
        "cannot tell which forge `{host}` is: say so in ~/.codebutler/config.json, as in \"forges\": {{\"{host}\": {{\"kind\": \"gitlab\"}}}} (github, gitlab, gitea, or plain for git alone)"
    )]
    UnknownForge {
        /// Its host, or its whole address where no repository can be read in it.
        host: String,
    },
    /// A forge's interface did not answer.
    #[error("cannot reach `{address}`: {why}")]
    Unreachable { address: String, why: String },
    /// Nobody says what the default branch is.
    #[error(
        "cannot tell the default branch of `{remote}`: push one, or name it with `git remote set-head {remote} <branch>`"
    )]
    NoDefaultBranch {
        /// The remote, or the clone without one.
        remote: String,
    },
    /// The default branch has no commit yet.
    #[error("the default branch `{branch}` has no commit yet")]
    Empty { branch: BranchName },
    /// Another activation or process has the worktree.
    #[error("`{what}` is in use")]
    Busy {
        /// Which worktree.
        what: String,
    },
    /// A rebase, merge or the like was begun there and not ended.
    #[error("an unfinished {operation} is in the way in `{}`", path.display())]
    Unfinished {
        /// As in `rebase`.
        operation: &'static str,
        path: PathBuf,
    },
    /// Uncommitted changes stand in the way of a rebase.
    #[error("`{}` has uncommitted changes", path.display())]
    Dirty { path: PathBuf },
    /// Two lines of work changed the same place. Nothing was changed by us.
    #[error("{theirs} and {ours} conflict in {}", names(files))]
    Conflict {
        ours: String,
        theirs: String,
        files: Vec<PathBuf>,
    },
    /// Others pushed faster than we could follow.
    #[error("`{name}` moved {attempts} times while we tried to push to it")]
    Outpaced {
        /// The branch or ref.
        name: String,
        attempts: u32,
    },
    /// Only our own branches are pushed to or deleted.
    #[error("`{branch}` is not a branch of ours")]
    NotOurs { branch: BranchName },
    /// The remote refused.
    #[error("the remote refused `{name}`: {reason}")]
    Refused {
        /// The ref.
        name: String,
        reason: String,
    },
    /// No issue has this number.
    #[error("there is no issue {number}")]
    NoIssue { number: crate::IssueNumber },
    /// No pull request has this number.
    #[error("there is no pull request {number}")]
    NoPull { number: PrNumber },
    /// The pull request is not open any more.
    #[error("pull request {number} is {state}")]
    NotOpen {
        number: PrNumber,
        /// `merged` or `closed`.
        state: &'static str,
    },
    /// Somebody pushed since the decision to merge was made.
    #[error("pull request {number} is at {actual}, not at {expected}")]
    HeadMoved {
        number: PrNumber,
        /// What was decided about.
        expected: CommitSha,
        /// What is there.
        actual: CommitSha,
    },
    /// The forge said no, for a reason that has a name.
    #[error("the forge does not merge {number}: {said}")]
    Blocked {
        /// Which pull request, as people write it.
        number: String,
        block: butler_protocol::MergeBlock,
        /// The forge's own words.
        said: String,
        /// How long it wants to be left alone.
        wait: Option<std::time::Duration>,
    },
    /// A branch of ours was deleted on the remote. It is not pushed again.
    #[error("the branch `{branch}` was deleted on the remote")]
    BranchGone { branch: BranchName },
    /// The branch of a pull request is not on the remote.
    #[error("the branch `{branch}` is not on the remote: push it first")]
    NotPushed { branch: BranchName },
}

impl Error {
    /// For `map_err` on file operations.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Error::File { path, source }
    }

    /// The remote, or we in its place, refused this.
    pub(crate) fn refused(name: impl Into<String>, reason: impl Into<String>) -> Self {
        let (name, reason) = (name.into(), reason.into());
        Error::Refused { name, reason }
    }

    /// Others were faster, so often.
    pub(crate) fn outpaced(name: &dyn Display, attempts: u32) -> Self {
        let name = name.to_string();
        Error::Outpaced { name, attempts }
    }

    /// Whether a command itself failed with this exit code.
    pub fn is_exit(&self, wanted: i32) -> bool {
        matches!(self, Error::Failed { code, .. } if *code == wanted)
    }
}

fn names(files: &[PathBuf]) -> String {
    let shown: Vec<_> = files
        .iter()
        .take(5)
        .map(|f| f.display().to_string())
        .collect();
    match files.len().saturating_sub(5) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
