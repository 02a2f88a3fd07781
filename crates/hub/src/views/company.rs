//! Every repository and person at one glance: who is there, of which release, what waits,
//! what was spent today and what may be. For whoever looks after many of them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use butler_protocol::Usd;
use serde::Serialize;

use crate::{
    budget::{self, Caps},
    error::Trouble,
    log::notice::AgentKey,
    presence::facts::Known,
    store::{db::Db, sql::params},
};

/// Rows of either list.
const MOST: i64 = 2_000;

/// All of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Company {
    pub(crate) repos: Vec<RepoRow>,
    pub(crate) people: Vec<PersonRow>,
    /// The hub's own version.
    pub(crate) version: String,
}

/// One repository.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct RepoRow {
    pub(crate) repo: String,
    /// Agents that are connected, of all that it has.
    pub(crate) connected: usize,
    pub(crate) agents: usize,
    /// The releases that they said they are.
    pub(crate) versions: BTreeSet<String>,
    /// Agents that are not let in.
    pub(crate) turned_away: usize,
    /// Envelopes that nobody has taken yet.
    pub(crate) waiting: i64,
    pub(crate) spent_today: Usd,
    pub(crate) day_cap: Usd,
    pub(crate) calls_today: i64,
}

/// One person who caused model calls today.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct PersonRow {
    pub(crate) name: String,
    pub(crate) spent_today: Usd,
    pub(crate) calls_today: i64,
}

/// What is known beside the store.
pub(crate) struct Beside {
    pub(crate) online: HashSet<AgentKey>,
    pub(crate) known: HashMap<AgentKey, Known>,
    pub(crate) usual: Caps,
    pub(crate) version: String,
}

pub(crate) fn all(db: &Db, beside: &Beside) -> Result<Company, Trouble> {
    let today = budget::day_of(db.now_ms());
    let mut repos: BTreeMap<String, RepoRow> = BTreeMap::new();
    let mut statement = db.prepare_cached(
        "SELECT id, repo, (SELECT count(*) FROM deliveries WHERE agent = agents.id)
         FROM agents ORDER BY repo LIMIT ?1",
    )?;
    let rows = statement.query_map([MOST * 6], |row| {
        Ok((
            row.get::<_, AgentKey>(0)?,
            row.get::<_, String>(1)?,
            row.get::<_, i64>(2)?,
        ))
    })?;
    for row in rows {
        let (key, repo, waiting) = row?;
        let one = repos.entry(repo).or_default();
        one.agents += 1;
        one.connected += usize::from(beside.online.contains(&key));
        one.waiting += waiting;
        if let Some(known) = beside.known.get(&key) {
            // The number of the release is enough here.
            let release = known.facts.version.split_whitespace().next();
            one.versions.extend(release.map(str::to_owned));
            one.turned_away += usize::from(known.turned_away.is_some());
        }
    }
    for (name, one) in &mut repos {
        let (spent, calls): (i64, i64) = db
            .prepare_cached(
                "SELECT coalesce(sum(coalesce(cost, amount)), 0), count(*) FROM reservations
                 WHERE day = ?1 AND repo = ?2",
            )?
            .query_row(params![today, name], |row| Ok((row.get(0)?, row.get(1)?)))?;
        one.repo.clone_from(name);
        one.spent_today = Usd::from_nanos(spent);
        one.calls_today = calls;
        one.day_cap = budget::caps_of(db, name, &beside.usual)?.day;
    }
    Ok(Company {
        repos: repos.into_values().collect(),
        people: people(db, &today)?,
        version: beside.version.clone(),
    })
}

fn people(db: &Db, today: &str) -> Result<Vec<PersonRow>, Trouble> {
    let mut statement = db.prepare_cached(
        "SELECT coalesce(people.name, person), sum(coalesce(cost, amount)), count(*)
         FROM reservations LEFT JOIN people ON people.id = person
         WHERE day = ?1 AND person IS NOT NULL GROUP BY person, people.name ORDER BY 2 DESC, 1 LIMIT ?2",
    )?;
    let rows = statement.query_map(params![today, MOST], |row| {
        Ok(PersonRow {
            name: row.get(0)?,
            spent_today: Usd::from_nanos(row.get(1)?),
            calls_today: row.get(2)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
