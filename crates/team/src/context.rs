//! What a role is told about the thread when it joins it or comes back to it:
//! the messages it has not seen, capped, newest kept. A card counts with
//! everything on it, because the plan is what later roles work from.

use std::{
    collections::{BTreeSet, HashMap},
    fmt::Write,
};

use butler_slack::{Message, mrkdwn};
use butler_turn::PEOPLE_SPOKE;
use butler_vocab::{EventId, MessageTs, UserId};
use serde_json::Value;

/// More than this is not worth its tokens; the newest lines stay.
const CAP_BYTES: usize = 12 * 1024;
/// How the event begins under which such a text enters the log.
const EVENT: &str = "context:";

/// What a role has seen of its thread, gathered from its log.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    messages: BTreeSet<MessageTs>,
    /// Everything before this was told in one piece.
    until: Option<MessageTs>,
}

impl Seen {
    /// Takes in a line of the log that belongs to a message.
    pub fn note(&mut self, event: Option<&EventId>, ts: Option<&MessageTs>) {
        let told = event.and_then(|event| {
            let event = event.as_str();
            let plain = event.strip_prefix(EVENT);
            plain.or_else(|| event.strip_prefix(PEOPLE_SPOKE))
        });
        if let Some(until) = told.and_then(|until| until.parse::<MessageTs>().ok()) {
            self.until = self.until.take().max(Some(until));
        }
        self.messages.extend(ts.cloned());
    }

    /// Where the part that it knows begins or was last completed.
    fn from(&self) -> Option<&MessageTs> {
        self.until.as_ref().or_else(|| self.messages.first())
    }
}

/// The event of what was told before `until`: the same message, the same event.
/// Words of people in it are marked, because they end a pause of the roles.
pub fn event(until: Option<&MessageTs>, people_spoke: bool) -> EventId {
    let kind = if people_spoke { PEOPLE_SPOKE } else { EVENT };
    match until {
        Some(until) => EventId::new(format!("{kind}{until}")),
        None => EventId::new(format!("{kind}all")),
    }
}

/// How much of a card is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cards {
    /// Everything on it.
    Whole,
    /// Its headline: what stands on it comes with the message at hand.
    Headlines,
}

/// The thread before `until` as one text; `None` when there is nothing to tell.
pub fn so_far(
    messages: &[Message],
    until: Option<&MessageTs>,
    names: &HashMap<UserId, String>,
    cards: Cards,
) -> Option<String> {
    let before = messages
        .iter()
        .filter(|message| until.is_none_or(|until| message.ts < *until));
    told(
        "The thread before you were called:",
        before.map(|message| line(message, names, cards)).collect(),
    )
}

/// What others said since the role was last here; its own posts it knows. Also
/// whether people were among them.
pub fn meanwhile(
    messages: &[Message],
    seen: &Seen,
    until: Option<&MessageTs>,
    own_name: &str,
    names: &HashMap<UserId, String>,
) -> Option<(String, bool)> {
    let missed: Vec<&Message> = messages
        .iter()
        .filter(|message| {
            until.is_none_or(|until| message.ts < *until)
                && seen.from().is_none_or(|from| message.ts > *from)
                && !seen.messages.contains(&message.ts)
                && message.username.as_deref() != Some(own_name)
        })
        .collect();
    let people_spoke = missed.iter().any(|message| is_persons(message));
    let lines = missed.iter();
    let lines = lines.map(|message| line(message, names, Cards::Whole));
    let text = told("In the thread since you were last called:", lines.collect())?;
    Some((text, people_spoke))
}

/// A role speaks under a name of its own, a person under theirs.
fn is_persons(message: &Message) -> bool {
    message.bot_id.is_none() && message.username.is_none() && message.user.is_some()
}

fn told(title: &str, mut lines: Vec<String>) -> Option<String> {
    if lines.is_empty() {
        return None;
    }
    let mut size: usize = lines.iter().map(String::len).sum();
    let mut left_out = 0;
    while size > CAP_BYTES && lines.len() > 1 {
        size -= lines.remove(0).len();
        left_out += 1;
    }
    let mut text = format!("{title}\n");
    if left_out > 0 {
        let _ = writeln!(text, "({left_out} earlier messages left out)");
    }
    text.push_str(&lines.join("\n"));
    Some(text)
}

/// Everybody who has spoken in the thread, the starter first.
pub fn people(messages: &[Message]) -> Vec<UserId> {
    let mut people = Vec::new();
    let spoken = messages.iter().filter(|message| is_persons(message));
    for user in spoken.filter_map(|message| message.user.as_ref()) {
        if !people.contains(user) {
            people.push(user.clone());
        }
    }
    people
}

