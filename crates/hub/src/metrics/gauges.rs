//! How the hub, its agents and their budgets stand at this moment: a few looks into the
//! store. But for two sums over the whole workspace they cost the same at any age of it.

use butler_protocol::Usd;

use super::exposition::{Kind, Page};
use crate::{
    budget,
    error::Result,
    log::AgentKey,
    store::{Db, from_row, params},
    views::company::Beside,
};

/// Agents and repos of which something is said.
const AGENTS: usize = 6_000;

/// One agent's row.
struct Row {
    key: AgentKey,
    repo: String,
    role: String,
    /// The oldest thing that waits for it.
    oldest_ms: Option<i64>,
}

from_row! { Row: key, repo, role, oldest_ms }

/// Writes all of them down.
pub(super) fn render(db: &Db, agents: &Beside, page: &mut Page) -> Result<()> {
    whole(db, page)?;
    let rows = rows(db)?;
    connected(&rows, agents, page);
    ages(&rows, agents, db.now_ms(), page);
    models(&rows, agents, page);
    money(db, agents, page)
}

fn whole(db: &Db, page: &mut Page) -> Result<()> {
    let counts = [
        (
            "codebutler_messages",
            Kind::Gauge,
            "Messages in the workspace",
            "SELECT count(*) FROM messages",
        ),
        (
            "codebutler_events_total",
            Kind::Counter,
            "Events written to the log",
            "SELECT coalesce(max(seq), 0) FROM events",
        ),
        (
            "codebutler_deliveries_waiting",
            Kind::Gauge,
            "Envelopes not yet acknowledged",
            "SELECT count(*) FROM deliveries",
        ),
        (
            "codebutler_decisions_open",
            Kind::Gauge,
            "Cards that wait for a person",
            "SELECT count(*) FROM cards WHERE choice IS NULL",
        ),
        (
            "codebutler_cost_nanodollars_total",
            Kind::Counter,
            "Settled cost of model calls",
            "SELECT coalesce(sum(cost), 0) FROM reservations",
        ),
    ];
    for (name, kind, help, sql) in counts {
        let value: i64 = db.one(sql, [])?;
        page.single(name, kind, help, value as f64);
    }
    Ok(())
}

/// The agents that have ever been there: a role that nobody runs is not missed.
fn rows(db: &Db) -> Result<Vec<Row>> {
    Ok(db.rows(
        "SELECT agents.id, repo, role, (SELECT at_ms FROM events WHERE seq =
           (SELECT min(seq) FROM deliveries WHERE agent = agents.id))
         FROM agents WHERE seen_ms IS NOT NULL ORDER BY repo, agents.id LIMIT ?1",
        [AGENTS],
    )?)
}

fn connected(rows: &[Row], agents: &Beside, page: &mut Page) {
    let name = "codebutler_agent_connected";
    page.family(
        name,
        Kind::Gauge,
        "Whether an agent is connected to the hub",
    );
    for row in rows {
        let labels = [("repo", row.repo.as_str()), ("role", &row.role)];
        let online = agents.online.contains(&row.key);
        page.sample(name, &labels, f64::from(u8::from(online)));
    }
    let name = "codebutler_agent_turned_away";
    let help = "Whether an agent is not let in because it or the hub is too old";
    page.family(name, Kind::Gauge, help);
    for row in rows {
        let known = agents.known.get(&row.key);
        if known.is_some_and(|known| known.turned_away.is_some()) {
            page.sample(name, &[("repo", &row.repo), ("role", &row.role)], 1.0);
        }
    }
}

fn ages(rows: &[Row], agents: &Beside, now_ms: i64, page: &mut Page) {
    let name = "codebutler_queue_age_seconds";
    let help = "How long the oldest unacknowledged envelope of an agent has been waiting";
    page.family(name, Kind::Gauge, help);
    for row in rows {
        let Some(oldest_ms) = row.oldest_ms else {
            continue;
        };
        let connected = match agents.online.contains(&row.key) {
            true => "yes",
            false => "no",
        };
        let labels = [
            ("repo", row.repo.as_str()),
            ("role", &row.role),
            ("connected", connected),
        ];
        let age = now_ms.saturating_sub(oldest_ms).max(0) as f64 / 1000.0;
        page.sample(name, &labels, age);
    }
}

fn models(rows: &[Row], agents: &Beside, page: &mut Page) {
    let name = "codebutler_agent_models_usable";
    let help = "Models of an agent that are not left alone for failing again and again";
    page.family(name, Kind::Gauge, help);
    for row in rows.iter().filter(|row| agents.online.contains(&row.key)) {
        let Some(known) = agents.known.get(&row.key) else {
            continue;
        };
        let (models, resting) = (&known.facts.models, &known.facts.resting);
        if !models.is_empty() && !known.is_old {
            let usable = models.iter().filter(|one| !resting.contains(one)).count();
            let labels = [("repo", row.repo.as_str()), ("role", &row.role)];
            page.sample(name, &labels, usable as f64);
        }
    }
}

fn money(db: &Db, agents: &Beside, page: &mut Page) -> Result<()> {
    let spent: Vec<(String, Usd)> = db.rows(
        "SELECT repo, coalesce(sum(coalesce(cost, amount)), 0) FROM reservations
         WHERE day = ?1 GROUP BY repo ORDER BY repo LIMIT ?2",
        params![budget::day_of(db.now_ms()), AGENTS],
    )?;
    let name = "codebutler_day_spent_dollars";
    let help = "What a repo has spent or set aside today";
    page.family(name, Kind::Gauge, help);
    for (repo, spent) in &spent {
        page.sample(name, &[("repo", repo)], spent.dollars());
    }
    let name = "codebutler_day_cap_dollars";
    page.family(name, Kind::Gauge, "What a repo may spend on one day");
    for (repo, _) in &spent {
        let caps = budget::caps_of(db, repo, &agents.usual)?;
        page.sample(name, &[("repo", repo)], caps.day.dollars());
    }
    Ok(())
}
