//! A driver as `team` has one, in a world where everything can go wrong between
//! any two steps: the process dies, deliveries come twice, answers come late and in
//! any order, the clock jumps.

use std::collections::{HashMap, HashSet, VecDeque};

use butler_protocol::{
    CallId, Choice, CrashClass, Decision, DecisionKind, Ending, Entry, Idem, MessageTs,
    ModelMessage, Record, RequestId, ReserveId, Sha256Hex, ToolCall, ToolOutcome, UserId,
};
use butler_turn::{
    Budget, Effect, Event, Interrupted, Machine, Mark, Messages, ModelCall, Order, Setup,
};

use crate::harness::plain;

use super::{
    dice::Dice,
    hub::{Delivery, Hub, Mail},
};

/// Steps after which a run counts as endless.
const MOST_STEPS: u32 = 20_000;

/// Crashes are bounded, so that a run comes to its end.
const MOST_CRASHES: u32 = 12;

/// Something in flight that ends in an event. It dies with the process.
pub(crate) enum Op {
    Reserved(ReserveId, Budget),
    Model(ModelCall),
    Summary(ModelCall),
    Tool {
        call: ToolCall,
        ran: Option<ToolOutcome>,
    },
    Recover(Interrupted),
    Posted(Idem),
    Asked(RequestId),
    CarriedOut(Order),
}

pub(crate) struct World {
    pub(crate) dice: Dice,
    pub(crate) now_ms: i64,
    pub(crate) hub: Hub,
    pub(crate) disk: Vec<Entry>,
    pub(crate) setup: Setup,
    pub(crate) machine: Machine,
    pub(crate) effects: VecDeque<Effect>,
    pub(crate) ops: Vec<Op>,
    /// The delivery whose effects are being carried out.
    pub(crate) reading: Option<usize>,
    /// What the provider really charged.
    pub(crate) charged: HashMap<ReserveId, i64>,
    pub(crate) amounts: HashMap<ReserveId, i64>,
    pub(crate) started: HashMap<CallId, u32>,
    pub(crate) results: HashMap<CallId, ToolOutcome>,
    /// The last request that was answered, for the promise that the next one
    /// begins with it.
    pub(crate) answered: Option<Vec<ModelMessage>>,
    pub(crate) asked: Vec<ModelMessage>,
    /// What a driver keeps of the last request.
    pub(crate) kept: Messages,
    pub(crate) requests: Vec<String>,
    pub(crate) crashes: u32,
    pub(crate) crash_percent: u64,
    pub(crate) replies: u64,
    pub(crate) extra_words: u32,
    /// Messages that bear a ✅, and what the machine wrote down as its choice.
    pub(crate) marked: HashSet<MessageTs>,
    pub(crate) choices: Vec<String>,
    pub(crate) trace: bool,
}

pub(crate) fn decision(request: &RequestId, kind: DecisionKind, choice: Choice) -> Decision {
    Decision {
        request: request.clone(),
        kind,
        sha256: Sha256Hex::of("x"),
        thread: "C1/1700000000.000100".parse().unwrap(),
        choice,
        person: UserId::new("U1"),
        name: "ana".into(),
        run: None,
        message: "1700000000.000500".parse().unwrap(),
        at_ms: 0,
    }
}

impl World {
    pub(crate) fn new(seed: u64, setup: Setup) -> Self {
        let mut dice = Dice::new(seed);
        let mut hub = Hub::new(40 + i64::try_from(dice.below(200)).unwrap());
        for number in 1..=1 + u32::try_from(dice.below(4)).unwrap() {
            let speaker = if dice.percent(70) {
                crate::harness::ana()
            } else {
                crate::harness::coder()
            };
            let message = crate::harness::heard(number, speaker, &format!("word-{number}-"));
            let at_ms = i64::try_from(dice.below(20_000)).unwrap();
            hub.mail.push(Mail {
                what: Delivery::Message(message),
                at_ms,
                acknowledged: false,
            });
        }
        if dice.percent(15) {
            let at_ms = i64::try_from(dice.below(20_000)).unwrap();
            hub.mail.push(Mail {
                what: Delivery::Stop,
                at_ms,
                acknowledged: false,
            });
        }
        hub.mail.sort_by_key(|mail| mail.at_ms);
        hub.nobody_presses = dice.percent(20);
        let crash_percent = [0, 1, 4, 12][dice.index(4)];
        let extra_words = u32::try_from(dice.below(3)).unwrap();
        Self {
            dice,
            now_ms: 0,
            hub,
            disk: Vec::new(),
            machine: Machine::new(setup.clone(), &[]),
            setup,
            effects: VecDeque::new(),
            ops: Vec::new(),
            reading: None,
            charged: HashMap::new(),
            amounts: HashMap::new(),
            started: HashMap::new(),
            results: HashMap::new(),
            answered: None,
            asked: Vec::new(),
            kept: Messages::default(),
            requests: Vec::new(),
            crashes: 0,
            crash_percent,
            replies: 0,
            extra_words,
            marked: HashSet::new(),
            choices: Vec::new(),
            trace: false,
        }
    }

