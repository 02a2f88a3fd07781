//! One request as JSON.

use butler_protocol::{Image, ToolCall, ToolSpec};
use serde_json::{Map, Value, json};

use super::{
    cache::{self, Marks},
    reasoning, settle,
    settle::Line,
};
use crate::{EndpointKind, ModelRequest};

/// Some providers refuse a smaller limit.
const LEAST_TOKENS: u32 = 16;

/// How one endpoint wants its messages.
pub(super) struct Dialect<'a> {
    pub(super) kind: EndpointKind,
    pub(super) model: &'a str,
    /// Cache markers live in content parts, so every content is a list of parts.
    pub(super) marks: Option<Marks>,
}

/// The body of a request. Static fields first, `messages` last.
pub fn body(request: &ModelRequest, kind: EndpointKind) -> Value {
    let mut fields = head(request, kind);
    if !request.tools.is_empty() {
        fields.insert("tools".into(), request.tools.iter().map(tool).collect());
    }
    let lines = settle(&request.messages);
    let kinds: Vec<_> = lines.iter().map(Line::kind).collect();
    let dialect = Dialect {
        kind,
        model: &request.model,
        marks: cache::marks(request, kind, &kinds),
    };
    let messages = lines
        .iter()
        .enumerate()
        .map(|(place, line)| dialect.message(line, place))
        .collect();
    fields.insert("messages".into(), messages);
    Value::Object(fields)
}

/// The fields before tools and messages.
pub(super) fn head(request: &ModelRequest, kind: EndpointKind) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| {
        fields.insert(key.to_owned(), value);
    };
    put("model", json!(request.model));
    put("stream", json!(request.stream));
    if request.stream {
        // OpenRouter ignores it; without it llama.cpp, vLLM and OpenAI send no usage.
        put("stream_options", json!({"include_usage": true}));
    }
    let limit = request.max_tokens.max(LEAST_TOKENS);
    match kind {
        EndpointKind::Openai => put("max_completion_tokens", json!(limit)),
        EndpointKind::Openrouter | EndpointKind::Generic => put("max_tokens", json!(limit)),
    }
    if kind == EndpointKind::Generic {
        return fields;
    }
    if let Some(user) = &request.user {
        put("user", json!(user));
    }
    if kind == EndpointKind::Openai {
        if let Some(session) = &request.session {
            put("prompt_cache_key", json!(session));
        }
        if let Some(effort) = request.effort {
            put("reasoning_effort", json!(effort));
        }
        return fields;
    }
    if let Some(session) = &request.session {
        let session: String = session.chars().take(256).collect();
        put("session_id", json!(session));
    }
    if let Some(effort) = request.effort {
        put("reasoning", json!({"effort": effort}));
    }
    if let Some(routing) = &request.routing {
        put("provider", routing.clone());
    }
    // On by default for small windows, where the middle of the prompt is cut without a word.
    let compression = json!([{"id": "context-compression", "enabled": false}]);
    put("plugins", compression);
    fields
}

pub(super) fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": wire_name(&spec.name),
            "description": spec.description,
            "parameters": spec.parameters,
        },
    })
}

/// A name that providers accept: a model may have invented one that is not.
fn wire_name(name: &str) -> String {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut text: String = name
        .chars()
        .take(64)
        .map(|c| if fine(c) { c } else { '_' })
        .collect();
    if text.is_empty() {
        text.push('_');
    }
    text
}

fn call(call: &ToolCall) -> Value {
    let arguments = match &call.arguments {
        object @ Value::Object(_) => object.to_string(),
        _ => "{}".to_owned(),
    };
    json!({
        "id": call.id,
        "type": "function",
        "function": {"name": wire_name(&call.name), "arguments": arguments},
    })
}

fn picture(image: &Image) -> Value {
    let url = format!("data:{};base64,{}", image.media_type, image.base64);
    json!({"type": "image_url", "image_url": {"url": url}})
}

impl Dialect<'_> {
    pub(super) fn message(&self, line: &Line<'_>, place: usize) -> Value {
        match line {
            Line::System(text) => json!({
                "role": "system",
                "content": self.content(text, &[], place),
            }),
            Line::User { text, images } => json!({
                "role": "user",
                "content": self.content(text, images, place),
            }),
            Line::Tool { call, text } => json!({
                "role": "tool",
                "tool_call_id": call,
                "content": self.content(text, &[], place),
            }),
            Line::Assistant {
                text,
                calls,
                reasoning: kept,
            } => {
                let mut fields = Map::new();
                fields.insert("role".into(), json!("assistant"));
                let content = match text {
                    Some(text) => json!(text),
                    // llama-cpp-python answers 500 to null, Claude 400 to "".
                    None if self.kind == EndpointKind::Generic => json!(""),
                    None => Value::Null,
                };
                fields.insert("content".into(), content);
                if let Some(kept) = kept {
                    reasoning::restore(&mut fields, kept, self.model);
                }
                if !calls.is_empty() {
                    fields.insert("tool_calls".into(), calls.iter().map(call).collect());
                }
                Value::Object(fields)
            }
        }
    }

    /// A plain string, unless there are pictures or the dialect marks its parts.
    fn content(&self, text: &str, images: &[&Image], place: usize) -> Value {
        if images.is_empty() && self.marks.is_none() {
            return json!(text);
        }
        let mut parts = Vec::with_capacity(images.len() + 1);
        if !text.is_empty() || images.is_empty() {
            // Claude refuses an empty text part.
            let text = if text.is_empty() { "(empty)" } else { text };
            parts.push(json!({"type": "text", "text": text}));
        }
        parts.extend(images.iter().map(|image| picture(image)));
        if let (Some(marks), Some(Value::Object(last))) = (&self.marks, parts.last_mut()) {
            marks.mark(last, place);
        }
        Value::Array(parts)
    }
}
