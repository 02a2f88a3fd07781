//! Runs as agents, page and command line see them.

use butler_protocol::{DecisionKind, ItemReport, PrNumber, RunItem, RunView, ThreadId};

use super::{COLUMNS, Run, allowed, cap_of, newest_open, places, spent, spoken};
use crate::{
    budget,
    error::Result,
    store::{Db, params},
    views::pulls,
    workspace::{decide, stops},
};

/// So many of a repo are shown.
const LIMIT: u32 = 20;

/// The runs of a repo, newest first.
pub(crate) fn all(db: &Db, repo: &str) -> Result<Vec<RunView>> {
    some(db, "repo = ?1", repo)
}

/// The newest runs of all repos.
pub(crate) fn newest(db: &Db) -> Result<Vec<RunView>> {
    some(db, "?1 = ''", "")
}

fn some(db: &Db, which: &str, key: &str) -> Result<Vec<RunView>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM runs WHERE {which} ORDER BY begun_ms DESC, request LIMIT {LIMIT}"
    );
    let runs: Vec<Run> = db.rows(&sql, [key])?;
    runs.into_iter().map(|run| view(db, run)).collect()
}

fn view(db: &Db, run: Run) -> Result<RunView> {
    let mut items = Vec::new();
    for (number, thread) in places(db, &run)? {
        if let Some(thread) = thread {
            items.push(item(db, &run, number, thread)?);
        }
    }
    let mut subject = run.subject.clone();
    // With what people added.
    subject.budget = cap_of(db, &run)?;
    Ok(RunView {
        spent: spent(db, &run)?,
        request: run.request,
        thread: run.thread,
        person: run.person,
        mode: run.mode,
        state: run.state,
        subject,
        items,
    })
}

fn item(db: &Db, run: &Run, number: u32, thread: ThreadId) -> Result<RunItem> {
    let pull = pulls::of_thread(db, &thread)?;
    let cards = decide::of_thread(db, &thread)?;
    let open = cards.iter().filter(|card| card.decided.is_none());
    let open: Vec<DecisionKind> = open.map(|card| card.asked.kind).collect();
    let newest = newest_open(&cards);
    let granted = match newest.map(|card| allowed(db, run, card)).transpose()? {
        Some(Some(_)) => newest.map(|card| card.asked.kind),
        _ => None,
    };
    Ok(RunItem {
        number,
        spent: budget::spent_in_thread(db, &thread)?,
        pull: pull.map(|pull| (PrNumber(pull.number), pull.state)),
        open,
        allowed: granted,
        stopped: stops::stopped(db, &thread)?.is_some(),
        spoken: spoken(db, &thread)?,
        report: report(db, run, number)?,
        thread,
    })
}

fn report(db: &Db, run: &Run, number: u32) -> Result<Option<ItemReport>> {
    let sql = "SELECT report FROM run_reports WHERE repo = ?1 AND request = ?2 AND number = ?3";
    Ok(db.first(sql, params![run.repo, run.request, number])?)
}
