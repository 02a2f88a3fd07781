//! `codebutler threads show`: why a thread went the way it went, from the
//! decision logs on disk. No hub is asked.

use std::path::Path;

use butler_agent::{Choice, choices};
use butler_config::FOLDER;
use butler_journal::ThreadDir;
use butler_protocol::{Role, ThreadId};
use serde_json::{Value, json};

use crate::{commands::set_up_here, error::CliError, exit::Exit, ui::Ui};

/// Show what was decided in a thread, by whom, and why
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The thread: its short id, as `codebutler threads` lists it, or its folder's name
    thread: String,
    /// As JSON, for scripts
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let threads = set_up_here()?.join(FOLDER).join("threads");
    let thread = find(&threads, &args.thread)?;
    let decided = decided(&threads, &thread);
    if args.json {
        let all: Vec<Value> = decided
            .iter()
            .map(|(role, choice)| json!({"role": role, "decision": choice}))
            .collect();
        ui.json(json!({"thread": thread.dir_name(), "decisions": all}))?;
        return Ok(Exit::Done);
    }
    ui.line(format_args!("{}  {}", thread.short(), thread.dir_name()))?;
    for (role, choice) in &decided {
        ui.line(in_words(*role, choice))?;
    }
    if decided.is_empty() {
        ui.note("nothing was decided in this thread yet");
    }
    Ok(Exit::Done)
}

pub(crate) fn find(threads: &Path, name: &str) -> Result<ThreadId, CliError> {
    let all = ThreadDir::list(threads).map_err(CliError::internal)?;
    let named = |thread: &ThreadId| thread.short() == name || thread.dir_name() == name;
    if let Some(packed) = ThreadDir::packed(threads).into_iter().find(named) {
        let archive = ThreadDir::archive(threads, &packed);
        let said = format!(
            "`{name}` was closed long ago and is packed in {}",
            archive.display()
        );
        return Err(
            CliError::user(said).hint("write in the thread and it is back, or unpack the file")
        );
    }
    all.into_iter().find(named).ok_or_else(|| {
        CliError::user(format!("there is no thread `{name}` in this repo"))
            .hint("`codebutler threads` lists them")
    })
}

/// The decisions of all roles, oldest first.
fn decided(threads: &Path, thread: &ThreadId) -> Vec<(Role, Choice)> {
    let folder = ThreadDir::new(threads, thread);
    let mut all: Vec<(Role, Choice)> = Role::ALL
        .into_iter()
        .flat_map(|role| {
            let choices = choices(&folder.decisions(role));
            choices.into_iter().map(move |choice| (role, choice))
        })
        .collect();
    all.sort_by_key(|(_, choice)| choice.at_ms);
    all
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
