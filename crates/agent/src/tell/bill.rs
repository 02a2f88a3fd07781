//! What a thread cost, from the logs of its roles: by role and model, with the
//! share that went into coordination. Pure.

use std::{collections::BTreeMap, fmt::Write};

use butler_protocol::{Role, Usd, count_of};
use butler_turn::{Friction, Share, Spent, SpentOn};

use crate::tell::thread_logs::RoleLog;

/// The bill of a thread.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Bill {
    /// By role and model.
    pub(crate) shares: BTreeMap<(Role, String), Share>,
    /// Tool calls that ran.
    pub(crate) tools: u64,
    /// Changes of model, with their reasons.
    pub(crate) switches: Vec<String>,
    /// Activations that ended because they went in circles.
    pub(crate) stuck: u64,
    /// Times that work was handed up: to a stronger model, or out of a loop.
    pub(crate) escalations: u64,
    /// Caps that were reached.
    pub(crate) caps: u64,
    /// Messages that roles sent each other.
    pub(crate) exchanges: u64,
    /// What the calls to models went to.
    pub(crate) spent: BTreeMap<SpentOn, Spent>,
}

impl Bill {
    /// From the logs of a thread.
    pub(crate) fn of(logs: &[RoleLog]) -> Self {
        let mut bill = Self::default();
        for RoleLog { role, fold, .. } in logs {
            let one = &fold.bill;
            for (model, share) in &one.shares {
                let key = (*role, model.clone());
                bill.shares.entry(key).or_default().add(share);
            }
            bill.tools += one.tools;
            bill.stuck += one.stuck;
            bill.escalations += one.stuck + one.raised;
            let caps = fold.friction.iter().filter(|one| **one == Friction::Cap);
            bill.caps += caps.count() as u64;
            bill.exchanges += one.exchanges;
            for (purpose, spent) in one.waste.spent() {
                bill.spent.entry(*purpose).or_default().add(*spent);
            }
            let switches = one.switches.iter();
            bill.switches
                .extend(switches.map(|(model, why)| format!("{role} to {model}: {why}")));
        }
        bill
    }

    /// Everything.
    pub(crate) fn total(&self) -> Usd {
        self.shares.values().map(|share| share.cost).sum()
    }

    /// What was spent on anything but building and reviewing, in per cent.
    pub(crate) fn coordination_percent(&self) -> u64 {
        let total = self.total().nanos();
        if total <= 0 {
            return 0;
        }
        let makers = [Role::Coder, Role::Reviewer];
        let others = self
            .shares
            .iter()
            .filter(|((role, _), _)| !makers.contains(role));
        let spent: i64 = others.map(|(_, share)| share.cost.nanos()).sum();
        u64::try_from(i128::from(spent) * 100 / i128::from(total)).unwrap_or(0)
    }

    /// One line for each role and model, and the total.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self
            .shares
            .iter()
            .map(|((role, model), share)| {
                format!(
                    "{} · {model} · {} in {} ({} tokens in, {} out)",
                    role.title(),
                    share.cost.or_unknown(),
                    count_of(share.calls, "call"),
                    share.usage.input,
                    share.usage.output
                )
            })
            .collect();
        lines.extend(self.summary());
        lines
    }

    /// The same shares as a table in Markdown.
    pub(crate) fn table(&self) -> String {
        let mut text =
            "| Who | Model | Calls | Tokens in | out | Cost |\n|---|---|---|---|---|---|"
                .to_owned();
        for ((role, model), share) in &self.shares {
            let _ = write!(
                text,
                "\n| {} | {model} | {} | {} | {} | {} |",
                role.title(),
                share.calls,
                share.usage.input,
                share.usage.output,
                share.cost.or_unknown()
            );
        }
        text
    }

    /// The total, and where it went.
    pub(crate) fn summary(&self) -> Vec<String> {
        let coordination = match self.total() {
            Usd::ZERO => String::new(),
            _ => format!(", of it {} % coordination", self.coordination_percent()),
        };
        let total = format!(
            "total {}{coordination}; {}, {} between roles",
            self.total().or_unknown(),
            count_of(self.tools, "tool call"),
            count_of(self.exchanges, "message")
        );
        let went = self.where_it_went();
        [total].into_iter().chain(went).collect()
    }

    /// The calls that a better prompt, tool or gate would have spared, if there are any.
    pub(crate) fn waste(&self) -> Option<String> {
        let (mut all, mut wasted) = (Spent::default(), Spent::default());
        let mut parts = Vec::new();
        for (purpose, spent) in &self.spent {
            all.add(*spent);
            if !matches!(purpose, SpentOn::Work | SpentOn::Coordination) {
                wasted.add(*spent);
                parts.push(format!("{} {}", purpose.label(), spent.calls));
            }
        }
        (wasted.calls > 0).then(|| {
            format!(
                "waste: {} of {}, {} of {} tokens ({})",
                wasted.calls,
                count_of(all.calls, "call"),
                wasted.tokens,
                all.tokens,
                parts.join(", ")
            )
        })
    }

    /// The calls by what they were good for; nothing when none was counted.
    fn where_it_went(&self) -> Option<String> {
        let all = SpentOn::ALL.into_iter();
        let parts: Vec<String> = all
            .filter_map(|purpose| {
                let spent = self.spent.get(&purpose)?;
                let (label, calls, tokens) = (purpose.label(), spent.calls, spent.tokens);
                Some(format!("{label} {calls} ({tokens} tokens)"))
            })
            .collect();
        (!parts.is_empty()).then(|| format!("calls by what they went to: {}", parts.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use butler_protocol::{Entry, Record, ReserveId, TokenUsage};

    use super::*;

    fn settled(cents: i64) -> Entry {
        Entry {
            seq: 1,
            epoch: 1,
            at_ms: 0,
            record: Record::Settled {
                reserve: ReserveId::new("r"),
                cost: Usd::from_cents(cents),
                usage: TokenUsage {
                    input: 100,
                    output: 10,
                    ..TokenUsage::default()
                },
                model: "m".into(),
            },
        }
    }

    #[test]
    fn what_is_not_building_or_reviewing_is_coordination() {
        let bill = Bill::of(&[
            RoleLog::new(Role::Pm, vec![settled(10), settled(15)]),
            RoleLog::new(Role::Coder, vec![settled(50)]),
            RoleLog::new(Role::Reviewer, vec![settled(25)]),
        ]);
        assert_eq!(bill.total(), Usd::from_cents(100));
        assert_eq!(bill.coordination_percent(), 25);
        assert!(
            bill.lines()[0].contains("in 2 calls (200 tokens in, 20 out)"),
            "{:?}",
            bill.lines()
        );
        assert_eq!(Bill::default().coordination_percent(), 0);
    }
}
