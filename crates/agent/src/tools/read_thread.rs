//! ReadThread: what really happened in this thread, from the messages and from
//! the logs, not from memory. Paged and redacted. The turns of other roles are
//! for the Lead only.

use std::fmt::Write;

use butler_policy::Scope;
use butler_protocol::{
    Change, Entry, Proposal, Record, Role, Tier, ToolOutcome, UserId, person_name,
};
use butler_turn::Chosen;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::{Answer, CallContext, ChatTool, OrFailed, refuse};
use crate::{
    ThreadContext,
    tell::{
        bill::Bill,
        joining::{self, Cards},
        render,
        thread_logs::RoleLog,
    },
    upkeep::pruning,
};

const PAGE: usize = 80;
const LINE: usize = 600;

pub(crate) struct ReadThread;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// transcript: what was said. turns: what one role's model did, with its tool calls.
    /// decisions: cards and what came of them. usage: cost by role and model. receipts: runs of
    /// the checks. memory: learnings that the evidence speaks against.
    what: What,
    /// For turns: whose.
    #[serde(default)]
    role: Option<Role>,
    /// First line, from 1.
    #[serde(default)]
    offset: Option<usize>,
    /// How many lines (default 80).
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum What {
    Transcript,
    Turns,
    Decisions,
    Usage,
    Receipts,
    Memory,
}

impl ChatTool for ReadThread {
    type Input = Input;

    const NAME: &'static str = "ReadThread";
    const TIER: Tier = Tier::Read;

    const TOLD: &'static str = "Reads what happened in this thread. Use it before a look back, so that every \
             statement has a figure or a place; not for code (Read, GitDiff). Returns numbered \
             lines and says how to read on. Example: {\"what\": \"turns\", \"role\": \"coder\"}";

    async fn act(context: &CallContext<'_>, input: Input) -> Answer {
        if input.what == What::Turns && context.permit.scope() == Some(Scope::WithoutTurns) {
            return refuse(
                "refused: the turns of other roles are for the Lead; read the transcript",
            );
        }
        let page = page(&lines(context, &input).await?, &input);
        Ok(ToolOutcome::ok(context.agent.clean(&page)))
    }
}

async fn lines(context: &CallContext<'_>, input: &Input) -> Result<Vec<String>, ToolOutcome> {
    match input.what {
        What::Memory => {
            let root = context.tools.workplace().root();
            let found = pruning::proposals(root, &context.agent).await;
            let found = found.or_failed("the logs could not be read")?;
            Ok(found.iter().map(could_go).collect())
        }
        What::Transcript => {
            let poster = &context.poster;
            let unread = "the thread could not be read";
            let messages = poster
                .web
                .replies(&context.thread)
                .await
                .or_failed(unread)?;
            let names = poster.names(&messages).await.or_failed(unread)?;
            let lines = messages
                .iter()
                .filter(|one| !joining::is_outside(one))
                .map(|one| joining::line(one, &names, Cards::Whole));
            Ok(lines.collect())
        }
        What::Turns => {
            let role = input.role.ok_or_else(|| {
                ToolOutcome::error("`role` is missing: name the role whose turns you want")
            })?;
            let logs = logs(context).await?;
            let own = logs.iter().filter(|log| log.role == role);
            Ok(own.flat_map(|log| &log.entries).flat_map(turn).collect())
        }
        What::Usage => Ok(Bill::of(&logs(context).await?).lines()),
        What::Decisions => decisions(context, &logs(context).await?).await,
        What::Receipts => {
            let logs = logs(context).await?;
            let all = logs.iter();
            let all = all.flat_map(|log| log.entries.iter().map(|entry| (log.role, entry)));
            let mut all: Vec<(Role, &Entry)> = all.collect();
            all.sort_by_key(|(_, entry)| entry.at_ms);
            let shown = all.into_iter();
            Ok(shown
                .filter_map(|(role, entry)| receipt(role, entry))
                .collect())
        }
    }
}

