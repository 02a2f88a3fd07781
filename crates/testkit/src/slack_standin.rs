//! A stand-in of Slack: the Web API methods and the Socket Mode that a relay
//! meets, with the habits that hurt. Each event goes to one random connection
//! and is lost when there is none; a post's echo leaves before the answer; a
//! post under a custom name has no user; edits are announced when nobody edited;
//! events come twice; limits answer 429; a missing scope is silence.
//!
//! It listens on 127.0.0.1 and keeps everything in memory. The functions of
//! [`SlackStandIn`] are what people, administrators and bad weather do.

mod admin;
mod chat;
mod files;
mod limits;
mod modals;
mod reading;
mod scopes;
mod socket;
mod state;
mod web;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

pub use limits::Limits;
pub use scopes::ALL_SCOPES;
use state::State;

/// How a connection is shaken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disconnect {
    /// The polite notice; closed a moment later.
    Warning,
    /// The routine recycle; closed a moment later.
    Refresh,
    /// Socket Mode was switched off; nobody can connect any more.
    LinkDisabled,
    /// No notice at all.
    Abrupt,
}

/// Somebody came.
#[derive(Debug, Clone)]
pub struct Visit {
    /// The host under which they know this place: `127.0.0.1` or `localhost`.
    pub host: String,
    /// The method, or `hello` when a connection was opened.
    pub what: String,
    /// When.
    pub at: SystemTime,
}

/// The stand-in; it stops when dropped.
#[derive(Debug)]
pub struct SlackStandIn {
    shared: Shared,
    address: SocketAddr,
    server: JoinHandle<()>,
}

