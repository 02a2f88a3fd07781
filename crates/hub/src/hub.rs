//! Starting and stopping.

pub(crate) mod app;
pub(crate) mod cut_off;
mod ready;
pub(crate) mod together;
mod upkeep;

use std::{
    collections::{BTreeMap, HashMap},
    fs::{File, TryLockError},
    io::ErrorKind,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use axum::{
    Router, middleware,
    routing::{any, get, post},
};
use butler_policy::Redactor;
use butler_protocol::{Clock, LogLine, Secret, Standing, UserId};
use butler_slack::Webhook;
use butler_tls::Fingerprint;
use futures_util::future::BoxFuture;
use tokio::{net::TcpListener, sync::broadcast, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use tracing::info;
use url::Url;

use crate::{
    Caps, HubError, Limits, RelayConfig, Retention,
    agent_api::{
        self,
        live_log::{self, LiveLog},
        webhooks::{self, Webhooks},
    },
    hub::{
        app::{Reached, Sockets, Watched},
        cut_off::CutOff,
        together::Starting,
    },
    identity::tokens,
    log::{acks, listeners, processes, socket_mode},
    metrics::{
        self,
        counters::Counters,
        traces::{self, Traces},
    },
    page::{self, Welcome},
    person_api::{self, edits, guard, view_api},
    presence::{Presence, absent, notify},
    relay::{self, Relay},
    serve::{
        self,
        tls::{self, Certificate, HubTls},
    },
    store::{Store, StoreThreads, file::MOVED_FILE, place::StorePlace, system_clock},
    web_api::{self, chat::schedule, file_transfer, response_url},
    workspace::Rules,
};

pub(crate) use app::App;
pub(crate) use together::{OwnersStore, Ownership};

/// Held by the hub that has the folder.
const LOCK_FILE: &str = "hub.lock";
/// How long the lock may be held by somebody who only looks.
const GLANCE: Duration = Duration::from_millis(400);
/// Between two looks whether the store was moved away.
const MOVED_LOOK: Duration = Duration::from_secs(1);
/// Ports that are tried when the wished one is taken.
const PORTS: u16 = 20;

/// What a hub needs to know.
#[derive(Debug, Clone)]
pub struct HubConfig {
    /// Where to listen; when the port is taken the next free one is used, unless `reach.exact`.
    pub listen: SocketAddr,
    /// Where the store lives.
    pub data_dir: PathBuf,
    /// A database for more than one hub (`postgres://…`), in place of a file there.
    pub database: Option<Secret>,
    /// The last gate.
    pub redactor: Redactor,
    /// How much may be spent.
    pub caps: Caps,
    /// Who may approve commands and merges; empty means everybody.
    pub approvers: Vec<UserId>,
    /// The rights of people and of Slack's user groups, by id; `*` is everybody else.
    pub people: BTreeMap<String, Standing>,
    /// Whether tests may shake connections.
    pub test_hooks: bool,
    /// Shown on the page and told to agents.
    pub version: String,
    /// How others reach it.
    pub reach: Reach,
    /// Services that are told something, or that tell.
    pub outside: Outside,
    /// Real Slack; without it the hub is the workspace itself.
    pub relay: Option<RelayConfig>,
    /// What an operator sets beside all that.
    pub operation: Operation,
    /// What time it is.
    pub clock: Clock,
}

/// How others reach a hub.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    /// The page's address as people reach it, where that is not this machine.
    pub public_url: Option<Url>,
    /// The certificate; without one nothing is encrypted.
    pub tls: Option<HubTls>,
    /// Consent to listen where other machines can reach it, without a certificate.
    pub anywhere: bool,
    /// Whether another port will not do when this one is taken.
    pub exact: bool,
}

/// Services besides Slack and the model; none of them has to be there.
#[derive(Debug, Clone, Default)]
pub struct Outside {
    /// Is told what newly waits for somebody.
    pub webhook: Option<Webhook>,
    /// A collector of traces, where threads are to be followed from message to merge.
    pub traces: Option<Webhook>,
    /// What the forge signs its webhooks with; without it none is taken.
    pub forge_secret: Option<Secret>,
}

/// What an operator sets, and what holds without a word of theirs.
#[derive(Debug, Clone)]
pub struct Operation {
    /// After so long somebody is told that the role they named is not running.
    pub absent_after: Duration,
    /// How long things are kept as they are.
    pub retention: Retention,
    /// What a repository, a person or a token may use.
    pub limits: Limits,
    /// Who may read the metrics from another machine; without it only this one may.
    pub metrics_token: Option<Secret>,
}

impl Default for Operation {
    fn default() -> Self {
        Self {
            absent_after: Duration::from_secs(30),
            retention: Retention::default(),
            limits: Limits::default(),
            metrics_token: None,
        }
    }
}

impl HubConfig {
    /// A hub on loopback with the usual caps.
    #[must_use]
    pub fn new(listen: SocketAddr, data_dir: PathBuf, redactor: Redactor) -> Self {
        Self {
            listen,
            data_dir,
            database: None,
            redactor,
            caps: Caps::default(),
            approvers: Vec::new(),
            people: BTreeMap::new(),
            test_hooks: false,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            reach: Reach::default(),
            outside: Outside::default(),
            relay: None,
            operation: Operation::default(),
            clock: system_clock(),
        }
    }
}

/// A running hub.
#[derive(Debug)]
pub struct Hub {
    address: SocketAddr,
    fingerprint: Option<Fingerprint>,
    live_log: Arc<LiveLog>,
    server: JoinHandle<()>,
    relay: Option<JoinHandle<()>>,
    /// Posts for later, and words about who is not there.
    later: Vec<JoinHandle<()>>,
    store: StoreThreads,
}

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
        Box::pin(async move {
            let Reach {
                public_url,
                tls,
                anywhere,
                exact,
            } = config.reach;
            if !config.listen.ip().is_loopback() && tls.is_none() && !anywhere {
                return Err(HubError::NotLoopback(config.listen));
            }
            let (notices, _) = broadcast::channel(4096);
            let dir = config.data_dir.clone();
            let dir_of_store = dir.clone();
            let place = StorePlace::new(dir.clone(), config.database);
            let said = notices.clone();
            let clock = config.clock;
            let opened = tokio::task::spawn_blocking(move || {
                let (store, threads) = Store::open(&place, clock.clone(), said)?;
                let lock = lock(&dir)?;
                place.with_clock(clock)?.can_shrink()?;
                Ok::<_, HubError>((store, threads, lock))
            });
            let (store, threads, lock) = opened
                .await
                .map_err(|_| HubError::Step(crate::Trouble::Closed))??;
            let meets = store.meets().cloned();
            let own_name = store.write(|tx| tokens::own_name(tx.db())).await?;
            let ownership = Ownership::new(meets.is_none());
            let starting = match meets {
                Some(_) => Some(Starting::begin(store.clone(), ownership.clone()).await),
                None => None,
            };
            let relay = match config.relay {
                Some(slack) => {
                    let prepared = Relay::prepare(&store, &ownership, slack, cancel.clone()).await;
                    match (prepared, starting.as_ref()) {
                        (Ok(relay), _) => Some(relay),
                        (Err(error), None) => return Err(error),
                        (Err(error), Some(_)) => {
                            together::leave(&store).await;
                            return Err(error);
                        }
                    }
                }
                None => None,
            };
            let ports = if exact { 1 } else { PORTS };
            let listener = listen(config.listen, ports).await?;
            let bound = listener.local_addr().map_err(|source| HubError::Listen {
                address: config.listen,
                source,
            })?;
            let address = from_here(bound);
            let certificate = match tls {
                Some(tls) => {
                    let names = tls::names(&own_name, address, public_url.as_ref());
                    Some(Certificate::of(tls, &store, names).await?)
                }
                None => None,
            };
            let reached = Reached {
                address,
                own_name,
                only_here: bound.ip().is_loopback() && public_url.is_none(),
                public_url,
                encrypted: certificate.is_some(),
            };
            let fingerprint = certificate.as_ref().map(|one| one.fingerprint.clone());
            let live_log = Arc::new(LiveLog::default());
            let (traces, sending) = match config.outside.traces {
                Some(collector) => {
                    let (traces, spans) = Traces::wanted();
                    let version = config.version.clone();
                    let sending = traces::keep_sending(spans, collector, version, cancel.clone());
                    (traces, Some(tokio::spawn(sending)))
                }
                None => (Traces::default(), None),
            };
            let (sockets, acked) = Sockets::new();
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
                cut_off: CutOff::new(),
                operation: config.operation,
            });
            let relay = relay.map(|relay| {
                let work = move |app| relay::run(app, Arc::clone(&relay));
                tokio::spawn(owned(Arc::clone(&app), work))
            });
            let after = app.operation.absent_after;
            let telling = listeners::keep_telling(
                Arc::clone(&app.sockets.listeners),
                app.notices.subscribe(),
                cancel.clone(),
            );
            let writing = acks::keep_writing(app.store.clone(), acked, cancel.clone());
            let mut later = vec![
                tokio::spawn(telling),
                tokio::spawn(writing),
                tokio::spawn(owned(Arc::clone(&app), schedule::keep_posting)),
                tokio::spawn(owned(Arc::clone(&app), processes::keep_sharing)),
                tokio::spawn(owned(Arc::clone(&app), move |app| {
                    absent::keep_telling(app, after)
                })),
                tokio::spawn(owned(Arc::clone(&app), upkeep::keep_tidy)),
            ];
            later.extend(sending);
            if let Some(webhook) = config.outside.webhook {
                let work = move |app| notify::keep_telling(app, webhook.clone());
                later.push(tokio::spawn(owned(Arc::clone(&app), work)));
            }
            drop(starting);
            if meets.is_none() {
                later.push(tokio::spawn(until_moved(dir_of_store, cancel.clone())));
            }
            if let Some(address) = meets {
                later.push(tokio::spawn(together::keep_beating(Arc::clone(&app))));
                let hearing = together::keep_hearing(Arc::clone(&app), address);
                later.push(tokio::spawn(hearing));
            }
            let router = router(app, Webhooks::new(config.outside.forge_secret));
            info!(address = %bound, "the hub listens");
            let server = tokio::spawn(async move {
                serve::serve(listener, certificate, router, cancel).await;
                drop(lock);
            });
            Ok(Self {
                address,
                fingerprint,
                live_log,
                server,
                relay,
                later,
                store: threads,
            })
        })
    }

    /// Where processes of this machine reach it.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What its certificate is known by; nothing when it has none.
    #[must_use]
    pub fn fingerprint(&self) -> Option<&Fingerprint> {
        self.fingerprint.as_ref()
    }

    /// Shows lines of the hub's own log on the page. Secrets are out of them.
    pub fn noter(&self) -> impl Fn(LogLine) + Send + Sync + 'static {
        let log = Arc::clone(&self.live_log);
        move |line| log.add(line)
    }

    #[cfg(test)]
    pub(crate) fn store(&self) -> &Store {
        self.store.store()
    }

    /// Waits until it has stopped; cancel the token it was started with first.
    pub async fn wait(self) {
        // A panic of the server was already reported by the runtime.
        let _ = self.server.await;
        for task in self.later {
            let _ = task.await;
        }
        if let Some(relay) = self.relay {
            let _ = relay.await;
        }
        self.store.close().await;
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

/// Whether a hub has this folder now.
///
/// # Errors
/// When the folder cannot be looked at.
pub fn runs_in(dir: &Path) -> Result<bool, HubError> {
    if !dir.join(LOCK_FILE).exists() {
        return Ok(false);
    }
    let (path, file) = lock_file(dir)?;
    // Shared: two that look at the same time do not take each other for a hub.
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(source)) => Err(HubError::Folder { path, source }),
    }
}

