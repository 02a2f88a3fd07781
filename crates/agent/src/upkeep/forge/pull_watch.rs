//! One look at the forge for all open pull requests, once a minute: what others did to
//! them reaches the worker of their thread, which writes it down before it tells it.
//! Only the Lead's process looks, because it is the one that merges: what it did itself
//! stands in its own log. What was seen stands there too, so a look that ended half way,
//! or with the process, is simply taken again.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use butler_protocol::{
    BranchName, Choice, Idem, MergeBlock, PrNumber, PullEvent, PullNews, PullSeen, PullStatus,
    Subject, ThreadId,
};
use butler_repo::{Error, PullNow, block_of, knowledge_branch, news};
use butler_turn::ThreadFold;
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::wake::ForgeWake;
use crate::{
    Agent, AgentError, OrWarn,
    tell::{forge_text, render, thread_logs},
    upkeep::pull_page,
};

/// What somebody may do is asked again after this.
const RIGHTS_HOLD: Duration = Duration::from_secs(60 * 60);
/// However long a forge does not answer, it is asked again after this.
const LONGEST: Duration = Duration::from_secs(15 * 60);
/// A worker that has not written it down by then is asked at the next look.
const WRITING: Duration = Duration::from_secs(60);
/// Failures of the network in a row before people are told.
const PATIENCE: u32 = 3;

/// What was new of a pull request, for the worker of its thread.
pub(crate) struct FromForge {
    /// What was seen.
    pub(crate) seen: PullSeen,
    /// What was new.
    pub(crate) news: Vec<PullEvent>,
    /// Sent once both are in the log.
    pub(crate) written: oneshot::Sender<()>,
}

/// Where it goes.
pub(crate) type Delivery = mpsc::Sender<(ThreadId, FromForge)>;

/// Looks until `cancel`; not at all where nobody but us does anything.
pub(crate) async fn watch(agent: Arc<Agent>, out: Delivery, cancel: CancellationToken) {
    let mut watch = Watch {
        agent,
        out,
        cancel,
        moves: BTreeMap::new(),
        rights: HashMap::new(),
        failures: 0,
        told: None,
    };
    let mut woken = ForgeWake::default();
    loop {
        let usual = watch.agent.rules().limits.forge_pause;
        let pause = match watch.round().await {
            Ok(true) => {
                (watch.failures, watch.told) = (0, None);
                usual
            }
            Ok(false) => return,
            Err(error) => watch.failed(&error, usual).await,
        };
        let pause = (pause, watch.failures);
        if !woken.pause(&watch.agent, pause, &watch.cancel).await {
            return;
        }
    }
}

struct Watch {
    agent: Arc<Agent>,
    out: Delivery,
    cancel: CancellationToken,
    /// How each pull request stood when all of its news was written down.
    moves: BTreeMap<PrNumber, String>,
    /// Who may write, and since when we know.
    rights: HashMap<String, (bool, Instant)>,
    failures: u32,
    /// What people know of these.
    told: Option<MergeBlock>,
}

impl Watch {
    /// One look; whether there is anything to look at on this forge.
    async fn round(&mut self) -> Result<bool, AgentError> {
        let mut watched = self.agent.poster.control.pulls().await?;
        watched.retain(|pull| !is_knowledge(pull));
        let numbers: Vec<PrNumber> = watched.iter().map(|pull| pull.number).collect();
        if numbers.is_empty() {
            return Ok(true);
        }
        let forge = self.agent.forge.clone();
        let Some(moves) = forge.glance(&numbers, &self.cancel).await? else {
            return Ok(false);
        };
        let moved = |number: &PrNumber| self.moves.get(number) != moves.get(number);
        let moved: Vec<PrNumber> = numbers.into_iter().filter(moved).collect();
        if moved.is_empty() {
            return Ok(true);
        }
        for now in forge.look(&moved, &self.cancel).await? {
            let Some(pull) = watched.iter().find(|pull| pull.number == now.number) else {
                continue;
            };
            if self.pass_on(pull, &now).await?
                && let Some(standing) = moves.get(&now.number)
            {
                self.moves.insert(now.number, standing.clone());
            }
        }
        Ok(true)
    }

    /// Gives what is new to the worker of the thread. Whether it is in the log.
    async fn pass_on(&mut self, pull: &PullNews, now: &PullNow) -> Result<bool, AgentError> {
        let thread = &pull.thread;
        // Read after the look: what we did ourselves is in it by now.
        let own = thread_logs::own(&self.agent, thread).into_iter().next();
        let fold = own.map(|log| log.fold).unwrap_or_default();
        let before = fold.pulls.seen.clone();
        let (seen, mut news) = news(before.as_ref(), now);
        news.retain(|one| !is_ours(&fold, now.number, one));
        for one in &mut news {
            self.complete(now, one).await?;
        }
        if before.as_ref() == Some(&seen) {
            return Ok(true);
        }
        info!(%thread, pr = %now.number, news = news.len(), "the pull request moved");
        let (written, is_written) = oneshot::channel();
        let delivered = FromForge {
            seen,
            news,
            written,
        };
        if self.out.send((thread.clone(), delivered)).await.is_err() {
            return Ok(false);
        }
        Ok(matches!(timeout(WRITING, is_written).await, Ok(Ok(()))))
    }

