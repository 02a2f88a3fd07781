//! From lines of logs to spans: message, activation, model call, tool call, hand-over,
//! merge. Names and figures only; nothing that anybody said or a tool answered.
//!
//! Ids are made from what they are about, so that a hub that was started anew goes on in
//! the same trace, and the role that receives a hand-over hangs below the one that gave it.

use std::collections::HashMap;

use butler_protocol::{
    CallId, Ending, Entry, HandOver, HandOverKind, Record, ReserveId, Sha256Hex, Speaker, ThreadId,
};
use serde_json::{Value, json};

/// A piece of work with its beginning and end, as OTLP's JSON has it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Span {
    trace: String,
    id: String,
    parent: Option<String>,
    name: String,
    from_ms: i64,
    to_ms: i64,
    failed: bool,
    facts: Vec<(&'static str, Value)>,
}

/// What one role has begun in one thread and not ended.
#[derive(Debug, Default)]
pub(super) struct Begun {
    /// The last line that was taken in; the next ones may have been told to another hub.
    pub(super) upto: u64,
    /// What woke it last.
    woken_by: Option<String>,
    activation: Option<(u32, i64, Option<String>)>,
    calls: HashMap<ReserveId, i64>,
    tools: HashMap<CallId, (String, i64)>,
}

/// Whose log it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whose<'a> {
    pub(super) thread: &'a ThreadId,
    pub(super) repo: &'a str,
    pub(super) role: &'a str,
}

fn id(length: usize, parts: &[&str]) -> String {
    let hash = Sha256Hex::of(parts.join("\n"));
    hash.as_str().chars().take(length).collect()
}

fn trace_of(thread: &ThreadId) -> String {
    id(32, &["trace", &thread.to_string()])
}

fn message_id(thread: &ThreadId, ts: &str) -> String {
    id(16, &["message", &thread.to_string(), ts])
}

/// The same for whoever gives it and whoever gets it.
fn hand_over_id(thread: &ThreadId, what: &HandOver) -> String {
    let body = serde_json::to_string(what).unwrap_or_default();
    id(16, &["hand-over", &thread.to_string(), &body])
}

fn hand_over_name(what: &HandOver) -> String {
    let kind = serde_json::to_value(what.kind()).unwrap_or_default();
    format!("hand over {}", kind.as_str().unwrap_or_default())
}

/// A pull request reached the default branch.
pub(super) fn merge(thread: &ThreadId, repo: &str, number: u64, at_ms: i64) -> Span {
    Span {
        trace: trace_of(thread),
        id: id(16, &["merge", &thread.to_string(), &number.to_string()]),
        parent: Some(message_id(thread, thread.root.as_str())),
        name: "merge".to_owned(),
        from_ms: at_ms,
        to_ms: at_ms,
        failed: false,
        facts: vec![
            ("codebutler.repo", json!(repo)),
            ("codebutler.pull_request", json!(number)),
        ],
    }
}

