//! What the Artist made in a thread that has no branch of code yet: committed on
//! the thread's knowledge branch when its activation rests, so that it is there
//! when the plan is built, and a person can merge it.

use std::path::Path;

use butler_protocol::Idem;
use butler_repo::NewPull;

use crate::{
    AgentError, OrWarn, ThreadContext, decide::knowledge, thread::driver::Done, upkeep::pull_news,
};

/// Commits what lies there. What cannot be committed now is at the next rest.
pub(crate) async fn keep(context: ThreadContext) -> Done {
    add(&context, |_| Ok(()))
        .await
        .or_warn("the designs of a thread are not committed yet");
    Done::Nothing
}

/// Lets `write` put files there, and commits what lies there then.
pub(crate) async fn add(
    context: &ThreadContext,
    write: impl FnOnce(&Path) -> Result<(), AgentError>,
) -> Result<(), AgentError> {
    let agent = &context.agent;
    let worktree = agent
        .repo
        .knowledge(&context.thread, &context.cancel)
        .await?;
    let _lock = worktree.lock().await?;
    write(&worktree.path)?;
    if worktree.status(&context.cancel).await?.is_clean() {
        return Ok(());
    }
    let message = "designs: what the Artist made";
    let tree = worktree.tree().await?;
    let key = format!("designs-{}-{tree}", context.thread.short());
    let head = knowledge::publish(context, &worktree, message, &key).await?;
    let new = NewPull {
        branch: worktree.branch.clone(),
        base: None,
        title: message.to_owned(),
        body: format!("Designs from thread {}.", context.thread),
        draft: false,
    };
    let pull = agent.forge.create(&new, &context.cancel).await?;
    pull_news::opened(context, &worktree, &pull, &head).await;
    let text = format!(
        "What I made is kept in {}. `merge` shows you the merge card; if the thread also changes code, it is merged with the code.",
        pull.number
    );
    let idem = Idem::new(format!(
        "{}-designs-{}",
        context.thread.short(),
        pull.number.0
    ));
    context.say(idem, &text).await?;
    Ok(())
}
