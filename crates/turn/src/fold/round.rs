//! What the log says about the activation at hand.

use butler_protocol::{
    CallId, CrashClass, MessageTs, RequestId, Then, ToolCall, ToolOutcome, Waiting, among,
};
use serde_json::Value;

use crate::{
    asking::{reply::Quality, stuck::Stuck},
    known::SPEAKING,
};

/// One activation so far.
#[derive(Debug, Default)]
pub(crate) struct Round {
    /// Answers of the model.
    pub(crate) turn: u32,
    /// The models that took over, the one that answers now last.
    pub(crate) models: Vec<String>,
    /// A person is part of what caused it.
    pub(crate) person: bool,
    /// Another role's work caused it, and that role's turn comes only with a
    /// hand-over: a word to a person does not pass it on.
    pub(crate) owes: bool,
    /// Messages of people that the model has seen.
    pub(crate) asked: Vec<MessageTs>,
    pub(crate) last: Last,
    pub(crate) waiting: Option<Waiting>,
    /// The last calls already told people or other roles, and the model has read
    /// nothing new since.
    pub(crate) spoke: bool,
    /// The last text beside calls, for the report at the turn limit.
    pub(crate) progress: Option<String>,
    /// Unusable answers in a row, and texts in a row that end nothing.
    pub(crate) bad: u32,
    pub(crate) loose_ends: u32,
    pub(crate) since: SinceAnswer,
    /// A cap card that nobody has decided about, with how often people had spoken
    /// before it; and whether "stop" was chosen.
    pub(crate) cap_card: Option<(RequestId, u32)>,
    pub(crate) out_of_money: bool,
    /// Red runs of the checks in a row.
    pub(crate) red_checks: u32,
    pub(crate) stuck: Stuck,
}

/// What happened since the last answer.
#[derive(Debug, Default)]
pub(crate) struct SinceAnswer {
    /// Another model took over.
    pub(crate) switched: bool,
    /// A remark was made.
    pub(crate) noted: bool,
    /// Reservations.
    pub(crate) attempts: u32,
    pub(crate) parkings: u32,
    pub(crate) summaries: u32,
}

/// What the model did last.
#[derive(Debug, Default)]
pub(crate) enum Last {
    #[default]
    Nothing,
    /// It answered in text; `handled` once a remark about it is written.
    Text { text: Option<String>, handled: bool },
    /// It called tools; `parked` once the sleep they asked for is written.
    Calls {
        text: Option<String>,
        calls: Vec<Called>,
        parked: bool,
    },
}

/// One call of the last answer.
#[derive(Debug)]
pub(crate) struct Called {
    pub(crate) call: ToolCall,
    pub(crate) intent: Option<(CrashClass, Option<Value>)>,
    pub(crate) outcome: Option<ToolOutcome>,
}

impl Round {
    pub(crate) fn answer(&mut self, turn: u32, text: Option<&str>, calls: &[ToolCall]) {
        self.turn = turn;
        self.since = SinceAnswer::default();
        self.last = if calls.is_empty() {
            Last::Text {
                text: text.map(str::to_owned),
                handled: false,
            }
        } else {
            self.bad = 0;
            self.loose_ends = 0;
            self.progress = text.map(str::to_owned).or(self.progress.take());
            Last::Calls {
                text: text.map(str::to_owned),
                calls: calls.iter().cloned().map(Called::new).collect(),
                parked: false,
            }
        };
    }

    /// Counts an answer without calls.
    pub(crate) fn count_plain(&mut self, quality: Quality) {
        if quality == Quality::Usable {
            self.loose_ends += 1;
        } else {
            self.bad += 1;
        }
    }

    pub(crate) fn intent(&mut self, call: &CallId, crash: CrashClass, trace: Option<&Value>) {
        if let Some(called) = self.called(call) {
            called.intent = Some((crash, trace.cloned()));
        }
    }

    /// Keeps the first result of a call of the last answer.
    pub(crate) fn result(&mut self, call: &CallId, outcome: &ToolOutcome) {
        let Some(called) = self.called(call) else {
            return;
        };
        if called.outcome.is_some() {
            return;
        }
        called.outcome = Some(outcome.clone());
        if let Last::Calls { text, calls, .. } = &self.last
            && calls.iter().all(|called| called.outcome.is_some())
        {
            self.spoke = calls.iter().any(Called::spoke);
            let results = calls
                .iter()
                .filter_map(|called| Some((&called.call, called.outcome.as_ref()?)));
            self.stuck.observe(self.turn, text.as_deref(), results);
        }
    }

