//! Starting: the store, Slack, the port, then everything that goes on by itself.

use std::{
    collections::HashMap,
    fs::File,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::{sync::broadcast, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::{
    HubError, Trouble,
    agent_api::{live_log::LiveLog, webhooks::Webhooks},
    hub::{
        App, Hub, HubConfig, Outside, Ownership,
        address::{Bound, bind, may_listen},
        app::{Sockets, Watched},
        lock::lock,
        router::router,
        together::{self, Starting},
        upkeep,
    },
    log::{
        Notice,
        acks::{self, AckQueue},
        listeners, processes,
    },
    metrics::{
        counters::Counters,
        traces::{self, Traces},
    },
    page::Welcome,
    presence::{Presence, absent, notify},
    relay::{self, Relay, RelayConfig},
    serve,
    store::{Store, StoreThreads, file::MOVED_FILE, place::StorePlace},
    web_api::chat::schedule,
    workspace::Rules,
};

/// Between two looks whether the store was moved away.
const MOVED_LOOK: Duration = Duration::from_secs(1);

type Notices = broadcast::Sender<Arc<Notice>>;

impl Hub {
    /// Opens the store and listens. Everything it starts ends with `cancel`.
    ///
    /// # Errors
    /// When the address, the folder or the store cannot be used, or another hub
    /// has the folder.
    pub fn start(
        config: HubConfig,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Self, HubError>> {
        Box::pin(start(config, cancel))
    }
}

async fn start(mut config: HubConfig, cancel: CancellationToken) -> Result<Hub, HubError> {
    may_listen(&config)?;
    let (notices, _) = broadcast::channel(4096);
    let (store, threads, lock) = open_store(&config, notices.clone()).await?;
    let ownership = Ownership::new(store.meets().is_none());
    let starting = match store.meets() {
        Some(_) => Some(Starting::begin(store.clone(), ownership.clone()).await),
        None => None,
    };
    let relay = match config.relay.take() {
        Some(slack) => Some(prepare_relay(&store, &ownership, slack, &cancel).await?),
        None => None,
    };
    let bound = bind(config.listen, std::mem::take(&mut config.reach), &store).await?;
    let Bound {
        listener,
        address,
        certificate,
        reached,
    } = bound;
    let outside = std::mem::take(&mut config.outside);
    let (traces, sending) = trace(&outside, &config.version, &cancel);
    let (sockets, acked) = Sockets::new();
    let here = reached.address;
    let live_log = Arc::new(LiveLog::default());
    let app = Arc::new(App {
        store,
        notices,
        redactor: config.redactor,
        rules: Rules {
            approvers: config.approvers,
            people: config.people,
            caps: config.caps,
            limits: config.operation.limits.clone(),
            pace: Arc::default(),
            base: reached.base(None),
            in_slack: relay.is_some(),
        },
        sockets,
        presence: Presence::default(),
        test_hooks: config.test_hooks,
        version: config.version,
        welcome: Welcome::read(&config.data_dir),
        reached,
        relay: relay.clone(),
        cancel: cancel.clone(),
        watched: Watched {
            live_log: Arc::clone(&live_log),
            counters: Counters::default(),
            traces,
        },
        known: Mutex::new(HashMap::new()),
        ownership,
        operation: config.operation,
    });
    let relay = relay.map(|relay| {
        let work = move |app| relay::run(app, Arc::clone(&relay));
        tokio::spawn(owned(Arc::clone(&app), work))
    });
    let mut later = keep_working(&app, acked, &outside);
    later.extend(sending);
    drop(starting);
    later.extend(keep_in_touch(&app, config.data_dir));
    let router = router(app, Webhooks::new(outside.forge_secret));
    info!(%address, "the hub listens");
    let fingerprint = certificate.as_ref().map(|one| one.fingerprint.clone());
    let server = tokio::spawn(async move {
        serve::serve(listener, certificate, router, cancel).await;
        drop(lock);
    });
    Ok(Hub {
        address: here,
        fingerprint,
        live_log,
        server,
        relay,
        later,
        store: threads,
    })
}

/// Opens the store of a folder that no other hub has.
async fn open_store(
    config: &HubConfig,
    notices: Notices,
) -> Result<(Store, StoreThreads, File), HubError> {
    let (dir, clock) = (config.data_dir.clone(), config.clock.clone());
    let place = StorePlace::new(dir.clone(), config.database.clone());
    let opened = tokio::task::spawn_blocking(move || {
        let (store, threads) = Store::open(&place, clock.clone(), notices)?;
        let lock = lock(&dir)?;
        place.with_clock(clock)?.can_shrink()?;
        Ok((store, threads, lock))
    });
    opened.await.map_err(|_| HubError::Step(Trouble::Closed))?
}

async fn prepare_relay(
    store: &Store,
    ownership: &Ownership,
    slack: RelayConfig,
    cancel: &CancellationToken,
) -> Result<Arc<Relay>, HubError> {
    let prepared = Relay::prepare(store, ownership, slack, cancel.clone()).await;
    if prepared.is_err() && store.meets().is_some() {
        // Another hub may try at once.
        together::leave(store).await;
    }
    prepared
}

fn trace(
    outside: &Outside,
    version: &str,
    cancel: &CancellationToken,
) -> (Traces, Option<JoinHandle<()>>) {
    let Some(collector) = outside.traces.clone() else {
        return (Traces::default(), None);
    };
    let (traces, spans) = Traces::wanted();
    let sending = traces::keep_sending(spans, collector, version.to_owned(), cancel.clone());
    (traces, Some(tokio::spawn(sending)))
}

/// What goes on beside the calls, for as long as the hub runs.
fn keep_working(app: &Arc<App>, acked: AckQueue, outside: &Outside) -> Vec<JoinHandle<()>> {
    let after = app.operation.absent_after;
    let telling = listeners::keep_telling(
        Arc::clone(&app.sockets.listeners),
        app.notices.subscribe(),
        app.cancel.clone(),
    );
    let writing = acks::keep_writing(app.store.clone(), acked, app.cancel.clone());
    let mut later = vec![
        tokio::spawn(telling),
        tokio::spawn(writing),
        tokio::spawn(owned(Arc::clone(app), schedule::keep_posting)),
        tokio::spawn(owned(Arc::clone(app), processes::keep_sharing)),
        tokio::spawn(owned(Arc::clone(app), move |app| {
            absent::keep_telling(app, after)
        })),
        tokio::spawn(owned(Arc::clone(app), upkeep::keep_tidy)),
    ];
    if let Some(webhook) = outside.webhook.clone() {
        let work = move |app| notify::keep_telling(app, webhook.clone());
        later.push(tokio::spawn(owned(Arc::clone(app), work)));
    }
    later
}

/// With the other hubs of the store; where there are none, with whoever moves it.
fn keep_in_touch(app: &Arc<App>, dir: PathBuf) -> Vec<JoinHandle<()>> {
    match app.store.meets().cloned() {
        None => vec![tokio::spawn(until_moved(dir, app.cancel.clone()))],
        Some(address) => vec![
            tokio::spawn(together::keep_beating(Arc::clone(app))),
            tokio::spawn(together::keep_hearing(Arc::clone(app), address)),
        ],
    }
}

/// Does something while this hub is the owner of its store.
async fn owned<F: Future<Output = ()>>(app: Arc<App>, work: impl Fn(Arc<App>) -> F) {
    let work = || work(Arc::clone(&app));
    app.ownership.only_owner(&app, work).await;
}

/// Ends the hub when its workspace was moved into a database: the next one finds it there.
async fn until_moved(dir: PathBuf, cancel: CancellationToken) {
    loop {
        tokio::select! {
            () = cancel.cancelled() => return,
            () = tokio::time::sleep(MOVED_LOOK) => {}
        }
        if dir.join(MOVED_FILE).exists() {
            info!("the workspace was moved into a database; this hub ends");
            return cancel.cancel();
        }
    }
}
