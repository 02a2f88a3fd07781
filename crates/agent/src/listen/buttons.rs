//! Buttons that are no decision: Retry after a failure, why a plan or a call was
//! rejected, what becomes of a silent thread, and what a person means when several things fit. A press is heard like a message of the person who pressed.

use butler_protocol::MessageTs;

use crate::listen::draft::Verb;

/// Try again where it stopped.
pub(crate) const RETRY: &str = "cb-retry";

const WHY: &str = "cb-why-";
const WHY_NOT_RUN: &str = "cb-why-not-";
const MENU: &str = "cb-menu-";
/// A row of buttons holds no more in Slack; the text lists them all.
const MOST: usize = 25;

/// Reasons for a rejection, one tap each: what the button says and means.
const REASONS: [Reason; 4] = [
    ("big", "Too big", "it is too big; propose less"),
    (
        "wrong",
        "Wrong way",
        "it is the wrong approach; propose another",
    ),
    ("later", "Not now", "not now; close it in one sentence"),
    (
        "say",
        "I'll explain",
        "I will explain; wait for my next message",
    ),
];

/// Reasons why a call is not run.
const NOT_RUN: [Reason; 3] = [
    (
        "harm",
        "Too risky",
        "it is too risky; find a way that needs less",
    ),
    ("need", "Not needed", "it is not needed; go on without it"),
    (
        "wait",
        "I'll explain",
        "I will explain; wait for my next message",
    ),
];

/// The buttons under "Why?": action ids and labels.
pub(crate) fn why() -> Vec<(String, &'static str)> {
    offered(WHY, &REASONS)
}

/// The same under a call that was rejected.
pub(crate) fn why_not_run() -> Vec<(String, &'static str)> {
    offered(WHY_NOT_RUN, &NOT_RUN)
}

type Reason = (&'static str, &'static str, &'static str);

fn offered(kind: &str, reasons: &[Reason]) -> Vec<(String, &'static str)> {
    let reasons = reasons.iter();
    reasons
        .map(|(id, label, _)| (format!("{kind}{id}"), *label))
        .collect()
}

fn meant(id: &str, reasons: &[Reason]) -> Option<&'static str> {
    let reason = reasons.iter().find(|(known, ..)| *known == id)?;
    Some(reason.2)
}

/// The buttons under a menu of workflows or skills.
pub(crate) fn menu(names: &[String]) -> Vec<(String, &str)> {
    let names = names.iter().take(MOST);
    names
        .map(|name| (format!("{MENU}{name}"), name.as_str()))
        .collect()
}

const DRAFT: &str = "cb-draft-";

/// The buttons under a request that was made of a draft; the message that ended
/// the draft tells one draft from the next.
pub(crate) fn draft(done: &MessageTs) -> Vec<(String, &'static str)> {
    let verbs = [
        ("send", "Send"),
        ("refine", "Refine"),
        ("discard", "Discard"),
    ];
    let button = |(verb, label)| (format!("{DRAFT}{verb}-{done}"), label);
    verbs.map(button).to_vec()
}

/// Which draft a press is about, and what it wants.
pub(crate) fn drafted(action: &str) -> Option<(Verb, MessageTs)> {
    let (verb, done) = action.strip_prefix(DRAFT)?.split_once('-')?;
    let verb = match verb {
        "send" => Verb::Send,
        "refine" => Verb::Refine,
        "discard" => Verb::Discard,
        _ => return None,
    };
    Some((verb, done.parse().ok()?))
}

const QUIET: &str = "cb-quiet-";

/// The buttons under the question about a silent thread; the last message before
/// the silence tells one question from the next.
pub(crate) fn quiet(last: &MessageTs) -> Vec<(String, &'static str)> {
    let verbs = [("keep", "Keep open"), ("close", "Close & clean")];
    let button = |(verb, label)| (format!("{QUIET}{verb}-{last}"), label);
    verbs.map(button).to_vec()
}

/// Which silence a press is about, and whether the thread stays open.
pub(crate) fn about_silence(action: &str) -> Option<(bool, MessageTs)> {
    let (verb, last) = action.strip_prefix(QUIET)?.split_once('-')?;
    let keep = match verb {
        "keep" => true,
        "close" => false,
        _ => return None,
    };
    Some((keep, last.parse().ok()?))
}

/// What a press says; nothing when the button is not one of these.
pub(crate) fn words(action: &str) -> Option<String> {
    if action == RETRY {
        return Some("Try again where you stopped.".to_owned());
    }
    if let Some(name) = action.strip_prefix(MENU) {
        return Some(name.to_owned()).filter(|name| !name.is_empty());
    }
    if let Some(id) = action.strip_prefix(WHY_NOT_RUN) {
        let meaning = meant(id, &NOT_RUN)?;
        return Some(format!("Why I rejected the call: {meaning}."));
    }
    let meaning = meant(action.strip_prefix(WHY)?, &REASONS)?;
    Some(format!("Why I rejected the plan: {meaning}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_press_under_a_draft_is_read_back() {
        let done: MessageTs = "1700000000.000100".parse().unwrap();
        let verbs = draft(&done).into_iter().map(|(action, _)| drafted(&action));
        let expected =
            [Verb::Send, Verb::Refine, Verb::Discard].map(|verb| Some((verb, done.clone())));
        assert!(verbs.eq(expected));
        for action in [
            "cb-draft-",
            "cb-draft-send-",
            "cb-draft-keep-1.2",
            "cb-menu-x",
        ] {
            assert_eq!(drafted(action), None, "{action}");
        }
    }

    #[test]
    fn a_press_about_silence_is_read_back() {
        let last: MessageTs = "1700000000.000100".parse().unwrap();
        let read = quiet(&last)
            .into_iter()
            .map(|(action, _)| about_silence(&action));
        assert!(read.eq([Some((true, last.clone())), Some((false, last))]));
        for action in [
            "cb-quiet-",
            "cb-quiet-keep-",
            "cb-quiet-burn-1.2",
            "cb-draft-",
        ] {
            assert_eq!(about_silence(action), None, "{action}");
        }
    }

    #[test]
    fn every_button_says_something_and_foreign_ones_say_nothing() {
        for (action, _) in why().into_iter().chain(why_not_run()) {
            assert!(words(&action).unwrap().starts_with("Why I rejected"));
        }
        assert!(words(RETRY).is_some());
        for (action, label) in menu(&["doc-notes".to_owned(), "learn".to_owned()]) {
            assert_eq!(
                words(&action).as_deref(),
                Some(label),
                "a press says the name"
            );
        }
        for action in [
            "",
            "cb-menu-",
            "cb-why-",
            "cb-why-x",
            "cb:abcdef:approve",
            "retry",
        ] {
            assert_eq!(words(action), None, "{action}");
        }
    }
}
