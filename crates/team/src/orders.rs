//! What a decision sets in motion without a model: an approved plan goes to the
//! Coder, a merge is carried out. Everything here recognises its own repeat.

use butler_slack::blocks;
use butler_turn::Order;
use butler_vocab::{
    Choice, Decision, DecisionKind, HandOver, MessageTs, Plan, PullStanding, Task, Then,
    ToolOutcome, Waiting,
};
use butler_worktree::{Edit, Forge};
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::{
    TeamError, facts::Asked, hands::Done, pull_news, render, seat::Seat, tools::MergeSubject,
};

/// Does what a person decided.
pub async fn carry_out(
    seat: &Seat,
    order: &Order,
    cancel: &CancellationToken,
) -> Result<ToolOutcome, TeamError> {
    let Some(asked) = seat.facts().asked.get(&order.request).cloned() else {
        return Ok(ToolOutcome::error("the card is not known any more"));
    };
    let person = seat.office.line.web.user_name(&order.person).await?;
    close_card(seat, &asked, order.choice, &person).await;
    match (order.kind, order.choice) {
        (DecisionKind::Plan, Choice::Approve) => start(seat, order, &asked, cancel).await,
        (DecisionKind::Plan, Choice::Modify) => Ok(told(
            "wants the plan changed; their next message says how, then propose it again",
            &person,
        )
        .then(Then::Park {
            waiting: Waiting::Person,
        })),
        (DecisionKind::Plan, _) => Ok(told(
            "rejected the plan; ask why in one sentence, or close the matter",
            &person,
        )),
        (DecisionKind::Merge, Choice::Merge) => merge(seat, order, &asked, cancel).await,
        (DecisionKind::Merge, Choice::Close) => close(seat, order, &asked, cancel).await,
        (DecisionKind::Merge, _) => {
            let text = format!("{person} holds the merge; the pull request stays open.");
            seat.office
                .line
                .say(
                    &seat.thread,
                    seat.idem_for(&order.request, "held"),
                    &text,
                    Vec::new(),
                )
                .await?;
            Ok(ToolOutcome::ok(text).then(Then::End))
        }
        (kind, choice) => Ok(told(
            &format!("chose {} ({kind:?})", choice.label()),
            &person,
        )),
    }
}

fn told(what: &str, person: &str) -> ToolOutcome {
    ToolOutcome::ok(format!("{person} {what}"))
}

/// The approved plan, and the branch that was made for it, go to the Coder.
async fn start(
    seat: &Seat,
    order: &Order,
    asked: &Asked,
    cancel: &CancellationToken,
) -> Result<ToolOutcome, TeamError> {
    let plan = Plan::deserialize(&asked.subject["plan"]).map_err(|error| {
        TeamError::Missing(format!("the plan of card {}: {error}", order.request))
    })?;
    let worktree = seat
        .office
        .repo
        .create(&seat.thread, &plan.title, cancel)
        .await?;
    let request = seat.facts().request.clone();
    let body = HandOver::Task(Box::new(Task {
        request: request.map_or_else(String::new, |request| request.words),
        plan,
        design: None,
        branch: worktree.branch,
        approval: order.request.clone(),
    }));
    seat.office
        .line
        .hand_over(&seat.thread, seat.idem_for(&order.request, "task"), &body)
        .await?;
    Ok(ToolOutcome::ok("the Coder has the plan").then(Then::End))
}

/// Squash onto the default branch, exactly the reviewed head; then clean up.
async fn merge(
    seat: &Seat,
    order: &Order,
    asked: &Asked,
    cancel: &CancellationToken,
) -> Result<ToolOutcome, TeamError> {
    let subject = subject(order, asked)?;
    let words = Edit {
        title: Some(subject.title.clone()),
        body: Some(subject.description.clone()),
    };
    let forge = &seat.office.forge;
    forge.edit(subject.pr, &words, cancel).await?;
    let merged = match forge.merge(subject.pr, &subject.head, cancel).await {
        Ok(commit) => commit,
        Err(error @ butler_worktree::Error::HeadMoved { .. }) => {
            return Ok(ToolOutcome::error(format!(
                "not merged: {error}. The card was for {}; it needs another review and a new card.",
                render::short_sha(subject.head.as_str())
            )));
        }
        Err(error) => return Err(error.into()),
    };
    pull_news::ended(seat, &subject, PullStanding::Merged).await;
    seat.office.repo.remove(&seat.thread, cancel).await?;
    let text = format!(
        "Merged {} as `{}`. The branch and its worktree are gone.",
        subject.pr,
        render::short_sha(merged.as_str())
    );
    seat.office
        .line
        .say(
            &seat.thread,
            seat.idem_for(&order.request, "merged"),
            &text,
            Vec::new(),
        )
        .await?;
    Ok(ToolOutcome::ok(text).then(Then::End))
}

async fn close(
    seat: &Seat,
    order: &Order,
    asked: &Asked,
    cancel: &CancellationToken,
) -> Result<ToolOutcome, TeamError> {
    let subject = subject(order, asked)?;
    seat.office.forge.close(subject.pr, cancel).await?;
    pull_news::ended(seat, &subject, PullStanding::Closed).await;
    let text = format!(
        "Closed {} without merging. What was built stays on its branch.",
        subject.pr
    );
    seat.office
        .line
        .say(
            &seat.thread,
            seat.idem_for(&order.request, "closed"),
            &text,
            Vec::new(),
        )
        .await?;
    Ok(ToolOutcome::ok(text).then(Then::End))
}

fn subject(order: &Order, asked: &Asked) -> Result<MergeSubject, TeamError> {
    let subject = MergeSubject::deserialize(&asked.subject["merge"]).map_err(|error| {
        TeamError::Missing(format!("the subject of card {}: {error}", order.request))
    })?;
    if subject.sha256() != asked.sha256 {
        return Err(TeamError::Missing(format!(
            "card {} is not about what the log holds",
            order.request
        )));
    }
    Ok(subject)
}

/// A command card was answered: its buttons go.
pub async fn answered(seat: &Seat, decision: &Decision) -> Done {
    let asked = seat.facts().asked.get(&decision.request).cloned();
    let person = seat.office.line.web.user_name(&decision.person).await;
    if let (Some(asked), Ok(person)) = (asked, person) {
        close_card(seat, &asked, decision.choice, &person).await;
    }
    Done::Nothing
}

/// The buttons go, the decision stays. Cosmetic: the hub has the record.
async fn close_card(seat: &Seat, asked: &Asked, choice: Choice, person: &str) {
    let Ok(message) = MessageTs::deserialize(&asked.subject["message"]) else {
        return;
    };
    let (title, body) = card_text(&asked.subject);
    let card = blocks::decided(title, &body, "", choice, person);
    let replaced = seat
        .office
        .line
        .replace(&seat.thread, &message, &card)
        .await;
    if let Err(error) = replaced {
        warn!(%error, %message, "the card could not be updated");
    }
}

fn card_text(subject: &Value) -> (&'static str, String) {
    if let Ok(plan) = Plan::deserialize(&subject["plan"]) {
        return ("Plan", render::plan(&plan));
    }
    if let Ok(merge) = MergeSubject::deserialize(&subject["merge"]) {
        return (
            "Ready to merge",
            format!("**{}**\n\n{}", merge.title, merge.description),
        );
    }
    let command = subject["command"].as_str().unwrap_or_default();
    ("May I run this?", format!("```\n{command}\n```"))
}
