//! Brings a conversation into a form that every provider accepts: one system
//! message at the front, adjacent user messages merged, every tool call followed
//! by exactly one result in call order, nothing blank, no result without a call.
//!
//! The loop's own fold already does most of this; a provider answers 400 on
//! every later turn when it does not, so it is done again here.

use std::{borrow::Cow, sync::Arc};

use butler_protocol::{CallId, Image, ModelMessage, ToolCall};
use serde_json::Value;

/// What stands in for the result of a call that has none.
pub const ABANDONED: &str =
    "interrupted: this call has no result. Look at the state before you try again.";

/// One message as it goes on the wire.
#[derive(Debug, Clone, PartialEq)]
pub enum Line<'a> {
    /// The prompt.
    System(Cow<'a, str>),
    /// One or more user messages.
    User {
        /// Their texts, joined.
        text: Cow<'a, str>,
        images: Vec<&'a Image>,
    },
    /// What the model said.
    Assistant {
        /// Text without trailing blanks (a provider refuses those), never empty.
        text: Option<Cow<'a, str>>,
        /// Calls, each answered right after this message.
        calls: &'a [ToolCall],
        /// Reasoning to be returned.
        reasoning: Option<&'a Value>,
    },
    /// The result of one call.
    Tool {
        call: &'a CallId,
        text: Cow<'a, str>,
    },
}

/// Who a line is from, as far as caches care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Prompt,
    /// What people and tools say.
    Input,
    /// What the model said.
    Answer,
}

impl Line<'_> {
    pub(super) const fn kind(&self) -> Kind {
        match self {
            Line::System(_) => Kind::Prompt,
            Line::User { .. } | Line::Tool { .. } => Kind::Input,
            Line::Assistant { .. } => Kind::Answer,
        }
    }
}

/// Settles a conversation.
pub fn settle(messages: &[Arc<ModelMessage>]) -> Vec<Line<'_>> {
    let stretches = stretches(messages).enumerate();
    stretches
        .flat_map(|(number, stretch)| settle_stretch(stretch, number == 0))
        .collect()
}

/// An answer of the model with all that follows it up to the next one; the first
/// stretch is what stands before any answer. None depends on another.
pub(super) fn stretches(
    messages: &[Arc<ModelMessage>],
) -> impl Iterator<Item = &[Arc<ModelMessage>]> {
    messages.chunk_by(|_, next| !is_answer(next))
}

/// Whether a message is an answer that has something in it.
pub(super) fn is_answer(message: &ModelMessage) -> bool {
    match message {
        ModelMessage::Assistant { text, calls, .. } => {
            !calls.is_empty() || said(text.as_ref()).is_some()
        }
        _ => false,
    }
}

/// What was said, if anything, without trailing blanks.
fn said(text: Option<&String>) -> Option<&str> {
    let text = text?.trim_end();
    (!text.is_empty()).then_some(text)
}

/// Settles one stretch; only the first may begin with a prompt.
pub(super) fn settle_stretch(messages: &[Arc<ModelMessage>], first: bool) -> Vec<Line<'_>> {
    let mut lines = Vec::with_capacity(messages.len());
    for (place, message) in messages.iter().enumerate() {
        match &**message {
            ModelMessage::System { text } if first && lines.is_empty() => {
                lines.push(Line::System(clean(text)));
            }
            // A second system message is refused by strict templates.
            ModelMessage::System { text } => push_user(&mut lines, text, &[]),
            ModelMessage::User { text, images } => push_user(&mut lines, text, images),
            ModelMessage::Assistant {
                text,
                calls,
                reasoning,
            } => {
                let text = said(text.as_ref());
                if text.is_none() && calls.is_empty() {
                    continue;
                }
                lines.push(Line::Assistant {
                    text: text.map(clean),
                    calls,
                    reasoning: reasoning.as_ref(),
                });
                lines.extend(results(calls, &messages[place + 1..]));
            }
            // Taken by its assistant message above, or an orphan.
            ModelMessage::Tool { .. } => {}
        }
    }
    lines
}

