//! The simulated hub: posts by key, money by reservation, cards by request, and
//! deliveries that are repeated until they are acknowledged.

use std::collections::{BTreeMap, HashMap, HashSet};

use butler_protocol::{
    BudgetRefusal, Choice, Decision, DecisionKind, Idem, RequestId, ReserveId, Usd,
};
use butler_turn::{Budget, Heard, Order, Reserve, Settle};

use super::dice::Dice;

#[derive(Debug, Clone)]
pub(crate) enum Delivery {
    Message(Heard),
    Decision(Decision),
    Stop,
}

pub(crate) struct Mail {
    pub(crate) what: Delivery,
    /// Not before this time.
    pub(crate) at_ms: i64,
    pub(crate) acknowledged: bool,
}

#[derive(Default)]
pub(crate) struct Hub {
    pub(crate) mail: Vec<Mail>,
    pub(crate) posts: HashMap<Idem, String>,
    cards: BTreeMap<RequestId, DecisionKind>,
    pub(crate) carried_out: HashMap<RequestId, u32>,
    pub(crate) cap: i64,
    /// Cards stay open, until somebody does press.
    pub(crate) nobody_presses: bool,
    raised: HashSet<RequestId>,
    answers: HashMap<ReserveId, Budget>,
    reserved: HashMap<ReserveId, i64>,
    pub(crate) settled: HashMap<ReserveId, i64>,
}

impl Hub {
    pub(crate) fn new(cap: i64) -> Self {
        Self {
            cap,
            ..Self::default()
        }
    }

    /// The same key is one message, and says the same.
    pub(crate) fn post(&mut self, idem: &Idem, text: &str) {
        let kept = self
            .posts
            .entry(idem.clone())
            .or_insert_with(|| text.to_owned());
        let answer = text.starts_with("answer");
        assert!(
            !answer || kept == text,
            "one key, two texts: {kept:?} and {text:?}"
        );
    }

    pub(crate) fn used(&self) -> i64 {
        self.reserved.values().sum::<i64>() + self.settled.values().sum::<i64>()
    }

    /// A repeat of an id gets the first answer again.
    pub(crate) fn reserve(&mut self, asked: &Reserve, amount: i64) -> Budget {
        if let Some(answer) = self.answers.get(&asked.id) {
            return answer.clone();
        }
        let cap = Usd::from_nanos(self.cap);
        let answer = if self.used() + amount > self.cap {
            Budget::Refused(BudgetRefusal {
                budget: "thread".into(),
                cap,
                used: Usd::from_nanos(self.used()),
            })
        } else {
            self.reserved.insert(asked.id.clone(), amount);
            Budget::Granted {
                amount: Usd::from_nanos(amount),
                max_tokens: asked.max_tokens,
                thread_total: Usd::from_nanos(self.used()),
                thread_cap: cap,
            }
        };
        assert!(self.used() <= self.cap);
        self.answers.insert(asked.id.clone(), answer.clone());
        answer
    }

    /// The first settlement of a reservation counts.
    pub(crate) fn settle(&mut self, bill: &Settle) {
        if self.reserved.remove(&bill.id).is_some() {
            self.settled.insert(bill.id.clone(), bill.cost.nanos());
        }
        assert!(self.used() <= self.cap, "settled more than was set aside");
    }

    /// The cards that nobody has decided about.
    pub(crate) fn open_cards(&self) -> BTreeMap<RequestId, DecisionKind> {
        let decided = self.mail.iter().filter_map(|mail| match &mail.what {
            Delivery::Decision(decision) => Some(&decision.request),
            _ => None,
        });
        let mut open = self.cards.clone();
        for request in decided {
            open.remove(request);
        }
        open
    }

    /// Shows a card; as a rule somebody decides about it.
    pub(crate) fn ask(
        &mut self,
        request: &RequestId,
        kind: DecisionKind,
        at_ms: i64,
        dice: &mut Dice,
    ) {
        let known = self.cards.insert(request.clone(), kind).is_some();
        if !known && !self.nobody_presses {
            self.press(request, kind, at_ms, dice);
        }
    }

    /// Somebody decides about a card, some time later.
    pub(crate) fn press(
        &mut self,
        request: &RequestId,
        kind: DecisionKind,
        at_ms: i64,
        dice: &mut Dice,
    ) {
        let choices = kind.choices();
        let choice = choices[dice.index(choices.len())];
        let decision = super::driver::decision(request, kind, choice);
        let at_ms = at_ms + i64::try_from(dice.below(5000)).unwrap();
        self.mail.push(Mail {
            what: Delivery::Decision(decision),
            at_ms,
            acknowledged: false,
        });
    }

    pub(crate) fn carry_out(&mut self, order: &Order) {
        *self.carried_out.entry(order.request.clone()).or_default() += 1;
    }

    /// A raised cap is raised when the hub writes the decision, once.
    pub(crate) fn decided(&mut self, decision: &Decision) {
        if decision.choice == Choice::Raise && self.raised.insert(decision.request.clone()) {
            self.cap += 60;
        }
    }
}
