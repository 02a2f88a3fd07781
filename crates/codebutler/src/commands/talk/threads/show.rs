//! `codebutler threads show`: why a thread went the way it went, from the logs on
//! disk: what the machine chose, and what people decided and answered. No hub is asked.

use std::collections::HashMap;

use butler_config::FOLDER;
use butler_protocol::{Entry, Record, Role, Speaker, person_name};
use butler_turn::{Chosen, ThreadFold};
use serde_json::{Value, json};

use crate::commands::talk::{thread_logs::logs, which};
use crate::{CliError, Exit, Ui, commands::set_up_here};

/// Show what was decided in a thread, by whom, and why
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The thread: `last`, its number or id in `codebutler threads`, or a link
    thread: String,
    /// As JSON, for scripts
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let threads = set_up_here()?.join(FOLDER).join("threads");
    let thread = which::readable(&threads, &args.thread)?;
    let logs = logs(&threads, &thread)?;
    let decided = decided(&logs);
    if args.json {
        let all: Vec<Value> = decided
            .iter()
            .map(|(role, choice)| json!({"role": role, "decision": choice}))
            .collect();
        return ui.done_json(
            json!({"short": thread.short(), "thread": thread.dir_name(), "decisions": all}),
        );
    }
    ui.line(format_args!("thread {}", thread.short()))?;
    let names = names(&logs);
    for (role, choice) in &decided {
        ui.line(in_words(*role, choice, &names))?;
    }
    if decided.is_empty() {
        ui.note("nothing was decided in this thread yet");
    }
    Ok(Exit::Done)
}

/// The decisions of all roles and of people, oldest first.
fn decided(logs: &[(Role, Vec<Entry>)]) -> Vec<(Role, Chosen)> {
    let mut all = Vec::new();
    for (role, log) in logs {
        let chosen = ThreadFold::of(log).chosen;
        let chosen = chosen.all().iter().cloned();
        all.extend(chosen.map(|choice| (*role, choice)));
    }
    all.sort_by_key(|(_, choice)| choice.at_ms);
    all
}

/// The names of those who spoke in the thread, by their ids.
fn names(logs: &[(Role, Vec<Entry>)]) -> HashMap<&str, &str> {
    let entries = logs.iter().flat_map(|(_, log)| log);
    let spoken = entries.filter_map(|entry| match &entry.record {
        Record::User {
            speaker: Speaker::Person { user, name },
            ..
        } => Some((user.as_str(), person_name(name))),
        _ => None,
    });
    spoken.collect()
}

/// Who decided, by name where they have spoken too.
fn evidence(choice: &Chosen, names: &HashMap<&str, &str>) -> String {
    let by = choice.evidence.split_once(" on card ");
    match by.and_then(|(person, card)| Some((names.get(person)?, card))) {
        Some((name, card)) => format!("{name} on card {card}"),
        None => choice.evidence.clone(),
    }
}

fn in_words(role: Role, choice: &Chosen, names: &HashMap<&str, &str>) -> String {
    let time = jiff::Timestamp::from_millisecond(choice.at_ms);
    let time = time.map(|time| time.strftime("%Y-%m-%d %H:%M").to_string());
    let others = match choice.alternatives.as_slice() {
        [] => String::new(),
        some => format!(" (of {})", some.join(", ")),
    };
    format!(
        "{}  {role}  {}: {}{others}; {}",
        time.unwrap_or_default(),
        choice.about,
        choice.choice,
        evidence(choice, names)
    )
}
