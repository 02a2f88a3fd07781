//! Tells the hub how a pull request stands, so that the page can show its diff.
//! Nothing depends on it: what cannot be told is logged, and the work goes on.

use butler_protocol::{CommitSha, PullNews, PullStanding};
use butler_repo::{DiffOf, PullRequest, Worktree};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::{thread::context::Seat, tools::MergeSubject};

/// The Coder handed it over at this head.
pub async fn opened(
    seat: &Seat,
    worktree: &Worktree,
    pull: &PullRequest,
    head: &CommitSha,
    cancel: &CancellationToken,
) {
    let diff = match worktree.diff(DiffOf::Thread, cancel).await {
        Ok(diff) => Some(PullNews::fitting(&seat.office.clean(&diff))),
        Err(error) => {
            warn!(%error, "the diff for the page could not be made");
            None
        }
    };
    tell(
        seat,
        PullNews {
            thread: seat.thread.clone(),
            number: pull.number,
            title: pull.title.clone(),
            body: pull.body.clone(),
            branch: Some(worktree.branch.clone()),
            head: head.clone(),
            state: PullStanding::Open,
            diff,
        },
    )
    .await;
}

/// It was merged or given up.
pub async fn ended(seat: &Seat, subject: &MergeSubject, state: PullStanding) {
    tell(
        seat,
        PullNews {
            thread: seat.thread.clone(),
            number: subject.pr,
            title: subject.title.clone(),
            body: subject.description.clone(),
            branch: None,
            head: subject.head.clone(),
            state,
            diff: None,
        },
    )
    .await;
}

async fn tell(seat: &Seat, news: PullNews) {
    if let Err(error) = seat.line.control.pull(&news).await {
        warn!(%error, pr = %news.number, "the hub did not take the news of the pull request");
    }
}
