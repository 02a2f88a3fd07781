//! A machine on the harness: keeps its log as a driver would, and hands back the
//! effects that are not appends.

use std::sync::Arc;

use butler_protocol::{
    CallId, DecisionKind, Ending, Entry, EventId, ModelMessage, ModelReply, Record, RepliedCall,
    Role, Speaker, Subject, ThreadId, TokenUsage, ToolCall, ToolOutcome, ToolSpec, Usd, UserId,
};
use butler_turn::{
    Budget, Effect, Event, FailureKind, Heard, Limits, Machine, ModelCall, ModelFailure, Models,
    Setup,
};
use serde_json::{Value, json};

pub(crate) struct Harness {
    pub(crate) machine: Machine,
    pub(crate) log: Vec<Entry>,
    heard: u32,
}

/// Messages by themselves, to look at.
pub(crate) fn plain(messages: &[Arc<ModelMessage>]) -> Vec<ModelMessage> {
    messages.iter().map(|message| (**message).clone()).collect()
}

pub(crate) fn setup(role: Role, max_turns: u32) -> Setup {
    Setup {
        thread: "C1/1700000000.000100".parse::<ThreadId>().unwrap(),
        role,
        models: Models {
            usual: "usual".into(),
            fallback: Some("fallback".into()),
            stronger: None,
            window_tokens: 100_000,
            max_tokens: 4000,
        },
        prompt: "You are at work.".into(),
        tools: vec![ToolSpec {
            name: "Read".into(),
            description: "Reads a file.".into(),
            parameters: json!({"type": "object"}),
        }],
        limits: Limits::with_turns(max_turns),
        first_activation: 1,
    }
}

impl Harness {
    /// What the next request would have.
    pub(crate) fn messages(&self) -> Vec<ModelMessage> {
        plain(&self.machine.messages())
    }

    pub(crate) fn new(setup: Setup) -> Self {
        Self {
            machine: Machine::new(setup, &[]),
            log: Vec::new(),
            heard: 0,
        }
    }

    /// A PM with fifteen turns.
    pub(crate) fn pm() -> Self {
        Self::new(setup(Role::Pm, 15))
    }

    /// Feeds an event, keeps the appends, returns the rest.
    pub(crate) fn on(&mut self, event: Event) -> Vec<Effect> {
        let effects = self.machine.on(event);
        let mut rest = Vec::new();
        for effect in effects {
            match effect {
                Effect::Append(record) => self.keep(record),
                other => rest.push(other),
            }
        }
        rest
    }

    fn keep(&mut self, record: Record) {
        self.log.push(Entry {
            seq: self.log.len() as u64 + 1,
            epoch: 1,
            at_ms: 0,
            record,
        });
    }

    /// Writes a line as the driver does.
    pub(crate) fn write(&mut self, record: Record) {
        self.keep(record);
        let entry = self.log.last().unwrap();
        self.machine.wrote(entry);
    }

    /// The process died; a new machine reads the log.
    pub(crate) fn restart(&mut self) -> Vec<Effect> {
        self.machine = Machine::new(self.machine.setup().clone(), &self.log);
        self.on(Event::Begin { now_ms: 0 })
    }

    /// The same, without what is told again because nobody waited for it.
    pub(crate) fn restart_quietly(&mut self) -> Vec<Effect> {
        let mut effects = self.restart();
        effects.retain(|effect| !matches!(effect, Effect::React { .. } | Effect::Activity { .. }));
        effects
    }

    pub(crate) fn says(&mut self, speaker: Speaker, text: &str) -> Vec<Effect> {
        self.heard += 1;
        let message = heard(self.heard, speaker, text);
        self.on(Event::Heard(vec![message]))
    }

    pub(crate) fn ana(&mut self, text: &str) -> Vec<Effect> {
        self.says(ana(), text)
    }

    /// Grants what the effects ask for and returns the call that follows.
    pub(crate) fn grant(&mut self, effects: &[Effect]) -> ModelCall {
        let effects = self.grant_all(effects);
        call(&effects)
    }

    /// Grants what the effects ask for and returns what follows.
    pub(crate) fn grant_all(&mut self, effects: &[Effect]) -> Vec<Effect> {
        let reserve = effects.iter().find_map(|effect| match effect {
            Effect::Reserve(reserve) => Some(reserve.id.clone()),
            _ => None,
        });
        let reserve = reserve.unwrap_or_else(|| panic!("nothing is reserved in {effects:#?}"));
        let answer = granted();
        self.on(Event::Reserved { reserve, answer })
    }

    /// The model answers the call that the effects lead to.
    pub(crate) fn model(&mut self, effects: &[Effect], reply: ModelReply) -> Vec<Effect> {
        let call = self.grant(effects);
        let reserve = call.reserve;
        self.on(Event::Replied { reserve, reply })
    }

    pub(crate) fn tool(&mut self, call: &CallId, outcome: ToolOutcome) -> Vec<Effect> {
        let call = call.clone();
        self.on(Event::ToolDone {
            call,
            outcome,
            receipt: None,
        })
    }

