//! What a run says: lines for people on the error stream, or events for
//! programs on the output. Secrets are taken out of both.

use butler_agent::exec::{Outcome, Said, Session};
use butler_policy::Redactor;
use butler_protocol::count_of;
use serde_json::{Value, json};

use crate::{CliError, Exit, Paint, Ui, commands::run::exec::word};

/// More of a command or a result is not progress but noise.
const LINE: usize = 100;

pub(crate) struct Teller {
    json: bool,
    redactor: Redactor,
    answered: bool,
}

impl Teller {
    pub(crate) fn new(json: bool, redactor: Redactor) -> Self {
        Self {
            json,
            redactor,
            answered: false,
        }
    }

    pub(crate) fn hear(&mut self, said: Said, ui: &Ui) {
        if self.json {
            if let Ok(event) = serde_json::to_value(&said) {
                self.event(event, ui);
            }
            return;
        }
        match said {
            Said::Started {
                session,
                role,
                model,
                resumed,
                ..
            } => {
                let verb = if resumed { "resumed" } else { "session" };
                self.note(&format!("{verb} {session}: {role} with {model}"), ui);
            }
            Said::Turn { turn, text, .. } => {
                if let Some(text) = text {
                    self.note(&format!("[{turn}] {}", line(&text)), ui);
                }
            }
            Said::Call {
                tool, arguments, ..
            } => self.note(&format!("  {tool} {}", line(&gist(&arguments))), ui),
            Said::Result { ok, tool, text, .. } => {
                if !ok {
                    self.note(&format!("  {tool} failed: {}", line(&text)), ui);
                }
            }
            Said::Chose { what, why } => self.note(&format!("  {what}: {why}"), ui),
            Said::Notice { text } => self.note(&text, ui),
            Said::Answer { text } => {
                self.answered = true;
                // A reader that went away has no use for the text.
                let _ = ui.line(self.clean(&text).trim_end());
            }
        }
    }

    /// The last word.
    pub(crate) fn end(
        &mut self,
        outcome: &Outcome,
        session: &Session,
        exit: Exit,
        again: &str,
        ui: &Ui,
    ) -> Result<(), CliError> {
        if self.json {
            self.event(
                json!({
                    "event": "ended",
                    "how": word(outcome),
                    "text": outcome.text,
                    "turns": outcome.turns,
                    "cost_usd": outcome.cost.dollars(),
                    "session": session.id(),
                    "exit": exit.code(),
                }),
                ui,
            );
            return Ok(());
        }
        if let Some(text) = outcome.text.as_ref().filter(|_| !self.answered) {
            self.note(text, ui);
        }
        let how = match exit {
            Exit::Done => "done".green().to_string(),
            _ => word(outcome).replace('_', " "),
        };
        let cost = match outcome.turns {
            0 => outcome.cost.to_string(),
            _ => outcome.cost.or_unknown(),
        };
        ui.note(format_args!(
            "{how} ({}, {cost})",
            count_of(outcome.turns, "turn"),
        ));
        if exit != Exit::Done {
            // Alone on its line, to be copied whole.
            ui.note(format_args!("to go on: {again}"));
        }
        Ok(())
    }

    /// A text without its secrets.
    pub(crate) fn clean(&self, text: &str) -> String {
        self.redactor.redact(text).text
    }

    fn note(&self, text: &str, ui: &Ui) {
        ui.note(self.clean(text).dimmed());
    }

    fn event(&self, mut event: Value, ui: &Ui) {
        redact(&mut event, &self.redactor);
        let _ = ui.json(&event);
    }
}

/// Takes secrets out of every text of an event.
fn redact(value: &mut Value, redactor: &Redactor) {
    match value {
        Value::String(text) => *text = redactor.redact(text).text,
        Value::Array(values) => values.iter_mut().for_each(|value| redact(value, redactor)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|value| redact(value, redactor)),
        _ => {}
    }
}

/// What a call is about, without its braces.
fn gist(arguments: &Value) -> String {
    let first = ["command", "path", "pattern", "url", "query", "name"]
        .into_iter()
        .find_map(|key| arguments[key].as_str());
    first.map_or_else(|| arguments.to_string(), str::to_owned)
}

fn line(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    let mut short: String = first.chars().take(LINE).collect();
    if short.len() < text.trim_end().len() {
        short.push('…');
    }
    short
}
