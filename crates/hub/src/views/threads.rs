//! What roles know of each other: the logs of a thread, and one small summary per
//! plan. No agent reads another's files; this is where it learns what another did.

use butler_protocol::{Plan, PlanSummary, Subject, ThreadId, Usd};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    error::Result,
    store::{Db, Params, cold, params},
};

/// The lines of every role in a thread, in their order. They are passed on as they
/// were kept: a line that we do not understand is for the one who asked.
pub(crate) fn logs(
    db: &Db,
    thread: &ThreadId,
    kinds: &[&str],
) -> Result<Vec<(String, Box<RawValue>)>> {
    if cold::is_cold(db, thread)? {
        return cold_logs(db, thread, kinds);
    }
    let kinds = match kinds {
        [] => String::new(),
        some => format!(",{},", some.join(",")),
    };
    let keys = params![thread, kinds];

    let mut lines = Vec::new();
    for (role, entry) in db.rows::<(String, String)>(
        "SELECT role, entry FROM records WHERE channel = ?1 AND root = ?2
         AND (?3 = '' OR instr(?3, ',' || json_extract(entry, '$.record.t') || ',') > 0)
         ORDER BY role, seq",
        keys,
    )? {
        lines.push((role, RawValue::from_string(entry)?));
    }
    Ok(lines)
}

/// The same of a thread whose lines are packed.
fn cold_logs(db: &Db, thread: &ThreadId, kinds: &[&str]) -> Result<Vec<(String, Box<RawValue>)>> {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(borrow)]
        record: Tag<'a>,
    }
    #[derive(Deserialize)]
    struct Tag<'a> {
        #[serde(borrow)]
        t: std::borrow::Cow<'a, str>,
    }
    let wanted = |line: &str| {
        let kind = serde_json::from_str::<Kind<'_>>(line);
        kinds.is_empty() || kind.is_ok_and(|kind| kinds.contains(&kind.record.t.as_ref()))
    };
    let mut found = Vec::new();
    for (role, _, line) in cold::lines(db, thread)? {
        if wanted(&line) {
            found.push((role, RawValue::from_string(line)?));
        }
    }
    Ok(found)
}

/// More say little about how the team works now, and each of them costs whoever asks.
const MOST_PLANS: i64 = 100;

/// The newest plans of a repo and those of its open pull requests, oldest first: what
/// was decided about each, whether its thread was merged, and what that cost.
pub(crate) fn plans(db: &Db, repo: &str) -> Result<Vec<PlanSummary>> {
    let newest = "SELECT repo, request FROM cards WHERE repo = ?1 AND kind = 'plan'
        ORDER BY asked_ms DESC LIMIT ?2";
    let open = "SELECT c.repo, c.request FROM pulls p
        JOIN cards c ON c.channel = p.channel AND c.root = p.root AND c.kind = 'plan'
        WHERE p.repo = ?1 AND p.state = 'open' ORDER BY c.asked_ms DESC LIMIT ?2";
    let wanted = format!("SELECT * FROM ({newest}) n UNION SELECT * FROM ({open}) o");
    summaries(db, &wanted, params![repo, MOST_PLANS])
}

/// The plans of one thread, oldest first.
pub(crate) fn plans_of(db: &Db, repo: &str, thread: &ThreadId) -> Result<Vec<PlanSummary>> {
    let wanted = "SELECT repo, request FROM cards
        WHERE repo = ?1 AND channel = ?2 AND root = ?3 AND kind = 'plan'";
    let (channel, root) = (thread.channel.as_str(), thread.root.as_str());
    summaries(db, wanted, params![repo, channel, root])
}

/// Cards that a query names by repo and request.
fn summaries(db: &Db, wanted: &str, keys: impl Params) -> Result<Vec<PlanSummary>> {
    let sql = format!(
        "SELECT c.channel, c.root, c.choice, b.bytes, c.edited,
           (SELECT coalesce(sum(coalesce(r.cost, r.amount)), 0) FROM reservations r
            WHERE r.channel = c.channel AND r.root = c.root),
           (SELECT count(*) FROM reservations r WHERE r.channel = c.channel AND r.root = c.root),
           EXISTS (SELECT 1 FROM cards m WHERE m.repo = c.repo AND m.channel = c.channel
             AND m.root = c.root AND m.kind = 'merge' AND m.choice = 'merge')
         FROM ({wanted}) w JOIN cards c ON c.repo = w.repo AND c.request = w.request
           JOIN card_bodies k ON k.repo = c.repo AND k.request = c.request
           JOIN bodies b ON b.repo = c.repo AND b.sha256 = k.body
         ORDER BY c.asked_ms"
    );
    type Kept = (
        ThreadId,
        Option<String>,
        Vec<u8>,
        Option<String>,
        Usd,
        u64,
        bool,
    );
    let mut found = Vec::new();
    for (thread, choice, body, edited, cost, calls, merged) in db.rows::<Kept>(&sql, keys)? {
        let plan = match edited {
            Some(edited) => serde_json::from_str(&edited).ok(),
            None => plan_of(&body),
        };
        let Some(plan) = plan else { continue };
        found.push(PlanSummary {
            thread,
            plan,
            choice: choice.and_then(|word| serde_json::from_value(word.into()).ok()),
            merged,
            cost,
            calls,
        });
    }
    Ok(found)
}

/// The plan on a card. Earlier releases kept the subject as a text of its own.
fn plan_of(body: &[u8]) -> Option<Plan> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Kept {
        Now { subject: Subject },
        Before { subject: String },
    }
    match serde_json::from_slice(body).ok()? {
        Kept::Now {
            subject: Subject::Plan(plan),
        } => Some(*plan),
        Kept::Now { .. } => None,
        Kept::Before { subject } => serde_json::from_str(&subject).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_from_cards_of_this_release_and_of_earlier_ones() {
        let plan = r#"{"title":"t","summary":"s","steps":[],"criteria":[],"complexity":"simple"}"#;
        let now = format!("{{\"subject\":{{\"plan\":{plan}}}}}");
        let before = serde_json::json!({ "subject": plan }).to_string();
        for body in [now, before] {
            assert_eq!(plan_of(body.as_bytes()).unwrap().title, "t", "{body}");
        }
        assert_eq!(plan_of(b"{}"), None);
    }
}
