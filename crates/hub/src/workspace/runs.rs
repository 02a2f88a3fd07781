//! Runs over the roadmap. A person's Start is kept with everything that it allows;
//! an item's thread begins only inside it, spends only from it, and what a person
//! said yes to at the start is decided in their name, as long as nobody speaks there.

mod view;

use butler_policy::Duty;
use butler_protocol::{
    ActionId, CardBody, Choice, Decision, DecisionKind, DecisionView, DevelopItem, DevelopSubject,
    ItemTag, MergeMode, MessageTs, PostTag, PullStatus, RequestId, RunState, Subject, ThreadId,
    Usd, UserId, fault,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
pub(crate) use view::{all, newest};

use super::{
    decide::{self, Click, Rules},
    outbox::AgentPost,
};
use crate::{
    agent_api, budget,
    error::{Refusal, Trouble, refuse},
    identity::{Agent, Person},
    store::{
        db::Db,
        sql::{self, OptionalExtension, Row, params},
        tx::Tx,
    },
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

const COLUMNS: &str = "repo, request, channel, root, person, mode, state, subject";

/// The word of a plain value, as the store keeps it.
pub(crate) fn word(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

fn read<T: DeserializeOwned>(word: String) -> Result<T, Trouble> {
    Ok(serde_json::from_value(Value::String(word))?)
}

fn read_run(row: &Row<'_>) -> sql::Result<[String; 8]> {
    let text = |at| row.get::<_, String>(at);
    Ok([
        text(0)?,
        text(1)?,
        text(2)?,
        text(3)?,
        text(4)?,
        text(5)?,
        text(6)?,
        text(7)?,
    ])
}

fn run_of(row: [String; 8]) -> Result<Run, Trouble> {
    let [repo, request, channel, root, person, mode, state, subject] = row;
    let thread = format!("{channel}/{root}").parse();
    Ok(Run {
        repo,
        request: RequestId::new(request),
        thread: thread.map_err(|_| Trouble::Refused(Refusal::ThreadNotFound))?,
        person: UserId::new(person),
        mode: read(mode)?,
        state: read(state)?,
        subject: serde_json::from_str(&subject)?,
    })
}

/// A person pressed Start: keeps what they started, with the card that showed it.
pub(crate) fn started(tx: &Tx<'_>, repo: &str, decision: &Decision) -> Result<(), Trouble> {
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
            decision.request.as_str(),
            decision.thread.channel.as_str(),
            decision.thread.root.as_str(),
            decision.person.as_str(),
            word(&mode),
            word(&RunState::Running),
            serde_json::to_string(&subject)?,
            decision.at_ms
        ],
    )?;
    fault("hub.after-run");
    Ok(())
}

fn body_of(db: &Db, repo: &str, request: &RequestId) -> Result<Option<CardBody>, Trouble> {
    let hash: Option<String> = db
        .prepare_cached("SELECT body FROM card_bodies WHERE repo = ?1 AND request = ?2")?
        .query_row(params![repo, request.as_str()], |row| row.get(0))
        .optional()?;
    let Some(hash) = hash else { return Ok(None) };
    let bytes = agent_api::body(db, repo, &hash)?;
    // Cards of earlier releases hold their subject in another form.
    Ok(serde_json::from_slice(&bytes).ok())
}

/// A run by its card.
pub(crate) fn get(db: &Db, repo: &str, request: &RequestId) -> Result<Run, Trouble> {
    let sql = format!("SELECT {COLUMNS} FROM runs WHERE repo = ?1 AND request = ?2");
    let row = db
        .prepare_cached(&sql)?
        .query_row(params![repo, request.as_str()], read_run)
        .optional()?;
    match row {
        Some(row) => run_of(row),
        None => refuse(Refusal::NoSuchRun),
    }
}

/// The run and the item that a thread belongs to; the thread in which a run was
/// started belongs to it without an item.
pub(crate) fn of_thread(
    db: &Db,
    thread: &ThreadId,
) -> Result<Option<(Run, Option<DevelopItem>)>, Trouble> {
    let key = params![thread.channel.as_str(), thread.root.as_str()];
    let item: Option<(String, String, u32)> = db
        .prepare_cached(
            "SELECT repo, request, number FROM run_items WHERE channel = ?1 AND root = ?2",
        )?
        .query_row(key, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    if let Some((repo, request, number)) = item {
        let run = get(db, &repo, &RequestId::new(request))?;
        let item = run.subject.items.iter();
        let item = item.clone().find(|item| item.number == number).cloned();
        return Ok(Some((run, item)));
    }
    let sql = format!(
        "SELECT {COLUMNS} FROM runs WHERE channel = ?1 AND root = ?2 ORDER BY begun_ms DESC LIMIT 1"
    );
    let row = db
        .prepare_cached(&sql)?
        .query_row(key, read_run)
        .optional()?;
    let run = row.map(run_of).transpose()?;
    Ok(run.map(|run| (run, None)))
}

/// Keeps a place for an item whose thread is about to begin, with the money for it;
/// refuses what was not started, has begun, or does not fit the budget any more.
pub(crate) fn begin_item(
    tx: &Tx<'_>,
    agent: &Agent,
    post: &AgentPost,
    tag: &ItemTag,
) -> Result<(), Trouble> {
    if !Duty::Front.is_of(agent.role) || post.thread_ts.is_some() {
        return refuse(Refusal::InvalidMetadataFormat);
    }
    let run = get(tx.db(), &agent.repo, &tag.run)?;
    if run.state != RunState::Running {
        return refuse(Refusal::RunNotRunning);
    }
    let mut items = run.subject.items.iter();
    let Some(item) = items.find(|item| item.number == tag.number) else {
        return refuse(Refusal::NoSuchRun);
    };
    if held(tx.db(), &run)? + item.cap > cap_of(tx.db(), &run)? {
        return refuse(Refusal::RunBudget);
    }
    fault("hub.before-item");
    let begun = tx.db().execute(
        "INSERT OR IGNORE INTO run_items (repo, request, number, channel, begun_ms)
         VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            agent.repo,
            tag.run.as_str(),
            tag.number,
            post.channel.as_str(),
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
pub(crate) fn item_stands(
    tx: &Tx<'_>,
    agent: &Agent,
    ts: &MessageTs,
    tag: &PostTag,
) -> Result<(), Trouble> {
    let Some(item) = &tag.item else { return Ok(()) };
    tx.db().execute(
        "UPDATE run_items SET root = ?4
         WHERE repo = ?1 AND request = ?2 AND number = ?3 AND root IS NULL",
        params![agent.repo, item.run.as_str(), item.number, ts.as_str()],
    )?;
    Ok(())
}

/// Slack refused the first post of an item: its place is free again.
pub(crate) fn item_fell_through(tx: &Tx<'_>, agent: &Agent, tag: &ItemTag) -> Result<(), Trouble> {
    tx.db().execute(
        "DELETE FROM run_items WHERE repo = ?1 AND request = ?2 AND number = ?3 AND root IS NULL",
        params![agent.repo, tag.run.as_str(), tag.number],
    )?;
    Ok(())
}

/// What a run has spent or holds for what has begun: an item that is not over yet
/// may still take its whole cap.
fn held(db: &Db, run: &Run) -> Result<Usd, Trouble> {
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
pub(crate) fn cap_of(db: &Db, run: &Run) -> Result<Usd, Trouble> {
    Ok(run.subject.budget + budget::raised(db, "run", &owner(run))?)
}

/// Whose budget it is.
pub(crate) fn owner(run: &Run) -> String {
    format!("{}/{}", run.repo, run.request)
}

/// Spent or set aside by all threads of a run.
pub(crate) fn spent(db: &Db, run: &Run) -> Result<Usd, Trouble> {
    let mut total = budget::spent_in_thread(db, &run.thread)?;
    for (_, thread) in places(db, run)? {
        if let Some(thread) = thread {
            total += budget::spent_in_thread(db, &thread)?;
        }
    }
    Ok(total)
}

/// The items that have begun, oldest first, with their threads.
fn places(db: &Db, run: &Run) -> Result<Vec<(u32, Option<ThreadId>)>, Trouble> {
    let mut statement = db.prepare_cached(
        "SELECT number, channel, root FROM run_items WHERE repo = ?1 AND request = ?2
         ORDER BY begun_ms, number",
    )?;
    let rows = statement.query_map(params![run.repo, run.request.as_str()], |row| {
        let place: (u32, String, Option<String>) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(place)
    })?;
    let mut found = Vec::new();
    for row in rows {
        let (number, channel, root) = row?;
        let thread = root.and_then(|root| format!("{channel}/{root}").parse().ok());
        found.push((number, thread));
    }
    Ok(found)
}

/// Whether a person has written in a thread.
fn spoken(db: &Db, thread: &ThreadId) -> Result<bool, Trouble> {
    let found = db
        .prepare_cached(
            "SELECT 1 FROM messages WHERE channel = ?1 AND root = ?2 AND role IS NULL LIMIT 1",
        )?
        .exists(params![thread.channel.as_str(), thread.root.as_str()])?;
    Ok(found)
}

/// A plan that was just posted is decided at once, where it may be. A merge waits
/// for its turn: [`decide_item`].
pub(crate) fn decide_plan(
    tx: &mut Tx<'_>,
    rules: &Rules,
    agent: &Agent,
    request: &RequestId,
) -> Result<(), Trouble> {
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
pub(crate) fn decide_item(
    tx: &mut Tx<'_>,
    rules: &Rules,
    run: &Run,
    number: u32,
) -> Result<(), Trouble> {
    let places = places(tx.db(), run)?.into_iter();
    let mut own = places.filter(|(item, _)| *item == number);
    let Some((_, Some(thread))) = own.next() else {
        return refuse(Refusal::NoSuchRun);
    };
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
fn decide_card(
    tx: &mut Tx<'_>,
    rules: &Rules,
    run: &Run,
    view: &DecisionView,
) -> Result<(), Trouble> {
    let Some(choice) = allowed(tx.db(), run, view)? else {
        return Ok(());
    };
    let person = Person {
        name: name_of(tx.db(), &run.person)?,
        id: run.person.clone(),
    };
    let asked = &view.asked;
    let click = Click {
        channel: asked.thread.channel.clone(),
        message: asked.message.clone(),
        action: ActionId {
            request: asked.request.clone(),
            choice,
        },
    };
    decide::decide_in(tx, rules, &person, &click, Some(&run.request)).map(drop)
}

/// What a person said to this card when they started the run; nothing where it is
/// theirs to decide now.
fn allowed(db: &Db, run: &Run, view: &DecisionView) -> Result<Option<Choice>, Trouble> {
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

fn name_of(db: &Db, person: &UserId) -> Result<String, Trouble> {
    let name: Option<String> = db
        .prepare_cached("SELECT name FROM people WHERE id = ?1")?
        .query_row([person.as_str()], |row| row.get(0))
        .optional()?;
    Ok(name.unwrap_or_else(|| person.to_string()))
}
