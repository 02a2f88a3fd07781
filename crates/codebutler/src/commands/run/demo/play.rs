//! `demo --play`: plays the person too. Approves the plan, presses Merge,
//! prints the thread as it grows, then the diff and the bill.

use std::{collections::BTreeSet, time::Duration};

use butler_config::Settings;
use butler_protocol::{ActionId, Choice, MessageTs, Usd, count_of};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::commands::run::demo::{
    farewell::{NEXT, REPORT},
    stage::{Stage, git},
    stories::Story,
};
use crate::commands::talk::message::{People, words, working};
use crate::{CliError, Exit, Paint, Ui, person::Person};

/// How often the thread is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// A story that takes longer than this has got stuck.
const PATIENCE: Duration = Duration::from_secs(120);

/// Plays the story to its end.
pub(crate) async fn play(
    stage: &Stage,
    settings: &Settings,
    url: &str,
    story: Story,
    ui: &Ui,
    cancel: &CancellationToken,
) -> Result<Exit, CliError> {
    let person = Person::join(settings, url)?;
    let before = git(&stage.remote(), &["rev-parse", "main"])?;
    let root = person.say(story.scenario()?.request()).await?;
    let watching = watch(&person, &root, story, ui);
    let thread = tokio::select! {
        () = cancel.cancelled() => return Err(CliError::user("stopped before the merge")),
        thread = tokio::time::timeout(PATIENCE, watching) => thread.map_err(|_| {
            CliError::user("the story did not come to its end")
                .hint("run it again with --logs to see what the agents say")
        })??,
    };
    let after = git(&stage.remote(), &["rev-parse", "main"])?;
    if before == after {
        return Err(CliError::user(
            "the thread says merged, but main has not moved",
        ));
    }
    ui.line(format_args!("\n{}", "What changed on main".bold()))?;
    let range = format!("{}..{}", before.trim(), after.trim());
    ui.line(git(&stage.remote(), &["diff", "--stat", "--patch", &range])?.trim_end())?;
    bill(&thread, ui)?;
    ui.done(format_args!("\n{NEXT}"))
}

/// Follows the thread, presses the buttons, and returns the thread once it is merged.
async fn watch(
    person: &Person,
    root: &MessageTs,
    story: Story,
    ui: &Ui,
) -> Result<Value, CliError> {
    let mut shown = BTreeSet::new();
    let mut pressed = BTreeSet::new();
    loop {
        let thread = person.thread(root).await?;
        let messages = thread["messages"].as_array().cloned().unwrap_or_default();
        for message in &messages {
            let ts = message["ts"].as_str().unwrap_or_default().to_owned();
            if shown.insert(ts.clone()) {
                print(message, ui)?;
            }
            if let Some(action) = wanted(message, story)
                && pressed.insert(ts.clone())
            {
                ui.line(format_args!(
                    "{}",
                    format!("you press {}", action.choice.label()).cyan()
                ))?;
                person.click(&ts, &action.to_string()).await?;
            }
        }
        let done = messages.iter().any(|message| {
            message["text"]
                .as_str()
                .is_some_and(|text| text.starts_with(REPORT))
        });
        if done && working(&thread).is_empty() {
            return Ok(thread);
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// The button that the person of this story would press on this message.
fn wanted(message: &Value, story: Story) -> Option<ActionId> {
    let blocks = message["blocks"].as_array()?;
    let elements = blocks
        .iter()
        .filter(|block| block["type"] == "actions")
        .filter_map(|block| block["elements"].as_array())
        .flatten();
    let choices: Vec<ActionId> = elements
        .filter_map(|element| element["action_id"].as_str()?.parse().ok())
        .collect();
    // Only a command has Approve and no Modify.
    let is_command = choices.iter().all(|one| one.choice != Choice::Modify);
    let rejects = is_command && !story.allows_commands();
    choices.into_iter().find(|action| match action.choice {
        Choice::Approve => !rejects,
        Choice::Reject => rejects,
        Choice::Merge | Choice::Accept => true,
        _ => false,
    })
}

fn print(message: &Value, ui: &Ui) -> Result<(), CliError> {
    let who = message["username"].as_str().unwrap_or("you");
    ui.line(format_args!("\n{}", who.bold()))?;
    for line in words(message, &People::new()).lines() {
        ui.line(format_args!("  {line}"))?;
    }
    Ok(())
}

fn bill(thread: &Value, ui: &Ui) -> Result<(), CliError> {
    ui.line(format_args!("\n{}", "What it would have cost".bold()))?;
    let cost = &thread["cost"];
    for call in cost["calls"].as_array().into_iter().flatten() {
        let role = call["role"].as_str().unwrap_or_default();
        let count = count_of(call["calls"].as_i64().unwrap_or(0), "call");
        let amount = Usd::from_nanos(call["cost"].as_i64().unwrap_or(0));
        ui.line(format_args!("  {role:<11} {amount}  {count}"))?;
    }
    let total = Usd::from_nanos(cost["used"].as_i64().unwrap_or(0));
    ui.line(format_args!(
        "  {:<11} {total}  at rehearsal prices",
        "total"
    ))?;
    Ok(())
}
