//! What the page and `/v1` show about threads and agents.

use butler_protocol::{DecisionView, MessageTs, PullStatus, Role, ThreadId, Usd};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    budget::{self, Caps},
    error::Result,
    person_api::person_actions::thread_actions,
    presence::activity::{self, Status},
    store::{Db, cold},
    views::pulls,
    workspace::{channels, decide, message, read},
};

/// Everything about one thread.
#[derive(Debug, Serialize)]
pub(crate) struct ThreadView {
    pub(crate) thread: ThreadId,
    pub(crate) messages: Vec<Value>,
    /// Messages between the root and the first of the others that are not here.
    pub(crate) earlier: usize,
    pub(crate) activity: Vec<Status>,
    /// Who owns the next unaddressed message.
    pub(crate) active: Option<Role>,
    pub(crate) cost: Cost,
    /// Cards of the thread with what was decided.
    pub(crate) decisions: Vec<DecisionView>,
    /// The words by which a person can act on the thread itself now.
    pub(crate) can: Vec<&'static str>,
    /// Its pull request: number and state.
    pub(crate) pull: Option<(u64, PullStatus)>,
    pub(crate) records: Vec<Value>,
    /// When this was looked at.
    #[serde(skip)]
    pub(crate) at_ms: i64,
}

/// What a thread cost so far.
#[derive(Debug, Serialize)]
pub(crate) struct Cost {
    /// Settled and set aside.
    pub(crate) used: Usd,
    pub(crate) cap: Usd,
    /// By role and model.
    pub(crate) calls: Vec<Value>,
}

/// Which part of a long thread is wanted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Window {
    /// Only what is older than this.
    pub(crate) before: Option<MessageTs>,
    /// The newest so many, and the root; all of them without it.
    pub(crate) limit: Option<usize>,
}

/// A thread without its records, which are many and which [`records`] reads.
pub(crate) fn thread(
    db: &Db,
    thread: &ThreadId,
    caps: &Caps,
    window: &Window,
) -> Result<ThreadView> {
    channels::get(db, &thread.channel)?;
    let root = message::root_of(db, &thread.channel, &thread.root)?;
    let thread = ThreadId::new(thread.channel.clone(), root);
    let (messages, earlier) = read::newest_replies(db, &thread, window)?;
    let states = activity::states(db, &thread)?;
    let at_ms = db.now_ms();
    let decisions = decide::of_thread(db, &thread)?;
    Ok(ThreadView {
        messages,
        earlier,
        active: activity::active_of(&states, at_ms),
        activity: states,
        cost: Cost {
            used: budget::spent_in_thread(db, &thread)?,
            cap: budget::thread_cap(db, &thread, caps)?,
            calls: calls(db, &thread)?,
        },
        can: thread_actions::possible(db, &thread, &decisions)?,
        decisions,
        pull: pulls::brief(db, &thread)?,
        records: Vec::new(),
        at_ms,
        thread,
    })
}

fn calls(db: &Db, thread: &ThreadId) -> Result<Vec<Value>> {
    let rows = db.rows::<(String, String, i64, i64, i64)>(
        "SELECT role, coalesce(model, ''), count(*), sum(coalesce(cost, 0)),
           sum(CASE WHEN cost IS NULL THEN amount ELSE 0 END)
         FROM reservations WHERE channel = ?1 AND root = ?2 GROUP BY role, model ORDER BY role, coalesce(model, '')",
        [thread],
    )?;
    let rows = rows.into_iter().map(|(role, model, calls, cost, reserved)| {
        json!({"role": role, "model": model, "calls": calls, "cost": cost, "reserved": reserved})
    });
    Ok(rows.collect())
}

/// What the roles did in a thread, in the order of time.
pub(crate) fn records(db: &Db, thread: &ThreadId) -> Result<Vec<Value>> {
    let mut found = Vec::new();
    for (role, _, line) in cold::lines(db, thread)? {
        let entry: Value = serde_json::from_str(&line)?;
        found.push(json!({"role": role, "entry": entry}));
    }
    // Lines of one role at one moment stay in their order.
    found.sort_by_key(|line| line["entry"]["at_ms"].as_i64());
    Ok(found)
}
