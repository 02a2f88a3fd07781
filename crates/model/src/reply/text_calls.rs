//! Tool calls that a model wrote as text instead of sending them.
//!
//! Seen with weak models and wrong chat templates. A call is believed only when
//! it names a tool that was offered, stands outside code fences, and nothing
//! but further calls follows it: a model that explains or quotes markup to a
//! person must not run anything.

use serde_json::Value;

use crate::{
    catalog::names,
    reply::{gather::RawCall, lenient_json},
};

/// Opening and closing markup of the dialects that wrap a JSON object.
const WRAPPERS: [(&str, &str); 5] = [
    ("<tool_call>", "</tool_call>"),
    ("<|tool_call|>", "<|/tool_call|>"),
    ("<function_call>", "</function_call>"),
    ("[TOOL_CALLS]", ""),
    ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
];

/// Takes the calls out of a text. Returns the text before them and the calls,
/// or nothing when there are none to believe.
pub(crate) fn find(text: &str, tools: &[&str]) -> Option<(String, Vec<RawCall>)> {
    if tools.is_empty() {
        return None;
    }
    bare_object(text, tools)
        .or_else(|| wrapped(text, tools))
        .or_else(|| tagged(text, tools))
}

/// The whole text is one object, perhaps in a fence.
fn bare_object(text: &str, tools: &[&str]) -> Option<(String, Vec<RawCall>)> {
    let inner = crate::reply::repair::strip_fence(text.trim());
    if !inner.starts_with('{') {
        return None;
    }
    let (value, rest) = lenient_json::read(inner).ok()?;
    let call = object_call(&value, tools)?;
    rest.trim().is_empty().then(|| (String::new(), vec![call]))
}

/// `<tool_call>{…}</tool_call>` and its relatives, also a list inside.
fn wrapped(text: &str, tools: &[&str]) -> Option<(String, Vec<RawCall>)> {
    let (start, open, close) = WRAPPERS
        .iter()
        .filter_map(|(open, close)| Some((outside_fences(text, open)?, *open, *close)))
        .min_by_key(|(start, ..)| *start)?;
    let mut rest = &text[start..];
    let mut calls = Vec::new();
    while let Some(inner) = rest.trim_start().strip_prefix(open) {
        rest = if open.contains("section") {
            kimi_section(inner, tools, &mut calls)?
        } else {
            let (value, after) = lenient_json::read(inner).ok()?;
            match &value {
                Value::Array(list) => {
                    for item in list {
                        calls.push(object_call(item, tools)?);
                    }
                }
                _ => calls.push(object_call(&value, tools)?),
            }
            past(after, close)
        };
    }
    (rest.trim().is_empty() && !calls.is_empty())
        .then(|| (text[..start].trim_end().to_owned(), calls))
}

/// `<|tool_call_begin|>functions.Read:0<|tool_call_argument_begin|>{…}<|tool_call_end|>`, repeated.
fn kimi_section<'a>(
    mut rest: &'a str,
    tools: &[&str],
    calls: &mut Vec<RawCall>,
) -> Option<&'a str> {
    while let Some(inner) = rest.trim_start().strip_prefix("<|tool_call_begin|>") {
        let (name, inner) = inner.split_once("<|tool_call_argument_begin|>")?;
        let (value, after) = lenient_json::read(inner).ok()?;
        calls.push(RawCall {
            name: names::canonical(name, tools)?.to_owned(),
            arguments: value.to_string(),
        });
        rest = after.trim_start().strip_prefix("<|tool_call_end|>")?;
    }
    Some(past(rest, "<|tool_calls_section_end|>"))
}

/// What follows this markup, if it stands there.
fn past<'a>(text: &'a str, markup: &str) -> &'a str {
    let text = text.trim_start();
    text.strip_prefix(markup).unwrap_or(text)
}

/// `<function=Read><parameter=path>a</parameter></function>`, or an object inside.
fn tagged(text: &str, tools: &[&str]) -> Option<(String, Vec<RawCall>)> {
    const OPEN: &str = "<function=";
    let function = outside_fences(text, OPEN)?;
    // Qwen wraps it once more.
    let before = text[..function].trim_end();
    let before = before.strip_suffix("<tool_call>").unwrap_or(before);
    let mut rest = &text[function..];
    let mut calls = Vec::new();
    while let Some(inner) = rest.strip_prefix(OPEN) {
        let (name, inner) = inner.split_once('>')?;
        let (body, after) = inner.split_once("</function>")?;
        calls.push(RawCall {
            name: names::canonical(name, tools)?.to_owned(),
            arguments: tagged_arguments(body)?.to_string(),
        });
        rest = past(past(after, "</tool_call>"), "<tool_call>").trim_start();
    }
    (rest.is_empty() && !calls.is_empty()).then(|| (before.trim_end().to_owned(), calls))
}

