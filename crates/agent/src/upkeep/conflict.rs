//! What the Coder is told of a conflict: not only where, but who changed the same
//! files meanwhile and why, so that both changes can hold.

use std::path::PathBuf;

use butler_protocol::{MergedOther, PlanSummary, PrNumber, ThreadId};
use butler_repo::{MergedCommit, short_of};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::{Agent, tell::render};

/// So many are named.
const NAMED: usize = 5;
/// The most of a reason that is told.
const WHY: usize = 400;

/// What was merged since a thread's branch left the default branch and changed one of
/// these files, newest first. What cannot be found out is left out: the conflict is
/// laid out in the files anyway.
pub(crate) async fn others(
    agent: &Agent,
    thread: &ThreadId,
    files: &[PathBuf],
    cancel: &CancellationToken,
) -> Vec<MergedOther> {
    if files.is_empty() {
        return Vec::new();
    }
    let merged = agent.repo.merged_since(thread, files, NAMED, cancel).await;
    let plans = agent.poster.control.plans().await;
    let (merged, plans) = match (merged, plans) {
        (Ok(merged), Ok(plans)) => (merged, plans),
        (Err(error), _) => {
            warn!(%error, "who changed the same files is not known");
            return Vec::new();
        }
        (Ok(merged), Err(error)) => {
            warn!(%error, "why others changed the same files is not known");
            (merged, Vec::new())
        }
    };
    let mut told = Vec::new();
    for commit in merged {
        let why = why(agent, &commit, &plans, cancel).await;
        told.push(MergedOther {
            title: agent.clean(&commit.subject),
            why: agent.clean(&why),
            files: render::names(&commit.files),
        });
    }
    told
}

/// What the plan of the thread said whose pull request this was.
async fn why(
    agent: &Agent,
    commit: &MergedCommit,
    plans: &[PlanSummary],
    cancel: &CancellationToken,
) -> String {
    let Some(number) = number_in(&commit.subject) else {
        return String::new();
    };
    let Ok(pull) = agent.forge.view(PrNumber(number), cancel).await else {
        return String::new();
    };
    let short = short_of(&pull.branch).unwrap_or_default();
    let mut own = plans.iter().rev().filter(|one| one.thread.short() == short);
    own.next()
        .map(|one| one.plan.summary.chars().take(WHY).collect())
        .unwrap_or_default()
}

/// The pull request that the subject of a squash ends with, as in `greet (#7)`.
fn number_in(subject: &str) -> Option<u64> {
    let (_, number) = subject.trim_end().strip_suffix(')')?.rsplit_once("(#")?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_squash_names_its_pull_request() {
        assert_eq!(number_in("plant ash (#12)"), Some(12));
        for none in ["plant ash", "plant (#a)", "(#1) plant", ""] {
            assert_eq!(number_in(none), None, "{none}");
        }
    }
}
