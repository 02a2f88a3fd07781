//! From tracing events to log lines. The spans around an event say who was at
//! work (`role`, `thread`, `turn`, `tool`); secrets are taken out here, once,
//! before a line goes anywhere.

use std::{collections::BTreeMap, fmt};

use butler_protocol::{LogLevel, LogLine, Role};
use serde_json::{Value, json};
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    layer::{Context, Layer},
    registry::LookupSpan,
};

use super::{Sinks, now_ms};

/// Turns events into lines and hands them to the sinks.
pub(crate) struct Scribe {
    pub process: String,
    pub sinks: Sinks,
}

/// What a span says about the work inside it.
#[derive(Debug, Clone, Default)]
struct About(BTreeMap<&'static str, Value>);

impl<S> Layer<S> for Scribe
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut about = About::default();
        attributes.record(&mut about);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(about);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(about) = span.extensions_mut().get_mut::<About>()
        {
            values.record(about);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut all = About::default();
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(about) = span.extensions().get::<About>() {
                for (name, value) in &about.0 {
                    // The innermost span is asked first, and wins.
                    all.0.entry(name).or_insert_with(|| value.clone());
                }
            }
        }
        event.record(&mut all);
        let line = self.line(*event.metadata().level(), all);
        self.sinks.write(&line);
    }
}

impl Scribe {
    fn line(&self, level: Level, About(mut fields): About) -> LogLine {
        let mut text = |name: &str| match fields.remove(name)? {
            Value::String(text) => Some(text),
            other => Some(other.to_string()),
        };
        let message = text("message").unwrap_or_default();
        let role = text("role").and_then(|role| role.parse::<Role>().ok());
        let thread = text("thread");
        let turn = text("turn").and_then(|turn| turn.parse().ok());
        let tool = text("tool");
        let mut line = LogLine {
            at_ms: now_ms(),
            level: level_of(level),
            process: self.process.clone(),
            role,
            thread,
            turn,
            tool,
            message,
            fields: fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        };
        self.sinks.redact(&mut line);
        line
    }
}

fn level_of(level: Level) -> LogLevel {
    match level {
        Level::ERROR => LogLevel::Error,
        Level::WARN => LogLevel::Warn,
        Level::INFO => LogLevel::Info,
        Level::DEBUG => LogLevel::Debug,
        Level::TRACE => LogLevel::Trace,
    }
}

impl Visit for About {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), json!(format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), json!(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name(), json!(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name(), json!(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name(), json!(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name(), json!(value));
    }
}