impl Begun {
    /// What is over with this line.
    pub(super) fn take(&mut self, whose: Whose<'_>, entry: &Entry) -> Option<Span> {
        let at = entry.at_ms;
        self.upto = entry.seq;
        match &entry.record {
            Record::User {
                ts: Some(ts),
                speaker: Speaker::Person { .. },
                ..
            } => {
                let own = message_id(whose.thread, ts.as_str());
                self.woken_by = Some(own.clone());
                let root = message_id(whose.thread, whose.thread.root.as_str());
                let parent = (root != own).then_some(root);
                Some(whose.span("message".to_owned(), own, parent, (at, at)))
            }
            Record::Received { hand_over, .. } => {
                let own = hand_over_id(whose.thread, hand_over);
                self.woken_by = Some(own.clone());
                // An approved plan is handed over by the approval, in nobody's log.
                let root = message_id(whose.thread, whose.thread.root.as_str());
                let approved = hand_over.kind() == HandOverKind::Task;
                let name = || hand_over_name(hand_over);
                approved.then(|| whose.span(name(), own, Some(root), (at, at)))
            }
            Record::ActivationStarted { activation } => {
                self.activation = Some((*activation, at, self.woken_by.clone()));
                None
            }
            Record::ActivationEnded { activation, ending } => {
                let (_, began, woken_by) = self.activation.take()?;
                let name = format!("{} works", whose.role);
                let own = whose.activation_id(*activation);
                let mut span = whose.span(name, own, woken_by, (began, at));
                span.failed = !matches!(ending, Ending::Done | Ending::PassedOn | Ending::Stopped);
                Some(span)
            }
            Record::Reserved { reserve, .. } => {
                self.calls.insert(reserve.clone(), at);
                None
            }
            Record::Settled {
                reserve,
                cost,
                usage,
                model,
            } => {
                let began = self.calls.remove(reserve)?;
                let own = whose.id(&["model", reserve.as_str()]);
                let mut span =
                    whose.span("model call".to_owned(), own, self.now(whose), (began, at));
                span.facts.extend([
                    ("gen_ai.request.model", json!(model)),
                    ("gen_ai.usage.input_tokens", json!(usage.input)),
                    ("gen_ai.usage.output_tokens", json!(usage.output)),
                    ("codebutler.cost_dollars", json!(cost.dollars())),
                ]);
                Some(span)
            }
            Record::ToolIntent { call, tool, .. } => {
                self.tools.insert(call.clone(), (tool.clone(), at));
                None
            }
            Record::ToolResult { call, outcome } => {
                let (tool, began) = self.tools.remove(call)?;
                let own = whose.id(&["tool", call.as_str()]);
                let mut span =
                    whose.span(format!("tool {tool}"), own, self.now(whose), (began, at));
                span.failed = !outcome.ok;
                span.facts.push(("gen_ai.tool.name", json!(tool)));
                Some(span)
            }
            Record::Gave { hand_over, .. } => {
                let own = hand_over_id(whose.thread, hand_over);
                let name = hand_over_name(hand_over);
                Some(whose.span(name, own, self.now(whose), (at, at)))
            }
            _ => None,
        }
    }

    /// The activation that it is at.
    fn now(&self, whose: Whose<'_>) -> Option<String> {
        let (activation, ..) = self.activation.as_ref()?;
        Some(whose.activation_id(*activation))
    }
}

impl Whose<'_> {
    fn id(&self, parts: &[&str]) -> String {
        let thread = self.thread.to_string();
        id(16, &[&[&thread, self.role], parts].concat())
    }

    fn activation_id(&self, number: u32) -> String {
        self.id(&["activation", &number.to_string()])
    }

    fn span(
        &self,
        name: String,
        id: String,
        parent: Option<String>,
        (from_ms, to_ms): (i64, i64),
    ) -> Span {
        Span {
            trace: trace_of(self.thread),
            id,
            parent,
            name,
            from_ms,
            to_ms: to_ms.max(from_ms),
            failed: false,
            facts: vec![
                ("codebutler.repo", json!(self.repo)),
                ("codebutler.role", json!(self.role)),
                ("codebutler.thread", json!(self.thread.short())),
            ],
        }
    }
}

/// Spans as a collector takes them (`POST /v1/traces`, OTLP in JSON).
pub(super) fn request(version: &str, spans: &[Span]) -> Value {
    let nanos = |ms: i64| format!("{ms}000000");
    let spans = spans.iter().map(|span| {
        json!({
            "traceId": span.trace, "spanId": span.id,
            "parentSpanId": span.parent.as_deref().unwrap_or_default(),
            "name": span.name, "kind": 1,
            "startTimeUnixNano": nanos(span.from_ms), "endTimeUnixNano": nanos(span.to_ms),
            "attributes": span.facts.iter().map(attribute).collect::<Vec<_>>(),
            "status": {"code": if span.failed { 2 } else { 1 }},
        })
    });
    let service = [
        ("service.name", json!("codebutler")),
        ("service.version", json!(version)),
    ];
    json!({"resourceSpans": [{
        "resource": {"attributes": service.iter().map(attribute).collect::<Vec<_>>()},
        "scopeSpans": [{"scope": {"name": "codebutler"}, "spans": spans.collect::<Vec<_>>()}],
    }]})
}

fn attribute((key, value): &(&'static str, Value)) -> Value {
    let value = match value {
        // 64-bit numbers are text in OTLP's JSON.
        Value::Number(number) if number.is_f64() => json!({"doubleValue": number}),
        Value::Number(number) => json!({"intValue": number.to_string()}),
        other => json!({"stringValue": other.as_str().unwrap_or_default()}),
    };
    json!({"key": key, "value": value})
}
