//! A driver as `team` has one, in a world where everything can go wrong between
//! any two steps: the process dies, letters come twice, answers come late and in
//! any order, the clock jumps.

use std::collections::{HashMap, HashSet, VecDeque};

use butler_turn::{
    Effect, Event, FailureKind, Interrupted, Machine, ModelCall, Order, Purse, Setup,
};
use butler_vocab::{
    CallId, Choice, CrashClass, Decision, DecisionKind, Ending, Entry, Idem, ModelMessage, Record,
    RequestId, ReserveId, Sha256Hex, Then, ToolCall, ToolOutcome, UserId, Waiting,
};

use super::{
    dice::Dice,
    hub::{Hub, Letter, Mail},
    people,
};

/// Crashes are bounded, so that a run comes to its end.
const MOST_CRASHES: u32 = 12;

/// Something in flight that ends in an event. It dies with the process.
enum Op {
    Reserved(ReserveId, Purse),
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
    setup: Setup,
    pub(crate) machine: Machine,
    effects: VecDeque<Effect>,
    ops: Vec<Op>,
    /// The letter whose effects are being carried out.
    reading: Option<usize>,
    /// What the provider really charged.
    pub(crate) charged: HashMap<ReserveId, i64>,
    amounts: HashMap<ReserveId, i64>,
    pub(crate) started: HashMap<CallId, u32>,
    results: HashMap<CallId, ToolOutcome>,
    /// The last request that was answered, for the promise that the next one
    /// begins with it.
    answered: Option<Vec<ModelMessage>>,
    asked: Vec<ModelMessage>,
    pub(crate) requests: Vec<String>,
    pub(crate) crashes: u32,
    crash_percent: u64,
    replies: u64,
    extra_words: u32,
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
                crate::bench::ana()
            } else {
                crate::bench::coder()
            };
            let message = crate::bench::heard(number, speaker, &format!("word-{number}-"));
            let at_ms = i64::try_from(dice.below(20_000)).unwrap();
            hub.mail.push(Mail {
                letter: Letter::Message(message),
                at_ms,
                acknowledged: false,
            });
        }
        if dice.percent(15) {
            let at_ms = i64::try_from(dice.below(20_000)).unwrap();
            hub.mail.push(Mail {
                letter: Letter::Stop,
                at_ms,
                acknowledged: false,
            });
        }
        hub.mail.sort_by_key(|mail| mail.at_ms);
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
            requests: Vec::new(),
            crashes: 0,
            crash_percent,
            replies: 0,
            extra_words,
            trace: false,
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

    fn crash(&mut self) {
        self.say("CRASH");
        self.crashes += 1;
        self.effects.clear();
        self.ops.clear();
        self.reading = None;
        self.answered = None;
        self.machine = Machine::new(self.setup.clone(), &self.disk);
        let now_ms = self.now_ms;
        self.feed(Event::Begin { now_ms });
    }

    fn feed(&mut self, event: Event) {
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
                if let Purse::Granted { amount, .. } = &answer {
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
                self.ops.push(Op::CarriedOut(order));
            }
            Effect::Chose { what, .. } => {
                if what.contains("answers from here on") {
                    self.answered = None;
                }
            }
            Effect::Progress(_)
            | Effect::React { .. }
            | Effect::Activity { .. }
            | Effect::Park(_)
            | Effect::End(_) => {}
        }
    }

    fn post(&mut self, idem: Idem, text: &str) {
        self.hub.post(&idem, text);
        self.ops.push(Op::Posted(idem));
    }

    /// Cards are written, then shown; both once.
    fn ask(&mut self, request: &RequestId, kind: DecisionKind, then: Option<Op>) {
        let asked = |entry: &Entry| matches!(&entry.record, Record::DecisionAsked { request: known, .. } if known == request);
        if !self.disk.iter().any(asked) {
            self.write_own(Record::DecisionAsked {
                request: request.clone(),
                kind,
                sha256: Sha256Hex::of("x"),
                subject: serde_json::Value::Null,
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
        let messages = self.machine.messages();
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

    fn finish_any(&mut self) -> bool {
        match self.ops.pop() {
            Some(op) => {
                self.finish(op);
                true
            }
            None => false,
        }
    }

    fn finish(&mut self, op: Op) {
        match op {
            Op::Reserved(reserve, answer) => self.feed(Event::Reserved { reserve, answer }),
            Op::Model(call) => self.answer(call),
            Op::Summary(call) => {
                let cost = self.charged[&call.reserve];
                let result = if self.dice.percent(80) {
                    let mut reply = crate::bench::text("a summary");
                    reply.cost = butler_vocab::Usd::from_nanos(cost);
                    Ok(reply)
                } else {
                    Err(people::failure(FailureKind::Unavailable, cost))
                };
                let reserve = call.reserve;
                self.feed(Event::Summarised { reserve, result });
            }
            Op::Tool { call, ran: None } => {
                let outcome = self.run(&call);
                self.ops.push(Op::Tool {
                    call,
                    ran: Some(outcome),
                });
            }
            Op::Tool {
                call,
                ran: Some(outcome),
            } => self.tool_done(call.id, outcome),
            Op::Recover(interrupted) => self.recover(interrupted),
            Op::Posted(idem) => {
                let ts = "1700000000.000900".parse().unwrap();
                self.feed(Event::Posted { idem, ts });
            }
            Op::Asked(request) => self.feed(Event::Asked { request }),
            Op::CarriedOut(order) => self.carried_out(order),
        }
    }

    fn answer(&mut self, call: ModelCall) {
        self.replies += 1;
        let cost = self.charged[&call.reserve];
        let reserve = call.reserve;
        // After a stop the driver hears that its call was cancelled.
        let stopped = self.machine.activation().is_none();
        match people::reply(&mut self.dice, self.replies, cost) {
            _ if stopped => {
                let failure = people::failure(FailureKind::Cancelled, cost);
                self.feed(Event::ModelFailed { reserve, failure });
            }
            Ok(reply) => {
                self.feed(Event::Replied { reserve, reply });
                // The answer of a call that was stopped is not taken.
                let taken =
                    |effect: &Effect| matches!(effect, Effect::Append(Record::Assistant { .. }));
                if self.effects.iter().any(taken) {
                    self.answered = Some(std::mem::take(&mut self.asked));
                }
            }
            Err(failure) => {
                self.feed(Event::ModelFailed { reserve, failure });
            }
        }
    }

    fn run(&mut self, call: &ToolCall) -> ToolOutcome {
        let count = self.started.entry(call.id.clone()).or_default();
        *count += 1;
        assert!(
            *count == 1 || call.name != "Bash",
            "an opaque command started twice"
        );
        let outcome = people::outcome(&mut self.dice, call, self.now_ms);
        if let Then::Park {
            waiting: Waiting::Decision { request },
        } = &outcome.then
        {
            self.ask(request, DecisionKind::Plan, None);
        }
        self.results.insert(call.id.clone(), outcome.clone());
        outcome
    }

    fn recover(&mut self, interrupted: Interrupted) {
        let known = self.results.get(interrupted.id()).cloned();
        let outcome = match (interrupted.crash, known) {
            (CrashClass::Opaque, _) => ToolOutcome::error("interrupted: look before you try again"),
            (CrashClass::Checkable, Some(outcome)) => outcome,
            _ => self.run(&interrupted.call),
        };
        self.tool_done(interrupted.call.id, outcome);
    }

    fn tool_done(&mut self, call: CallId, outcome: ToolOutcome) {
        let event = Event::ToolDone {
            call,
            outcome,
            receipt: None,
        };
        if self.dice.percent(10) {
            self.feed(event.clone());
            self.drain();
        }
        self.feed(event);
    }

    fn carried_out(&mut self, order: Order) {
        let outcome = match self.dice.below(4) {
            0 => ToolOutcome::error("it did not work"),
            _ => ToolOutcome::ok("done").then(Then::End),
        };
        let request = order.request;
        self.feed(Event::CarriedOut { request, outcome });
    }

    /// Everything that was asked for is carried out before the next event.
    fn drain(&mut self) {
        while let Some(effect) = self.effects.pop_front() {
            self.carry_out(effect);
        }
    }

    /// Letters come in order, until they are acknowledged; now and then one
    /// comes again all the same.
    fn deliver(&mut self) -> bool {
        let due = |mail: &Mail| !mail.acknowledged && mail.at_ms <= self.now_ms;
        let next = self.hub.mail.iter().position(due);
        let acknowledged: Vec<usize> = (0..self.hub.mail.len())
            .filter(|at| self.hub.mail[*at].acknowledged)
            .collect();
        if !acknowledged.is_empty() && self.dice.percent(3) {
            let again = acknowledged[self.dice.index(acknowledged.len())];
            // A stop is acted upon when it comes; the hub keeps it from coming twice.
            if !matches!(self.hub.mail[again].letter, Letter::Stop) {
                self.read(again);
                return true;
            }
        }
        match next {
            Some(next) => {
                self.read(next);
                true
            }
            None => false,
        }
    }

    fn read(&mut self, at: usize) {
        self.reading = Some(at);
        match self.hub.mail[at].letter.clone() {
            Letter::Message(message) => self.feed(Event::Heard(vec![message])),
            Letter::Decision(decision) => {
                self.hub.decided(&decision);
                self.feed(Event::Decided(decision));
            }
            Letter::Stop => self.feed(Event::Stop {
                by: butler_turn::StopCause::Person("ana".into()),
            }),
        }
    }

    /// Nothing is due: the clock goes on, or jumps. False when nothing waits for it.
    fn pass_time(&mut self) -> bool {
        let waiting = self.machine.parked().cloned();
        match waiting {
            Some(Waiting::Worktree) => {
                self.feed(Event::WorktreeFree);
                return true;
            }
            Some(Waiting::Reply { deadline_ms }) if self.dice.percent(50) => {
                self.now_ms = self.now_ms.max(deadline_ms);
                let now_ms = self.now_ms;
                self.feed(Event::Deadline { now_ms });
                return true;
            }
            _ => {}
        }
        let next = self
            .hub
            .mail
            .iter()
            .filter(|mail| !mail.acknowledged)
            .map(|mail| mail.at_ms)
            .min();
        if let Some(next) = next {
            self.now_ms =
                next.max(self.now_ms) + i64::try_from(self.dice.below(3)).unwrap() * 60_000;
            return true;
        }
        match waiting {
            Some(Waiting::Reply { deadline_ms }) => {
                self.now_ms = deadline_ms;
                self.feed(Event::Deadline {
                    now_ms: deadline_ms,
                });
                true
            }
            Some(Waiting::Person) if self.extra_words > 0 => {
                self.extra_words -= 1;
                let number = 100 + self.extra_words;
                let message =
                    crate::bench::heard(number, crate::bench::ana(), &format!("word-{number}-"));
                let at_ms = self.now_ms;
                self.hub.mail.push(Mail {
                    letter: Letter::Message(message),
                    at_ms,
                    acknowledged: false,
                });
                true
            }
            _ => false,
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
