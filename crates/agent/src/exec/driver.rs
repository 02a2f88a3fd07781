//! The loop: take an effect, carry it out, feed what came of it. Appends are
//! gathered and made durable, in order and at once, before anything happens
//! that can be seen outside this process: a request, a command, a word to the
//! person, the end.

use std::{collections::VecDeque, sync::Arc};

use butler_journal::Journal;
use butler_model::ModelClient;
use butler_policy::default_tools;
use butler_protocol::{
    BudgetRefusal, Choice, Decision, DecisionKind, Ending, Epoch, EventId, Idem, MessageTs,
    ModelMessage, Record, RequestId, Sha256Hex, Speaker, Subject, ThreadId, ToolOutcome, ToolSpec,
    UserId, Waiting, fault,
};
use butler_tools::{Executor, Registry};
use butler_turn::{Effect, Event, Heard, Machine, Messages, ModelCall, Outgoing, PostKind, Setup};
use futures_util::future::LocalBoxFuture;
use tokio_util::sync::CancellationToken;

use super::{
    ExecConfig, ExecEnding, ExecTask, Outcome, Said, Session, budget::Wallet, prompt,
    tool_session::ExecTools,
};
use crate::{
    AgentError,
    agent::now_ms,
    thread::effects::{self, Question},
};

/// A session has one owner at a time, and its file lock says who.
const EPOCH: Epoch = Epoch(1);

/// One run.
pub(super) struct Exec<'a> {
    pub(super) config: &'a ExecConfig,
    pub(super) thread: ThreadId,
    pub(super) executor: Arc<Executor>,
    pub(super) tool_session: Option<ExecTools>,
    pub(super) cancel: CancellationToken,
    journal: Journal,
    machine: Machine,
    model: ModelClient,
    wallet: Wallet,
    queue: VecDeque<Effect>,
    /// Lines that nothing outside depends on yet.
    unwritten: Vec<Record>,
    /// What the last request had.
    messages: Messages,
    tools: Vec<ToolSpec>,
    tell: &'a mut (dyn FnMut(Said) + Send),
    last_text: Option<String>,
    turns: u32,
}

/// Works on a session until it is over, cannot go on, or is interrupted.
///
/// # Errors
/// When the log cannot be read or written, or a tool's folder or sandbox fails.
pub fn run<'a>(
    config: &'a ExecConfig,
    session: &'a Session,
    task: ExecTask,
    cancel: CancellationToken,
    tell: &'a mut (dyn FnMut(Said) + Send),
) -> LocalBoxFuture<'a, Result<Outcome, AgentError>> {
    Box::pin(async move {
        let (mut solo, resumed) = Exec::open(config, session, cancel, tell)?;
        solo.say(Said::Started {
            session: session.id(),
            folder: config.folder.clone(),
            role: config.role,
            model: config.models.usual.clone(),
            resumed,
        });
        let ending = solo.work(task).await;
        if let Some(tool_session) = solo.tool_session.take() {
            tool_session.tool_context.jobs().stop_all().await;
        }
        Ok(Outcome {
            ending: ending?,
            text: solo.last_text.take(),
            cost: solo.wallet.spent(),
            turns: solo.turns,
        })
    })
}

impl<'a> Exec<'a> {
    fn open(
        config: &'a ExecConfig,
        session: &Session,
        cancel: CancellationToken,
        tell: &'a mut (dyn FnMut(Said) + Send),
    ) -> Result<(Self, bool), AgentError> {
        let (journal, log) = Journal::open(&session.conversation, EPOCH)?;
        let registry = Registry::native();
        let setup = Setup {
            thread: session.thread.clone(),
            role: config.role,
            models: config.models.clone(),
            prompt: prompt::assemble(config.role, &config.files),
            tools: registry.offered(default_tools(config.role)),
            limits: config.limits,
            first_activation: 1,
        };
        let solo = Self {
            config,
            thread: session.thread.clone(),
            executor: Arc::new(Executor::new(registry)),
            tool_session: None,
            cancel,
            journal,
            machine: Machine::new(setup, &log),
            model: ModelClient::new(config.client.clone())?,
            wallet: Wallet::of(&log, config.cap),
            queue: VecDeque::new(),
            unwritten: Vec::new(),
            messages: Messages::default(),
            tools: Vec::new(),
            tell,
            last_text: None,
            turns: 0,
        };
        Ok((solo, !log.is_empty()))
    }

