//! `codebutler threads show`: why a thread went the way it went, from the logs on
//! disk: what the machine chose, and what people decided and answered. No hub is asked.

use std::path::Path;

use butler_agent::{Choice, choices};
use butler_config::FOLDER;
use butler_journal::ThreadDir;
use butler_protocol::{Entry, Record, Role, Speaker, ThreadId, Waiting, person_name};
use serde_json::{Value, json};

use crate::commands::talk::{thread_logs::logs, threads::title, which};
use crate::{commands::set_up_here, error::CliError, exit::Exit, ui::Ui};

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
    let decided = decided(&threads, &thread)?;
    if args.json {
        let all: Vec<Value> = decided
            .iter()
            .map(|(role, choice)| json!({"role": role, "decision": choice}))
            .collect();
        ui.json(json!({"short": thread.short(), "thread": thread.dir_name(), "decisions": all}))?;
        return Ok(Exit::Done);
    }
    ui.line(format_args!("thread {}", thread.short()))?;
    for (role, choice) in &decided {
        ui.line(in_words(*role, choice))?;
    }
    if decided.is_empty() {
        ui.note("nothing was decided in this thread yet");
    }
    Ok(Exit::Done)
}

/// The decisions of all roles and of people, oldest first.
fn decided(threads: &Path, thread: &ThreadId) -> Result<Vec<(Role, Choice)>, CliError> {
    let folder = ThreadDir::new(threads, thread);
    let mut all: Vec<(Role, Choice)> = Role::ALL
        .into_iter()
        .flat_map(|role| {
            let choices = choices(&folder.decisions(role));
            choices.into_iter().map(move |choice| (role, choice))
        })
        .collect();
    for (role, log) in logs(threads, thread)? {
        all.extend(answers(&log).into_iter().map(|choice| (role, choice)));
    }
    all.sort_by_key(|(_, choice)| choice.at_ms);
    Ok(all)
}

/// What people answered when a role had asked them and waited.
fn answers(log: &[Entry]) -> Vec<Choice> {
    let mut found = Vec::new();
    let mut question = String::new();
    let mut waits = false;
    for entry in log {
        match &entry.record {
            Record::Assistant { calls, .. } => {
                let asked = calls.iter().find(|call| call.name == "AskUser");
                if let Some(text) = asked.and_then(|call| call.arguments["question"].as_str()) {
                    question = title(text);
                }
            }
            Record::Parked { waiting } => waits = *waiting == Waiting::Person,
            Record::User {
                speaker: Speaker::Person { name, .. },
                text,
                ..
            } if waits => {
                waits = false;
                let asked = match question.as_str() {
                    "" => String::new(),
                    question => format!(", asked “{question}”"),
                };
                found.push(Choice {
                    at_ms: entry.at_ms,
                    about: "answer".to_owned(),
                    choice: title(text),
                    alternatives: Vec::new(),
                    evidence: format!("{}{asked}", person_name(name)),
                });
            }
            _ => {}
        }
    }
    found
}

fn in_words(role: Role, choice: &Choice) -> String {
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
        choice.evidence
    )
}
