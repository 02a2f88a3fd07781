//! What people say that needs no model: help, status, cost, another model, a
//! rest for the whole team. Answers are posted with a key made from the message,
//! so a redelivery says nothing twice.

use butler_policy::Duty;
use butler_protocol::{Idem, MessageTs, Role, ThreadId};
use butler_turn::route::Command;

use crate::{
    Agent, AgentError,
    develop::orders,
    tell::{
        bill::Bill,
        thread_logs::{self, RoleLog},
        thread_status,
    },
    upkeep::rules_in_force::FOR_A_PERSON,
};

/// What can be said in a thread. Also the answer to "help".
const HELP: &str = "\
Write what you want; the PM asks, plans and shows a price, and nothing is built before you press \
Approve. While somebody works, a message steers them.

- `stop` or 🛑 stops what runs in this thread, and `go on` takes it up again; `!pause` and \
`!resume` the whole team
- `!restart` starts the team anew when its running turns are over (approvers)
- `status` who does what, `cost` what it cost so far
- `merge`, `yes`, `no` answer the one open card; with several open, press the button you mean
- `merge`, `hold` and `close` work without a card too, as long as a pull request is open; `archive` puts the thread away
- `@codebutler.coder …` speaks to one role; `!aside …` is for people only
- `!draft` collects your messages until `!done`, and makes one request of them
- `!pm claude` lets another model answer for a role in this thread
- `approve <id>` and `reject <id>` work where a card shows its id, as 👍 and 👎 do on the card";

/// Stands in the key of an answer to one of these words.
const WORD: &str = "word";

/// Obeys a word. Only the PM's process answers; the others may have something
/// to do nevertheless.
pub(crate) async fn obey(
    agent: &Agent,
    thread: &ThreadId,
    ts: &MessageTs,
    command: &Command,
    by: &str,
) -> Result<(), AgentError> {
    let text = match command {
        Command::Help => {
            // What was pushed meanwhile can be asked for too.
            agent.rules.renew(&agent.repo, FOR_A_PERSON).await;
            format!("{HELP}\n\n{}", agent.playbook().await.help())
        }
        // Only the PM is asked.
        Command::Status => match orders::status(agent, thread) {
            Some(text) => text,
            None => status(agent, &thread_logs::of_thread(agent, thread).await?),
        },
        Command::Cost => cost(agent, &thread_logs::of_thread(agent, thread).await?),
        Command::Pause => {
            format!("The team is paused, as {by} asked: no model is called. `!resume` continues.")
        }
        Command::Resume => format!("The team goes on, as {by} asked."),
        _ => return Ok(()),
    };
    rest(agent, command, by)?;
    if Duty::Front.is_of(agent.role()) {
        answer(agent, thread, ts, WORD, &text).await?;
    }
    Ok(())
}

/// Lies down or gets up, if that is what was said.
pub(crate) fn rest(agent: &Agent, command: &Command, by: &str) -> Result<(), AgentError> {
    match command {
        Command::Pause => agent.pause.begin(by),
        Command::Resume => agent.pause.end(),
        _ => Ok(()),
    }
}

/// What a person who stopped the thread reads: who was at work, and how to go on.
pub(crate) fn stopped(by: &str, roles: &[Role], next: Option<Role>) -> String {
    let Some(next) = next else {
        return format!(
            "Nobody is at work in this thread, {by}: there was nothing to stop. `!pause` pauses the whole team."
        );
    };
    let mut names: Vec<&str> = roles.iter().map(|role| role.title()).collect();
    if names.is_empty() {
        names.push(next.title());
    }
    format!(
        "Stopped, as {by} asked: {}. What was on its way between the roles is dropped, and nothing goes on until somebody writes here. `go on` reaches the {}; another role is reached by its name, as in `{} …`.",
        names.join(", "),
        next.title(),
        Role::Pm.mention()
    )
}

/// The same, when some of them have not said yet that they stopped.
pub(crate) fn with_unconfirmed(text: &str, late: &[Role]) -> String {
    if late.is_empty() {
        return text.to_owned();
    }
    let names: Vec<&str> = late.iter().map(|role| role.title()).collect();
    format!(
        "{text} The {} has not confirmed it yet: it stops when it hears of it, or does not run.",
        names.join(" and the ")
    )
}

/// Answers a message without a model, once.
pub(crate) async fn answer(
    agent: &Agent,
    thread: &ThreadId,
    ts: &MessageTs,
    what: &str,
    text: &str,
) -> Result<(), AgentError> {
    let key = answer_key(&thread.short(), agent.role(), what, ts);
    agent.poster.say(thread, key, text).await?;
    Ok(())
}

/// The key of such an answer.
pub(crate) fn answer_key(thread: &str, role: Role, what: &str, ts: &MessageTs) -> Idem {
    Idem::new(format!("{thread}-{role}-{what}-{ts}"))
}

/// Whether a post is the answer to a word for the runtime.
pub(crate) fn is_answer(key: &Idem) -> bool {
    key.as_str().contains(&format!("-{}-{WORD}-", Role::Pm))
}

fn status(agent: &Agent, logs: &[RoleLog]) -> String {
    let spent = Bill::of(logs).total();
    let paused = if agent.pause.is_on() {
        "The team is paused (`!resume` continues).\n"
    } else {
        ""
    };
    let cap = agent.rules().limits.thread_cap;
    format!(
        "{paused}{}\n\n{spent} of {cap} spent.",
        thread_status::render(logs)
    )
}

fn cost(agent: &Agent, logs: &[RoleLog]) -> String {
    let bill = Bill::of(logs);
    let lines: Vec<String> = bill
        .lines()
        .iter()
        .map(|line| format!("- {line}"))
        .collect();
    format!(
        "{} of {} so far\n{}",
        bill.total(),
        agent.rules().limits.thread_cap,
        lines.join("\n")
    )
}

/// The model that a person means: a name of the pool, or a model's full name.
///
/// # Errors
/// Names what there is.
pub(crate) fn model(agent: &Agent, name: &str) -> Result<String, String> {
    let rules = agent.rules();
    rules.models.named(name).ok_or_else(|| {
        let names: Vec<&str> = rules.models.pool.keys().map(String::as_str).collect();
        format!(
            "I know no model “{name}”. There are {}, or a full name such as maker/model.",
            names.join(", ")
        )
    })
}
