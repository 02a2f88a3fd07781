//! One run: the machine's driver without a hub, until the task is over, cannot go
//! on, or is interrupted.

use std::sync::Arc;

use butler_journal::Journal;
use butler_model::ModelClient;
use butler_playbook::Profile;
use butler_protocol::{
    Choice, Decision, DecisionKind, Epoch, EventId, MessageTs, Sha256Hex, Speaker, UserId, Waiting,
};
use butler_tools::{Executor, Registry};
use butler_turn::{Event, Heard, Machine, Setup};
use futures_util::{StreamExt, future::LocalBoxFuture};
use tokio_util::sync::CancellationToken;

use super::{
    ExecConfig, ExecEnding, ExecTask, Outcome, Said, Session, budget::Wallet, overview, prompt,
    terminal::TerminalEdge,
};
use crate::tell::joining::by_runtime;
use crate::{
    AgentError,
    thread::{driver::Driver, tool_session},
};

/// A session has one owner at a time, and its file lock says who.
const EPOCH: Epoch = Epoch(1);

type Exec<'a> = Driver<TerminalEdge<'a>>;

/// Works on a session until it is over, cannot go on, or is interrupted.
///
/// # Errors
/// When the log cannot be read or written, or a tool's folder or sandbox fails.
pub fn run<'a>(
    config: Arc<ExecConfig>,
    session: &'a Session,
    task: ExecTask,
    cancel: CancellationToken,
    tell: &'a mut (dyn FnMut(Said) + Send),
) -> LocalBoxFuture<'a, Result<Outcome, AgentError>> {
    Box::pin(async move {
        let (journal, log) = Journal::open(&session.conversation, EPOCH)?;
        tell(Said::Started {
            session: session.id(),
            folder: config.folder.clone(),
            role: config.role,
            model: config.models.usual.clone(),
            resumed: !log.is_empty(),
        });
        let mut registry = Registry::native();
        for tool in config.outside.tools() {
            registry.add(tool);
        }
        let small = config.profile == Profile::Small;
        let (whom, outside) = ((config.role, small), config.outside.offered(small));
        let setup = Setup {
            thread: session.thread.clone(),
            role: config.role,
            models: config.models.clone(),
            prompt: prompt::assemble(config.role, &config.files, config.profile),
            tools: tool_session::offer(&registry, whom, &[], &outside),
            limits: config.limits,
            first_activation: 1,
        };
        let model = Arc::new(ModelClient::new(config.client.clone())?);
        let clock = config.clock.clone();
        let edge = TerminalEdge {
            wallet: Wallet::of(&log, config.cap, Arc::clone(&model)),
            config,
            thread: session.thread.clone(),
            executor: Arc::new(Executor::new(registry)),
            tell,
            last_text: None,
            turns: 0,
            ending: None,
        };
        let overview = if log.is_empty() {
            Some(overview::of(&edge.config, &cancel).await)
        } else {
            None
        };
        let mut exec = Exec::new(edge, Machine::new(setup, &log), journal, model, clock);
        exec.work = cancel;
        let ending = exec.until_it_ends(task, overview).await;
        exec.close_tools().await;
        exec.edge.config.outside.end().await;
        Ok(Outcome {
            ending: ending?,
            text: exec.edge.last_text.take(),
            cost: exec.edge.wallet.spent(),
            turns: exec.edge.turns,
        })
    })
}

impl Exec<'_> {
    async fn until_it_ends(
        &mut self,
        task: ExecTask,
        overview: Option<String>,
    ) -> Result<ExecEnding, AgentError> {
        self.take_up(task, overview);
        loop {
            self.carry_out_all().await?;
            if let Some(ending) = self.edge.ending.take() {
                return Ok(ending);
            }
            match self.doing.next().await {
                Some(done) => self.on_done(done).await?,
                None if self.work.is_cancelled() => return Ok(ExecEnding::Interrupted),
                // Every request is answered, so nothing was begun at all.
                None => {
                    return Err(AgentError::Missing(
                        "there is nothing to do: the session is over and no task was given"
                            .to_owned(),
                    ));
                }
            }
        }
    }

    /// The folder in a few lines and the task, and where an earlier run stopped for
    /// lack of money, the word that there is more.
    fn take_up(&mut self, task: ExecTask, overview: Option<String>) {
        let now_ms = self.clock.now_ms();
        let waiting = self.machine.parked().cloned();
        if let Some(text) = task.task {
            let heard = Heard {
                event: EventId::new(format!("task:{now_ms}")),
                ts: None,
                speaker: Speaker::Person {
                    user: UserId::new(task.person.as_str()),
                    name: task.person.clone(),
                },
                text,
                images: Vec::new(),
            };
            let overview = overview.map(|text| by_runtime(EventId::overview(), text));
            self.feed(Event::Heard(overview.into_iter().chain([heard]).collect()));
        } else if let Some(Waiting::Decision { request }) = waiting {
            self.feed(Event::Decided(Decision {
                request,
                kind: DecisionKind::Cap,
                thread: self.edge.thread.clone(),
                sha256: Sha256Hex::of("cap"),
                choice: Choice::Raise,
                person: UserId::new(task.person.as_str()),
                name: task.person,
                run: None,
                message: MessageTs::from_parts(0, 0),
                at_ms: now_ms,
            }));
        } else {
            self.feed(Event::Begin { now_ms });
        }
    }
}