    /// Goes on until nothing is left to happen.
    pub(crate) fn come_to_rest(&mut self) {
        let mut steps = 0;
        while self.step() {
            steps += 1;
            assert!(steps < MOST_STEPS, "it never comes to rest");
        }
    }

    /// One step; false when nothing is left to happen.
    pub(crate) fn step(&mut self) -> bool {
        if self.crashes < MOST_CRASHES && self.dice.percent(self.crash_percent) {
            self.crash();
            return true;
        }
        if let Some(effect) = self.effects.pop_front() {
            self.carry_out(effect);
            return true;
        }
        if let Some(read) = self.reading.take() {
            self.hub.mail[read].acknowledged = true;
        }
        if self.dice.percent(5) {
            self.check_parity();
        }
        if !self.ops.is_empty() && self.dice.percent(60) {
            let op = self.ops.swap_remove(self.dice.index(self.ops.len()));
            self.finish(op);
            return true;
        }
        self.deliver() || self.finish_any() || self.pass_time()
    }

    fn say(&self, what: &str) {
        if self.trace {
            println!("{:>6} {what}", self.now_ms);
        }
    }

    pub(crate) fn crash(&mut self) {
        self.say("CRASH");
        self.crashes += 1;
        self.effects.clear();
        self.ops.clear();
        self.reading = None;
        self.answered = None;
        self.machine = Machine::new(self.setup.clone(), &self.disk);
        self.kept = Messages::default();
        let now_ms = self.now_ms;
        self.feed(Event::Begin { now_ms });
    }

    pub(crate) fn feed(&mut self, event: Event) {
        if self.trace {
            println!("{:>6} > {event:?}", self.now_ms);
        }
        self.effects.extend(self.machine.on(event));
    }

    /// A machine that is rebuilt from the disk right now would know the same.
    fn check_parity(&self) {
        let twin = Machine::new(self.setup.clone(), &self.disk);
        assert_eq!(twin.is_idle(), self.machine.is_idle(), "idle");
        assert_eq!(twin.parked(), self.machine.parked(), "parked");
        assert_eq!(twin.turn(), self.machine.turn(), "turn");
        assert_eq!(twin.activation(), self.machine.activation(), "activation");
    }

    fn write(&mut self, record: Record) -> Entry {
        if self.trace {
            println!("{:>6} # {record:?}", self.now_ms);
        }
        let entry = Entry {
            seq: self.disk.len() as u64 + 1,
            epoch: 1,
            at_ms: self.now_ms,
            record,
        };
        self.disk.push(entry.clone());
        entry
    }

    /// Writes a line of the driver's own.
    fn write_own(&mut self, record: Record) {
        let entry = self.write(record);
        self.machine.wrote(&entry);
    }

    fn carry_out(&mut self, effect: Effect) {
        if self.trace && !matches!(effect, Effect::Append(_)) {
            println!("{:>6} < {effect:?}", self.now_ms);
        }
        match effect {
            Effect::Append(record) => drop(self.write(record)),
            Effect::Reserve(asked) => {
                let amount = 1 + i64::try_from(self.dice.below(20)).unwrap();
                let answer = self.hub.reserve(&asked, amount);
                if let Budget::Granted { amount, .. } = &answer {
                    self.amounts.insert(asked.id.clone(), amount.nanos());
                }
                self.ops.push(Op::Reserved(asked.id, answer));
            }
            Effect::Settle(bill) => self.hub.settle(&bill),
            Effect::CallModel(call) => self.call_model(call),
            Effect::Summarise { call, messages } => {
                assert_eq!(messages.len(), 2);
                self.charge(&call);
                self.answered = None;
                self.ops.push(Op::Summary(call));
            }
            Effect::RunTools(calls) => self.run_tools(&calls),
            Effect::RecoverTools(calls) => self.ops.extend(calls.into_iter().map(Op::Recover)),
            Effect::Cancel => self.cancel(),
            Effect::Post(post) => self.post(post.idem, &post.text),
            Effect::HandOverByDefault { idem, text } | Effect::Escalate { idem, text } => {
                self.post(idem, &format!("handed over: {text}"));
            }
            Effect::AskForMoney { request, .. } => {
                self.ask(
                    &request,
                    DecisionKind::Cap,
                    Some(Op::Asked(request.clone())),
                );
            }
            Effect::CarryOut(order) => {
                self.hub.carry_out(&order);
                let order = self.begin_approved(order);
                self.ops.push(Op::CarriedOut(order));
            }
            Effect::Chose { what, why, .. } => {
                if what.contains("answers from here on") {
                    self.answered = None;
                }
                self.choices.push(format!("{what}: {why}"));
            }
            Effect::React {
                ts,
                mark: Mark::Answered,
            } => drop(self.marked.insert(ts)),
            Effect::Progress(_)
            | Effect::React { .. }
            | Effect::Activity { .. }
            | Effect::Park(_)
            | Effect::End(_) => {}
        }
    }

