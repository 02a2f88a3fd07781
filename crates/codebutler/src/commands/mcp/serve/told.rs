//! What the hub's views say, as another agent reads it: short, in words, and cards
//! whole with their hash.

use butler_protocol::{DecisionView, MessageTs, Usd};
use serde_json::{Value, json};

use crate::commands::talk::{
    message::{People, after, people, short, words, working},
    threads::title,
};

/// A message that is longer is cut; a card is not.
const LONGEST: usize = 8_000;

/// Messages of others after this one.
pub(super) fn answers_after(view: &Value, said: &MessageTs) -> usize {
    let later = after(view, said);
    later.filter(|one| one["username"].is_string()).count()
}

/// A thread: the newest messages, the open cards, who works, what it cost.
pub(super) fn thread(view: &Value, limit: usize) -> Value {
    let people = people(view);
    let all = view["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let from = all.len().saturating_sub(limit);
    let open = open_cards(view);
    let said = all[from..].iter().map(|message| {
        let is_card = open
            .iter()
            .any(|card| card.asked.message.as_str() == message["ts"]);
        let text = words(message, &people);
        json!({"at": message["ts"], "who": message["username"].as_str().unwrap_or("person"),
            "text": if is_card { "the card below".to_owned() } else { cut(&text) }})
    });
    let said: Vec<Value> = said.collect();
    let cards: Vec<Value> = open.iter().map(|one| card(one, view, &people)).collect();
    json!({"thread": id(view), "messages": said, "earlier": from, "working": working(view),
        "cards": cards, "cost": spent(&view["cost"])})
}

/// The open cards of a thread.
pub(super) fn open_cards(view: &Value) -> Vec<DecisionView> {
    let cards = view["decisions"].as_array().into_iter().flatten();
    let cards = cards.filter_map(|one| serde_json::from_value(one.clone()).ok());
    cards
        .filter(|one: &DecisionView| one.decided.is_none())
        .collect()
}

/// An open card, whole.
pub(super) fn card(card: &DecisionView, view: &Value, people: &People) -> Value {
    let asked = &card.asked;
    let messages = view["messages"].as_array().into_iter().flatten();
    let text = messages
        .filter(|message| message["ts"] == asked.message.as_str())
        .map(|message| words(message, people))
        .next();
    let choices: Vec<&str> = asked
        .kind
        .choices()
        .iter()
        .map(|one| one.as_str())
        .collect();
    json!({"card": asked.request, "kind": asked.kind, "from": asked.from, "choices": choices,
        "sha256": asked.sha256, "text": text})
}

/// A thread as a line of a list.
pub(super) fn row(card: &Value) -> Value {
    json!({"thread": short(&card["thread"]), "title": title(card["title"].as_str().unwrap_or_default()),
        "phase": card["phase"], "open_cards": card["open_cards"], "cost": dollars(&card["spent"]),
        "working": working_on(card), "pull": card["pull"]})
}

fn working_on(card: &Value) -> Vec<&Value> {
    let working = card["working"].as_array().into_iter().flatten();
    working.map(|pair| &pair[0]).collect()
}

/// Something that waits for the person, without its card.
pub(super) fn need(need: &Value) -> Value {
    json!({"thread": short(&need["thread"]), "title": need["title"], "kind": need["kind"],
        "why": need["why"], "from": need["from"]})
}

fn id(view: &Value) -> Option<String> {
    short(&view["thread"])
}

fn spent(cost: &Value) -> String {
    format!("{} of {}", dollars(&cost["used"]), dollars(&cost["cap"]))
}

/// Money in words.
pub(super) fn dollars(money: &Value) -> String {
    let money: Usd = serde_json::from_value(money.clone()).unwrap_or_default();
    money.to_string()
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some((at, _)) => format!("{} […]", &text[..at]),
    }
}
