//! `codebutler cost`: what the threads of this repo cost, and with `--waste` what
//! the calls to models went to. Read from the logs on disk; no hub is asked.

use std::{collections::BTreeMap, path::Path};

use butler_config::FOLDER;
use butler_journal::ThreadDir;
use butler_protocol::{ThreadId, Usd, count_of};
use butler_turn::{Spent, SpentOn, ThreadFold};
use serde_json::{Value, json};

use crate::{
    CliError, Exit, Ui,
    commands::{
        set_up_here,
        talk::{thread_logs::logs, which},
    },
};

/// Show what the threads of this repo cost
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this thread: `last`, its number or id in `codebutler threads`, or a link
    thread: Option<String>,
    /// What the calls went to: work, coordination, refused forms, failed tools, repeated requests
    #[arg(long)]
    waste: bool,
    /// As JSON, for scripts
    #[arg(long)]
    json: bool,
}

/// What one thread took.
#[derive(Default)]
struct Cost {
    calls: u64,
    tokens: u64,
    spent: Usd,
    went_to: BTreeMap<SpentOn, Spent>,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let folder = set_up_here()?.join(FOLDER).join("threads");
    let chosen = match &args.thread {
        Some(name) => vec![which::readable(&folder, name)?],
        None => ThreadDir::list(&folder).map_err(CliError::internal)?,
    };
    let mut rows = Vec::new();
    for thread in chosen {
        rows.push((thread.clone(), of_thread(&folder, &thread)?));
    }
    if args.json {
        return ui.done_json(Value::Array(rows.iter().map(as_json).collect()));
    }
    for (thread, cost) in &rows {
        ui.line(format_args!("{}  {}", thread.short(), in_words(cost)))?;
        if args.waste {
            for line in went_to(cost) {
                ui.line(format_args!("  {line}"))?;
            }
        }
    }
    if rows.len() > 1 {
        let mut total = Cost::default();
        for (_, cost) in &rows {
            total.calls += cost.calls;
            total.tokens += cost.tokens;
            total.spent += cost.spent;
        }
        ui.line(format_args!("total   {}", in_words(&total)))?;
    }
    if rows.is_empty() {
        ui.note("no threads yet");
    }
    Ok(Exit::Done)
}

/// Adds up the logs of all roles; each question to the Researcher has its own.
fn of_thread(folder: &Path, thread: &ThreadId) -> Result<Cost, CliError> {
    let mut cost = Cost::default();
    for (_, log) in logs(folder, thread)? {
        let bill = ThreadFold::of(&log).bill;
        for share in bill.shares.values() {
            cost.calls += share.calls;
            cost.tokens += share.usage.input + share.usage.output;
            cost.spent += share.cost;
        }
        for (purpose, spent) in bill.waste.spent() {
            cost.went_to.entry(*purpose).or_default().add(*spent);
        }
    }
    Ok(cost)
}

fn in_words(cost: &Cost) -> String {
    let spent = match cost.calls {
        0 => cost.spent.to_string(),
        _ => cost.spent.or_unknown(),
    };
    format!(
        "{spent} in {} ({})",
        count_of(cost.calls, "call"),
        count_of(cost.tokens, "token")
    )
}

fn went_to(cost: &Cost) -> impl Iterator<Item = String> {
    let all: u64 = cost.went_to.values().map(|spent| spent.tokens).sum();
    SpentOn::ALL.into_iter().filter_map(move |purpose| {
        let spent = cost.went_to.get(&purpose)?;
        let percent = (spent.tokens * 100).checked_div(all).unwrap_or(0);
        let label = purpose.label();
        Some(format!(
            "{label:<18} {:>4} {} {:>9} tokens {percent:>3} %",
            spent.calls,
            if spent.calls == 1 { "call " } else { "calls" },
            spent.tokens
        ))
    })
}

fn as_json((thread, cost): &(ThreadId, Cost)) -> Value {
    let went_to = cost.went_to.iter();
    let went_to: BTreeMap<&str, Value> = went_to
        .map(|(purpose, spent)| {
            let figures = json!({"calls": spent.calls, "tokens": spent.tokens});
            (purpose.label(), figures)
        })
        .collect();
    json!({"short": thread.short(), "thread": thread.dir_name(), "cost": cost.spent, "calls": cost.calls,
        "tokens": cost.tokens, "wentTo": went_to})
}
