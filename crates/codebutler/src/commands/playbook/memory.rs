//! `codebutler memory`: whether each learning of the team earns its place. Read from
//! the files and logs on disk; no hub is asked.

use std::path::Path;

use butler_agent::{Digest, Trials, figures, on_disk};
use butler_config::FOLDER;
use butler_journal::ThreadDir;
use butler_protocol::{LearningFigures, count_of};
use jiff::civil::Date;

use crate::{
    CliError, Exit, Ui,
    commands::{set_up_here, talk::thread_logs::logs},
    process,
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

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let root = set_up_here()?;
    let threads = root.join(FOLDER).join("threads");
    let rows = rows(&root, &threads)?;
    if let Some(What::Trial { id, end }) = &args.what {
        return trial(&rows, &threads, (id, *end), ui);
    }
    if args.json {
        return ui.done_json(serde_json::to_value(&rows).map_err(CliError::internal)?);
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
        let used = count_of(row.with, "thread");
        let helped = match row.helped {
            0 => String::new(),
            many => format!(", named as helpful in {many}"),
        };
        ui.line(format_args!(
            "        {}used in {used}{helped}",
            age(row, today)
        ))?;
        ui.line(format_args!("        {}", row.said))?;
        if let Some(why) = &row.against {
            ui.line(format_args!("        should go: {why}"))?;
        }
    }
    Ok(Exit::Done)
}

/// `3 days old, `, from the day that its source names.
fn age(row: &LearningFigures, today: Date) -> String {
    let day = row.day().and_then(|day| day.parse::<Date>().ok());
    let days = day.and_then(|day| today.since(day).ok());
    days.map_or_else(String::new, |span| {
        format!("{} old, ", count_of(span.get_days(), "day"))
    })
}

fn rows(root: &Path, threads: &Path) -> Result<Vec<LearningFigures>, CliError> {
    let mut all = Vec::new();
    for thread in ThreadDir::list(threads).map_err(CliError::internal)? {
        let digest = Digest::of(&logs(threads, &thread)?);
        all.push((thread, digest));
    }
    let trials = Trials::read(threads);
    let files = on_disk(root);
    process::run_on_one_thread(|_| async { Ok(figures(root, &files, &all, &trials).await) })
}

fn trial(
    rows: &[LearningFigures],
    threads: &Path,
    (id, end): (&str, bool),
    ui: &Ui,
) -> Result<Exit, CliError> {
    let Some(row) = rows.iter().find(|row| row.id == id) else {
        let what = format!("there is no learning {id}");
        return Err(CliError::user(what).hint("`codebutler memory` lists them with their ids"));
    };
    if end {
        Trials::end(threads, id)?;
    } else {
        Trials::begin(threads, id, jiff::Timestamp::now().as_millisecond())?;
    }
    ui.line(match end {
        true => format!("The trial of \"{}\" has ended; all threads have it again.", row.title),
        false => format!(
            "From now on half of the new threads on this machine do without \"{}\". `codebutler memory` shows the difference; `codebutler memory trial {id} --end` ends it.",
            row.title
        ),
    })?;
    Ok(Exit::Done)
}