/// Every role's decision log, in the order of time, with people by their names.
async fn decisions(context: &ThreadContext, logs: &[RoleLog]) -> Result<Vec<String>, ToolOutcome> {
    let mut all: Vec<(Role, &Chosen)> = Vec::new();
    for log in logs {
        all.extend(log.fold.chosen.all().iter().map(|one| (log.role, one)));
    }
    all.sort_by_key(|(_, chosen)| chosen.at_ms);
    let mut lines = Vec::new();
    for (role, one) in all {
        let mut evidence = one.evidence.clone();
        if let Some((person, card)) = one.evidence.split_once(" on card ") {
            let name = context.poster.web.user_name(&UserId::new(person)).await;
            let name = name.unwrap_or_default();
            evidence = format!("{} on card {card}", person_name(&name));
        }
        let (about, choice) = (&one.about, &one.choice);
        lines.push(format!("{role} {about}: {choice}; {evidence}"));
    }
    Ok(lines)
}

async fn logs(context: &ThreadContext) -> Result<Vec<RoleLog>, ToolOutcome> {
    let logs = context.logs().await;
    logs.or_failed("the logs could not be read")
}

fn turn(entry: &Entry) -> Vec<String> {
    match &entry.record {
        Record::User { text, .. } => vec![format!("heard: {text}")],
        Record::Assistant {
            turn, text, calls, ..
        } => {
            let said = text.iter().map(|text| format!("turn {turn} said: {text}"));
            let calls = calls
                .iter()
                .map(|call| format!("turn {turn} called {} {}", call.name, call.arguments));
            said.chain(calls).collect()
        }
        Record::ToolResult { outcome, .. } => {
            let word = if outcome.ok { "result" } else { "error" };
            vec![format!("  {word}: {}", outcome.text)]
        }
        Record::Model { model, reason, .. } => vec![format!("model {model}: {reason}")],
        Record::ActivationEnded { ending, .. } => vec![format!("ended: {ending:?}")],
        _ => Vec::new(),
    }
}

/// A learning that the evidence speaks against.
fn could_go(proposal: &Proposal) -> String {
    match &proposal.change {
        Change::Pruning { title, reason, .. } => {
            format!("{title}, a learning in {}: {reason}", proposal.file)
        }
        _ => proposal.title(),
    }
}

fn receipt(role: Role, entry: &Entry) -> Option<String> {
    match &entry.record {
        Record::Checked { receipt } => {
            Some(format!("{role}: {}", render::checks_line(Some(receipt))))
        }
        _ => None,
    }
}

fn page(lines: &[String], input: &Input) -> String {
    let from = input.offset.unwrap_or(1).max(1);
    let limit = input.limit.unwrap_or(PAGE).clamp(1, 400);
    let mut text = String::new();
    for (number, line) in (1..).zip(lines).skip(from - 1).take(limit) {
        let line = line.replace('\n', " ⏎ ");
        let _ = writeln!(text, "{number}  {}", render::cut(&line, LINE));
    }
    let last = (from - 1 + limit).min(lines.len());
    if last < lines.len() {
        let _ = writeln!(
            text,
            "({} lines in all; read on with offset {})",
            lines.len(),
            last + 1
        );
    }
    if text.is_empty() {
        text.push_str("nothing here");
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn input(value: Value) -> Input {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn pages_say_how_to_read_on_and_long_lines_are_cut() {
        let lines: Vec<String> = (1..=5).map(|n| format!("line {n}\nmore")).collect();
        let text = page(
            &lines,
            &input(json!({"what": "usage", "offset": 2, "limit": 2})),
        );
        assert_eq!(
            text,
            "2  line 2 ⏎ more\n3  line 3 ⏎ more\n(5 lines in all; read on with offset 4)\n"
        );
        let long = page(&["x".repeat(900)], &input(json!({"what": "usage"})));
        assert!(long.trim_end().ends_with('…') && long.len() < 700);
        assert_eq!(page(&[], &input(json!({"what": "usage"}))), "nothing here");
    }
}
