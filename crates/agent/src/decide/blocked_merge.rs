//! A merge that a person requested and the forge refused: a state with a name. One
//! message says what is in the way and offers a way on; where the way can clear by
//! itself the forge is asked again, once a minute at most and never before it
//! wants to be.

use std::time::Duration;

use butler_protocol::{
    Choice, DecisionKind, MergeBlock, MergeSubject, PrNumber, Record, RequestId, Then, ToolOutcome,
    UserId,
};
use butler_repo::{Error, Merge, block_of};
use butler_turn::{Order, Refused};
use serde_json::json;
use tracing::warn;

use crate::{
    AgentError, OrWarn, ThreadContext,
    decide::{merge, outcomes, person_actions},
    thread::{driver::Done, worker::Beside},
};

/// Between two requests to a forge that said no.
const PAUSE: Duration = Duration::from_secs(60);

/// Tells the thread, once for each state, and leaves it in the log.
pub(crate) async fn tell(
    context: &ThreadContext,
    order: &Order,
    pr: PrNumber,
    error: &Error,
) -> Result<ToolOutcome, AgentError> {
    warn!(%error, %pr, "the forge did not merge");
    let (block, wait) = block_of(error);
    let text = sentence(pr, block, error);
    // Rounded, so that the same wait is the same message.
    let not_before = wait.map_or(0, |wait| {
        let seconds = context.now_ms() / 1000 + i64::try_from(wait.as_secs()).unwrap_or(0);
        (seconds / 60 + 1) * 60
    });
    let idem = context.idem_for(&order.request, &format!("refused-{block:?}-{not_before}"));
    let posted = context
        .ask_all(idem, &text, &person_actions::way_on())
        .await?;
    context.write(Record::MergeRefused {
        request: order.request.clone(),
        block,
        not_before_ms: not_before * 1000,
        message: posted.ts,
    });
    Ok(ToolOutcome::ok(text).then(Then::End))
}

/// What is in the way, and what a person can do about it.
fn sentence(pr: PrNumber, block: MergeBlock, error: &Error) -> String {
    let why = match block {
        MergeBlock::Closed => "somebody has closed it. Reopen it, then press Try again".to_owned(),
        MergeBlock::BranchGone => "its branch was deleted on the remote, and I do not push it again by myself. Restore the branch there, then press Try again".to_owned(),
        MergeBlock::MethodNotAllowed => "this repository does not allow squash merges. Allow them in its settings, or merge it there by hand; then press Try again".to_owned(),
        MergeBlock::ReviewMissing => "it needs the approving review of a person there".to_owned(),
        MergeBlock::CheckPending => "a check that it needs has not finished".to_owned(),
        MergeBlock::CheckFailed => "a check that it needs is red".to_owned(),
        MergeBlock::RateLimited => "the forge takes no more requests from us for a while".to_owned(),
        MergeBlock::LoggedOut => "`gh` cannot be started or nobody is logged in with it any more. Run `gh auth login` on the machine of the team".to_owned(),
        MergeBlock::Forbidden => "the account that is logged in there may not merge it. Give it the right, or merge it there by hand; then press Try again".to_owned(),
        MergeBlock::Unreachable => "the forge does not answer".to_owned(),
        MergeBlock::Below => match error {
            Error::Blocked { said, .. } => said.clone(),
            _ => "what it stands on is not merged yet".to_owned(),
        },
        MergeBlock::Draft => "it is a draft there. Mark it as ready there".to_owned(),
        MergeBlock::Queued => return format!(
            "{pr} waits in the forge's merge queue, which merges it once its checks are green. I look once a minute and say so here."
        ),
        MergeBlock::LeftQueue => "the forge's merge queue put it out again, so its checks there did not pass together with what was before it. See to them, then press Try again".to_owned(),
        MergeBlock::Refused => match error {
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
pub(crate) async fn wait(context: ThreadContext, refused: Refused) -> Done {
    let left = refused
        .not_before_ms
        .saturating_sub(context.now_ms())
        .max(0);
    let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
    tokio::select! {
        () = context.cancel.cancelled() => return Done::Beside(Beside::MergeTried),
        () = tokio::time::sleep(left.max(PAUSE)) => {}
    }
    again(&context, &refused)
        .await
        .or_warn("a refused merge could not be tried again");
    Done::Beside(Beside::MergeTried)
}

/// One more request. Whatever it gives is told once and is in the log.
pub(crate) async fn again(context: &ThreadContext, refused: &Refused) -> Result<(), AgentError> {
    let asked = context.facts().cards.asked.get(&refused.request).cloned();
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
    if refused.block == MergeBlock::Below {
        // It would go into the branch below.
        let merged = merge::merge(context, &order, &asked).await;
        return merged.map(drop);
    }
    let head = head_there(context, &subject).await?;
    let mut wanted = Merge::of(subject.pr, &head).saying(&subject.title, &subject.description);
    wanted.queued = refused.block == MergeBlock::Queued;
    match context
        .agent
        .forge
        .merge_again(&wanted, &context.cancel)
        .await
    {
        Ok(()) => merge::merge(context, &order, &asked).await.map(drop),
        Err(Error::Cancelled { .. }) => Ok(()),
        Err(error) if block_of(&error).0 == MergeBlock::Refused => {
            // It may conflict by now, or have moved: that takes a closer look.
            merge::merge(context, &order, &asked).await.map(drop)
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
pub(crate) async fn put_away(context: &ThreadContext, refused: &Refused, what: &str) {
    let blocks = json!([{"type": "markdown", "text": what}]);
    let (web, channel) = (&context.poster.web, &context.thread.channel);
    let update = web.update(channel, &refused.message, what, Some(&blocks));
    update
        .await
        .or_warn("the message about a refused merge keeps its buttons");
}

/// The merge went through after all: the log and the message say so.
pub(crate) async fn passed(context: &ThreadContext, request: &RequestId) {
    let refused = context.facts().cards.refused.clone();
    let Some(refused) = refused.filter(|refused| refused.request == *request) else {
        return;
    };
    context.write(Record::MergeSettled {
        request: request.clone(),
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

    #[test]
    fn no_sentence_shows_a_command_line() {
        let error = Error::Failed {
            command: "gh api --include x".into(),
            code: 1,
            stderr: "boom".into(),
        };
        let (block, _) = block_of(&error);
        let text = sentence(PrNumber(3), block, &error);
        assert!(!text.contains("gh api") && !text.contains("boom"), "{text}");
        assert!(text.starts_with("#3 is not merged yet"), "{text}");
    }
}
