//! Every repository and person at one glance: who is there, of which release and where, what
//! waits and for how long, what was spent and what may be, which limits were reached. For
//! whoever looks after many of them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use butler_protocol::{Role, Usd};
use serde::Serialize;

use crate::{
    budget::{
        self, Caps,
        limits::{self, Limits},
    },
    error::Result,
    log::AgentKey,
    presence::facts::Known,
    store::{
        Db, from_row, params,
        retention::{self, Held},
    },
};

/// Rows of either list.
const MOST: i64 = 2_000;

/// All of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Company {
    pub(crate) repos: Vec<RepoRow>,
    pub(crate) people: Vec<PersonRow>,
    /// Limits that were reached since the hub began.
    pub(crate) reached: Vec<LimitRow>,
    /// What the store holds.
    pub(crate) store: Held,
    /// The hub's own version.
    pub(crate) version: String,
}

/// One repository.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct RepoRow {
    pub(crate) repo: String,
    pub(crate) agents: Vec<AgentRow>,
    /// Agents that are connected.
    pub(crate) connected: usize,
    /// The releases that they said they are, and the machines that they run on.
    pub(crate) versions: BTreeSet<String>,
    pub(crate) hosts: BTreeSet<String>,
    /// Agents that are not let in.
    pub(crate) turned_away: usize,
    /// Envelopes that nobody has taken yet, and how long the oldest has been waiting.
    pub(crate) waiting: i64,
    pub(crate) oldest_seconds: Option<i64>,
    pub(crate) open_threads: i64,
    pub(crate) calls_today: i64,
    pub(crate) today: Spent,
    pub(crate) month: Spent,
}

/// One role of a repository.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct AgentRow {
    pub(crate) role: Role,
    pub(crate) connected: bool,
    pub(crate) version: String,
    pub(crate) host: String,
    pub(crate) oldest_seconds: Option<i64>,
}

/// What was spent, of what may be; none means no such budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Spent {
    pub(crate) spent: Usd,
    pub(crate) of: Option<Usd>,
}

/// One person who caused model calls this month.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct PersonRow {
    pub(crate) name: String,
    pub(crate) calls_today: i64,
    pub(crate) today: Spent,
    pub(crate) month: Spent,
}

from_row! { Spent: spent; of: None }
from_row! { PersonRow: name, today, month, calls_today }

/// A limit of a repository that was reached, and how often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct LimitRow {
    pub(crate) repo: String,
    pub(crate) limit: String,
    pub(crate) times: u64,
}

/// What is known beside the store.
pub(crate) struct Beside {
    pub(crate) online: HashSet<AgentKey>,
    pub(crate) known: HashMap<AgentKey, Known>,
    pub(crate) usual: Caps,
    pub(crate) limits: Limits,
    /// Repo, limit, how often it was reached.
    pub(crate) refused: Vec<(String, String, u64)>,
    pub(crate) version: String,
}

pub(crate) fn all(db: &Db, beside: &Beside) -> Result<Company> {
    let today = budget::day_of(db.now_ms());
    let mut repos = teams(db, beside)?;
    for (name, spent) in spent(db, &today)? {
        if let Some(one) = repos.get_mut(&name) {
            (one.today.spent, one.month.spent, one.calls_today) = spent;
        }
    }
    for (name, one) in &mut repos {
        one.repo.clone_from(name);
        one.today.of = Some(budget::today(db, name, &beside.usual, &today)?.1);
        one.month.of = beside.limits.repo_month;
        one.open_threads = limits::open_threads(db, name, None)?;
    }
    let reached = beside.refused.iter().cloned();
    Ok(Company {
        repos: repos.into_values().collect(),
        people: people(db, &today, &beside.limits)?,
        reached: reached
            .map(|(repo, limit, times)| LimitRow { repo, limit, times })
            .collect(),
        store: retention::held(db)?,
        version: beside.version.clone(),
    })
}

fn teams(db: &Db, beside: &Beside) -> Result<BTreeMap<String, RepoRow>> {
    let now_ms = db.now_ms();
    let mut repos: BTreeMap<String, RepoRow> = BTreeMap::new();

    for (key, repo, role, waiting, oldest_ms) in db
        .rows::<(AgentKey, String, String, i64, Option<i64>)>(
            "SELECT id, repo, role, (SELECT count(*) FROM deliveries WHERE agent = agents.id),
           (SELECT at_ms FROM events WHERE seq =
             (SELECT min(seq) FROM deliveries WHERE agent = agents.id))
         FROM agents ORDER BY repo, id LIMIT ?1",
            [MOST * 6],
        )?
    {
        let one = repos.entry(repo).or_default();
        let Ok(role) = role.parse() else { continue };
        let connected = beside.online.contains(&key);
        let known = beside.known.get(&key).cloned().unwrap_or_default();
        // The number of the release is enough here.
        let version = known.facts.version.split_whitespace().next();
        let version = version.unwrap_or_default().to_owned();
        let host = known.facts.host;
        let oldest_seconds = oldest_ms.map(|at_ms| (now_ms - at_ms).max(0) / 1000);
        one.connected += usize::from(connected);
        one.waiting += waiting;
        one.oldest_seconds = one.oldest_seconds.max(oldest_seconds);
        one.turned_away += usize::from(known.turned_away.is_some());
        one.versions.extend(named(&version));
        one.hosts.extend(named(&host));
        one.agents.push(AgentRow {
            role,
            connected,
            version,
            host,
            oldest_seconds,
        });
    }
    Ok(repos)
}

fn named(word: &str) -> Option<String> {
    (!word.is_empty()).then(|| word.to_owned())
}

/// Spent today and this month, and the calls of today.
type Used = (Usd, Usd, i64);

/// The same per repo.
fn spent(db: &Db, today: &str) -> Result<BTreeMap<String, Used>> {
    let rows = db.rows(
        "SELECT repo, CAST(sum(CASE WHEN day = ?1 THEN coalesce(cost, amount) ELSE 0 END) AS BIGINT),
         CAST(sum(coalesce(cost, amount)) AS BIGINT),
         CAST(sum(CASE WHEN day = ?1 THEN 1 ELSE 0 END) AS BIGINT)
         FROM reservations WHERE day >= ?2 GROUP BY repo",
        params![today, month_of(today)],
    )?;
    Ok(rows.into_iter().collect())
}

fn month_of(day: &str) -> &str {
    day.get(..7).unwrap_or(day)
}

fn people(db: &Db, today: &str, limits: &Limits) -> Result<Vec<PersonRow>> {
    let mut people: Vec<PersonRow> = db.rows(
        "SELECT coalesce(people.name, person),
         CAST(sum(CASE WHEN day = ?1 THEN coalesce(cost, amount) ELSE 0 END) AS BIGINT),
         CAST(sum(coalesce(cost, amount)) AS BIGINT),
         CAST(sum(CASE WHEN day = ?1 THEN 1 ELSE 0 END) AS BIGINT)
         FROM reservations LEFT JOIN people ON people.id = person
         WHERE day >= ?2 AND person IS NOT NULL GROUP BY person, people.name
         ORDER BY 3 DESC, 1 LIMIT ?3",
        params![today, month_of(today), MOST],
    )?;
    for one in &mut people {
        (one.today.of, one.month.of) = (limits.person_day, limits.person_month);
    }
    Ok(people)
}
