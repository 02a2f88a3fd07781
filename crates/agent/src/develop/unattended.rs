//! Cards that need nobody. A person who starts a run approves its items as they are,
//! and says how they are merged; the hub decides in their name what the runtime says
//! is exactly that, and nothing else. Whatever is doubtful waits for a person.

use butler_playbook::Roadmap;
use butler_protocol::{ItemTag, MergeSubject, RunView, Sha256Hex, Subject, TreeHash, Verdict};
use butler_slack::{Message, SlackError};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::{AgentError, ThreadContext, decide::roadmap, tell::thread_logs::RoleLog};

/// The item that a thread was opened for, and the run it belongs to.
pub(crate) async fn started(
    context: &ThreadContext,
    messages: &[Message],
) -> Result<Option<(ItemTag, RunView)>, SlackError> {
    let tag = messages.first().and_then(Message::tag);
    let Some(item) = tag.and_then(|tag| tag.item) else {
        return Ok(None);
    };
    let runs = context.poster.control.runs().await?;
    let run = runs.into_iter().find(|run| run.request == item.run);
    Ok(run.map(|run| (item, run)))
}

/// Whether what the person started covers this card. What cannot be found out is
/// doubtful.
pub(crate) async fn holds(
    context: &ThreadContext,
    started: Option<&(ItemTag, RunView)>,
    subject: &Subject,
) -> bool {
    let Some((item, run)) = started else {
        return false;
    };
    let found = covers(context, item.number, run, subject).await;
    found.unwrap_or_else(|error| {
        warn!(%error, "a card of a run waits for a person");
        false
    })
}

async fn covers(
    context: &ThreadContext,
    number: u32,
    run: &RunView,
    subject: &Subject,
) -> Result<bool, AgentError> {
    match subject {
        Subject::Plan(_) => {
            let now = roadmap::now(&context.until(&CancellationToken::new())).await?;
            Ok(is_as_started(number, run, &now))
        }
        Subject::Merge(merge) if !merge.knowledge => {
            let verdict = context.facts().review.verdict.clone();
            let logs = context.logs().await?;
            let judged = verdict.is_some_and(|(verdict, _)| is_clean(merge, &verdict));
            Ok(judged && !is_tainted(&logs))
        }
        _ => Ok(false),
    }
}

/// Whether the item on the default branch is the one that a person started.
fn is_as_started(number: u32, run: &RunView, now: &Roadmap) -> bool {
    let mut items = run.subject.items.iter();
    let started = items.find(|item| item.number == number);
    let words = now.words_of(number).map(Sha256Hex::of);
    started.is_some_and(|started| Some(&started.sha256) == words.as_ref())
}

/// Approved at this head without a word against it, every file opened, and the checks
/// of exactly this tree green with nothing weakened.
fn is_clean(merge: &MergeSubject, verdict: &Verdict) -> bool {
    let green = |tree: &TreeHash| {
        let receipt = verdict.observed.receipt.as_ref();
        receipt.is_some_and(|receipt| {
            receipt.green() && receipt.tree == *tree && receipt.flags.is_empty()
        })
    };
    verdict.approved
        && verdict.head == merge.head
        && verdict.tree == merge.tree
        && verdict.findings.is_empty()
        && verdict.observed.unread.is_empty()
        && merge.research.is_none()
        && green(&merge.tree)
}

/// Whether anybody in the thread has read text from outside.
fn is_tainted(logs: &[RoleLog]) -> bool {
    logs.iter().any(|log| log.fold.outside.taint.is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn verdict(change: impl FnOnce(&mut Value)) -> Verdict {
        let mut verdict = json!({"head": "a", "tree": "t", "approved": true, "round": 1,
            "summary": "s", "observed": {"receipt": {"tree": "t", "checks": [{"name": "test",
            "command": "sh", "exit_code": 0, "duration_ms": 1}]}}});
        change(&mut verdict);
        serde_json::from_value(verdict).unwrap()
    }

    fn merge() -> MergeSubject {
        serde_json::from_value(json!({"pr": 7, "head": "a", "tree": "t", "title": "T",
            "description": "", "writer": "lead"}))
        .unwrap()
    }

    type Doubt = Box<dyn FnOnce(&mut Value)>;

    #[test]
    fn only_what_is_reviewed_and_green_needs_nobody() {
        assert!(is_clean(&merge(), &verdict(|_| ())));
        let finding = json!([{"id": "F1", "kind": "quality", "severity": "low",
            "place": "a.sh:1", "evidence": "e", "fix": "f"}]);
        let doubts: [(&str, Doubt); 8] = [
            ("a concern", Box::new(|v| v["findings"] = finding)),
            ("not approved", Box::new(|v| v["approved"] = json!(false))),
            ("another head", Box::new(|v| v["head"] = json!("b"))),
            ("another tree", Box::new(|v| v["tree"] = json!("u"))),
            ("no checks", Box::new(|v| v["observed"] = json!({}))),
            (
                "red",
                Box::new(|v| {
                    v["observed"]["receipt"]["checks"][0]["exit_code"] = json!(1);
                }),
            ),
            (
                "weakened",
                Box::new(|v| {
                    v["observed"]["receipt"]["flags"] = json!(["an assertion is gone"]);
                }),
            ),
            (
                "unread",
                Box::new(|v| v["observed"]["unread"] = json!(["a.sh"])),
            ),
        ];
        for (what, doubt) in doubts {
            assert!(!is_clean(&merge(), &verdict(doubt)), "{what}");
        }
        let mut researched = merge();
        researched.research = Some((
            butler_protocol::PrNumber(8),
            butler_protocol::CommitSha::new("c"),
        ));
        assert!(
            !is_clean(&researched, &verdict(|_| ())),
            "findings of the web"
        );
    }
}
