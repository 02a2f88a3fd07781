//! Connections of agents, by agent. What concerns an agent wakes its own connections and no
//! others: with 1,200 of them open, each message would otherwise wake 1,200 tasks for the
//! six that get it.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::{
    broadcast::{self, error::RecvError},
    mpsc::{self, error::TrySendError},
};
use tokio_util::sync::CancellationToken;

use crate::log::notice::{AgentKey, Notice};

/// Notices that wait for a connection; who falls further behind looks into the store.
const WAITING: usize = 1_024;

/// Who listens.
#[derive(Default)]
pub(crate) struct Listeners(Mutex<HashMap<AgentKey, Vec<Ear>>>);

struct Ear {
    news: mpsc::Sender<Arc<Notice>>,
    missed: Arc<AtomicBool>,
}

impl Ear {
    /// Whether the connection is still there.
    fn hears(&self, notice: &Arc<Notice>) -> bool {
        match self.news.try_send(Arc::clone(notice)) {
            Ok(()) => true,
            Err(TrySendError::Closed(_)) => false,
            Err(TrySendError::Full(_)) => {
                self.missed.store(true, Ordering::Release);
                true
            }
        }
    }
}

/// One connection's end.
pub(crate) struct Listener {
    news: mpsc::Receiver<Arc<Notice>>,
    missed: Arc<AtomicBool>,
}

impl Listener {
    /// The next notice for this agent, or that some were too many.
    pub(crate) async fn recv(&mut self) -> Result<Arc<Notice>, RecvError> {
        // Set only while there is something to receive, so nobody sleeps on it.
        if self.missed.swap(false, Ordering::AcqRel) {
            return Err(RecvError::Lagged(1));
        }
        self.news.recv().await.ok_or(RecvError::Closed)
    }
}

impl Listeners {
    /// Listens for an agent from now on, until it is dropped.
    pub(crate) fn join(&self, agent: AgentKey) -> Listener {
        let (news, receiver) = mpsc::channel(WAITING);
        let missed = Arc::<AtomicBool>::default();
        let ear = Ear {
            news,
            missed: Arc::clone(&missed),
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(agent).or_default().push(ear);
        Listener {
            news: receiver,
            missed,
        }
    }

    fn tell(&self, notice: &Arc<Notice>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let one = |all: &mut HashMap<AgentKey, Vec<Ear>>, agent: AgentKey| {
            if let Some(ears) = all.get_mut(&agent) {
                ears.retain(|ear| ear.hears(notice));
            }
        };
        match &**notice {
            Notice::Event(event) => event.targets.iter().for_each(|agent| one(&mut all, *agent)),
            Notice::Epoch { agent, .. } | Notice::Freed { agent } | Notice::Shared { agent } => {
                one(&mut all, *agent);
            }
            Notice::Missed | Notice::Shake(_) => all.retain(|_, ears| {
                ears.retain(|ear| ear.hears(notice));
                !ears.is_empty()
            }),
            Notice::Page { .. }
            | Notice::Presence
            | Notice::Whisper { .. }
            | Notice::SessionEnded(_)
            | Notice::SlackCall => {}
        }
    }
}

/// Passes on what is said in the hub to whom it concerns.
pub(crate) async fn keep_telling(
    listeners: Arc<Listeners>,
    mut news: broadcast::Receiver<Arc<Notice>>,
    cancel: CancellationToken,
) {
    loop {
        let heard = tokio::select! {
            () = cancel.cancelled() => return,
            heard = news.recv() => heard,
        };
        match heard {
            Ok(notice) => listeners.tell(&notice),
            Err(RecvError::Lagged(_)) => listeners.tell(&Arc::new(Notice::Missed)),
            Err(RecvError::Closed) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use butler_protocol::Epoch;

    use super::*;

    fn about(agent: AgentKey) -> Arc<Notice> {
        let epoch = Epoch(1);
        Arc::new(Notice::Epoch {
            agent,
            epoch,
            process: None,
        })
    }

    #[tokio::test]
    async fn an_agent_hears_what_concerns_it_on_each_of_its_connections() {
        let listeners = Listeners::default();
        let (mut one, mut again, mut other) =
            (listeners.join(1), listeners.join(1), listeners.join(2));
        listeners.tell(&about(1));
        listeners.tell(&Arc::new(Notice::Presence));
        listeners.tell(&Arc::new(Notice::Missed));
        for listener in [&mut one, &mut again] {
            assert!(matches!(
                &*listener.recv().await.unwrap(),
                Notice::Epoch { .. }
            ));
        }
        for listener in [&mut one, &mut again, &mut other] {
            assert!(matches!(&*listener.recv().await.unwrap(), Notice::Missed));
        }
        // Whoever left is forgotten.
        drop((one, again, other));
        listeners.tell(&Arc::new(Notice::Missed));
        assert!(listeners.0.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn whoever_is_too_slow_is_told_and_holds_up_nobody() {
        let listeners = Listeners::default();
        let (mut slow, mut quick) = (listeners.join(1), listeners.join(2));
        for _ in 0..WAITING + 5 {
            listeners.tell(&about(1));
        }
        listeners.tell(&about(2));
        quick.recv().await.unwrap();
        assert_eq!(slow.recv().await.unwrap_err(), RecvError::Lagged(1));
        slow.recv().await.unwrap();
    }
}
