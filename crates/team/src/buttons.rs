//! Buttons that are no decision: Retry after a failure, and why a plan was
//! rejected. A press is heard like a message of the person who pressed.

/// Try again where it stopped.
pub const RETRY: &str = "cb-retry";

const WHY: &str = "cb-why-";

/// Reasons for a rejection, one tap each: what the button says and means.
const REASONS: [(&str, &str, &str); 4] = [
    ("big", "Too big", "it is too big; propose less"),
    (
        "wrong",
        "Wrong way",
        "it is the wrong approach; propose another",
    ),
    (
        "later",
        "Not now",
        "not now; close the matter in one sentence",
    ),
    (
        "say",
        "I'll explain",
        "I will explain; wait for my next message",
    ),
];

/// The buttons under "Why?": action ids and labels.
pub fn why() -> Vec<(String, &'static str)> {
    let reasons = REASONS.iter();
    reasons
        .map(|(id, label, _)| (format!("{WHY}{id}"), *label))
        .collect()
}

/// What a press says; nothing when the button is not one of these.
pub fn words(action: &str) -> Option<String> {
    if action == RETRY {
        return Some("Try again where you stopped.".to_owned());
    }
    let id = action.strip_prefix(WHY)?;
    let (_, _, meaning) = REASONS.iter().find(|(known, ..)| *known == id)?;
    Some(format!("Why I rejected the plan: {meaning}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_button_says_something_and_foreign_ones_say_nothing() {
        for (action, _) in why() {
            assert!(words(&action).unwrap().starts_with("Why I rejected"));
        }
        assert!(words(RETRY).is_some());
        for action in ["", "cb-why-", "cb-why-x", "cb:abcdef:approve", "retry"] {
            assert_eq!(words(action), None, "{action}");
        }
    }
}
