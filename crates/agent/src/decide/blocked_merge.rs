//! A merge that a person requested and the forge refused: a state with a name. One
//! message says what is in the way and offers a way on; where the way can clear by
//! itself the forge is asked again, once a minute at most and never before it
//! wants to be.

use std::time::Duration;

use butler_protocol::{
    Choice, DecisionKind, Idem, MessageTs, PrNumber, Record, RequestId, Then, ToolOutcome, UserId,
};
use butler_repo::{Block, Error, MergeAgain};
use butler_turn::Order;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::{
    AgentError,
    agent::now_ms,
    decide::{merge, outcomes, person_actions},
    thread::{context::ThreadContext, effects::Done},
    tools::MergeSubject,
};

/// Between two requests to a forge that said no.
const PAUSE: Duration = Duration::from_secs(60);

const REFUSED: &str = "-refused-";
const WITHDRAWN: &str = "withdrawn";
const MERGED: &str = "merged";

/// A refused merge, as the log has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The card on which a person requested it.
    pub request: RequestId,
    /// What is in the way.
    pub block: Block,
    /// Not before this time, in milliseconds since 1970.
    pub not_before_ms: i64,
    /// The message that says so.
    pub message: MessageTs,
}

impl Refused {
    /// Takes a post in: it may be the word about a refusal, or its end.
    pub fn note(state: &mut Option<Self>, idem: &Idem, ts: &MessageTs) {
        if let Some(refused) = Self::read(idem.as_str(), ts) {
            *state = Some(refused);
        }
        let ends = |refused: &Self| {
            let ended = |what| {
                idem.as_str()
                    .ends_with(&format!("-{}-{what}", refused.request))
            };
            ended(WITHDRAWN) || ended(MERGED)
        };
        if state.as_ref().is_some_and(ends) {
            *state = None;
        }
    }

    fn read(key: &str, ts: &MessageTs) -> Option<Self> {
        let (before, state) = key.split_once(REFUSED)?;
        let (_, request) = before.rsplit_once('-')?;
        let (name, seconds) = state.split_once('.').unwrap_or((state, "0"));
        Some(Self {
            request: RequestId::new(request),
            block: Block::named(name)?,
            not_before_ms: seconds.parse::<i64>().ok()? * 1000,
            message: ts.clone(),
        })
    }

    /// The line that ends it in the log.
    pub fn withdrawn(&self, context: &ThreadContext) -> Record {
        Record::Posted {
            idem: context.idem_for(&self.request, WITHDRAWN),
            ts: self.message.clone(),
        }
    }
}

/// Tells the thread, once for each state, and leaves it in the log.
pub async fn tell(
    context: &ThreadContext,
    order: &Order,
    pr: PrNumber,
    error: &Error,
) -> Result<ToolOutcome, AgentError> {
    warn!(%error, %pr, "the forge did not merge");
    let (block, wait) = Block::of(error);
    let text = sentence(pr, block, error);
    let state = match wait {
        None => block.as_str().to_owned(),
        Some(wait) => {
            let seconds = now_ms() / 1000 + i64::try_from(wait.as_secs()).unwrap_or(0);
            // Rounded, so that the same wait is the same message.
            format!("{}.{}", block.as_str(), (seconds / 60 + 1) * 60)
        }
    };
    let idem = context.idem_for(&order.request, &format!("refused-{state}"));
    let people = context.poster.people(&context.thread).await?;
    let posted = context
        .poster
        .offer_to(
            &context.thread,
            idem.clone(),
            &people,
            &text,
            &person_actions::way_on(),
        )
        .await?;
    context.write(Record::Posted {
        idem,
        ts: posted.ts,
    });
    Ok(ToolOutcome::ok(text).then(Then::End))
}

/// What is in the way, and what a person can do about it.
fn sentence(pr: PrNumber, block: Block, error: &Error) -> String {
    let why = match block {
        Block::Closed => "somebody has closed it. Reopen it, then press Try again".to_owned(),
        Block::BranchGone => "its branch was deleted on the remote, and I do not push it again by myself. Restore the branch there, then press Try again".to_owned(),
        Block::MethodNotAllowed => "this repository does not allow squash merges. Allow them in its settings, or merge it there by hand; then press Try again".to_owned(),
        Block::ReviewMissing => "it needs the approving review of a person there".to_owned(),
        Block::CheckPending => "a check that it needs has not finished".to_owned(),
        Block::CheckFailed => "a check that it needs is red".to_owned(),
        Block::RateLimited => "the forge takes no more requests from us for a while".to_owned(),
        Block::LoggedOut => "nobody is logged in to the forge any more. Run `gh auth login` on the machine of the team".to_owned(),
        Block::Forbidden => "the account that is logged in there may not merge it. Give it the right, or merge it there by hand; then press Try again".to_owned(),
        Block::Unreachable => "the forge does not answer".to_owned(),
        Block::Refused => match error {
            Error::Conflict { .. } => "it conflicts with what was merged meanwhile".to_owned(),
            Error::Blocked { said, .. } => format!("the forge refused it and says “{said}”"),
            _ => "the forge refused it".to_owned(),
        },
    };
    let then = if block.waits() {
        " I look again once a minute and merge as soon as it goes."
    } else {
        ""
    };
    format!("{pr} is not merged yet: {why}.{then}")
}

