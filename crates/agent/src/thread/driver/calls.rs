//! The tool calls of a turn: judged, written down, run batch by batch. What a person
//! approved is run like them, later: once, or, when a crash came in between, the model
//! is told that it is unknown how far it got.

use std::{sync::Arc, time::Instant};

use butler_policy::{Judgement, Permit};
use butler_protocol::{Record, Then, Tier, ToolCall, ToolOutcome, fault};
use butler_tools::{Executor, ToolContext, batches, interrupted};
use butler_turn::Interrupted;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tracing::{Instrument, info, info_span};

use super::{Beginning, Done, Driver, Edge, model::millis};
use crate::AgentError;

/// A call to run, or to recover.
pub(crate) struct Waiter {
    call: ToolCall,
    recovery: Option<Option<Value>>,
    /// It waited for a person, who approved it.
    approved: bool,
}

/// A call that was judged.
enum Begun {
    Run(Box<Permitted>),
    Not(Box<(ToolCall, ToolOutcome)>),
}

/// A call that may run, and whose intent is in the log before it does.
struct Permitted {
    executor: Arc<Executor>,
    context: ToolContext,
    call: ToolCall,
    permit: Permit,
    recovery: Option<Option<Value>>,
}

impl<E: Edge> Driver<E> {
    pub(super) fn line_up(&mut self, calls: &[ToolCall]) {
        for batch in batches(calls) {
            let calls = batch.into_iter().filter_map(|index| calls.get(index));
            let waiters = calls.map(|call| Waiter {
                call: call.clone(),
                recovery: None,
                approved: false,
            });
            self.waiting.push_back(waiters.collect());
        }
    }

    pub(super) fn line_up_recoveries(&mut self, calls: Vec<Interrupted>) {
        self.waiting.extend(calls.into_iter().map(|interrupted| {
            vec![Waiter {
                call: interrupted.call,
                recovery: Some(interrupted.trace),
                approved: false,
            }]
        }));
    }

    /// A call that waited for a card runs now, exactly as it was asked; `begun` is
    /// what it left when it had begun before a crash.
    pub(crate) fn line_up_approved(&mut self, call: ToolCall, begun: Option<Option<Value>>) {
        self.waiting.push_back(vec![Waiter {
            call,
            recovery: begun,
            approved: true,
        }]);
    }

    /// Starts the next batch, or opens the tool session that it needs. What the
    /// calls leave to write is on disk before the first of them begins.
    pub(super) async fn next_batch(&mut self) -> Result<(), AgentError> {
        if self.tool_session.is_none() {
            self.running = 1;
            let cancel = self.work.clone();
            let opening = self.edge.open_tools(cancel.clone());
            self.start(async move { Done::ToolSession(cancel, opening.await.map(Box::new)) });
            return Ok(());
        }
        let mut begun = Vec::new();
        let mut records = Vec::new();
        for waiter in self.waiting.pop_front().unwrap_or_default() {
            begun.push(self.begin(waiter, &mut records).await?);
        }
        self.write(records).await?;
        self.edge.mirrored().await?;
        for call in begun {
            self.running += 1;
            match call {
                Begun::Run(permitted) => {
                    let (tool, turn) = (permitted.call.name.clone(), self.machine.turn());
                    let reads = permitted.permit.tier() == Tier::Read;
                    let tools = self.tool_session.as_ref();
                    let keep = tools.and_then(|tools| self.edge.keep_files(tools, reads));
                    let running = run(*permitted, keep);
                    self.start(running.instrument(info_span!("tool", tool, turn)));
                }
                Begun::Not(refused) => {
                    let (call, outcome) = *refused;
                    self.start(std::future::ready(Done::Tool(call, outcome, None)));
                }
            }
        }
        Ok(())
    }

    /// Judges a call. A refusal is a normal result.
    async fn begin(
        &mut self,
        waiter: Waiter,
        records: &mut Vec<Record>,
    ) -> Result<Begun, AgentError> {
        let Waiter {
            call,
            recovery,
            approved,
        } = waiter;
        let beginning = Beginning {
            recovers: recovery.is_some(),
            approved,
        };
        self.edge.begins(&call);
        let Some(tools) = &mut self.tool_session else {
            return Err(AgentError::Missing(
                "the tool session is not open".to_owned(),
            ));
        };
        let turn = Some(self.machine.turn());
        let thread = self.machine.thread();
        let outcome = match self.edge.judge(thread, tools, &call, beginning).await? {
            // It would change what a person is deciding about, and make their yes void.
            Judgement::Run(permit)
                if self.asked_in == turn
                    && permit.tier() == Tier::WriteLocal
                    && !(approved || recovery.is_some()) =>
            {
                ToolOutcome::error(
                    "not run: an earlier call of this turn waits for a person, and this one would \
                     change what they decide about. Call it again after their decision",
                )
            }
            Judgement::Run(permit) => {
                let intent = tools.executor.intent(&call, &tools.tool_context);
                records.extend(intent.filter(|_| recovery.is_none()).map(|intent| {
                    Record::ToolIntent {
                        call: call.id.clone(),
                        tool: call.name.clone(),
                        crash: intent.crash,
                        sha256: intent.sha256,
                        trace: intent.trace,
                    }
                }));
                return Ok(Begun::Run(Box::new(Permitted {
                    executor: Arc::clone(&tools.executor),
                    context: tools.tool_context.clone(),
                    call,
                    permit,
                    recovery,
                })));
            }
            // It was allowed when it began; the approval is used up by now. Nothing
            // is run again, so there is nothing to ask.
            Judgement::Ask(_) | Judgement::Refuse(_) if recovery.is_some() => {
                ToolOutcome::error(interrupted(&call.name))
            }
            // What it would touch has changed, or the click is too old.
            Judgement::Ask(_) if approved => {
                E::in_vain(self, &call).await?;
                ToolOutcome::error(
                    "not run: since it was shown, what it would touch has changed, or more than \
                     half an hour has passed. Call it again to ask again",
                )
            }
            Judgement::Ask(question) => {
                let outcome = E::ask(self, &call, question).await?;
                if matches!(outcome.then, Then::Park { .. }) {
                    self.asked_in = turn;
                }
                outcome
            }
            Judgement::Refuse(refusal) => ToolOutcome::error(refusal.to_string()),
        };
        Ok(Begun::Not(Box::new((call, outcome))))
    }
}

/// Runs, or recovers, one call.
async fn run<B>(permitted: Permitted, keep: Option<BoxFuture<'static, ()>>) -> Done<B> {
    let Permitted {
        executor,
        context,
        call,
        permit,
        recovery,
    } = permitted;
    fault("agent.before-tool");
    let begin = Instant::now();
    let outcome = match recovery {
        None => executor.run(&call, permit, &context).await,
        Some(trace) => {
            let trace = trace.as_ref();
            executor.recover(&call, permit, trace, &context).await
        }
    };
    if let Some(keep) = keep {
        keep.await;
    }
    fault("agent.after-tool");
    let duration_ms = millis(begin);
    info!(duration_ms, ok = outcome.ok, "the tool ended");
    let receipt = context.take_receipt(&call.id);
    Done::Tool(call, outcome, receipt)
}
