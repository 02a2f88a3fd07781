//! What a decision sets in motion without a model: an approved plan goes to the
//! Coder, a merge is carried out. Everything here recognises its own repeat.

use butler_protocol::{
    Choice, Decision, DecisionKind, HandOver, MergeSubject, PullStatus, Subject, Task, Then,
    ToolOutcome, Waiting, person_first,
};
use butler_turn::{Asked, Order};

use crate::{
    AgentError, OrWarn, ThreadContext,
    decide::{maps, merge, roadmap, surface::pictures},
    develop::orders,
    listen::buttons,
    tell::plan_changes,
    thread::prepare,
    upkeep::pull_news,
};

/// So long a rejected call waits for its reason; one that comes later steers.
const FOR_A_REASON_MS: i64 = 20_000;

/// Does what a person decided.
pub(crate) async fn carry_out(
    context: &ThreadContext,
    order: &Order,
) -> Result<ToolOutcome, AgentError> {
    let Some(asked) = context.facts().cards.asked.get(&order.request).cloned() else {
        if order.kind == DecisionKind::Merge {
            return replaced(context, order).await;
        }
        return Ok(ToolOutcome::error("the card is not known any more"));
    };
    let person = context.poster.web.user_name(&order.person).await?;
    let Some((asked, changes)) = decided_about(context, order, asked).await? else {
        return Ok(ToolOutcome::error(format!(
            "{} pressed {} on card {}, but what it showed has changed since. Nothing was done; put it before them again.",
            person_first(&person),
            order.choice.label(),
            order.request
        )));
    };
    match (order.kind, order.choice) {
        (DecisionKind::Plan, Choice::Approve) => {
            let told = match changes.is_empty() {
                true => "the Coder has the plan".to_owned(),
                false => format!(
                    "{} changed the plan on its card and approved that. The Coder has the changed plan:\n- {}",
                    person_first(&person),
                    changes.join("\n- ")
                ),
            };
            start(context, order, &asked, told).await
        }
        (DecisionKind::Plan | DecisionKind::Roadmap, Choice::Modify)
        | (DecisionKind::Picture, Choice::Change) => {
            let poster = &context.poster;
            let idem = context.idem_for(&order.request, "modify");
            let people = std::slice::from_ref(&order.person);
            poster
                .ask_people(&context.thread, idem, people, "What should be different?")
                .await?;
            let said = "was asked what should be different; their next message says it";
            Ok(until_they_speak(told(said, &person)))
        }
        (DecisionKind::Plan, _) => reject(context, order, &person).await,
        (DecisionKind::Roadmap, Choice::Approve) => roadmap::approved(context, order, &asked).await,
        (DecisionKind::Roadmap, _) => {
            let said = "does not want the roadmap changed like this; they may say why";
            Ok(until_they_speak(told(said, &person)))
        }
        (DecisionKind::Develop, Choice::Reject) => {
            let said = "does not want the run started like this; they may say why";
            Ok(until_they_speak(told(said, &person)))
        }
        (DecisionKind::Develop, _) => Ok(orders::started(context)),
        (DecisionKind::Merge, Choice::Merge) => merge::merge(context, order, &asked).await,
        (DecisionKind::Merge, Choice::Close) => close(context, order, &asked).await,
        (DecisionKind::Merge, _) => {
            let text = format!(
                "Held by {person}: the pull request stays open. Say `merge` or `close` to get its card again."
            );
            context.say_of(&order.request, "held", &text).await?;
            Ok(ToolOutcome::ok(text).then(Then::End))
        }
        (DecisionKind::Command, _) => not_to_be_run(context, order, &person).await,
        (DecisionKind::Picture, _) => pictures::decided(context, order, &asked, &person).await,
        (DecisionKind::Maps, _) => maps::decided(context, order, &asked).await,
        (DecisionKind::Learning, _) => learn(context, order, &asked, &person).await,
        (kind, choice) => Ok(told(
            &format!("chose {} ({kind:?})", choice.label()),
            &person,
        )),
    }
}

/// More was accepted since: the newest card has all of it.
async fn replaced(context: &ThreadContext, order: &Order) -> Result<ToolOutcome, AgentError> {
    let text = "Nothing was done: that card was replaced by the newer one, which has more in it. Decide there.";
    context.say_of(&order.request, "replaced", text).await?;
    Ok(ToolOutcome::ok(text).then(Then::End))
}

