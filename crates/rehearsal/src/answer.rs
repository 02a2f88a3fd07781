//! An answer as bytes, with the faults that were asked for.
//!
//! The shapes are those of a real router: a comment first, the finish chunk
//! twice (the second time with usage), then `[DONE]`.

use butler_model::wire::Chat;
use serde_json::{Value, json};

use crate::{FaultKind, Played, fault::Fault};

/// Text comes in pieces of so many characters.
const PIECE: usize = 24;

/// A whole HTTP answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) retry_after_ms: Option<u64>,
    pub(crate) streams: bool,
    pub(crate) parts: Vec<Part>,
}

/// What happens on the connection, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    Bytes(Vec<u8>),
    Wait(u64),
    /// Nothing more comes, and the connection stays open.
    Stall,
    /// The connection breaks.
    Break,
}

impl Answer {
    /// A refusal with a body of the usual shape.
    pub(crate) fn refusal(status: u16, kind: &str, message: &str) -> Self {
        let body = json!({"error": {"code": status, "message": message, "type": kind}});
        Self {
            status,
            retry_after_ms: None,
            streams: false,
            parts: vec![Part::Bytes(body.to_string().into_bytes())],
        }
    }
}

/// The answer to `chat`, streamed or not as it was asked for.
pub(crate) fn answer(played: &Played, chat: &Chat, usage: &Value) -> Answer {
    let mut answer = match played.fault.as_ref() {
        Some(fault) => refusal(fault).unwrap_or_else(|| spoken(played, chat, usage)),
        None => spoken(played, chat, usage),
    };
    if played.delay_ms > 0 {
        answer.parts.insert(0, Part::Wait(played.delay_ms));
    }
    answer
}

fn refusal(fault: &Fault) -> Option<Answer> {
    let (status, kind, message) = match fault.kind {
        FaultKind::RateLimited => (429, "rate_limit_exceeded", "Rate limit exceeded"),
        FaultKind::Overloaded => (503, "provider_overloaded", "No provider is available"),
        FaultKind::BadGateway => (502, "provider_unavailable", "Provider returned error"),
        FaultKind::ContextTooLong => (
            400,
            "context_length_exceeded",
            "This request exceeds the maximum context length",
        ),
        FaultKind::NoCredit => (402, "payment_required", "Insufficient credits"),
        FaultKind::Auth => (401, "authentication", "No auth credentials found"),
        FaultKind::Forbidden => (403, "permission_denied", "The key's limit is reached"),
        FaultKind::Rejected => (400, "invalid_request", "Invalid request"),
        FaultKind::BadArguments500 => (
            500,
            "server_error",
            "Failed to parse tool call arguments as JSON",
        ),
        _ => return None,
    };
    let mut answer = Answer::refusal(status, kind, message);
    answer.retry_after_ms = fault.retry_after_ms;
    Some(answer)
}

fn spoken(played: &Played, chat: &Chat, usage: &Value) -> Answer {
    let fault = played.fault.as_ref().map(|fault| fault.kind);
    let parts = if chat.stream {
        streamed(played, chat, usage, fault)
    } else {
        buffered(played, chat, usage, fault)
    };
    Answer {
        status: 200,
        retry_after_ms: None,
        streams: chat.stream,
        parts,
    }
}

/// What the model says, once the faults inside the answer are applied.
struct Speech {
    text: String,
    /// Name and arguments as they go on the wire.
    calls: Vec<(String, String)>,
    finish: &'static str,
}

fn speech(played: &Played, fault: Option<FaultKind>) -> Speech {
    let mut text = played.say.clone().unwrap_or_default();
    let mut calls: Vec<(String, String)> = played
        .calls
        .iter()
        .map(|call| (call.tool.clone(), call.arguments.to_string()))
        .collect();
    let mut finish = if calls.is_empty() {
        "stop"
    } else {
        "tool_calls"
    };
    match fault {
        Some(FaultKind::Empty) => {
            text.clear();
            calls.clear();
            finish = "stop";
        }
        Some(FaultKind::Filtered) => finish = "content_filter",
        Some(FaultKind::NearJson) => {
            for (_, arguments) in &mut calls {
                // A raw line break for an escaped one, and a comma too many.
                *arguments = arguments.replace("\\n", "\n");
                if arguments.ends_with('}') && arguments.len() > 2 {
                    arguments.insert(arguments.len() - 1, ',');
                }
            }
        }
        Some(FaultKind::BrokenArguments) => {
            for (_, arguments) in &mut calls {
                arguments.insert_str(0, "[not an object] ");
            }
        }
        Some(FaultKind::OutputLimit) => {
            for (_, arguments) in &mut calls {
                arguments.truncate(arguments.floor_char_boundary(arguments.len() / 2));
            }
            finish = "length";
        }
        Some(FaultKind::ToolAsText) => {
            for (name, arguments) in calls.drain(..) {
                text.push_str(&format!(
                    "\n<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {arguments}}}\n</tool_call>"
                ));
            }
            finish = "stop";
        }
        _ => {}
    }
    Speech {
        text,
        calls,
        finish,
    }
}