    /// Adds what takes a look of its own.
    async fn complete(&mut self, now: &PullNow, one: &mut PullEvent) -> Result<(), AgentError> {
        let forge = &self.agent.forge;
        match one {
            PullEvent::Said(said) => said.may_write = self.may_write(&said.by).await?,
            PullEvent::CheckFailed(red) if !red.on_base => {
                let check = now.checks.iter().find(|check| check.name == red.name);
                if let Some(job) = check.and_then(|check| check.job) {
                    let log = forge.check_log(job, &self.cancel).await?;
                    if !log.is_empty() {
                        red.log = self.agent.clean(&log);
                    }
                }
            }
            PullEvent::Conflict { files } => {
                let found = forge.conflict_files(&now.head, &self.cancel).await?;
                *files = render::names(&found);
            }
            _ => {}
        }
        Ok(())
    }

    async fn may_write(&mut self, login: &str) -> Result<bool, AgentError> {
        let known = self.rights.get(login);
        if let Some((may, _)) = known.filter(|(_, since)| since.elapsed() < RIGHTS_HOLD) {
            return Ok(*may);
        }
        let may = self.agent.forge.may_write(login, &self.cancel).await?;
        self.rights.insert(login.to_owned(), (may, Instant::now()));
        Ok(may)
    }

    /// How long to leave the forge alone. People are told once, in one thread.
    async fn failed(&mut self, error: &AgentError, usual: Duration) -> Duration {
        self.failures += 1;
        let pause = after_look(error, self.failures, usual);
        let AgentError::Repo(error) = error else {
            warn!(%error, "what to look at on the forge is not known");
            return pause;
        };
        let (block, _) = block_of(error);
        warn!(%error, ?block, "the forge could not be looked at");
        let at_once = matches!(
            block,
            MergeBlock::RateLimited | MergeBlock::LoggedOut | MergeBlock::Forbidden
        );
        let due = at_once || self.failures >= PATIENCE;
        if due && self.told != Some(block) && !self.cancel.is_cancelled() {
            self.told = Some(block);
            self.tell(block).await;
        }
        pause
    }

    async fn tell(&self, block: MergeBlock) {
        let agent = &self.agent;
        let Ok(pulls) = agent.poster.control.pulls().await else {
            return;
        };
        let open = pulls.iter().filter(|pull| pull.state == PullStatus::Open);
        let Some(newest) = open.max_by_key(|pull| pull.number) else {
            return;
        };
        // Once an hour, however often the process is started.
        let hour = agent.now_ms() / (60 * 60 * 1000);
        let short = newest.thread.short();
        let idem = Idem::new(format!("{short}-{}-forge-{block:?}-{hour}", agent.role()));
        let text = format!(
            "I cannot see what happens to our pull requests for now: {}. I look again by myself, and nothing that happens there meanwhile is lost.",
            forge_text::trouble(block)
        );
        let said = agent.poster.say(&newest.thread, idem, &text);
        said.await
            .or_warn("that the forge cannot be seen could not be told");
    }
}

/// How long to leave the forge alone after so many failures in a row: as long as it says,
/// else twice as long each time.
pub(crate) fn after_failure(error: &Error, failures: u32, usual: Duration) -> Duration {
    let (_, wait) = block_of(error);
    wait.map_or_else(|| doubled(failures, usual), |wait| wait.max(usual))
}

fn doubled(failures: u32, usual: Duration) -> Duration {
    usual.saturating_mul(1 << failures.min(8)).min(LONGEST)
}

/// The same for whatever went wrong in a look.
pub(super) fn after_look(error: &AgentError, failures: u32, usual: Duration) -> Duration {
    match error {
        AgentError::Repo(error) => after_failure(error, failures, usual),
        _ => doubled(failures, usual),
    }
}

/// What is only knowledge has no branch of code, and nobody builds there.
fn is_knowledge(pull: &PullNews) -> bool {
    let own: BranchName = knowledge_branch(&pull.thread);
    pull.branch.as_ref() == Some(&own)
}

/// Whether it is what a person had us do on a card.
fn is_ours(fold: &ThreadFold, pr: PrNumber, one: &PullEvent) -> bool {
    let choice = match one {
        PullEvent::Merged { .. } => Choice::Merge,
        PullEvent::Closed { .. } => Choice::Close,
        // We say that it is ready; they say that it is a draft, and take it back.
        PullEvent::Draft { is: false } => return !pull_page::made_a_draft(fold),
        _ => return false,
    };
    fold.cards.asked.values().any(|asked| {
        let about = matches!(&asked.subject, Subject::Merge(merge) if merge.pr == pr);
        about && asked.used == Some(choice)
    })
}
