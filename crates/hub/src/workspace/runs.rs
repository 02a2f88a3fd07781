//! Runs over the roadmap. A person's Start is kept with everything that it allows;
//! an item's thread begins only inside it, spends only from it, and what a person
//! said yes to at the start is decided in their name, as long as nobody speaks there.

mod view;

use butler_policy::Duty;
use butler_protocol::{
    ChannelId, Choice, Decision, DecisionKind, DecisionView, DevelopItem, DevelopSubject, ItemTag,
    MergeMode, MessageTs, PostTag, PullStatus, RequestId, RunState, Subject, ThreadId, Usd, UserId,
    fault,
};
use serde::Serialize;

pub(crate) use view::{all, newest};

use super::{
    decide::{self, Click, Rules, body_of},
    outbox::AgentPost,
};
use crate::{
    budget,
    error::{Refusal, Result, Trouble, When, refuse},
    identity::{Agent, Person, person_by_id},
    store::{Db, Tx, from_row, params},
    views::pulls,
};

/// A run as it is kept.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) repo: String,
    pub(crate) request: RequestId,
    pub(crate) thread: ThreadId,
    pub(crate) person: UserId,
    pub(crate) mode: MergeMode,
    pub(crate) state: RunState,
    pub(crate) subject: DevelopSubject,
}

from_row! { Run: repo, request, thread, person, mode, state, subject }
const COLUMNS: &str = "repo, request, channel, root, person, mode, state, subject";

/// The word of a plain value, as the store keeps it.
pub(crate) fn word(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// A person pressed Start: keeps what they started, with the card that showed it.
pub(crate) fn started(tx: &Tx<'_>, repo: &str, decision: &Decision) -> Result<()> {
    let Some(mode) = MergeMode::chosen(decision.choice) else {
        return Ok(());
    };
    let body = body_of(tx.db(), repo, &decision.request)?;
    let Some(Subject::Develop(subject)) = body.map(|body| body.subject) else {
        return refuse(Refusal::InvalidCard);
    };
    fault("hub.before-run");
    tx.db().execute(
        "INSERT INTO runs (repo, request, channel, root, person, mode, state, subject, begun_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            repo,
            decision.request,
            decision.thread,
            decision.person,
            word(&mode),
            word(&RunState::Running),
            serde_json::to_string(&subject)?,
            decision.at_ms
        ],
    )?;
    fault("hub.after-run");
    Ok(())
}

/// A run by its card.
pub(crate) fn get(db: &Db, repo: &str, request: &RequestId) -> Result<Run> {
    let sql = format!("SELECT {COLUMNS} FROM runs WHERE repo = ?1 AND request = ?2");
    let run = db.first(&sql, params![repo, request])?;
    run.ok_or(Trouble::Refused(Refusal::NoSuchRun))
}

/// The run and the item that a thread belongs to; the thread in which a run was
/// started belongs to it without an item.
pub(crate) fn of_thread(db: &Db, thread: &ThreadId) -> Result<Option<(Run, Option<DevelopItem>)>> {
    let key = [thread];
    let sql = "SELECT repo, request, number FROM run_items WHERE channel = ?1 AND root = ?2";
    if let Some((repo, request, number)) = db.first::<(String, RequestId, u32)>(sql, key)? {
        let run = get(db, &repo, &request)?;
        let item = run.subject.items.iter();
        let item = item.clone().find(|item| item.number == number).cloned();
        return Ok(Some((run, item)));
    }
    let sql = format!(
        "SELECT {COLUMNS} FROM runs WHERE channel = ?1 AND root = ?2 ORDER BY begun_ms DESC LIMIT 1"
    );
    Ok(db.first(&sql, key)?.map(|run| (run, None)))
}

/// Keeps a place for an item whose thread is about to begin, with the money for it;
/// refuses what was not started, has begun, or does not fit the budget any more.
pub(crate) fn begin_item(
    tx: &Tx<'_>,
    agent: &Agent,
    post: &AgentPost,
    tag: &ItemTag,
) -> Result<()> {
    Refusal::InvalidMetadataFormat
        .when(!Duty::Front.is_of(agent.role) || post.thread_ts.is_some())?;
    let run = get(tx.db(), &agent.repo, &tag.run)?;
    Refusal::RunNotRunning.when(run.state != RunState::Running)?;
    let mut items = run.subject.items.iter();
    let item = items
        .find(|item| item.number == tag.number)
        .ok_or(Refusal::NoSuchRun)?;
    Refusal::RunBudget.when(held(tx.db(), &run)? + item.cap > cap_of(tx.db(), &run)?)?;
    fault("hub.before-item");
    let begun = tx.db().execute(
        "INSERT OR IGNORE INTO run_items (repo, request, number, channel, begun_ms)
         VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            agent.repo,
            tag.run,
            tag.number,
            post.channel,
            tx.db().now_ms()
        ],
    )?;
    fault("hub.after-item");
    match begun {
        0 => refuse(Refusal::ItemAlreadyStarted),
        _ => Ok(()),
    }
}

/// The first post of an item stands: this is its thread.
pub(crate) fn item_stands(tx: &Tx<'_>, agent: &Agent, ts: &MessageTs, tag: &PostTag) -> Result<()> {
    let Some(item) = &tag.item else { return Ok(()) };
    tx.db().run(
        "UPDATE run_items SET root = ?4
         WHERE repo = ?1 AND request = ?2 AND number = ?3 AND root IS NULL",
        params![agent.repo, item.run, item.number, ts],
    )
}

/// Slack refused the first post of an item: its place is free again.
pub(crate) fn item_fell_through(tx: &Tx<'_>, agent: &Agent, tag: &ItemTag) -> Result<()> {
    tx.db().run(
        "DELETE FROM run_items WHERE repo = ?1 AND request = ?2 AND number = ?3 AND root IS NULL",
        params![agent.repo, tag.run, tag.number],
    )
}

