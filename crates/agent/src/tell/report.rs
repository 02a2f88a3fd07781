//! The report at the end of a thread: who took part, what it cost against what the
//! plan said, where that went, and what stays of it. Pure.

use std::{collections::BTreeSet, fmt::Write};

use butler_protocol::{Plan, Role, count_of, person_name};

use crate::tell::{bill::Bill, thread_logs::RoleLog};

/// What people read. `learned` is what was kept with the merge.
pub(crate) fn render(
    logs: &[RoleLog],
    plan: Option<&Plan>,
    rounds: u32,
    learned: &[String],
) -> String {
    let bill = Bill::of(logs);
    let mut text = format!("**What it took**: {}", bill.total().or_unknown());
    if let Some((low, high)) = plan.and_then(|plan| plan.estimate) {
        let total = bill.total();
        let word = if total > high {
            "above"
        } else if total < low {
            "below"
        } else {
            "within"
        };
        let _ = write!(text, ", {word} the estimate of {}", low.to(high));
    }
    if !bill.shares.is_empty() {
        let _ = write!(text, "\n\n{}", bill.table());
    }
    let _ = write!(text, "\n\n- {}", participants(logs));
    for line in bill.summary() {
        let _ = write!(text, "\n- {line}");
    }
    let _ = write!(text, "\n- {}", friction(&bill, rounds));
    for switch in &bill.switches {
        let _ = write!(text, "\n- moved {switch}");
    }
    for line in bill.waste().into_iter().chain(kept(learned)) {
        let _ = write!(text, "\n- {line}");
    }
    if let Some(tip) = tip(&bill, rounds) {
        let _ = write!(text, "\n\n_{tip}_");
    }
    text
}

/// The people who spoke, and the roles that worked.
fn participants(logs: &[RoleLog]) -> String {
    let people: BTreeSet<&str> = logs
        .iter()
        .flat_map(|log| &log.fold.seen.people)
        .map(|name| person_name(name))
        .collect();
    let worked = |role: &Role| {
        let mut own = logs.iter().filter(|log| log.role == *role);
        own.any(|log| !log.fold.bill.shares.is_empty())
    };
    let roles = Role::ALL.into_iter().filter(worked);
    let roles = roles.map(|role| -> &str { role.title() });
    let all: Vec<&str> = people.into_iter().chain(roles).collect();
    format!("took part: {}", all.join(", "))
}

fn friction(bill: &Bill, rounds: u32) -> String {
    let mut text = count_of(rounds, "review round");
    for (count, what) in [
        (bill.stuck, "loop"),
        (bill.escalations, "escalation"),
        (bill.caps, "cap"),
    ] {
        if count > 0 {
            let _ = write!(text, ", {}", count_of(count, what));
        }
    }
    text
}

fn kept(learned: &[String]) -> Option<String> {
    (!learned.is_empty()).then(|| format!("learned: {}", learned.join("; ")))
}

/// One thing that would have made it cheaper, when there is one.
fn tip(bill: &Bill, rounds: u32) -> Option<&'static str> {
    if rounds > 1 {
        Some("A second review round costs more than a sharper criterion in the plan.")
    } else if bill.coordination_percent() > 60 {
        Some("Most of this was talk: for small things, say exactly what you want in one message.")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use butler_protocol::{Complexity, Entry, Usd};
    use serde_json::{Value, json};

    use super::*;

    fn log(role: Role, records: &[Value]) -> RoleLog {
        let line = |(seq, record): (u64, &Value)| -> Entry {
            let line = json!({"seq": seq, "epoch": 1, "at_ms": seq, "record": record});
            serde_json::from_value(line).unwrap()
        };
        RoleLog::new(role, (1..).zip(records).map(line).collect())
    }

    fn settled(cents: i64) -> Value {
        let usage = json!({"input": 100, "cached_input": 0, "cache_write": 0, "output": 10,
            "reasoning": 0});
        json!({"t": "settled", "reserve": "r", "cost": cents * 10_000_000, "usage": usage,
            "model": "m"})
    }

    fn plan() -> Plan {
        Plan {
            title: "t".into(),
            summary: "s".into(),
            steps: vec![],
            criteria: vec![],
            files: vec![],
            rejected: vec![],
            complexity: Complexity::Simple,
            estimate: Some((Usd::from_cents(10), Usd::from_cents(20))),
            cap: None,
            model: None,
            design: None,
        }
    }

    #[test]
    fn the_estimate_is_compared_with_what_it_cost() {
        for (cents, word) in [(5, "below"), (15, "within"), (25, "above")] {
            let logs = [log(Role::Coder, &[settled(cents)])];
            let text = render(&logs, Some(&plan()), 1, &[]);
            assert!(
                text.contains(&format!("{word} the estimate of $0.10 to $0.20")),
                "{text}"
            );
        }
        let logs = [log(Role::Coder, &[settled(5)])];
        assert!(!render(&logs, None, 1, &[]).contains("estimate"));
        assert!(render(&logs, None, 2, &[]).contains("2 review rounds"));
    }

    #[test]
    fn who_took_part_where_it_went_wrong_and_what_stays() {
        let person = json!({"who": "person", "user": "U1", "name": "ana"});
        let agent = json!({"who": "agent", "role": "pm"});
        let usage = json!({"input": 90, "cached_input": 0, "cache_write": 0, "output": 10,
            "reasoning": 0});
        let call = json!({"id": "abcdefghi", "name": "Read", "arguments": {}});
        let cap = json!({"cap": {"budget": "thread", "cap": 0, "used": 0}});
        let logs = [
            log(
                Role::Pm,
                &[
                    json!({"t": "user", "speaker": person, "text": "a flag"}),
                    settled(5),
                ],
            ),
            log(
                Role::Coder,
                &[
                    json!({"t": "user", "speaker": agent, "text": "the plan"}),
                    json!({"t": "assistant", "turn": 1, "calls": [call], "model": "m", "usage": usage}),
                    json!({"t": "tool_result", "call": "abcdefghi", "outcome": {"ok": false, "text": "no"}}),
                    json!({"t": "model", "model": "strong", "reason": "the checks keep failing"}),
                    json!({"t": "decision_asked", "request": "abcdef", "sha256": "a".repeat(64), "subject": cap}),
                    json!({"t": "activation_ended", "activation": 1, "ending": {"how": "stuck"}}),
                    settled(5),
                ],
            ),
            log(Role::Artist, &[]),
        ];
        let text = render(&logs, None, 2, &["Tests first (coder.md)".to_owned()]);
        for part in [
            "\n| Coder | m | 1 | 100 | 10 | $0.0500 |\n",
            "- took part: ana, PM, Coder\n",
            "1 message between roles",
            "- 2 review rounds, 1 loop, 2 escalations, 1 cap\n",
            "- moved coder to strong: the checks keep failing\n",
            "- waste: 1 of 1 call, 100 of 100 tokens (refused forms 1)\n",
            "- learned: Tests first (coder.md)",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
