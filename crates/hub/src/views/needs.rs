//! What waits for a person: cards that they may decide, questions, threads that were
//! stopped, that failed or whose merge is held. Derived from what happened; nothing
//! has to be ticked off, it goes when the thread goes on.

use butler_policy::{Word, meanings};
use butler_protocol::{
    DecisionKind, DecisionView, Ending, Entry, MessageTs, PullStatus, Record, Role, ThreadId,
    Waiting,
};
use butler_slack::mrkdwn;
use serde::Serialize;

use crate::{
    error::{Result, Trouble},
    identity::Person,
    store::{Db, Known, params},
    views::pulls,
    workspace::{Rules, access, channels, decide},
};

/// One thing that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Need {
    pub(crate) thread: ThreadId,
    pub(crate) channel: String,
    /// What the thread is about.
    pub(crate) title: String,
    pub(crate) kind: Kind,
    /// In one sentence.
    pub(crate) why: String,
    /// Since when, in milliseconds since 1970.
    pub(crate) since_ms: i64,
    /// The card or the question itself.
    pub(crate) message: Option<MessageTs>,
    /// Who asks, or would go on.
    pub(crate) from: Option<Role>,
}

impl Need {
    /// The same need has the same key, and no other one.
    pub(crate) fn key(&self) -> String {
        let kind = self.kind.label().to_lowercase();
        format!("{kind} {} {}", self.thread, self.since_ms)
    }
}

/// What is wanted of the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Plan,
    Command,
    Learning,
    Merge,
    Roadmap,
    Run,
    Budget,
    Question,
    Stopped,
    Failed,
    Held,
}

impl Kind {
    const fn of_card(kind: DecisionKind) -> Self {
        match kind {
            DecisionKind::Plan => Self::Plan,
            DecisionKind::Command => Self::Command,
            DecisionKind::Learning | DecisionKind::Maps | DecisionKind::Picture => Self::Learning,
            DecisionKind::Merge => Self::Merge,
            DecisionKind::Roadmap => Self::Roadmap,
            DecisionKind::Develop => Self::Run,
            DecisionKind::Cap => Self::Budget,
        }
    }

    /// In one word.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Plan => "Plan",
            Self::Command => "Command",
            Self::Learning => "Learning",
            Self::Merge => "Merge",
            Self::Roadmap => "Roadmap",
            Self::Run => "Run",
            Self::Budget => "Budget",
            Self::Question => "Question",
            Self::Stopped => "Stopped",
            Self::Failed => "Failed",
            Self::Held => "Held",
        }
    }

    /// A colour that means something: wrong, at rest, or only asking.
    pub(crate) const fn colour(self) -> &'static str {
        match self {
            Self::Failed | Self::Budget => "bad",
            Self::Stopped | Self::Held => "rests",
            _ => "asks",
        }
    }
}

/// Everything that waits for anybody, what waits longest first.
pub(crate) fn of_all(db: &Db) -> Result<Vec<Need>> {
    waiting(db, |_| Ok(true), |_| Ok(true))
}

/// Everything that waits for a person, what waits longest first.
pub(crate) fn of(db: &Db, rules: &Rules, person: &Person) -> Result<Vec<Need>> {
    let decides = |card: &DecisionView| may_decide(db, rules, card, person);
    let concerns = |need: &Need| Ok(rules.in_slack || concerns(db, &need.thread, person)?);
    waiting(db, decides, concerns)
}

/// The cards and what is none, without what is over and what a person put away, in order.
fn waiting(
    db: &Db,
    decides: impl Fn(&DecisionView) -> Result<bool>,
    concerns: impl Fn(&Need) -> Result<bool>,
) -> Result<Vec<Need>> {
    let mut found = Vec::new();
    for card in decide::waiting(db)? {
        if decides(&card)? {
            found.push(of_card(db, &card)?);
        }
    }
    for need in [questions(db)?, stopped(db)?, failed(db)?, held(db)?].concat() {
        if !is_over(db, &need.thread)? && concerns(&need)? {
            found.push(need);
        }
    }
    let mut kept = Vec::new();
    for need in found {
        if !is_archived(db, &need)? {
            kept.push(need);
        }
    }
    kept.sort_by_key(|need| need.since_ms);
    Ok(kept)
}

