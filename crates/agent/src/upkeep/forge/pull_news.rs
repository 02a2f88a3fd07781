//! Tells the hub how a pull request stands, so that the page can show its diff and the
//! Lead knows which ones to look after. What cannot be told is logged, and the work goes
//! on.

use butler_protocol::{CommitSha, MergeSubject, PrNumber, PullNews, PullStatus};
use butler_repo::{DiffOf, PullRequest, Worktree, without_marks};
use tracing::warn;

use crate::thread::context::ThreadContext;

/// The Coder handed it over at this head.
pub(crate) async fn opened(
    context: &ThreadContext,
    worktree: &Worktree,
    pull: &PullRequest,
    head: &CommitSha,
) {
    let diff = match worktree.diff(DiffOf::Thread, &context.cancel).await {
        Ok(diff) => Some(PullNews::fitting(&context.agent.clean(&diff))),
        Err(error) => {
            warn!(%error, "the diff for the page could not be made");
            None
        }
    };
    tell(
        context,
        PullNews {
            thread: context.thread.clone(),
            number: pull.number,
            title: pull.title.clone(),
            body: without_marks(&pull.body),
            branch: Some(worktree.branch.clone()),
            head: head.clone(),
            state: PullStatus::Open,
            url: pull.url.clone(),
            diff,
        },
    )
    .await;
}

/// It was merged or given up.
pub(crate) async fn ended(context: &ThreadContext, subject: &MergeSubject, state: PullStatus) {
    tell(
        context,
        PullNews {
            thread: context.thread.clone(),
            number: subject.pr,
            title: subject.title.clone(),
            body: subject.description.clone(),
            branch: None,
            head: subject.head.clone(),
            state,
            url: None,
            diff: None,
        },
    )
    .await;
}

/// Somebody opened it again on the forge.
pub(crate) async fn reopened(context: &ThreadContext, pr: PrNumber) {
    let pull = match context.agent.forge.view(pr, &context.cancel).await {
        Ok(pull) => pull,
        Err(error) => return warn!(%error, %pr, "a reopened pull request could not be read"),
    };
    tell(
        context,
        PullNews {
            thread: context.thread.clone(),
            number: pr,
            title: pull.title,
            body: without_marks(&pull.body),
            branch: Some(pull.branch),
            head: pull.head,
            state: PullStatus::Open,
            url: None,
            diff: None,
        },
    )
    .await;
}

async fn tell(context: &ThreadContext, news: PullNews) {
    if let Err(error) = context.poster.control.pull(&news).await {
        warn!(%error, pr = %news.number, "the hub did not take the news of the pull request");
    }
}
