//! Events to one raw answer. Everything is optional, everything may come twice.
//!
//! Tools are never run on seeing `finish_reason`: it comes twice at OpenRouter,
//! and usage follows it. A buffered answer goes through the same code as one
//! chunk that holds a `message` instead of a `delta`.

use serde::Deserialize;
use serde_json::{Map, Value};

/// An answer as it came, joined but not judged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RawReply {
    pub text: String,
    /// A refusal in the provider's words.
    pub refusal: String,
    /// Tool calls in order.
    pub calls: Vec<RawCall>,
    /// The reasoning fields that were there.
    pub reasoning: Map<String, Value>,
    pub finish: Option<String>,
    /// What was counted.
    pub usage: Option<Value>,
    /// An error inside a 200 answer.
    pub error: Option<Value>,
    pub any_choice: bool,
    /// Whether the end was announced, by a finish reason or by `[DONE]`.
    pub ended: bool,
}

/// A tool call as it came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawCall {
    /// The name as sent.
    pub name: String,
    /// The arguments as sent: almost JSON at best.
    pub arguments: String,
}

#[derive(Debug, Default)]
struct Piece {
    index: Option<i64>,
    id: String,
    call: RawCall,
}

/// What is looked at of a chunk: nothing else in it is kept, not even while it is read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Chunk {
    error: Value,
    usage: Value,
    choices: Value,
}

impl Chunk {
    fn of(mut chunk: Value) -> Self {
        let mut take = |key: &str| chunk.get_mut(key).map(Value::take).unwrap_or_default();
        Self {
            error: take("error"),
            usage: take("usage"),
            choices: take("choices"),
        }
    }
}

/// Collects the chunks of one answer.
#[derive(Debug, Default)]
pub struct Gather {
    reply: RawReply,
    pieces: Vec<Piece>,
}

impl Gather {
    /// Takes the data of one event; returns the text it added.
    /// Fails when the data is not JSON.
    pub fn event(&mut self, data: &str) -> Result<String, serde_json::Error> {
        let data = data.trim();
        if data.is_empty() {
            return Ok(String::new());
        }
        if data == "[DONE]" {
            self.reply.ended = true;
            return Ok(String::new());
        }
        let chunk = match serde_json::from_str(data) {
            Ok(chunk) if data.starts_with('{') => chunk,
            // No usual chunk, and read as whatever it is.
            _ => Chunk::of(serde_json::from_str(data)?),
        };
        Ok(self.said_in(&chunk))
    }

    /// Takes one chunk, or a whole buffered answer; returns the text it added.
    fn said_in(&mut self, chunk: &Chunk) -> String {
        if !chunk.error.is_null() {
            self.reply.error = Some(chunk.error.clone());
        }
        if chunk.usage.is_object() {
            self.reply.usage = Some(chunk.usage.clone());
        }
        let choices = chunk.choices.as_array();
        let first = choices.into_iter().flatten().find(|choice| {
            // Only one answer was asked for.
            choice.get("index").and_then(Value::as_i64).unwrap_or(0) == 0
        });
        first.map(|choice| self.choice(choice)).unwrap_or_default()
    }

    fn choice(&mut self, choice: &Value) -> String {
        self.reply.any_choice = true;
        if let Some(error) = choice.get("error").filter(|error| !error.is_null()) {
            self.reply.error = Some(error.clone());
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            self.reply.finish = Some(reason.to_owned());
            self.reply.ended = true;
        }
        let whole = choice.get("message").filter(|m| m.is_object());
        let Some(said) = whole.or_else(|| choice.get("delta")) else {
            return String::new();
        };
        if whole.is_some() {
            self.reply.ended = true;
        }
        self.said(said, whole.is_some())
    }

    fn said(&mut self, said: &Value, whole: bool) -> String {
        let text = content(said.get("content"));
        self.reply.text.push_str(&text);
        if let Some(refusal) = said.get("refusal").and_then(Value::as_str) {
            self.reply.refusal.push_str(refusal);
        }
        for field in ["reasoning_content", "reasoning"] {
            if let Some(more) = said.get(field).and_then(Value::as_str) {
                append_text(&mut self.reply.reasoning, field, more);
            }
        }
        if let Some(Value::Array(blocks)) = said.get("reasoning_details") {
            self.reasoning_blocks(blocks, whole);
        }
        if let Some(Value::Array(calls)) = said.get("tool_calls") {
            for call in calls {
                self.call(call, whole);
            }
        }
        if let Some(call) = said.get("function_call").filter(|call| call.is_object()) {
            self.call_part(0, call);
        }
        text
    }

