//! The tool calls of a turn: judged, written down, run batch by batch. What
//! would ask a person is refused, with the words that would be on the card.

use butler_policy::{Judgement, Question};
use butler_protocol::{Record, ToolCall, ToolOutcome};
use butler_tools::batches;
use butler_turn::{Event, Interrupted};
use futures_util::{StreamExt, stream::FuturesUnordered};
use serde_json::Value;

use super::{Said, driver::Exec, tool_session::ExecTools};
use crate::{
    AgentError,
    thread::effects::{self, Done, Permitted},
};

/// A call to run, or to recover.
pub(super) struct Waiter {
    call: ToolCall,
    recovery: Option<Option<Value>>,
}

impl Exec<'_> {
    pub(super) async fn run_tools(&mut self, calls: Vec<ToolCall>) -> Result<(), AgentError> {
        for batch in batches(&calls) {
            let waiters = batch
                .into_iter()
                .filter_map(|index| calls.get(index))
                .map(|call| Waiter {
                    call: call.clone(),
                    recovery: None,
                })
                .collect();
            self.run_batch(waiters).await?;
            if self.cancel.is_cancelled() {
                // The others were not begun: the log takes them up as they are.
                return Ok(());
            }
        }
        Ok(())
    }

    pub(super) async fn recover_tools(
        &mut self,
        interrupted: Vec<Interrupted>,
    ) -> Result<(), AgentError> {
        for one in interrupted {
            let waiter = Waiter {
                call: one.call,
                recovery: Some(one.trace),
            };
            self.run_batch(vec![waiter]).await?;
        }
        Ok(())
    }

    /// Runs what may run at the same time. All intents are on disk before the
    /// first call begins, and each result is as soon as another call is waited
    /// for; the last one goes with what comes of it.
    async fn run_batch(&mut self, batch: Vec<Waiter>) -> Result<(), AgentError> {
        let mut begun = Vec::new();
        let mut intents = Vec::new();
        for waiter in batch {
            let call = waiter.call.clone();
            begun.push((call, self.begin(waiter, &mut intents).await?));
        }
        self.flush(intents)?;
        let mut running = FuturesUnordered::new();
        for (call, begun) in begun {
            let executor = self.executor.clone();
            running.push(async move {
                let done = match begun {
                    Begun::Run(tool_context, permitted) => {
                        effects::run_tool(executor, *tool_context, *permitted).await
                    }
                    Begun::Not(outcome) => effects::tool_done(&call, outcome, None),
                };
                (call, done)
            });
        }
        while let Some((call, done)) = running.next().await {
            let Done::Event(event) = done else { continue };
            if let Event::ToolDone { outcome, .. } = &event {
                self.say(Said::Result {
                    call: call.id.clone(),
                    tool: call.name.clone(),
                    ok: outcome.ok,
                    text: outcome.text.clone(),
                });
            }
            self.feed(event);
            self.gather();
            if !running.is_empty() {
                self.flush(Vec::new())?;
            }
        }
        Ok(())
    }

    /// Judges a call; what it leaves to write goes to `intents`.
    async fn begin(
        &mut self,
        waiter: Waiter,
        intents: &mut Vec<Record>,
    ) -> Result<Begun, AgentError> {
        if self.tool_session.is_none() {
            self.tool_session = Some(ExecTools::open(self.config, &self.cancel).await?);
        }
        let Some(tool_session) = &self.tool_session else {
            return Err(AgentError::Missing(
                "the tool session is not open".to_owned(),
            ));
        };
        let call = waiter.call;
        let circumstances = tool_session.circumstances(self.config, &self.thread);
        let judgement = self.executor.judge(&call, &circumstances);
        let tool_context = tool_session.tool_context.clone();
        self.say(Said::Call {
            call: call.id.clone(),
            tool: call.name.clone(),
            arguments: call.arguments.clone(),
        });
        let permit = match judgement {
            Judgement::Run(permit) => permit,
            Judgement::Ask(question) => {
                return Ok(Begun::Not(ToolOutcome::error(refused(&question))));
            }
            Judgement::Refuse(refusal) => {
                return Ok(Begun::Not(ToolOutcome::error(refusal.to_string())));
            }
        };
        if waiter.recovery.is_none()
            && let Some(intent) = self.executor.intent(&call, &tool_context)
        {
            intents.push(Record::ToolIntent {
                call: call.id.clone(),
                tool: call.name.clone(),
                crash: intent.crash,
                sha256: intent.sha256,
                trace: intent.trace,
            });
        }
        let permitted = Permitted {
            call,
            permit,
            recovery: waiter.recovery,
        };
        Ok(Begun::Run(Box::new(tool_context), Box::new(permitted)))
    }
}

enum Begun {
    Run(Box<butler_tools::ToolContext>, Box<Permitted>),
    Not(ToolOutcome),
}

fn refused(question: &Question) -> String {
    let part = match &question.part {
        Some(part) => format!(" (`{part}`)"),
        None => String::new(),
    };
    format!(
        "refused: {}: {}{part}; nobody is here to click on it. Find a way that needs less, \
         or leave it to the person and say so in the end.",
        question.tier.as_str(),
        question.reason
    )
}
