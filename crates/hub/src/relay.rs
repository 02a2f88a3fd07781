//! Real Slack behind the hub. The store is then a mirror of Slack's channels:
//! agents read from the mirror and never wait for Slack's limits; what they
//! write goes to Slack first and into the mirror with the timestamp that Slack
//! gave it.
//!
//! ```text
//!  Slack ──socket──▶ inbox (on disk) ──▶ acknowledged
//!                      │ worker, in order, after any back-fill
//!                      ▼
//!                 mirror and event log ──▶ agents
//!                      ▲
//!  Slack ◀──paced── post (parts on disk before and after) ◀── agents
//! ```
//!
//! Promises: an event is on disk before it is acknowledged, and counts once
//! however often it is told; a post is made once, across kills and lost answers;
//! the tokens are in no message, log line or page. What Slack does not keep (a
//! click while nobody listened) cannot come back.

mod api;
pub(crate) mod channel_requests;
mod channels;
pub(crate) mod hearing;
pub(crate) mod people;
mod receive;
mod scopes;
mod send;
mod settle;
mod through_owner;

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, atomic::AtomicBool},
    time::Duration,
};

use butler_protocol::{ChannelId, Secret, UserId};
use butler_slack::{Hearing, Socket, Web, Workspace};
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};
use tokio_util::{
    sync::CancellationToken,
    task::{AbortOnDropHandle, TaskTracker},
};
use url::Url;

use crate::{
    HubError,
    hub::{OwnersStore, Ownership},
    identity::Person,
    store::{Db, Store},
};

pub(crate) use self::send::files::download;
pub use self::send::pace::Pace;
pub(crate) use self::through_owner::{call, respond};
pub(crate) use api::answers;
pub use scopes::{SCOPES, missing as missing_scopes};

use self::send::in_flight::InFlight;
use self::send::upstream::Upstream;

/// What the relay needs to know.
#[derive(Debug, Clone)]
pub struct RelayConfig {
    /// `https://slack.com/`, or a stand-in.
    pub base: Url,
    /// The bot token, `xoxb-…`.
    pub bot_token: Secret,
    /// The app-level token for Socket Mode, `xapp-…`.
    pub app_token: Secret,
    /// Certificates to trust besides the usual ones.
    pub ca_file: Option<PathBuf>,
    /// The repos of this hub and their channels.
    pub channels: Vec<RepoChannel>,
    /// How fast Slack may be asked.
    pub pace: Pace,
}

/// A repo's channel, as it was configured.
#[derive(Debug, Clone)]
pub struct RepoChannel {
    /// The repo, as its tokens name it.
    pub repo: String,
    /// Slack's id of the channel, when it was given.
    pub id: Option<ChannelId>,
    /// The channel's name; made when there is none.
    pub name: String,
    /// Bots of the workspace that may ask for work there. They decide nothing.
    pub bots: Vec<String>,
}

/// Who we are in Slack.
#[derive(Debug, Clone)]
pub(crate) struct Us {
    pub(crate) team: String,
    pub(crate) user: UserId,
    pub(crate) bot: String,
    /// The workspace's own address, `https://…slack.com/`.
    pub(crate) url: String,
}

/// The connection to Slack, shared by everything that uses it.
pub(crate) struct Relay {
    upstream: Upstream,
    us: Us,
    /// Posts under way: their echoes wait.
    flights: InFlight,
    people: Mutex<HashMap<UserId, Person>>,
    /// Something waits in the inbox, or may be looked at again.
    wake: Notify,
    /// Counts the times that Slack may have gone unheard.
    gaps: watch::Sender<u64>,
    tasks: TaskTracker,
    cancel: CancellationToken,
    workspace: Workspace,
    app_token: Secret,
    /// Whether Slack is heard.
    ear: hearing::Ear,
    /// Who was shown as working.
    working: send::working::Working,
    /// Whether Slack lets the app use no names but its own.
    plain: AtomicBool,
    /// Opened at the start, until somebody listens.
    socket: Mutex<Option<Socket>>,
}

/// So long a start waits for Slack's first word.
const FIRST_WORD: Duration = Duration::from_secs(8);
/// After so many tries in a row it goes on without, and says so.
const TRIES: u32 = 3;

