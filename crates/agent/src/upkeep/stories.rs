//! How threads went, and which learnings their prompts had: what tells whether a
//! learning earns its place. Read from the logs; nothing is written for it. And the
//! trials that leave one out of half of the next threads.

use std::{collections::BTreeMap, fs, path::Path};

use butler_playbook::{ThreadStory, learnings_in};
use butler_protocol::{Entry, Record, Role, Sha256Hex, ThreadId};
use butler_turn::{SpentOn, ThreadFold};
use serde_json::Value;

/// How one thread went, by its logs; nothing where no role was given a prompt.
#[must_use]
pub fn story(logs: &[(Role, Vec<Entry>)]) -> Option<ThreadStory> {
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

/// What a look back says went well.
fn praised(calls: &[butler_protocol::ToolCall]) -> String {
    let merges = calls.iter().filter(|call| call.name == "ProposeMerge");
    let well = merges.filter_map(|call| call.arguments["well"].as_array());
    let well = well.flatten().filter_map(Value::as_str);
    well.map(|line| format!("{}\n", line.to_lowercase()))
        .collect()
}

/// The learnings that are tried, by id, and since when.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trials(pub BTreeMap<String, i64>);

const FILE: &str = "trials.json";

impl Trials {
    /// Those of this repository; `threads` is where its threads are kept.
    #[must_use]
    pub fn read(threads: &Path) -> Self {
        let text = fs::read_to_string(threads.join(FILE)).unwrap_or_default();
        Self(serde_json::from_str(&text).unwrap_or_default())
    }

    /// Keeps them.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, threads: &Path) -> std::io::Result<()> {
        fs::create_dir_all(threads)?;
        let text = serde_json::to_string_pretty(&self.0)?;
        let new = threads.join(format!("{FILE}.new"));
        fs::write(&new, text)?;
        fs::rename(new, threads.join(FILE))
    }

    /// What a thread does without. The same thread always does without the same.
    #[must_use]
    pub fn left_out(&self, thread: &ThreadId) -> Vec<String> {
        let out = self.0.keys().filter(|id| {
            let hash = Sha256Hex::of(format!("{id} {thread}"));
            hash.as_str()
                .bytes()
                .next()
                .is_some_and(|byte| byte % 2 == 0)
        });
        out.cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_leaves_one_out_of_about_half_of_the_threads_and_of_the_same_ones() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Trials::read(folder.path()), Trials::default());
        let trials = Trials([("k3m9qa".to_owned(), 5)].into());
        trials.write(folder.path()).unwrap();
        let trials = Trials::read(folder.path());
        let thread = |n: u32| -> ThreadId { format!("C1/1700000{n:03}.000100").parse().unwrap() };
        let out = (0..200).filter(|n| !trials.left_out(&thread(*n)).is_empty());
        let count = out.count();
        assert!((70..130).contains(&count), "{count}");
        assert_eq!(trials.left_out(&thread(7)), trials.left_out(&thread(7)));
    }
}
