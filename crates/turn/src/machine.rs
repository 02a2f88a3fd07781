//! The machine: takes an event, writes down what it means, and then asks the
//! [list of rules](crate::next_step) what is next.

use std::{collections::HashSet, sync::Arc};

use butler_protocol::{
    Entry, Idem, ModelMessage, Origin, Record, RequestId, ReserveId, ToolSpec, Waiting,
};

use crate::{
    Effect, Event, Limits, Messages, Models, Setup, ThreadFold, asking::money::Purpose,
    ending::Posting, state::State,
};

/// One role at work in one thread.
#[derive(Debug)]
pub struct Machine {
    pub(crate) setup: Setup,
    pub(crate) state: State,
    pub(crate) doing: Doing,
    /// Posts that nothing waits for.
    pub(crate) outgoing: HashSet<Idem>,
    /// The books of the run before this one were looked at.
    pub(crate) books_checked: bool,
    /// What is to be done about the event at hand.
    pub(crate) out: Vec<Effect>,
}

/// What the machine waits for an answer to. Only this is lost in a crash, and
/// the list of rules finds it again from the log.
#[derive(Debug, PartialEq)]
pub(crate) enum Doing {
    Nothing,
    Reserving(ReserveId, Purpose),
    Calling(ReserveId),
    Summarising(ReserveId, u64),
    Tools,
    Posting(Posting),
    AskingForMoney(RequestId),
    CarryingOut(RequestId),
}

impl Machine {
    /// Rebuilds the state from the log. With an unfinished activation in it the
    /// machine goes on in the middle, at [`Event::Begin`].
    pub fn new(setup: Setup, log: &[Entry]) -> Self {
        let mut state = State::new();
        for entry in log {
            state.apply(entry.seq, entry.at_ms, &entry.record);
        }
        Self {
            setup,
            state,
            doing: Doing::Nothing,
            outgoing: HashSet::new(),
            books_checked: false,
            out: Vec::new(),
        }
    }

    /// What the machine was told at the start.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// What the log says about the thread.
    pub fn thread(&self) -> &ThreadFold {
        &self.state.thread
    }

    /// Other models from the next activation on; a running one keeps its own.
    pub fn set_models(&mut self, models: Models) {
        self.setup.models = models;
    }

    /// Other limits from now on.
    pub fn set_limits(&mut self, limits: Limits) {
        self.setup.limits = limits;
    }

    /// Another prompt from the next activation on; a running one keeps its own.
    pub fn set_prompt(&mut self, prompt: String) {
        self.setup.prompt = prompt;
    }

    /// Other tools from the next activation on; a running one keeps its own.
    pub fn set_tools(&mut self, tools: Vec<ToolSpec>) {
        self.setup.tools = tools;
    }

    /// The messages of the next request.
    pub fn messages(&self) -> Vec<Arc<ModelMessage>> {
        self.state.talk.messages()
    }

    /// The same, from what the last request of this machine had: a long
    /// conversation is not copied for every turn. Whether everything, tools
    /// included, may have changed.
    pub fn bring_up(&self, messages: &mut Messages) -> bool {
        self.state.talk.bring_up(messages)
    }

    /// The prompt of the next request with other tools, as a line for the log: what
    /// was chosen in the middle of an activation may bring some.
    pub fn prompt_with(&self, tools: Vec<ToolSpec>) -> Record {
        Record::Prompt {
            text: self.state.talk.prompt().to_owned(),
            tools,
        }
    }

    /// The tools of the next request; within an activation they change only by such
    /// a line.
    pub fn tools(&self) -> &[ToolSpec] {
        self.state.talk.tools()
    }

    /// Nothing is going on and nothing waits to begin: the machine may be
    /// dropped. After a stop, feed what the cancelled model call cost first;
    /// otherwise the next machine books its worst case.
    pub fn is_idle(&self) -> bool {
        // What a person decided is carried out, also after a failure.
        let requested = !self.state.decisions.orders.is_empty() && !self.state.stopped;
        let waits = self.state.inbox.unseen.is_empty() || self.state.hold;
        !self.state.open && waits && !requested
    }

