//! What a worker does for its machine at the hub. What takes long is started here
//! and comes back to the loop as an event.

use std::sync::Arc;

use butler_policy::{Judgement, Question};
use butler_protocol::{
    ActivityState, Ending, Entry, Record, RequestId, Settlement, ToolCall, ToolOutcome, ToolSpec,
    Waiting,
};
use butler_turn::{Effect, Mark, Reserve, ThreadFold};
use futures_util::{FutureExt, future::BoxFuture};
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::{Beside, HubEdge, Worker};
use crate::{
    AgentError,
    decide::surface::designs,
    tell::hub_updates::HubUpdate,
    thread::{
        driver::{Beginning, Edge},
        effects,
        live_work::LiveBoard,
        paying, queue,
        slots::Slot,
        tool_session::{self, ToolSession},
    },
    upkeep::work_so_far,
};

impl Edge for HubEdge {
    type Beside = Beside;

    /// The hub hears of everything.
    fn is_inside(_effect: &Effect) -> bool {
        false
    }

    async fn carry_out(worker: &mut Worker, effect: Effect) -> Result<(), AgentError> {
        let context = worker.edge.context.clone();
        match effect {
            Effect::Reserve(reserve) => worker.reserve(reserve),
            Effect::Post(outgoing) => worker.start(effects::post(context, outgoing)),
            Effect::HandOverByDefault { idem, text } => {
                worker.start(effects::default_hand_over(context, idem, text));
            }
            Effect::Escalate { idem, text } => worker.start(effects::escalate(context, idem, text)),
            Effect::AskForMoney { request, refusal } => {
                worker.ask_for_money(request, refusal).await?;
            }
            Effect::CarryOut(order) if order.runs_a_call() => worker.run_approved(order),
            Effect::CarryOut(order) => {
                worker.edge.mirrored().await?;
                let (busy, context) = (worker.busy(), worker.here());
                worker.start(async move {
                    let done = effects::carry_out(context, order).await;
                    drop(busy);
                    done
                });
            }
            Effect::Cancel => worker.stop_work().await,
            Effect::Park(waiting) => worker.rest(Some(&waiting)).await,
            Effect::End(ending) => {
                info!(?ending, "the activation is over");
                worker.rest(None).await;
                if ending == Ending::Done {
                    worker.put_up_findings();
                }
            }
            other => worker.hub_update(other).await,
        }
        Ok(())
    }

    async fn on_beside(worker: &mut Worker, beside: Beside) -> Result<(), AgentError> {
        match beside {
            Beside::Acted(ack) => {
                if let Some(ack) = ack {
                    ack.send().await;
                }
                worker.mind_merge();
            }
            Beside::MergeTried => {
                worker.edge.merge_wait = None;
                worker.mind_merge();
            }
            Beside::PullTold(news) => worker.told_forge_news(news).await?,
            Beside::Queued(told) => {
                worker.start(queue::wait(worker.here(), *told));
            }
            Beside::Slot(slot, reserve) => worker.sit_down(slot, *reserve),
        }
        Ok(())
    }

    fn open_tools(
        &self,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<ToolSession, AgentError>> {
        let context = self.context.until(&cancel);
        Box::pin(async move { ToolSession::open(&context).await })
    }

    /// An approval is for the call that waited for it and for no other. A host may
    /// have been named since the tool session was opened, so whoever would have to
    /// ask looks first.
    async fn judge(
        &mut self,
        _thread: &ThreadFold,
        tools: &mut ToolSession,
        call: &ToolCall,
        beginning: Beginning,
    ) -> Result<Judgement, AgentError> {
        let approval = match beginning {
            Beginning { approved: true, .. } => {
                tool_session::approval(&self.context, &RequestId::of(&call.id)).await?
            }
            _ => None,
        };
        let judgement = tools.judge_here(&self.context, call, approval.as_slice());
        if beginning.recovers || !matches!(judgement, Judgement::Ask(_)) {
            return Ok(judgement);
        }
        tools.look_for_named_hosts(&self.context).await?;
        Ok(tools.judge_here(&self.context, call, approval.as_slice()))
    }

    async fn ask(
        worker: &mut Worker,
        call: &ToolCall,
        question: Question,
    ) -> Result<ToolOutcome, AgentError> {
        worker.ask_for_command(call, question).await
    }

    async fn in_vain(worker: &mut Worker, call: &ToolCall) -> Result<(), AgentError> {
        let request = RequestId::of(&call.id);
        let text = "Allowed, and not run: since the card was shown, what it would touch has changed, or more than half an hour has passed. If it is still needed, a new card asks again.";
        let context = &worker.edge.context;
        context.say_of(&request, "in-vain", text).await?;
        Ok(())
    }

    async fn wrote(worker: &mut Worker, entries: Vec<Entry>) {
        let chosen = worker.machine.thread().chosen.all();
        worker.edge.views.add(&entries, chosen);
        worker.edge.joined |= entries.iter().any(|entry| super::is_work(&entry.record));
        for entry in &entries {
            worker.tell_fallback(&entry.record);
        }
        if let Some(last) = entries.last() {
            let end = &mut worker.edge.end;
            (end.seq, end.epoch, end.at_ms) = (last.seq, last.epoch, last.at_ms);
        }
        let records = HubUpdate::Records(entries);
        worker.edge.hub_updates.add(records).await;
    }

    async fn mirrored(&self) -> Result<(), AgentError> {
        if let Some(updates) = &self.context.poster.updates {
            updates.told().await?;
        }
        Ok(())
    }

    /// In a group the files are on the remote before a result speaks of them; the first
    /// time also what was done before there was one.
    fn keep_files(&self, tools: &ToolSession, only_reads: bool) -> Option<BoxFuture<'static, ()>> {
        let context = self.context.until(&self.process);
        let shares = tools.builds() && context.agent.group.is_shared();
        let changed = !only_reads || !context.sharing.has_begun();
        (shares && changed).then(|| work_so_far::share(context).boxed())
    }

