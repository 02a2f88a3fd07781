//! What a request says about what came before.

use std::hash::{DefaultHasher, Hash, Hasher};

use butler_protocol::{ModelMessage, ToolCall};

/// A stretch of conversation, from its beginning.
#[derive(Debug, Clone, Copy)]
pub(crate) struct History<'a> {
    messages: &'a [ModelMessage],
    pub(crate) tools_offered: bool,
}

/// One answer of the model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Said<'a> {
    pub(crate) text: Option<&'a str>,
    pub(crate) calls: &'a [ToolCall],
    /// A person stopped it before its calls had run.
    pub(crate) stopped: bool,
}

/// How the result of a call begins that a person stopped.
const STOPPED: &str = "This call was stopped";

impl<'a> History<'a> {
    pub(crate) const fn new(messages: &'a [ModelMessage], tools_offered: bool) -> Self {
        Self {
            messages,
            tools_offered,
        }
    }

    /// Each answer, with what came before it.
    pub(crate) fn answers(self) -> impl Iterator<Item = (History<'a>, Said<'a>)> {
        self.messages
            .iter()
            .enumerate()
            .filter_map(move |(place, message)| match message {
                ModelMessage::Assistant { text, calls, .. } => Some((
                    // Whoever was answered had offered tools: summaries leave no answer here.
                    History::new(&self.messages[..place], true),
                    Said {
                        text: text.as_deref(),
                        calls,
                        stopped: self.messages[place + 1..]
                            .iter()
                            .map_while(|message| match message {
                                ModelMessage::Tool { text, .. } => Some(text),
                                _ => None,
                            })
                            .any(|text| text.contains(STOPPED)),
                    },
                )),
                _ => None,
            })
    }