/// One hub per folder: two would each believe to be the only fence.
fn lock(dir: &Path) -> Result<File, HubError> {
    let (path, file) = lock_file(dir)?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            // Somebody may only be looking (`runs_in`).
            Err(TryLockError::WouldBlock) if begun.elapsed() < GLANCE => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(TryLockError::WouldBlock) => return Err(HubError::Running(dir.to_owned())),
            Err(TryLockError::Error(source)) => return Err(HubError::Folder { path, source }),
        }
    }
}

fn lock_file(dir: &Path) -> Result<(PathBuf, File), HubError> {
    let path = dir.join(LOCK_FILE);
    let opened = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path);
    match opened {
        Ok(file) => Ok((path, file)),
        Err(source) => Err(HubError::Folder { path, source }),
    }
}

/// "Every address" is none that one can ask for.
fn from_here(bound: SocketAddr) -> SocketAddr {
    let ip = match bound.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, bound.port())
}

/// The port that was asked for, or one of the next ones.
async fn listen(wished: SocketAddr, ports: u16) -> Result<TcpListener, HubError> {
    let mut address = wished;
    for _ in 0..ports {
        match TcpListener::bind(address).await {
            Err(error) if error.kind() == ErrorKind::AddrInUse && wished.port() != 0 => {
                address.set_port(address.port().saturating_add(1));
            }
            Ok(listener) => return Ok(listener),
            Err(source) => return Err(HubError::Listen { address, source }),
        }
    }
    Err(HubError::Listen {
        address: wished,
        source: ErrorKind::AddrInUse.into(),
    })
}

/// Agents come by token and need no guard; what people call checks host and origin.
fn router(app: Arc<App>, webhooks: Webhooks) -> Router {
    let people = Router::new()
        .merge(person_api::routes())
        .merge(view_api::routes())
        .merge(edits::routes())
        .merge(person_api::views::routes())
        .merge(person_api::people::routes())
        .merge(live_log::person_routes())
        .merge(page::routes())
        .route("/metrics", get(metrics::handle))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&app),
            guard::check_host,
        ));
    Router::new()
        .route("/api/{method}", any(web_api::handle))
        .route("/link", get(socket_mode::handle))
        .route("/link/", get(socket_mode::handle))
        .merge(agent_api::routes())
        .merge(webhooks::routes(webhooks))
        .merge(live_log::agent_routes())
        .merge(file_transfer::routes())
        .route("/respond/{key}", post(response_url::handle))
        .route("/healthz", get(ready::health))
        .route("/readyz", get(ready::ready))
        .route("/readyz/store", get(ready::for_balancer))
        .merge(people)
        .fallback(page::nowhere)
        .layer(middleware::from_fn_with_state(
            Arc::clone(&app),
            cut_off::send_away,
        ))
        .with_state(app)
}
