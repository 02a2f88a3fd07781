//! Events that the runtime makes itself. Their id is made from what they are about,
//! so that a repeat after a crash is the same event, and reads back as that.

use super::{CommitSha, EventId, MessageTs, RequestId};

/// What an event is about that no hub delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// A person decided about this card.
    Decision(RequestId),
    /// What was decided on this card is carried out, or withdrawn.
    Carried(RequestId),
    /// The call that waited for this card was approved and ran: its result.
    Ran(RequestId),
    /// A role that joins or comes back is told what was said before this message;
    /// without one, all of it.
    Context {
        /// Up to here.
        until: Option<MessageTs>,
        /// Whether words of people are in it.
        people: bool,
    },
    /// A role that joins is told where it is: the repository in a few lines.
    Overview,
    /// Whoever reviews is shown the change at this commit, or what is new in it.
    Change(CommitSha),
    /// A role is told which files people attached up to this message.
    Attached(MessageTs),
    /// A person gave this message other words.
    Edited(MessageTs),
    /// A person took this message back.
    Deleted(MessageTs),
    /// The thread builds this item of the roadmap.
    Item(u32),
    /// The thread is about this issue: its text.
    Issue(u64),
}

const DECISION: &str = "decision";
const CARRIED: &str = "carried";
const RAN: &str = "ran";
const CONTEXT: &str = "context";
const PEOPLE: &str = "people";
const OVERVIEW: &str = "overview";
const CHANGE: &str = "change";
const ATTACHED: &str = "attached";
const EDITED: &str = "edited";
const DELETED: &str = "withdrawn";
const ITEM: &str = "item";
const ISSUE: &str = "issue";

impl EventId {
    /// Under which a person's decision enters a log.
    pub fn decision(request: &RequestId) -> Self {
        Self(format!("{DECISION}:{request}"))
    }

    /// Under which the outcome of a decision enters a log.
    pub fn carried(request: &RequestId) -> Self {
        Self(format!("{CARRIED}:{request}"))
    }

    /// Under which the result of an approved call enters a log.
    pub fn ran(request: &RequestId) -> Self {
        Self(format!("{RAN}:{request}"))
    }

    /// Under which a role is told what it has missed.
    pub fn context(until: Option<&MessageTs>, people: bool) -> Self {
        let kind = if people { PEOPLE } else { CONTEXT };
        Self(format!("{kind}:{}", until.map_or("all", MessageTs::as_str)))
    }

    /// Under which a role is told about the repository, once in its log.
    pub fn overview() -> Self {
        Self(OVERVIEW.to_owned())
    }

    /// Under which the change at a commit enters the log of whoever reviews it.
    pub fn change(head: &CommitSha) -> Self {
        Self(format!("{CHANGE}:{head}"))
    }

    /// Under which a role is told of files that people attached up to a message.
    pub fn attached(ts: &MessageTs) -> Self {
        Self(format!("{ATTACHED}:{ts}"))
    }

    /// Under which a change of a message enters a log; `change` is the hub's event.
    pub fn edited(ts: &MessageTs, change: &EventId, deleted: bool) -> Self {
        let kind = if deleted { DELETED } else { EDITED };
        Self(format!("{kind}:{ts}:{change}"))
    }

    /// Under which the PM is told which item of the roadmap the thread builds; `by` is
    /// the run or the message that asked for it.
    pub fn item(number: u32, by: &str) -> Self {
        Self(format!("{ITEM}:{number}:{by}"))
    }

    /// Under which the PM is told the text of an issue; `by` is the message that named it.
    pub fn issue(number: u64, by: &str) -> Self {
        Self(format!("{ISSUE}:{number}:{by}"))
    }

    /// What it is about; nothing when the hub delivered it.
    pub fn kind(&self) -> Option<EventKind> {
        let (kind, about) = self.0.split_once(':').unwrap_or((&self.0, ""));
        // What stands before the next colon; behind it is who asked for it.
        let (first, _) = about.split_once(':').unwrap_or((about, ""));
        let request = || RequestId::new(about);
        let until = || about.parse().ok();
        Some(match kind {
            OVERVIEW if self.0 == OVERVIEW => EventKind::Overview,
            DECISION => EventKind::Decision(request()),
            CARRIED => EventKind::Carried(request()),
            CHANGE => EventKind::Change(CommitSha::new(about)),
            RAN => EventKind::Ran(request()),
            ATTACHED => EventKind::Attached(first.parse().ok()?),
            EDITED => EventKind::Edited(first.parse().ok()?),
            DELETED => EventKind::Deleted(first.parse().ok()?),
            ITEM => EventKind::Item(first.parse().ok()?),
            ISSUE => EventKind::Issue(first.parse().ok()?),
            CONTEXT => EventKind::Context {
                until: until(),
                people: false,
            },
            PEOPLE => EventKind::Context {
                until: until(),
                people: true,
            },
            _ => return None,
        })
    }

    /// Its place in the hub's log, which every event of a message, a press or a
    /// stop ends with.
    pub fn seq(&self) -> Option<u64> {
        self.0.rsplit(['S', '-']).next()?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_runtime_made_reads_back_and_what_the_hub_delivered_is_none_of_it() {
        let request = RequestId::new("abc234");
        let ts: MessageTs = "1700000000.000100".parse().unwrap();
        let change = EventId::new("Ev19A3S12");
        let until = Some(ts.clone());
        for (event, kind) in [
            (
                EventId::decision(&request),
                EventKind::Decision(request.clone()),
            ),
            (
                EventId::carried(&request),
                EventKind::Carried(request.clone()),
            ),
            (
                EventId::context(None, false),
                EventKind::Context {
                    until: None,
                    people: false,
                },
            ),
            (
                EventId::context(Some(&ts), true),
                EventKind::Context {
                    until,
                    people: true,
                },
            ),
            (
                EventId::edited(&ts, &change, false),
                EventKind::Edited(ts.clone()),
            ),
            (
                EventId::edited(&ts, &change, true),
                EventKind::Deleted(ts.clone()),
            ),
            (EventId::item(3, "abc234"), EventKind::Item(3)),
            (EventId::issue(12, "Ev1S2"), EventKind::Issue(12)),
            (EventId::attached(&ts), EventKind::Attached(ts.clone())),
        ] {
            assert_eq!(event.kind(), Some(kind), "{event}");
        }
        assert_eq!(change.kind(), None);
        for (event, seq) in [
            ("Ev19A3S12", Some(12)),
            ("cb-3-40", Some(40)),
            ("decision:abc234", None),
        ] {
            assert_eq!(EventId::new(event).seq(), seq, "{event}");
        }
    }
}
