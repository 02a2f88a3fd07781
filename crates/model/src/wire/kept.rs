//! A conversation as it was last written, so that the next request writes only
//! what is new. Byte for byte the same as [`body`](super::body), which stays the
//! definition; without this a turn would cost more the longer the talk is.

use std::borrow::Cow;

use butler_vocab::{ModelMessage, ToolSpec};

use super::{
    body::{Dialect, head, tool},
    cache::{self, Marks},
    settle::{Line, settle},
};
use crate::{EndpointKind, ModelRequest};

/// What is kept of one conversation.
#[derive(Debug, Default)]
pub struct Kept {
    /// Whom it was written for: dialects differ.
    to: Option<(EndpointKind, String)>,
    tools: Vec<ToolSpec>,
    tools_text: String,
    /// The lines that are written, to compare with.
    lines: Vec<ModelMessage>,
    /// Their text without cache marks, a comma before each but the first.
    text: String,
    /// Where each line ends in it.
    ends: Vec<usize>,
}

impl Kept {
    /// The body of a request.
    pub fn text(&mut self, request: &ModelRequest, kind: EndpointKind) -> String {
        let to = (kind, request.model.clone());
        if self.to.as_ref() != Some(&to) {
            *self = Self {
                to: Some(to),
                ..Self::default()
            };
        }
        let lines = settle(&request.messages);
        let dialect = Dialect {
            kind,
            model: &request.model,
            marks: cache::marks(request, kind, &lines),
        };
        self.write_new(&lines, &dialect);
        let mut out = self.opening(request, kind);
        out.push_str("\"messages\":[");
        match &dialect.marks {
            None => out.push_str(&self.text),
            Some(marks) => self.push_marked(&lines, &dialect, marks, &mut out),
        }
        out.push_str("]}");
        out
    }

