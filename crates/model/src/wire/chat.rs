//! Reads a chat-completions request, for servers that play a model. The
//! inverse of [`super::body`], and as lenient as a real server.

use butler_protocol::{CallId, ModelMessage, ToolCall, ToolSpec};
use serde_json::{Value, json};

/// A request that is no chat-completions request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChatError {
    /// A field is missing or has the wrong type.
    #[error("field `{0}` is missing or has the wrong type")]
    Field(&'static str),
    /// A message that cannot be read.
    #[error("message {place}: {problem}")]
    Message {
        /// Which, from 0.
        place: usize,
        problem: String,
    },
}

/// A request as a server sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Chat {
    pub model: String,
    pub messages: Vec<ModelMessage>,
    pub tools: Vec<ToolSpec>,
    pub stream: bool,
    /// Whether a stream should end with usage.
    pub include_usage: bool,
    /// The output limit, under whichever name it came.
    pub max_tokens: Option<u64>,
}

impl Chat {
    /// Reads a request body.
    /// Errors: [`ChatError`] naming the field or message.
    pub fn read(body: &Value) -> Result<Self, ChatError> {
        let model = body["model"].as_str().ok_or(ChatError::Field("model"))?;
        let messages = body["messages"].as_array();
        let messages = messages.ok_or(ChatError::Field("messages"))?.iter();
        let messages = messages.enumerate().map(|(place, message)| {
            read_message(message).map_err(|problem| ChatError::Message { place, problem })
        });
        let tools = body.get("tools").and_then(Value::as_array);
        let number = |key: &str| body.get(key).and_then(Value::as_u64);
        let flag = |pointer: &str| body.pointer(pointer) == Some(&Value::Bool(true));
        Ok(Self {
            model: model.to_owned(),
            messages: messages.collect::<Result<_, _>>()?,
            tools: tools.into_iter().flatten().filter_map(read_tool).collect(),
            stream: flag("/stream"),
            include_usage: flag("/stream_options/include_usage"),
            max_tokens: number("max_tokens").or_else(|| number("max_completion_tokens")),
        })
    }
}

fn read_tool(tool: &Value) -> Option<ToolSpec> {
    let function = tool.get("function")?;
    let text = |key: &str| function.get(key).and_then(Value::as_str);
    Some(ToolSpec {
        name: text("name")?.to_owned(),
        description: text("description").unwrap_or_default().to_owned(),
        parameters: function.get("parameters").cloned().unwrap_or(json!({})),
    })
}

fn read_message(message: &Value) -> Result<ModelMessage, String> {
    let role = message.get("role").and_then(Value::as_str);
    let text = || read_content(message.get("content"));
    match role {
        Some("system" | "developer") => Ok(ModelMessage::System { text: text() }),
        Some("user") => Ok(ModelMessage::User {
            text: text(),
            images: Vec::new(),
        }),
        Some("tool") => {
            let call = message.get("tool_call_id").and_then(Value::as_str);
            Ok(ModelMessage::Tool {
                call: CallId::new(call.ok_or("a tool message needs a `tool_call_id`")?),
                text: text(),
            })
        }
        Some("assistant") => {
            let calls = message.get("tool_calls").and_then(Value::as_array);
            let calls = calls.into_iter().flatten().map(read_call);
            Ok(ModelMessage::Assistant {
                text: Some(text()).filter(|text| !text.is_empty()),
                calls: calls.collect::<Result<_, _>>()?,
                reasoning: None,
            })
        }
        other => Err(format!("unknown role {other:?}")),
    }
}

/// A string, or the texts of a list of parts; pictures are not read.
fn read_content(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| part.get("text").and_then(Value::as_str))
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}

fn read_call(call: &Value) -> Result<ToolCall, String> {
    let text = |pointer: &str| call.pointer(pointer).and_then(Value::as_str);
    let arguments = text("/function/arguments").ok_or("a tool call needs `function.arguments`")?;
    let parsed: Value = serde_json::from_str(arguments)
        .map_err(|error| format!("tool call arguments are not JSON: {error}"))?;
    Ok(ToolCall {
        id: CallId::new(text("/id").unwrap_or_default()),
        name: text("/function/name").unwrap_or_default().to_owned(),
        arguments: parsed,
        problem: None,
    })
}
