//! What the Coder has written when its work rests is kept beside the branch of the thread,
//! so that no crash and no clean-up can lose it. Nobody reviews or checks half of
//! something: it gets onto the branch with the hand-over, as before.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Mutex;
use tracing::warn;

use crate::{AgentError, OrWarn, ThreadContext, thread::driver::Done};

/// Keeps what lies there. What cannot be kept now is at the next rest.
pub(crate) async fn keep(context: ThreadContext) -> Done {
    kept(&context)
        .await
        .or_warn("the work so far is not kept yet");
    Done::Nothing
}

/// Brings what lies there to the remote, in the middle of the work: another process may
/// have to go on with it. The caller's own tools hold the worktree.
pub(crate) async fn share(context: ThreadContext) {
    let _one = context.sharing.turn.lock().await;
    let shared = async {
        let repo = &context.agent.repo;
        if let Some(worktree) = repo.find(&context.thread).await? {
            worktree.keep_work(context.role(), &context.cancel).await?;
            worktree.share_work(&context.cancel).await?;
        }
        Ok::<_, AgentError>(())
    };
    match shared.await {
        Ok(()) => context.sharing.begun.store(true, Ordering::Relaxed),
        Err(error) => warn!(%error, "the work so far is on this machine only"),
    }
}

/// Whether the remote has the work of a thread.
#[derive(Debug, Default)]
pub(crate) struct Sharing {
    /// One push at a time.
    turn: Mutex<()>,
    begun: AtomicBool,
}

impl Sharing {
    /// Whether it has been brought there once.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed)
    }
}

async fn kept(context: &ThreadContext) -> Result<(), AgentError> {
    let Some(worktree) = context.agent.repo.find(&context.thread).await? else {
        return Ok(());
    };
    // Somebody works in it again: the next rest is theirs.
    let Some(_lock) = worktree.try_lock()? else {
        return Ok(());
    };
    worktree.keep_work(context.role(), &context.cancel).await?;
    Ok(())
}
