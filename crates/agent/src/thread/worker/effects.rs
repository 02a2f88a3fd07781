//! What the machine wants done. What takes long is started here and comes back to
//! the loop as an event.

use std::future::Future;

use butler_protocol::{ActivityState, Ending, Settlement, Waiting};
use butler_turn::{Effect, Mark, ModelCall, Reserve};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, debug, info, info_span};

use super::Worker;
use crate::{
    AgentError,
    agent::now_ms,
    decide::designs,
    tell::decision_log,
    tell::hub_updates::HubUpdate,
    thread::{
        effects::{self, Done, Question},
        paying, queue,
        slots::Slot,
    },
};

impl Worker {
    pub(super) async fn carry_out_all(&mut self) -> Result<(), AgentError> {
        loop {
            self.write_ahead().await?;
            let Some(effect) = self.queue.pop_front() else {
                return Ok(());
            };
            self.carry_out(effect).await?;
        }
    }

    /// One effect. What takes long goes to `doing` and comes back as an event.
    async fn carry_out(&mut self, effect: Effect) -> Result<(), AgentError> {
        debug!(?effect, "effect");
        let context = self.context.clone();
        match effect {
            Effect::Append(record) => drop(self.append(vec![record]).await?),
            Effect::Reserve(reserve) => self.reserve(reserve),
            Effect::CallModel(call) => self.call_model(call),
            Effect::Summarise { call, messages } => {
                let question = Question {
                    call,
                    messages,
                    tools: Vec::new(),
                };
                self.start(effects::summarise(context, question, self.work.clone()));
            }
            Effect::RunTools(calls) => self.line_up(calls).await?,
            Effect::RecoverTools(interrupted) => self.line_up_recoveries(interrupted).await?,
            Effect::Post(outgoing) => self.start(effects::post(context, outgoing)),
            Effect::HandOverByDefault { idem, text } => {
                self.start(effects::default_hand_over(context, idem, text));
            }
            Effect::Escalate { idem, text } => self.start(effects::escalate(context, idem, text)),
            Effect::AskForMoney { request, refusal } => {
                self.ask_for_money(request, refusal).await?;
            }
            Effect::CarryOut(order) => {
                self.start(effects::carry_out(context, order, self.work.clone()));
            }
            Effect::Cancel => self.stop_work().await,
            Effect::Park(waiting) => self.rest(Some(&waiting)).await,
            Effect::End(ending) => {
                info!(?ending, "the activation is over");
                self.rest(None).await;
                if ending == Ending::Done {
                    self.put_up_findings();
                }
            }
            other => self.hub_update(other).await,
        }
        Ok(())
    }

    pub(super) fn start(&self, future: impl Future<Output = Done> + Send + 'static) {
        self.doing.push(Box::pin(future));
    }

    /// Asks for money once there is a slot: at most so many threads work at once.
    pub(super) fn reserve(&mut self, reserve: Reserve) {
        // Whoever works does not wait for an answer any more.
        self.deadline_ms = None;
        let context = self.context.clone();
        if self.turn_of.is_none() {
            let slots = &context.agent.slots;
            let number = self.arrived.unwrap_or_else(|| slots.arrive());
            match slots.queue(number).take() {
                Err(ticket) => return self.start(queue::tell(context, ticket, reserve)),
                Ok(slot) => self.turn_of = Some(slot),
            }
            // Told in an earlier life of this process.
            if let Some(message) = self.context.facts().queued.clone() {
                self.start(queue::turn_came(context.clone(), message));
            }
        }
        let cancel = self.work.clone();
        self.start(paying::reserve(context, reserve, cancel));
    }

    /// The turn has come; after a stop nobody needs the slot any more.
    pub(super) fn sit_down(&mut self, slot: Slot, reserve: Reserve) {
        if self.machine.activation().is_some() {
            self.turn_of = Some(slot);
            let cancel = self.work.clone();
            self.start(paying::reserve(self.context.clone(), reserve, cancel));
        }
    }

    fn call_model(&mut self, call: ModelCall) {
        let question = Question {
            call,
            messages: self.machine.messages(),
            tools: self.machine.tools().to_vec(),
        };
        let span = info_span!("turn", turn = question.call.turn);
        let asking = effects::ask_model(self.context.clone(), question, self.work.clone());
        self.start(asking.instrument(span));
    }

    /// Gives back what an activation holds while it sleeps or is over.
    pub(super) async fn rest(&mut self, waiting: Option<&Waiting>) {
        self.deadline_ms = match waiting {
            Some(Waiting::Reply { deadline_ms }) => Some(*deadline_ms),
            _ => None,
        };
        self.patience_over = false;
        self.clear_tool_session().await;
        self.turn_of = None;
        self.arrived = None;
    }

    pub(super) async fn stop_work(&mut self) {
        self.work.cancel();
        self.work = CancellationToken::new();
        self.waiting.clear();
        self.clear_tool_session().await;
    }

    /// Background jobs do not outlive the activation that started them.
    pub(super) async fn clear_tool_session(&mut self) {
        if let Some(tool_session) = self.tool_session.take() {
            tool_session.tool_context.jobs().stop_all().await;
            if tool_session.keeps_designs {
                self.start(designs::keep(self.context.clone(), self.process.clone()));
            }
        }
    }

    async fn hub_update(&mut self, effect: Effect) {
        let hub_update = match effect {
            Effect::Settle(settle) => HubUpdate::Settle(Settlement {
                id: settle.id,
                cost: settle.cost,
                usage: settle.usage,
                model: settle.model,
            }),
            Effect::React { ts, mark } => HubUpdate::React(
                ts,
                match mark {
                    Mark::Seen => "eyes",
                    Mark::Answered => "white_check_mark",
                },
            ),
            Effect::Activity { state, step } => HubUpdate::Activity(state, step),
            Effect::Progress(text) => HubUpdate::Activity(ActivityState::Working, Some(text)),
            Effect::Chose { about, what, why } => {
                info!(what, why, "choice");
                let choice = decision_log::chosen(about, what, why, now_ms());
                return decision_log::keep(&self.choices, &[choice]);
            }
            _ => return,
        };
        self.hub_updates.add(hub_update).await;
    }
}
