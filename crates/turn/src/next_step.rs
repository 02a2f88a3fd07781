//! What is next? The rules are asked from the top; the first that has something
//! to do does it. After a restart the same questions get the same answers,
//! because every rule looks at the log only.

use butler_protocol::{ActivityState, Ending, Record, Then};

use crate::{Effect, Machine, machine::Doing, words};

/// What a rule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Not my case.
    Pass,
    /// Something was written: ask again from the top.
    Again,
    /// Now wait for an event.
    Wait,
}

type Rule = fn(&mut Machine) -> Step;

const RULES: [Rule; 15] = [
    Machine::close_books,
    Machine::start,
    Machine::sleep,
    Machine::carry_out,
    Machine::run_tools,
    Machine::after_calls,
    Machine::after_text,
    Machine::money_gone,
    Machine::give_up,
    Machine::pause_chatter,
    Machine::turn_limit,
    Machine::raise_model,
    Machine::remark,
    Machine::compact,
    Machine::ask_model,
];

impl Machine {
    /// Goes through the rules until something has to be waited for. Does nothing while an
    /// answer is outstanding.
    pub(crate) fn advance(&mut self) {
        while self.doing == Doing::Nothing {
            let step = RULES
                .iter()
                .map(|rule| rule(self))
                .find(|step| *step != Step::Pass);
            if step != Some(Step::Again) {
                return;
            }
        }
    }

    /// Begins an activation when something was said. The prompt is written
    /// first: an activation that has begun keeps the prompt it began with.
    fn start(&mut self) -> Step {
        if self.state.open {
            return Step::Pass;
        }
        if self.is_idle() {
            return Step::Wait;
        }
        let (prompt, tools) = (&self.setup.prompt, &self.setup.tools);
        if !self.state.talk.has_prompt(prompt, tools) {
            let record = Record::Prompt {
                text: prompt.clone(),
                tools: tools.clone(),
            };
            self.append(record);
        }
        let activation = (self.state.activation + 1).max(self.setup.first_activation);
        self.append(Record::ActivationStarted { activation });
        self.out.push(Effect::activity(ActivityState::Working));
        Step::Again
    }

    fn sleep(&mut self) -> Step {
        let Some(waiting) = self.state.waiting().cloned() else {
            return Step::Pass;
        };
        self.out.push(Effect::activity(ActivityState::Parked));
        self.out.push(Effect::Park(waiting));
        Step::Wait
    }

    fn carry_out(&mut self) -> Step {
        let Some(order) = self.state.decisions.orders.first().cloned() else {
            return Step::Pass;
        };
        self.doing = Doing::CarryingOut(order.request.clone());
        self.out.push(Effect::CarryOut(order));
        Step::Wait
    }

    /// All results are in: what did the tools ask for? A message that came in
    /// meanwhile is what a sleeper would wait for, so it does not sleep.
    fn after_calls(&mut self) -> Step {
        match self.state.round.then() {
            Then::GoOn => Step::Pass,
            Then::End => {
                self.end(Ending::Done);
                Step::Again
            }
            Then::PassOn => {
                self.end(Ending::PassedOn);
                Step::Again
            }
            Then::Park { waiting } => match self.state.left_of(waiting) {
                None => Step::Pass,
                Some(waiting) => {
                    self.append(Record::Parked { waiting });
                    Step::Again
                }
            },
        }
    }

    fn money_gone(&mut self) -> Step {
        if !self.state.round.out_of_money {
            return Step::Pass;
        }
        self.end(Ending::OutOfMoney);
        Step::Again
    }

    /// Says what the model should know before its next turn, once per turn.
    fn remark(&mut self) -> Step {
        if self.state.round.since.noted {
            return Step::Pass;
        }
        let remarks = self.remarks();
        if remarks.is_empty() {
            return Step::Pass;
        }
        let stuck = &self.state.round.stuck;
        if let Some(escape) = stuck.begins(self.state.round.turn) {
            let why = stuck.why().to_owned();
            self.chose("stuck", words::escape_name(escape).to_owned(), &why);
        }
        self.note(&remarks);
        Step::Again
    }
}