fn may_decide(db: &Db, rules: &Rules, card: &DecisionView, person: &Person) -> Result<bool> {
    let repo = channels::get(db, &card.asked.thread.channel)?.repo;
    match access::check(db, rules, &repo, &card.asked, person) {
        Ok(()) => Ok(true),
        // With Slack behind us its people decide there; the page shows what waits.
        Err(Trouble::Refused(_)) => Ok(rules.in_slack),
        Err(trouble) => Err(trouble),
    }
}

fn of_card(db: &Db, card: &DecisionView) -> Result<Need> {
    let asked = &card.asked;
    let why = match asked.kind {
        DecisionKind::Plan => "The plan is waiting for approval",
        DecisionKind::Command => "A command is waiting for approval",
        DecisionKind::Learning => "A learning is waiting to be accepted",
        DecisionKind::Maps => "Project maps are waiting to be accepted",
        DecisionKind::Merge => "The change is ready to merge",
        DecisionKind::Roadmap => "A change of the roadmap is waiting for approval",
        DecisionKind::Develop => "A run over the roadmap is waiting to be started",
        DecisionKind::Picture => "A picture is waiting to be accepted",
        DecisionKind::Cap => "The budget is used up",
    };
    Ok(Need {
        channel: channels::get(db, &asked.thread.channel)?.name,
        title: title(db, &asked.thread)?,
        kind: Kind::of_card(asked.kind),
        why: why.to_owned(),
        since_ms: ms_of(&asked.message),
        message: Some(asked.message.clone()),
        from: Some(asked.from),
        thread: asked.thread.clone(),
    })
}

fn ms_of(ts: &MessageTs) -> i64 {
    i64::try_from(ts.seconds().saturating_mul(1000)).unwrap_or(i64::MAX)
}

/// A need that is no card.
fn need(
    db: &Db,
    (thread, role): (ThreadId, Option<Role>),
    kind: Kind,
    why: String,
    since_ms: i64,
) -> Result<Need> {
    let newest = match role {
        Some(role) if kind == Kind::Question => last_words(db, &thread, role)?,
        _ => None,
    };
    let (message, said) = newest.unzip();
    Ok(Need {
        channel: channels::get(db, &thread.channel)?.name,
        title: title(db, &thread)?,
        kind,
        why: said.filter(|said| !said.is_empty()).unwrap_or(why),
        since_ms,
        message,
        from: role,
        thread,
    })
}

/// Who waits, works or was asked in a thread, and since when.
type At = (ThreadId, Known<Role>, i64);

/// Roles that sleep until a person answers.
fn questions(db: &Db) -> Result<Vec<Need>> {
    let sql = "SELECT channel, root, role, since_ms FROM activity WHERE state = 'parked'";
    let mut found = Vec::new();
    for (thread, Known(role), since_ms) in db.rows::<At>(sql, [])? {
        let waiting = Waiting::Person;
        if last_state(db, &thread, role)? == Some(Record::Parked { waiting }) {
            let why = "Waits for an answer".to_owned();
            found.push(need(db, (thread, role), Kind::Question, why, since_ms)?);
        }
    }
    Ok(found)
}

/// The last record of a role that says what it does.
fn last_state(db: &Db, thread: &ThreadId, role: Option<Role>) -> Result<Option<Record>> {
    let sql = "SELECT entry FROM records WHERE channel = ?1 AND root = ?2 AND role = ?3
        AND json_extract(entry, '$.record.t') IN
          ('activation_started', 'activation_ended', 'assistant', 'parked', 'user')
        ORDER BY seq DESC LIMIT 1";
    let entry: Option<Known<Entry>> = db.first(sql, params![thread, role])?;
    // A record of a later release is none that waits as we know it.
    Ok(entry.and_then(|Known(entry)| Some(entry?.record)))
}

