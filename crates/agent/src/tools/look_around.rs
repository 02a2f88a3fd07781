//! ListThreads and ReadMemory: what the team does now, and what it knows, for whoever
//! must fit new work beside the old.

use butler_protocol::{ThreadSummary, Tier, ToolOutcome};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::{Answer, CallContext, ChatTool, OrFailed, refuse};
use crate::upkeep::history;

/// Done threads say little about now: so many of them are named.
const DONE: usize = 5;
/// A plan's files, and what is shown of a title.
const FILES: usize = 8;

pub(crate) struct ListThreads;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Nothing {}

impl ChatTool for ListThreads {
    type Input = Nothing;

    const NAME: &'static str = "ListThreads";
    const TIER: Tier = Tier::Read;

    const TOLD: &'static str =
        "The team's threads: where each stands, who works, files of its plan, cost. Example: {}";

    async fn act(context: &CallContext<'_>, _: Nothing) -> Answer {
        let control = &context.poster.control;
        let threads = control.threads().await.or_failed("the hub does not say")?;
        let plans = control.plans().await.or_failed("the hub does not say")?;
        let (done, open): (Vec<_>, Vec<_>) = threads
            .into_iter()
            .filter(|one| one.thread != context.thread)
            .partition(|one| one.is_done());
        let files = |one: &ThreadSummary| {
            let plan = history::plan_of(&plans, &one.thread);
            plan.map_or_else(Vec::new, |plan| plan.files.clone())
        };
        let lines = open.iter().map(|one| line(one, &files(one)));
        let lines = lines.chain(done.iter().take(DONE).map(|one| line(one, &[])));
        let lines: Vec<String> = lines.collect();
        Ok(ToolOutcome::ok(context.agent.clean(
            &match lines.as_slice() {
                [] => "There is no other thread.".to_owned(),
                some => some.join("\n"),
            },
        )))
    }
}

fn line(one: &ThreadSummary, files: &[String]) -> String {
    let mut parts = vec![one.phase.clone()];
    parts.extend(
        one.working
            .iter()
            .map(|role| format!("{} at work", role.title())),
    );
    if one.open_cards > 0 {
        parts.push("waits for a person".to_owned());
    }
    parts.extend(
        one.pull
            .as_ref()
            .map(|(number, state)| format!("{number} {state}")),
    );
    if !files.is_empty() {
        let shown: Vec<&str> = files.iter().take(FILES).map(String::as_str).collect();
        parts.push(format!("files {}", shown.join(", ")));
    }
    parts.push(one.spent.to_string());
    format!(
        "- {} ({}): {}",
        one.title,
        one.thread.short(),
        parts.join("; ")
    )
}

pub(crate) struct ReadMemory;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// As in coder.md or research/caching.md; left out: what there is.
    #[serde(default)]
    file: Option<String>,
}

impl ChatTool for ReadMemory {
    type Input = Input;

    const NAME: &'static str = "ReadMemory";
    const TIER: Tier = Tier::Read;

    const TOLD: &'static str = "What the team knows: a file of its memory, as the default branch has it. Example: {\"file\": \"coder.md\"}";

    async fn act(context: &CallContext<'_>, input: Input) -> Answer {
        let playbook = context.agent.playbook().await;
        let listed = || {
            let names = playbook.own_files().map(|(name, text)| {
                let lines = text.lines().count();
                format!("- {name} ({})", butler_protocol::count_of(lines, "line"))
            });
            names.collect::<Vec<_>>().join("\n")
        };
        let Some(file) = input.file.filter(|file| !file.trim().is_empty()) else {
            return Ok(ToolOutcome::ok(match listed() {
                empty if empty.is_empty() => "Nothing is kept yet.".to_owned(),
                some => some,
            }));
        };
        let name = file.trim().trim_start_matches(".codebutler/");
        match playbook.own(name) {
            Some(text) => Ok(ToolOutcome::ok(context.agent.clean(text))),
            None => refuse(format!(
                "there is no {name} on the default branch; there are:\n{}",
                listed()
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use butler_protocol::{PrNumber, Role, ThreadId, Usd};

    use super::*;

    #[test]
    fn a_thread_is_one_line_with_all_that_matters() {
        let thread: ThreadId = "C1/1700000000.000100".parse().unwrap();
        let one = ThreadSummary {
            title: "Search".into(),
            phase: "Building".into(),
            working: vec![Role::Coder],
            open_cards: 1,
            pull: Some((PrNumber(7), "open".into())),
            spent: Usd::from_cents(12),
            thread: thread.clone(),
        };
        let files = ["src/a.rs".to_owned()];
        assert_eq!(
            line(&one, &files),
            format!(
                "- Search ({}): Building; Coder at work; waits for a person; #7 open; files src/a.rs; $0.12",
                thread.short()
            )
        );
    }
}
