//! The tool calls of an activation: judged, written down, started batch by
//! batch; and the cards that some of them need.

use std::sync::Arc;

use butler_policy::{Judgement, Question as Asking};
use butler_protocol::{
    BudgetRefusal, Record, Remark, RequestId, Subject, Then, ToolCall, ToolOutcome, Waiting,
};
use butler_tools::{batches, interrupted};
use butler_turn::{Event, Interrupted};
use tracing::{Instrument, info_span};

use super::Worker;
use crate::{
    AgentError,
    decide::cards::{self, NewCard},
    thread::effects::{self, Permitted},
};

/// A call to run, or to recover.
pub(super) struct Waiter {
    call: ToolCall,
    recovery: Option<Option<serde_json::Value>>,
}

impl Worker {
    pub(super) async fn line_up(&mut self, calls: Vec<ToolCall>) -> Result<(), AgentError> {
        for batch in batches(&calls) {
            let waiters = batch
                .into_iter()
                .filter_map(|index| calls.get(index))
                .map(|call| Waiter {
                    call: call.clone(),
                    recovery: None,
                })
                .collect();
            self.waiting.push_back(waiters);
        }
        self.next_batch().await
    }

    pub(super) async fn line_up_recoveries(
        &mut self,
        calls: Vec<Interrupted>,
    ) -> Result<(), AgentError> {
        for interrupted in calls {
            self.waiting.push_back(vec![Waiter {
                call: interrupted.call,
                recovery: Some(interrupted.trace),
            }]);
        }
        self.next_batch().await
    }

    /// Starts the next batch once the one before it is done and the tool session is open.
    pub(super) async fn next_batch(&mut self) -> Result<(), AgentError> {
        while self.running == 0 && !self.waiting.is_empty() {
            if self.tool_session.is_none() {
                self.running = 1;
                self.start(effects::open_tool_session(
                    self.context.clone(),
                    self.work.clone(),
                ));
                return Ok(());
            }
            if let Some(batch) = self.waiting.pop_front() {
                for waiter in batch {
                    self.begin_call(waiter).await?;
                }
            }
        }
        Ok(())
    }

    /// Judges a call, writes its intent, starts it. A refusal is a normal result.
    async fn begin_call(&mut self, waiter: Waiter) -> Result<(), AgentError> {
        let judgement = self.judge(&waiter).await?;
        let Some(tool_session) = &self.tool_session else {
            return Err(AgentError::Missing(
                "the tool session is not open".to_owned(),
            ));
        };
        let executor = Arc::clone(&tool_session.executor);
        let tool_context = tool_session.tool_context.clone();
        self.running += 1;
        let outcome = match judgement {
            Judgement::Run(permit) => {
                if let Some(request) = permit.approval().cloned() {
                    self.use_approval(&request).await?;
                }
                if waiter.recovery.is_none() {
                    self.write_intent(&executor, &waiter.call, &tool_context)
                        .await?;
                }
                let permitted = Permitted {
                    call: waiter.call,
                    permit,
                    recovery: waiter.recovery,
                };
                let span = info_span!(
                    "tool",
                    tool = permitted.call.name,
                    turn = self.machine.turn()
                );
                self.start(effects::run_tool(executor, tool_context, permitted).instrument(span));
                return Ok(());
            }
            // It was allowed when it began; the approval is used up by now. Nothing
            // is run again, so there is nothing to ask.
            Judgement::Ask(_) | Judgement::Refuse(_) if waiter.recovery.is_some() => {
                ToolOutcome::error(interrupted(&waiter.call.name))
            }
            Judgement::Ask(asking) => self.ask_for_command(&waiter.call, asking).await?,
            Judgement::Refuse(refusal) => ToolOutcome::error(refusal.to_string()),
        };
        let done = effects::tool_done(&waiter.call, outcome, None);
        self.start(std::future::ready(done));
        Ok(())
    }

    /// A click may have come after the tool session was opened, so whoever would have
    /// to ask looks first.
    async fn judge(&mut self, waiter: &Waiter) -> Result<Judgement, AgentError> {
        let Some(tool_session) = &mut self.tool_session else {
            return Err(AgentError::Missing(
                "the tool session is not open".to_owned(),
            ));
        };
        let judgement = tool_session.judge(&self.context, &waiter.call);
        if waiter.recovery.is_some() || !matches!(judgement, Judgement::Ask(_)) {
            return Ok(judgement);
        }
        tool_session.look_for_approvals(&self.context).await?;
        Ok(tool_session.judge(&self.context, &waiter.call))
    }

    async fn write_intent(
        &mut self,
        executor: &butler_tools::Executor,
        call: &ToolCall,
        tool_context: &butler_tools::ToolContext,
    ) -> Result<(), AgentError> {
        let Some(intent) = executor.intent(call, tool_context) else {
            return Ok(());
        };
        self.write(vec![Record::ToolIntent {
            call: call.id.clone(),
            tool: call.name.clone(),
            crash: intent.crash,
            sha256: intent.sha256,
            trace: intent.trace,
        }])
        .await
    }

    /// Used up before the command starts: a crash in between needs a new click.
    async fn use_approval(&mut self, request: &RequestId) -> Result<(), AgentError> {
        let view = self.context.poster.control.decision(request).await?;
        if let Some(decision) = view.decided {
            self.write(vec![Record::DecisionUsed {
                request: request.clone(),
                choice: decision.choice,
                person: decision.person,
            }])
            .await?;
        }
        if let Some(tool_session) = &mut self.tool_session {
            tool_session.forget_approval(request);
        }
        Ok(())
    }

    /// Posts what would run and why it was caught; the model hears of the click.
    async fn ask_for_command(
        &mut self,
        call: &ToolCall,
        asking: Asking,
    ) -> Result<ToolOutcome, AgentError> {
        let request = RequestId::of(&call.id);
        let mut remarks = vec![
            Remark::runtime("Risk", asking.tier.as_str()),
            Remark::runtime("It asks because", &asking.reason),
        ];
        if let Some(origin) = &self.context.facts().outside.taint {
            remarks.push(Remark::runtime(
                "Text from outside was read here",
                origin.to_string(),
            ));
        }
        let card = NewCard {
            request: request.clone(),
            subject: Subject::Command(Box::new(asking.subject)),
            remarks,
            learnings: Vec::new(),
        };
        let record = match cards::post(&self.context, self.context.idem(&call.id), card).await {
            // Nobody is asked in a thread that was stopped.
            Err(error) if error.is_stop() => return Ok(ToolOutcome::error(error.to_string())),
            posted => posted?,
        };
        self.write(vec![record]).await?;
        Ok(ToolOutcome::error(format!(
            "not run yet: {}. A person was asked (card {request}); you will be told.",
            asking.reason
        ))
        .then(Then::Park {
            waiting: Waiting::Decision { request },
        }))
    }

    pub(super) async fn ask_for_money(
        &mut self,
        request: RequestId,
        refusal: BudgetRefusal,
    ) -> Result<(), AgentError> {
        let card = NewCard {
            request: request.clone(),
            subject: Subject::Cap(refusal),
            remarks: vec![Remark::runtime(
                "Meanwhile",
                "work pauses here; nothing is lost",
            )],
            learnings: Vec::new(),
        };
        let idem = self.context.idem_for(&request, "cap");
        let record = match cards::post(&self.context, idem, card).await {
            Err(error) if error.is_stop() => return Ok(()),
            posted => posted?,
        };
        self.write(vec![record]).await?;
        self.feed(Event::Asked { request });
        Ok(())
    }
}