/// The results of `calls`, in call order, from what follows up to the next answer.
fn results<'a>(
    calls: &'a [ToolCall],
    rest: &'a [Arc<ModelMessage>],
) -> impl Iterator<Item = Line<'a>> {
    let end = rest
        .iter()
        .position(|message| matches!(**message, ModelMessage::Assistant { .. }))
        .unwrap_or(rest.len());
    calls.iter().map(move |wanted| {
        let text = rest[..end].iter().find_map(|message| match &**message {
            ModelMessage::Tool { call, text } if *call == wanted.id => Some(text.as_str()),
            _ => None,
        });
        Line::Tool {
            call: &wanted.id,
            text: clean(text.unwrap_or(ABANDONED)),
        }
    })
}

fn push_user<'a>(lines: &mut Vec<Line<'a>>, text: &'a str, images: &'a [Image]) {
    let blank = text.trim().is_empty();
    if blank && images.is_empty() {
        return;
    }
    if let Some(Line::User {
        text: before,
        images: seen,
    }) = lines.last_mut()
    {
        if !blank {
            let joined = before.to_mut();
            if !joined.is_empty() {
                joined.push_str("\n\n");
            }
            joined.push_str(&clean(text));
        }
        seen.extend(images);
        return;
    }
    lines.push(Line::User {
        text: if blank {
            Cow::Borrowed("")
        } else {
            clean(text)
        },
        images: images.iter().collect(),
    });
}

/// A zero byte is legal JSON and refused by several providers.
fn clean(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn user(text: &str) -> ModelMessage {
        ModelMessage::User {
            text: text.into(),
            images: Vec::new(),
        }
    }

    fn assistant(text: Option<&str>, calls: &[&str]) -> ModelMessage {
        ModelMessage::Assistant {
            text: text.map(str::to_owned),
            calls: calls
                .iter()
                .map(|id| ToolCall {
                    id: CallId::new(*id),
                    name: "Read".into(),
                    arguments: json!({}),
                    problem: None,
                })
                .collect(),
            reasoning: None,
        }
    }

    fn tool(id: &str, text: &str) -> ModelMessage {
        ModelMessage::Tool {
            call: CallId::new(id),
            text: text.into(),
        }
    }

    fn shape(messages: &[ModelMessage]) -> Vec<String> {
        let messages: Vec<_> = messages.iter().cloned().map(Arc::new).collect();
        settle(&messages)
            .iter()
            .map(|line| match line {
                Line::System(text) => format!("system {text}"),
                Line::User { text, .. } => format!("user {text}"),
                Line::Assistant { text, calls, .. } => {
                    format!(
                        "assistant {} {}",
                        text.as_deref().unwrap_or("-"),
                        calls.len()
                    )
                }
                Line::Tool { call, text } => format!("tool {call} {text}"),
            })
            .collect()
    }

    fn system(text: &str) -> ModelMessage {
        ModelMessage::System { text: text.into() }
    }

    #[test]
    fn adjacent_user_messages_become_one_and_blank_ones_vanish() {
        let messages = [
            system("p"),
            user("a"),
            user("  "),
            user("b"),
            assistant(Some(" \n"), &[]),
            user("c"),
            assistant(Some("d  \n"), &[]),
            system("late"),
            user("e"),
        ];
        assert_eq!(
            shape(&messages),
            [
                "system p",
                "user a\n\nb\n\nc",
                "assistant d 0",
                "user late\n\ne"
            ]
        );
    }

    #[test]
    fn every_call_has_one_result_in_call_order_before_anything_else() {
        let messages = [
            user("go"),
            tool("zz", "no call"),
            assistant(None, &["a", "b", "c"]),
            tool("c", "3"),
            user("wait"),
            tool("a", "1"),
            tool("a", "again"),
            assistant(Some("x"), &[]),
            tool("b", "too late"),
        ];
        let abandoned = format!("tool b {ABANDONED}");
        assert_eq!(
            shape(&messages),
            [
                "user go",
                "assistant - 3",
                "tool a 1",
                &abandoned,
                "tool c 3",
                "user wait",
                "assistant x 0"
            ]
        );
    }

    #[test]
    fn zero_bytes_do_not_travel() {
        assert_eq!(shape(&[user("a\0b")]), ["user a\u{fffd}b"]);
    }
}
