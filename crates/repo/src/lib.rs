//! Git for a team of agents.
//!
//! One thread is one branch is one pull request. A [`Repo`] is the person's
//! clone; [`Repo::create`] gives a thread its own [`Worktree`] under
//! `.codebutler/branches`, and the worktree commits, rebases and pushes. A
//! [`Forge`] holds the pull requests: on GitHub (through `gh`), GitLab, Gitea or Forgejo
//! where the remote is there, and for a plain repository as refs on the remote itself.
//!
//! Four things hold everywhere:
//!
//! * the person's checkout, worktrees, branches and files are never touched: ours
//!   are folders below `.codebutler/branches` that carry our mark, nothing else;
//! * git that looks at files runs in the sandbox ([`confine_with`]), and everywhere
//!   with settings under which a repository cannot make it run anything ([`Git`]);
//! * every step can be repeated: the repeat finds what the first one did;
//! * nothing uncommitted or unpushed is thrown away. Before anything forceful
//!   the state is kept under `refs/codebutler/saved/…`.
//!
//! Left out on purpose: submodules are not initialised, hooks are not run, and
//! no branch but our own `codebutler/*` is ever pushed to by force.

mod commits;
mod error;
mod forecast;
mod forge;
mod git;
mod lock;
mod refs;
mod repo;
mod tracker;
mod turns;
mod undo;
mod upkeep;
mod worktree;

pub use commits::commit::KEY_TRAILER;
pub use commits::diff::DiffOf;
pub use commits::merged::Merged;
pub use commits::since::MergedCommit;
pub use commits::stat::{ChangedFile, Changes};
pub use commits::tree::tree_of;
pub use error::{Error, Result};
pub use forecast::Clash;
pub use forge::{
    Account, Author, Check, CheckNow, CheckState, Comment, Edit, Forge, ForgeHost, ForgeHosts,
    ForgeKind, Merge, NewComment, NewPull, Place, PullNow, PullRequest, PullState, Reviewers,
    account as forge_account, block_of, gh_logged_in, gh_version, news, with_block, without_marks,
};
pub use git::{Call, Git, Output, Settings, clean_config, confine_with, git_version};
pub use lock::WorktreeLock;
pub use refs::one_file::{MemoryCommit, OneFile};

pub(crate) use refs::save::Saved;
pub use repo::Repo;
pub use tracker::{Issue, IssueNumber, NewIssue, NewRelease, Release};
pub use undo::{SavedFiles, Undo};
pub use worktree::Worktree;
pub use worktree::name::{BRANCH_PREFIX, branch, knowledge_branch, short_of};
pub use worktree::reconcile::Odd;
pub use worktree::status::{Change, Status};
pub use worktree::submodules::Submodule;
pub use worktree::trial::Trial;
