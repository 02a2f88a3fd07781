//! The tool calls of a turn: judged, written down, run batch by batch. What
//! would ask a person is refused, with the words that would be on the card.

use butler_policy::{Judgement, Question};
use butler_toolbox::batches;
use butler_turn::Interrupted;
use butler_vocab::{Record, ToolCall, ToolOutcome};
use futures_util::{StreamExt, stream::FuturesUnordered};
use serde_json::Value;

use super::{Said, bench::SoloBench, driver::Solo};
use crate::{
    TeamError,
    hands::{self, Done, Permitted},
};

/// A call to run, or to recover.
pub(super) struct Waiter {
    call: ToolCall,
    recovery: Option<Option<Value>>,
}

impl Solo<'_> {
    pub(super) async fn run_tools(&mut self, calls: Vec<ToolCall>) -> Result<(), TeamError> {
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
    ) -> Result<(), TeamError> {
        for one in interrupted {
            let waiter = Waiter {
                call: one.call,
                recovery: Some(one.trace),
            };
            self.run_batch(vec![waiter]).await?;
        }
        Ok(())
    }

    /// Runs what may run at the same time. Each result is on disk as soon as it
    /// is there.
    async fn run_batch(&mut self, batch: Vec<Waiter>) -> Result<(), TeamError> {
        let mut running = FuturesUnordered::new();
        for waiter in batch {
            let call = waiter.call.clone();
            let begun = self.begin(waiter).await?;
            let executor = self.executor.clone();
            running.push(async move {
                let done = match begun {
                    Begun::Run(desk, permitted) => {
                        hands::run_tool(executor, *desk, *permitted).await
                    }
                    Begun::Not(outcome) => hands::tool_done(&call, outcome, None),
                };
                (call, done)
            });
        }
        while let Some((call, done)) = running.next().await {
            let Done::Event(event) = done else { continue };
            if let butler_turn::Event::ToolDone { outcome, .. } = &event {
                self.say(Said::Result {
                    call: call.id.clone(),
                    tool: call.name.clone(),
                    ok: outcome.ok,
                    text: outcome.text.clone(),
                });
            }
            self.feed(event);
            self.write_ahead()?;
        }
        Ok(())
    }

    async fn begin(&mut self, waiter: Waiter) -> Result<Begun, TeamError> {
        if self.bench.is_none() {
            self.bench = Some(SoloBench::open(self.config, &self.cancel).await?);
        }
        let Some(bench) = &self.bench else {
            return Err(TeamError::Missing("the bench is not open".to_owned()));
        };
        let call = waiter.call;
        let circumstances = bench.circumstances(self.config, &self.thread);
        let judgement = self.executor.judge(&call, &circumstances);
        let desk = bench.desk.clone();
        self.say(Said::Call {
            call: call.id.clone(),
            tool: call.name.clone(),
            arguments: call.arguments.clone(),
        });
        match judgement {
            Judgement::Run(permit) => {
                if waiter.recovery.is_none()
                    && let Some(intent) = self.executor.intent(&call, &desk)
                {
                    self.write(Record::ToolIntent {
                        call: call.id.clone(),
                        tool: call.name.clone(),
                        crash: intent.crash,
                        sha256: intent.sha256,
                        trace: intent.trace,
                    })?;
                }
                let permitted = Permitted {
                    call,
                    permit,
                    recovery: waiter.recovery,
                };
                Ok(Begun::Run(Box::new(desk), Box::new(permitted)))
            }
            Judgement::Ask(question) => Ok(Begun::Not(ToolOutcome::error(refused(&question)))),
            Judgement::Refuse(refusal) => Ok(Begun::Not(ToolOutcome::error(refusal.to_string()))),
        }
    }
}

enum Begun {
    Run(Box<butler_toolbox::Desk>, Box<Permitted>),
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
