//! Which questions to the Researcher are open, and which answers the model has
//! not heard yet; gathered from the log line by line.

use butler_protocol::{CallId, EventId, RequestId, ToolCall, ToolOutcome};

use crate::thread::context::request_of;

/// The questions of one log.
#[derive(Debug, Clone, Default)]
pub struct Inquiry {
    /// Questions of the last turn that asked any, without an answer yet.
    open: Vec<RequestId>,
    /// Answers that are in the log and that the model has not heard.
    untold: Vec<(EventId, String)>,
}

impl Inquiry {
    /// A turn of the model. Questions of an earlier turn are not waited for.
    pub fn asked(&mut self, calls: &[ToolCall]) {
        let asked: Vec<_> = calls
            .iter()
            .filter(|call| call.name == "Research")
            .map(|call| request_of(&call.id))
            .collect();
        if !asked.is_empty() {
            self.open = asked;
        }
    }

    /// A question that was not posted is not waited for.
    pub fn result(&mut self, call: &CallId, outcome: &ToolOutcome) {
        if !outcome.ok {
            let request = request_of(call);
            self.open.retain(|open| *open != request);
        }
    }

    /// An answer has arrived.
    pub fn answered(&mut self, event: &EventId, request: &RequestId, text: String) {
        self.open.retain(|open| open != request);
        self.untold.push((event.clone(), text));
    }

    /// The model has heard this.
    pub fn told(&mut self, event: &EventId) {
        self.untold.retain(|(untold, _)| untold != event);
    }

    /// Whether an answer is still to come.
    pub fn is_waiting(&self) -> bool {
        !self.open.is_empty()
    }

    /// Waits no longer. An answer that comes later is told by itself.
    pub fn give_up(&mut self) {
        self.open.clear();
    }

    /// What the model has not heard, in the order of arrival.
    pub fn untold(&self) -> Vec<(EventId, String)> {
        self.untold.clone()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(id: &str, name: &str) -> ToolCall {
        ToolCall {
            id: CallId::new(id),
            name: name.into(),
            arguments: json!({}),
            problem: None,
        }
    }

    #[test]
    fn two_questions_of_a_turn_are_told_together() {
        let mut inquiry = Inquiry::default();
        inquiry.asked(&[call("aaaaaaaaa", "Research"), call("bbbbbbbbb", "Research")]);
        let (one, two) = (EventId::new("E1"), EventId::new("E2"));
        inquiry.answered(&two, &RequestId::new("bbbbbb"), "second".into());
        assert!(inquiry.is_waiting());
        inquiry.answered(&one, &RequestId::new("aaaaaa"), "first".into());
        assert!(!inquiry.is_waiting());
        assert_eq!(inquiry.untold().len(), 2);
        inquiry.told(&one);
        assert_eq!(inquiry.untold(), [(two, "second".to_owned())]);
    }

    #[test]
    fn a_question_that_was_refused_or_is_of_an_earlier_turn_holds_up_nothing() {
        let mut inquiry = Inquiry::default();
        inquiry.asked(&[call("aaaaaaaaa", "Research")]);
        inquiry.result(&CallId::new("aaaaaaaaa"), &ToolOutcome::error("no"));
        assert!(!inquiry.is_waiting());
        inquiry.asked(&[call("bbbbbbbbb", "Research")]);
        inquiry.asked(&[call("ccccccccc", "Read")]);
        assert!(inquiry.is_waiting());
        inquiry.asked(&[call("ddddddddd", "Research")]);
        inquiry.answered(&EventId::new("E"), &RequestId::new("dddddd"), "x".into());
        assert!(!inquiry.is_waiting());
    }
}
