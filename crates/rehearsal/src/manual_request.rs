//! A model request as a page that people can read, and an answer as they write it.

use std::{collections::HashMap, fmt::Write};

use butler_model::wire::Chat;
use butler_protocol::{ModelMessage, Role, ToolSpec};
use serde::Deserialize;
use serde_json::Value;

use crate::{Call, Played, PlayedCall};

/// What a person (or a model reached by hand) answers: YAML, or plain text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    say: Option<String>,
    #[serde(default)]
    call: Vec<Call>,
    /// An answer with nothing in it, as models sometimes give one.
    #[serde(default)]
    empty: bool,
}

/// A line that begins with one of these makes an answer YAML.
const KEYS: [&str; 3] = ["say:", "call:", "empty:"];

/// Reads an answer file. Plain text is an answer in text.
/// Errors: what is wrong, for the person who wrote it.
pub(crate) fn read_answer(role: Role, text: &str) -> Result<Played, String> {
    let looks_like_yaml = text
        .lines()
        .any(|line| KEYS.iter().any(|key| line.starts_with(key)));
    let written = if looks_like_yaml {
        serde_saphyr::from_str::<Written>(text)
            .map_err(|error| error.without_snippet().to_string())?
    } else {
        Written {
            say: Some(text.trim().to_owned()),
            call: Vec::new(),
            empty: false,
        }
    };
    let said = written
        .say
        .as_deref()
        .is_some_and(|say| !say.trim().is_empty());
    if !said && written.call.is_empty() && !written.empty {
        return Err(
            "the answer is empty: write `say:`, `call:` or plain text, or `empty: true`".to_owned(),
        );
    }
    let mut played = Played::text(role, written.say.unwrap_or_default());
    played.calls = written
        .call
        .into_iter()
        .map(|call| PlayedCall {
            tool: call.tool,
            arguments: Value::Object(call.with),
        })
        .collect();
    Ok(played)
}

/// Writes a request as Markdown: how to answer, what is new, the tools, the rest.
pub(crate) fn write_request(id: &str, chat: &Chat) -> String {
    let last_answer = chat
        .messages
        .iter()
        .rposition(|message| matches!(message, ModelMessage::Assistant { .. }))
        .map_or(0, |place| place + 1);
    let called = tools_called(&chat.messages);
    let mut page = format!(
        "# {id}\n\nmodel `{}`, {} messages, {} tools\n\n\
         Answer by writing `answers/{id}.yaml`: plain text, or\n\n\
         ```yaml\nsay: text for the thread, or progress beside calls\ncall:\n  - tool: Name\n    with: {{ field: value }}\n```\n\n\
         `empty: true` alone is an answer with nothing in it.\n\n\
         ## New\n\n",
        chat.model,
        chat.messages.len(),
        chat.tools.len(),
    );
    for message in &chat.messages[last_answer..] {
        if !matches!(message, ModelMessage::System { .. }) {
            write_message(&mut page, message, &called);
        }
    }
    page.push_str("## Tools\n\n");
    for tool in &chat.tools {
        write_tool(&mut page, tool);
    }
    page.push_str("\n## The whole conversation\n\n");
    for message in &chat.messages {
        write_message(&mut page, message, &called);
    }
    page
}

/// The tool of each call, so that a result can be told from the next one.
fn tools_called(messages: &[ModelMessage]) -> HashMap<&str, &str> {
    let mut called = HashMap::new();
    for message in messages {
        if let ModelMessage::Assistant { calls, .. } = message {
            let names = calls.iter();
            called.extend(names.map(|call| (call.id.as_str(), call.name.as_str())));
        }
    }
    called
}

