//! Whether a model is fit for a role: does it call a tool when it should, and
//! does it still see the beginning of a long prompt? Some servers cut a prompt
//! that does not fit without a word, and some ignore tools; both look like a
//! stupid model until somebody checks.

use butler_protocol::{ModelMessage, ToolSpec, Usd};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{ErrorClass, ModelClient, ModelError, ModelRequest};

/// What a tool probe found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFitness {
    /// It called the tool it should.
    pub calls_tools: bool,
    /// And gave the argument it should.
    pub gives_arguments: bool,
    /// What it said instead, shortened.
    pub instead: Option<String>,
    pub cost: Usd,
}

/// What a window probe found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowFitness {
    /// It saw the word at the beginning.
    Whole,
    /// The endpoint said that the prompt is too long.
    Refused,
    /// It did not: the beginning was cut, or the model is too weak to repeat a word.
    Blind,
}

/// A word that no model guesses.
fn code_word(seed: u64) -> String {
    const SYLLABLES: [&str; 16] = [
        "ba", "de", "fi", "go", "ku", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "wo", "xu",
        "za",
    ];
    (0..5)
        .map(|place| SYLLABLES[((seed >> (place * 4)) & 15) as usize])
        .collect()
}

fn user(text: String) -> ModelMessage {
    ModelMessage::User {
        text,
        images: Vec::new(),
    }
}

impl ModelClient {
    /// Asks for one tool call. `seed` makes the word that the call must carry.
    /// Errors: as [`ModelClient::complete`].
    pub async fn probe_tools(
        &self,
        model: &str,
        seed: u64,
        cancel: &CancellationToken,
    ) -> Result<ToolFitness, ModelError> {
        let word = code_word(seed);
        let task =
            format!("Call the tool `note` once with the word {word}. Do not answer in text.");
        let mut request = ModelRequest::new(model, vec![user(task)]);
        request.max_tokens = 1024;
        request.tools = [
            probe_tool(
                "note",
                "Writes a word down. Example: {\"word\": \"tree\"}",
                "word",
            ),
            probe_tool("read_file", "Reads a file of the project.", "path"),
        ]
        .into();
        let reply = self.complete(&request, cancel, None).await?;
        let call = reply.calls.iter().find(|call| call.name == "note");
        let given = call.and_then(|call| call.arguments.get("word"));
        Ok(ToolFitness {
            calls_tools: call.is_some(),
            gives_arguments: given.and_then(Value::as_str) == Some(word.as_str()),
            instead: reply.text.map(|text| text.chars().take(120).collect()),
            cost: reply.cost,
        })
    }

    /// Hides a word at the beginning of a prompt of about `tokens` tokens and
    /// asks for it at the end. Costs that many tokens: ask for windows that
    /// matter, not for all of them.
    /// Errors: as [`ModelClient::complete`], except that a refusal for length is an answer.
    pub async fn probe_window(
        &self,
        model: &str,
        tokens: u64,
        seed: u64,
        cancel: &CancellationToken,
    ) -> Result<WindowFitness, ModelError> {
        let word = code_word(seed);
        // Numbered lines: a repeated line could be folded, and this one counts itself.
        let line_tokens = 9;
        let filler: String = (0..tokens / line_tokens)
            .map(|n| format!("Line {n} says nothing.\n"))
            .collect();
        let text = format!(
            "The code word is {word}.\n{filler}What is the code word? Answer with that word only."
        );
        let mut request = ModelRequest::new(model, vec![user(text)]);
        request.max_tokens = 1024;
        match self.complete(&request, cancel, None).await {
            Ok(reply) if reply.text.as_ref().is_some_and(|text| text.contains(&word)) => {
                Ok(WindowFitness::Whole)
            }
            Ok(_) => Ok(WindowFitness::Blind),
            Err(error) if error.class() == ErrorClass::ContextTooLong => Ok(WindowFitness::Refused),
            Err(error) => Err(error),
        }
    }
}

fn probe_tool(name: &str, description: &str, field: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {field: {"type": "string"}},
            "required": [field],
        }),
    }
}
