//! Several hubs on one store. Each says that it is up and who is connected to it, hears
//! what the others have written, and one of them is the owner: it alone holds Slack's
//! socket, posts what is due and tells people who is absent. An owner that falls silent is
//! followed by another within seconds; it stops by itself before that, by its own watch,
//! because it cannot know whether the store still hears it.
//!
//! A hub with a file is always the owner.

use std::{
    collections::HashSet,
    future::poll_fn,
    pin::pin,
    sync::Arc,
    task::Poll,
    time::{Duration, SystemTime},
};

use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};
use tokio_util::task::AbortOnDropHandle;
use tracing::{info, warn};

use crate::{
    error::{Result, Trouble},
    hub::{App, cut_off},
    log::AgentKey,
    presence,
    store::{
        Db, Store, Tx,
        postgres::Address,
        shared::{self, LEASE_SECONDS},
    },
};

const BEAT: Duration = Duration::from_millis(1_000);
/// Between two beats that find no answer.
const SOON: Duration = Duration::from_millis(100);
/// From the beginning of the last beat that worked: shorter than the lease, so that the
/// old owner has stopped when the next one may begin.
const SURE: Duration = Duration::from_millis(LEASE_SECONDS.unsigned_abs() * 750);
/// A bell may be lost with its connection; nothing waits longer than this.
const LOOK: Duration = Duration::from_secs(2);
const AGAIN: Duration = Duration::from_millis(500);

/// In whose name the owner writes, and since when it was sure to be the owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Owner {
    /// The lease's number; each new owner has a higher one.
    number: i64,
    /// The beginning of the last beat that worked, by both clocks; nothing where the
    /// store has one hub.
    since: Option<(Instant, SystemTime)>,
}

impl Owner {
    /// A machine that slept knows it by the wall's clock only, and a clock that was set
    /// back only by the other.
    fn is_sure(&self, now: Instant, wall: SystemTime) -> bool {
        self.since.is_none_or(|(since, began)| {
            let slept = wall.duration_since(began).unwrap_or_default();
            now.saturating_duration_since(since) < SURE && slept < SURE
        })
    }
}

/// Whether this hub is the owner, and by which number.
#[derive(Debug, Clone)]
pub(crate) struct Ownership(Arc<watch::Sender<Option<Owner>>>);

impl Ownership {
    /// An owner from the beginning, or one that has to ask.
    pub(crate) fn new(alone: bool) -> Self {
        let owner = alone.then_some(Owner {
            number: 0,
            since: None,
        });
        Self(Arc::new(watch::Sender::new(owner)))
    }

    pub(crate) fn is_owner(&self) -> bool {
        self.number().is_some()
    }

    /// The owner's number; nothing where another hub may be the owner by now.
    pub(crate) fn number(&self) -> Option<i64> {
        let owner = (*self.0.borrow())?;
        let sure = owner.is_sure(Instant::now(), SystemTime::now());
        sure.then_some(owner.number)
    }

    /// How long this hub can be sure to be the owner without another beat.
    fn sure_for(&self) -> Duration {
        let since = (*self.0.borrow()).and_then(|owner| owner.since);
        since.map_or(BEAT, |(since, _)| SURE.saturating_sub(since.elapsed()))
    }

    /// Stops being the owner where that is not sure any more.
    fn doubt(&self) {
        if !self.is_owner() {
            self.set(None);
        }
    }

    fn set(&self, owner: Option<Owner>) {
        let number = |owner: &Option<Owner>| owner.map(|owner| owner.number);
        let mut changed = false;
        self.0.send_if_modified(|was| {
            changed = number(was) != number(&owner);
            let moved = *was != owner;
            *was = owner;
            moved
        });
        match (changed, number(&owner)) {
            (true, Some(number)) => info!(number, "this hub is the owner now"),
            (true, None) => warn!("this hub is not the owner any more"),
            (false, _) => {}
        }
    }

    /// Does something while this hub is the owner, from the beginning each time; what is
    /// under way when it ends is dropped, as in a crash. Returns with the work itself.
    pub(crate) async fn only_owner<F: Future<Output = ()>>(&self, app: &App, work: impl Fn() -> F) {
        let mut owner = self.0.subscribe();
        loop {
            let number = tokio::select! {
                () = app.cancel.cancelled() => return,
                became = owner.wait_for(Option::is_some) => match became {
                    Ok(owner) => owner.map(|owner| owner.number),
                    Err(_) => return,
                },
            };
            let other = |owner: &Option<Owner>| owner.map(|owner| owner.number) != number;
            tokio::select! {
                () = work() => return,
                lost = owner.wait_for(other) => if lost.is_err() { return },
            }
        }
    }

    /// Does something only while this hub is sure to be the owner, which is looked at
    /// before each step: who was stopped for a while does not go on with it.
    pub(crate) async fn while_sure<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        poll_fn(|context| match self.is_owner() {
            true => work.as_mut().poll(context).map(Some),
            false => Poll::Ready(None),
        })
        .await
    }
}

/// The store as the owner uses it: what is written in the name of one that is the owner
/// no more is refused.
#[derive(Clone, Copy)]
pub(crate) struct OwnersStore<'a> {
    store: &'a Store,
    number: Option<i64>,
}

impl<'a> OwnersStore<'a> {
    pub(crate) fn new(store: &'a Store, ownership: &Ownership) -> Self {
        let number = ownership.number();
        Self { store, number }
    }

