//! The journal of a thread: what each role read, tried, asked and decided, with
//! the bill. Made from the logs, so that it tells what happened and not what
//! somebody remembers; committed with the pull request when a thread is merged.

use std::fmt::Write;

use butler_protocol::{Ending, HandOver, Record, Speaker, ThreadId, ToolCall, person_name};
use tokio_util::sync::CancellationToken;

use crate::{
    Agent, AgentError,
    tell::{
        bill::Bill,
        render,
        thread_logs::{self, RoleLog},
    },
    upkeep::history,
};

/// Nobody reads more; the middle is left out then.
const MOST_LINES: usize = 400;
const LINE: usize = 240;

/// Where the journal of a thread is kept.
pub(crate) fn path(thread: &ThreadId) -> String {
    format!(".codebutler/journals/thread-{}.md", thread.root)
}

/// Keeps it beside the branches. Nothing waits for that: what cannot be kept is
/// still in the logs.
pub(crate) async fn keep(agent: &Agent, thread: &ThreadId, cancel: &CancellationToken) {
    let kept = async {
        let logs = thread_logs::of_thread(agent, thread).await?;
        let plans = agent.poster.control.plans_of(thread).await?;
        let title = history::plan_of(&plans, thread).map(|plan| plan.title.as_str());
        let text = agent.clean(&write(title, thread, &logs));
        agent.repo.keep_journal(thread, &text, cancel).await?;
        Ok::<_, AgentError>(())
    };
    if let Err(error) = kept.await {
        tracing::warn!(%thread, %error, "the journal is not kept");
    }
}

fn write(title: Option<&str>, thread: &ThreadId, logs: &[RoleLog]) -> String {
    let mut text = format!("# {}\n\nThread {thread}", title.unwrap_or("A thread"));
    let first = logs.iter().filter_map(|log| log.fold.seen.began_ms);
    if let Some(day) = first.min().and_then(clock) {
        let _ = write!(text, ", begun on {}", day.strftime("%Y-%m-%d"));
    }
    text.push_str(".\n");
    if let Some(asked) = logs.iter().find_map(|log| log.fold.request.as_ref()) {
        let _ = write!(
            text,
            "\n{} asked:\n\n{}\n",
            asked.name,
            render::quote(&asked.words)
        );
    }
    text.push_str("\n## What happened\n\n");
    for line in clipped(story(logs)) {
        let _ = writeln!(text, "- {line}");
    }
    text.push_str("\n## What it cost\n\n");
    let bill = Bill::of(logs);
    for line in bill.lines() {
        let _ = writeln!(text, "- {line}");
    }
    let _ = writeln!(text, "- Total {}", bill.total());
    text
}

/// Every role's lines in the order of time.
fn story(logs: &[RoleLog]) -> Vec<String> {
    let mut told: Vec<(i64, String)> = Vec::new();
    for RoleLog {
        role,
        entries,
        fold,
    } in logs
    {
        let lines = entries.iter();
        let lines = lines.filter_map(|entry| Some((entry.at_ms, tell(&entry.record)?)));
        let chosen = fold.chosen.all().iter();
        let chosen = chosen.map(|one| {
            let what = format!(
                "{}: {}; {}",
                one.about,
                short(&one.choice),
                short(&one.evidence)
            );
            (one.at_ms, what)
        });
        told.extend(lines.chain(chosen).map(|(at_ms, what)| {
            let time = clock(at_ms).map(|time| time.strftime("%H:%M").to_string());
            (
                at_ms,
                format!("{} {}: {what}", time.unwrap_or_default(), role.title()),
            )
        }));
    }
    told.sort_by_key(|(at, _)| *at);
    told.into_iter().map(|(_, line)| line).collect()
}

/// What one record is worth telling; what was chosen is told by the decision log.
fn tell(record: &Record) -> Option<String> {
    Some(match record {
        Record::User {
            speaker: Speaker::Person { name, .. },
            text,
            ..
        } => format!("heard {}: {}", person_name(name), short(text)),
        Record::Received { hand_over, .. } => received(hand_over),
        Record::Assistant { calls, text, .. } if !calls.is_empty() => {
            let calls: Vec<String> = calls.iter().map(call_line).collect();
            let why = text.as_deref().map(|text| format!(" ({})", short(text)));
            format!("{}{}", calls.join(", "), why.unwrap_or_default())
        }
        Record::Assistant {
            text: Some(text), ..
        } => format!("said: {}", short(text)),
        Record::ToolResult { outcome, .. } if !outcome.ok => {
            format!("was told: {}", short(&outcome.text))
        }
        Record::Checked { receipt } => short(&render::checks_line(Some(receipt))),
        Record::ActivationEnded { ending, .. } => return ended(ending),
        _ => return None,
    })
}

