//! `!draft` … `!done`: what a person writes in between is collected and starts
//! nothing; then the cheap model makes one request of it, which they send,
//! refine or discard.
//!
//! Every process keeps its own file about a thread's draft, written before the
//! event is acknowledged: so each knows, also after a crash, that these messages
//! steer nobody, without asking the others.

mod making;

use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use butler_journal::ThreadDir;
use butler_protocol::{EventId, MessageTs, Role, ThreadId, UserId, fault};
use serde::{Deserialize, Serialize};

use crate::AgentError;

pub(crate) use making::{Notes, make};

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "t", rename_all = "snake_case")]
pub(crate) enum Line {
    /// `!draft` by this person; what stood behind it is the first part.
    Opened { user: UserId, event: EventId },
    /// One message of theirs.
    Said { event: EventId, text: String },
    /// `!done`, in this message.
    Done { event: EventId, ts: MessageTs },
    /// What the model made of it.
    Request { ts: MessageTs, text: String },
    /// A button was pressed under it.
    Pressed { event: EventId, verb: Verb },
}

/// What a person does with the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verb {
    /// It is what they want.
    Send,
    /// They want to say more.
    Refine,
    /// Never mind.
    Discard,
}

/// What a file says: the newest draft of a thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Draft {
    /// Whose it is.
    pub user: Option<UserId>,
    /// What was collected.
    pub parts: Vec<String>,
    /// Whether messages are still collected.
    pub collecting: bool,
    /// The `!done` that is being worked on or was answered.
    pub done: Option<MessageTs>,
    /// What was made of it.
    pub request: Option<String>,
    /// The press that ended it.
    pub ended: Option<EventId>,
    events: Vec<EventId>,
}

impl Draft {
    /// Everything that the lines say.
    pub(crate) fn of(lines: impl IntoIterator<Item = Line>) -> Self {
        let mut draft = Self::default();
        for line in lines {
            draft.note(line);
        }
        draft
    }

    fn note(&mut self, line: Line) {
        match line {
            Line::Opened { user, event } => {
                *self = Self {
                    user: Some(user),
                    collecting: true,
                    events: vec![event],
                    ..Self::default()
                };
            }
            Line::Said { event, text } => {
                self.events.push(event);
                self.parts.push(text);
            }
            Line::Done { event, ts } => {
                self.events.push(event);
                self.collecting = false;
                self.done = Some(ts);
            }
            Line::Request { ts, text } if self.done.as_ref() == Some(&ts) => {
                self.request = Some(text);
            }
            Line::Request { .. } => {}
            Line::Pressed { event, verb } => {
                self.events.push(event.clone());
                match verb {
                    // What was made of it is where the rest is added.
                    Verb::Refine => {
                        self.parts = self.request.take().into_iter().collect();
                        self.collecting = true;
                        self.done = None;
                    }
                    Verb::Send | Verb::Discard => self.ended = Some(event),
                }
            }
        }
    }

    /// Whether this event is in the file.
    pub(crate) fn knows(&self, event: &EventId) -> bool {
        self.events.contains(event)
    }

    /// Whether this person collects here.
    pub(crate) fn collects(&self, user: &UserId) -> bool {
        self.collecting && self.user.as_ref() == Some(user)
    }

    /// Whether buttons under the request of this `!done` still do something; the
    /// press that ended it may come again.
    pub(crate) fn takes(&self, ts: &MessageTs, user: &UserId, event: &EventId) -> bool {
        let ours = self.done.as_ref() == Some(ts) && self.user.as_ref() == Some(user);
        ours && (self.is_open(ts) || self.ended.as_ref() == Some(event))
    }

    /// Whether the request of this `!done` waits for a press.
    pub(crate) fn is_open(&self, ts: &MessageTs) -> bool {
        self.ended.is_none() && self.done.as_ref() == Some(ts)
    }
}

/// Where a role keeps what it knows of a thread's draft.
fn file(threads: &Path, thread: &ThreadId, role: Role) -> PathBuf {
    let folder = ThreadDir::new(threads, thread).root().join("drafts");
    folder.join(format!("{role}.jsonl"))
}