    pub(crate) fn park(&mut self, waiting: &Waiting) {
        self.waiting = Some(waiting.clone());
        self.since.parkings += 1;
        if let Last::Calls { parked, .. } = &mut self.last {
            *parked = true;
        }
    }

    pub(crate) fn note(&mut self) {
        self.since.noted = true;
        if let Last::Text { handled, .. } = &mut self.last {
            *handled = true;
        }
    }

    pub(crate) fn switch(&mut self, model: &str) {
        self.models.push(model.to_owned());
        self.since.switched = true;
    }

    pub(crate) fn checked(&mut self, green: bool) {
        self.red_checks = if green { 0 } else { self.red_checks + 1 };
    }

    /// The calls of the last answer.
    pub(crate) fn calls(&self) -> &[Called] {
        match &self.last {
            Last::Calls { calls, .. } => calls,
            Last::Nothing | Last::Text { .. } => &[],
        }
    }

    pub(crate) fn open_calls(&self) -> impl Iterator<Item = &ToolCall> {
        let open = self
            .calls()
            .iter()
            .filter(|called| called.outcome.is_none());
        open.map(|called| &called.call)
    }

    /// In the middle of something that a decision on this card must not end. A
    /// call that is about to sleep for the card is at rest: after a crash the
    /// click can be there before the sleep is.
    pub(crate) fn busy_beside(&self, decided: &RequestId) -> bool {
        let for_it = |then: Then| matches!(then, Then::Park { waiting: Waiting::Decision { request } } if request == *decided);
        let at_rest = match &self.last {
            Last::Nothing => true,
            Last::Text { .. } => false,
            Last::Calls { parked, .. } => {
                *parked || (self.open_calls().next().is_none() && for_it(self.then()))
            }
        };
        !at_rest || self.cap_card.is_some()
    }

    /// Whether this is the card that asks for more money.
    pub(crate) fn asks_by(&self, request: &RequestId) -> bool {
        let card = self.cap_card.as_ref();
        card.is_some_and(|(asked, _)| asked == request)
    }

    /// What the last calls ask the loop to do. An end wins over a sleep: what
    /// would have woken the sleeper starts a new activation just as well.
    pub(crate) fn then(&self) -> Then {
        let Last::Calls { calls, parked, .. } = &self.last else {
            return Then::GoOn;
        };
        let all = || {
            calls
                .iter()
                .filter_map(|called| Some(&called.outcome.as_ref()?.then))
        };
        for end in [Then::PassOn, Then::End] {
            if all().any(|then| *then == end) {
                return end;
            }
        }
        let sleeps = all().filter_map(|then| match then {
            Then::Park { waiting } => Some(waiting),
            _ => None,
        });
        match for_all(sleeps) {
            Some(waiting) if !parked => Then::Park { waiting },
            _ => Then::GoOn,
        }
    }

    fn called(&mut self, call: &CallId) -> Option<&mut Called> {
        match &mut self.last {
            Last::Calls { calls, .. } => calls.iter_mut().find(|called| called.call.id == *call),
            Last::Nothing | Last::Text { .. } => None,
        }
    }
}

/// What an answer with several calls sleeps for: the first thing, and when that is
/// an answer of a role, then those of all roles that were asked together.
fn for_all<'a>(mut sleeps: impl Iterator<Item = &'a Waiting>) -> Option<Waiting> {
    let first = sleeps.next()?.clone();
    let Waiting::Replies {
        mut deadline_ms,
        mut from,
    } = first
    else {
        return Some(first);
    };
    for other in sleeps {
        if let Waiting::Replies {
            deadline_ms: by,
            from: others,
        } = other
        {
            deadline_ms = deadline_ms.max(*by);
            from.retain(|role| !others.contains(role));
            from.extend(others);
        }
    }
    Some(Waiting::Replies { deadline_ms, from })
}

impl Called {
    fn new(call: ToolCall) -> Self {
        Self {
            call,
            intent: None,
            outcome: None,
        }
    }

    fn spoke(&self) -> bool {
        among(SPEAKING, &self.call.name) && self.outcome.as_ref().is_some_and(|outcome| outcome.ok)
    }
}
