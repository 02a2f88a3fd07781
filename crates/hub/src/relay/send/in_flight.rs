//! Posts that are under way. Slack tells us of a post before it has answered it:
//! such an echo waits until the post has landed, and is then known.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use butler_protocol::ChannelId;
use tokio::sync::OwnedMutexGuard;

use crate::log::AgentKey;

type Key = (AgentKey, String);

/// Between two looks at what is in the air.
const GLANCE: Duration = Duration::from_millis(20);

/// Who is in the air.
#[derive(Default)]
pub(crate) struct InFlight {
    channels: Arc<Mutex<HashMap<ChannelId, usize>>>,
    keys: Mutex<HashMap<Key, Arc<tokio::sync::Mutex<()>>>>,
}

/// A post under way; it has landed when this is dropped.
pub(crate) struct Flight {
    channel: ChannelId,
    channels: Arc<Mutex<HashMap<ChannelId, usize>>>,
}

impl InFlight {
    /// A post to a channel begins.
    pub(crate) fn begin(&self, channel: &ChannelId) -> Flight {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        *channels.entry(channel.clone()).or_default() += 1;
        Flight {
            channel: channel.clone(),
            channels: Arc::clone(&self.channels),
        }
    }

    /// Whether a post to the channel is under way.
    pub(crate) fn any(&self, channel: &ChannelId) -> bool {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        channels.get(channel).is_some_and(|count| *count > 0)
    }

    /// Returns when nothing is under way to the channel, or after this long.
    pub(crate) async fn landed(&self, channel: &ChannelId, longest: Duration) {
        let waiting = async {
            while self.any(channel) {
                tokio::time::sleep(GLANCE).await;
            }
        };
        // What has not landed by then may never; the caller goes on without it.
        let _ = tokio::time::timeout(longest, waiting).await;
    }

    /// One at a time per key: who asks again while the first is under way waits
    /// for it and finds its answer.
    pub(crate) async fn alone(&self, agent: AgentKey, idem: &str) -> OwnedMutexGuard<()> {
        let lock = {
            let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
            keys.retain(|_, lock| Arc::strong_count(lock) > 1);
            Arc::clone(keys.entry((agent, idem.to_owned())).or_default())
        };
        lock.lock_owned().await
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = channels.get_mut(&self.channel) {
            *count -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::relay::send::in_flight::*;

    #[tokio::test]
    async fn a_channel_is_free_when_all_have_landed_and_a_key_has_one_pilot() {
        let flights = InFlight::default();
        let channel = ChannelId::new("C1");
        let (one, two) = (flights.begin(&channel), flights.begin(&channel));
        drop(one);
        assert!(flights.any(&channel) && !flights.any(&ChannelId::new("C2")));
        drop(two);
        assert!(!flights.any(&channel));

        let first = flights.alone(1, "k").await;
        let _other = flights.alone(1, "other").await;
        let second = flights.alone(1, "k");
        tokio::pin!(second);
        tokio::select! {
            biased;
            _ = &mut second => panic!("two at once"),
            () = tokio::task::yield_now() => {}
        }
        drop(first);
        second.await;
    }
}
