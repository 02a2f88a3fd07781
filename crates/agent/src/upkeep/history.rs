//! What earlier threads say about the next one: their plans and their bills.
//! From the logs on this machine; what cannot be read counts as not there.

use std::path::Path;

use butler_journal::{ThreadDir, read};
use butler_protocol::{
    Choice, Complexity, DecisionKind, Plan, Record, Role, ThreadId, TokenUsage, Usd,
};
use serde::{Deserialize, Serialize};

use crate::{tell::bill::Bill, thread::facts::Facts};

/// The plan of a thread that a person approved, if there is one.
pub fn plan_of(threads: &Path, thread: &ThreadId) -> Option<Plan> {
    let log = read(&ThreadDir::new(threads, thread).conversation(Role::Pm)).ok()?;
    let facts = Facts::of(&log.entries);
    let mut approved = facts
        .asked
        .values()
        .filter(|asked| asked.kind == DecisionKind::Plan && asked.used == Some(Choice::Approve));
    Plan::deserialize(&approved.next()?.subject["plan"]).ok()
}

/// The plan that was last proposed in a thread and not rejected.
pub fn newest_plan(threads: &Path, thread: &ThreadId) -> Option<Plan> {
    let log = read(&ThreadDir::new(threads, thread).conversation(Role::Pm)).ok()?;
    let facts = Facts::of(&log.entries);
    let status = |entry: &&butler_protocol::Entry| match &entry.record {
        Record::DecisionAsked { request, kind, .. } => {
            *kind == DecisionKind::Plan
                && facts
                    .asked
                    .get(request)
                    .is_some_and(|asked| !matches!(asked.used, Some(Choice::Reject)))
        }
        _ => false,
    };
    let newest = log.entries.iter().rev().find(status)?;
    match &newest.record {
        Record::DecisionAsked { subject, .. } => Plan::deserialize(&subject["plan"]).ok(),
        _ => None,
    }
}

/// What similar threads cost, and how many there were.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The cheapest.
    pub low: Usd,
    /// The dearest.
    pub high: Usd,
    /// How many threads that rests on; none means a rule of thumb.
    pub threads: usize,
}

/// From finished threads of the same complexity; without one, from the price of
/// the model that would build it.
pub fn estimate(
    threads: &Path,
    except: &ThreadId,
    complexity: Complexity,
    thumb: impl Fn(&TokenUsage) -> Usd,
) -> Estimate {
    let mut costs = Vec::new();
    for thread in ThreadDir::list(threads).unwrap_or_default() {
        if thread == *except || !is_merged(threads, &thread) {
            continue;
        }
        if plan_of(threads, &thread).is_some_and(|plan| plan.complexity == complexity) {
            costs.push(Bill::of_thread(threads, &thread).total());
        }
    }
    match (costs.iter().min(), costs.iter().max()) {
        (Some(low), Some(high)) => Estimate {
            low: *low,
            high: *high,
            threads: costs.len(),
        },
        _ => rule_of_thumb(complexity, thumb),
    }
}

/// Tokens that a thread of this size tends to need, at the given price.
fn rule_of_thumb(complexity: Complexity, price: impl Fn(&TokenUsage) -> Usd) -> Estimate {
    let size = match complexity {
        Complexity::Simple => 1,
        Complexity::Medium => 4,
        Complexity::Complex => 12,
    };
    let tokens = |input: u64, output: u64| TokenUsage {
        input: input * size,
        output: output * size,
        ..TokenUsage::default()
    };
    Estimate {
        low: price(&tokens(30_000, 2_000)),
        high: price(&tokens(150_000, 10_000)),
        threads: 0,
    }
}

fn is_merged(threads: &Path, thread: &ThreadId) -> bool {
    let path = ThreadDir::new(threads, thread).conversation(Role::Lead);
    let Ok(log) = read(&path) else { return false };
    let facts = Facts::of(&log.entries);
    facts
        .asked
        .values()
        .any(|asked| asked.kind == DecisionKind::Merge && asked.used == Some(Choice::Merge))
}

#[cfg(test)]
mod tests {
    use butler_journal::Journal;
    use butler_protocol::{Epoch, RequestId, ReserveId, Sha256Hex, UserId};
    use serde_json::json;

    use super::*;

    fn plan(complexity: &str) -> serde_json::Value {
        json!({"title": "t", "summary": "s", "steps": [], "criteria": [], "complexity": complexity})
    }

    fn past(threads: &Path, thread: &str, cents: i64) -> ThreadId {
        let thread: ThreadId = thread.parse().unwrap();
        let dir = ThreadDir::new(threads, &thread);
        let decided = |kind, choice, subject| {
            let request = RequestId::new("abcdef");
            [
                Record::DecisionAsked {
                    request: request.clone(),
                    kind,
                    sha256: Sha256Hex::of("x"),
                    subject,
                },
                Record::DecisionUsed {
                    request,
                    choice,
                    person: UserId::new("U1"),
                },
            ]
        };
        let (mut pm, _) = Journal::open(&dir.conversation(Role::Pm), Epoch(1)).unwrap();
        let asked = decided(
            DecisionKind::Plan,
            Choice::Approve,
            json!({"plan": plan("simple")}),
        );
        pm.append_all(asked.to_vec(), 1).unwrap();
        let settled = Record::Settled {
            reserve: ReserveId::new("r"),
            cost: Usd::from_cents(cents),
            usage: TokenUsage::default(),
            model: "m".into(),
        };
        pm.append(settled, 2).unwrap();
        let (mut lead, _) = Journal::open(&dir.conversation(Role::Lead), Epoch(1)).unwrap();
        let merged = decided(DecisionKind::Merge, Choice::Merge, json!({}));
        lead.append_all(merged.to_vec(), 3).unwrap();
        thread
    }

    #[test]
    fn an_estimate_is_based_on_merged_threads_of_the_same_complexity() {
        let folder = tempfile::tempdir().unwrap();
        let thumb = |usage: &TokenUsage| Usd::from_nanos(i64::try_from(usage.input).unwrap());
        let now: ThreadId = "C1/1700000009.000000".parse().unwrap();
        let first = estimate(folder.path(), &now, Complexity::Simple, thumb);
        assert_eq!(first.threads, 0);
        assert!(first.low < first.high && first.low > Usd::ZERO);
        past(folder.path(), "C1/1700000001.000000", 10);
        past(folder.path(), "C1/1700000002.000000", 30);
        let second = estimate(folder.path(), &now, Complexity::Simple, thumb);
        assert_eq!(
            second,
            Estimate {
                low: Usd::from_cents(10),
                high: Usd::from_cents(30),
                threads: 2
            }
        );
        assert_eq!(
            estimate(folder.path(), &now, Complexity::Complex, thumb).threads,
            0
        );
    }
}
