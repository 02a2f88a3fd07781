//! One preparation of a thread's folder, from the turn at the lock to the last
//! word about it.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Instant, UNIX_EPOCH},
};

use butler_journal::ThreadDir;
use butler_protocol::{Idem, Sha256Hex, ThreadId};
use butler_sandbox::Network;
use butler_tools::Preparing;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{
    Place, Warning, base, consent,
    folder::{Folder, Outcome},
    marker::{Marker, State, keep},
};
use crate::{
    Agent, AgentError,
    tell::thread_logs::{self, RoleLog},
};

/// Heavy builds of one clone at the same time, over all its processes.
pub(crate) const HEAVY: usize = 2;

/// What failed for a reason that nobody here sees, as a registry that is away, is
/// tried again after this long.
const PAUSE_MS: i64 = 10 * 60 * 1000;

/// A folder to prepare.
pub(crate) struct Job {
    pub agent: Arc<Agent>,
    pub thread: ThreadId,
    pub folder: PathBuf,
    pub place: Place,
    pub cancel: CancellationToken,
}

/// Where the marker of a folder is.
pub(crate) fn marker_path(threads: &Path, thread: &ThreadId, place: Place) -> PathBuf {
    let name = format!("prepared-{}.json", place.as_str());
    ThreadDir::new(threads, thread).root().join(name)
}

impl Job {
    /// Prepares the folder unless that is done. The warning is for the commands
    /// that wait.
    pub(crate) async fn work(&self) -> Result<Warning, AgentError> {
        let agent = &self.agent;
        let name = format!("prepare-{}-{}", self.place.as_str(), self.thread.short());
        let _turn = agent.repo.turn(&name, &self.cancel).await?;
        consent::tell(agent, &self.thread).await;
        let rules = agent.rules();
        let commands = &rules.prepare;
        let folder = Folder::of(agent, &self.folder, commands, &self.cancel).await?;
        let Some(folder) = folder else {
            return Ok(None);
        };
        let path = self.marker_path();
        let mut marker = Marker::of(&path, self.key(folder.needs()));
        let logs = thread_logs::of_thread(agent, &self.thread).await?;
        match &marker.state {
            State::Done => return Ok(None),
            State::Failed(why) if !self.worth_another_try(&marker, &logs) => {
                return Ok(Some(why.clone()));
            }
            State::Failed(_) | State::Running => {}
        }
        let _heavy = agent
            .repo
            .one_of("prepare-heavy", HEAVY, &self.cancel)
            .await?;
        marker.at_ms = agent.now_ms();
        marker.tried = Some((agent.role(), agent.group.epoch.0));
        match folder.begin().await? {
            Outcome::Ready => {}
            Outcome::Failed { command, end } => {
                return self.failed(marker, &command, Network::Host, &end).await;
            }
            Outcome::Stopped => return Ok(Some(STOPPED.to_owned())),
        }
        if !commands.is_empty() && !self.reuse(&folder, &logs).await? {
            let network = network(&folder, &logs);
            if let Some(warning) = self.run(&folder, &mut marker, network).await? {
                return Ok(Some(warning));
            }
        }
        info!(folder = %self.folder.display(), "prepared");
        // Last: a kill before this line costs another run, never a wait for one.
        marker.state = State::Done;
        keep(&path, &marker)?;
        Ok(None)
    }

    /// What is there already needs no network, so it serves every thread. When text
    /// from outside may have had a hand in this one's files, the default branch's
    /// are prepared in their own place first, where the network is open.
    async fn reuse(&self, folder: &Folder<'_>, logs: &[RoleLog]) -> Result<bool, AgentError> {
        if folder.reuse(Some(&self.thread)).await? {
            return Ok(true);
        }
        if network(folder, logs) == Network::Host {
            return Ok(false);
        }
        let repo = &self.agent.repo;
        let Some(default) = repo.resolve(&repo.default_ref()).await? else {
            return Ok(false);
        };
        match base::lay_out(&self.agent, &default, &self.cancel).await {
            Ok(trial) => drop(trial),
            Err(error) => warn!(%error, "the default branch could not be prepared"),
        }
        folder.reuse(None).await
    }

    /// Runs the commands; a warning when one failed.
    async fn run(
        &self,
        folder: &Folder<'_>,
        marker: &mut Marker,
        network: Network,
    ) -> Result<Warning, AgentError> {
        let rules = self.agent.rules();
        let commands = &rules.prepare;
        let path = self.marker_path();
        let begun = Instant::now();
        let before = folder.untracked().await?;
        let place = self.place.as_str();
        for (at, command) in commands.iter().enumerate() {
            let number = format!("{} of {}", at + 1, commands.len());
            let text = format!("Preparing the {place}: `{command}` ({number})…");
            self.tell(marker, &text).await;
            marker.state = State::Running;
            keep(&path, marker)?;
            match folder.run(command, network).await {
                Some(end) if end.ok => {}
                Some(end) => {
                    folder.end(&before, None, false).await?;
                    return self.failed(marker.clone(), command, network, &end).await;
                }
                None => return Ok(Some(STOPPED.to_owned())),
            }
        }
        folder.end(&before, Some(&self.thread), true).await?;
        let commands: Vec<String> = commands.iter().map(|one| format!("`{one}`")).collect();
        let (commands, seconds) = (commands.join(", "), begun.elapsed().as_secs());
        let text = format!("The {place} is prepared: {commands} in {seconds} s.");
        self.tell(marker, &text).await;
        Ok(None)
    }

