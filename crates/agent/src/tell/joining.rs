//! What a role is told about the thread when it joins it or comes back to it:
//! the messages it has not seen, capped. The request, the plan and what was
//! decided stay, of the rest the newest. A card counts with everything on it,
//! because the plan is what later roles work from. What people said to each
//! other, and what the runtime answered by itself, is nobody's work.

use std::{collections::HashMap, fmt::Write};

use butler_policy::{Word, hosts_in, meanings, without_mentions};
use butler_protocol::{DecisionKind, EventId, MessageTs, Speaker, UserId, person_name, with_names};
use butler_slack::{File, Message, mrkdwn, rich};
use butler_turn::{Heard, Seen};
use serde_json::Value;

use crate::{
    listen::control_words,
    tell::{checklist::is_checklist, forge_text},
};

/// More than this is not worth its tokens.
const CAP_BYTES: usize = 12 * 1024;
/// The most of one message that always stays.
const KEPT_BYTES: usize = 5 * 1024;

/// What the runtime itself says to a model.
pub(crate) fn by_runtime(event: EventId, text: String) -> Heard {
    Heard {
        event,
        ts: None,
        speaker: Speaker::Runtime,
        text,
        images: Vec::new(),
    }
}

/// How much of a card is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cards<'t> {
    /// Everything on it.
    Whole,
    /// Its headline: what stands on it comes with the message at hand, and so does
    /// this request, which is not told twice.
    Headlines(&'t str),
}

/// The thread before `until` as one text; `None` when there is nothing to tell.
pub(crate) fn so_far(
    messages: &[Message],
    until: Option<&MessageTs>,
    names: &HashMap<UserId, String>,
    cards: Cards<'_>,
) -> Option<String> {
    let before = messages
        .iter()
        .filter(|message| until.is_none_or(|until| message.ts < *until))
        .filter(|message| is_work(message))
        .filter(|message| !comes_anyway(message, cards));
    told(
        "The thread before you were called:",
        before
            .map(|message| (weight(message, messages), line(message, names, cards)))
            .collect(),
    )
}

/// What others said since the role was last here; its own posts it knows. Also
/// whether people were among them.
pub(crate) fn meanwhile(
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
                && seen.missed(&message.ts)
                && message.username.as_deref() != Some(own_name)
                && is_work(message)
        })
        .collect();
    let people_spoke = missed.iter().any(|message| is_persons(message));
    let lines = missed.iter();
    let lines = lines.map(|message| {
        (
            weight(message, messages),
            line(message, names, Cards::Whole),
        )
    });
    let text = told("In the thread since you were last called:", lines.collect())?;
    Some((text, people_spoke))
}

/// What a person attached to a message; what other apps attach is nobody's work.
pub(crate) fn files_of(message: &Message) -> &[File] {
    match is_persons(message) {
        true => &message.files,
        false => &[],
    }
}

/// What people attached before `until`, of messages that `is_new` says were not told yet.
pub(crate) fn files_before(
    messages: &[Message],
    until: Option<&MessageTs>,
    is_new: impl Fn(&MessageTs) -> bool,
) -> Vec<File> {
    messages
        .iter()
        .filter(|message| until.is_none_or(|until| message.ts < *until) && is_new(&message.ts))
        .filter(|message| is_work(message))
        .flat_map(files_of)
        .cloned()
        .collect()
}

/// A role speaks under a name of its own, a person under theirs.
fn is_persons(message: &Message) -> bool {
    message.bot_id.is_none() && message.username.is_none() && message.user.is_some()
}

/// How much a message counts when there is no room for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// The oldest of these goes first.
    Talk,
    /// Asked of a person, with what they decided.
    Decision,
    /// The request and the plan: without them nobody knows what the work is.
    Task,
}

/// Whether the message at hand quotes it whole.
fn comes_anyway(message: &Message, cards: Cards<'_>) -> bool {
    let Cards::Headlines(request) = cards else {
        return false;
    };
    let said = mrkdwn::plain(&message.text);
    is_persons(message) && without_mentions(&said, None).trim() == request.trim()
}

fn weight(message: &Message, all: &[Message]) -> Weight {
    let request = all.iter().find(|one| is_persons(one));
    let card = message.tag().and_then(|tag| tag.card);
    match card.map(|card| card.kind) {
        Some(DecisionKind::Plan) => Weight::Task,
        Some(_) => Weight::Decision,
        None if request.is_some_and(|request| request.ts == message.ts) => Weight::Task,
        None => Weight::Talk,
    }
}