    /// Answers the post among the effects.
    pub(crate) fn posted(&mut self, effects: &[Effect]) -> Vec<Effect> {
        let idem = effects.iter().find_map(|effect| match effect {
            Effect::Post(post) => Some(post.idem.clone()),
            Effect::HandOverByDefault { idem, .. } | Effect::Escalate { idem, .. } => {
                Some(idem.clone())
            }
            _ => None,
        });
        let idem = idem.unwrap_or_else(|| panic!("no post in {effects:#?}"));
        let ts = "1700000000.000900".parse().unwrap();
        self.on(Event::Posted { idem, ts })
    }

    pub(crate) fn endings(&self) -> Vec<Ending> {
        let ends = self.log.iter().filter_map(|entry| match &entry.record {
            Record::ActivationEnded { ending, .. } => Some(ending.clone()),
            _ => None,
        });
        ends.collect()
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        let notes = self.log.iter().filter_map(|entry| match &entry.record {
            Record::Note { text } => Some(text.clone()),
            _ => None,
        });
        notes.collect()
    }
}

pub(crate) fn heard(number: u32, speaker: Speaker, text: &str) -> Heard {
    Heard {
        event: EventId::new(format!("Ev{number}")),
        ts: Some(format!("1700000000.{number:06}").parse().unwrap()),
        speaker,
        text: text.into(),
        images: vec![],
    }
}

pub(crate) fn ana() -> Speaker {
    Speaker::Person {
        user: UserId::new("U1"),
        name: "ana".into(),
    }
}

pub(crate) fn coder() -> Speaker {
    Speaker::Agent { role: Role::Coder }
}

pub(crate) fn granted() -> Budget {
    Budget::Granted {
        amount: Usd::from_cents(2),
        max_tokens: 4000,
        thread_total: Usd::from_cents(2),
        thread_cap: Usd::from_cents(500),
    }
}

pub(crate) fn text(text: &str) -> ModelReply {
    ModelReply {
        text: (!text.is_empty()).then(|| text.to_owned()),
        cost: Usd::from_cents(1),
        model: "usual".into(),
        ..ModelReply::default()
    }
}

pub(crate) fn calls(wanted: &[(&str, Value)]) -> ModelReply {
    let calls = wanted.iter().map(|(name, arguments)| RepliedCall {
        name: (*name).to_owned(),
        arguments: arguments.clone(),
        problem: None,
    });
    ModelReply {
        calls: calls.collect(),
        cost: Usd::from_cents(1),
        model: "usual".into(),
        ..ModelReply::default()
    }
}

pub(crate) fn failure(kind: FailureKind) -> ModelFailure {
    ModelFailure {
        kind,
        text: "It did not work.".into(),
        cost: Usd::ZERO,
        usage: TokenUsage::default(),
        model: "usual".into(),
    }
}

pub(crate) fn call(effects: &[Effect]) -> ModelCall {
    let call = effects.iter().find_map(|effect| match effect {
        Effect::CallModel(call) => Some(call.clone()),
        _ => None,
    });
    call.unwrap_or_else(|| panic!("no call in {effects:#?}"))
}

pub(crate) fn to_run(effects: &[Effect]) -> Vec<ToolCall> {
    let run = effects.iter().find_map(|effect| match effect {
        Effect::RunTools(calls) => Some(calls.clone()),
        _ => None,
    });
    run.unwrap_or_default()
}

pub(crate) fn post_text(effects: &[Effect]) -> Option<String> {
    effects.iter().find_map(|effect| match effect {
        Effect::Post(post) => Some(post.text.clone()),
        _ => None,
    })
}

/// What a card of this kind may be about.
pub(crate) fn subject(kind: DecisionKind) -> Subject {
    let subject = match kind {
        DecisionKind::Plan => json!({"plan": {"title": "t", "summary": "s", "steps": [],
            "criteria": [], "complexity": "simple"}}),
        DecisionKind::Command => json!({"command": {"arguments": {"command": "ls"},
            "network": false, "role": "coder", "root": "/r", "scripts": [], "tool": "Bash",
            "thread": {"channel": "C1", "root": "1700000000.000100"}}}),
        DecisionKind::Learning => json!({"learning": {"file": "coder.md", "change":
            {"is": "passage", "old": "", "new": "n", "why": "w"}}}),
        DecisionKind::Merge => json!({"merge": {"pr": 7, "head": "a", "tree": "b", "title": "t",
            "description": "d", "writer": "lead"}}),
        DecisionKind::Maps => json!({"maps": {"files": []}}),
        DecisionKind::Picture => json!({"picture": {"name": "a.png", "prompt": "p",
            "made_from": [], "model": "m", "cost": 1, "file": "F1", "sha256": "00"}}),
        DecisionKind::Develop => json!({"develop": {"items": [], "at_once": 1, "budget": 0}}),
        DecisionKind::Roadmap => json!({"roadmap": {"changes": [], "diff": ""}}),
        DecisionKind::Cap => json!({"cap": {"budget": "thread", "cap": 1, "used": 1}}),
    };
    serde_json::from_value(subject).unwrap()
}