/// What a run has spent or holds for what has begun: an item that is not over yet
/// may still take its whole cap.
fn held(db: &Db, run: &Run) -> Result<Usd> {
    let mut total = budget::spent_in_thread(db, &run.thread)?;
    for (number, thread) in places(db, run)? {
        let mut items = run.subject.items.iter();
        let cap = items.find(|item| item.number == number);
        let cap = cap.map_or(Usd::ZERO, |item| item.cap);
        let Some(thread) = thread else {
            total += cap;
            continue;
        };
        let spent = budget::spent_in_thread(db, &thread)?;
        let pull = pulls::of_thread(db, &thread)?;
        let over = pull.is_some_and(|pull| pull.state != PullStatus::Open);
        total += if over { spent } else { spent.max(cap) };
    }
    Ok(total)
}

/// What all threads of a run may cost together, with what people added.
pub(crate) fn cap_of(db: &Db, run: &Run) -> Result<Usd> {
    Ok(run.subject.budget + budget::raised(db, "run", &owner(run))?)
}

/// Whose budget it is.
pub(crate) fn owner(run: &Run) -> String {
    format!("{}/{}", run.repo, run.request)
}

/// Spent or set aside by all threads of a run.
pub(crate) fn spent(db: &Db, run: &Run) -> Result<Usd> {
    let mut total = budget::spent_in_thread(db, &run.thread)?;
    for (_, thread) in places(db, run)? {
        if let Some(thread) = thread {
            total += budget::spent_in_thread(db, &thread)?;
        }
    }
    Ok(total)
}

/// The items that have begun, oldest first, with their threads.
fn places(db: &Db, run: &Run) -> Result<Vec<(u32, Option<ThreadId>)>> {
    let rows = db.rows::<(u32, ChannelId, Option<MessageTs>)>(
        "SELECT number, channel, root FROM run_items WHERE repo = ?1 AND request = ?2
         ORDER BY begun_ms, number",
        params![run.repo, run.request],
    )?;
    let place = |(number, channel, root): (u32, _, Option<MessageTs>)| {
        (number, root.map(|root| ThreadId::new(channel, root)))
    };
    Ok(rows.into_iter().map(place).collect())
}

/// Whether a person has written in a thread.
fn spoken(db: &Db, thread: &ThreadId) -> Result<bool> {
    let sql = "SELECT 1 FROM messages WHERE channel = ?1 AND root = ?2 AND role IS NULL LIMIT 1";
    Ok(db.has(sql, [thread])?)
}

/// A plan that was just posted is decided at once, where it may be. A merge waits
/// for its turn: [`decide_item`].
pub(crate) fn decide_plan(
    tx: &mut Tx<'_>,
    rules: &Rules,
    agent: &Agent,
    request: &RequestId,
) -> Result<()> {
    let Some(view) = decide::view(tx.db(), &agent.repo, request)? else {
        return Ok(());
    };
    let run = of_thread(tx.db(), &view.asked.thread)?;
    let Some((run, Some(_))) = run.filter(|_| view.asked.kind == DecisionKind::Plan) else {
        return Ok(());
    };
    match decide_card(tx, rules, &run, &view) {
        // Whoever started it may not decide that: it waits for somebody who may.
        Err(Trouble::Refused(_)) => Ok(()),
        decided => decided,
    }
}

/// Decides what waits in the thread of an item and was allowed at the start.
pub(crate) fn decide_item(tx: &mut Tx<'_>, rules: &Rules, run: &Run, number: u32) -> Result<()> {
    let places = places(tx.db(), run)?.into_iter();
    let mut own = places.filter(|(item, _)| *item == number);
    let thread = own.next().and_then(|(_, thread)| thread);
    let thread = thread.ok_or(Refusal::NoSuchRun)?;
    match newest_open(&decide::of_thread(tx.db(), &thread)?) {
        Some(view) => decide_card(tx, rules, run, view),
        None => Ok(()),
    }
}

/// The plan or merge that waits: an older card is about what is not so any more.
fn newest_open(cards: &[DecisionView]) -> Option<&DecisionView> {
    let kinds = [DecisionKind::Plan, DecisionKind::Merge];
    let mut newest = cards.iter().rev();
    let newest = newest.find(|card| kinds.contains(&card.asked.kind));
    newest.filter(|card| card.decided.is_none())
}

/// Decides a card in the name of whoever started the run, where that is what they
/// said yes to; all others wait for a person.
fn decide_card(tx: &mut Tx<'_>, rules: &Rules, run: &Run, view: &DecisionView) -> Result<()> {
    let Some(choice) = allowed(tx.db(), run, view)? else {
        return Ok(());
    };
    let person = person_by_id(tx.db(), run.person.as_str())?.unwrap_or_else(|| Person {
        name: run.person.to_string(),
        id: run.person.clone(),
    });
    let click = Click::on(&view.asked, choice);
    decide::decide_in(tx, rules, &person, &click, Some(&run.request)).map(drop)
}

/// What a person said to this card when they started the run; nothing where it is
/// theirs to decide now.
fn allowed(db: &Db, run: &Run, view: &DecisionView) -> Result<Option<Choice>> {
    let asked = &view.asked;
    let choice = match asked.kind {
        DecisionKind::Plan => Choice::Approve,
        DecisionKind::Merge if run.mode == MergeMode::Merging => Choice::Merge,
        _ => return Ok(None),
    };
    if view.decided.is_some() || run.state != RunState::Running || spoken(db, &asked.thread)? {
        return Ok(None);
    }
    let body = body_of(db, &run.repo, &asked.request)?;
    Ok(body.filter(|body| body.unattended).map(|_| choice))
}