/// Whether a message is part of the work: not said among people, no word for the
/// runtime, and no answer of the runtime to one.
fn is_work(message: &Message) -> bool {
    if !is_persons(message) {
        return message
            .tag()
            .is_none_or(|tag| !control_words::is_answer(&tag.idem) && !is_checklist(&tag.idem))
            && !is_outside(message);
    }
    let text = mrkdwn::plain(&message.text);
    let said = without_mentions(&text, None);
    let aside = said.to_lowercase();
    let aside = aside == "!aside" || aside.starts_with("!aside ");
    let asked = [Word::Status, Word::Cost, Word::Help];
    !aside && !meanings(said).iter().any(|word| asked.contains(word))
}

/// Whether it shows a stranger's words: people read those, models only when a person
/// has given them to one.
pub(crate) fn is_outside(message: &Message) -> bool {
    let tag = message.tag();
    tag.is_some_and(|tag| forge_text::is_outside(&tag.idem))
}

fn told(title: &str, mut lines: Vec<(Weight, String)>) -> Option<String> {
    if lines.is_empty() {
        return None;
    }
    let mut left_out = 0;
    for weight in [Weight::Talk, Weight::Decision] {
        while lines.iter().map(|(_, line)| line.len()).sum::<usize>() > CAP_BYTES {
            let last = lines.len() - 1;
            let oldest = lines.iter().position(|(one, _)| *one == weight);
            let Some(oldest) = oldest.filter(|at| *at < last || lines.len() > 1) else {
                break;
            };
            lines.remove(oldest);
            left_out += 1;
        }
    }
    let mut text = format!("{title}\n");
    if left_out > 0 {
        let _ = writeln!(text, "({left_out} earlier messages left out)");
    }
    let lines: Vec<String> = lines
        .into_iter()
        .map(|(weight, line)| match weight {
            Weight::Task if line.len() > KEPT_BYTES => shortened(&line),
            _ => line,
        })
        .collect();
    text.push_str(&lines.join("\n"));
    Some(text)
}

fn shortened(line: &str) -> String {
    let end = line.floor_char_boundary(KEPT_BYTES);
    format!("{}\n  (cut here; ReadThread has all of it)", &line[..end])
}

/// Everybody who has spoken in the thread, the starter first.
pub(crate) fn people(messages: &[Message]) -> Vec<UserId> {
    let mut people = Vec::new();
    let spoken = messages.iter().filter(|message| is_persons(message));
    for user in spoken.filter_map(|message| message.user.as_ref()) {
        if !people.contains(user) {
            people.push(user.clone());
        }
    }
    people
}

/// The hosts whose addresses people wrote themselves. Slack makes links of bare
/// names too, so the words count as they were typed.
pub(crate) fn hosts_named(messages: &[Message]) -> Vec<String> {
    let spoken = messages.iter().filter(|message| is_persons(message));
    spoken
        .flat_map(|message| hosts_in(&mrkdwn::plain(&message.text)))
        .collect()
}

/// One message as a line.
pub(crate) fn line(message: &Message, names: &HashMap<UserId, String>, cards: Cards<'_>) -> String {
    let person = message.user.as_ref();
    let person = person.map(|user| person_name(names.get(user).map_or("", String::as_str)));
    let who = message.username.as_deref().or(person).unwrap_or("somebody");
    let named = with_names(&message.text, |id| names.get(&UserId::new(id)).cloned());
    let mut text = mrkdwn::unescape(&named);
    for body in bodies(message).filter(|_| cards == Cards::Whole) {
        // A question with buttons says the same in both places.
        if body != text {
            let _ = write!(text, "\n{body}");
        }
    }
    format!("- {who}: {}", text.replace('\n', "\n  "))
}

/// What stands on a card. Its `text` is only a headline for notifications.
fn bodies(message: &Message) -> impl Iterator<Item = String> {
    let blocks = message.blocks.as_ref().and_then(Value::as_array);
    let words = |block: &Value| match block["type"].as_str()? {
        "markdown" => Some(block["text"].as_str()?.to_owned()),
        "rich_text" => Some(rich::plain(block)),
        _ => None,
    };
    blocks.into_iter().flatten().filter_map(words)
}

