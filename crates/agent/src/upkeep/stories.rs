//! How threads went, and which learnings their prompts had: what tells whether a
//! learning earns its place. Read from the logs; nothing is written for it.

use std::collections::BTreeMap;

use butler_playbook::{ThreadStory, learnings_in};
use butler_protocol::{Entry, Record, Role, ToolCall};
use butler_turn::{SpentOn, ThreadFold};
use serde_json::Value;

/// How one thread went, by its logs; nothing where no role was given a prompt.
pub(crate) fn story(logs: &[(Role, Vec<Entry>)]) -> Option<ThreadStory> {
    let mut told = ThreadStory {
        began_ms: i64::MAX,
        ..ThreadStory::default()
    };
    let mut titles: BTreeMap<String, String> = BTreeMap::new();
    let mut praise = String::new();
    for (role, log) in logs {
        for entry in log {
            match &entry.record {
                Record::Prompt { text, .. } => {
                    told.roles.insert(*role);
                    for (id, title) in learnings_in(text) {
                        titles.insert(id.clone(), title.to_lowercase());
                        told.given.insert(id);
                    }
                }
                Record::Assistant { calls, .. } => praise.push_str(&praised(calls)),
                _ => {}
            }
        }
        let first = log.first().map_or(i64::MAX, |entry| entry.at_ms);
        told.began_ms = told.began_ms.min(first);
        let fold = ThreadFold::of(log);
        let wasted = fold.bill.waste.spent().iter();
        let wasted = wasted.filter(|(on, _)| matches!(on, SpentOn::Refused | SpentOn::Failed));
        let wasted: u64 = wasted.map(|(_, spent)| spent.calls).sum();
        told.trouble += u32::try_from(wasted).unwrap_or(u32::MAX);
        told.trouble += u32::try_from(fold.friction.len()).unwrap_or(u32::MAX);
        let cost = fold.bill.shares.values().map(|share| share.cost.dollars());
        told.cost += cost.sum::<f64>();
    }
    let praised = titles
        .into_iter()
        .filter(|(_, title)| praise.contains(title));
    told.helped = praised.map(|(id, _)| id).collect();
    (!told.roles.is_empty()).then_some(told)
}

/// What a look back says went well, in small letters: the short form with the merge, and
/// the points of the whole one.
pub(crate) fn praised(calls: &[ToolCall]) -> String {
    let list = |call: &ToolCall, field: &str| -> Vec<Value> {
        let list = call.arguments[field].as_array();
        list.cloned().unwrap_or_default()
    };
    let mut text = String::new();
    for call in calls {
        let short = list(call, "well").into_iter();
        let whole = list(call, "look_back").into_iter();
        let whole = whole.filter(|point| point["kind"] == "well");
        let lines = short.chain(whole.map(|point| point["what"].clone()));
        for line in lines.filter_map(|line| line.as_str().map(str::to_lowercase)) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}