    async fn work(&mut self, task: ExecTask) -> Result<ExecEnding, AgentError> {
        self.take_up(task);
        loop {
            self.gather();
            if self.cancel.is_cancelled() {
                self.flush(Vec::new())?;
                return Ok(ExecEnding::Interrupted);
            }
            let Some(effect) = self.queue.pop_front() else {
                // Every request is answered before the next effect is looked at,
                // so an empty queue means that nothing was begun at all.
                return Err(AgentError::Missing(
                    "there is nothing to do: the session is over and no task was given".to_owned(),
                ));
            };
            // Money is set aside in the log itself, so that needs no flush; tools
            // write their intents along.
            let inside = matches!(
                effect,
                Effect::Reserve(_)
                    | Effect::Settle(_)
                    | Effect::RunTools(_)
                    | Effect::Progress(_)
                    | Effect::React { .. }
                    | Effect::Activity { .. }
            );
            if !inside {
                self.flush(Vec::new())?;
            }
            if let Some(ending) = self.carry_out(effect).await? {
                return Ok(ending);
            }
        }
    }

    /// The task, and where an earlier run stopped for lack of money, the word
    /// that there is more.
    fn take_up(&mut self, task: ExecTask) {
        let waiting = self.machine.parked().cloned();
        if let Some(text) = task.task {
            let event = EventId::new(format!("task:{}", now_ms()));
            let heard = Heard {
                event,
                ts: None,
                speaker: Speaker::Person {
                    user: UserId::new(task.person.as_str()),
                    name: task.person.clone(),
                },
                text,
                images: Vec::new(),
            };
            self.feed(Event::Heard(vec![heard]));
        } else if let Some(Waiting::Decision { request }) = waiting {
            self.feed(Event::Decided(Decision {
                request,
                kind: DecisionKind::Cap,
                thread: self.thread.clone(),
                sha256: Sha256Hex::of("cap"),
                choice: Choice::Raise,
                person: UserId::new(task.person),
                message: MessageTs::from_parts(0, 0),
                at_ms: now_ms(),
            }));
        } else {
            self.feed(Event::Begin { now_ms: now_ms() });
        }
    }

    pub(super) fn feed(&mut self, event: Event) {
        let effects = self.machine.on(event);
        self.queue.extend(effects);
    }

    pub(super) fn say(&mut self, said: Said) {
        (self.tell)(said);
    }

    /// Makes every gathered line durable, and `more` behind them, with one
    /// flush. The machine takes note of the latter: it knows the others.
    pub(super) fn flush(&mut self, more: Vec<Record>) -> Result<(), AgentError> {
        let mut records = std::mem::take(&mut self.unwritten);
        let known = records.len();
        records.extend(more);
        if records.is_empty() {
            return Ok(());
        }
        fault("agent.before-solo");
        let entries = self.journal.append_all(records, now_ms())?;
        fault("agent.after-solo");
        for entry in entries.iter().skip(known) {
            self.machine.wrote(entry);
        }
        Ok(())
    }

    /// Gathers the appends that stand at the head of the queue.
    pub(super) fn gather(&mut self) {
        while let Some(Effect::Append(_)) = self.queue.front() {
            if let Some(Effect::Append(record)) = self.queue.pop_front() {
                self.unwritten.push(record);
            }
        }
    }

