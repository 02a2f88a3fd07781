//! Which changed files a Reviewer has opened, read from its own log: what a
//! verdict rests on, whatever the verdict says. Pure.

use std::collections::HashMap;

use butler_protocol::{CallId, CommitSha, Record, ToolCall};

/// What was opened, and at which head it was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    head: Option<CommitSha>,
    opened: HashMap<String, CommitSha>,
    /// Calls that show files, until their results are in.
    looks: HashMap<CallId, Option<String>>,
}

impl Reading {
    /// From here on this head is read.
    pub fn begin(&mut self, head: &CommitSha) {
        self.head = Some(head.clone());
    }

    /// Takes one line of the log in.
    pub fn note(&mut self, record: &Record) {
        match record {
            Record::Assistant { calls, .. } => {
                let looks = calls.iter().filter_map(look);
                self.looks.extend(looks);
            }
            Record::ToolResult { call, outcome } => {
                let look = self.looks.remove(call);
                match look.filter(|_| outcome.ok) {
                    Some(Some(path)) => self.open(&path),
                    Some(None) => shown(&outcome.text).for_each(|path| self.open(path)),
                    None => {}
                }
            }
            _ => {}
        }
    }

    fn open(&mut self, path: &str) {
        if let Some(head) = &self.head {
            let path = path.trim_start_matches("./").to_owned();
            self.opened.insert(path, head.clone());
        }
    }

    /// At which head a file was opened last.
    pub fn opened_at(&self, path: &str) -> Option<&CommitSha> {
        self.opened.get(path)
    }

    /// Heads of earlier rounds at which something was opened.
    pub fn earlier(&self) -> Vec<CommitSha> {
        let mut heads: Vec<CommitSha> = self.opened.values().cloned().collect();
        heads.retain(|head| self.head.as_ref() != Some(head));
        heads.sort_by(|one, other| one.as_str().cmp(other.as_str()));
        heads.dedup();
        heads
    }
}

/// What a call will show: one file, or (`None`) whatever its result holds.
fn look(call: &ToolCall) -> Option<(CallId, Option<String>)> {
    let text = |name: &str| call.arguments[name].as_str().map(str::to_owned);
    let looks = match call.name.as_str() {
        "Read" => Some(text("path")?),
        "GitDiff" if call.arguments["summary"] == true => return None,
        "GitDiff" => None,
        _ => return None,
    };
    Some((call.id.clone(), looks))
}

/// The files whose hunks stand in a diff as it was shown.
fn shown(diff: &str) -> impl Iterator<Item = &str> {
    let heads = diff
        .lines()
        .filter_map(|line| line.strip_prefix("diff --git a/"));
    heads.filter_map(|rest| {
        // `a/x b/x`: both names are the same, so the second half is the name.
        let (_, name) = rest.split_once(" b/")?;
        Some(name)
    })
}

#[cfg(test)]
mod tests {
    use butler_protocol::ToolOutcome;
    use serde_json::{Value, json};

    use super::*;

    fn call(name: &str, arguments: &Value) -> ToolCall {
        serde_json::from_value(json!({"id": format!("call-{name}"), "name": name,
            "arguments": arguments}))
        .unwrap()
    }

    fn after(name: &str, arguments: &Value, outcome: ToolOutcome) -> Reading {
        let mut reading = Reading::default();
        reading.begin(&CommitSha::new("h1"));
        let call = call(name, arguments);
        let usage = json!({"input": 1, "cached_input": 0, "cache_write": 0, "output": 1,
            "reasoning": 0});
        let said = json!({"t": "assistant", "turn": 1, "calls": [call], "model": "m",
            "usage": usage});
        reading.note(&serde_json::from_value(said).unwrap());
        reading.note(&Record::ToolResult {
            call: call.id,
            outcome,
        });
        reading
    }

    #[test]
    fn a_file_is_open_when_it_was_shown_and_not_when_that_failed() {
        let read = |outcome| after("Read", &json!({"path": "./a.sh"}), outcome);
        let head = CommitSha::new("h1");
        assert_eq!(read(ToolOutcome::ok("1 x")).opened_at("a.sh"), Some(&head));
        assert_eq!(read(ToolOutcome::error("no")).opened_at("a.sh"), None);
        assert_eq!(read(ToolOutcome::ok("1 x")).opened_at("b.sh"), None);
    }

    #[test]
    fn a_diff_opens_the_files_whose_hunks_it_shows() {
        let diff = "2 files, +2 -0\na.sh +1 -0\nb c.sh +1 -0\n\n\
            diff --git a/a.sh b/a.sh\n+x\ndiff --git a/b c.sh b/b c.sh\n+y\n";
        let reading = after("GitDiff", &json!({}), ToolOutcome::ok(diff));
        assert!(reading.opened_at("a.sh").is_some());
        assert!(reading.opened_at("b c.sh").is_some());
        let listed = after("GitDiff", &json!({"summary": true}), ToolOutcome::ok(diff));
        assert_eq!(
            listed.opened_at("a.sh"),
            None,
            "a list of names is no reading"
        );
    }
}