/// What the hub's record is about: exactly what the log holds, or the plan that a
/// person made of it on its card, with a line for each of their changes. A card that was posted before a crash can show what
/// is not so any more; then nothing.
async fn decided_about(
    context: &ThreadContext,
    order: &Order,
    mut asked: Asked,
) -> Result<Option<(Asked, Vec<String>)>, AgentError> {
    let view = context.poster.control.decision(&order.request).await?;
    if view.asked.sha256 != asked.sha256 {
        return Ok(None);
    }
    let mut changes = Vec::new();
    if let Some(plan) = view.edited {
        if let Subject::Plan(before) = &asked.subject {
            changes = plan_changes::between(before, &plan);
        }
        asked.sha256 = plan.sha256();
        asked.subject = Subject::Plan(plan);
    }
    let same =
        |decision: &Decision| decision.sha256 == asked.sha256 && decision.choice == order.choice;
    let decided = view.decided.as_ref().is_some_and(same);
    Ok(decided.then_some((asked, changes)))
}

fn until_they_speak(outcome: ToolOutcome) -> ToolOutcome {
    outcome.then(Then::Park {
        waiting: Waiting::Person,
    })
}

/// Asks why in one tap; the model hears of it together with the reason, or after a
/// while without one.
async fn not_to_be_run(
    context: &ThreadContext,
    order: &Order,
    person: &str,
) -> Result<ToolOutcome, AgentError> {
    let idem = context.idem_for(&order.request, "why");
    let poster = &context.poster;
    let buttons = buttons::why_not_run();
    poster
        .offer(&context.thread, idem, "Not run. Why?", &buttons)
        .await?;
    let said = format!(
        "The call of card {}, rejected by {person}, was not run. Do not call it again; what they say next is the reason.",
        order.request
    );
    let deadline_ms = context.now_ms() + FOR_A_REASON_MS;
    Ok(ToolOutcome::ok(said).then(Then::Park {
        waiting: Waiting::Reply { deadline_ms },
    }))
}

/// Asks why in one tap and gives the branch back; what was on it is saved.
async fn reject(
    context: &ThreadContext,
    order: &Order,
    person: &str,
) -> Result<ToolOutcome, AgentError> {
    let idem = context.idem_for(&order.request, "why");
    let poster = &context.poster;
    poster
        .offer(&context.thread, idem, "Rejected. Why?", &buttons::why())
        .await?;
    context.agent.preparations.stop(&context.thread).await;
    let repo = &context.agent.repo;
    repo.give_back(&context.thread, &context.cancel)
        .await
        .or_warn("the branch of a rejected plan could not be given back");
    let said = "rejected the plan; they will say why, and nothing is built until then";
    Ok(until_they_speak(told(said, person)))
}

fn told(what: &str, person: &str) -> ToolOutcome {
    ToolOutcome::ok(format!("{} {what}", person_first(person)))
}

/// The approved plan, and the branch that was made for it, go to the Coder.
async fn start(
    context: &ThreadContext,
    order: &Order,
    asked: &Asked,
    told: String,
) -> Result<ToolOutcome, AgentError> {
    let Subject::Plan(plan) = &asked.subject else {
        return Err(other_subject(order));
    };
    let plan = (**plan).clone();
    let worktree = context
        .agent
        .repo
        .create(&context.thread, &plan.title, &context.cancel)
        .await?;
    prepare::begin(
        &context.agent,
        &context.thread,
        &worktree.path,
        prepare::Place::Worktree,
    );
    let request = context.facts().request.clone();
    let body = HandOver::Task(Box::new(Task {
        request: request.map_or_else(String::new, |request| request.words),
        plan,
        branch: worktree.branch,
        approval: order.request.clone(),
    }));
    let idem = context.idem_for(&order.request, "task");
    context.hand_over(idem, &body).await?;
    Ok(ToolOutcome::ok(told).then(Then::PassOn))
}

async fn close(
    context: &ThreadContext,
    order: &Order,
    asked: &Asked,
) -> Result<ToolOutcome, AgentError> {
    let subject = subject(order, asked)?;
    context
        .agent
        .forge
        .close(subject.pr, &context.cancel)
        .await?;
    pull_news::ended(context, &subject, PullStatus::Closed).await;
    let text = format!(
        "Closed {} without merging. What was built stays on its branch.",
        subject.pr
    );
    context.say_of(&order.request, "closed", &text).await?;
    collect(context, order).await?;
    Ok(ToolOutcome::ok(text).then(Then::End))
}

