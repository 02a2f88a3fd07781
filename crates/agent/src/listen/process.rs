//! The agent process: connects to the hub, takes up what its logs left open,
//! and hands each envelope to the worker of its thread.

use std::{path::Path, sync::Arc, time::Duration};

use butler_journal::last_entries;
use butler_model::ModelClient;
use butler_policy::Duty;
use butler_protocol::{Entry, Record, UserId};
use butler_repo::{Forge, Repo};
use butler_sandbox::Sandbox;
use butler_slack::{Control, Socket, Web};
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::{sync::mpsc, task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    Agent, AgentConfig, AgentError,
    develop::runner::{self, Develop},
    listen::{
        group::{self, Group},
        intake::{Intake, Mail},
        pause::Pause,
        restart,
        voice::{Listened, Voices},
        work_key::WorkKey,
    },
    tell::poster::Poster,
    thread::{
        prepare::{self, Preparations},
        slots::Slots,
        workers::Workers,
    },
    upkeep::{
        digests::Digests,
        forge::{issue_watch, pull_watch},
        garbage, overlap,
        playbook_cache::PlaybookCache,
        pruning,
        rules_in_force::RulesInForce,
        servers,
    },
};

/// Mail of the runtime itself that waits to be delivered.
const LETTERS: usize = 16;

/// Works until cancelled. `ready` is called once the hub has said hello.
///
/// # Errors
/// When the hub refuses this role, or the repository cannot be used.
pub fn run<'a>(
    config: AgentConfig,
    rules: RulesInForce,
    cancel: CancellationToken,
    ready: impl FnOnce() + Send + 'a,
) -> BoxFuture<'a, Result<(), AgentError>> {
    listen(config, rules, cancel, Box::new(ready))
}

/// Not generic and not `async` itself, so that all of an agent is compiled here
/// and nothing of it in the crate that starts one.
fn listen<'a>(
    config: AgentConfig,
    rules: RulesInForce,
    cancel: CancellationToken,
    ready: Box<dyn FnOnce() + Send + 'a>,
) -> BoxFuture<'a, Result<(), AgentError>> {
    Box::pin(async move {
        // Ends with the process, or when it leaves in peace.
        let life = cancel.child_token();
        let process = group::process_name(&config.repo.join(".codebutler/threads"));
        let process = process.inspect_err(|error| {
            warn!(%error, "this process shares its threads with nobody");
        });
        let (hub, token) = (&config.hub, config.app_token.clone());
        let opened = Socket::open_as(process.ok(), hub, token, life.clone()).await;
        let mut socket = match opened {
            // Told to end while no hub was there: nothing went wrong.
            Err(_) if cancel.is_cancelled() => return Ok(()),
            opened => opened?,
        };
        let agent = Arc::new(open_agent(config, rules, &socket, &life).await?);
        let working = life.child_token();
        let mut workers = Workers::new(Arc::clone(&agent), working.clone());
        take_up(&agent, &mut workers)?;
        prepare::take_up(&agent).await;
        ready();
        restart::say_back(&agent).await;
        info!(role = %agent.role(), epoch = %agent.group.epoch, "listening");
        let intake = Intake::new(Arc::clone(&agent), socket.acker());
        let (found, mut from_forge) = mpsc::channel(1);
        let watching = Duty::Remember.is_of(agent.role()).then(|| {
            first_only(&agent, &life, move |agent, life| {
                let counting = pruning::keep_told(Arc::clone(&agent), life.clone());
                let watching = pull_watch::watch(agent, found.clone(), life);
                async move {
                    tokio::join!(counting, watching);
                }
            })
        });
        let (letters, mut for_threads) = mpsc::channel(LETTERS);
        let developing = Duty::Front.is_of(agent.role()).then(|| {
            first_only(&agent, &life, move |agent, life| {
                let tidying = garbage::keep_tidy(Arc::clone(&agent), life.clone());
                let assigned =
                    issue_watch::watch(Arc::clone(&agent), letters.clone(), life.clone());
                let ahead = overlap::ahead::keep_looking(Arc::clone(&agent), life.clone());
                let going = runner::keep_going(agent, letters.clone(), life);
                async move {
                    tokio::join!(tidying, assigned, ahead, going);
                }
            })
        });
        let telling = {
            let servers = servers::tell(Arc::clone(&agent), life.child_token());
            let facts = servers::tell_facts(Arc::clone(&agent), life.child_token());
            tokio::spawn(async move {
                tokio::join!(servers, facts);
            })
        };
        let (spoken, mut voices) = mpsc::channel(LETTERS);
        let mut listening = Voices::new(Arc::clone(&agent), spoken, life.child_token());
        let mut leave_by = None;
        loop {
            let leaving = agent.is_leaving();
            if leaving {
                leave_by.get_or_insert_with(|| Instant::now() + restart::PATIENCE);
            }
            let listened = tokio::select! {
                () = cancel.cancelled() => break,
                () = workers.at_rest(), if leaving => break,
                () = restart::out_of_patience(leave_by), if !working.is_cancelled() => {
                    working.cancel();
                    continue;
                }
                () = agent.config.renewal.cancelled(), if !leaving => continue,
                Some((thread, from)) = from_forge.recv() => {
                    let mail = Mail::FromForge(Box::new(from));
                    let work_key = WorkKey::thread(thread);
                    workers.deliver(&work_key, 0, mail, None).await;
                    continue;
                }
                Some((work_key, mail)) = for_threads.recv(), if !leaving => {
                    workers.deliver(&work_key, 0, mail, None).await;
                    continue;
                }
                Some(listened) = voices.recv() => Some(listened),
                envelope = socket.next() => match envelope.map(|one| listening.take(one)) {
                    Some(None) => continue,
                    Some(Some(envelope)) => Some(Listened::unspoken(envelope)),
                    None => None,
                },
            };
            let Some(listened) = listened else {
                // The socket hears of our own end as soon as we do.
                if !cancel.is_cancelled() {
                    warn!(reason = ?socket.ended(), "the hub does not talk to us any more");
                }
                break;
            };
            agent.develop.ahead.stir();
            match intake.sort(listened).await {
                Ok(Some((work_key, seq, mail, ack))) => {
                    workers.deliver(&work_key, seq, mail, Some(ack)).await;
                }
                Ok(None) => {}
                // Not acknowledged: the hub delivers it again.
                Err(error) => warn!(%error, "an event could not be taken in"),
            }
        }
        // Also where the hub let go of this process: what it has begun waits for a connection
        // that does not come, and whoever keeps this process waits for its end.
        working.cancel();
        workers.ended().await;
        restart::note_leaving(&agent);
        life.cancel();
        agent.preparations.end().await;
        agent.rules().outside.end().await;
        for beside in [telling].into_iter().chain(watching).chain(developing) {
            beside.abort();
            let _ = beside.await;
        }
        match socket.close().await {
            ended if !cancel.is_cancelled() && !agent.is_leaving() => {
                Err(AgentError::Hub(butler_slack::SlackError::Ended(ended)))
            }
            _ => Ok(()),
        }
    })
}

