//! How an activation comes to its end: a text that may be an answer, the limits,
//! a failure, a stop.

use butler_protocol::{
    ActivityState, Choice, DecisionKind, Ending, EventId, Idem, MessageTs, Record, ToolOutcome,
    Waiting,
};

use crate::{
    Effect, Machine, Mark, Order, Outgoing, PostKind,
    asking::{
        reply::{self, Quality},
        stuck::Escape,
    },
    fold::round::Last,
    machine::Doing,
    next_step::Step,
    words,
};

/// A post that has to be in the thread before the machine goes on.
#[derive(Debug, PartialEq)]
pub(crate) struct Posting {
    pub(crate) idem: Idem,
    /// How the activation ends then; nothing when it only sleeps.
    pub(crate) ending: Option<Ending>,
}

impl Machine {
    /// A text without calls is an answer to a person, a loose end, or unusable.
    pub(crate) fn after_text(&mut self) -> Step {
        let Last::Text {
            text,
            handled: false,
        } = &self.state.round.last
        else {
            return Step::Pass;
        };
        let text = text.clone().unwrap_or_default();
        let quality = reply::judge(Some(&text));
        let round = &self.state.round;
        if quality != Quality::Usable {
            return self.unusable(quality);
        }
        // Work that another role gave is passed on by a hand-over only: without
        // the nudge a word in between would be the end of the whole thread.
        let first = round.loose_ends < 2;
        if round.spoke && !(round.owes && first) {
            // People have read it already; the text stays in the log.
            self.chose("answer", words::kept(&text), words::KEPT_BECAUSE);
            self.end(Ending::Done);
            return Step::Again;
        }
        if round.person && !round.owes {
            return self.post_and_end(PostKind::Answer, text, Ending::Done);
        }
        if first {
            let nudge = match (round.spoke, round.person) {
                (true, _) => words::SPOKEN_AND_OWED,
                (false, true) => words::STILL_OWED,
                (false, false) => words::nudge(quality),
            };
            self.note(&[nudge.to_owned()]);
            return Step::Again;
        }
        let idem = self.origin(0).idem("hand-over");
        self.publish(
            idem.clone(),
            Ending::PassedOn,
            Effect::HandOverByDefault { idem, text },
        )
    }

    /// One nudge, then the other model with another one, then the end. Such a
    /// text is never posted.
    fn unusable(&mut self, quality: Quality) -> Step {
        // After a crash the switch may be written and the nudge not.
        let again = self.state.round.bad > 1 && !self.state.round.since.switched;
        if again && !self.fall_back("two unusable answers in a row") {
            self.fail(words::NO_USABLE_ANSWER);
            return Step::Wait;
        }
        self.note(&[words::nudge(quality).to_owned()]);
        Step::Again
    }

    /// At the limit the role says where it stands and asks.
    pub(crate) fn turn_limit(&mut self) -> Step {
        let turns = self.setup.limits.max_turns;
        if self.state.round.turn < turns {
            return Step::Pass;
        }
        let text = words::turn_limit(turns, self.state.round.progress.as_deref());
        self.post_and_end(PostKind::TurnLimit, text, Ending::TurnLimit)
    }

    /// Roles that talk among themselves for too long pause and ask. Only a
    /// person's word goes on from there.
    pub(crate) fn pause_chatter(&mut self) -> Step {
        let heard = self.state.agent_words;
        if heard < self.setup.limits.agent_messages {
            return Step::Pass;
        }
        let label = format!("go on {}", self.state.person_words);
        let idem = self.thread_origin().idem(&label);
        if self.state.posted.contains(&idem) {
            let waiting = Waiting::Person;
            self.append(Record::Parked { waiting });
            return Step::Again;
        }
        self.out.push(Effect::Post(Outgoing {
            idem: idem.clone(),
            text: words::go_on(heard),
            kind: PostKind::GoOn,
        }));
        self.doing = Doing::Posting(Posting { idem, ending: None });
        Step::Wait
    }

    /// Ends with a reason for people. Any message starts again from here.
    pub(crate) fn fail(&mut self, reason: &str) {
        let ending = Ending::Failed {
            reason: reason.to_owned(),
        };
        self.post_and_end(PostKind::Failure, reason.to_owned(), ending);
        self.advance();
    }

    fn post_and_end(&mut self, kind: PostKind, text: String, ending: Ending) -> Step {
        let label = match kind {
            PostKind::Answer => "answer",
            PostKind::TurnLimit => "turn limit",
            PostKind::Failure => "failure",
            PostKind::BudgetWarning => "budget",
            PostKind::GoOn => "go on",
            PostKind::Withdrawn => "withdrawn",
        };
        let idem = self.origin(0).idem(label);
        let effect = Effect::Post(Outgoing {
            idem: idem.clone(),
            text,
            kind,
        });
        self.publish(idem, ending, effect)
    }

    /// Posts and then ends; a post that the log knows of is not made again.
    pub(crate) fn publish(&mut self, idem: Idem, ending: Ending, effect: Effect) -> Step {
        if self.state.posted.contains(&idem) {
            self.end(ending);
            return Step::Again;
        }
        self.out.push(effect);
        let ending = Some(ending);
        self.doing = Doing::Posting(Posting { idem, ending });
        Step::Wait
    }