    /// One effect, to its end. Says how the run ends, when it does.
    async fn carry_out(&mut self, effect: Effect) -> Result<Option<ExecEnding>, AgentError> {
        match effect {
            Effect::Append(record) => self.unwritten.push(record),
            Effect::Reserve(reserve) => {
                let answer = self
                    .wallet
                    .reserve(&reserve, &self.model, &self.config.client);
                self.feed(Event::Reserved {
                    reserve: reserve.id,
                    answer,
                });
            }
            Effect::Settle(settle) => self.wallet.settle(&settle.id, settle.cost),
            Effect::CallModel(call) => self.ask(call).await,
            Effect::Summarise { call, messages } => self.summarise(call, messages).await,
            Effect::RunTools(calls) => self.run_tools(calls).await?,
            Effect::RecoverTools(interrupted) => self.recover_tools(interrupted).await?,
            Effect::Post(outgoing) => self.post(outgoing),
            Effect::HandOverByDefault { idem, text } | Effect::Escalate { idem, text } => {
                self.answer(text);
                self.posted(idem);
            }
            Effect::AskForMoney { request, refusal } => {
                self.last_text = Some(format!(
                    "The cap of {} does not pay for another call; {} are spent. \
                     Nothing is lost: `--resume --cap` with a higher figure goes on.",
                    refusal.cap, refusal.used
                ));
                self.note_empty_budget(&request, refusal)?;
                self.feed(Event::Asked { request });
            }
            Effect::CarryOut(order) => {
                let outcome = ToolOutcome::error("there is no team here to carry it out");
                self.feed(Event::CarriedOut {
                    request: order.request,
                    outcome,
                });
            }
            Effect::Chose { what, why, .. } => self.say(Said::Chose { what, why }),
            Effect::Park(Waiting::Decision { .. }) => return Ok(Some(ExecEnding::OutOfMoney)),
            Effect::Park(_) => {
                return Ok(Some(ExecEnding::Over(Ending::Failed {
                    reason: "it waits for somebody, and nobody is here".to_owned(),
                })));
            }
            Effect::End(ending) => return Ok(Some(ExecEnding::Over(ending))),
            Effect::Cancel
            | Effect::Progress(_)
            | Effect::React { .. }
            | Effect::Activity { .. } => {}
        }
        Ok(None)
    }

    /// The card that nobody is shown: a later run with a higher cap answers it.
    fn note_empty_budget(
        &mut self,
        request: &RequestId,
        refusal: BudgetRefusal,
    ) -> Result<(), AgentError> {
        let subject = Subject::Cap(refusal);
        self.flush(vec![Record::DecisionAsked {
            request: request.clone(),
            sha256: subject.sha256(),
            subject,
            learnings: Vec::new(),
        }])
    }

    async fn ask(&mut self, call: ModelCall) {
        let turn = call.turn;
        let reserve = call.reserve.clone();
        if self.machine.bring_up(&mut self.messages) {
            self.tools = self.machine.tools().to_vec();
        }
        let mut question = Question {
            call,
            messages: std::mem::take(&mut self.messages.list),
            tools: std::mem::take(&mut self.tools),
        };
        let session = self.thread.short();
        let reply = effects::complete(&self.model, session, &mut question, &self.cancel).await;
        self.messages.list = question.messages;
        self.tools = question.tools;
        match reply {
            Ok(reply) => {
                self.turns += 1;
                self.say(Said::Turn {
                    turn,
                    text: reply.text.clone().filter(|_| !reply.calls.is_empty()),
                    model: reply.model.clone(),
                    usage: reply.usage,
                    cost_usd: reply.cost.dollars(),
                });
                self.feed(Event::Replied { reserve, reply });
            }
            Err(failure) => self.feed(Event::ModelFailed { reserve, failure }),
        }
    }

    async fn summarise(&mut self, call: ModelCall, messages: Vec<Arc<ModelMessage>>) {
        let reserve = call.reserve.clone();
        let mut question = Question {
            call,
            messages,
            tools: Vec::new(),
        };
        let session = self.thread.short();
        let result = effects::complete(&self.model, session, &mut question, &self.cancel).await;
        self.feed(Event::Summarised { reserve, result });
    }

    fn post(&mut self, outgoing: Outgoing) {
        match outgoing.kind {
            PostKind::Answer => self.answer(outgoing.text),
            PostKind::BudgetWarning | PostKind::Withdrawn => self.say(Said::Notice {
                text: outgoing.text,
            }),
            PostKind::TurnLimit | PostKind::Failure | PostKind::GoOn => {
                self.last_text = Some(outgoing.text);
            }
        }
        self.posted(outgoing.idem);
    }

    /// Said before it is noted as said: a crash in between says it twice, and
    /// an answer that nobody saw would be worse.
    fn answer(&mut self, text: String) {
        self.say(Said::Answer { text: text.clone() });
        self.last_text = Some(text);
    }

    fn posted(&mut self, idem: Idem) {
        let ts = MessageTs::from_parts(0, 0);
        self.feed(Event::Posted { idem, ts });
    }
}