    /// As [`Store::write`]; whether the number still counts is seen in the transaction.
    pub(crate) async fn write<T, F>(self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Tx<'_>) -> Result<T> + Send + 'static,
    {
        let number = self.number.ok_or(Trouble::NotOwner)?;
        let hub = self.store.hub();
        let owned = move |tx: &mut Tx<'_>| {
            shared::check_owner(tx.db(), &hub, number)?;
            work(tx)
        };
        self.store.write(owned).await
    }

    /// As [`Store::read`].
    pub(crate) async fn read<T, F>(self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Db) -> Result<T> + Send + 'static,
    {
        self.store.read(work).await
    }
}

/// One beat: says that this hub is up and who is connected to it, and learns whether it
/// is the owner, and who is connected elsewhere.
async fn beat(
    store: &Store,
    ownership: &Ownership,
    here: Vec<AgentKey>,
) -> Option<HashSet<AgentKey>> {
    let begun = (Instant::now(), SystemTime::now());
    let hub = store.hub();
    let beating = store.write(move |tx| shared::beat(tx.db(), &hub, &here));
    let elsewhere = match timeout(ownership.sure_for().max(BEAT), beating).await {
        Ok(Ok(beat)) => {
            let since = Some(begun);
            ownership.set(beat.owner.map(|number| Owner { number, since }));
            Some(beat.elsewhere)
        }
        Ok(Err(error)) => {
            warn!(%error, "the other hubs cannot be told that this one is up");
            None
        }
        Err(_) => None,
    };
    // Also an answer that took too long says nothing about now.
    ownership.doubt();
    elsewhere
}

async fn until_next_beat(ownership: &Ownership) {
    sleep(ownership.sure_for().clamp(SOON, BEAT)).await;
    ownership.doubt();
}

/// A hub that starts beats as well, because it may be the owner before it listens.
pub(crate) struct Starting(#[expect(dead_code, reason = "ends with it")] AbortOnDropHandle<()>);

impl Starting {
    /// Returns after the first beat.
    pub(crate) async fn begin(store: Store, ownership: Ownership) -> Self {
        beat(&store, &ownership, Vec::new()).await;
        Self(AbortOnDropHandle::new(tokio::spawn(async move {
            loop {
                until_next_beat(&ownership).await;
                beat(&store, &ownership, Vec::new()).await;
            }
        })))
    }
}

/// Says again and again that this hub is up, and becomes the owner or stops being it.
pub(crate) async fn keep_beating(app: Arc<App>) {
    let mut worked = Instant::now();
    loop {
        let here = app.presence.here();
        if let Some(elsewhere) = beat(&app.store, &app.ownership, here).await {
            presence::is_elsewhere(&app, elsewhere);
            worked = Instant::now();
        }
        cut_off::beaten(&app, worked.elapsed());
        tokio::select! {
            () = app.cancel.cancelled() => break,
            () = until_next_beat(&app.ownership) => {}
        }
    }
    app.ownership.set(None);
    leave(&app.store).await;
}

/// Another hub need not wait for this one to fall silent.
pub(crate) async fn leave(store: &Store) {
    let hub = store.hub();
    let left = store.write(move |tx| shared::leave(tx.db(), &hub));
    if let Ok(Err(error)) = timeout(LOOK, left).await {
        warn!(%error, "the other hubs will notice by themselves that this one stopped");
    }
}

/// Passes on to this hub's listeners what other hubs write.
pub(crate) async fn keep_hearing(app: Arc<App>, address: Address) {
    while !app.cancel.is_cancelled() {
        let address = address.clone();
        let opened = tokio::task::spawn_blocking(move || address.listen());
        let (_bell, mut rings) = match opened.await {
            Ok(Ok(open)) => open,
            Ok(Err(error)) => {
                warn!(%error, "the other hubs cannot be heard");
                sleep(AGAIN).await;
                continue;
            }
            Err(_) => return,
        };
        loop {
            if let Err(error) = app.store.hear().await {
                warn!(%error, "what other hubs said cannot be read");
            }
            tokio::select! {
                () = app.cancel.cancelled() => return,
                rang = rings.recv() => if rang.is_none() { break },
                () = sleep(LOOK) => {}
            }
        }
        sleep(AGAIN).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_slept_or_had_its_clock_set_back_is_not_sure_to_be_the_owner() {
        let (now, wall) = (Instant::now(), SystemTime::now());
        let owner = Owner {
            number: 3,
            since: Some((now, wall)),
        };
        let second = Duration::from_secs(1);
        assert!(owner.is_sure(now + second, wall + second));
        // Stopped; asleep, which only the wall knows; and set back, which it does not.
        assert!(!owner.is_sure(now + SURE, wall + SURE));
        assert!(!owner.is_sure(now + second, wall + SURE));
        assert!(owner.is_sure(now + second, wall - 60 * second));
        assert!(!owner.is_sure(now + SURE, wall - 60 * second));
        // One hub on a file has nobody to fear.
        let alone = Owner {
            number: 0,
            since: None,
        };
        assert!(alone.is_sure(now + 60 * SURE, wall));
    }

    #[tokio::test]
    async fn what_was_begun_as_the_owner_goes_no_step_further_afterwards() {
        let ownership = Ownership::new(true);
        let steps = std::sync::atomic::AtomicU32::new(0);
        let work = async {
            loop {
                let step = steps.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                if step == 2 {
                    ownership.set(None);
                }
                tokio::task::yield_now().await;
            }
        };
        assert_eq!(ownership.while_sure::<()>(work).await, None);
        assert_eq!(steps.into_inner(), 3);
    }
}
