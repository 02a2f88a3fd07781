//! Decision cards. The hub draws them itself, from the subject that it hashes:
//! every field, verbatim, with nothing hidden, nothing cut and no markup that
//! words could use. What is too long for a card is attached whole.

mod layout;
mod sheet;
#[cfg(test)]
mod tests;
mod verbatim;
mod words;

use butler_policy::Redactor;
use butler_protocol::{
    ActionId, CardBody, CardTag, Choice, DecisionKind, RequestId, UserId, Voice, person_name,
};
use butler_slack::{mrkdwn, rich};
use serde_json::{Value, json};
use sheet::Part;
use verbatim::verbatim;
use words::Words;

use crate::{
    error::{Refusal, Trouble, When},
    workspace::gate,
};

/// The block of a decided card that says who decided. Our own page leaves it
/// out and draws the hub's record instead.
pub(crate) const VERDICT_BLOCK: &str = "cb:verdict";

/// What the body of a card may take of a message: Slack refuses about 13,200
/// characters in all blocks together, and the decided form needs some too.
const ROOM: usize = 11_500;
const MOST_ELEMENTS: usize = 200;
/// More names than this notify nobody in particular.
const MOST_PEOPLE: usize = 20;
/// The most of a title in a notification, which shows nothing else.
const HEADLINE: usize = 150;

/// A card with its form.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Drawn {
    /// For `blocks`.
    pub(crate) blocks: Value,
    /// For `text`: notification and screen reader, in mrkdwn.
    pub(crate) text: String,
    /// What did not fit: the name of a file and its text, the whole card.
    pub(crate) attached: Option<(String, String)>,
}

/// Reads the body of a card and checks that it is what the tag says. What is hashed
/// here is what was read, and that is drawn: a field that we do not know, or one that
/// is given twice, makes another hash.
pub(crate) fn read(tag: &CardTag, bytes: &[u8]) -> Result<CardBody, Trouble> {
    let body = serde_json::from_slice::<CardBody>(bytes).map_err(|_| Refusal::InvalidCard)?;
    Refusal::SubjectMismatch
        .when(body.subject.kind() != tag.kind || body.subject.sha256() != tag.sha256)?;
    Ok(body)
}

/// Draws the card that waits for a person. A subject that the redactor would
/// change is refused: a person would decide about something else than they read.
pub(crate) fn draw(redactor: &Redactor, tag: &CardTag, body: &CardBody) -> Result<Drawn, Trouble> {
    let subject = &body.subject;
    let words = Words::of(body.language.as_deref());
    let title = words.say(layout::title(subject));
    let whole = [layout::parts(subject, words), remarks(body, words)].concat();
    let (parts, attached) = fitting(whole, &format!("card-{}.txt", tag.request), words);
    let elements: Vec<Value> = parts.iter().flat_map(Part::elements).collect();
    let mut blocks = vec![
        json!({"type": "header", "block_id": words.title_block(), "text": {"type": "plain_text", "text": title, "emoji": false}}),
        json!({"type": "rich_text", "elements": elements}),
    ];
    blocks.extend(ring(&body.people));
    blocks.push(
        json!({"type": "actions", "block_id": format!("cb:{}", tag.request),
        "elements": buttons(tag.kind, &tag.request, words)}),
    );
    let choices: Vec<&str> = tag
        .kind
        .choices()
        .iter()
        .map(|choice| words.say(choice.label()))
        .collect();
    let text = format!(
        "{}\n{} ({})",
        headline(title, layout::name(subject)),
        choices.join(" · "),
        tag.request
    );
    let drawn = Drawn {
        blocks: Value::Array(blocks),
        text: mrkdwn::escape(&text),
        attached,
    };
    // What it holds, and what is shown of it: names of fields, say.
    let mut said = json!([
        subject,
        body.remarks,
        drawn.blocks,
        drawn.text,
        drawn.attached
    ]);
    Refusal::CardWouldBeRedacted.when(gate::clean_value(redactor, &mut said))?;
    Ok(drawn)
}

/// Slack rings for a mention in a block, not for one in the fallback.
fn ring(people: &[UserId]) -> Option<Value> {
    let plain = |user: &&UserId| user.as_str().bytes().all(|b| b.is_ascii_alphanumeric());
    let people = people.iter().filter(plain).take(MOST_PEOPLE);
    let tags: Vec<String> = people.map(|user| format!("<@{user}>")).collect();
    let text = tags.join(" ");
    (!text.is_empty()).then(|| {
        json!({"type": "context", "block_id": "cb:people", "elements": [
            {"type": "mrkdwn", "text": text}]})
    })
}

