//! Is an answer without tool calls fit to be read by people? Four kinds are
//! not: an empty one, one with the markup of a tool call in it, one that
//! announces work and stops there, and one that was cut off.

use butler_policy::tools_with_rights;
use butler_protocol::without_code;
use serde_json::Value;

/// What an answer without calls is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quality {
    /// People may read it.
    Usable,
    Empty,
    /// A tool call that was written as text.
    Markup,
    /// "I will now …", and then nothing.
    Promise,
    /// Cut off at the length limit.
    Cut,
}

/// Stands at the end of a text that was cut off. It is part of what is written
/// to the log, so that a restart knows, and of what the model reads of itself.
const CUT_MARK: &str = "[cut off at the length limit]";

/// The text of an answer without calls that was cut off.
pub(crate) fn marked_as_cut(text: Option<&str>) -> String {
    format!("{} {CUT_MARK}", text.unwrap_or_default())
        .trim()
        .to_owned()
}

/// Beginnings of the markup that models leak when a call goes wrong.
const MARKUP: &[&str] = &[
    "<tool_call",
    "</tool_call",
    "<function_call",
    "<function=",
    "<functions.",
    "<invoke ",
    "<tool_use",
    "<|tool_call",
    "<|python_tag|>",
    "<|channel|>commentary to=",
    "<｜tool",
    "[tool_calls]",
    "[tool_call]",
    "\naction input:",
];

/// How a sentence begins that announces the writer's own next step; `␣` is a blank.
const OPENINGS: &str = include_str!("openings.txt");

/// What an announced step is not: waiting for the reader is a proper ending.
const WAITING: &[&str] = &[
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
    if text.ends_with(CUT_MARK) {
        return Quality::Cut;
    }
    // Somebody may explain markup in a code block; a text that is nothing but
    // a block explains nothing.
    let prose = match only_block(text) {
        Some(("tool_code", _)) => return Quality::Markup,
        Some((_, inner)) => inner.to_owned(),
        None => without_code(text),
    };
    let prose = prose.replace('’', "'").to_lowercase();
    let leaks = MARKUP.iter().any(|mark| prose.contains(mark));
    if leaks || prose.starts_with("functions.") || is_bare_call(&prose) || ends_in_a_call(text) {
        return Quality::Markup;
    }
    if is_promise(&prose) {
        return Quality::Promise;
    }
    Quality::Usable
}

/// The language and the inside of a code block that is the whole text.
fn only_block(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix("```")?.strip_suffix("```")?;
    let (language, inner) = inner.split_once('\n')?;
    (!inner.contains("```")).then_some((language.trim(), inner))
}

/// Words, and then nothing but a block with the JSON of a call of a tool that there
/// is: whoever explains one to a person goes on after it, or makes up its name.
fn ends_in_a_call(text: &str) -> bool {
    let last = text.strip_suffix("```").and_then(|text| {
        let (_, block) = text.rsplit_once("```")?;
        block.split_once('\n')
    });
    let Some((_, inside)) = last else {
        return false;
    };
    let Ok(Value::Object(call)) = serde_json::from_str(inside.trim()) else {
        return false;
    };
    let named = ["name", "tool"]
        .iter()
        .find_map(|key| call.get(*key)?.as_str());
    let with = ["arguments", "parameters", "input"];
    named.is_some_and(|name| tools_with_rights().any(|tool| tool == name))
        && with
            .iter()
            .any(|key| call.get(*key).is_some_and(Value::is_object))
}

/// The text is the JSON of a call.
fn is_bare_call(text: &str) -> bool {
    let Ok(Value::Object(object)) = serde_json::from_str(text.trim()) else {
        return false;
    };
    let any = |keys: [&str; 3]| keys.iter().any(|key| object.contains_key(*key));
    any(["name", "tool", "function"]) && any(["arguments", "parameters", "input"])
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
    let ends = |mark: &&str| Some(prose.rfind(*mark)? + mark.len());
    let start = breaks.iter().filter_map(ends).max();
    let last = prose[start.unwrap_or(0)..].trim_start_matches(['-', '*', '_', '>', ' ']);
    let mut openings = OPENINGS.lines().map(|opening| opening.replace('␣', " "));
    let rest = openings.find_map(|opening| last.strip_prefix(&opening));
    rest.is_some_and(|rest| !WAITING.iter().any(|word| rest.starts_with(word)))
}