    /// Forgets what has changed, and writes what is new.
    fn write_new(&mut self, lines: &[Line<'_>], dialect: &Dialect<'_>) {
        let known = lines.iter().zip(&self.lines);
        let same = known.take_while(|(line, kept)| is(line, kept)).count();
        self.lines.truncate(same);
        self.ends.truncate(same);
        self.text.truncate(self.ends.last().copied().unwrap_or(0));
        let plain = Dialect {
            marks: dialect.marks.as_ref().map(|_| Marks::none()),
            ..*dialect
        };
        for (place, line) in lines.iter().enumerate().skip(same) {
            if place > 0 {
                self.text.push(',');
            }
            self.text.push_str(&plain.message(line, place).to_string());
            self.ends.push(self.text.len());
            self.lines.push(owned(line));
        }
    }

    /// Everything before the messages, with a comma behind it.
    fn opening(&mut self, request: &ModelRequest, kind: EndpointKind) -> String {
        let fields = serde_json::Value::Object(head(request, kind)).to_string();
        let mut out =
            String::with_capacity(fields.len() + self.tools_text.len() + self.text.len() + 4096);
        out.push_str(fields.strip_suffix('}').unwrap_or(&fields));
        if !request.tools.is_empty() {
            if self.tools != request.tools || self.tools_text.is_empty() {
                self.tools.clone_from(&request.tools);
                let tools: serde_json::Value = request.tools.iter().map(tool).collect();
                self.tools_text = tools.to_string();
            }
            out.push_str(",\"tools\":");
            out.push_str(&self.tools_text);
        }
        out.push(',');
        out
    }

    /// Marks move from request to request: marked lines are written anew.
    fn push_marked(
        &self,
        lines: &[Line<'_>],
        dialect: &Dialect<'_>,
        marks: &Marks,
        out: &mut String,
    ) {
        let mut from = 0;
        for (place, line) in lines.iter().enumerate() {
            let end = self.ends[place];
            if marks.is_at(place) {
                if place > 0 {
                    out.push(',');
                }
                out.push_str(&dialect.message(line, place).to_string());
            } else {
                out.push_str(&self.text[from..end]);
            }
            from = end;
        }
    }
}

/// Whether a line is the one that was written.
fn is(line: &Line<'_>, kept: &ModelMessage) -> bool {
    match (line, kept) {
        (Line::System(text), ModelMessage::System { text: kept }) => text == kept,
        (
            Line::User { text, images },
            ModelMessage::User {
                text: kept,
                images: seen,
            },
        ) => text == kept && images.iter().copied().eq(seen),
        (
            Line::Assistant {
                text,
                calls,
                reasoning,
            },
            ModelMessage::Assistant {
                text: kept,
                calls: called,
                reasoning: thought,
            },
        ) => {
            text.as_deref() == kept.as_deref()
                && *calls == called.as_slice()
                && *reasoning == thought.as_ref()
        }
        (
            Line::Tool { call, text },
            ModelMessage::Tool {
                call: called,
                text: kept,
            },
        ) => *call == called && text == kept,
        _ => false,
    }
}

fn owned(line: &Line<'_>) -> ModelMessage {
    match line {
        Line::System(text) => ModelMessage::System {
            text: text.to_string(),
        },
        Line::User { text, images } => ModelMessage::User {
            text: text.to_string(),
            images: images.iter().copied().cloned().collect(),
        },
        Line::Assistant {
            text,
            calls,
            reasoning,
        } => ModelMessage::Assistant {
            text: text.as_ref().map(Cow::to_string),
            calls: calls.to_vec(),
            reasoning: reasoning.cloned(),
        },
        Line::Tool { call, text } => ModelMessage::Tool {
            call: (*call).clone(),
            text: text.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use butler_vocab::{CallId, Image, ToolCall};
    use serde_json::json;

    use super::*;
    use crate::{CacheLife, wire::body};

    fn turn(number: usize) -> [ModelMessage; 2] {
        let call = CallId::new(format!("call{number:05}"));
        let asked = ModelMessage::Assistant {
            text: number
                .is_multiple_of(3)
                .then(|| format!("step \"{number}\"\n")),
            calls: vec![ToolCall {
                id: call.clone(),
                name: "Bash".into(),
                arguments: json!({"command": format!("echo {number}"), "b": [1, null]}),
                problem: None,
            }],
            reasoning: number.is_multiple_of(4).then(|| json!({"reasoning": "hm"})),
        };
        let text = format!("exit 0\n{number} \u{1F600}");
        [asked, ModelMessage::Tool { call, text }]
    }

    fn user(text: &str) -> ModelMessage {
        ModelMessage::User {
            text: text.into(),
            images: vec![Image {
                media_type: "image/png".into(),
                base64: "AAAA".into(),
            }],
        }
    }

    /// A talk that grows, is interrupted by words that merge, and is summarised.
    fn talks() -> Vec<Vec<ModelMessage>> {
        let mut messages = vec![
            ModelMessage::System {
                text: "be \\ good".into(),
            },
            user("task"),
        ];
        let mut talks = vec![messages.clone()];
        for number in 0..12 {
            messages.extend(turn(number));
            talks.push(messages.clone());
            if number % 5 == 0 {
                messages.push(user("and another thing"));
                talks.push(messages.clone());
                messages.push(user("and one more"));
                talks.push(messages.clone());
            }
        }
        let mut shorter = vec![messages[0].clone(), user("(summary)")];
        shorter.extend(turn(20));
        talks.push(shorter);
        talks
    }

    #[test]
    fn what_is_kept_and_extended_is_what_would_have_been_written_whole() {
        let tools = vec![ToolSpec {
            name: "Bash".into(),
            description: "runs".into(),
            parameters: json!({"type": "object"}),
        }];
        let models = ["anthropic/claude-sonnet-4.5", "qwen3"];
        for kind in [
            EndpointKind::Openrouter,
            EndpointKind::Openai,
            EndpointKind::Generic,
        ] {
            for cache in [CacheLife::Off, CacheLife::Short] {
                let mut kept = Kept::default();
                for (number, talk) in talks().into_iter().enumerate() {
                    let mut request = ModelRequest::new(models[number / 9 % 2], talk);
                    request.cache = cache;
                    request.session = Some("s".into());
                    request.tools = if number == 4 {
                        Vec::new()
                    } else {
                        tools.clone()
                    };
                    let whole = body(&request, kind).to_string();
                    assert_eq!(kept.text(&request, kind), whole, "{kind} {number}");
                }
            }
        }
    }
}
