//! Threads by phase. The phase is derived from what happened, never stored: the
//! last hand-over says whose turn it is, a decision about the merge ends it.

use butler_protocol::{ChannelId, PrNumber, PullStatus, Role, ThreadId, ThreadSummary, Usd};
use serde::Serialize;

use crate::{
    error::Result,
    presence::Job,
    store::{Db, Known, from_row, params},
    views::{needs, pulls},
};

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
    pub(crate) pull: Option<(u64, PullStatus)>,
}

from_row! { ThreadCard: thread, channel, title, author, replies, latest, open_cards, spent;
phase: Phase::Pm, working: Vec::new(), pull: None }

impl ThreadCard {
    /// As agents read it.
    pub(crate) fn summary(self) -> ThreadSummary {
        ThreadSummary {
            phase: self.phase.title().to_owned(),
            working: self.working.into_iter().map(|(role, _)| role).collect(),
            open_cards: self.open_cards.unsigned_abs(),
            pull: self
                .pull
                .map(|(number, state)| (PrNumber(number), state.as_str().to_owned())),
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
) -> Result<Vec<ThreadCard>> {
    let mut cards = roots(db, channel)?;
    // Each by itself, so that what is not shown costs nothing.
    for card in &mut cards {
        let (to, ended) = turn(db, &card.thread)?;
        card.phase = phase(to, ended);
        card.pull = pulls::brief(db, &card.thread)?;
        if card
            .pull
            .is_some_and(|(_, state)| state != PullStatus::Open)
        {
            card.phase = Phase::Closed;
        }
    }
    for (role, job) in working(db, now_ms)? {
        if let Some(card) = cards.iter_mut().find(|one| one.thread == job.thread) {
            card.working.push((role, job));
        }
    }
    Ok(cards)
}

fn roots(db: &Db, channel: Option<&ChannelId>) -> Result<Vec<ThreadCard>> {
    let mut found: Vec<ThreadCard> = db.rows(
        "SELECT m.channel, m.ts, c.name, coalesce(json_extract(m.body, '$.text'), ''), m.author,
           (SELECT count(*) FROM messages r WHERE r.channel = m.channel AND r.root = m.ts AND r.ts <> m.ts),
           (SELECT max(ts) FROM messages r WHERE r.channel = m.channel AND r.root = m.ts),
           (SELECT count(*) FROM cards WHERE cards.channel = m.channel AND cards.root = m.ts AND choice IS NULL),
           (SELECT coalesce(sum(coalesce(cost, amount)), 0) FROM reservations s
            WHERE s.channel = m.channel AND s.root = m.ts)
         FROM messages m JOIN channels c ON c.id = m.channel
         WHERE m.ts = m.root AND (?1 IS NULL OR m.channel = ?1) ORDER BY m.ts DESC LIMIT ?2",
        params![channel, LIMIT],
    )?;
    for card in &mut found {
        card.title = needs::title_of(&card.title);
    }
    Ok(found)
}

/// The role that was handed the work of a thread last, and whether its merge was decided.
fn turn(db: &Db, thread: &ThreadId) -> Result<(Option<Role>, bool)> {
    let (channel, root) = (thread.channel.as_str(), thread.root.as_str());
    let handed: Option<Option<String>> = db.first(
        "SELECT json_extract(body, '$.metadata.event_payload.to') FROM messages
             WHERE channel = ?1 AND root = ?2 AND role IS NOT NULL
               AND json_extract(body, '$.metadata.event_payload.kind')
                 IN ('task', 'ready_for_review', 'verdict')
             ORDER BY ts DESC LIMIT 1",
        params![channel, root],
    )?;
    // What was never handed over is not over either.
    let Some(to) = handed else {
        return Ok((None, false));
    };
    let ended = db.has(
        "SELECT 1 FROM cards WHERE channel = ?1 AND root = ?2
             AND kind = 'merge' AND choice IN ('merge', 'close') LIMIT 1",
        params![channel, root],
    )?;
    let role = to.and_then(|words| words.split(',').next()?.parse().ok());
    Ok((role, ended))
}

fn working(db: &Db, now_ms: i64) -> Result<Vec<(Role, Job)>> {
    let rows = db.rows::<(Known<Role>, Job)>(
        "SELECT role, channel, root, step, since_ms FROM activity
         WHERE state = 'working' AND ?1 - heard_ms <= lease_ms ORDER BY since_ms",
        [now_ms],
    )?;
    let known = |(Known(role), job)| Some((role?, job));
    Ok(rows.into_iter().filter_map(known).collect())
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
