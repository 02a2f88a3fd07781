//! Money set aside and settled, durable and idempotent by the caller's id. The
//! rules are those of `policy::Budget`, kept as sums over one table so that a
//! reservation costs the same however long the day was.

pub(crate) mod limits;
pub(crate) mod operators;

use butler_policy::free_at;
use butler_protocol::{
    BudgetRefusal, CallLimit, Reservation, ReserveAnswer, Role, Settlement, ThreadId, Usd, UserId,
    fault,
};
use limits::Limits;
use serde::{Deserialize, Serialize};

use crate::{
    error::{Refusal, Result, Trouble, When, refuse},
    store::{Db, params, sql},
    workspace::{message, runs, stops},
};

/// How much a repo may spend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caps {
    /// In one thread.
    pub thread: Usd,
    /// On one day, in all its threads.
    pub day: Usd,
    /// Model calls of one repo in an hour; none means no such limit.
    pub calls: Option<u32>,
    /// Model calls that one person causes in an hour; none means no such limit.
    pub calls_of_person: Option<u32>,
}

impl Default for Caps {
    /// Five dollars a thread, fifty a day.
    fn default() -> Self {
        Self {
            thread: Usd::from_cents(500),
            day: Usd::from_cents(5_000),
            calls: None,
            calls_of_person: None,
        }
    }
}

/// Writes down what a repo may spend.
pub(crate) fn set_caps(db: &Db, repo: &str, caps: &Caps) -> Result<()> {
    let text = serde_json::to_string(caps).unwrap_or_default();
    db.run(
        "INSERT INTO caps (repo, caps) VALUES (?1, ?2)
         ON CONFLICT (repo) DO UPDATE SET caps = excluded.caps",
        params![repo, text],
    )
}

/// What a repo may spend: as its agents told, else as the hub was told.
pub(crate) fn caps_of(db: &Db, repo: &str, usual: &Caps) -> Result<Caps> {
    let told: Option<String> = db.first("SELECT caps FROM caps WHERE repo = ?1", [repo])?;
    let told = told.and_then(|text| serde_json::from_str(&text).ok());
    Ok(told.unwrap_or_else(|| usual.clone()))
}

/// What the repo of a thread may spend.
pub(crate) fn caps_in(db: &Db, thread: &ThreadId, usual: &Caps) -> Result<Caps> {
    let repo: Option<String> =
        db.first("SELECT repo FROM channels WHERE id = ?1", [&thread.channel])?;
    caps_of(db, &repo.unwrap_or_default(), usual)
}

/// Whose budget, under which cap.
struct Budget {
    name: &'static str,
    owner: String,
    cap: Usd,
    used: Usd,
}

/// Sets money aside, or says which budget is too small. A repeat keeps the first
/// amount; an id whose call is over is refused.
pub(crate) fn reserve(
    db: &Db,
    repo: &str,
    role: Role,
    wanted: &Reservation,
    (usual, limits): (&Caps, &Limits),
    now_ms: i64,
) -> Result<ReserveAnswer> {
    let caps = &caps_of(db, repo, usual)?;
    Refusal::InvalidAmount.when(wanted.amount < Usd::ZERO)?;
    let known: Option<(Option<i64>, i64)> = db.first(
        "SELECT cost, amount FROM reservations WHERE repo = ?1 AND id = ?2",
        params![repo, wanted.id],
    )?;
    match known {
        Some((Some(_), _)) => return refuse(Refusal::AlreadySettled),
        Some((None, first)) => {
            return granted(db, &wanted.thread, Usd::from_nanos(first), caps);
        }
        None => {}
    }
    stops::check(db, &wanted.thread, wanted.heard)?;
    let person = match &wanted.person {
        Some(person) => Some(person.clone()),
        None => starter(db, &wanted.thread)?,
    };
    if let Some(limit) = too_many(db, repo, person.as_ref(), caps, now_ms)? {
        return Ok(ReserveAnswer::Later(limit));
    }
    let day = day_of(now_ms);
    let mut all = budgets(db, repo, &wanted.thread, &day, caps)?;
    all.extend(operators::budgets(db, repo, person.as_ref(), &day, limits)?);
    for budget in all {
        // Wide sums: a saturated total must not look as if it fitted.
        let total = i128::from(budget.used.nanos()) + i128::from(wanted.amount.nanos());
        if total > i128::from(budget.cap.nanos()) {
            return turn_down(db, &wanted.thread, &budget);
        }
    }
    fault("hub.before-reserve");
    db.execute(
        "INSERT INTO reservations (repo, id, channel, root, role, person, day, amount, at_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            repo,
            wanted.id,
            wanted.thread,
            role,
            person.as_ref(),
            day,
            wanted.amount,
            now_ms
        ],
    )?;
    fault("hub.after-reserve");
    granted(db, &wanted.thread, wanted.amount, caps)
}

