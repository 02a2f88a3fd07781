//! The tools that are offered to other agents, and what they are told about them.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// New work for the team.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Ask {
    /// What you want, in the words of the person.
    pub request: String,
    /// How long to wait for the team to answer or to need something (0 to 300).
    #[serde(default)]
    pub wait_seconds: u64,
}

/// A message in a thread.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Say {
    /// The thread: its id, `last`, or a link to it.
    pub thread: String,
    /// What to say. It answers no card.
    pub text: String,
    /// How long to wait for an answer (0 to 300).
    #[serde(default)]
    pub wait_seconds: u64,
}

/// Which threads.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct List {
    /// How many, the newest first (default 20).
    pub limit: Option<usize>,
}

/// Which thread.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Read {
    /// The thread: its id, `last`, or a link to it.
    pub thread: String,
    /// How many messages, the newest (default 30).
    pub limit: Option<usize>,
}

/// How long.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wait {
    /// How long to wait until something is needed (0 to 300).
    #[serde(default)]
    pub wait_seconds: u64,
}

/// The answer to a card.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    /// The thread: its id, `last`, or a link to it.
    pub thread: String,
    /// The card, as `needs` and `read_thread` name it.
    pub card: String,
    /// One of the card's choices, as in approve, modify, reject, merge, hold.
    pub choice: String,
    /// The hash that was shown with the card. A card that says something else by now is not answered.
    pub sha256: String,
    /// Why, or what to do otherwise; said in the thread after the choice.
    pub reason: Option<String>,
}

/// Nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// Every tool in MCP's shape; those that decide only with `cards`.
pub(super) fn tools(cards: bool) -> Vec<Value> {
    let looks = json!({"readOnlyHint": true, "openWorldHint": false});
    let says = json!({"readOnlyHint": false, "destructiveHint": false, "openWorldHint": false});
    let decides = json!({"readOnlyHint": false, "destructiveHint": true, "openWorldHint": false});
    let mut tools = vec![
        tool::<Ask>(
            "ask",
            "Opens a thread with a request to the team: a question, a bug, a feature. The team plans, \
             asks, builds and reviews by itself; `needs` tells when the person is wanted.",
            &says,
        ),
        tool::<Say>(
            "say",
            "Says something in a thread, as an answer to a question of the team. For a card use \
             `answer_card`.",
            &says,
        ),
        tool::<List>(
            "list_threads",
            "Lists the newest threads with phase, open cards, cost and pull request.",
            &looks,
        ),
        tool::<Read>(
            "read_thread",
            "Reads a thread: what was said, who is at work, which cards are open, what it cost.",
            &looks,
        ),
        tool::<Wait>(
            "needs",
            "What waits for the person: cards with all that they say, questions, what failed or was \
             stopped. Waits for something, if you say how long.",
            &looks,
        ),
        tool::<Nothing>(
            "status",
            "Who of the team is there and at work, and what was spent today.",
            &looks,
        ),
    ];
    if cards {
        tools.push(tool::<Answer>(
            "answer_card",
            "Answers a card as the person: approves or rejects a plan or a command, merges, holds. The \
             person should have seen what the card says.",
            &decides,
        ));
    }
    tools
}

fn tool<T: JsonSchema>(name: &str, description: &str, annotations: &Value) -> Value {
    json!({"name": name, "description": description, "annotations": annotations,
        "inputSchema": butler_tools::flat_schema::<T>()})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_may_decide_is_offered_to() {
        let names = |cards| -> Vec<String> {
            let tools = tools(cards).into_iter();
            tools
                .map(|tool| tool["name"].as_str().unwrap().to_owned())
                .collect()
        };
        assert!(names(true).contains(&"answer_card".to_owned()));
        assert!(!names(false).contains(&"answer_card".to_owned()));
        for tool in tools(true) {
            assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        }
    }
}
