//! Is an answer without tool calls fit to be read by people? Three kinds are
//! not: an empty one, one with the markup of a tool call in it, and one that
//! announces work and stops there.

use butler_vocab::without_code;

/// What an answer without calls is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quality {
    /// People may read it.
    Usable,
    /// Nothing in it.
    Empty,
    /// A tool call that was written as text.
    Markup,
    /// "I will now …", and then nothing.
    Promise,
}

/// Beginnings of the markup that models leak when a call goes wrong.
const MARKUP: [&str; 14] = [
    "<tool_call",
    "</tool_call",
    "<function_call",
    "<function=",
    "<functions.",
    "<invoke ",
    "<tool_use",
    "<|tool_call",
    "<|tool_calls",
    "<|python_tag|>",
    "<｜tool",
    "[tool_calls]",
    "[tool_call]",
    "<|channel|>commentary to=",
];

/// How a sentence begins that announces the writer's own next step.
const OPENINGS: [&str; 22] = [
    "i will now ",
    "i'll now ",
    "i am going to ",
    "i'm going to ",
    "i am now going to ",
    "now i will ",
    "now i'll ",
    "now, i will ",
    "now, i'll ",
    "next, i will ",
    "next, i'll ",
    "first, i will ",
    "first, i'll ",
    "let me start by ",
    "let me begin by ",
    "let me first ",
    "let me now ",
    "let me check ",
    "let me look ",
    "let me read ",
    "let me run ",
    "i'll start by ",
];

/// What an announced step is not: waiting for the reader is a proper ending.
const WAITING: [&str; 8] = [
    "wait",
    "hand ",
    "stop",
    "leave",
    "await",
    "pause",
    "need your",
    "need you ",
];

/// Judges the text of an answer without calls.
pub(crate) fn judge(text: Option<&str>) -> Quality {
    let text = text.unwrap_or_default().trim();
    if text.is_empty() {
        return Quality::Empty;
    }
    // Somebody may explain markup in a code block.
    let prose = without_code(text).replace('’', "'").to_lowercase();
    if MARKUP.iter().any(|mark| prose.contains(mark)) || is_bare_call(text) {
        return Quality::Markup;
    }
    if is_promise(&prose) {
        return Quality::Promise;
    }
    Quality::Usable
}

/// The whole text, or its only code block, is the JSON of a call.
fn is_bare_call(text: &str) -> bool {
    let inner = text
        .strip_prefix("```json")
        .or_else(|| text.strip_prefix("```"))
        .and_then(|rest| rest.strip_suffix("```"))
        .unwrap_or(text);
    let Ok(serde_json::Value::Object(object)) = serde_json::from_str(inner.trim()) else {
        return false;
    };
    let named = ["name", "tool", "function"]
        .iter()
        .any(|key| object.contains_key(*key));
    let given = ["arguments", "parameters", "input"]
        .iter()
        .any(|key| object.contains_key(*key));
    named && given
}

/// The last sentence announces a step, and no question is left to the reader.
fn is_promise(prose: &str) -> bool {
    let prose = prose
        .trim()
        .trim_end_matches(['.', ':', '…', '!', ' ', '\n']);
    if prose.contains('?') {
        return false;
    }
    let breaks = [". ", "! ", ": ", "\n"];
    let start = breaks
        .iter()
        .filter_map(|mark| Some(prose.rfind(mark)? + mark.len()))
        .max()
        .unwrap_or(0);
    let last = prose[start..].trim_start_matches(['-', '*', '_', '>', ' ']);
    let rest = OPENINGS
        .iter()
        .find_map(|opening| last.strip_prefix(opening));
    rest.is_some_and(|rest| !WAITING.iter().any(|word| rest.starts_with(word)))
}
