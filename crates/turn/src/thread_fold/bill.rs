//! What a role's work on a thread cost.

use std::collections::BTreeMap;

use butler_protocol::{Ending, Record, Speaker, TokenUsage, Usd};

use super::waste::Waste;

/// The bill of one log.
#[derive(Debug, Clone, Default)]
pub struct RoleBill {
    /// By model.
    pub shares: BTreeMap<String, Share>,
    /// Tool calls that ran.
    pub tools: u64,
    /// Changes of model: to which, and why.
    pub switches: Vec<(String, String)>,
    /// Activations that ended because they went in circles.
    pub stuck: u64,
    /// Times that a stronger model took over because of trouble.
    pub raised: u64,
    /// Messages that other roles sent it.
    pub exchanges: u64,
    /// Where its calls to the model went.
    pub waste: Waste,
}

/// One role with one model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Share {
    pub calls: u64,
    pub cost: Usd,
    pub usage: TokenUsage,
}

impl Share {
    /// Adds another one up.
    pub fn add(&mut self, other: &Share) {
        self.calls += other.calls;
        self.cost += other.cost;
        self.usage.input += other.usage.input;
        self.usage.output += other.usage.output;
    }
}

impl RoleBill {
    pub(super) fn push(&mut self, record: &Record) {
        self.waste.push(record);
        match record {
            Record::Settled {
                cost, usage, model, ..
            } => self.shares.entry(model.clone()).or_default().add(&Share {
                calls: 1,
                cost: *cost,
                usage: *usage,
            }),
            Record::ToolResult { .. } => self.tools += 1,
            Record::Model {
                model,
                reason,
                asked_for,
            } => {
                self.raised += u64::from(!asked_for);
                self.switches.push((model.clone(), reason.clone()));
            }
            Record::ActivationEnded {
                ending: Ending::Stuck,
                ..
            } => self.stuck += 1,
            Record::User {
                speaker: Speaker::Agent { .. },
                ..
            } => self.exchanges += 1,
            _ => {}
        }
    }
}
