//! Threads by phase. The phase is derived from what happened, never stored: the
//! last hand-over says whose turn it is, a decision about the merge ends it.

use std::collections::HashMap;

use butler_protocol::{ChannelId, MessageTs, PrNumber, Role, ThreadId, ThreadSummary, Usd};
use serde::Serialize;

use crate::store::db::Db;
use crate::store::sql::params;
use crate::{error::Trouble, presence::Job, views::needs};

/// Where a thread stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Phase {
    Pm,
    Coder,
    Review,
    Lead,
    Closed,
}

impl Phase {
    pub(crate) const ALL: [Phase; 5] = [
        Phase::Pm,
        Phase::Coder,
        Phase::Review,
        Phase::Lead,
        Phase::Closed,
    ];

    /// What people read above the column.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Phase::Pm => "Talking",
            Phase::Coder => "Building",
            Phase::Review => "In review",
            Phase::Lead => "Ready to merge",
            Phase::Closed => ThreadSummary::DONE,
        }
    }
}

/// The phase from the role that was handed the work last and whether the merge
/// was decided.
fn phase(handed_to: Option<Role>, ended: bool) -> Phase {
    match handed_to {
        _ if ended => Phase::Closed,
        Some(Role::Coder) => Phase::Coder,
        Some(Role::Reviewer) => Phase::Review,
        Some(Role::Lead) => Phase::Lead,
        _ => Phase::Pm,
    }
}

/// A thread on the board.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ThreadCard {
    pub(crate) thread: ThreadId,
    pub(crate) channel: String,
    pub(crate) title: String,
    pub(crate) author: String,
    pub(crate) phase: Phase,
    pub(crate) replies: i64,
    pub(crate) latest: String,
    /// Cards that wait for a person.
    pub(crate) open_cards: i64,
    pub(crate) spent: Usd,
    pub(crate) working: Vec<(Role, Job)>,
    pub(crate) pull: Option<(u64, String)>,
}

impl ThreadCard {
    /// As agents read it.
    pub(crate) fn summary(self) -> ThreadSummary {
        ThreadSummary {
            phase: self.phase.title().to_owned(),
            working: self.working.into_iter().map(|(role, _)| role).collect(),
            open_cards: self.open_cards.unsigned_abs(),
            pull: self.pull.map(|(number, state)| (PrNumber(number), state)),
            spent: self.spent,
            title: self.title.lines().next().unwrap_or_default().to_owned(),
            thread: self.thread,
        }
    }
}

/// The most threads that a board shows.
const LIMIT: i64 = 200;

/// The newest threads of one channel, or of all.
pub(crate) fn threads(
    db: &Db,
    channel: Option<&ChannelId>,
    now_ms: i64,
) -> Result<Vec<ThreadCard>, Trouble> {
    let mut cards = roots(db, channel)?;
    let mut by_thread: HashMap<(String, String), usize> = HashMap::new();
    for (index, card) in cards.iter().enumerate() {
        let key = (
            card.thread.channel.to_string(),
            card.thread.root.to_string(),
        );
        by_thread.insert(key, index);
    }
    let find = |channel: &str, root: &str| {
        by_thread
            .get(&(channel.to_owned(), root.to_owned()))
            .copied()
    };
    for (channel, root, to, ended) in turns(db)? {
        if let Some(index) = find(&channel, &root) {
            cards[index].phase = phase(to, ended);
        }
    }
    for (channel, root, number, state) in pulls(db)? {
        if let Some(index) = find(&channel, &root) {
            if state != "open" {
                cards[index].phase = Phase::Closed;
            }
            cards[index].pull = Some((number, state));
        }
    }
    for (role, job) in working(db, now_ms)? {
        if let Some(index) = find(job.thread.channel.as_str(), job.thread.root.as_str()) {
            cards[index].working.push((role, job));
        }
    }
    Ok(cards)
}

