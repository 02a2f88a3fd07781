//! Branches that stand on another thread's branch until that is merged. What is below
//! is asked of git and the forge each time, so that nothing is kept; when it is merged
//! the runtime puts the branch on the default branch, and what was reviewed there
//! counts on only if it is the same change of the same files.

use butler_protocol::{CommitSha, HandOver, Idem, MergeBlock, MergeSubject, ThreadId};
use butler_repo::{Edit, Error, PullRequest, PullState, Worktree, tree_of};
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::{Agent, AgentError, ThreadContext, tell::render, upkeep::conflict};

/// What a branch stands on.
#[derive(Debug)]
pub(crate) enum Below {
    /// The default branch.
    Nothing,
    /// A branch whose pull request waits.
    Open(PullRequest),
    /// One that was merged: the branch can go to the default branch.
    Merged,
    /// One that was given up.
    Closed(PullRequest),
}

/// What a branch stands on now.
pub(crate) async fn below(
    agent: &Agent,
    worktree: &Worktree,
    cancel: &CancellationToken,
) -> Result<Below, AgentError> {
    let Some(stack) = worktree.stacked(cancel).await? else {
        return Ok(Below::Nothing);
    };
    let Some(pull) = agent.forge.find(&stack.branch, cancel).await? else {
        return Err(AgentError::Missing(format!(
            "`{}`, on which `{}` stands, has no pull request",
            stack.branch, worktree.branch
        )));
    };
    Ok(match pull.state {
        PullState::Open => Below::Open(pull),
        PullState::Merged { .. } => Below::Merged,
        PullState::Closed => Below::Closed(pull),
    })
}

/// What became of a branch whose way to the default branch was looked at.
pub(crate) enum Moved {
    /// It stands where it stood: on the default branch, on work that is not merged, or
    /// somebody is at work there.
    No,
    /// It is on the default branch now, as the same change of the same files.
    Same(CommitSha),
    /// It is on the default branch now, and has to be checked again.
    Other,
}

/// Puts a branch on the default branch if what it stood on is merged. Nobody may be at
/// work in it: whoever holds its lock does this at the next activation.
pub(crate) async fn move_up(
    agent: &Agent,
    thread: &ThreadId,
    cancel: &CancellationToken,
) -> Result<Moved, AgentError> {
    let Some(worktree) = agent.repo.find(thread).await? else {
        return Ok(Moved::No);
    };
    let Some(_lock) = worktree.try_lock()? else {
        return Ok(Moved::No);
    };
    if !matches!(below(agent, &worktree, cancel).await?, Below::Merged) {
        return Ok(Moved::No);
    }
    let before = worktree.head().await?;
    let after = worktree.unstack(cancel).await?;
    info!(%before, %after, branch = %worktree.branch, "a branch is on the default branch now");
    if let Some(pull) = agent.forge.find(&worktree.branch, cancel).await? {
        retarget(agent, &pull, cancel).await?;
    }
    match is_same(agent, thread, (&before, &after), cancel).await? {
        true => Ok(Moved::Same(after)),
        false => Ok(Moved::Other),
    }
}

/// Its pull request wants to be merged into the default branch.
async fn retarget(
    agent: &Agent,
    pull: &PullRequest,
    cancel: &CancellationToken,
) -> Result<(), AgentError> {
    let default = agent.repo.default_branch();
    if pull.state == PullState::Open && pull.base != *default {
        let edit = Edit {
            base: Some(default.clone()),
            ..Edit::default()
        };
        agent.forge.edit(pull.number, &edit, cancel).await?;
    }
    Ok(())
}

/// Whether two heads of a thread are the same change that makes the same files: then a
/// receipt and a verdict about one are true of the other.
async fn is_same(
    agent: &Agent,
    thread: &ThreadId,
    (one, other): (&CommitSha, &CommitSha),
    cancel: &CancellationToken,
) -> Result<bool, AgentError> {
    let repo = &agent.repo;
    let trees = (
        tree_of(repo.git(), one.as_str()).await?,
        tree_of(repo.git(), other.as_str()).await?,
    );
    if trees.0 != trees.1 {
        return Ok(false);
    }
    let one = repo.changes_of(thread, one, cancel).await?;
    let other = repo.changes_of(thread, other, cancel).await?;
    Ok(one.diff == other.diff)
}

/// The head to merge for a card: the reviewed one, or the same change after the runtime
/// moved it. Nothing when it has to be checked again; an error that says so while what
/// is below waits.
pub(crate) async fn head_to_merge(
    context: &ThreadContext,
    subject: &MergeSubject,
    pull: &PullRequest,
) -> Result<Option<CommitSha>, AgentError> {
    let agent = &context.agent;
    let reviewed = || Ok(Some(subject.head.clone()));
    let worktree = agent.repo.find(&context.thread).await?;
    let Some(worktree) = worktree.filter(|_| !subject.knowledge) else {
        return reviewed();
    };
    let blocked = |below: &PullRequest, how: &str| {
        AgentError::Repo(Error::Blocked {
            number: subject.pr.to_string(),
            block: MergeBlock::Below,
            said: format!("{}, on which it stands, {how}", below.number),
            wait: None,
        })
    };
    match below(agent, &worktree, &context.cancel).await? {
        Below::Open(below) => return Err(blocked(&below, "is not merged yet")),
        Below::Closed(below) => {
            return Err(blocked(
                &below,
                "was closed; reopen that one, or close this one too",
            ));
        }
        Below::Merged => {
            return match move_up(agent, &context.thread, &context.cancel).await? {
                Moved::Same(head) => Ok(Some(head)),
                Moved::Other => Ok(None),
                // Somebody is at work there: as with any head that moves.
                Moved::No => reviewed(),
            };
        }
        Below::Nothing => {}
    }
    let begun = agent.repo.begun_on(&context.thread).await?;
    if begun.is_none() || pull.head == subject.head {
        return reviewed();
    }
    retarget(agent, pull, &context.cancel).await?;
    let heads = (&subject.head, &pull.head);
    match is_same(agent, &context.thread, heads, &context.cancel).await? {
        true => Ok(Some(pull.head.clone())),
        false => reviewed(),
    }
}

/// An item whose dependency was merged goes to the default branch. Where that makes
/// something else of it than was reviewed, its Coder is told. Whether it is there now.
pub(crate) async fn advance(
    agent: &Agent,
    thread: &ThreadId,
    pull: Option<butler_protocol::PrNumber>,
    cancel: &CancellationToken,
) -> Result<bool, AgentError> {
    let files = match move_up(agent, thread, cancel).await {
        Ok(Moved::No) => return is_up(agent, thread, cancel).await,
        Ok(Moved::Same(_)) => return Ok(true),
        Ok(Moved::Other) => Vec::new(),
        Err(AgentError::Repo(Error::Conflict { files, .. })) => files,
        Err(error) => return Err(error),
    };
    // Before there is a pull request nothing was reviewed.
    let Some(pr) = pull else { return Ok(true) };
    let others = conflict::others(agent, thread, &files, cancel).await;
    let body = HandOver::Conflict {
        pr,
        files: render::names(&files),
        others,
    };
    let idem = Idem::new(format!("{}-moved-up", thread.short()));
    agent.poster.hand_over(thread, idem, &body).await?;
    Ok(true)
}

async fn is_up(
    agent: &Agent,
    thread: &ThreadId,
    cancel: &CancellationToken,
) -> Result<bool, AgentError> {
    match agent.repo.find(thread).await? {
        Some(worktree) => Ok(worktree.stacked(cancel).await?.is_none()),
        None => Ok(false),
    }
}
