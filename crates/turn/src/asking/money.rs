//! Money before and after a model call. A call is made only with a reservation
//! that the hub granted and the log holds; whatever happened to the call, its
//! reservation is settled, in the next run if need be.

use butler_protocol::{
    ActivityState, BudgetRefusal, Record, RequestId, ReserveId, TokenUsage, Usd, Waiting,
};

use crate::{
    Budget, Effect, Machine, Mark, ModelCall, Outgoing, PostKind, Reserve, Settle, ending::Posting,
    machine::Doing, next_step::Step, words,
};

/// What a reservation is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The next turn.
    Turn,
    /// A summary of everything up to this line.
    Summary { upto: u64 },
}

impl Machine {
    /// Settles what a crash left open, at its worst case: the answer is lost,
    /// the provider's bill is not. The last settlement is repeated, because the
    /// hub may not have heard it.
    pub(crate) fn close_books(&mut self) -> Step {
        if self.books_checked {
            return Step::Pass;
        }
        self.books_checked = true;
        if self.state.open || self.state.books.ends_settled {
            self.out
                .extend(self.state.books.last_settle.clone().map(Effect::Settle));
        }
        for (id, amount) in self.state.books.unsettled.clone() {
            let bill = Settle {
                id,
                cost: amount,
                usage: TokenUsage::default(),
                model: self.model().to_owned(),
            };
            self.settle(bill);
        }
        Step::Pass
    }

    /// Books a call, whatever the machine does now.
    pub(crate) fn settle(&mut self, bill: Settle) {
        let told = self.book(bill);
        self.out.extend(told.map(Effect::Settle));
    }

    /// Writes the bill and gives back what the hub has to be told after the
    /// lines that belong together. The log comes first: what it holds is told
    /// to the hub again after a crash.
    pub(crate) fn book(&mut self, bill: Settle) -> Option<Settle> {
        let open = |(id, _): &(ReserveId, Usd)| *id == bill.id;
        if !self.state.books.unsettled.iter().any(open) {
            return None;
        }
        let record = Record::Settled {
            reserve: bill.id.clone(),
            cost: bill.cost,
            usage: bill.usage,
            model: bill.model.clone(),
        };
        self.append(record);
        Some(bill)
    }

    /// The last rule: set money aside for the next turn.
    pub(crate) fn ask_model(&mut self) -> Step {
        self.reserve(Purpose::Turn);
        Step::Wait
    }

    pub(crate) fn reserve(&mut self, purpose: Purpose) {
        let round = &self.state.round;
        let index = match purpose {
            Purpose::Turn => 0,
            Purpose::Summary { .. } => 1,
        };
        // A refused id stays refused at the hub, and a lost call is paid for,
        // so each further try has an id of its own.
        let attempt = round.since.attempts + round.since.parkings;
        let id = self.next_origin(index).reserve(attempt);
        self.out.push(Effect::Reserve(Reserve {
            id: id.clone(),
            model: self.model().to_owned(),
            input_bytes: self.state.talk.bytes(),
            input_tokens: self.state.talk.most_tokens(),
            max_tokens: self.setup.models.max_tokens,
        }));
        self.doing = Doing::Reserving(id, purpose);
    }

    pub(crate) fn on_reserved(&mut self, reserve: &ReserveId, answer: Budget) {
        let purpose = match &self.doing {
            Doing::Reserving(id, purpose) if id == reserve => *purpose,
            _ => return self.give_back(reserve, &answer),
        };
        self.doing = Doing::Nothing;
        match answer {
            Budget::Granted {
                amount,
                max_tokens,
                thread_total,
                thread_cap,
            } => {
                let id = reserve.clone();
                let record = Record::Reserved {
                    reserve: id.clone(),
                    amount,
                };
                self.append(record);
                self.warn(thread_total, thread_cap);
                let call = ModelCall {
                    turn: self.state.round.turn + 1,
                    model: self.model().to_owned(),
                    reserve: id,
                    max_tokens,
                };
                self.call(purpose, call);
            }
            Budget::Refused(refusal) => self.ask_for_money(refusal),
        }
    }

