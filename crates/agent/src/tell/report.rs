//! The report at the end of a thread: what it cost and where it went, against
//! what the plan said. Pure.

use std::fmt::Write;

use butler_protocol::Plan;

use crate::tell::bill::Bill;

/// What people read.
pub(crate) fn render(bill: &Bill, plan: Option<&Plan>, rounds: u32) -> String {
    let mut text = format!("**What it took**: {}", bill.total());
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
    text.push('\n');
    for line in bill.lines() {
        let _ = write!(text, "\n- {line}");
    }
    let word = if rounds == 1 { "round" } else { "rounds" };
    let _ = write!(text, "\n- {rounds} review {word}");
    if bill.stuck > 0 {
        let _ = write!(text, ", {} times in circles", bill.stuck);
    }
    for switch in &bill.switches {
        let _ = write!(text, "\n- moved {switch}");
    }
    if let Some(tip) = tip(bill, rounds) {
        let _ = write!(text, "\n\n_{tip}_");
    }
    text
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
    use butler_protocol::{Complexity, Entry, Record, ReserveId, Role, TokenUsage, Usd};

    use super::*;
    use crate::tell::thread_logs::RoleLog;

    fn bill(cents: i64) -> Bill {
        let record = Record::Settled {
            reserve: ReserveId::new("r"),
            cost: Usd::from_cents(cents),
            usage: TokenUsage::default(),
            model: "m".into(),
        };
        let entry = Entry {
            seq: 1,
            epoch: 1,
            at_ms: 0,
            record,
        };
        Bill::of(&[RoleLog::new(Role::Coder, vec![entry])])
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
        }
    }

    #[test]
    fn the_estimate_is_compared_with_what_it_cost() {
        for (cents, word) in [(5, "below"), (15, "within"), (25, "above")] {
            let text = render(&bill(cents), Some(&plan()), 1);
            assert!(
                text.contains(&format!("{word} the estimate of $0.10 to $0.20")),
                "{text}"
            );
        }
        assert!(!render(&bill(5), None, 1).contains("estimate"));
        assert!(render(&bill(5), None, 2).contains("2 review rounds"));
    }
}
