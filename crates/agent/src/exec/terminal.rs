//! A terminal instead of a hub: there is nobody to ask. The person's command is the
//! approval of the plan, what would need a click is refused, and a budget that is
//! empty ends the run.

use std::{convert::Infallible, sync::Arc};

use butler_policy::{Judgement, Question};
use butler_protocol::{
    BudgetRefusal, Ending, Entry, Idem, MessageTs, ModelReply, Record, RequestId, Subject,
    ThreadId, ToolCall, ToolOutcome, Waiting,
};
use butler_tools::Executor;
use butler_turn::{Effect, Event, Outgoing, PostKind, ThreadFold};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::{ExecConfig, ExecEnding, Said, budget::Wallet, tool_session};
use crate::{
    AgentError,
    thread::{
        driver::{Beginning, Driver, Edge},
        tool_session::ToolSession,
    },
};

/// What a run has besides its machine.
pub(super) struct TerminalEdge<'a> {
    pub(super) config: Arc<ExecConfig>,
    pub(super) thread: ThreadId,
    pub(super) executor: Arc<Executor>,
    pub(super) wallet: Wallet,
    pub(super) tell: &'a mut (dyn FnMut(Said) + Send),
    pub(super) last_text: Option<String>,
    pub(super) turns: u32,
    /// What the log says: above all, whether text from outside was read.
    pub(super) facts: ThreadFold,
    /// How the run ends, once it does.
    pub(super) ending: Option<ExecEnding>,
}

type Exec<'a> = Driver<TerminalEdge<'a>>;

impl<'a> Edge for TerminalEdge<'a> {
    type Beside = Infallible;

    /// Money is set aside in the log itself; tools write their intents along.
    fn is_inside(effect: &Effect) -> bool {
        matches!(
            effect,
            Effect::Reserve(_)
                | Effect::Settle(_)
                | Effect::RunTools(_)
                | Effect::Progress(_)
                | Effect::React { .. }
                | Effect::Activity { .. }
        )
    }

    async fn carry_out(exec: &mut Exec<'a>, effect: Effect) -> Result<(), AgentError> {
        match effect {
            Effect::Reserve(reserve) => {
                let answer = exec.edge.wallet.reserve(&reserve);
                exec.feed(Event::Reserved {
                    reserve: reserve.id,
                    answer,
                });
            }
            Effect::Settle(settle) => exec.edge.wallet.settle(&settle.id, settle.cost),
            Effect::Post(outgoing) => exec.post(outgoing),
            Effect::HandOverByDefault { idem, text } | Effect::Escalate { idem, text } => {
                exec.edge.answer(text);
                exec.posted(idem);
            }
            Effect::AskForMoney { request, refusal } => {
                exec.note_empty_budget(request, refusal).await?;
            }
            Effect::CarryOut(order) => exec.feed(Event::CarriedOut {
                request: order.request,
                outcome: ToolOutcome::error("there is no team here to carry it out"),
            }),
            Effect::Chose { what, why } => (exec.edge.tell)(Said::Chose { what, why }),
            Effect::Park(Waiting::Decision { .. }) => {
                exec.edge.ending = Some(ExecEnding::OutOfMoney);
            }
            Effect::Park(_) => {
                let reason = "it waits for somebody, and nobody is here".to_owned();
                exec.edge.ending = Some(ExecEnding::Over(Ending::Failed { reason }));
            }
            Effect::End(ending) => exec.edge.ending = Some(ExecEnding::Over(ending)),
            _ => {}
        }
        Ok(())
    }

    async fn on_beside(_exec: &mut Exec<'a>, beside: Infallible) -> Result<(), AgentError> {
        match beside {}
    }

    fn open_tools(
        &self,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<ToolSession, AgentError>> {
        let (config, executor) = (Arc::clone(&self.config), Arc::clone(&self.executor));
        let thread = self.thread.clone();
        Box::pin(async move { tool_session::open(&config, thread, executor, cancel).await })
    }

    async fn judge(
        &mut self,
        tools: &mut ToolSession,
        call: &ToolCall,
        _beginning: Beginning,
    ) -> Result<Judgement, AgentError> {
        let now_ms = self.config.clock.now_ms();
        Ok(tools.judge(&self.facts, call, &[], now_ms))
    }

    fn learned(&mut self, thread: &ThreadFold) {
        self.facts.clone_from(thread);
    }

    /// Refused, with the words that would be on the card.
    async fn ask(
        _exec: &mut Exec<'a>,
        _call: &ToolCall,
        question: Question,
    ) -> Result<ToolOutcome, AgentError> {
        let part = question.part.map(|part| format!(" (`{part}`)"));
        Ok(ToolOutcome::error(format!(
            "refused: {}: {}{}; nobody is here to click on it. Find a way that needs less, \
             or leave it to the person and say so in the end.",
            question.tier.as_str(),
            question.reason,
            part.unwrap_or_default()
        )))
    }

    async fn wrote(_exec: &mut Exec<'a>, _entries: Vec<Entry>) {}

    fn replied(&mut self, turn: u32, reply: &ModelReply) {
        self.turns += 1;
        (self.tell)(Said::Turn {
            turn,
            text: reply.text.clone().filter(|_| !reply.calls.is_empty()),
            model: reply.model.clone(),
            usage: reply.usage,
            cost_usd: reply.cost.dollars(),
        });
    }

    fn begins(&mut self, call: &ToolCall) {
        (self.tell)(Said::Call {
            call: call.id.clone(),
            tool: call.name.clone(),
            arguments: call.arguments.clone(),
        });
    }

    fn ended(&mut self, call: &ToolCall, outcome: &ToolOutcome) {
        (self.tell)(Said::Result {
            call: call.id.clone(),
            tool: call.name.clone(),
            ok: outcome.ok,
            text: outcome.text.clone(),
        });
    }
}

impl TerminalEdge<'_> {
    /// Said before it is noted as said: a crash in between says it twice, and
    /// an answer that nobody saw would be worse.
    fn answer(&mut self, text: String) {
        (self.tell)(Said::Answer { text: text.clone() });
        self.last_text = Some(text);
    }
}

impl Exec<'_> {
    /// The card that nobody is shown: a later run with a higher cap answers it.
    async fn note_empty_budget(
        &mut self,
        request: RequestId,
        refusal: BudgetRefusal,
    ) -> Result<(), AgentError> {
        self.edge.last_text = Some(format!(
            "The cap of {} does not pay for another call; {} are spent. \
             Nothing is lost: `--resume --cap` with a higher figure goes on.",
            refusal.cap, refusal.used
        ));
        let subject = Subject::Cap(refusal);
        self.write(vec![Record::DecisionAsked {
            request: request.clone(),
            sha256: subject.sha256(),
            subject,
            learnings: Vec::new(),
        }])
        .await?;
        self.feed(Event::Asked { request });
        Ok(())
    }

    fn post(&mut self, outgoing: Outgoing) {
        match outgoing.kind {
            PostKind::Answer => self.edge.answer(outgoing.text),
            PostKind::BudgetWarning | PostKind::Withdrawn => (self.edge.tell)(Said::Notice {
                text: outgoing.text,
            }),
            PostKind::TurnLimit | PostKind::Failure | PostKind::GoOn => {
                self.edge.last_text = Some(outgoing.text);
            }
        }
        self.posted(outgoing.idem);
    }

    fn posted(&mut self, idem: Idem) {
        let ts = MessageTs::from_parts(0, 0);
        self.feed(Event::Posted { idem, ts });
    }
}