/// Waits, and asks the forge once more.
pub async fn wait(context: ThreadContext, refused: Refused, cancel: CancellationToken) -> Done {
    let left = refused.not_before_ms.saturating_sub(now_ms()).max(0);
    let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
    tokio::select! {
        () = cancel.cancelled() => return Done::MergeTried,
        () = tokio::time::sleep(left.max(PAUSE)) => {}
    }
    if let Err(error) = again(&context, &refused, &cancel).await {
        warn!(%error, "a refused merge could not be tried again");
    }
    Done::MergeTried
}

/// One more request. Whatever it gives is told once and is in the log.
pub async fn again(
    context: &ThreadContext,
    refused: &Refused,
    cancel: &CancellationToken,
) -> Result<(), AgentError> {
    let asked = context.facts().asked.get(&refused.request).cloned();
    let Some(asked) = asked else {
        return Ok(());
    };
    let order = Order {
        request: refused.request.clone(),
        kind: DecisionKind::Merge,
        choice: Choice::Merge,
        // Who pressed is in the hub's record; carrying it out needs no name.
        person: UserId::new(""),
    };
    let subject = outcomes::subject(&order, &asked)?;
    let wanted = MergeAgain {
        number: subject.pr,
        head: head_there(context, &subject).await?,
        title: subject.title.clone(),
        body: subject.description.clone(),
    };
    match context.agent.forge.merge_again(&wanted, cancel).await {
        Ok(()) => merge::merge(context, &order, &asked, cancel)
            .await
            .map(drop),
        Err(Error::Cancelled { .. }) => Ok(()),
        Err(error) if Block::of(&error).0 == Block::Refused => {
            // It may conflict by now, or have moved: that takes a closer look.
            merge::merge(context, &order, &asked, cancel)
                .await
                .map(drop)
        }
        Err(error) => tell(context, &order, subject.pr, &error).await.map(drop),
    }
}

/// The head that was pushed for this merge: what was accepted may be on top of
/// what was reviewed.
async fn head_there(
    context: &ThreadContext,
    subject: &MergeSubject,
) -> Result<butler_protocol::CommitSha, AgentError> {
    if subject.knowledge {
        return Ok(subject.head.clone());
    }
    match context.agent.repo.find(&context.thread).await? {
        Some(worktree) => Ok(worktree.head().await?),
        None => Ok(subject.head.clone()),
    }
}

/// Takes the buttons from the message about a refusal that is over. Cosmetic.
pub async fn put_away(context: &ThreadContext, refused: &Refused, what: &str) {
    let blocks = json!([{"type": "markdown", "text": what}]);
    let (web, channel) = (&context.poster.web, &context.thread.channel);
    let update = web.update(channel, &refused.message, what, Some(&blocks));
    if let Err(error) = update.await {
        warn!(%error, "the message about a refused merge keeps its buttons");
    }
}

/// The merge went through after all: the log and the message say so.
pub async fn passed(context: &ThreadContext, request: &RequestId) {
    let refused = context.facts().refused.clone();
    let Some(refused) = refused.filter(|refused| refused.request == *request) else {
        return;
    };
    context.write(Record::Posted {
        idem: context.idem_for(request, MERGED),
        ts: refused.message.clone(),
    });
    put_away(
        context,
        &refused,
        "The forge had refused this merge; it went through since.",
    )
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ts() -> MessageTs {
        "1700000000.000100".parse().unwrap()
    }

    fn after(keys: &[&str]) -> Option<Refused> {
        let mut state = None;
        for key in keys {
            Refused::note(&mut state, &Idem::new(*key), &ts());
        }
        state
    }

    #[test]
    fn the_log_knows_a_refusal_its_time_and_its_end() {
        let waits = after(&["abc-lead-k3m9qa-refused-rate-limited.1700000060"]).unwrap();
        assert_eq!(waits.request, RequestId::new("k3m9qa"));
        assert_eq!(waits.block, Block::RateLimited);
        assert_eq!(waits.not_before_ms, 1_700_000_060_000);
        let pending = "abc-lead-k3m9qa-refused-check-pending";
        assert_eq!(after(&[pending]).unwrap().block, Block::CheckPending);
        for end in ["abc-lead-k3m9qa-merged", "abc-lead-k3m9qa-withdrawn"] {
            assert_eq!(after(&[pending, end]), None, "{end}");
        }
        assert!(
            after(&[pending, "abc-lead-zzzzzz-merged"]).is_some(),
            "another card"
        );
        assert_eq!(after(&["abc-lead-k3m9qa-closed"]), None);
    }

    #[test]
    fn no_sentence_shows_a_command_line() {
        let error = Error::Failed {
            command: "gh api --include x".into(),
            code: 1,
            stderr: "boom".into(),
        };
        let (block, _) = Block::of(&error);
        let text = sentence(PrNumber(3), block, &error);
        assert!(!text.contains("gh api") && !text.contains("boom"), "{text}");
        assert!(text.starts_with("#3 is not merged yet"), "{text}");
    }
}