impl Relay {
    /// Puts Slack's own ids where the built-in workspace has its own. Which app it is
    /// Slack does not tell a bot, so that is left empty.
    pub(crate) fn with_own_ids(&self, payload: &mut Value) {
        let (team, user) = (json!(self.us.team), json!(self.us.user));
        let put = |place: Option<&mut Value>, id: &Value| {
            if let Some(place) = place.filter(|place| place.is_string()) {
                *place = id.clone();
            }
        };
        put(payload.get_mut("team_id"), &team);
        put(payload.pointer_mut("/team/id"), &team);
        put(payload.pointer_mut("/user/team_id"), &team);
        put(payload.pointer_mut("/authorizations/0/team_id"), &team);
        put(payload.pointer_mut("/authorizations/0/user_id"), &user);
        put(payload.get_mut("api_app_id"), &json!(""));
    }

    /// Asks Slack who we are; the owner finds the channels of the repos, and begins to
    /// listen. Not to be let in is a failure of the start; a way that is blocked is a state.
    pub(crate) async fn prepare(
        store: &Store,
        ownership: &Ownership,
        config: RelayConfig,
        cancel: CancellationToken,
    ) -> Result<Arc<Self>, HubError> {
        let refused = |error: butler_slack::SlackError| HubError::Slack(error.to_string());
        let workspace = Workspace::with_file(config.base, config.ca_file);
        let web = Web::at(&workspace, config.bot_token).map_err(refused)?;
        let upstream = Upstream::new(web, config.pace, ownership.clone());
        let own = config.channels.clone();
        store
            .write(move |tx| {
                own.iter()
                    .try_for_each(|one| channel_requests::request(tx.db(), one))
            })
            .await?;
        let owner = ownership.is_owner();
        let owned = OwnersStore::new(store, ownership);
        let (us, answers) = channels::introduce(&owned, &upstream, &config.channels, owner).await?;
        let app_token = config.app_token;
        let start = || Socket::start(&workspace, app_token.clone(), cancel.child_token());
        // Each connection takes events: only the owner has one.
        let socket = owner.then(start).transpose().map_err(refused)?;
        let hearing = match &socket {
            Some(socket) if answers => first_word(socket).await,
            // Slack is away altogether; nothing is to be learned by waiting.
            Some(socket) => socket.hearing().borrow().clone(),
            None => Hearing::Reconnecting {
                why: None,
                tries: 0,
            },
        };
        if let Hearing::Ended(ended) = hearing {
            return Err(HubError::Slack(hearing::cannot_start(ended)));
        }
        Ok(Arc::new(Self {
            upstream,
            us,
            flights: InFlight::default(),
            people: Mutex::default(),
            wake: Notify::new(),
            gaps: watch::Sender::new(0),
            tasks: TaskTracker::new(),
            cancel,
            workspace,
            app_token,
            ear: hearing::Ear::new(hearing, store.now_ms()),
            working: send::working::Working::default(),
            plain: AtomicBool::new(false),
            socket: Mutex::new(socket),
        }))
    }
}

/// What the socket says first: that it hears, that it is over, or that it goes on trying.
async fn first_word(socket: &Socket) -> Hearing {
    let mut hearing = socket.hearing();
    let said = |hearing: &Hearing| match hearing {
        Hearing::Reconnecting { tries, .. } => *tries >= TRIES,
        _ => true,
    };
    // Whatever it is by then.
    let _ = tokio::time::timeout(FIRST_WORD, hearing.wait_for(said)).await;
    hearing.borrow().clone()
}

impl Relay {
    /// The workspace in Slack, where people write.
    pub(crate) fn workspace(&self) -> &str {
        &self.us.url
    }
}

/// Whether a store mirrors a workspace of Slack.
pub(crate) fn is_mirror(db: &Db) -> Result<bool, crate::Trouble> {
    Ok(channels::recall(db, "team")?.is_some())
}

/// Listens to Slack until the hub stops, or there is no use in listening.
pub(crate) async fn run(app: Arc<crate::hub::app::App>, relay: Arc<Relay>) {
    relay.announce(&app);
    // Asked for before anybody listens: the first gap is the start itself.
    let gaps = relay.gaps.subscribe();
    let working = receive::ingest::run(Arc::clone(&app), Arc::clone(&relay), gaps);
    // Not left alone when another hub becomes the owner.
    let worker = AbortOnDropHandle::new(tokio::spawn(working));
    let asked = through_owner::serve(Arc::clone(&app), Arc::clone(&relay));
    let serving = AbortOnDropHandle::new(tokio::spawn(asked));
    receive::inbox::listen(&app, &relay).await;
    relay.cancel.cancelled().await;
    // A panic of the worker was already reported by the runtime.
    let _ = tokio::join!(worker, serving);
    relay.tasks.close();
    relay.tasks.wait().await;
}

/// Adds an argument to a call, where there is something to say with it.
fn add(args: &mut Value, name: &str, value: &Option<impl serde::Serialize>) {
    if let Some(value) = value {
        args[name] = json!(value);
    }
}