    /// A grant that came after a stop: no call will use it.
    fn give_back(&mut self, reserve: &ReserveId, answer: &Budget) {
        if matches!(answer, Budget::Granted { .. }) && !self.state.knows_reserve(reserve) {
            self.out.push(Effect::Settle(Settle {
                id: reserve.clone(),
                cost: Usd::ZERO,
                usage: TokenUsage::default(),
                model: self.model().to_owned(),
            }));
        }
    }

    fn call(&mut self, purpose: Purpose, call: ModelCall) {
        match purpose {
            Purpose::Turn => {
                self.mark_seen();
                // Also after a sleep: the hub has to know who is at work.
                self.out.push(Effect::Activity {
                    state: ActivityState::Working,
                    step: Some("thinking".to_owned()),
                });
                self.doing = Doing::Calling(call.reserve.clone());
                self.out.push(Effect::CallModel(call));
            }
            Purpose::Summary { upto } => self.summarise(upto, call),
        }
    }

    fn mark_seen(&mut self) {
        let people = self.state.inbox.unseen.iter().filter(|said| said.person);
        let seen: Vec<_> = people.filter_map(|said| said.ts.clone()).collect();
        self.mark(seen, Mark::Seen);
    }

    /// Warns people once per thread when most of the budget is used.
    fn warn(&mut self, total: Usd, cap: Usd) {
        let percent = self.setup.limits.warn_percent;
        let reached =
            i128::from(total.nanos()) * 100 >= i128::from(cap.nanos()) * i128::from(percent);
        let idem = self.thread_origin().idem(&format!("budget {cap}"));
        let told = self.state.posted.contains(&idem) || self.outgoing.contains(&idem);
        if cap > Usd::ZERO && reached && !told {
            self.outgoing.insert(idem.clone());
            self.out.push(Effect::Post(Outgoing {
                idem,
                text: words::budget_warning(percent, &total.to_string(), &cap.to_string()),
                kind: PostKind::BudgetWarning,
            }));
        }
    }

    /// One card per refusal; while it is open nobody is asked again, and who speaks
    /// is told what their words wait for.
    fn ask_for_money(&mut self, refusal: BudgetRefusal) {
        if let Some((request, words)) = self.state.round.cap_card.clone() {
            if self.state.person_words == words || self.told_to_wait() {
                self.park_for(request);
            }
            return;
        }
        let index = 2 + self.state.round.since.parkings;
        let request = self.next_origin(index).request();
        self.doing = Doing::AskingForMoney(request.clone());
        self.out.push(Effect::AskForMoney { request, refusal });
    }

    /// Whether the last word of a person was answered with the wait for money.
    fn told_to_wait(&mut self) -> bool {
        let label = format!("waits for money {}", self.state.person_words);
        let idem = self.thread_origin().idem(&label);
        if self.state.posted.contains(&idem) {
            return true;
        }
        self.out.push(Effect::Post(Outgoing {
            idem: idem.clone(),
            text: words::WAITS_FOR_MONEY.to_owned(),
            kind: PostKind::BudgetWarning,
        }));
        self.doing = Doing::Posting(Posting { idem, ending: None });
        false
    }

    pub(crate) fn on_asked(&mut self, request: &RequestId) {
        if self.doing != Doing::AskingForMoney(request.clone()) {
            return;
        }
        self.doing = Doing::Nothing;
        // After a crash the click may have come before the card was written down.
        if !self.state.decisions.used.contains_key(request) {
            let words = self.state.person_words;
            let card = &mut self.state.round.cap_card;
            card.get_or_insert_with(|| (request.clone(), words));
        }
        self.park_for(request.clone());
    }

    fn park_for(&mut self, request: RequestId) {
        let waiting = Waiting::Decision { request };
        self.append(Record::Parked { waiting });
        self.advance();
    }
}