fn received(hand_over: &HandOver) -> String {
    match hand_over {
        HandOver::Task(task) => format!("was given the plan “{}”", task.plan.title),
        other => format!("was handed: {}", short(&render::hand_over(other))),
    }
}

fn ended(ending: &Ending) -> Option<String> {
    Some(match ending {
        // Going in circles is among the choices.
        Ending::Done | Ending::PassedOn | Ending::Stuck => return None,
        Ending::Stopped => "was stopped by a person".to_owned(),
        Ending::TurnLimit => "used all its turns".to_owned(),
        Ending::OutOfMoney => "ran out of money".to_owned(),
        Ending::Failed { reason } => format!("failed: {}", short(reason)),
    })
}

/// A call with the argument that tells most.
fn call_line(call: &ToolCall) -> String {
    let keys = [
        "path", "command", "pattern", "question", "kind", "title", "what",
    ];
    let told = keys
        .iter()
        .find_map(|key| call.arguments.get(key)?.as_str());
    match told {
        Some(told) => format!("{} `{}`", call.name, short(told).replace('`', "'")),
        None => call.name.clone(),
    }
}

/// One line, not too long, that no Markdown of a stranger can break.
fn short(text: &str) -> String {
    render::one_line(text, LINE)
}

fn clipped(mut lines: Vec<String>) -> Vec<String> {
    if lines.len() > MOST_LINES {
        let half = MOST_LINES / 2;
        let tail = lines.split_off(lines.len() - half);
        let left_out = lines.len() - half;
        lines.truncate(half);
        lines.push(format!("… {left_out} lines left out …"));
        lines.extend(tail);
    }
    lines
}

fn clock(at_ms: i64) -> Option<jiff::Timestamp> {
    jiff::Timestamp::from_millisecond(at_ms).ok()
}

#[cfg(test)]
mod tests {
    use butler_protocol::{Entry, Role};
    use serde_json::{Value, json};

    use super::*;

    fn log(records: &[Value]) -> Vec<Entry> {
        let entry = |(seq, record): (i64, &Value)| {
            let line = json!({"seq": seq, "epoch": 1, "at_ms": 1_700_000_000_000_i64 + seq * 1000,
                "record": record});
            serde_json::from_value(line).unwrap()
        };
        (1..).zip(records).map(entry).collect()
    }

    #[test]
    fn the_journal_tells_who_did_what_in_order_and_what_it_cost() {
        let person = json!({"who": "person", "user": "U1", "name": "ana"});
        let usage = json!({"input": 10, "cached_input": 0, "cache_write": 0, "output": 2,
            "reasoning": 0});
        let pm = log(&[
            json!({"t": "user", "speaker": person, "text": "add a flag\n\nplease"}),
            json!({"t": "assistant", "turn": 1, "calls": [{"id": "abcdefghi", "name": "Read",
                "arguments": {"path": "notes.sh"}}], "model": "m", "usage": usage}),
            json!({"t": "tool_result", "call": "abcdefghi", "outcome": {"ok": false,
                "text": "no such file"}}),
            json!({"t": "settled", "reserve": "r", "cost": 20_000_000, "usage": usage, "model": "m"}),
        ]);
        let coder = log(&[
            json!({"t": "model", "model": "strong", "reason": "the checks keep failing"}),
            json!({"t": "activation_ended", "activation": 1, "ending": {"how": "stuck"}}),
        ]);
        let thread: ThreadId = "C1/1700000000.000100".parse().unwrap();
        let text = write(
            Some("A flag"),
            &thread,
            &[RoleLog::new(Role::Pm, pm), RoleLog::new(Role::Coder, coder)],
        );
        let parts = [
            "# A flag\n",
            "begun on 2023-11-14",
            "> add a flag\n> \n> please",
            "PM: heard ana: add a flag please",
            "Coder: model: strong; the checks keep failing",
            "PM: Read `notes.sh`",
            "PM: was told: no such file",
            "## What it cost",
            "Total $0.0200",
        ];
        let mut rest = text.as_str();
        for part in parts {
            let at = rest.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
            rest = &rest[at + part.len()..];
        }
        assert!(text.contains("Coder: stuck: stop and hand up;"), "{text}");
    }

    #[test]
    fn a_long_story_keeps_its_beginning_and_its_end() {
        let lines: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
        let kept = clipped(lines);
        assert_eq!(kept.len(), MOST_LINES + 1);
        assert_eq!((kept[0].as_str(), kept[MOST_LINES].as_str()), ("0", "999"));
        assert!(kept[MOST_LINES / 2].contains("600 lines left out"));
    }
}