    fn reasoning_blocks(&mut self, blocks: &[Value], whole: bool) {
        let field = self.reply.reasoning.entry("reasoning_details");
        let Value::Array(kept) = field.or_insert_with(|| Value::Array(Vec::new())) else {
            return;
        };
        for block in blocks {
            let same = |other: &&mut Value| {
                other.get("index") == block.get("index") && other.get("type") == block.get("type")
            };
            match kept.iter_mut().rev().find(same) {
                Some(Value::Object(before)) if !whole => join_block(before, block),
                _ => kept.push(block.clone()),
            }
        }
    }

    fn call(&mut self, call: &Value, whole: bool) {
        let index = call.get("index").and_then(Value::as_i64);
        let id = call.get("id").and_then(Value::as_str).unwrap_or_default();
        let name = call.pointer("/function/name").and_then(Value::as_str);
        let named = name.is_some_and(|name| !name.is_empty());
        let place = self.place(index, id, named).filter(|_| !whole);
        let place = place.unwrap_or_else(|| {
            self.pieces.push(Piece {
                index,
                id: id.to_owned(),
                call: RawCall::default(),
            });
            self.pieces.len() - 1
        });
        if let Some(function) = call.get("function") {
            self.call_part(place, function);
        }
    }

    /// Which call a fragment belongs to: by index unless another id says that a
    /// new call took it over, else by id, else the last one unless it is named anew.
    fn place(&self, index: Option<i64>, id: &str, named: bool) -> Option<usize> {
        if index.is_some() {
            let place = self.pieces.iter().rposition(|piece| piece.index == index)?;
            let other = &self.pieces[place].id;
            let taken_over = !id.is_empty() && !other.is_empty() && id != other;
            return (!taken_over).then_some(place);
        }
        if !id.is_empty() {
            return self.pieces.iter().rposition(|piece| piece.id == id);
        }
        (!named).then(|| self.pieces.len().checked_sub(1)).flatten()
    }

    fn call_part(&mut self, place: usize, function: &Value) {
        if self.pieces.len() <= place {
            self.pieces.resize_with(place + 1, Piece::default);
        }
        let call = &mut self.pieces[place].call;
        if let Some(name) = function.get("name").and_then(Value::as_str)
            && call.name.is_empty()
        {
            name.clone_into(&mut call.name);
        }
        match function.get("arguments") {
            Some(Value::String(more)) => call.arguments.push_str(more),
            Some(object @ Value::Object(_)) => call.arguments = object.to_string(),
            _ => {}
        }
    }

    /// Whether the end was announced: without that the connection was lost.
    pub const fn ended(&self) -> bool {
        self.reply.ended || self.reply.error.is_some()
    }

    /// Bytes of answer so far, to guess what a broken stream cost.
    pub fn size(&self) -> u64 {
        let calls = self.pieces.iter();
        let calls: usize = calls.map(|piece| piece.call.arguments.len()).sum();
        let thoughts = self.reply.reasoning.values();
        let length = |value: &Value| match value {
            Value::String(text) => text.len(),
            other => other.to_string().len(),
        };
        let thoughts: usize = thoughts.map(length).sum();
        (self.reply.text.len() + calls + thoughts) as u64
    }

    /// The answer.
    pub fn finish(self) -> RawReply {
        let mut reply = self.reply;
        reply.calls = self.pieces.into_iter().map(|piece| piece.call).collect();
        reply
    }
}

fn content(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| part.get("text").and_then(Value::as_str))
            .collect(),
        _ => String::new(),
    }
}

/// Text, summary and data grow; signature, id and format arrive late and are set.
fn join_block(before: &mut Map<String, Value>, fragment: &Value) {
    let Some(fields) = fragment.as_object() else {
        return;
    };
    for (key, value) in fields {
        match (key.as_str(), value) {
            (_, Value::Null) => {}
            ("text" | "summary" | "data", Value::String(more)) => append_text(before, key, more),
            _ => {
                before.insert(key.clone(), value.clone());
            }
        }
    }
}

fn append_text(fields: &mut Map<String, Value>, key: &str, more: &str) {
    match fields.get_mut(key) {
        Some(Value::String(text)) => text.push_str(more),
        _ => {
            fields.insert(key.to_owned(), Value::String(more.to_owned()));
        }
    }
}