fn roots(db: &Db, channel: Option<&ChannelId>) -> Result<Vec<ThreadCard>, Trouble> {
    let mut statement = db.prepare_cached(
        "SELECT m.channel, m.ts, c.name, coalesce(json_extract(m.body, '$.text'), ''), m.author,
                (SELECT count(*) FROM messages r WHERE r.channel = m.channel AND r.root = m.ts AND r.ts <> m.ts),
                (SELECT max(ts) FROM messages r WHERE r.channel = m.channel AND r.root = m.ts),
                (SELECT count(*) FROM cards WHERE cards.channel = m.channel AND cards.root = m.ts AND choice IS NULL),
                (SELECT coalesce(sum(coalesce(cost, amount)), 0) FROM reservations s
                  WHERE s.channel = m.channel AND s.root = m.ts)
         FROM messages m JOIN channels c ON c.id = m.channel
         WHERE m.ts = m.root AND (?1 IS NULL OR m.channel = ?1) ORDER BY m.ts DESC LIMIT ?2",
    )?;
    let rows = statement.query_map(params![channel.map(ChannelId::as_str), LIMIT], |row| {
        Ok((
            (row.get::<_, String>(0)?, row.get::<_, String>(1)?),
            (row.get(2)?, row.get::<_, String>(3)?, row.get(4)?),
            (row.get(5)?, row.get(6)?, row.get(7)?, row.get::<_, i64>(8)?),
        ))
    })?;
    let mut found = Vec::new();
    for row in rows {
        let ((channel, root), (name, text, author), (replies, latest, open_cards, spent)) = row?;
        let Ok(root) = root.parse::<MessageTs>() else {
            continue;
        };
        found.push(ThreadCard {
            thread: ThreadId::new(ChannelId::new(channel), root),
            channel: name,
            title: needs::title_of(&text),
            author,
            phase: Phase::Pm,
            replies,
            latest,
            open_cards,
            spent: Usd::from_nanos(spent),
            working: Vec::new(),
            pull: None,
        });
    }
    Ok(found)
}

/// Channel, root, the role that was handed the work last, and whether it ended.
type Turn = (String, String, Option<Role>, bool);

fn turns(db: &Db) -> Result<Vec<Turn>, Trouble> {
    let mut statement = db.prepare_cached(
        "SELECT channel, root, json_extract(body, '$.metadata.event_payload.to'),
                EXISTS (SELECT 1 FROM cards WHERE cards.channel = newest.channel
                  AND cards.root = newest.root AND kind = 'merge' AND choice IN ('merge', 'close'))
         FROM (SELECT channel, root, body,
             row_number() OVER (PARTITION BY channel, root ORDER BY ts DESC) AS place
           FROM messages WHERE role IS NOT NULL
             AND json_extract(body, '$.metadata.event_payload.kind') IN ('task', 'ready_for_review', 'verdict'))
           newest
         WHERE place = 1",
    )?;
    let rows = statement.query_map([], |row| {
        let to: Option<String> = row.get(2)?;
        let role = to.and_then(|words| words.split(',').next()?.parse().ok());
        Ok((row.get(0)?, row.get(1)?, role, row.get(3)?))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn pulls(db: &Db) -> Result<Vec<(String, String, u64, String)>, Trouble> {
    let mut statement =
        db.prepare_cached("SELECT channel, root, number, state FROM pulls ORDER BY number")?;
    let rows = statement.query_map([], |row| {
        Ok((
            row.get(0)?,
            row.get(1)?,
            row.get::<_, i64>(2)?.unsigned_abs(),
            row.get(3)?,
        ))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn working(db: &Db, now_ms: i64) -> Result<Vec<(Role, Job)>, Trouble> {
    let mut statement = db.prepare_cached(
        "SELECT channel, root, role, step, since_ms FROM activity
         WHERE state = 'working' AND ?1 - heard_ms <= lease_ms ORDER BY since_ms",
    )?;
    let rows = statement.query_map([now_ms], |row| {
        Ok((
            format!("{}/{}", row.get::<_, String>(0)?, row.get::<_, String>(1)?),
            row.get::<_, String>(2)?,
            row.get::<_, Option<String>>(3)?,
            row.get::<_, i64>(4)?,
        ))
    })?;
    let mut found = Vec::new();
    for row in rows {
        let (thread, role, step, since_ms) = row?;
        if let (Ok(role), Ok(thread)) = (role.parse(), thread.parse()) {
            found.push((
                role,
                Job {
                    thread,
                    step,
                    since_ms,
                },
            ));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phase_follows_the_work() {
        assert_eq!(phase(None, false), Phase::Pm);
        assert_eq!(phase(Some(Role::Pm), false), Phase::Pm);
        assert_eq!(phase(Some(Role::Coder), false), Phase::Coder);
        assert_eq!(phase(Some(Role::Reviewer), false), Phase::Review);
        assert_eq!(phase(Some(Role::Lead), false), Phase::Lead);
        assert_eq!(phase(Some(Role::Lead), true), Phase::Closed);
    }
}
