//! What a refusal means. The text is read before the status: a router says
//! "Provider returned error" and hides the truth in `metadata.raw`, and some
//! servers answer 500 to a request that can never pass.

use std::time::Duration;

use serde_json::Value;

use crate::{ErrorClass, ModelError, Trouble};

const LONGEST_DETAIL: usize = 300;

/// An answer that is an error.
#[derive(Debug, Clone, Default)]
pub(crate) struct Refusal {
    /// The HTTP status; nothing when the error came inside a 200 answer.
    pub status: Option<u16>,
    /// What the headers asked us to wait.
    pub retry_after: Option<Duration>,
    /// The body, JSON or not.
    pub body: String,
}

impl Refusal {
    /// An error object inside an answer that began well.
    pub(crate) fn in_stream(error: &Value) -> Self {
        Self {
            body: serde_json::json!({"error": error}).to_string(),
            ..Self::default()
        }
    }
}

/// Sorts a refusal.
pub(crate) fn classify(model: &str, refusal: &Refusal) -> ModelError {
    let body: Value = serde_json::from_str(refusal.body.trim()).unwrap_or(Value::Null);
    let facts = Facts::read(&body, refusal);
    let class = class_of(&facts);
    let mut trouble = Trouble::new(model, facts.detail());
    trouble.status = refusal.status;
    trouble.retry_after = facts.retry_after;
    class.with(trouble)
}

/// What the body of a refusal says.
struct Facts {
    status: Option<u16>,
    /// Codes and types, lower case.
    words: Vec<String>,
    /// Messages, the most telling first.
    messages: Vec<String>,
    moderated: bool,
    retryable: Option<bool>,
    retry_after: Option<Duration>,
}

impl Facts {
    fn read(body: &Value, refusal: &Refusal) -> Self {
        let error = body.get("error").unwrap_or(body);
        let raw = error.pointer("/metadata/raw");
        let inner: Value = match raw {
            Some(Value::String(text)) => serde_json::from_str(text).unwrap_or(Value::Null),
            Some(other) => other.clone(),
            None => Value::Null,
        };
        let inner_error = inner.get("error").unwrap_or(&inner);
        let mut words = Vec::new();
        let pointers = [
            "/code",
            "/type",
            "/metadata/error_type",
            "/metadata/provider_code",
            "/availability/code",
        ];
        for source in [inner_error, error] {
            words.extend(pointers.iter().filter_map(|p| source.pointer(p)).map(word));
        }
        let mut messages = Vec::new();
        let mut say = |value: Option<&Value>| {
            let text = value.and_then(Value::as_str).map(str::trim);
            messages.extend(text.filter(|t| !t.is_empty()).map(str::to_owned));
        };
        say(inner_error.get("message"));
        say(raw.filter(|_| inner.is_null()));
        say(error.get("message"));
        say(Some(error));
        say(body.get("detail"));
        say(body.get("message"));
        if messages.is_empty() {
            messages.push(refusal.body.trim().to_owned());
        }
        if let Some(Value::Array(models)) = error.pointer("/availability/fallback_models") {
            let models: Vec<&str> = models.iter().filter_map(Value::as_str).take(3).collect();
            messages[0].push_str(&format!(" (the provider suggests {})", models.join(", ")));
        }
        let code = words.iter().find_map(|word| word.parse().ok());
        Self {
            status: refusal.status.or(code),
            words,
            messages,
            moderated: error.pointer("/metadata/flagged_input").is_some()
                || error.pointer("/metadata/reasons").is_some(),
            retryable: error
                .pointer("/availability/retryable")
                .and_then(Value::as_bool),
            retry_after: refusal.retry_after.or_else(|| {
                let seconds = error.pointer("/availability/retry_after")?.as_f64()?;
                Duration::try_from_secs_f64(seconds).ok()
            }),
        }
    }

    fn has(&self, words: &[&str]) -> bool {
        self.words.iter().any(|word| words.contains(&word.as_str()))
    }

    fn says(&self, phrases: &[&str]) -> bool {
        self.messages.iter().any(|message| {
            let message = message.to_lowercase();
            phrases.iter().any(|phrase| message.contains(phrase))
        })
    }

    fn detail(&self) -> String {
        shorten(&self.messages[0])
    }
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_lowercase(),
        other => other.to_string(),
    }
}

fn class_of(facts: &Facts) -> ErrorClass {
    if facts.has(&["context_length_exceeded", "exceed_context_size_error"])
        || facts.says(&[
            "context length",
            "context size",
            "context window",
            "maximum context",
            "prompt is too long",
            "input is too long",
        ])
    {
        return ErrorClass::ContextTooLong;
    }
    if facts.has(&["insufficient_quota", "payment_required"]) {
        return ErrorClass::NoCredit;
    }
    if facts.moderated || facts.has(&["content_policy_violation", "refusal", "content_filter"]) {
        return ErrorClass::Filtered;
    }
    let class = by_status(facts);
    match (facts.retryable, class) {
        (Some(false), ErrorClass::RateLimited | ErrorClass::Overloaded) => ErrorClass::Rejected,
        (Some(true), ErrorClass::Rejected) => ErrorClass::Overloaded,
        _ => class,
    }
}

fn by_status(facts: &Facts) -> ErrorClass {
    match facts.status {
        Some(401) => ErrorClass::Auth,
        Some(402) => ErrorClass::NoCredit,
        Some(403) => ErrorClass::Forbidden,
        Some(408 | 504 | 524) => ErrorClass::Timeout,
        Some(413) => ErrorClass::ContextTooLong,
        Some(429) => ErrorClass::RateLimited,
        // llama.cpp and llama-cpp-python call a bad request their own failure.
        Some(500..) if is_our_fault(facts) => ErrorClass::Rejected,
        Some(500..) => ErrorClass::Overloaded,
        Some(_) => ErrorClass::Rejected,
        None if facts.has(&["rate_limit_exceeded", "rate_limit_error"]) => ErrorClass::RateLimited,
        None if facts.has(&["timeout"]) => ErrorClass::Timeout,
        None if facts.has(&["authentication", "authentication_error"]) => ErrorClass::Auth,
        None if facts.has(&["permission_denied"]) => ErrorClass::Forbidden,
        None if facts.has(&["invalid_request", "invalid_request_error", "invalid_prompt"]) => {
            ErrorClass::Rejected
        }
        None => ErrorClass::Overloaded,
    }
}

fn is_our_fault(facts: &Facts) -> bool {
    facts.has(&["invalid_request", "invalid_request_error", "invalid_prompt"])
        || facts.says(&[
            "failed to parse tool call arguments",
            "validation error",
            "field required",
            "failed to parse messages",
            "invalid json",
        ])
}

/// One line of bounded length, without the paths of somebody's server.
fn shorten(text: &str) -> String {
    let words = text.split_whitespace().map(|word| {
        let path = word.trim_start_matches(['"', '\'', '(']);
        let is_path = path.starts_with('/') && path.matches('/').count() > 2;
        if is_path { "…" } else { word }
    });
    let line = words.collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_DETAIL) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None if line.is_empty() => "no reason given".to_owned(),
        None => line,
    }
}
