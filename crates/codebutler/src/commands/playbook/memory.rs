//! `codebutler memory`: whether each learning of the team earns its place. Read from
//! the files and logs on disk; no hub is asked.

use std::path::Path;

use butler_agent::{Trials, story};
use butler_config::FOLDER;
use butler_journal::ThreadDir;
use butler_playbook::{Memory, ThreadStory, Worth, role_file};
use butler_protocol::{Role, count_of};
use jiff::civil::Date;
use serde_json::{Value, json};

use crate::{
    commands::{set_up_here, talk::thread_logs::logs},
    error::CliError,
    exit::Exit,
    ui::Ui,
};

/// Show whether the team's learnings earn their place, and try one
///
/// For each: its id, age, the threads that had it in a prompt, and how these went
/// against the others, with how sure that is. `trial` leaves one out of half of the
/// next threads, so that the difference is its own.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<What>,
    /// As JSON, for scripts
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Leave a learning out of half of the next threads
    Trial {
        /// Its id
        id: String,
        /// End the trial
        #[arg(long)]
        end: bool,
    },
}

/// A learning with what is known of it.
struct Row {
    file: &'static str,
    id: String,
    title: String,
    source: String,
    trial: bool,
    worth: Worth,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let root = set_up_here()?;
    let threads = root.join(FOLDER).join("threads");
    let trials = Trials::read(&threads);
    let rows = rows(&root, &threads, &trials)?;
    if let Some(What::Trial { id, end }) = &args.what {
        return trial(&rows, trials, &threads, (id, *end), ui);
    }
    if args.json {
        ui.json(Value::Array(rows.iter().map(as_json).collect()))?;
        return Ok(Exit::Done);
    }
    if rows.is_empty() {
        ui.note("no learnings yet");
    }
    let today = jiff::Zoned::now().date();
    for row in &rows {
        let trial = if row.trial { ", on trial" } else { "" };
        ui.line(format_args!(
            "{}  {} ({}{trial})",
            row.id, row.title, row.file
        ))?;
        let used = count_of(row.worth.with, "thread");
        let helped = match row.worth.helped {
            0 => String::new(),
            many => format!(", named as helpful in {many}"),
        };
        ui.line(format_args!(
            "        {}used in {used}{helped}",
            age(&row.source, today)
        ))?;
        ui.line(format_args!("        {}", row.worth.in_words()))?;
    }
    Ok(Exit::Done)
}

/// `3 days old, `, from the day that its source names.
fn age(source: &str, today: Date) -> String {
    let words = source.rsplit([',', ' ']);
    let day = words.filter_map(|word| word.parse::<Date>().ok()).next();
    let days = day.and_then(|day| today.since(day).ok());
    days.map_or_else(String::new, |span| {
        format!("{} old, ", count_of(span.get_days(), "day"))
    })
}

fn rows(root: &Path, threads: &Path, trials: &Trials) -> Result<Vec<Row>, CliError> {
    let stories = stories(threads)?;
    let roles = Role::ALL
        .into_iter()
        .map(|role| (role_file(role).name, Some(role)));
    let mut rows = Vec::new();
    for (file, role) in std::iter::once(("global.md", None)).chain(roles) {
        let path = root.join(FOLDER).join(file);
        let Ok(text) = std::fs::read_to_string(path) else {
            continue;
        };
        for entry in Memory::parse(file, text).live() {
            let since = trials.0.get(&entry.id).copied();
            let fair: Vec<ThreadStory> = stories
                .iter()
                .filter(|one| role.is_none_or(|role| one.roles.contains(&role)))
                .filter(|one| since.is_none_or(|since| one.began_ms >= since))
                .cloned()
                .collect();
            rows.push(Row {
                file,
                worth: Worth::of(&entry.id, &fair),
                id: entry.id.clone(),
                title: entry.learning.title.clone(),
                source: entry.learning.source.clone(),
                trial: since.is_some(),
            });
        }
    }
    Ok(rows)
}

fn stories(threads: &Path) -> Result<Vec<ThreadStory>, CliError> {
    let mut stories = Vec::new();
    for thread in ThreadDir::list(threads).map_err(CliError::internal)? {
        stories.extend(story(&logs(threads, &thread)?));
    }
    Ok(stories)
}

fn trial(
    rows: &[Row],
    mut trials: Trials,
    threads: &Path,
    (id, end): (&str, bool),
    ui: &Ui,
) -> Result<Exit, CliError> {
    let Some(row) = rows.iter().find(|row| row.id == id) else {
        let what = format!("there is no learning {id}");
        return Err(CliError::user(what).hint("`codebutler memory` lists them with their ids"));
    };
    if end {
        trials.0.remove(id);
    } else {
        let now = jiff::Timestamp::now().as_millisecond();
        trials.0.entry(id.to_owned()).or_insert(now);
    }
    trials.write(threads)?;
    ui.line(match end {
        true => format!("The trial of \"{}\" has ended; all threads have it again.", row.title),
        false => format!(
            "From now on half of the new threads on this machine do without \"{}\". `codebutler memory` shows the difference; `codebutler memory trial {id} --end` ends it.",
            row.title
        ),
    })?;
    Ok(Exit::Done)
}

fn as_json(row: &Row) -> Value {
    let worth = &row.worth;
    let difference = |of: Option<butler_playbook::Difference>| {
        of.map(|of| json!({"mean": of.mean, "margin": of.margin}))
    };
    json!({"id": row.id, "file": row.file, "title": row.title, "source": row.source,
        "trial": row.trial, "with": worth.with, "without": worth.without, "helped": worth.helped,
        "trouble": difference(worth.trouble), "cost": difference(worth.cost)})
}