/// What the card was about, checked against the hash that was decided.
pub(crate) fn subject(order: &Order, asked: &Asked) -> Result<MergeSubject, AgentError> {
    match &asked.subject {
        Subject::Merge(merge) if asked.subject.sha256() == asked.sha256 => Ok((**merge).clone()),
        _ => Err(other_subject(order)),
    }
}

fn other_subject(order: &Order) -> AgentError {
    AgentError::Missing(format!(
        "card {} is not about what the log holds",
        order.request
    ))
}

/// What was accepted is written with the merge; after it, and in a thread that
/// has no branch to merge, as a pull request of its own.
async fn learn(
    context: &ThreadContext,
    order: &Order,
    asked: &Asked,
    person: &str,
) -> Result<ToolOutcome, AgentError> {
    let Subject::Learning(proposal) = &asked.subject else {
        return Err(other_subject(order));
    };
    let text = told(
        &format!("chose {} for {}", order.choice.label(), proposal.title()),
        person,
    );
    let (closed, merges) = {
        let facts = context.facts();
        let mut open = facts.cards.open();
        let merges =
            open.any(|(_, asked)| asked.kind() == DecisionKind::Merge && !asked.is_knowledge());
        (facts.cards.is_closed(), merges)
    };
    let branch = context.agent.repo.find(&context.thread).await?.is_some();
    if closed || !(merges || branch) {
        collect(context, order).await?;
    }
    let open = context.facts().cards.open_merge();
    Ok(match open {
        Some(request) => text.then(Then::Park {
            waiting: Waiting::Decision { request },
        }),
        None => text.then(Then::End),
    })
}

/// What was accepted and no merge carries: one pull request for all of it, also when
/// more is accepted while that waits. Where other cards are still open, the person is
/// told what it waits for.
pub(crate) async fn collect(context: &ThreadContext, order: &Order) -> Result<(), AgentError> {
    let (mut rest, learnings, pull, closed) = {
        let facts = context.facts();
        let (mut learnings, mut pull) = (Vec::new(), None);
        for (request, asked) in facts.cards.open() {
            match asked.kind() {
                DecisionKind::Learning => learnings.push(request.clone()),
                DecisionKind::Merge if asked.is_knowledge() => pull = Some(request.clone()),
                _ => {}
            }
        }
        (
            facts.cards.uncarried(),
            learnings,
            pull,
            facts.cards.is_closed(),
        )
    };
    if rest.is_empty() {
        return Ok(());
    }
    // Accepted with it, by `accept all` or a quick hand: what comes last writes all.
    for request in &learnings {
        if decided(context, request).await? == Some(Choice::Accept) {
            return Ok(());
        }
    }
    let direct = context.agent.rules().knowledge_direct;
    // After the merge nobody expects the other cards to be looked at.
    if !(learnings.is_empty() || closed || direct) {
        return wait_for(context, order, learnings.len()).await;
    }
    if let Some(pull) = pull {
        // Once it is merged or closed, what is left comes here again.
        if decided(context, &pull).await?.is_some() {
            return Ok(());
        }
        let mut all = context.facts().cards.carried_by(&pull);
        all.append(&mut rest);
        rest = all;
    }
    merge::offer(context, order, &rest).await
}

/// What the hub knows of a card.
async fn decided(
    context: &ThreadContext,
    request: &butler_protocol::RequestId,
) -> Result<Option<Choice>, AgentError> {
    let view = context.poster.control.decision(request).await?;
    Ok(view.decided.map(|decision| decision.choice))
}

async fn wait_for(context: &ThreadContext, order: &Order, open: usize) -> Result<(), AgentError> {
    if order.choice != Choice::Accept {
        return Ok(());
    }
    let cards = match open {
        1 => "the other open card is decided".to_owned(),
        many => format!("the other {many} open cards are decided"),
    };
    let text = format!(
        "Accepted. It is kept with what else is accepted here, in one pull request, once {cards}."
    );
    context.say_of(&order.request, "waits", &text).await?;
    Ok(())
}