/// Threads that a person stopped and nobody told to go on.
fn stopped(db: &Db) -> Result<Vec<Need>> {
    let sql = "SELECT s.channel, s.root, s.role, coalesce(e.at_ms, 0) FROM stops s
         LEFT JOIN events e ON e.seq = s.seq WHERE s.role IS NOT NULL";
    let mut found = Vec::new();
    for (thread, Known(role), since_ms) in db.rows::<At>(sql, [])? {
        let who = role.map_or("The work", Role::title);
        let why = format!("{who} was stopped and goes on at your word");
        found.push(need(db, (thread, role), Kind::Stopped, why, since_ms)?);
    }
    Ok(found)
}

/// Threads whose last stretch of work did not end well.
fn failed(db: &Db) -> Result<Vec<Need>> {
    let rows: Vec<(At, Known<Entry>)> = db.rows(
        "SELECT channel, root, role, at_ms, entry FROM (SELECT channel, root, role, entry, at_ms,
             row_number() OVER (PARTITION BY channel, root ORDER BY at_ms DESC) AS place
           FROM (SELECT channel, root, role, entry,
               CAST(json_extract(entry, '$.at_ms') AS BIGINT) AS at_ms FROM records
             WHERE json_extract(entry, '$.record.ending.how') IN ('failed', 'stuck', 'turn_limit'))
             ended) newest
         WHERE place = 1 ORDER BY channel, root",
        [],
    )?;
    let mut found = Vec::new();
    for ((thread, Known(role), at_ms), Known(entry)) in rows {
        let Some(Record::ActivationEnded { ending, .. }) = entry.map(|entry| entry.record) else {
            continue;
        };
        if went_on(db, &thread, at_ms)? {
            continue;
        }
        let who = role.map_or("The work", Role::title);
        let why = match ending {
            Ending::Failed { reason } => format!("{who}: {reason}"),
            Ending::Stuck => format!("{who} was going in circles"),
            _ => format!("{who} used all its turns"),
        };
        found.push(need(db, (thread, role), Kind::Failed, why, at_ms)?);
    }
    Ok(found)
}

/// Whether anybody began to work in a thread after a moment.
fn went_on(db: &Db, thread: &ThreadId, at_ms: i64) -> Result<bool> {
    let sql = "SELECT 1 FROM records WHERE channel = ?1 AND root = ?2
        AND CAST(json_extract(entry, '$.at_ms') AS BIGINT) > ?3
        AND json_extract(entry, '$.record.t') = 'activation_started' LIMIT 1";
    let keys = params![thread, at_ms];
    Ok(db.has(sql, keys)?)
}

/// Open pull requests about which the last word was Hold.
fn held(db: &Db) -> Result<Vec<Need>> {
    let sql =
        "SELECT channel, root, from_role, asked_ms FROM (SELECT p.channel, p.root, c.from_role,
             c.asked_ms, c.choice,
             row_number() OVER (PARTITION BY p.channel, p.root ORDER BY c.asked_ms DESC) AS place
           FROM pulls p JOIN cards c
             ON c.channel = p.channel AND c.root = p.root AND c.kind = 'merge'
           WHERE p.state = 'open') newest
         WHERE place = 1 AND choice = 'hold' ORDER BY channel, root";
    let mut found = Vec::new();
    for (thread, Known(role), since_ms) in db.rows::<At>(sql, [])? {
        let why = "The merge is held".to_owned();
        found.push(need(db, (thread, role), Kind::Held, why, since_ms)?);
    }
    Ok(found)
}

/// Whether the last pull request of a thread was merged or closed.
fn is_over(db: &Db, thread: &ThreadId) -> Result<bool> {
    let newest = pulls::brief(db, thread)?;
    Ok(newest.is_some_and(|(_, state)| state != PullStatus::Open))
}

