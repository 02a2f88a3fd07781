//! What the Coder has written when its work rests is committed to the branch of the
//! thread, so that no crash and no clean-up can lose it. It is pushed with the next
//! hand-over, not before: nobody reviews or checks half of something.

use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::{
    AgentError,
    thread::{context::ThreadContext, driver::Done},
};

/// Commits what lies there. What cannot be committed now is at the next rest.
pub(crate) async fn keep(context: ThreadContext, cancel: CancellationToken) -> Done {
    if let Err(error) = commit(&context, &cancel).await {
        warn!(%error, "the work so far is not committed yet");
    }
    Done::Nothing
}

async fn commit(context: &ThreadContext, cancel: &CancellationToken) -> Result<(), AgentError> {
    let Some(worktree) = context.agent.repo.find(&context.thread).await? else {
        return Ok(());
    };
    // Somebody works in it again: the next rest is theirs.
    let Some(_lock) = worktree.try_lock()? else {
        return Ok(());
    };
    // Half of a conflict is no commit.
    let clean = worktree.status(cancel).await?.is_clean();
    if clean || !worktree.unsettled(cancel).await?.is_empty() {
        return Ok(());
    }
    let thread = ("CodeButler-Thread".to_owned(), context.thread.to_string());
    worktree
        .commit_all(context.role(), "work so far", &[thread], cancel)
        .await?;
    Ok(())
}
