//! Which questions to the Researcher are open, and which answers the model has
//! not heard yet.

use butler_protocol::{CallId, EventId, HandOver, Record, RequestId, Role, ToolCall, ToolOutcome};

use crate::known::RESEARCH;

/// The questions of one log.
#[derive(Debug, Clone, Default)]
pub struct Questions {
    /// Questions of the last turn that asked any, without an answer yet.
    open: Vec<RequestId>,
    /// Answers that are in the log and that the model has not heard.
    untold: Vec<(EventId, HandOver)>,
    /// Whether the Researcher answered here.
    pub found: bool,
    /// Who asked the one question that a research log is about.
    pub inquirer: Option<Role>,
}

impl Questions {
    pub(super) fn push(&mut self, record: &Record) {
        match record {
            Record::Assistant { calls, .. } => self.asked(calls),
            Record::ToolResult { call, outcome } => self.result(call, outcome),
            Record::User {
                event: Some(event), ..
            } => self.untold.retain(|(untold, _)| untold != event),
            Record::Received { event, hand_over } => {
                if let HandOver::Findings { request, .. } = &**hand_over {
                    self.found = true;
                    self.open.retain(|open| open != request);
                    self.untold.push((event.clone(), (**hand_over).clone()));
                }
            }
            _ => {}
        }
    }

    /// A turn of the model. Questions of an earlier turn are not waited for.
    fn asked(&mut self, calls: &[ToolCall]) {
        let asked: Vec<_> = calls
            .iter()
            .filter(|call| call.name == RESEARCH)
            .map(|call| RequestId::of(&call.id))
            .collect();
        if !asked.is_empty() {
            self.open = asked;
        }
    }

    /// A question that was not posted is not waited for.
    fn result(&mut self, call: &CallId, outcome: &ToolOutcome) {
        if !outcome.ok {
            let request = RequestId::of(call);
            self.open.retain(|open| *open != request);
        }
    }

    /// Whether an answer is still to come.
    pub fn is_waiting(&self) -> bool {
        !self.open.is_empty()
    }

    /// What the model has not heard, in the order of arrival.
    pub fn untold(&self) -> &[(EventId, HandOver)] {
        &self.untold
    }
}

#[cfg(test)]
mod tests {
    use butler_protocol::{Role, TokenUsage};
    use serde_json::json;

    use super::*;

    fn turn(calls: &[(&str, &str)]) -> Record {
        let calls = calls.iter().map(|(id, name)| ToolCall {
            id: CallId::new(*id),
            name: (*name).into(),
            arguments: json!({}),
            problem: None,
        });
        Record::Assistant {
            turn: 1,
            text: None,
            calls: calls.collect(),
            reasoning: None,
            model: "m".into(),
            usage: TokenUsage::default(),
        }
    }

    fn found(event: &str, request: &str) -> Record {
        Record::Received {
            event: EventId::new(event),
            hand_over: Box::new(HandOver::Findings {
                request: RequestId::new(request),
                to: Role::Coder,
                text: "x".into(),
                outside: true,
            }),
        }
    }

    fn after(records: &[Record]) -> Questions {
        let mut questions = Questions::default();
        records.iter().for_each(|record| questions.push(record));
        questions
    }

    #[test]
    fn two_questions_of_a_turn_are_told_together() {
        let asked = turn(&[("aaaaaaaaa", RESEARCH), ("bbbbbbbbb", RESEARCH)]);
        let mut questions = after(&[asked, found("E2", "bbbbbb")]);
        assert!(questions.is_waiting());
        questions.push(&found("E1", "aaaaaa"));
        assert!(!questions.is_waiting());
        assert_eq!(questions.untold().len(), 2);
        questions.push(&Record::User {
            event: Some(EventId::new("E1")),
            ts: None,
            speaker: butler_protocol::Speaker::Runtime,
            text: String::new(),
            images: vec![],
        });
        let [(event, _)] = questions.untold() else {
            panic!("{questions:?}")
        };
        assert_eq!(event.as_str(), "E2");
    }

    #[test]
    fn a_question_that_was_refused_or_is_of_an_earlier_turn_holds_up_nothing() {
        let refused = Record::ToolResult {
            call: CallId::new("aaaaaaaaa"),
            outcome: ToolOutcome::error("no"),
        };
        let questions = after(&[turn(&[("aaaaaaaaa", RESEARCH)]), refused]);
        assert!(!questions.is_waiting());
        let mut questions = after(&[
            turn(&[("bbbbbbbbb", RESEARCH)]),
            turn(&[("ccccccccc", "Read")]),
        ]);
        assert!(questions.is_waiting());
        questions.push(&turn(&[("ddddddddd", RESEARCH)]));
        questions.push(&found("E", "dddddd"));
        assert!(!questions.is_waiting());
    }
}
