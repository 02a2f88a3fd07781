//! What people decide and say about a run: the card that starts it, and words in its
//! own thread (`pause`, `resume`, `stop`, `status`, `3: an answer`). No model is asked.

use butler_policy::{Duty, without_mentions};
use butler_protocol::{
    ItemReport, MessageTs, RunChange, RunState, RunView, Then, ThreadId, ToolOutcome,
};
use butler_slack::{Message, mrkdwn};
use std::collections::BTreeMap;

use super::{answers, message};
use crate::{Agent, AgentError, ThreadContext, listen::control_words};

/// A person started it. The hub has written the run; the runner takes it from here.
pub(crate) fn started(context: &ThreadContext) -> ToolOutcome {
    context.agent.develop.poke();
    let text = "The run has begun: the runtime opens a thread for each item and shows here how they stand.";
    ToolOutcome::ok(text).then(Then::End)
}

/// Carries out words for a run, said in its thread. Says whether it was that.
pub(crate) async fn obey(
    agent: &Agent,
    thread: &ThreadId,
    said: &Message,
) -> Result<bool, AgentError> {
    let Some(run) = agent.develop.run_of(thread) else {
        return Ok(false);
    };
    if !Duty::Front.is_of(agent.role()) || !is_open(&run) {
        return Ok(false);
    }
    let text = mrkdwn::plain(&said.text);
    let text = without_mentions(&text, agent.bot.as_ref());
    if let Some(answer) = answers::read(text) {
        let known = run.subject.items.iter();
        let mut known = known.filter(|item| item.number == answer.number);
        if known.next().is_none() {
            let text = format!("This run has no item {}.", answer.number);
            say(agent, thread, &said.ts, &text).await?;
        }
        agent.develop.poke();
        return Ok(true);
    }
    let (state, text) = match text.trim().to_lowercase().as_str() {
        "pause" => (
            RunState::Paused,
            "Paused: nothing begins, and nothing is decided without you. What has begun goes on to its next card. `resume` goes on.",
        ),
        "resume" | "go on" | "continue" => (RunState::Running, "The run goes on."),
        _ => return Ok(false),
    };
    change(agent, &run, state).await?;
    say(agent, thread, &said.ts, text).await?;
    Ok(true)
}

/// Ends a run because a person said stop in its thread. What they are told.
pub(crate) async fn stop(agent: &Agent, thread: &ThreadId) -> Result<Option<String>, AgentError> {
    let open = agent.develop.run_of(thread).filter(is_open);
    let Some(run) = open.filter(|_| Duty::Front.is_of(agent.role())) else {
        return Ok(None);
    };
    change(agent, &run, RunState::Stopped).await?;
    let text = "The run is stopped: nothing begins any more, and nothing is merged without you. What has begun goes on to its next card; `stop` in its own thread stops it at once.";
    Ok(Some(text.to_owned()))
}

/// How a run stands, for `status` in its thread.
pub(crate) fn status(agent: &Agent, thread: &ThreadId) -> Option<String> {
    let run = agent.develop.run_of(thread)?;
    let reports = agent.develop.reports_of(&run);
    let order = agent.develop.order_of(&run);
    Some(message::board(&run, &reports, &order))
}

/// What people were told of each item that has begun.
pub(crate) fn reported(run: &RunView) -> BTreeMap<u32, ItemReport> {
    let items = run.items.iter();
    items
        .filter_map(|item| Some((item.number, item.report.clone()?)))
        .collect()
}

/// Whether something of it may still happen.
pub(crate) fn is_open(run: &RunView) -> bool {
    matches!(run.state, RunState::Running | RunState::Paused)
}

async fn change(agent: &Agent, run: &RunView, state: RunState) -> Result<(), AgentError> {
    let change = RunChange {
        request: run.request.clone(),
        state,
    };
    agent.poster.control.run_state(&change).await?;
    agent.develop.poke();
    Ok(())
}

async fn say(
    agent: &Agent,
    thread: &ThreadId,
    ts: &MessageTs,
    text: &str,
) -> Result<(), AgentError> {
    control_words::answer(agent, thread, ts, "run", text).await
}