/// One message as a line.
pub fn line(message: &Message, names: &HashMap<UserId, String>, cards: Cards) -> String {
    let person = message.user.as_ref();
    let person = person.map(|user| names.get(user).map_or(user.as_str(), String::as_str));
    let who = message.username.as_deref().or(person).unwrap_or("somebody");
    let mut text = mrkdwn::unescape(&message.text);
    for body in bodies(message).filter(|_| cards == Cards::Whole) {
        let _ = write!(text, "\n{body}");
    }
    format!("- {who}: {}", text.replace('\n', "\n  "))
}

/// What stands on a card. Its `text` is only a headline for notifications.
fn bodies(message: &Message) -> impl Iterator<Item = &str> {
    let blocks = message.blocks.as_ref().and_then(Value::as_array);
    let markdown = blocks
        .into_iter()
        .flatten()
        .filter(|block| block["type"] == "markdown");
    markdown.filter_map(|block| block["text"].as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ts(second: u32) -> MessageTs {
        format!("17000000{second:02}.000000").parse().unwrap()
    }

    fn message(second: u32, text: &str) -> Message {
        let post = json!({"ts": ts(second), "username": "codebutler.pm", "text": text});
        serde_json::from_value(post).unwrap()
    }

    #[test]
    fn only_what_came_before_and_the_newest_when_it_is_much() {
        let messages: Vec<Message> = (0..30)
            .map(|n| message(n, &format!("{n} {}", "x".repeat(1000))))
            .collect();
        let names = HashMap::new();
        let text = so_far(&messages, Some(&ts(29)), &names, Cards::Whole).unwrap();
        assert!(text.len() < CAP_BYTES + 200);
        assert!(text.contains("28 xxx") && !text.contains("29 xxx"));
        assert!(text.contains("earlier messages left out"));
        assert_eq!(
            so_far(&messages[..1], Some(&messages[0].ts), &names, Cards::Whole),
            None
        );
    }

    #[test]
    fn people_have_names_and_cards_have_bodies() {
        let asked = json!({"ts": ts(1), "user": "U7", "text": "a &lt;b&gt; please"});
        let card = json!({"ts": ts(2), "username": "codebutler.pm", "text": "Plan: b\nApproved",
            "blocks": [{"type": "header"}, {"type": "markdown", "text": "**b**\n- it works"}]});
        let messages: Vec<Message> = [asked, card]
            .map(|post| serde_json::from_value(post).unwrap())
            .into();
        let user = UserId::new("U7");
        assert_eq!(people(&messages), std::slice::from_ref(&user));
        let names = HashMap::from([(user, "ana".to_owned())]);
        let text = so_far(&messages, None, &names, Cards::Whole).unwrap();
        assert!(text.contains("- ana: a <b> please\n"), "{text}");
        assert!(text.contains("  **b**\n  - it works"), "{text}");
        let short = so_far(&messages, None, &names, Cards::Headlines).unwrap();
        assert!(
            short.contains("Plan: b") && !short.contains("it works"),
            "{short}"
        );
    }

    #[test]
    fn who_comes_back_is_told_what_it_missed_and_only_once() {
        let others = |second, text: &str| {
            let post = json!({"ts": ts(second), "username": "codebutler.coder", "text": text});
            serde_json::from_value::<Message>(post).unwrap()
        };
        let messages = [
            others(1, "request"),
            message(2, "my plan"),
            others(3, "ready for review"),
            others(4, "to me"),
            others(5, "approved"),
            others(6, "what now?"),
        ];
        let mut seen = Seen::default();
        seen.note(Some(&EventId::new("e1")), Some(&ts(1)));
        seen.note(Some(&EventId::new("e4")), Some(&ts(4)));
        let names = HashMap::new();
        let tell = |seen: &Seen, until| {
            meanwhile(&messages, seen, Some(&ts(until)), "codebutler.pm", &names)
        };
        let (text, people_spoke) = tell(&seen, 6).unwrap();
        assert!(!people_spoke, "{text}");
        for part in ["ready for review", "approved"] {
            assert!(text.contains(part), "{text}");
        }
        for part in ["request", "my plan", "to me", "what now?"] {
            assert!(!text.contains(part), "{text}");
        }
        for people_spoke in [false, true] {
            let mut seen = seen.clone();
            seen.note(Some(&event(Some(&ts(6)), people_spoke)), None);
            seen.note(Some(&EventId::new("e6")), Some(&ts(6)));
            assert_eq!(tell(&seen, 7), None, "told before");
        }
    }

    #[test]
    fn a_word_of_a_person_among_what_was_missed_is_told_apart() {
        let said = json!({"ts": ts(3), "user": "U7", "text": "go on"});
        let said = serde_json::from_value::<Message>(said).unwrap();
        let messages = [message(2, "shall we go on?"), said];
        let mut seen = Seen::default();
        seen.note(Some(&EventId::new("e1")), Some(&ts(1)));
        let tell = |until| {
            meanwhile(
                &messages,
                &seen,
                Some(&ts(until)),
                "codebutler.lead",
                &HashMap::new(),
            )
        };
        assert!(tell(4).unwrap().1);
        assert!(!tell(3).unwrap().1, "it came later");
    }
}