fn write_tool(page: &mut String, tool: &ToolSpec) {
    let fields = tool.parameters.get("properties").and_then(Value::as_object);
    let required = tool.parameters.get("required").and_then(Value::as_array);
    let names: Vec<String> = fields
        .into_iter()
        .flatten()
        .map(|(name, _)| {
            let must = required.is_some_and(|list| list.iter().any(|field| field == name));
            format!("{name}{}", if must { "" } else { "?" })
        })
        .collect();
    // Writing to a string cannot fail.
    let (name, told, names) = (&tool.name, &tool.description, names.join(", "));
    let _ = writeln!(page, "- **{name}**({names}): {told}");
    for (name, field) in fields.into_iter().flatten() {
        write_field(page, name, field, "  ");
    }
}

/// A field as the model is told about it: without its choices nobody can guess them.
fn write_field(page: &mut String, name: &str, field: &Value, indent: &str) {
    let kind = field["type"].as_str().unwrap_or("any");
    let _ = write!(page, "{indent}- `{name}` {kind}");
    if let Some(choices) = field["enum"].as_array() {
        let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
        let _ = write!(page, " (one of {})", choices.join(", "));
    }
    if let Some(told) = field["description"].as_str() {
        let _ = write!(page, ": {}", told.replace('\n', " "));
    }
    page.push('\n');
    let parts = field["items"]["properties"].as_object();
    for (part, field) in parts.into_iter().flatten() {
        write_field(page, part, field, &format!("{indent}  "));
    }
}

fn write_message(page: &mut String, message: &ModelMessage, called: &HashMap<&str, &str>) {
    let _ = match message {
        ModelMessage::System { text } => write!(page, "### prompt\n\n{text}\n\n"),
        ModelMessage::User { text, .. } => write!(page, "### to the model\n\n{text}\n\n"),
        ModelMessage::Tool { text, call } => {
            let tool = called.get(call.as_str()).unwrap_or(&"a call");
            write!(page, "### result of {tool} ({call})\n\n{text}\n\n")
        }
        ModelMessage::Assistant { text, calls, .. } => {
            let text = text.as_deref().unwrap_or_default();
            let _ = write!(page, "### answer\n\n{text}\n\n");
            for call in calls {
                let (id, name, arguments) = (&call.id, &call.name, &call.arguments);
                let _ = writeln!(page, "- call {id} `{name}` {arguments}");
            }
            writeln!(page)
        }
    };
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_are_text_or_yaml() {
        let read = |text: &str| read_answer(Role::Pm, text);
        assert_eq!(
            read("Just do it.\nPlease.\n").unwrap().say.unwrap(),
            "Just do it.\nPlease."
        );
        let both = read("say: Looking.\ncall:\n  - tool: Read\n    with: { path: a, limit: 3 }\n")
            .unwrap();
        assert_eq!(both.say.as_deref(), Some("Looking."));
        assert_eq!(both.calls[0].arguments, json!({"path": "a", "limit": 3}));
        let json = read(r#"call: [{"tool": "Bash", "with": {"command": "ls"}}]"#).unwrap();
        assert_eq!(json.calls[0].tool, "Bash");
        let nothing = read("empty: true").unwrap();
        assert!(nothing.say.unwrap_or_default().is_empty() && nothing.calls.is_empty());
        for bad in [
            "",
            "say: ''",
            "empty: false",
            "call: [{ tol: x }]",
            "call: []",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_page_tells_what_a_model_is_told_of_a_tool() {
        let tool = ToolSpec {
            name: "Checklist".into(),
            description: "Keeps the steps.".into(),
            parameters: json!({"type": "object", "required": ["steps"], "properties": {
                "steps": {"type": "array", "description": "The whole\nlist.", "items": {
                    "type": "object", "properties": {
                        "state": {"type": "string", "enum": ["open", "done"]}}}}}}),
        };
        let mut page = String::new();
        write_tool(&mut page, &tool);
        for part in [
            "**Checklist**(steps): Keeps the steps.",
            "\n  - `steps` array: The whole list.\n",
            "\n    - `state` string (one of \"open\", \"done\")\n",
        ] {
            assert!(page.contains(part), "{page}");
        }
    }
}
