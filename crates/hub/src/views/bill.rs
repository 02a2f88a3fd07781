//! What was spent: per day, role, model and thread, from the budgets' own rows.

use std::collections::HashMap;

use butler_protocol::{Entry, Role, ThreadId, Usd};
use butler_turn::{Spent, SpentOn, ThreadFold};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    budget::{self, Caps},
    error::Result,
    store::{Db, from_row, params},
    views::{needs, overview},
};

/// One line of a bill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) calls: i64,
    /// Settled, and set aside for calls that are not over.
    pub(crate) cost: Usd,
}

/// A thread's line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ThreadLine {
    pub(crate) thread: ThreadId,
    pub(crate) title: String,
    pub(crate) calls: i64,
    pub(crate) cost: Usd,
}

from_row! { Line: name, calls, cost }
from_row! { ThreadLine: thread, title, calls, cost }

/// What calls to models went to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct WentTo {
    pub(crate) name: &'static str,
    pub(crate) calls: u64,
    pub(crate) tokens: u64,
}

/// The whole bill, of one thread or of everything.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Bill {
    pub(crate) total: Usd,
    pub(crate) calls: i64,
    pub(crate) today: Usd,
    pub(crate) day_cap: Usd,
    pub(crate) thread_cap: Usd,
    /// The newest days, oldest first.
    pub(crate) days: Vec<Line>,
    pub(crate) roles: Vec<Line>,
    pub(crate) models: Vec<Line>,
    /// The dearest threads; empty for the bill of one.
    pub(crate) threads: Vec<ThreadLine>,
    /// Work, and what was none of it; only for the bill of one thread.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) went_to: Vec<WentTo>,
}

const DAYS: usize = 30;
const THREADS: i64 = 50;

/// Adds everything up.
pub(crate) fn bill(db: &Db, thread: Option<&ThreadId>, caps: &Caps, today: &str) -> Result<Bill> {
    let caps = match thread {
        Some(thread) => &budget::caps_in(db, thread, caps)?,
        None => caps,
    };
    let mut days = lines(db, "day", thread)?;
    days.sort_by(|a, b| a.name.cmp(&b.name));
    let days = days.split_off(days.len().saturating_sub(DAYS));
    let roles = lines(db, "role", thread)?;
    Ok(Bill {
        total: roles.iter().map(|line| line.cost).sum(),
        calls: roles.iter().map(|line| line.calls).sum(),
        today: days
            .iter()
            .find(|line| line.name == today)
            .map_or(Usd::ZERO, |line| line.cost),
        day_cap: caps.day,
        thread_cap: caps.thread,
        days,
        roles,
        models: lines(db, "coalesce(model, 'not settled yet')", thread)?,
        threads: match thread {
            Some(_) => Vec::new(),
            None => threads(db)?,
        },
        went_to: match thread {
            Some(thread) => went_to(&overview::records(db, thread)?),
            None => Vec::new(),
        },
    })
}

/// Adds up what the logs of a thread's roles say.
fn went_to(records: &[Value]) -> Vec<WentTo> {
    let mut logs: HashMap<Role, Vec<Entry>> = HashMap::new();
    for record in records {
        let role = Role::deserialize(&record["role"]);
        let entry = Entry::deserialize(&record["entry"]);
        if let (Ok(role), Ok(entry)) = (role, entry) {
            logs.entry(role).or_default().push(entry);
        }
    }
    let folds: Vec<ThreadFold> = logs.values().map(|log| ThreadFold::of(log)).collect();
    let all = SpentOn::ALL.into_iter().map(|purpose| {
        let mut sum = Spent::default();
        let spent = folds.iter().map(|fold| fold.bill.waste.spent());
        for spent in spent.filter_map(|spent| spent.get(&purpose)) {
            sum.add(*spent);
        }
        WentTo {
            name: purpose.label(),
            calls: sum.calls,
            tokens: sum.tokens,
        }
    });
    all.filter(|line| line.calls > 0).collect()
}

/// Sums by one column, dearest first. The column is ours, never from outside.
fn lines(db: &Db, column: &'static str, thread: Option<&ThreadId>) -> Result<Vec<Line>> {
    let sql = format!(
        "SELECT {column}, count(*), sum(coalesce(cost, amount)) AS spent FROM reservations
         WHERE ?1 IS NULL OR (channel = ?1 AND root = ?2) GROUP BY 1 ORDER BY spent DESC, 1"
    );
    let keys = params![
        thread.map(|thread| thread.channel.as_str()),
        thread.map(|thread| thread.root.as_str())
    ];
    Ok(db.rows(&sql, keys)?)
}

fn threads(db: &Db) -> Result<Vec<ThreadLine>> {
    let mut found: Vec<ThreadLine> = db.rows(
        "SELECT s.channel, s.root, coalesce((SELECT json_extract(m.body, '$.text')
                  FROM messages m WHERE m.channel = s.channel AND m.ts = s.root), ''),
                count(*), sum(coalesce(cost, amount)) AS spent
         FROM reservations s GROUP BY s.channel, s.root ORDER BY spent DESC LIMIT ?1",
        [THREADS],
    )?;
    for line in &mut found {
        line.title = needs::title_of(&line.title);
    }
    Ok(found)
}
