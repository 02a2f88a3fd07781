//! Tells the hub how a pull request stands, so that the page can show its diff and the
//! Lead knows which ones to look after. What cannot be told is logged, and the work goes
//! on.

use butler_protocol::{CommitSha, MergeSubject, PrNumber, PullNews, PullStatus};
use butler_repo::{DiffOf, PullRequest, Worktree, without_marks};
use tracing::warn;

use crate::{OrWarn, ThreadContext};

/// The Coder handed it over at this head.
pub(crate) async fn opened(
    context: &ThreadContext,
    worktree: &Worktree,
    pull: &PullRequest,
    head: &CommitSha,
) {
    let diff = worktree.diff(DiffOf::Thread, &context.cancel).await;
    let diff = diff.or_warn("the diff for the page could not be made");
    let news = PullNews {
        body: without_marks(&pull.body),
        branch: Some(worktree.branch.clone()),
        url: pull.url.clone(),
        diff: diff.map(|diff| PullNews::fitting(&context.agent.clean(&diff))),
        ..news(context, pull.number, &pull.title, head)
    };
    tell(context, news).await;
}

/// It was merged or given up.
pub(crate) async fn ended(context: &ThreadContext, subject: &MergeSubject, state: PullStatus) {
    let news = PullNews {
        body: subject.description.clone(),
        state,
        ..news(context, subject.pr, &subject.title, &subject.head)
    };
    tell(context, news).await;
}

/// Somebody opened it again on the forge.
pub(crate) async fn reopened(context: &ThreadContext, pr: PrNumber) {
    let pull = match context.agent.forge.view(pr, &context.cancel).await {
        Ok(pull) => pull,
        Err(error) => return warn!(%error, %pr, "a reopened pull request could not be read"),
    };
    let news = PullNews {
        body: without_marks(&pull.body),
        ..news(context, pr, &pull.title, &pull.head)
    };
    let branch = Some(pull.branch);
    tell(context, PullNews { branch, ..news }).await;
}

/// What there is to say of every open one.
fn news(context: &ThreadContext, number: PrNumber, title: &str, head: &CommitSha) -> PullNews {
    PullNews {
        thread: context.thread.clone(),
        number,
        title: title.to_owned(),
        body: String::new(),
        branch: None,
        head: head.clone(),
        state: PullStatus::Open,
        url: None,
        diff: None,
    }
}

async fn tell(context: &ThreadContext, news: PullNews) {
    if let Err(error) = context.poster.control.pull(&news).await {
        warn!(%error, pr = %news.number, "the hub did not take the news of the pull request");
    }
}
