//! How the work that a message set off ended, for scripts: from the roles' own logs,
//! as the hub has them.

use std::collections::BTreeMap;

use butler_protocol::{Entry, Record};
use serde_json::Value;

use crate::Exit;

/// How far each role's log had come.
pub(crate) type Place = BTreeMap<String, u64>;

/// Where the logs of a thread end now.
pub(crate) fn place(view: &Value) -> Place {
    let mut place = Place::new();
    for (role, entry) in entries(view) {
        let last = place.entry(role).or_default();
        *last = entry.seq.max(*last);
    }
    place
}

/// How it ended since then: the first role whose work failed decides.
pub(crate) fn since(view: &Value, before: &Place) -> Exit {
    let mut last: BTreeMap<String, Exit> = BTreeMap::new();
    for (role, entry) in entries(view) {
        if entry.seq <= before.get(&role).copied().unwrap_or(0) {
            continue;
        }
        match &entry.record {
            Record::ActivationEnded { ending, .. } => drop(last.insert(role, Exit::of(ending))),
            // Taken up again: how it ended before does not count.
            Record::ActivationStarted { .. } => drop(last.remove(&role)),
            _ => {}
        }
    }
    let failed = last.into_values().find(|exit| *exit != Exit::Done);
    failed.unwrap_or(Exit::Done)
}

fn entries(view: &Value) -> impl Iterator<Item = (String, Entry)> {
    let records = view["records"].as_array().into_iter().flatten();
    records.filter_map(|one| {
        let role = one["role"].as_str()?.to_owned();
        Some((role, serde_json::from_value(one["entry"].clone()).ok()?))
    })
}

#[cfg(test)]
mod tests {
    use butler_protocol::Ending;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_model_that_failed_is_no_success_and_one_that_recovered_is() {
        let entry = |role: &str, seq: u64, record: Record| {
            let entry = Entry {
                seq,
                epoch: 1,
                at_ms: 0,
                record,
            };
            json!({"role": role, "entry": entry})
        };
        let ended = |ending| Record::ActivationEnded {
            activation: 1,
            ending,
        };
        let failed = || {
            ended(Ending::Failed {
                reason: "no key".into(),
            })
        };
        let view = |records: &[Value]| json!({"records": records});
        let first = view(&[entry("pm", 1, failed())]);
        assert_eq!(since(&first, &Place::new()), Exit::ModelFailed);
        assert_eq!(since(&first, &place(&first)), Exit::Done);
        let started = Record::ActivationStarted { activation: 2 };
        let again = [entry("pm", 1, failed()), entry("pm", 2, started)];
        assert_eq!(since(&view(&again), &Place::new()), Exit::Done);
        let money = [
            entry("coder", 1, ended(Ending::OutOfMoney)),
            entry("pm", 1, ended(Ending::Done)),
        ];
        assert_eq!(since(&view(&money), &Place::new()), Exit::OutOfMoney);
    }
}