/// Whoever began a thread, or the run that began it: work that nobody else asked for
/// is theirs.
fn starter(db: &Db, thread: &ThreadId) -> Result<Option<UserId>> {
    if let Some((run, _)) = runs::of_thread(db, thread)? {
        return Ok(Some(run.person));
    }
    let root = message::find(db, &thread.channel, &thread.root)?;
    let user = root.and_then(|root| root.body["user"].as_str().map(UserId::new));
    Ok(user)
}

/// The limit on calls that is reached, if one is.
fn too_many(
    db: &Db,
    repo: &str,
    person: Option<&UserId>,
    caps: &Caps,
    now_ms: i64,
) -> Result<Option<CallLimit>> {
    let all = caps.calls.map(|limit| ("repo", limit, None));
    let own = caps.calls_of_person.zip(person);
    let own = own.map(|(limit, person)| ("person", limit, Some(person.as_str())));
    for (whose, limit, person) in all.into_iter().chain(own) {
        // The n-th newest is the one that has to be old enough.
        let nth: Option<i64> = db.first(
            "SELECT at_ms FROM reservations WHERE repo = ?1 AND (?2 IS NULL OR person = ?2)
                 ORDER BY at_ms DESC LIMIT 1 OFFSET ?3",
            params![repo, person, limit.max(1) - 1],
        )?;
        if let Some(free_at_ms) = free_at(nth, now_ms) {
            return Ok(Some(CallLimit {
                whose: whose.to_owned(),
                limit,
                free_at_ms,
            }));
        }
    }
    Ok(None)
}

fn granted(db: &Db, thread: &ThreadId, amount: Usd, caps: &Caps) -> Result<ReserveAnswer> {
    let budget = thread_budget(db, thread, caps)?;
    Ok(ReserveAnswer::Granted {
        thread_total: budget.used,
        thread_cap: budget.cap,
        amount,
    })
}

/// Refuses, and remembers the budget: it is the one a Raise is about.
fn turn_down(db: &Db, thread: &ThreadId, budget: &Budget) -> Result<ReserveAnswer> {
    db.execute("INSERT INTO refusals (channel, root, budget, owner) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (channel, root) DO UPDATE SET budget = excluded.budget, owner = excluded.owner", params![thread, budget.name, budget.owner])?;
    Ok(ReserveAnswer::Refused(BudgetRefusal {
        budget: budget.name.to_owned(),
        cap: budget.cap,
        used: budget.used,
    }))
}

fn budgets(db: &Db, repo: &str, thread: &ThreadId, day: &str, caps: &Caps) -> Result<Vec<Budget>> {
    let mut found = vec![
        thread_budget(db, thread, caps)?,
        day_budget(db, repo, day, caps)?,
    ];
    if let Some((run, _)) = runs::of_thread(db, thread)? {
        found.push(Budget {
            cap: runs::cap_of(db, &run)?,
            name: "run",
            owner: runs::owner(&run),
            used: runs::spent(db, &run)?,
        });
    }
    Ok(found)
}

fn thread_budget(db: &Db, thread: &ThreadId, caps: &Caps) -> Result<Budget> {
    let owner = thread.to_string();
    Ok(Budget {
        cap: own_cap(db, thread, caps)? + raised(db, "thread", &owner)?,
        name: "thread",
        owner,
        used: spent_in_thread(db, thread)?,
    })
}

/// What a thread may spend before anybody adds to it: the thread of an item has the
/// cap that was shown when its run was started.
fn own_cap(db: &Db, thread: &ThreadId, caps: &Caps) -> Result<Usd> {
    let item = runs::of_thread(db, thread)?.and_then(|(_, item)| item);
    Ok(item.map_or(caps.thread, |item| item.cap))
}

/// What a repo has spent on a day, and how much it may.
pub(crate) fn today(db: &Db, repo: &str, usual: &Caps, day: &str) -> Result<(Usd, Usd)> {
    let caps = caps_of(db, repo, usual)?;
    let budget = day_budget(db, repo, day, &caps)?;
    Ok((budget.used, budget.cap))
}

fn day_budget(db: &Db, repo: &str, day: &str, caps: &Caps) -> Result<Budget> {
    let owner = format!("{repo}/{day}");
    Ok(Budget {
        cap: caps.day + raised(db, "day", &owner)?,
        name: "day",
        owner,
        used: sum(
            db,
            "SELECT sum(coalesce(cost, amount)) FROM reservations WHERE day = ?1 AND repo = ?2",
            &[day, repo],
        )?,
    })
}