/// What only one process of a role does, for as long as this is the first of them.
fn first_only<F: Future<Output = ()> + Send + 'static>(
    agent: &Arc<Agent>,
    life: &CancellationToken,
    work: impl Fn(Arc<Agent>, CancellationToken) -> F + Send + Sync + 'static,
) -> JoinHandle<()> {
    let (agent, life) = (Arc::clone(agent), life.child_token());
    tokio::spawn(async move {
        let work = |life| work(Arc::clone(&agent), life);
        Box::pin(agent.group.while_first(life, work)).await;
    })
}

async fn open_agent(
    config: AgentConfig,
    rules: RulesInForce,
    socket: &Socket,
    cancel: &CancellationToken,
) -> Result<Agent, AgentError> {
    let epoch = socket.shared_epoch();
    let poster = Poster {
        role: config.role,
        heard: None,
        updates: None,
        web: Web::new(&config.hub, config.bot_token.clone(), epoch.clone())?,
        control: Control::new(&config.hub, config.bot_token.clone(), epoch)?,
    };
    // Slack, and the hub as well, writes a mention of the app by its user.
    let us = poster.web.call("auth.test", json!({})).await?;
    butler_repo::confine_with(config.sandbox_helper.clone());
    let repo = Repo::open(&config.repo).await?;
    let forge = Forge::of(&repo, &config.forges).await?;
    Ok(Agent {
        bot: us["user_id"].as_str().map(UserId::new),
        poster,
        forge,
        repo,
        model: Arc::new(ModelClient::new(config.client.clone())?),
        sandbox: Arc::new(Sandbox::new(config.sandbox_helper.clone())?),
        slots: Slots::new(rules.now().limits.threads_at_once),
        pause: Pause::open(&config.repo.join(".codebutler/threads")),
        group: Group::new(socket.epoch(), socket.standing()),
        began_ms: config.clock.now_ms(),
        playbook_cache: PlaybookCache::default(),
        preparations: Preparations::new(cancel.child_token()),
        develop: Develop::default(),
        digests: Digests::default(),
        rules,
        config,
    })
}

/// Threads whose log does not end with the end of an activation go on. The
/// others cost a look at the end of their file, and nothing until somebody
/// speaks there.
fn take_up(agent: &Arc<Agent>, workers: &mut Workers) -> Result<(), AgentError> {
    let threads = agent.threads();
    for work_key in WorkKey::known(&threads, agent.role())? {
        let path = work_key.log(&threads, agent.role());
        if unfinished(&path) || is_recent(&path) {
            workers.wake(&work_key);
        }
    }
    Ok(())
}

/// Whether a log asks for something. What the end of the file does not tell is
/// left to the worker, which reads all of it.
/// Whether something may still be untold to the hub: a kill can come after the
/// last line and before its telling. What is older has been told long ago.
fn is_recent(path: &Path) -> bool {
    const TELLING: Duration = Duration::from_secs(24 * 60 * 60);
    let changed = std::fs::metadata(path).and_then(|file| file.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age < TELLING))
}

fn waits_for_forge(entry: &Entry) -> bool {
    matches!(entry.record, Record::MergeRefused { .. })
}

fn unfinished(path: &Path) -> bool {
    match last_entries(path) {
        Ok(entries) if entries.is_empty() => path.exists(),
        // A merge that the forge refused may go through by now.
        Ok(entries) if entries.iter().any(waits_for_forge) => true,
        Ok(entries) => {
            let ended = |entry: &Entry| matches!(entry.record, Record::ActivationEnded { .. });
            // A bill, a stop or a look at the forge may come in after the end.
            let quiet = |entry: &&Entry| match &entry.record {
                Record::PullSeen { news, .. } => news.is_empty(),
                Record::Settled { .. } | Record::Stopped { .. } | Record::PullTold { .. } => true,
                _ => false,
            };
            !entries
                .iter()
                .rev()
                .find(|entry| !quiet(entry))
                .is_some_and(ended)
        }
        Err(_) => true,
    }
}
