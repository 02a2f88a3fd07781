//! A conversation as it was last written, so that the next request writes only
//! what is new. Byte for byte the same as [`body`](super::body), which stays the
//! definition; without this a turn would cost more the longer the talk is.

use std::sync::Arc;

use butler_protocol::{ModelMessage, ToolSpec};

use super::{
    body::{Dialect, head, tool},
    cache::{self, Marks},
    settle::{Kind, is_answer, settle_stretch, stretches},
};
use crate::{EndpointKind, ModelRequest};

/// What is kept of one conversation.
#[derive(Debug, Default)]
pub struct Kept {
    /// Whom it was written for: dialects differ.
    to: Option<(EndpointKind, String)>,
    tools: Arc<[ToolSpec]>,
    tools_text: String,
    /// The messages that are written, to compare with.
    messages: Vec<Arc<ModelMessage>>,
    /// Their stretches, each of which is written by itself.
    stretches: Vec<Stretch>,
    /// Who each line is from.
    kinds: Vec<Kind>,
    /// The lines without cache marks, a comma before each but the first.
    text: String,
    /// Where each line ends in it.
    ends: Vec<usize>,
}

/// Where a stretch ends.
#[derive(Debug, Clone, Copy, Default)]
struct Stretch {
    messages: usize,
    lines: usize,
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
        self.forget(&request.messages);
        // Marks are the places of lines, which are known once all are written;
        // that there are any is known before.
        let mut dialect = Dialect {
            kind,
            model: &request.model,
            marks: cache::marks(request, kind, &[]).map(|_| Marks::none()),
        };
        self.write_new(&request.messages, &dialect);
        let mut out = self.opening(request, kind);
        out.push_str("\"messages\":[");
        dialect.marks = cache::marks(request, kind, &self.kinds);
        self.push_lines(&dialect, &mut out);
        out.push_str("]}");
        out
    }

    /// Forgets the stretches in which something is not as it was.
    fn forget(&mut self, messages: &[Arc<ModelMessage>]) {
        let known = self.messages.iter().zip(messages);
        let same = known
            // The same in memory, nearly always: nothing is read to find out.
            .take_while(|(kept, now)| Arc::ptr_eq(kept, now) || kept == now)
            .count();
        let ends_there = messages.get(same).is_none_or(|next| is_answer(next));
        let whole = self
            .stretches
            .partition_point(|one| one.messages < same || (one.messages == same && ends_there));
        self.stretches.truncate(whole);
        let end = self.stretches.last().copied().unwrap_or_default();
        self.messages.truncate(end.messages);
        self.kinds.truncate(end.lines);
        self.ends.truncate(end.lines);
        self.text.truncate(self.ends.last().copied().unwrap_or(0));
    }

    fn write_new(&mut self, messages: &[Arc<ModelMessage>], plain: &Dialect<'_>) {
        for stretch in stretches(&messages[self.messages.len()..]) {
            for line in settle_stretch(stretch, self.stretches.is_empty()) {
                let place = self.kinds.len();
                if place > 0 {
                    self.text.push(',');
                }
                self.text.push_str(&plain.message(&line, place).to_string());
                self.ends.push(self.text.len());
                self.kinds.push(line.kind());
            }
            self.messages.extend_from_slice(stretch);
            self.stretches.push(Stretch {
                messages: self.messages.len(),
                lines: self.kinds.len(),
            });
        }
    }

    /// Everything before the messages, with a comma behind it.
    fn opening(&mut self, request: &ModelRequest, kind: EndpointKind) -> String {
        let fields = serde_json::Value::Object(head(request, kind)).to_string();
        let mut out =
            String::with_capacity(fields.len() + self.tools_text.len() + self.text.len() + 4096);
        out.push_str(fields.strip_suffix('}').unwrap_or(&fields));
        if !request.tools.is_empty() {
            let same = Arc::ptr_eq(&self.tools, &request.tools) || self.tools == request.tools;
            if !same || self.tools_text.is_empty() {
                self.tools = Arc::clone(&request.tools);
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
    fn push_lines(&self, dialect: &Dialect<'_>, out: &mut String) {
        let places = dialect.marks.as_ref().map_or(&[][..], Marks::places);
        let mut from = 0;
        for &place in places {
            let begin = place.checked_sub(1).map_or(0, |before| self.ends[before]);
            out.push_str(&self.text[from..begin]);
            if place > 0 {
                out.push(',');
            }
            out.push_str(&self.marked(dialect, place));
            from = self.ends[place];
        }
        out.push_str(&self.text[from..]);
    }

    /// One line as the dialect writes it now.
    fn marked(&self, dialect: &Dialect<'_>, place: usize) -> String {
        let number = self.stretches.partition_point(|one| one.lines <= place);
        let before = number.checked_sub(1).map(|before| self.stretches[before]);
        let begin = before.unwrap_or_default();
        let messages = &self.messages[begin.messages..self.stretches[number].messages];
        let lines = settle_stretch(messages, number == 0);
        dialect
            .message(&lines[place - begin.lines], place)
            .to_string()
    }
}

#[cfg(test)]
mod tests {
    use butler_protocol::{CallId, Image, ToolCall};
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
        talks.push(shorter.clone());
        // An answer with nothing in it: what is said around it becomes one line.
        for text in [" \n", "yes"] {
            shorter.push(user("well?"));
            shorter.push(ModelMessage::Assistant {
                text: Some(text.into()),
                calls: Vec::new(),
                reasoning: None,
            });
            talks.push(shorter.clone());
        }
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
                        Arc::default()
                    } else {
                        tools.clone().into()
                    };
                    let whole = body(&request, kind).to_string();
                    assert_eq!(kept.text(&request, kind), whole, "{kind} {number}");
                }
            }
        }
    }
}
