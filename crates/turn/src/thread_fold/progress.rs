//! How far the work is: the checklist of the role as its last call left it, and
//! how much of that people have been shown.

use std::collections::HashSet;

use butler_protocol::{CallId, MessageTs, Record};

use crate::known::CHECKLIST;

/// The checklist of one log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// Its steps in order, each with the sign that the tool puts before it.
    pub steps: Vec<(Sign, String)>,
    /// How often it moved. No time: a line that is not on disk yet has none.
    pub moves: u64,
    /// The message that shows it, and after how many moves.
    pub shown: Option<(MessageTs, u64)>,
    /// Calls whose results are not in.
    calls: HashSet<CallId>,
    /// Whether the activation at hand moved it.
    in_work: bool,
}

/// Where a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    Open,
    Doing,
    /// Done and checked.
    Done,
    /// Left out on purpose.
    Dropped,
}

impl Sign {
    const MARKS: [(&str, Sign); 4] = [
        ("[ ] ", Sign::Open),
        ("[>] ", Sign::Doing),
        ("[x] ", Sign::Done),
        ("[-] ", Sign::Dropped),
    ];
}

impl Progress {
    pub(super) fn push(&mut self, record: &Record) {
        match record {
            Record::ActivationStarted { .. } => self.in_work = false,
            Record::Assistant { calls, .. } => {
                let lists = calls.iter().filter(|call| call.name == CHECKLIST);
                self.calls.extend(lists.map(|call| call.id.clone()));
            }
            Record::ToolResult { call, outcome } if self.calls.remove(call) && outcome.ok => {
                let steps = steps_of(&outcome.text);
                if !steps.is_empty() {
                    self.steps = steps;
                    self.in_work = true;
                    self.moves += 1;
                }
            }
            // What it took in the end.
            Record::ActivationEnded { .. } if self.in_work => {
                self.in_work = false;
                self.moves += 1;
            }
            Record::ChecklistShown { message, moves } => {
                self.shown = Some((message.clone(), *moves));
            }
            _ => {}
        }
    }

    /// Whether people see something else than what is so.
    pub fn is_due(&self) -> bool {
        let shown = self.shown.as_ref().map_or(0, |(_, moves)| *moves);
        !self.steps.is_empty() && shown < self.moves
    }
}

/// The steps in what the tool answered; a step may have several lines.
fn steps_of(answer: &str) -> Vec<(Sign, String)> {
    let mut steps: Vec<(Sign, String)> = Vec::new();
    for line in answer.lines() {
        let marked = Sign::MARKS
            .iter()
            .find_map(|(mark, sign)| Some((*sign, line.strip_prefix(mark)?)));
        match (marked, steps.last_mut()) {
            (Some((sign, text)), _) => steps.push((sign, text.trim().to_owned())),
            (None, Some((_, text))) if !line.trim().is_empty() => {
                text.push(' ');
                text.push_str(line.trim());
            }
            _ => {}
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn fold(lines: &[Value]) -> Progress {
        let mut progress = Progress::default();
        for record in lines {
            progress.push(&serde_json::from_value(record.clone()).unwrap());
        }
        progress
    }

    fn called(turn: u32, tool: &str) -> Value {
        json!({"t": "assistant", "turn": turn, "model": "m", "usage": {"input": 0, "output": 0},
            "calls": [{"id": format!("c{turn}"), "name": tool, "arguments": {}}]})
    }

    fn answered(turn: u32, ok: bool, text: &str) -> Value {
        json!({"t": "tool_result", "call": format!("c{turn}"), "outcome": {"ok": ok, "text": text}})
    }

    #[test]
    fn the_list_is_what_the_last_good_call_left() {
        let mut log = vec![
            json!({"t": "activation_started", "activation": 1}),
            called(1, CHECKLIST),
            answered(
                1,
                true,
                "0 of 2 steps done\n[>] add the flag\nand parse it\n[ ] test it",
            ),
        ];
        let progress = fold(&log);
        let steps = [
            (Sign::Doing, "add the flag and parse it".to_owned()),
            (Sign::Open, "test it".to_owned()),
        ];
        assert_eq!(progress.steps, steps);
        assert!(progress.is_due());
        assert_eq!(progress.moves, 1);

        let shown = json!({"t": "checklist_shown", "message": "1700000000.000200", "moves": 1});
        log.push(shown);
        assert!(!fold(&log).is_due(), "it was shown");
        // Neither another tool nor a refused call moves it.
        log.extend([
            called(2, "Read"),
            answered(2, true, "[x] not a list of ours"),
            called(3, CHECKLIST),
            answered(3, false, "refused: mark one step as doing at a time"),
        ]);
        assert_eq!(fold(&log).steps, steps);
        assert!(!fold(&log).is_due());
        log.push(json!({"t": "activation_ended", "activation": 1, "ending": {"how": "done"}}));
        let over = fold(&log);
        assert!(over.is_due() && over.moves == 2, "what it took in the end");
    }
}