    /// An approved call starts once: what was begun before a crash is only told.
    fn begin_approved(&mut self, order: Order) -> Order {
        let call = CallId::new(format!("run-{}", order.request));
        let begun = |entry: &Entry| matches!(&entry.record, Record::ToolIntent { call: known, .. } if *known == call);
        if order.runs_a_call() && !self.disk.iter().any(begun) {
            self.write_own(Record::ToolIntent {
                call: call.clone(),
                tool: "Deploy".into(),
                crash: CrashClass::Opaque,
                sha256: Sha256Hex::of("x"),
                trace: None,
            });
            let count = self.started.entry(call).or_default();
            *count += 1;
            assert_eq!(*count, 1, "an approved call started twice");
        }
        order
    }

    fn post(&mut self, idem: Idem, text: &str) {
        self.hub.post(&idem, text);
        self.ops.push(Op::Posted(idem));
    }

    /// Cards are written, then shown; both once.
    pub(crate) fn ask(&mut self, request: &RequestId, kind: DecisionKind, then: Option<Op>) {
        let asked = |entry: &Entry| matches!(&entry.record, Record::DecisionAsked { request: known, .. } if known == request);
        if !self.disk.iter().any(asked) {
            self.write_own(Record::DecisionAsked {
                request: request.clone(),
                sha256: Sha256Hex::of("x"),
                subject: crate::harness::subject(kind),
                learnings: Vec::new(),
            });
        }
        self.hub.ask(request, kind, self.now_ms, &mut self.dice);
        self.ops.extend(then);
    }

    /// A call is paid for from money that the log knows of, once.
    fn charge(&mut self, call: &ModelCall) {
        let reserved = |entry: &Entry| matches!(&entry.record, Record::Reserved { reserve, .. } if *reserve == call.reserve);
        assert!(
            self.disk.iter().any(reserved),
            "a call without a reservation on disk"
        );
        let cost = i64::try_from(
            self.dice
                .below(u64::try_from(self.amounts[&call.reserve] + 1).unwrap()),
        )
        .unwrap();
        let before = self.charged.insert(call.reserve.clone(), cost);
        assert_eq!(before, None, "one reservation paid for two calls");
        assert!(
            self.charged.values().sum::<i64>() <= self.hub.cap,
            "the budget is exceeded"
        );
    }

    fn call_model(&mut self, call: ModelCall) {
        assert!(
            call.turn <= self.setup.limits.max_turns,
            "the turn limit is passed"
        );
        self.charge(&call);
        let messages = plain(&self.machine.messages());
        self.machine.bring_up(&mut self.kept);
        let kept = plain(&self.kept.list);
        assert_eq!(kept, messages, "kept and made anew are the same");
        super::check_request(&messages);
        if let Some(before) = &self.answered {
            assert_eq!(
                &messages[..before.len()],
                &before[..],
                "a request begins with the last one"
            );
        }
        self.requests.push(super::all_text(&messages));
        self.asked = messages;
        self.ops.push(Op::Model(call));
    }

    /// Writes intents, then starts; a crash may come after any of them.
    fn run_tools(&mut self, calls: &[ToolCall]) {
        for call in calls {
            if self.crashes < MOST_CRASHES && self.dice.percent(self.crash_percent) {
                self.crash();
                return;
            }
            let crash = match call.name.as_str() {
                "Bash" => CrashClass::Opaque,
                "Read" => CrashClass::Pure,
                _ => CrashClass::Checkable,
            };
            self.write_own(Record::ToolIntent {
                call: call.id.clone(),
                tool: call.name.clone(),
                crash,
                sha256: Sha256Hex::of("x"),
                trace: None,
            });
        }
        let started = calls.iter().map(|call| Op::Tool {
            call: call.clone(),
            ran: None,
        });
        self.ops.extend(started);
    }

    /// What runs is cancelled; a cancelled model call says what it cost. Tools
    /// may still answer, or not.
    fn cancel(&mut self) {
        let mut kept = Vec::new();
        for op in std::mem::take(&mut self.ops) {
            match op {
                Op::Tool { .. } | Op::Recover(_) if self.dice.percent(50) => {}
                op => kept.push(op),
            }
        }
        self.ops = kept;
    }

    /// Everything that was asked for is carried out before the next event.
    pub(crate) fn drain(&mut self) {
        while let Some(effect) = self.effects.pop_front() {
            self.carry_out(effect);
        }
    }

    /// The activations that ended so that nothing starts by itself.
    pub(crate) fn last_hold(&self) -> u64 {
        let held = |entry: &&Entry| {
            matches!(
                &entry.record,
                Record::ActivationEnded {
                    ending: Ending::Stopped | Ending::Failed { .. } | Ending::OutOfMoney,
                    ..
                }
            )
        };
        self.disk
            .iter()
            .rev()
            .find(held)
            .map_or(0, |entry| entry.seq)
    }

    /// Distinct events in the log that carried a message.
    pub(crate) fn heard(&self) -> Vec<(u64, String)> {
        let mut seen = HashSet::new();
        let mut out = Vec::new();
        for entry in &self.disk {
            if let Record::User {
                event: Some(event),
                text,
                ..
            } = &entry.record
            {
                assert!(seen.insert(event.clone()), "{event} is in the log twice");
                out.push((entry.seq, text.clone()));
            }
        }
        out
    }
}
