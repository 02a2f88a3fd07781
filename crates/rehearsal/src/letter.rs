//! A model request as a page that people can read, and an answer as they write it.

use std::fmt::Write;

use butler_model::wire::Chat;
use butler_vocab::{ModelMessage, Role, ToolSpec};
use serde::Deserialize;
use serde_json::Value;

use crate::{Call, Played, PlayedCall};

/// What a person (or a model reached by hand) answers: YAML, or plain text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    say: Option<String>,
    #[serde(default)]
    call: Vec<Call>,
}

/// Reads an answer file. Plain text is an answer in text.
///
/// # Errors
/// What is wrong, for the person who wrote it.
pub(crate) fn read_answer(role: Role, text: &str) -> Result<Played, String> {
    let looks_like_yaml = text
        .lines()
        .any(|line| line.starts_with("say:") || line.starts_with("call:"));
    let written = if looks_like_yaml {
        serde_saphyr::from_str::<Written>(text)
            .map_err(|error| error.without_snippet().to_string())?
    } else {
        Written {
            say: Some(text.trim().to_owned()),
            call: Vec::new(),
        }
    };
    let said = written
        .say
        .as_deref()
        .is_some_and(|say| !say.trim().is_empty());
    if !said && written.call.is_empty() {
        return Err("the answer is empty: write `say:`, `call:` or plain text".to_owned());
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
    let mut page = format!(
        "# {id}\n\nmodel `{}`, {} messages, {} tools\n\n\
         Answer by writing `answers/{id}.yaml`: plain text, or\n\n\
         ```yaml\nsay: text for the thread, or progress beside calls\ncall:\n  - tool: Name\n    with: {{ field: value }}\n```\n\n\
         ## New\n\n",
        chat.model,
        chat.messages.len(),
        chat.tools.len(),
    );
    for message in &chat.messages[last_answer..] {
        if !matches!(message, ModelMessage::System { .. }) {
            write_message(&mut page, message);
        }
    }
    page.push_str("## Tools\n\n");
    for tool in &chat.tools {
        write_tool(&mut page, tool);
    }
    page.push_str("\n## The whole conversation\n\n");
    for message in &chat.messages {
        write_message(&mut page, message);
    }
    page
}

fn write_tool(page: &mut String, tool: &ToolSpec) {
    let fields = tool.parameters.get("properties").and_then(Value::as_object);
    let required = tool.parameters.get("required").and_then(Value::as_array);
    let names: Vec<String> = fields
        .into_iter()
        .flatten()
        .map(|(name, _)| {
            let must = required.is_some_and(|list| list.iter().any(|field| field == name));
            if must {
                name.clone()
            } else {
                format!("{name}?")
            }
        })
        .collect();
    // Writing to a string cannot fail.
    let _ = writeln!(
        page,
        "- **{}**({}): {}",
        tool.name,
        names.join(", "),
        tool.description
    );
}

fn write_message(page: &mut String, message: &ModelMessage) {
    let _ = match message {
        ModelMessage::System { text } => write!(page, "### prompt\n\n{text}\n\n"),
        ModelMessage::User { text, .. } => write!(page, "### to the model\n\n{text}\n\n"),
        ModelMessage::Tool { text, call } => write!(page, "### result of {call}\n\n{text}\n\n"),
        ModelMessage::Assistant { text, calls, .. } => {
            let _ = write!(
                page,
                "### answer\n\n{}\n\n",
                text.as_deref().unwrap_or_default()
            );
            for call in calls {
                let _ = writeln!(
                    page,
                    "- call {} `{}` {}",
                    call.id, call.name, call.arguments
                );
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
        for bad in ["", "say: ''", "call: [{ tol: x }]", "call: []"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