/// What the server's handlers and the controls share.
#[derive(Debug, Clone)]
pub(crate) struct Shared(Arc<Mutex<State>>);

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SlackStandIn {
    /// Starts a workspace with one app installed and no channel.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = Shared(Arc::new(Mutex::new(State::new(address))));
        let router = web::router(shared.clone());
        let server = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("Slack serves");
        });
        Self {
            shared,
            address,
            server,
        }
    }

    /// The base address, as a client wants it instead of `https://slack.com/`.
    #[must_use]
    pub fn base(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// The app's bot token.
    #[must_use]
    pub fn bot_token(&self) -> String {
        self.shared.lock().bot_token.clone()
    }

    /// The app-level token for Socket Mode.
    #[must_use]
    pub fn app_token(&self) -> String {
        self.shared.lock().app_token.clone()
    }

    /// Makes a channel with the app in it, or not; answers its id.
    #[must_use]
    pub fn channel(&self, name: &str, with_app: bool) -> String {
        self.shared.lock().add_channel(name, with_app)
    }

    /// Makes a private channel that the app was not invited to.
    pub fn private_channel(&self, name: &str) -> String {
        let mut state = self.shared.lock();
        let id = state.add_channel(name, false);
        if let Some(channel) = state.channels.get_mut(&id) {
            channel.private = true;
        }
        id
    }

    /// The channel of this name, when there is one.
    #[must_use]
    pub fn channel_named(&self, name: &str) -> Option<String> {
        self.shared.lock().channel_named(name)
    }

    /// A person of the workspace; the same name is the same person. Who is called
    /// `guest…` is one, `stranger…` is of another workspace.
    #[must_use]
    pub fn person(&self, name: &str) -> String {
        self.shared.lock().person(name)
    }

    /// A user group with these members; the app gets the scope to ask for them.
    pub fn group(&self, id: &str, members: &[&str]) {
        let mut state = self.shared.lock();
        let members = members.iter().map(|&user| user.to_owned()).collect();
        state.groups.insert(id.to_owned(), members);
        state.scopes.push("usergroups:read".to_owned());
    }

    /// A person posts, at top level or in a thread; answers the timestamp.
    pub fn say(&self, user: &str, channel: &str, text: &str, thread: Option<&str>) -> String {
        let text = linkified(text);
        let message = json!({"user": user, "text": text, "client_msg_id": format!("c-{text}")});
        self.shared.lock().write(channel, thread, message)
    }

    /// A person who posts in a channel, for a task of their own.
    pub fn speaker(&self, user: &str, channel: &str) -> impl Fn(&str, Option<&str>) + Send + use<> {
        let (shared, user, channel) = (self.shared.clone(), user.to_owned(), channel.to_owned());
        move |text, thread| {
            let message = json!({"user": user, "text": text});
            shared.lock().write(&channel, thread, message);
        }
    }

    /// A bot of somebody else posts, at top level or in a thread.
    pub fn foreign_bot_says(&self, channel: &str, text: &str, thread: Option<&str>) -> String {
        let message = json!({"subtype": "bot_message", "bot_id": "B0FOREIGN", "text": text,
            "username": "deploys"});
        self.shared.lock().write(channel, thread, message)
    }

    /// A person changes what they said.
    pub fn edit(&self, user: &str, channel: &str, ts: &str, text: &str) {
        self.shared.lock().edit(user, channel, ts, text);
    }

    /// Somebody deletes a message.
    pub fn delete(&self, channel: &str, ts: &str) {
        self.shared.lock().delete(channel, ts);
    }

    /// A person reacts.
    pub fn react(&self, user: &str, channel: &str, ts: &str, name: &str) {
        self.shared.lock().react(user, channel, ts, name, true);
    }

    /// A person takes a reaction back.
    pub fn unreact(&self, user: &str, channel: &str, ts: &str, name: &str) {
        self.shared.lock().react(user, channel, ts, name, false);
    }

    /// A person presses a button; false is the error mark that they see when no
    /// connection took the click.
    pub fn click(&self, user: &str, channel: &str, ts: &str, action_id: &str) -> bool {
        self.shared.lock().click(user, channel, ts, action_id)
    }

    /// A person types a slash command; false as with [`SlackStandIn::click`].
    pub fn command(&self, user: &str, channel: &str, command: &str, text: &str) -> bool {
        self.shared.lock().command(user, channel, command, text)
    }

    /// A person uploads a file; answers the timestamp of the message.
    pub fn share(&self, user: &str, channel: &str, name: &str, bytes: &[u8]) -> String {
        self.share_all(user, channel, "", &[(name, bytes)])
    }

    /// A person uploads files with words.
    pub fn share_all(
        &self,
        user: &str,
        channel: &str,
        text: &str,
        files: &[(&str, &[u8])],
    ) -> String {
        self.shared.lock().share(user, channel, text, files)
    }

    /// All messages of a channel, oldest first, as Slack keeps them.
    #[must_use]
    pub fn messages(&self, channel: &str) -> Vec<Value> {
        self.shared.lock().messages(channel)
    }

    /// The bytes of a file.
    #[must_use]
    pub fn file(&self, id: &str) -> Option<Vec<u8>> {
        let state = self.shared.lock();
        state.files.get(id).map(|file| file.bytes.clone())
    }

    /// What was answered through `response_url`s, oldest first.
    #[must_use]
    pub fn responses(&self) -> Vec<Value> {
        self.shared.lock().responses.clone()
    }

    /// What was posted for one person's eyes, oldest first.
    #[must_use]
    pub fn ephemerals(&self) -> Vec<Value> {
        self.shared.lock().ephemerals.clone()
    }

    /// Shakes every open connection.
    pub fn disconnect(&self, how: Disconnect) {
        self.shared.lock().disconnect(how);
    }

    /// Open connections of the app.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.lock().sockets.len()
    }

    /// How many connections were ever greeted.
    #[must_use]
    pub fn greeted(&self) -> usize {
        self.shared.lock().greeted
    }

    /// The most connections that were ever open at once.
    #[must_use]
    pub fn most_open(&self) -> usize {
        self.shared.lock().most_open
    }

    /// Events that were sent and have not been acknowledged.
    #[must_use]
    pub fn unacknowledged(&self) -> usize {
        self.shared.lock().pending.len()
    }

    /// Begins or ends an outage: every call is answered 503, every socket is cut.
    pub fn outage(&self, on: bool) {
        self.shared.lock().outage(on);
    }

    /// Keeps events to itself: what happens meanwhile is in the history only.
    pub fn mute(&self, on: bool) {
        self.shared.lock().muted = on;
    }

    /// The token is not accepted any more.
    pub fn revoke(&self) {
        self.shared.lock().revoked = true;
    }

    /// Takes a scope away, as if the app had been installed without it.
    pub fn without_scope(&self, scope: &str) {
        self.shared.lock().scopes.retain(|one| one != scope);
    }

    /// Gives it back, as a new installation does.
    pub fn with_scope(&self, scope: &str) {
        self.shared.lock().scopes.push(scope.to_owned());
    }

    /// Sets what is answered with 429.
    pub fn limit(&self, limits: Limits) {
        self.shared.lock().limits = limits;
    }

    /// How often 429 was answered.
    #[must_use]
    pub fn refusals(&self) -> usize {
        self.shared.lock().refusals
    }

    /// The next `count` posts are carried out and answered with 500.
    pub fn lose_answers(&self, count: u32) {
        self.shared.lock().lost_answers = count;
    }

    /// How long the answer to a post is held back after its echo was sent.
    pub fn slow_answers(&self, pause: Duration) {
        self.shared.lock().slow_answers = pause;
    }

    /// Every so many events, one is sent twice; zero for never.
    pub fn duplicate_every(&self, events: usize) {
        self.shared.lock().duplicate_every = events;
    }

    /// Who came when and for what, oldest first: calls, and connections that were opened.
    #[must_use]
    pub fn visits(&self) -> Vec<Visit> {
        self.shared.lock().visits.clone()
    }

    /// The methods that were called, oldest first, refused ones included.
    #[must_use]
    pub fn calls(&self) -> Vec<String> {
        self.shared.lock().calls.clone()
    }
}

impl Drop for SlackStandIn {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Slack links bare domains, and `.pm` is one.
fn linkified(text: &str) -> String {
    text.replace("@codebutler.pm", "@<http://codebutler.pm|codebutler.pm>")
}