/// Settled and set aside in a thread.
pub(crate) fn spent_in_thread(db: &Db, thread: &ThreadId) -> Result<Usd> {
    sum(
        db,
        "SELECT sum(coalesce(cost, amount)) FROM reservations WHERE channel = ?1 AND root = ?2",
        &[thread.channel.as_str(), thread.root.as_str()],
    )
}

/// The cap of a thread with what people added to it.
pub(crate) fn thread_cap(db: &Db, thread: &ThreadId, usual: &Caps) -> Result<Usd> {
    let caps = caps_in(db, thread, usual)?;
    Ok(own_cap(db, thread, &caps)? + raised(db, "thread", &thread.to_string())?)
}

fn sum(db: &Db, sql: &str, keys: &[&str]) -> Result<Usd> {
    let total: Option<i64> = db.one(sql, sql::params_from_iter(keys))?;
    Ok(Usd::from_nanos(total.unwrap_or(0)))
}

pub(crate) fn raised(db: &Db, budget: &str, owner: &str) -> Result<Usd> {
    let extra: Option<i64> = db.first(
        "SELECT extra FROM raises WHERE budget = ?1 AND owner = ?2",
        [budget, owner],
    )?;
    Ok(Usd::from_nanos(extra.unwrap_or(0)))
}

/// A person pressed Raise: the budget that refused this thread last grows by one
/// configured cap.
pub(crate) fn raise(db: &Db, thread: &ThreadId, usual: &Caps, limits: &Limits) -> Result<()> {
    let caps = caps_in(db, thread, usual)?;
    let refused = refused_by(db, thread)?;
    let (budget, owner) = refused.unwrap_or_else(|| ("thread".to_owned(), thread.to_string()));
    let extra = match budget.as_str() {
        "day" => caps.day,
        other => operators::cap_of(other, limits).unwrap_or(caps.thread),
    };
    fault("hub.before-raise");
    db.execute(
        "INSERT INTO raises (budget, owner, extra) VALUES (?1, ?2, ?3)
         ON CONFLICT (budget, owner) DO UPDATE SET extra = raises.extra + excluded.extra",
        params![budget, owner, extra],
    )?;
    fault("hub.after-raise");
    Ok(())
}

/// The budget that refused a thread last, and whose it is.
fn refused_by(db: &Db, thread: &ThreadId) -> Result<Option<(String, String)>> {
    let found = db.first(
        "SELECT budget, owner FROM refusals WHERE channel = ?1 AND root = ?2",
        [thread],
    )?;
    Ok(found)
}

/// A person said what a thread may cost, while they approved its plan: one transaction
/// with that decision.
pub(crate) fn set_thread(db: &Db, thread: &ThreadId, usual: &Caps, cap: Usd) -> Result<()> {
    if cap <= Usd::ZERO {
        return crate::error::refuse(crate::error::Refusal::InvalidAmount);
    }
    let extra = cap.nanos() - caps_in(db, thread, usual)?.thread.nanos();
    db.run(
        "INSERT INTO raises (budget, owner, extra) VALUES ('thread', ?1, ?2)
         ON CONFLICT (budget, owner) DO UPDATE SET extra = excluded.extra",
        params![thread.to_string(), extra],
    )
}

/// The call is over. A repeat changes nothing; a dearer call is recorded whole;
/// what was never set aside belongs to no thread and is refused.
pub(crate) fn settle(db: &Db, repo: &str, settlement: &Settlement) -> Result<ThreadId> {
    fault("hub.before-settle");
    db.execute(
        "UPDATE reservations SET cost = ?3, model = ?4, usage = ?5
         WHERE repo = ?1 AND id = ?2 AND cost IS NULL",
        params![
            repo,
            settlement.id,
            settlement.cost.max(Usd::ZERO),
            settlement.model,
            serde_json::to_string(&settlement.usage)?
        ],
    )?;
    fault("hub.after-settle");
    let thread: Option<ThreadId> = db.first(
        "SELECT channel, root FROM reservations WHERE repo = ?1 AND id = ?2",
        params![repo, settlement.id],
    )?;
    thread.ok_or(Trouble::Refused(Refusal::UnknownReservation))
}

/// The reservations of a role in a thread whose call is not over.
pub(crate) fn unsettled(db: &Db, repo: &str, role: Role, thread: &ThreadId) -> Result<Vec<String>> {
    let key = params![repo, role, thread];

    Ok(db.rows(
        "SELECT id FROM reservations
         WHERE repo = ?1 AND role = ?2 AND channel = ?3 AND root = ?4 AND cost IS NULL",
        key,
    )?)
}

/// The day that money is counted under, in UTC.
pub(crate) fn day_of(now_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(now_ms).map_or_else(
        |_| "1970-01-01".to_owned(),
        |time| time.strftime("%Y-%m-%d").to_string(),
    )
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
