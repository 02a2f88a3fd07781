//! The rules that hold now. Before an activation begins the default branch is
//! fetched and read; what it says holds from then on. Rules that cannot be used
//! leave the last ones in force: a team without its rules is worse than one with
//! yesterday's.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::{Duration, Instant},
};

use butler_repo::Repo;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{ReadRules, Rules};

/// How long a remote is waited for before work begins that a person asked for.
pub(crate) const FOR_A_PERSON: Duration = Duration::from_secs(5);
/// The same between roles: the last word of a person was fetched for, and a stop
/// must not find the next role waiting.
pub(crate) const BETWEEN_ROLES: Duration = Duration::from_secs(1);
/// A remote that did not answer is left alone for so long.
const AWAY: Duration = Duration::from_secs(60);

/// The rules, and how to read them again.
pub struct RulesInForce {
    now: RwLock<Arc<Rules>>,
    read: ReadRules,
    /// Held while somebody looks: whoever asks meanwhile shares the next look.
    look: tokio::sync::Mutex<Look>,
    /// What people should know, and whether it was given out.
    remarks: Mutex<BTreeMap<String, bool>>,
}

#[derive(Default)]
struct Look {
    began: Option<Instant>,
    away_until: Option<Instant>,
}

impl RulesInForce {
    /// These hold until others are read.
    pub fn new(rules: Rules, read: ReadRules) -> Self {
        Self {
            now: RwLock::new(Arc::new(rules)),
            read,
            look: tokio::sync::Mutex::default(),
            remarks: Mutex::default(),
        }
    }

    /// What holds now.
    pub fn now(&self) -> Arc<Rules> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes up what the default branch says now. Threads that wake together share
    /// a look; each gets one that began after it asked.
    pub async fn renew(&self, repo: &Repo, patience: Duration) {
        let asked = Instant::now();
        let mut look = self.look.lock().await;
        if look.began.is_some_and(|began| began >= asked) {
            return;
        }
        look.began = Some(Instant::now());
        look.fetch(repo, patience).await;
        match repo.resolve(&repo.default_ref()).await {
            Ok(commit) => self.take_up((self.read)(commit).await),
            Err(error) => warn!(%error, "the default branch could not be read"),
        }
    }

    fn take_up(&self, read: Result<Option<Rules>, String>) {
        match read {
            Ok(None) => {}
            Ok(Some(rules)) => {
                info!("the rules of the default branch were read again");
                *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
            }
            Err(trouble) => {
                warn!(trouble, "the rules of the default branch cannot be used");
                self.remark(format!(
                    "The settings on the default branch cannot be used, so I go on with the last ones.\n\n{trouble}"
                ));
            }
        }
        for remark in &self.now().remarks {
            self.remark(remark.clone());
        }
    }

    fn remark(&self, text: String) {
        let mut remarks = self.remarks.lock().unwrap_or_else(PoisonError::into_inner);
        remarks.entry(text).or_insert(false);
    }

    /// What people should know about the rules and were not told by this process.
    pub fn untold(&self) -> Vec<String> {
        let mut remarks = self.remarks.lock().unwrap_or_else(PoisonError::into_inner);
        let untold = remarks.iter_mut().filter(|(_, told)| !**told);
        untold
            .map(|(text, told)| {
                *told = true;
                text.clone()
            })
            .collect()
    }
}

impl Look {
    /// Brings what was pushed, if the remote answers in time.
    async fn fetch(&mut self, repo: &Repo, patience: Duration) {
        if self.away_until.is_some_and(|until| Instant::now() < until) {
            return;
        }
        self.away_until = None;
        let cancel = CancellationToken::new();
        let mut fetching = std::pin::pin!(repo.fetch(&cancel));
        let fetched = tokio::select! {
            fetched = &mut fetching => fetched,
            () = tokio::time::sleep(patience) => {
                // Git is given the moment it needs to leave nothing half done.
                cancel.cancel();
                fetching.await
            }
        };
        if let Err(error) = fetched {
            warn!(%error, "the remote did not say what is new on the default branch");
            self.away_until = Some(Instant::now() + AWAY);
        }
    }
}