fn tagged_arguments(body: &str) -> Option<Value> {
    let body = body.trim();
    if body.starts_with('{') {
        let (value, rest) = lenient_json::read(body).ok()?;
        return (value.is_object() && rest.trim().is_empty()).then_some(value);
    }
    let mut fields = serde_json::Map::new();
    let mut rest = body;
    while let Some(inner) = rest.strip_prefix("<parameter=") {
        let (name, inner) = inner.split_once('>')?;
        let (value, after) = inner.split_once("</parameter>")?;
        let value = value.strip_prefix('\n').unwrap_or(value);
        let value = value.strip_suffix('\n').unwrap_or(value);
        let read = match value {
            "true" | "false" => serde_json::from_str(value).ok()?,
            _ if value.parse::<i64>().is_ok() => serde_json::from_str(value).ok()?,
            _ => Value::from(value),
        };
        fields.insert(name.trim().to_owned(), read);
        rest = after.trim_start();
    }
    rest.is_empty().then_some(Value::Object(fields))
}

/// `{"name": …, "arguments": {…}}` with the usual other spellings.
fn object_call(value: &Value, tools: &[&str]) -> Option<RawCall> {
    let inner = value.get("function").filter(|f| f.is_object());
    let value = inner.unwrap_or(value);
    let mut names = ["name", "tool", "tool_name"].iter();
    let name = names.find_map(|key| value.get(*key)?.as_str())?;
    let mut keys = ["arguments", "parameters", "input", "args"].iter();
    let arguments = keys.find_map(|key| value.get(*key))?;
    let arguments = match arguments {
        Value::String(text) => text.clone(),
        Value::Object(_) => arguments.to_string(),
        _ => return None,
    };
    Some(RawCall {
        name: names::canonical(name, tools)?.to_owned(),
        arguments,
    })
}

/// Where `needle` first stands outside fenced blocks, if it does.
fn outside_fences(text: &str, needle: &str) -> Option<usize> {
    let mut offset = 0;
    let mut fenced = false;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced && let Some(at) = line.find(needle) {
            // In backticks it is a quotation.
            if line[..at].matches('`').count() % 2 == 0 {
                return Some(offset + at);
            }
        }
        offset += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TOOLS: [&str; 2] = ["Read", "Bash"];

    fn check(text: &str, before: &str, expected: &[(&str, Value)]) {
        let (kept, calls) = find(text, &TOOLS).unwrap_or_else(|| panic!("nothing in {text}"));
        assert_eq!(kept, before, "{text}");
        let calls: Vec<(&str, Value)> = calls
            .iter()
            .map(|call| {
                (
                    call.name.as_str(),
                    serde_json::from_str(&call.arguments).unwrap(),
                )
            })
            .collect();
        assert_eq!(calls, expected, "{text}");
    }

    #[test]
    fn the_dialects_are_read() {
        let read = [("Read", json!({"path": "a"}))];
        check(
            r#"<tool_call>{"name":"Read","arguments":{"path":"a"}}</tool_call>"#,
            "",
            &read,
        );
        check(
            "I look.\n<tool_call>\n{'name': 'read', 'arguments': {'path': 'a'}}\n</tool_call>\n",
            "I look.",
            &read,
        );
        check(
            r#"<tool_call>{"name":"Read","arguments":"{\"path\":\"a\"}"}"#,
            "",
            &read,
        );
        check(
            r#"{"name": "Read", "parameters": {"path": "a"}}"#,
            "",
            &read,
        );
        check(
            "```json\n{\"tool\": \"Read\", \"args\": {\"path\": \"a\"}}\n```",
            "",
            &read,
        );
        check(
            r#"[TOOL_CALLS][{"name":"Read","arguments":{"path":"a"}}]"#,
            "",
            &read,
        );
        check("<function=Read>{\"path\":\"a\"}</function>", "", &read);
        check(
            "Go.\n<tool_call>\n<function=Read>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>",
            "Go.",
            &read,
        );
        check(
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.Read:0<|tool_call_argument_begin|>{\"path\":\"a\"}<|tool_call_end|><|tool_calls_section_end|>",
            "",
            &read,
        );
        check(
            r#"<tool_call>{"name":"Read","arguments":{}}</tool_call> <tool_call>{"name":"Bash","arguments":{"command":"ls"}}</tool_call>"#,
            "",
            &[("Read", json!({})), ("Bash", json!({"command": "ls"}))],
        );
    }

    #[test]
    fn what_is_quoted_explained_or_unknown_is_not_run() {
        for text in [
            "plain words",
            "Use `<tool_call>{\"name\":\"Bash\",\"arguments\":{}}</tool_call>` like so",
            "Like this:\n```\n<tool_call>{\"name\":\"Bash\",\"arguments\":{}}</tool_call>\n```",
            "<tool_call>{\"name\":\"Bash\",\"arguments\":{}}</tool_call> is how a call looks",
            "<tool_call>{\"name\":\"Reboot\",\"arguments\":{}}</tool_call>",
            "<tool_call>{\"name\":\"Bash\",\"arguments\":{\"command\":\"rm",
            "{\"name\": \"Read\"}",
            "Here: {\"name\": \"Read\", \"arguments\": {}}",
        ] {
            assert_eq!(find(text, &TOOLS), None, "{text}");
        }
        assert_eq!(
            find(
                "<tool_call>{\"name\":\"Read\",\"arguments\":{}}</tool_call>",
                &[]
            ),
            None
        );
    }
}