    pub(crate) fn on_posted(&mut self, idem: &Idem, ts: &MessageTs) {
        let mine = matches!(&self.doing, Doing::Posting(posting) if posting.idem == *idem);
        let warning = self.outgoing.remove(idem);
        if (mine || warning) && !self.state.posted.contains(idem) {
            let (idem, ts) = (idem.clone(), ts.clone());
            self.append(Record::Posted { idem, ts });
        }
        if !mine {
            return;
        }
        let doing = std::mem::replace(&mut self.doing, Doing::Nothing);
        if let Doing::Posting(Posting {
            ending: Some(ending),
            ..
        }) = doing
        {
            self.end(ending);
        }
        self.advance();
    }

    /// Writes the end; whoever was answered sees a mark.
    pub(crate) fn end(&mut self, ending: Ending) {
        let record = Record::ActivationEnded {
            activation: self.state.activation,
            ending: ending.clone(),
        };
        self.append(record);
        self.mark(self.state.answered.clone(), Mark::Answered);
        self.out.push(Effect::activity(ActivityState::Idle));
        self.out.push(Effect::End(ending));
    }

    /// What nobody waits for is not in the log, so the run before this one may
    /// have died before it was told. Telling it again changes nothing.
    pub(crate) fn tell_again(&mut self) {
        self.mark(self.state.round.asked.clone(), Mark::Seen);
        if !self.state.open && self.state.activation > 0 {
            self.mark(self.state.answered.clone(), Mark::Seen);
            self.mark(self.state.answered.clone(), Mark::Answered);
            self.out.push(Effect::activity(ActivityState::Idle));
        }
    }

    pub(crate) fn mark(&mut self, messages: Vec<MessageTs>, mark: Mark) {
        let marks = messages.into_iter().map(|ts| Effect::React { ts, mark });
        self.out.extend(marks);
    }

    /// Ends at once. Open calls are closed here, so that the stop holds even if
    /// the process dies before its children do. The stop itself is the last line:
    /// without it, it comes again.
    pub(crate) fn on_stop(&mut self, event: EventId, by: &str) {
        if self.state.inbox.heard.contains(&event) {
            return;
        }
        if self.state.open {
            self.out.push(Effect::Cancel);
            for call in self.state.open_calls() {
                let outcome = ToolOutcome::error(words::stopped_call(by));
                let call = call.id;
                self.append(Record::ToolResult { call, outcome });
            }
            self.doing = Doing::Nothing;
            self.withdraw(by);
            self.end(Ending::Stopped);
        }
        let by = by.to_owned();
        self.append(Record::Stopped { event, by });
    }

    /// What a person decided and then stopped is not done behind their back at
    /// their next word: they decide again.
    fn withdraw(&mut self, by: &str) {
        let orders = self.state.decisions.orders.clone();
        for order in orders.iter().filter(|order| sets_in_motion(order)) {
            let text = words::withdrawn(order, by);
            let label = format!("withdrawn {}", order.request);
            let idem = self.thread_origin().idem(&label);
            self.outgoing.insert(idem.clone());
            self.out.push(Effect::Post(Outgoing {
                idem,
                text: text.clone(),
                kind: PostKind::Withdrawn,
            }));
            let request = order.request.clone();
            self.tell(Some(EventId::carried(&request)), &text);
            self.append(Record::Withdrawn { request });
        }
    }

    /// The last escape step: somebody else has to help.
    pub(crate) fn give_up(&mut self) -> Step {
        let stuck = &self.state.round.stuck;
        if stuck.escape() != Escape::GiveUp {
            return Step::Pass;
        }
        let text = words::escalation(stuck.why(), self.state.round.progress.as_deref());
        let idem = self.origin(0).idem("stuck");
        let effect = Effect::Escalate {
            idem: idem.clone(),
            text,
        };
        self.publish(idem, Ending::Stuck, effect)
    }

    /// Remarks that are due before the next turn.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let round = &self.state.round;
        let left = self.setup.limits.max_turns.saturating_sub(round.turn);
        let last_turns = match left {
            2 => Some(words::TWO_TURNS_LEFT.to_owned()),
            1 => Some(words::LAST_TURN.to_owned()),
            _ => None,
        };
        let stuck = round.stuck.begins(round.turn);
        let stuck = stuck.map(|escape| words::escape(escape, round.stuck.why()));
        stuck.into_iter().chain(last_turns).collect()
    }

    /// Writes one note with everything that is to be said before the next turn.
    pub(crate) fn note(&mut self, first: &[String]) {
        let mut parts = first.to_vec();
        for remark in self.remarks() {
            if !parts.contains(&remark) {
                parts.push(remark);
            }
        }
        let text = parts.join("\n\n");
        self.append(Record::Note { text });
    }
}

/// Whether carrying it out begins or ends work, as against keeping a note.
fn sets_in_motion(order: &Order) -> bool {
    matches!(
        (order.kind, order.choice),
        (
            DecisionKind::Plan | DecisionKind::Command | DecisionKind::Roadmap,
            Choice::Approve
        ) | (DecisionKind::Merge, Choice::Merge | Choice::Close)
            | (DecisionKind::Maps, Choice::Accept | Choice::Each)
            | (
                DecisionKind::Develop,
                Choice::Start | Choice::StartMerging | Choice::StartStacked
            )
    )
}