    /// Messages to the model.
    pub(crate) fn users(self) -> impl DoubleEndedIterator<Item = &'a str> {
        self.messages.iter().filter_map(|message| match message {
            ModelMessage::User { text, .. } => Some(text.as_str()),
            _ => None,
        })
    }

    fn last_answer(self) -> Option<usize> {
        let is_answer = |message: &_| matches!(message, ModelMessage::Assistant { .. });
        self.messages.iter().rposition(is_answer)
    }

    /// Messages to the model since its last answer.
    pub(crate) fn news(self) -> impl DoubleEndedIterator<Item = &'a str> {
        let news = &self.messages[self.last_answer().map_or(0, |last| last + 1)..];
        History::new(news, self.tools_offered).users()
    }

    /// What people said, each message by itself.
    pub(crate) fn people(self) -> impl DoubleEndedIterator<Item = &'a str> {
        self.users().flat_map(persons_words)
    }

    /// What people said since the last answer.
    pub(crate) fn people_now(self) -> impl DoubleEndedIterator<Item = &'a str> {
        self.news().flat_map(persons_words)
    }

    /// Notes that are to become a request: one message, in nobody's tag.
    pub(crate) fn notes(self) -> Option<&'a str> {
        let mut users = self.users();
        let only = users.next().filter(|_| users.next().is_none())?;
        let tags = ["<message", "<note", "<outside", "<summary"];
        let plain = !tags.iter().any(|tag| only.contains(tag));
        (plain && !self.tools_offered && self.answer_count() == 0).then(|| only.trim())
    }

    /// What came after the newest call of a tool with this in its arguments;
    /// nothing without one.
    pub(crate) fn since_call(self, tool: &str, with: Option<&str>) -> Option<Self> {
        let is_it = |call: &ToolCall| {
            call.name == tool && with.is_none_or(|with| call.arguments.to_string().contains(with))
        };
        let calls_it = |message: &ModelMessage| match message {
            ModelMessage::Assistant { calls, .. } => calls.iter().any(is_it),
            _ => false,
        };
        let at = self.messages.iter().rposition(calls_it)?;
        Some(History::new(&self.messages[at + 1..], self.tools_offered))
    }

    /// All tool results.
    pub(crate) fn results(self) -> impl DoubleEndedIterator<Item = &'a str> {
        self.messages.iter().filter_map(|message| match message {
            ModelMessage::Tool { text, .. } => Some(text.as_str()),
            _ => None,
        })
    }

    /// The results since the last answer, with the names of their tools.
    pub(crate) fn newest_results(self) -> Vec<(&'a str, &'a str)> {
        let newest = &self.messages[self.last_answer().unwrap_or(0)..];
        let Some(ModelMessage::Assistant { calls, .. }) = newest.first() else {
            return Vec::new();
        };
        newest
            .iter()
            .filter_map(|message| match message {
                ModelMessage::Tool { call, text } => {
                    let name = calls.iter().find(|made| made.id == *call);
                    Some((name.map_or("", |made| made.name.as_str()), text.as_str()))
                }
                _ => None,
            })
            .collect()
    }

    pub(crate) fn is_interrupted(self) -> bool {
        let newest = self.newest_results();
        newest
            .iter()
            .any(|(_, text)| text.to_lowercase().contains("interrupted"))
    }

    /// Whether the last answer was a text without calls.
    pub(crate) fn ends_in_text(self) -> bool {
        let last = self.answers().last();
        last.is_some_and(|(_, said)| said.calls.is_empty())
    }

    /// How many answers there are.
    pub(crate) fn answer_count(self) -> usize {
        self.answers().count()
    }

    /// How many answers there are since the newest message to the model.
    pub(crate) fn answers_since_user(self) -> usize {
        let tail = self.messages.iter().rev();
        tail.take_while(|message| !matches!(message, ModelMessage::User { .. }))
            .filter(|message| matches!(message, ModelMessage::Assistant { .. }))
            .count()
    }

    /// The place of a conversation: the task, the answers and the results. A
    /// nudge after an empty reply does not move it.
    pub(crate) fn place(self) -> u64 {
        let mut hasher = DefaultHasher::new();
        // Adjacent messages arrive merged, so only the first paragraph stays the same.
        let task = self.users().next();
        let task = task.and_then(|text| text.split("\n\n").next());
        task.hash(&mut hasher);
        for message in self.messages {
            match message {
                ModelMessage::Assistant { text, calls, .. } => {
                    text.hash(&mut hasher);
                    for call in calls {
                        call.name.hash(&mut hasher);
                        call.arguments.to_string().hash(&mut hasher);
                    }
                }
                ModelMessage::Tool { text, .. } => text.hash(&mut hasher),
                ModelMessage::System { .. } | ModelMessage::User { .. } => {}
            }
        }
        hasher.finish()
    }

    /// The newest message, for error texts.
    pub(crate) fn newest(self) -> String {
        let short = |text: &str| {
            let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            match line.char_indices().nth(160) {
                Some((end, _)) => format!("{}…", &line[..end]),
                None => line,
            }
        };
        match self.messages.last() {
            Some(ModelMessage::User { text, .. }) => format!("a message: “{}”", short(text)),
            Some(ModelMessage::Tool { text, .. }) => {
                let newest = self.newest_results();
                let name = newest.last().map_or("", |(name, _)| *name);
                format!("a result of {name}: “{}”", short(text))
            }
            Some(ModelMessage::Assistant { text, .. }) => {
                let text = text.as_deref().unwrap_or_default();
                format!("an answer: “{}”", short(text))
            }
            Some(ModelMessage::System { .. }) => "the prompt alone".to_owned(),
            None => "no message at all".to_owned(),
        }
    }
}

/// The words of people in a message to the model. Everybody's words stand in a
/// tag that names the speaker, and no text can open or close one.
fn persons_words(message: &str) -> impl DoubleEndedIterator<Item = &str> {
    let parts = message.split("<message from=\"person\"").skip(1);
    let words = parts.filter_map(|part| {
        let (_, text) = part.split_once('>')?;
        text.split("</message>").next().map(str::trim)
    });
    words.collect::<Vec<_>>().into_iter()
}