    /// A failure is tried again when somebody speaks, by a new life of the role that
    /// met it, and after a while. Other commands, manifests and programs are another
    /// key.
    fn worth_another_try(&self, marker: &Marker, logs: &[RoleLog]) -> bool {
        let spoke = logs.iter().filter_map(|one| one.fold.seen.person_spoke_ms);
        let restarted = marker.tried.is_none_or(|(role, epoch)| {
            role == self.agent.role() && epoch != self.agent.group.epoch.0
        });
        spoke.max().is_some_and(|at| at > marker.at_ms)
            || restarted
            || self.agent.now_ms() - marker.at_ms > PAUSE_MS
    }

    async fn failed(
        &self,
        mut marker: Marker,
        command: &str,
        network: Network,
        end: &Preparing,
    ) -> Result<Warning, AgentError> {
        let place = self.place.as_str();
        let mut why = format!(
            "the {place}'s preparation failed: `{command}`, {}",
            end.verdict
        );
        if network == Network::Loopback {
            why.push_str(
                "; it had no network, because this thread has read text from outside and changed what is installed",
            );
        }
        let told = marker.state != State::Failed(why.clone());
        marker.state = State::Failed(why.clone());
        keep(&self.marker_path(), &marker)?;
        if told || marker.message.is_none() {
            self.tell(&mut marker, &self.failure(&why, end)).await;
            // Kept once more with the message that was just posted, for the next attempt.
            keep(&self.marker_path(), &marker)?;
        }
        Ok(Some(why))
    }

    /// What is said of a failure: one line of what the command wrote, and where the
    /// rest is.
    fn failure(&self, why: &str, end: &Preparing) -> String {
        let name = format!("prepare-{}.log", self.place.as_str());
        let log = ThreadDir::new(&self.agent.threads(), &self.thread)
            .root()
            .join(&name);
        let mut text = format!("{}.", capital(why));
        let last = self.agent.clean(&end.last_line());
        if !last.is_empty() {
            text.push_str(&format!(" Its last words: `{}`.", last.replace('`', "'")));
            let output = self.agent.clean(&end.output);
            match butler_journal::write_whole(&log, output.as_bytes()) {
                Ok(()) => text.push_str(&format!(
                    " The rest is in `.codebutler/threads/{}/{name}`.",
                    log.parent()
                        .and_then(Path::file_name)
                        .unwrap_or_default()
                        .to_string_lossy()
                )),
                Err(error) => warn!(%error, "what the preparation wrote was not kept"),
            }
        }
        text.push_str(
            " The work goes on without it. It is tried again when somebody writes here, when the \
             command, a manifest or the installed tools change, and after a restart.",
        );
        text
    }

    fn marker_path(&self) -> PathBuf {
        marker_path(&self.agent.threads(), &self.thread, self.place)
    }

    /// This making of the folder (its `.git` file is written when a worktree is
    /// added), and what it needs.
    fn key(&self, needs: &Sha256Hex) -> Sha256Hex {
        let made = fs::metadata(self.folder.join(".git")).and_then(|meta| meta.modified());
        let made = made.ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        Sha256Hex::of(format!("{needs} {} {made:?}", self.folder.display()))
    }

    /// One message, edited; whoever continues a preparation takes it over. Nothing
    /// depends on it.
    async fn tell(&self, marker: &mut Marker, text: &str) {
        let poster = &self.agent.poster;
        if let Some(message) = &marker.message
            && poster.edit(&self.thread, message, text).await.is_ok()
        {
            return;
        }
        let idem = Idem::new(format!(
            "{}-{}-prepare-{}",
            self.thread.short(),
            poster.role,
            marker.key.as_str().get(..12).unwrap_or_default()
        ));
        match poster.say(&self.thread, idem, text).await {
            Ok(posted) => {
                let again = marker.message.as_ref() == Some(&posted.ts);
                marker.message = Some(posted.ts.clone());
                // The key was used before a kill: the message is there, with older words.
                if !again && poster.edit(&self.thread, &posted.ts, text).await.is_err() {
                    warn!("the message about the preparation keeps its old words");
                }
            }
            Err(error) => warn!(%error, "the thread could not be told of its preparation"),
        }
    }
}

const STOPPED: &str = "the worktree's preparation was stopped";

/// Open for what the default branch holds, and for what this thread made of it
/// unless text from outside may have had a hand in it (docs/decisions/0020).
fn network(folder: &Folder<'_>, logs: &[RoleLog]) -> Network {
    let tainted = logs.iter().any(|one| one.fold.outside.taint.is_some());
    if tainted && !folder.as_default() {
        Network::Loopback
    } else {
        Network::Host
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    format!("{}{}", first.unwrap_or_default(), letters.as_str())
}
