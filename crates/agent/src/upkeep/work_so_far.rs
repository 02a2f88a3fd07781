//! What the Coder has written when its work rests is kept beside the branch of the thread,
//! so that no crash and no clean-up can lose it. Nobody reviews or checks half of
//! something: it gets onto the branch with the hand-over, as before.

use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::{
    AgentError,
    thread::{context::ThreadContext, driver::Done},
};

/// Keeps what lies there. What cannot be kept now is at the next rest.
pub(crate) async fn keep(context: ThreadContext, cancel: CancellationToken) -> Done {
    if let Err(error) = kept(&context, &cancel).await {
        warn!(%error, "the work so far is not kept yet");
    }
    Done::Nothing
}

async fn kept(context: &ThreadContext, cancel: &CancellationToken) -> Result<(), AgentError> {
    let Some(worktree) = context.agent.repo.find(&context.thread).await? else {
        return Ok(());
    };
    // Somebody works in it again: the next rest is theirs.
    let Some(_lock) = worktree.try_lock()? else {
        return Ok(());
    };
    worktree.keep_work(context.role(), cancel).await?;
    Ok(())
}