/// The newest draft of a thread; most threads have none, which costs one look.
pub(crate) fn read(threads: &Path, thread: &ThreadId, role: Role) -> Draft {
    let text = fs::read_to_string(file(threads, thread, role)).unwrap_or_default();
    // A torn last line was not acknowledged: it comes again.
    Draft::of(
        text.lines()
            .filter_map(|line| serde_json::from_str(line).ok()),
    )
}

/// Adds a line, durably.
pub(crate) fn write(
    threads: &Path,
    thread: &ThreadId,
    role: Role,
    line: &Line,
) -> Result<(), AgentError> {
    let _present = ThreadDir::enter(threads, thread)?;
    let path = file(threads, thread, role);
    let failed =
        |error: std::io::Error| AgentError::Missing(format!("{}: {error}", path.display()));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut text = serde_json::to_string(line).unwrap_or_default();
    text.push('\n');
    fault("agent.before-draft");
    let mut opened = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .map_err(failed)?;
    // After a torn line a new one begins.
    let torn = fs::read(&path).is_ok_and(|bytes| bytes.last().is_some_and(|byte| *byte != b'\n'));
    let text = if torn { format!("\n{text}") } else { text };
    opened.write_all(text.as_bytes()).map_err(failed)?;
    opened.sync_all().map_err(failed)?;
    fault("agent.after-draft");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str) -> EventId {
        EventId::new(name)
    }

    fn ts(text: &str) -> MessageTs {
        text.parse().unwrap()
    }

    fn collected() -> Vec<Line> {
        vec![
            Line::Opened {
                user: UserId::new("U1"),
                event: event("a"),
            },
            Line::Said {
                event: event("b"),
                text: "a flag".into(),
            },
            Line::Said {
                event: event("c"),
                text: "with a test".into(),
            },
        ]
    }

    #[test]
    fn what_is_said_between_is_collected_and_only_from_its_person() {
        let draft = Draft::of(collected());
        assert_eq!(draft.parts, ["a flag", "with a test"]);
        assert!(draft.collects(&UserId::new("U1")) && !draft.collects(&UserId::new("U2")));
        assert!(draft.knows(&event("b")) && !draft.knows(&event("x")));
    }

    #[test]
    fn refine_goes_on_from_the_request_and_an_end_is_an_end() {
        let (you, done) = (UserId::new("U1"), ts("1700000000.000100"));
        let mut lines = collected();
        lines.push(Line::Done {
            event: event("d"),
            ts: done.clone(),
        });
        lines.push(Line::Request {
            ts: done.clone(),
            text: "Add a flag and its test.".into(),
        });
        let offered = Draft::of(lines.clone());
        assert!(!offered.collecting && offered.takes(&done, &you, &event("e")));
        assert!(!offered.takes(&done, &UserId::new("U2"), &event("e")));
        let pressed = |verb| {
            let mut lines = lines.clone();
            lines.push(Line::Pressed {
                event: event("e"),
                verb,
            });
            Draft::of(lines)
        };
        let refined = pressed(Verb::Refine);
        assert!(refined.collects(&you));
        assert_eq!(refined.parts, ["Add a flag and its test."]);
        let sent = pressed(Verb::Send);
        assert!(sent.takes(&done, &you, &event("e")), "the same press again");
        assert!(!sent.takes(&done, &you, &event("f")), "another press");
    }

    #[test]
    fn a_torn_line_is_left_out_and_the_next_one_is_whole() {
        let threads = tempfile::tempdir().unwrap();
        let thread: ThreadId = "C1/1700000000.000100".parse().unwrap();
        let keep = |line: &Line| write(threads.path(), &thread, Role::Pm, line).unwrap();
        let lines = collected();
        keep(&lines[0]);
        let path = file(threads.path(), &thread, Role::Pm);
        let mut opened = OpenOptions::new().append(true).open(&path).unwrap();
        opened.write_all(b"{\"t\":\"sa").unwrap();
        keep(&lines[1]);
        let draft = read(threads.path(), &thread, Role::Pm);
        assert_eq!(draft.parts, ["a flag"]);
        assert_eq!(read(threads.path(), &thread, Role::Coder), Draft::default());
    }
}
