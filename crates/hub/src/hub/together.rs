//! Several hubs on one store. Each says that it is up and who is connected to it, hears
//! what the others have written, and one of them is the owner: it alone holds Slack's
//! socket, posts what is due and tells people who is absent. An owner that falls silent is
//! followed by another within seconds; it stops by itself before that, by its own watch,
//! because it cannot know whether the store still hears it.
//!
//! A hub with a file is always the owner.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until, timeout},
};
use tracing::{info, warn};

use crate::{
    hub::app::App,
    log::notice::Notice,
    presence,
    store::{
        postgres::Address,
        shared::{self, LEASE_SECONDS},
    },
};

const BEAT: Duration = Duration::from_millis(1_000);
/// From the beginning of the last beat that worked: shorter than the lease, so that the
/// old owner has stopped when the next one may begin.
const SURE: Duration = Duration::from_millis(LEASE_SECONDS.unsigned_abs() * 750);
/// A bell may be lost with its connection; nothing waits longer than this.
const LOOK: Duration = Duration::from_secs(2);
const AGAIN: Duration = Duration::from_millis(500);

/// Whether this hub is the owner.
pub(crate) struct Ownership(watch::Sender<bool>);

impl Ownership {
    /// An owner from the beginning, or one that has to ask.
    pub(crate) fn new(owner: bool) -> Self {
        Self(watch::Sender::new(owner))
    }

    pub(crate) fn is_owner(&self) -> bool {
        *self.0.borrow()
    }

    fn set(&self, owner: bool) {
        let changed = self
            .0
            .send_if_modified(|was| std::mem::replace(was, owner) != owner);
        if changed && owner {
            info!("this hub is the owner now");
        } else if changed {
            warn!("this hub is not the owner any more");
        }
    }

    /// Does something while this hub is the owner, from the beginning each time; what is
    /// under way when it ends is dropped, as in a crash. Returns with the work itself.
    pub(crate) async fn only_owner<F: Future<Output = ()>>(&self, app: &App, work: impl Fn() -> F) {
        let mut owner = self.0.subscribe();
        loop {
            tokio::select! {
                () = app.cancel.cancelled() => return,
                became = owner.wait_for(|owner| *owner) => if became.is_err() { return },
            }
            tokio::select! {
                () = work() => return,
                lost = owner.wait_for(|owner| !*owner) => if lost.is_err() { return },
            }
        }
    }
}

/// Says again and again that this hub is up, and becomes the owner or stops being it.
pub(crate) async fn keep_beating(app: Arc<App>) {
    let (hub, mut sure_until) = (app.store.hub(), Instant::now());
    loop {
        let begun = Instant::now();
        let (name, here) = (Arc::clone(&hub), app.presence.here());
        let beat = app
            .store
            .write(move |tx| shared::beat(tx.db(), &name, &here));
        let patience = sure_until.max(begun + BEAT);
        match timeout(patience - begun, beat).await {
            Ok(Ok(beat)) => {
                presence::is_elsewhere(&app, beat.elsewhere);
                sure_until = begun + SURE;
                // An answer that took too long says nothing about now.
                app.ownership
                    .set(beat.owner.is_some() && Instant::now() < sure_until);
            }
            Ok(Err(error)) => warn!(%error, "the other hubs cannot be told that this one is up"),
            Err(_) => {}
        }
        if Instant::now() >= sure_until {
            app.ownership.set(false);
        }
        tokio::select! {
            () = app.cancel.cancelled() => break,
            () = sleep(BEAT) => {}
            () = sleep_until(sure_until), if app.ownership.is_owner() => app.ownership.set(false),
        }
    }
    app.ownership.set(false);
    let left = app.store.write(move |tx| shared::leave(tx.db(), &hub));
    if let Ok(Err(error)) = timeout(LOOK, left).await {
        warn!(%error, "the other hubs will notice by themselves that this one stopped");
    }
}

/// Passes on to this hub's listeners what other hubs have written after `seen`.
pub(crate) async fn keep_hearing(app: Arc<App>, address: Address, mut seen: i64) {
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
            seen = hear(&app, seen).await;
            tokio::select! {
                () = app.cancel.cancelled() => return,
                rang = rings.recv() => if rang.is_none() { break },
                () = sleep(LOOK) => {}
            }
        }
        sleep(AGAIN).await;
    }
}

async fn hear(app: &App, seen: i64) -> i64 {
    let hub = app.store.hub();
    match app
        .store
        .read(move |db| shared::heard(db, &hub, seen))
        .await
    {
        Ok((notices, newest)) => {
            for notice in notices {
                // Nobody listening is fine: notices are only wake-ups.
                let _ = app.notices.send(Arc::<Notice>::new(notice));
            }
            newest
        }
        Err(error) => {
            warn!(%error, "what other hubs said cannot be read");
            seen
        }
    }
}