    /// What a sleeping activation waits for. It may be dropped too, and built
    /// again when something happens or the deadline has come.
    pub fn parked(&self) -> Option<&Waiting> {
        if self.state.open {
            self.state.waiting()
        } else {
            None
        }
    }

    /// The number of the activation that is going on.
    pub fn activation(&self) -> Option<u32> {
        self.state.open.then_some(self.state.activation)
    }

    /// Turns taken in the activation so far.
    pub fn turn(&self) -> u32 {
        self.state.round.turn
    }

    /// Where a call stands, for ids that the driver makes (cards, posts of tools).
    pub fn origin(&self, index: u32) -> Origin {
        Origin {
            thread: self.setup.thread.clone(),
            role: self.setup.role,
            activation: self.state.activation,
            turn: self.state.round.turn,
            index,
        }
    }

    /// Takes note of a line that the driver wrote itself: intents, cards asked
    /// for, a command's approval used up. Lines from `Append` are known already.
    pub fn wrote(&mut self, entry: &Entry) {
        self.state.apply(entry.seq, entry.at_ms, &entry.record);
    }

    /// Feeds one event. Carry the effects out in order; an `Append` must be
    /// durable before the next effect is begun.
    pub fn on(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Begin { now_ms } => self.on_begin(now_ms),
            Event::Heard(messages) => self.on_heard(messages),
            Event::Edited(change) => self.on_edited(change),
            Event::Decided(decision) => self.on_decided(&decision),
            Event::Reserved { reserve, answer } => self.on_reserved(&reserve, answer),
            Event::Replied { reserve, reply } => self.on_replied(&reserve, reply),
            Event::ModelFailed { reserve, failure } => {
                self.on_model_failed(&reserve, &failure);
            }
            Event::Summarised { reserve, result } => {
                self.on_summarised(&reserve, result);
            }
            Event::ToolDone {
                call,
                outcome,
                receipt,
            } => self.on_tool_done(&call, outcome, receipt),
            Event::Posted { idem, ts } => self.on_posted(&idem, &ts),
            Event::Asked { request } => self.on_asked(&request),
            Event::CarriedOut { request, outcome } => {
                self.on_carried_out(&request, outcome);
            }
            Event::Deadline { now_ms } => self.on_deadline(now_ms),
            Event::WorktreeFree => self.on_worktree_free(),
            Event::Stop { event, by } => self.on_stop(event, &by),
        }
        std::mem::take(&mut self.out)
    }

    /// Writes a line: known at once, durable before the next effect.
    pub(crate) fn append(&mut self, record: Record) {
        let (seq, at_ms) = (self.state.next_seq, self.state.thread.seen.last_ms);
        self.state.apply(seq, at_ms, &record);
        self.out.push(Effect::Append(record));
    }

    /// A choice that no other line of the log stands for.
    pub(crate) fn chose(&mut self, about: &str, what: String, why: &str) {
        let record = Record::Chose {
            about: about.to_owned(),
            what: what.clone(),
            why: why.to_owned(),
        };
        self.append(record);
        let why = why.to_owned();
        self.out.push(Effect::Chose { what, why });
    }

    /// A place outside all activations, for what is said once per thread.
    pub(crate) fn thread_origin(&self) -> Origin {
        Origin {
            activation: 0,
            turn: 0,
            ..self.origin(0)
        }
    }

    /// The place of the turn that comes next.
    pub(crate) fn next_origin(&self, index: u32) -> Origin {
        Origin {
            turn: self.state.round.turn + 1,
            ..self.origin(index)
        }
    }

    /// The model that answers now.
    pub(crate) fn model(&self) -> &str {
        let switched = self.state.round.models.last();
        switched.unwrap_or(&self.setup.models.usual)
    }
}