/// Whether a person took part in a thread. One in which nobody did is everybody's.
fn concerns(db: &Db, thread: &ThreadId, person: &Person) -> Result<bool> {
    let keys = [thread];
    let people: Vec<String> = db.rows(
        "SELECT DISTINCT author FROM messages WHERE channel = ?1 AND root = ?2 AND role IS NULL
         UNION SELECT r.person FROM run_items i JOIN runs r USING (repo, request)
         WHERE i.channel = ?1 AND i.root = ?2",
        keys,
    )?;
    Ok(people.is_empty() || people.iter().any(|one| one == person.id.as_str()))
}

/// Whether a person put the thread away since.
fn is_archived(db: &Db, need: &Need) -> Result<bool> {
    let sql = "SELECT ts, coalesce(json_extract(body, '$.text'), '') FROM messages
        WHERE channel = ?1 AND root = ?2 AND role IS NULL ORDER BY ts DESC LIMIT 1";
    let keys = params![need.thread];
    let Some([ts, text]) = db.first::<[String; 2]>(sql, keys)? else {
        return Ok(false);
    };
    let later = |ts: MessageTs| ms_of(&ts) + 999 >= need.since_ms;
    Ok(ts.parse().is_ok_and(later) && meanings(&text).contains(&Word::Archive))
}

/// The newest message of a role in a thread, and its first line.
fn last_words(db: &Db, thread: &ThreadId, role: Role) -> Result<Option<(MessageTs, String)>> {
    let sql = "SELECT ts, coalesce(json_extract(body, '$.text'), '') FROM messages
        WHERE channel = ?1 AND root = ?2 AND role = ?3 ORDER BY ts DESC LIMIT 1";
    let keys = params![thread, role];
    let found: Option<[String; 2]> = db.first(sql, keys)?;
    Ok(found.and_then(|[ts, text]| Some((ts.parse().ok()?, first_line(&text)))))
}

/// What a thread is about: its first line.
pub(crate) fn title(db: &Db, thread: &ThreadId) -> Result<String> {
    let sql = "SELECT coalesce(json_extract(body, '$.text'), '') FROM messages
        WHERE channel = ?1 AND ts = ?2";
    let keys = [thread];
    let text: String = db.first(sql, keys)?.unwrap_or_default();
    Ok(title_of(&text))
}

/// The same for a first message that is known.
pub(crate) fn title_of(text: &str) -> String {
    let line = first_line(text);
    if line.is_empty() {
        "a thread".to_owned()
    } else {
        line
    }
}

/// The first line without who is called and without marks of emphasis, cut where a list
/// would break.
fn first_line(text: &str) -> String {
    let plain = mrkdwn::unescape(text).replace('`', "");
    let words = |line: &str| -> String {
        let words = line.split_whitespace();
        let words = words.filter(|word| !word.starts_with("<@"));
        let words: Vec<&str> = words.map(unmarked).collect();
        words.join(" ").chars().take(140).collect()
    };
    let mut lines = plain.lines().map(words);
    lines.find(|line| !line.is_empty()).unwrap_or_default()
}

/// `*word*` and its like; a mark inside of a word belongs to it.
fn unmarked(word: &str) -> &str {
    let inner = word.trim_matches(['*', '_', '~']);
    if inner.is_empty() { word } else { inner }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_it_is_about_and_not_who_is_called() {
        assert_eq!(first_line("<@U1> <@U2>\n\n1. Really?\nmore"), "1. Really?");
        assert_eq!(first_line("<@U1> add &lt;b&gt;"), "add <b>");
        assert_eq!(
            first_line("add a `--json` flag to *list* in my_file * 2"),
            "add a --json flag to list in my_file * 2"
        );
        assert_eq!(first_line(""), "");
        assert_eq!(first_line(&"ü".repeat(500)).chars().count(), 140);
    }
}
