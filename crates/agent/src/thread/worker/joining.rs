//! What a role has to know of its thread before it goes on.

use crate::thread::worker::joining::joining::by_runtime;
use butler_policy::{Right, Scope, right};
use butler_protocol::{EventId, HandOver, MessageTs};
use butler_slack::File;
use butler_turn::Heard;

use super::Worker;
use crate::{
    AgentError, OrWarn, ThreadContext,
    tell::{
        change::Change,
        joining::{self, Cards},
    },
};

impl Worker {
    /// The first things in a new log are the repository in a few lines and what was
    /// said before this role was called; one that comes back is told what it missed.
    /// Beside that, what people attached meanwhile.
    pub(super) async fn context(
        &mut self,
        until: Option<&MessageTs>,
        cards: Cards<'_>,
    ) -> Result<(Vec<Heard>, Vec<File>), AgentError> {
        let at_work = self.machine.activation().is_some() && self.machine.parked().is_none();
        if self.edge.joined && at_work {
            return Ok((Vec::new(), Vec::new()));
        }
        let poster = &self.edge.context.poster;
        let messages = poster.web.replies(&self.edge.context.thread).await?;
        let names = poster.names(&messages).await?;
        let text = if self.edge.joined {
            let own_name = self.edge.context.role().user_name();
            let facts = self.edge.context.facts();
            joining::meanwhile(&messages, &facts.seen, until, &own_name, &names)
        } else {
            joining::so_far(&messages, until, &names, cards).map(|text| (text, false))
        };
        let facts = self.edge.context.facts();
        let joined = self.edge.joined;
        let is_new = |ts: &MessageTs| !joined || facts.seen.missed(ts);
        let files = joining::files_before(&messages, until, is_new);
        let mut told = Vec::new();
        if !self.edge.joined {
            let overview = self.edge.context.agent.overview().await;
            told.push(by_runtime(EventId::overview(), overview));
        }
        told.extend(text.map(|(text, people_spoke)| {
            let event = EventId::context(until, people_spoke);
            by_runtime(event, text)
        }));
        Ok((told, files))
    }
}

/// Whoever reviews is given the change itself, in later rounds what is new in it;
/// whoever proposes the merge the whole of what was judged. Where that cannot be had,
/// there is a tool for it.
pub(super) async fn change(context: &ThreadContext, body: Option<&HandOver>) -> Option<Heard> {
    let right = |tool: &str| right(context.role(), tool);
    let (head, round) = match body? {
        HandOver::ReadyForReview { head, round, .. }
            if right("RunChecks") == Right::Scoped(Scope::PullRequestHead) =>
        {
            (head, Some(*round))
        }
        HandOver::Verdict { verdict, .. } if right("ProposeMerge") != Right::No => {
            (&verdict.head, None)
        }
        _ => return None,
    };
    let repo = &context.agent.repo;
    let before = round.and_then(|round| {
        let before = context.facts().review.reading.given_before(head).cloned()?;
        Some((before, round.saturating_sub(1)))
    });
    let new = async {
        let changes = context.changes_at(head).await?;
        match &before {
            None => Ok(changes.diff),
            Some((before, _)) => repo.changed_since(before, head, &context.cancel).await,
        }
    };
    let diff: Result<String, butler_repo::Error> = new.await;
    let diff = diff.or_warn("the change could not be put into the hand-over")?;
    let since = before.as_ref().map(|(before, round)| (before, *round));
    let change = Change {
        head,
        since,
        diff: &diff,
    };
    Some(by_runtime(EventId::change(head), change.text()))
}
