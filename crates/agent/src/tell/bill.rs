//! What a thread cost, from the logs of its roles: by role and model, with the
//! share that went into coordination. Pure but for reading.

use std::{collections::BTreeMap, path::Path};

use butler_journal::read;
use butler_protocol::{Entry, Record, Role, ThreadId, TokenUsage, Usd};

use crate::listen::work_key::WorkKey;

/// One role with one model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Share {
    /// Model calls.
    pub calls: u64,
    /// What they cost.
    pub cost: Usd,
    /// Tokens in and out.
    pub usage: TokenUsage,
}

/// The bill of a thread.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bill {
    /// By role and model.
    pub shares: BTreeMap<(Role, String), Share>,
    /// Tool calls that ran.
    pub tools: u64,
    /// Changes of model, with their reasons.
    pub switches: Vec<String>,
    /// Activations that ended because they went in circles.
    pub stuck: u64,
    /// Messages that roles sent each other.
    pub exchanges: u64,
}

impl Bill {
    /// From every log of the thread on this machine. A log that cannot be read
    /// is left out: a bill holds up nothing.
    pub fn of_thread(threads: &Path, thread: &ThreadId) -> Self {
        let mut bill = Self::default();
        for role in Role::ALL {
            for work_key in WorkKey::known(threads, role).unwrap_or_default() {
                if work_key.thread == *thread
                    && let Ok(log) = read(&work_key.log(threads, role))
                {
                    bill.add(role, &log.entries);
                }
            }
        }
        bill
    }

    /// Takes a log in.
    pub fn add(&mut self, role: Role, entries: &[Entry]) {
        for entry in entries {
            match &entry.record {
                Record::Settled {
                    cost, usage, model, ..
                } => {
                    let share = self.shares.entry((role, model.clone())).or_default();
                    share.calls += 1;
                    share.cost += *cost;
                    share.usage.input += usage.input;
                    share.usage.output += usage.output;
                }
                Record::ToolResult { .. } => self.tools += 1,
                Record::Model { model, reason } => {
                    self.switches.push(format!("{role} to {model}: {reason}"));
                }
                Record::ActivationEnded {
                    ending: butler_protocol::Ending::Stuck,
                    ..
                } => self.stuck += 1,
                Record::User {
                    speaker: butler_protocol::Speaker::Agent { .. },
                    ..
                } => self.exchanges += 1,
                _ => {}
            }
        }
    }

    /// Everything.
    pub fn total(&self) -> Usd {
        self.shares.values().map(|share| share.cost).sum()
    }

    /// What was spent on anything but building and reviewing, in per cent.
    pub fn coordination_percent(&self) -> u64 {
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
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self
            .shares
            .iter()
            .map(|((role, model), share)| {
                format!(
                    "{} · {model} · {} in {} calls ({} tokens in, {} out)",
                    role.title(),
                    share.cost,
                    share.calls,
                    share.usage.input,
                    share.usage.output
                )
            })
            .collect();
        lines.push(format!(
            "total {}, of it {} % coordination; {} tool calls, {} messages between roles",
            self.total(),
            self.coordination_percent(),
            self.tools,
            self.exchanges
        ));
        lines
    }
}

#[cfg(test)]
mod tests {
    use butler_protocol::ReserveId;

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
        let mut bill = Bill::default();
        bill.add(Role::Pm, &[settled(10), settled(15)]);
        bill.add(Role::Coder, &[settled(50)]);
        bill.add(Role::Reviewer, &[settled(25)]);
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