    fn left_to_write(&self) -> Vec<Record> {
        self.context.take_written()
    }

    fn brought_tools(&self) -> Option<Vec<ToolSpec>> {
        self.context.take_brought()
    }

    fn learned(&mut self, thread: &ThreadFold) {
        self.context.learn(thread);
    }

    fn listener(&self) -> Option<Arc<LiveBoard>> {
        Some(Arc::clone(&self.context.live))
    }

    fn ended(&mut self, _call: &ToolCall, _outcome: &ToolOutcome) {
        self.context.live.call_ended();
    }
}

impl Worker {
    /// Asks for money once there is a slot: at most so many threads work at once.
    pub(super) fn reserve(&mut self, reserve: Reserve) {
        // Not begun: the process that comes next asks for it.
        if self.edge.context.agent.is_leaving() {
            return;
        }
        // Whoever works does not wait for an answer any more.
        self.edge.deadline_ms = None;
        let context = self.here();
        if self.edge.turn_of.is_none() {
            let slots = &context.agent.slots;
            let number = self.edge.arrived.unwrap_or_else(|| slots.arrive());
            match slots.queue(number).take() {
                Err(ticket) => return self.start(queue::tell(context, ticket, reserve)),
                Ok(slot) => self.edge.turn_of = Some(slot),
            }
            // Told in an earlier life of this process.
            if let Some(message) = self.edge.context.facts().moving.queued.clone() {
                self.start(queue::turn_came(context.clone(), message));
            }
        }
        self.start(paying::reserve(context, reserve));
    }

    /// The turn has come; after a stop nobody needs the slot any more.
    pub(super) fn sit_down(&mut self, slot: Slot, reserve: Reserve) {
        if self.machine.activation().is_some() {
            self.edge.turn_of = Some(slot);
            self.start(paying::reserve(self.here(), reserve));
        }
    }

    /// Gives back what an activation holds while it sleeps or is over.
    pub(super) async fn rest(&mut self, waiting: Option<&Waiting>) {
        self.edge.deadline_ms = match waiting {
            Some(Waiting::Reply { deadline_ms } | Waiting::Replies { deadline_ms, .. }) => {
                Some(*deadline_ms)
            }
            _ => None,
        };
        self.edge.patience_over = false;
        self.clear_tool_session().await;
        self.edge.turn_of = None;
        self.edge.arrived = None;
    }

    pub(super) async fn stop_work(&mut self) {
        self.work.cancel();
        self.work = CancellationToken::new();
        self.waiting.clear();
        self.clear_tool_session().await;
    }

    /// What was designed or built is kept, wherever the work on it ends.
    pub(super) async fn clear_tool_session(&mut self) {
        let Some(tools) = self.close_tools().await else {
            return;
        };
        let context = self.lasting();
        if tools.keeps_designs {
            self.start(designs::keep(context));
        } else if tools.builds() {
            // Its lock goes first.
            drop(tools);
            self.start(work_so_far::keep(context));
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
            Effect::Chose { what, why } => return info!(what, why, "choice"),
            _ => return,
        };
        self.edge.hub_updates.add(hub_update).await;
    }
}