#[cfg(test)]
mod tests {
    use butler_protocol::{CardTag, EventId, Idem, PostTag, RequestId, Sha256Hex};
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
    fn the_request_the_plan_and_what_was_decided_stay() {
        let asked = json!({"ts": ts(0), "user": "U7", "text": "please add a flag"});
        let card = |second: u32, kind: DecisionKind, text: &str| {
            let mut tag = PostTag::message(Idem::new(format!("k{second}")), vec![]);
            tag.card = Some(CardTag {
                request: RequestId::new("abc234"),
                kind,
                sha256: Sha256Hex::of("x"),
                body: None,
            });
            json!({"ts": ts(second), "username": "codebutler.pm", "text": text,
                "metadata": tag.to_metadata()})
        };
        let cards = [
            card(1, DecisionKind::Plan, "Plan: a flag\nApproved"),
            card(2, DecisionKind::Command, "May I run this?\nRejected"),
        ];
        let mut messages: Vec<Message> = std::iter::once(asked)
            .chain(cards)
            .map(|post| serde_json::from_value(post).unwrap())
            .collect();
        messages.extend((3..40).map(|n| message(n, &format!("{n} {}", "x".repeat(1000)))));
        let text = so_far(&messages, None, &HashMap::new(), Cards::Whole).unwrap();
        for part in ["please add a flag", "Approved", "Rejected", "39 xxx"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("\n- codebutler.pm: 3 xxx"), "{text}");
        assert!(text.len() < CAP_BYTES + 200);
        // However long the request is, there is room for the rest.
        let long = json!({"ts": ts(0), "user": "U7", "text": "y".repeat(40_000)});
        messages[0] = serde_json::from_value(long).unwrap();
        let text = so_far(&messages, None, &HashMap::new(), Cards::Whole).unwrap();
        assert!(text.contains("yyy") && text.contains("cut here"));
        assert!(text.contains("Approved") && text.len() < 2 * CAP_BYTES);
    }

    #[test]
    fn what_is_nobodys_work_is_told_to_nobody() {
        let said = |second: u32, text: &str| {
            let post = json!({"ts": ts(second), "user": "U7", "text": text});
            serde_json::from_value::<Message>(post).unwrap()
        };
        let answer = |second: u32, to: u32| {
            let key = control_words::answer_key("t", butler_protocol::Role::Pm, "word", &ts(to));
            let tag = PostTag::message(key, vec![]);
            let post = json!({"ts": ts(second), "username": "codebutler.pm",
                "text": "$0.10 of $5.00 spent", "metadata": tag.to_metadata()});
            serde_json::from_value::<Message>(post).unwrap()
        };
        let messages = [
            said(1, "add a flag"),
            said(2, "!aside is it lunch?"),
            said(3, "status"),
            answer(4, 3),
            said(5, "@codebutler.pm cost"),
            answer(6, 5),
            said(7, "help"),
        ];
        let text = so_far(&messages, None, &HashMap::new(), Cards::Whole).unwrap();
        assert_eq!(
            text,
            "The thread before you were called:\n- the user: add a flag"
        );
        let mut seen = Seen::default();
        seen.note(Some(&EventId::new("e1")), Some(&ts(1)));
        let missed = meanwhile(&messages, &seen, None, "codebutler.lead", &HashMap::new());
        assert_eq!(missed, None, "an aside is no word to the team");
    }

    #[test]
    fn people_have_names_and_cards_have_bodies() {
        let asked = json!({"ts": ts(1), "user": "U7", "text": "a &lt;b&gt; please"});
        let card = json!({"ts": ts(2), "username": "codebutler.pm", "text": "Plan: b\nApproved",
            "blocks": [{"type": "header"}, {"type": "rich_text", "elements": [
                rich::section(&[rich::bold("Done when")]),
                rich::list(false, &[vec![rich::text("it works")]])]}]});
        let messages: Vec<Message> = [asked, card]
            .map(|post| serde_json::from_value(post).unwrap())
            .into();
        let user = UserId::new("U7");
        assert_eq!(people(&messages), std::slice::from_ref(&user));
        let names = HashMap::from([(user, "ana".to_owned())]);
        let text = so_far(&messages, None, &names, Cards::Whole).unwrap();
        assert!(text.contains("- ana: a <b> please\n"), "{text}");
        assert!(text.contains("  Done when:\n      - it works"), "{text}");
        let short = so_far(&messages, None, &names, Cards::Headlines("")).unwrap();
        assert!(
            short.contains("Plan: b") && !short.contains("it works"),
            "{short}"
        );
        assert!(short.contains("a <b> please"), "{short}");
        let quoted = Cards::Headlines("a <b> please");
        let shorter = so_far(&messages, None, &names, quoted).unwrap();
        assert!(
            shorter.contains("Plan: b") && !shorter.contains("please"),
            "{shorter}"
        );
    }

    #[test]
    fn a_question_with_buttons_is_told_once() {
        let asked = json!({"ts": ts(1), "username": "codebutler.coder", "text": "Not run. Why?",
            "blocks": [{"type": "markdown", "text": "Not run. Why?"}, {"type": "actions"}]});
        let messages = [serde_json::from_value(asked).unwrap()];
        let text = so_far(&messages, None, &HashMap::new(), Cards::Whole).unwrap();
        assert_eq!(text.matches("Not run. Why?").count(), 1, "{text}");
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
            seen.note(Some(&EventId::context(Some(&ts(6)), people_spoke)), None);
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
