//! One preparation, from the turn at the lock to the last word about it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use butler_jail::Network;
use butler_journal::ThreadDir;
use butler_toolbox::{Preparing, Workplace, prepare};
use butler_vocab::{Idem, ThreadId, fault};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{
    Place, Warning, consent,
    marker::{Marker, State, key},
};
use crate::{TeamError, bench, office::Office, standing};

/// Heavy builds of one clone at the same time, over all its processes.
const HEAVY: usize = 2;

/// After so many failures on the same manifests nobody waits for it again.
const MOST_FAILURES: u32 = 3;

/// What package managers fill, where a repo forgot to ignore it: it must never
/// become part of a change.
const INSTALLED: &[&str] = &["node_modules", ".venv", "venv", "Pods", ".bundle"];

/// A folder to prepare.
pub struct Job {
    pub office: Arc<Office>,
    pub thread: ThreadId,
    pub folder: PathBuf,
    pub place: Place,
    pub cancel: CancellationToken,
}

/// Where the marker of a folder is.
pub fn marker_path(threads: &Path, thread: &ThreadId, place: Place) -> PathBuf {
    let name = format!("prepared-{}.json", place.as_str());
    ThreadDir::new(threads, thread).root().join(name)
}

impl Job {
    /// Prepares the folder unless that is done. The warning is for the commands
    /// that wait.
    pub async fn work(&self) -> Result<Warning, TeamError> {
        let repo = &self.office.repo;
        let name = format!("prepare-{}-{}", self.place.as_str(), self.thread.short());
        let _turn = repo.turn(&name, &self.cancel).await?;
        consent::tell(&self.office, &self.thread).await;
        let commands = &self.office.config.prepare;
        if commands.is_empty() {
            return Ok(None);
        }
        let path = marker_path(&self.office.threads(), &self.thread, self.place);
        let mut marker = Marker::of(&path, key(commands, &self.folder));
        match &marker.state {
            State::Done => return Ok(None),
            State::Failed(why) if marker.failures >= MOST_FAILURES => return Ok(Some(why.clone())),
            State::Failed(_) | State::Running => {}
        }
        let _heavy = repo.one_of("prepare-heavy", HEAVY, &self.cancel).await?;
        let begun = Instant::now();
        let network = self.network().await;
        for (at, command) in commands.iter().enumerate() {
            let text = format!(
                "Preparing the {}: `{command}` ({} of {})…",
                self.place.as_str(),
                at + 1,
                commands.len()
            );
            self.tell(&mut marker, &text).await;
            marker.state = State::Running;
            keep(&path, &marker)?;
            match self.one(command, network).await? {
                Some(end) if end.ok => {}
                Some(end) => return self.failed(&path, marker, command, network, &end).await,
                None => return Ok(Some("the worktree's preparation was stopped".to_owned())),
            }
        }
        self.leave_out().await;
        let text = format!(
            "The {} is prepared: {} in {} s.",
            self.place.as_str(),
            commands
                .iter()
                .map(|command| format!("`{command}`"))
                .collect::<Vec<_>>()
                .join(", "),
            begun.elapsed().as_secs()
        );
        info!(folder = %self.folder.display(), "prepared");
        self.tell(&mut marker, &text).await;
        // Last: a kill before this line costs another run, never a wait for one.
        marker.state = State::Done;
        keep(&path, &marker)?;
        Ok(None)
    }

    async fn one(&self, command: &str, network: Network) -> Result<Option<Preparing>, TeamError> {
        let place = Workplace::open(&self.folder, Vec::new(), bench::surroundings(&self.office))?;
        Ok(prepare(&place, &self.office.jail, command, network, &self.cancel).await)
    }

    async fn failed(
        &self,
        path: &Path,
        mut marker: Marker,
        command: &str,
        network: Network,
        end: &Preparing,
    ) -> Result<Warning, TeamError> {
        let place = self.place.as_str();
        let mut why = format!(
            "the {place}'s preparation failed: `{command}`, {}",
            end.verdict
        );
        if network == Network::Loopback {
            why.push_str(
                "; it had no network, because this thread has read text from outside and changed files",
            );
        }
        marker.failures += 1;
        marker.state = State::Failed(why.clone());
        keep(path, &marker)?;
        let mut text = format!("{}. The work goes on without it.", capital(&why));
        if !end.tail.is_empty() {
            // A fence inside the output would end ours.
            text.push_str(&format!("\n```\n{}\n```", end.tail.replace("```", "'''")));
        }
        self.tell(&mut marker, &text).await;
        // Kept once more with the message that was just posted, for the next attempt.
        keep(path, &marker)?;
        Ok(Some(why))
    }

    /// Open for what the default branch holds, and for what this thread made of it
    /// unless text from outside may have had a hand in it (docs/decisions/0012).
    async fn network(&self) -> Network {
        let tainted = standing::of_thread(&self.office.threads(), &self.thread)
            .iter()
            .any(|standing| standing.facts.taint.is_some());
        if tainted && !self.as_on_default().await.unwrap_or(false) {
            Network::Loopback
        } else {
            Network::Host
        }
    }

    /// Whether the folder holds nothing that the default branch does not.
    async fn as_on_default(&self) -> Result<bool, TeamError> {
        let repo = &self.office.repo;
        let git = repo.git().elsewhere(&self.folder);
        let default = repo.default_ref();
        let inside = git
            .call(["merge-base", "--is-ancestor", "HEAD", &default])
            .accept(&[0, 1])
            .run(&self.cancel)
            .await?;
        let changes = git
            .call(["status", "--porcelain"])
            .run(&self.cancel)
            .await?;
        Ok(inside.code == 0 && changes.text().is_empty())
    }

    async fn leave_out(&self) {
        let there: Vec<String> = INSTALLED
            .iter()
            .filter(|name| self.folder.join(name).is_dir())
            .map(|name| format!("/{name}/"))
            .collect();
        if there.is_empty() {
            return;
        }
        if let Err(error) = self.office.repo.leave_out(&there, &self.cancel).await {
            warn!(%error, "what was installed may show up as changes");
        }
    }

    /// One message, edited; whoever continues a preparation takes it over. Nothing
    /// depends on it.
    async fn tell(&self, marker: &mut Marker, text: &str) {
        let line = &self.office.line;
        if let Some(message) = &marker.message
            && line.edit(&self.thread, message, text).await.is_ok()
        {
            return;
        }
        let idem = Idem::new(format!(
            "{}-{}-prepare-{}",
            self.thread.short(),
            line.role,
            marker.key.as_str().get(..12).unwrap_or_default()
        ));
        match line.say(&self.thread, idem, text, Vec::new()).await {
            Ok(posted) => {
                let again = marker.message.as_ref() == Some(&posted.ts);
                marker.message = Some(posted.ts.clone());
                // The key was used before a kill: the message is there, with older words.
                if !again && line.edit(&self.thread, &posted.ts, text).await.is_err() {
                    warn!("the message about the preparation keeps its old words");
                }
            }
            Err(error) => warn!(%error, "the thread could not be told of its preparation"),
        }
    }
}

fn keep(path: &Path, marker: &Marker) -> Result<(), TeamError> {
    let bytes = serde_json::to_vec(marker).unwrap_or_default();
    fault("team.before-prepared");
    butler_journal::write_whole(path, &bytes)?;
    fault("team.after-prepared");
    Ok(())
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    format!("{}{}", first.unwrap_or_default(), letters.as_str())
}