fn buffered(played: &Played, chat: &Chat, usage: &Value, fault: Option<FaultKind>) -> Vec<Part> {
    let Speech {
        text,
        calls,
        finish,
    } = speech(played, fault);
    let calls: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(index, (name, arguments))| {
            json!({"index": index, "id": call_id(index), "type": "function",
                   "function": {"name": name, "arguments": arguments}})
        })
        .collect();
    let mut message = json!({"role": "assistant", "content": text});
    if !calls.is_empty() {
        message["tool_calls"] = Value::from(calls);
    }
    let mut choices = json!([{"index": 0, "finish_reason": finish, "message": message}]);
    if fault == Some(FaultKind::NoChoices) {
        choices = json!([]);
    }
    let body = json!({"id": "gen-rehearsal", "object": "chat.completion", "created": 0,
                      "model": chat.model, "choices": choices, "usage": usage});
    let bytes = body.to_string().into_bytes();
    let half = bytes[..bytes.len() / 2].to_vec();
    // A real router sends blank lines while the model works.
    let blank = Part::Bytes(b"\n         \n".to_vec());
    match fault {
        Some(FaultKind::Silence) => vec![Part::Stall],
        Some(FaultKind::Stall) => vec![blank, Part::Bytes(half), Part::Stall],
        Some(FaultKind::HalfChunk | FaultKind::Cut) => vec![Part::Bytes(half), Part::Break],
        Some(FaultKind::BadJson) => vec![Part::Bytes(half)],
        Some(FaultKind::MidStreamError) => {
            let error = json!({"error": mid_stream_error()});
            vec![blank, Part::Bytes(error.to_string().into_bytes())]
        }
        _ => vec![blank, Part::Bytes(bytes)],
    }
}

fn mid_stream_error() -> Value {
    json!({"code": 502, "message": "Provider disconnected",
           "metadata": {"error_type": "provider_unavailable"}})
}

fn streamed(played: &Played, chat: &Chat, usage: &Value, fault: Option<FaultKind>) -> Vec<Part> {
    let speech = speech(played, fault);
    let event = |data: &Value| Part::Bytes(format!("data: {data}\n\n").into_bytes());
    let chunk = |choices: Value| {
        json!({"id": "gen-rehearsal", "object": "chat.completion.chunk", "created": 0,
               "model": chat.model, "choices": choices})
    };
    let piece = |delta: Value| {
        event(&chunk(
            json!([{"index": 0, "delta": delta, "finish_reason": null}]),
        ))
    };
    let mut parts = vec![Part::Bytes(b": REHEARSAL\n\n".to_vec())];
    for delta in deltas(&speech) {
        parts.push(piece(delta));
        if played.pace_ms > 0 {
            parts.push(Part::Wait(played.pace_ms));
        }
    }
    let last = json!([{"index": 0, "delta": {"role": "assistant", "content": ""},
                       "finish_reason": speech.finish}]);
    let ending = [
        event(&chunk(last.clone())),
        event(&{
            let mut with_usage = chunk(last);
            with_usage["usage"] = usage.clone();
            with_usage
        }),
        Part::Bytes(b"data: [DONE]\n\n".to_vec()),
    ];
    let begun = parts.len().div_ceil(2);
    match fault {
        Some(FaultKind::Silence) => parts = vec![Part::Stall],
        Some(FaultKind::Stall) => {
            parts.truncate(begun.max(2));
            parts.push(Part::Stall);
        }
        Some(FaultKind::HalfChunk) => {
            parts.truncate(begun.max(2));
            parts.push(Part::Bytes(b"data: {\"id\":\"gen-re".to_vec()));
            parts.push(Part::Break);
        }
        Some(FaultKind::Cut) => parts.truncate(begun.max(2)),
        Some(FaultKind::MidStreamError) => {
            parts.truncate(begun.max(2));
            let mut failed = chunk(json!([{"index": 0, "delta": {"content": ""},
                                           "finish_reason": "error"}]));
            failed["error"] = mid_stream_error();
            parts.push(event(&failed));
        }
        Some(FaultKind::BadJson) => {
            parts.push(Part::Bytes(b"data: {\"id\": oops}\n\n".to_vec()));
            parts.extend(ending);
        }
        Some(FaultKind::NoChoices) => {
            parts = vec![
                event(&chunk(json!([]))),
                Part::Bytes(b"data: [DONE]\n\n".to_vec()),
            ];
        }
        _ => parts.extend(ending),
    }
    parts
}

/// The pieces of an answer: role, text, then each call in fragments.
fn deltas(speech: &Speech) -> Vec<Value> {
    let mut deltas = vec![json!({"role": "assistant", "content": null})];
    deltas.extend(pieces(&speech.text).map(|text| json!({"content": text})));
    for (index, (name, arguments)) in speech.calls.iter().enumerate() {
        deltas.push(
            json!({"tool_calls": [{"index": index, "id": call_id(index), "type": "function",
                           "function": {"name": name, "arguments": ""}}]}),
        );
        deltas.extend(pieces(arguments).map(
            |piece| json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}),
        ));
    }
    deltas
}

fn call_id(index: usize) -> String {
    format!("rehearsal.call:{index}")
}

fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest
            .char_indices()
            .nth(PIECE)
            .map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}