/// The card after the decision: no buttons, and who decided.
pub(crate) fn decided(message: &Value, choice: Choice, person: &str) -> (Value, String) {
    let old = message["blocks"].as_array().map_or(&[][..], Vec::as_slice);
    let words = Words::of_card(old);
    let who = match person_name(person) {
        name if name == person_name("") => words.say("the user").to_owned(),
        name => verbatim(name),
    };
    let places = [("what", words.say(choice.past())), ("who", &who)];
    let verdict = words.fill("{what} by {who}", &places);
    let mut blocks: Vec<Value> = old
        .iter()
        .filter(|block| block["type"] != "actions" && block["block_id"] != VERDICT_BLOCK)
        .cloned()
        .collect();
    blocks.push(
        json!({"type": "context", "block_id": VERDICT_BLOCK, "elements": [
        {"type": "plain_text", "text": verdict, "emoji": false}]}),
    );
    let first = message["text"].as_str().unwrap_or_default().lines().next();
    let text = format!(
        "{}\n{}",
        first.unwrap_or_default(),
        mrkdwn::escape(&verdict)
    );
    (Value::Array(blocks), text)
}

/// Whether a message carries the buttons of a card.
pub(crate) fn carries(message: &Value, request: &RequestId) -> bool {
    let id = format!("cb:{request}");
    let blocks = message["blocks"].as_array().into_iter().flatten();
    blocks
        .into_iter()
        .any(|block| block["block_id"] == id.as_str())
}

fn remarks(body: &CardBody, words: Words) -> Vec<Part> {
    let remarks = body.remarks.iter();
    remarks
        .map(|remark| {
            let label = verbatim(words.say(&remark.label)).replace('\n', " ");
            match remark.by {
                Voice::Runtime if !remark.text.contains('\n') => Part::row(&label, &remark.text),
                Voice::Runtime => Part::prose(&label, &remark.text),
                Voice::Model => {
                    let whose = words.say("a model's words");
                    Part::prose(&format!("{label} ({whose})"), &remark.text)
                }
            }
        })
        .collect()
}

/// What fits, the longest parts replaced by a word about the file that has all.
fn fitting(
    mut parts: Vec<Part>,
    name: &str,
    words: Words,
) -> (Vec<Part>, Option<(String, String)>) {
    let fits = |parts: &[Part]| {
        let elements: usize = parts.iter().map(|part| part.elements().len()).sum();
        let size: usize = parts.iter().map(Part::size).sum();
        size <= ROOM && elements <= MOST_ELEMENTS
    };
    if fits(&parts) {
        return (parts, None);
    }
    let elements: Vec<Value> = parts.iter().flat_map(Part::elements).collect();
    let whole = rich::plain(&json!({ "elements": elements }));
    let mut by_size: Vec<usize> = (0..parts.len()).collect();
    by_size.sort_by_key(|at| std::cmp::Reverse(parts[*at].size()));
    for at in by_size {
        if fits(&parts) {
            break;
        }
        let label = parts[at].label.chars().take(HEADLINE).collect::<String>();
        let count = parts[at].size().to_string();
        let long = words.fill(
            "{count} characters, whole in the attached {name}",
            &[("count", &count), ("name", name)],
        );
        parts[at] = Part::row(&label, &long);
    }
    if !fits(&parts) {
        parts.clear();
    }
    let note = words.fill(
        "this does not fit here; all of it is in the attached {name}",
        &[("name", name)],
    );
    parts.insert(0, Part::row(words.say("Read the file"), &note));
    (parts, Some((name.to_owned(), whole)))
}

/// The title, and of what when the subject has one.
fn headline(title: &str, name: Option<&str>) -> String {
    let Some(name) = name.map(|name| verbatim(name).replace('\n', " ")) else {
        return title.to_owned();
    };
    match name.char_indices().nth(HEADLINE) {
        Some((end, _)) => format!("{title}: {}…", &name[..end]),
        None => format!("{title}: {name}"),
    }
}

fn buttons(kind: DecisionKind, request: &RequestId, words: Words) -> Vec<Value> {
    let button = |choice: &Choice| {
        let action = ActionId {
            request: request.clone(),
            choice: *choice,
        };
        let mut button = json!({"type": "button", "action_id": action.to_string(),
            "value": request, "text": {"type": "plain_text", "text": words.say(choice.label())}});
        if let Some(style) = style(kind, *choice) {
            button["style"] = json!(style);
        }
        button
    };
    kind.choices().iter().map(button).collect()
}

/// Green is what goes on safely. What a command destroys is gone: its Approve is
/// the dangerous button, and the way out is none.
const fn style(kind: DecisionKind, choice: Choice) -> Option<&'static str> {
    match (kind, choice) {
        (DecisionKind::Command, Choice::Approve) => Some("danger"),
        (DecisionKind::Command, _)
        | (
            _,
            Choice::Modify
            | Choice::Each
            | Choice::Change
            | Choice::Hold
            | Choice::StartMerging
            | Choice::StartStacked,
        ) => None,
        (_, Choice::Reject | Choice::Discard | Choice::Close | Choice::Stop) => Some("danger"),
        (_, Choice::Approve | Choice::Accept | Choice::Merge | Choice::Start | Choice::Raise) => {
            Some("primary")
        }
    }
}
