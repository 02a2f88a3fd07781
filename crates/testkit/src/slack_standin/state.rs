//! What the stand-in knows, and what happens to it: every change makes the
//! events that Slack would make of it.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    hash::{BuildHasher, RandomState},
    net::SocketAddr,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};

use super::{
    Visit,
    admin::Mishaps,
    limits::{Limits, Meter},
    scopes::ALL_SCOPES,
    socket::{Pending, SocketEnd},
};

pub(super) const TEAM: &str = "T0STANDIN";
pub(super) const APP: &str = "A0STANDIN";
pub(super) const BOT: &str = "B0STANDIN";
pub(super) const BOT_USER: &str = "U0STANDIN";

/// A channel.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) name: String,
    pub(super) with_app: bool,
    /// Who is not in it does not know that it is there.
    pub(super) private: bool,
    pub(super) archived: bool,
    /// Between the app and one person.
    pub(super) direct: bool,
    /// Who is in it besides the app.
    pub(super) people: BTreeSet<String>,
    /// By timestamp, which sorts as text.
    pub(super) messages: BTreeMap<String, Value>,
}

/// A file.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) user: String,
    pub(super) bytes: Vec<u8>,
    pub(super) key: String,
    /// Channel and timestamp of the message that shares it.
    pub(super) share: Option<(String, String)>,
}

/// Everything.
#[derive(Debug)]
pub(crate) struct State {
    pub(super) address: SocketAddr,
    pub(super) bot_token: String,
    pub(super) app_token: String,
    pub(super) revoked: bool,
    pub(super) disabled: bool,
    pub(super) down: bool,
    pub(super) muted: bool,
    pub(super) mishaps: Mishaps,
    pub(super) scopes: Vec<String>,
    pub(super) channels: BTreeMap<String, Channel>,
    pub(super) people: BTreeMap<String, String>,
    /// User groups: id, members.
    pub(super) groups: BTreeMap<String, Vec<String>>,
    pub(super) files: HashMap<String, File>,
    pub(super) responses: Vec<Value>,
    pub(super) ephemerals: Vec<Value>,
    /// Threads and what was shown below them.
    pub(super) lines: Vec<(String, String)>,
    /// Triggers by which a modal may be opened, once: whose they are.
    pub(super) triggers: HashMap<String, String>,
    /// The modal that a person has open.
    pub(super) modals: HashMap<String, Value>,
    /// Home tabs by person.
    pub(super) homes: HashMap<String, Value>,
    /// `response_url`s: channel, message, uses left.
    pub(super) urls: HashMap<String, (String, String, u32)>,
    pub(super) limits: Limits,
    pub(super) meter: Meter,
    pub(super) refusals: usize,
    pub(super) lost_answers: u32,
    pub(super) slow_answers: Duration,
    pub(super) duplicate_every: usize,
    pub(super) calls: Vec<String>,
    /// Tickets for a connection, and under which host they were asked for.
    pub(super) tickets: BTreeMap<String, String>,
    pub(super) visits: Vec<Visit>,
    pub(super) sockets: BTreeMap<u64, SocketEnd>,
    pub(super) pending: HashMap<String, Pending>,
    pub(super) greeted: usize,
    pub(super) most_open: usize,
    pub(super) events: usize,
    counter: u64,
    last_micros: u64,
}

impl State {
    pub(super) fn new(address: SocketAddr) -> Self {
        let random = || format!("{:016x}", RandomState::new().hash_one(0u8));
        Self {
            address,
            bot_token: ["xoxb", "-7-", &random(), &random()].concat(),
            app_token: ["xapp", "-7-", &random(), &random()].concat(),
            revoked: false,
            disabled: false,
            down: false,
            muted: false,
            mishaps: Mishaps::default(),
            scopes: ALL_SCOPES.map(str::to_owned).to_vec(),
            channels: BTreeMap::new(),
            people: BTreeMap::new(),
            groups: BTreeMap::new(),
            files: HashMap::new(),
            responses: Vec::new(),
            ephemerals: Vec::new(),
            lines: Vec::new(),
            triggers: HashMap::new(),
            modals: HashMap::new(),
            homes: HashMap::new(),
            urls: HashMap::new(),
            limits: Limits::none(),
            meter: Meter::default(),
            refusals: 0,
            lost_answers: 0,
            slow_answers: Duration::ZERO,
            duplicate_every: 0,
            calls: Vec::new(),
            tickets: BTreeMap::new(),
            visits: Vec::new(),
            sockets: BTreeMap::new(),
            pending: HashMap::new(),
            greeted: 0,
            most_open: 0,
            events: 0,
            counter: 0,
            last_micros: 0,
        }
    }

    /// Notes that somebody came.
    pub(super) fn visited(&mut self, host: &str, what: &str) {
        self.visits.push(Visit {
            host: host.to_owned(),
            what: what.to_owned(),
            at: SystemTime::now(),
        });
    }

    /// An id that nothing else has.
    pub(super) fn fresh(&mut self, prefix: &str) -> String {
        self.counter += 1;
        format!("{prefix}{:06}", self.counter)
    }

    /// A secret that nobody guesses.
    pub(super) fn key(&mut self) -> String {
        self.counter += 1;
        format!(
            "{:016x}{}",
            RandomState::new().hash_one(self.counter),
            self.counter
        )
    }

    /// Rising timestamps.
    pub(super) fn next_ts(&mut self) -> String {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let now = u64::try_from(now.as_micros()).unwrap_or(0);
        let now = now.saturating_add_signed(self.mishaps.ahead_s * 1_000_000);
        self.last_micros = now.max(self.last_micros + 1);
        format!(
            "{}.{:06}",
            self.last_micros / 1_000_000,
            self.last_micros % 1_000_000
        )
    }

    pub(super) fn add_channel(&mut self, name: &str, with_app: bool) -> String {
        let id = self.fresh("C0");
        let channel = Channel {
            name: name.to_owned(),
            with_app,
            private: false,
            archived: false,
            direct: false,
            people: BTreeSet::new(),
            messages: BTreeMap::new(),
        };
        self.channels.insert(id.clone(), channel);
        id
    }

    pub(super) fn place_of(&mut self, channel: &str) -> &mut Channel {
        self.channels.get_mut(channel).expect("a channel")
    }

    pub(super) fn channel_named(&self, name: &str) -> Option<String> {
        let mut all = self.channels.iter();
        let found = all.find(|(_, channel)| channel.name == name);
        found.map(|(id, _)| id.clone())
    }

    pub(super) fn person(&mut self, name: &str) -> String {
        let known = self.people.iter().find(|(_, known)| *known == name);
        if let Some((id, _)) = known {
            return id.clone();
        }
        let id = self.fresh("U0");
        self.people.insert(id.clone(), name.to_owned());
        id
    }

    pub(super) fn has(&self, scope: &str) -> bool {
        self.scopes.iter().any(|one| one == scope)
    }

    /// Writes a message and tells the app. `fields` are those of the author.
    pub(super) fn write(&mut self, channel: &str, thread: Option<&str>, fields: Value) -> String {
        let ts = self.next_ts();
        let mut message = fields;
        message["type"] = json!("message");
        message["ts"] = json!(ts);
        message["team"] = json!(TEAM);
        if let Some(thread) = thread {
            message["thread_ts"] = json!(thread);
        }
        let place = self.channels.get_mut(channel).expect("a channel");
        place.messages.insert(ts.clone(), message.clone());
        self.announce(channel, &message);
        if let Some(root) = thread {
            self.changed(channel, root, None);
        }
        let text = message["text"].as_str().unwrap_or_default().to_owned();
        if text.contains(&format!("<@{BOT_USER}>")) && self.has("app_mentions:read") {
            let mut mention = message.clone();
            mention["type"] = json!("app_mention");
            mention["channel"] = json!(channel);
            mention["event_ts"] = json!(ts);
            self.event(channel, &mention);
        }
        let unfurls = message.get("unfurl_links") != Some(&json!(false));
        if unfurls && text.contains("<http") {
            let page = json!({"attachments": [{"title": "a page"}]});
            self.changed(channel, &ts, Some(&page));
        }
        ts
    }

    /// The event of a new message. Of its metadata only the type is told.
    fn announce(&mut self, channel: &str, message: &Value) {
        let mut event = message.clone();
        event["channel"] = json!(channel);
        let direct = self.channels[channel].direct;
        event["channel_type"] = json!(if direct { "im" } else { "channel" });
        event["event_ts"] = message["ts"].clone();
        if message.get("metadata").is_some() {
            event["metadata"] = json!({"event_type": message["metadata"]["event_type"]});
        }
        self.message_event(channel, &event);
    }

    fn message_event(&mut self, channel: &str, event: &Value) {
        let scope = match self.channels[channel].direct {
            true => "im:history",
            false => "channels:history",
        };
        if self.has(scope) {
            self.event(channel, event);
        }
    }

    /// `message_changed`, which also comes when nobody edited anything.
    pub(super) fn changed(&mut self, channel: &str, ts: &str, fields: Option<&Value>) {
        let event_ts = self.next_ts();
        let place = self.channels.get_mut(channel).expect("a channel");
        let Some(message) = place.messages.get_mut(ts) else {
            return;
        };
        let previous = message.clone();
        for (name, value) in fields.and_then(Value::as_object).into_iter().flatten() {
            message[name] = value.clone();
        }
        let mut shown = [message.clone(), previous];
        for one in shown.iter_mut().filter(|one| one.get("metadata").is_some()) {
            one["metadata"] = json!({"event_type": one["metadata"]["event_type"]});
        }
        let [message, previous] = shown;
        let event = json!({"type": "message", "subtype": "message_changed", "hidden": true,
            "channel": channel, "channel_type": "channel", "ts": event_ts,
            "event_ts": event_ts, "message": message, "previous_message": previous});
        self.message_event(channel, &event);
    }

    pub(super) fn edit(&mut self, user: &str, channel: &str, ts: &str, text: &str) {
        let edit_ts = self.next_ts();
        let fields = json!({"text": text, "edited": {"user": user, "ts": edit_ts}});
        self.changed(channel, ts, Some(&fields));
    }

    pub(super) fn delete(&mut self, channel: &str, ts: &str) -> bool {
        let event_ts = self.next_ts();
        let place = self.channels.get_mut(channel).expect("a channel");
        let Some(previous) = place.messages.remove(ts) else {
            return false;
        };
        let event = json!({"type": "message", "subtype": "message_deleted", "hidden": true,
            "channel": channel, "channel_type": "channel", "ts": event_ts,
            "event_ts": event_ts, "deleted_ts": ts, "previous_message": previous});
        self.message_event(channel, &event);
        true
    }

    /// Adds or removes a reaction; false when there is nothing to do.
    pub(super) fn react(
        &mut self,
        user: &str,
        channel: &str,
        ts: &str,
        name: &str,
        add: bool,
    ) -> bool {
        let place = self.channels.get_mut(channel).expect("a channel");
        let Some(message) = place.messages.get_mut(ts) else {
            return false;
        };
        let mut all: Vec<(String, Vec<Value>)> = Vec::new();
        for one in message["reactions"].as_array().into_iter().flatten() {
            let name = one["name"].as_str().unwrap_or_default().to_owned();
            all.push((name, one["users"].as_array().cloned().unwrap_or_default()));
        }
        let at = match all.iter().position(|(known, _)| known == name) {
            Some(at) => at,
            None => {
                all.push((name.to_owned(), Vec::new()));
                all.len() - 1
            }
        };
        let users = &mut all[at].1;
        let stands = users.contains(&json!(user));
        if stands == add {
            return false;
        }
        if add {
            users.push(json!(user));
        } else {
            users.retain(|one| one != user);
        }
        let shown = all
            .iter()
            .filter(|(_, users)| !users.is_empty())
            .map(|(name, users)| json!({"name": name, "users": users, "count": users.len()}));
        message["reactions"] = shown.collect();
        let author = message.get("user").cloned();
        let event_ts = self.next_ts();
        let mut event = json!({"type": if add { "reaction_added" } else { "reaction_removed" },
            "user": user, "reaction": name, "event_ts": event_ts,
            "item": {"type": "message", "channel": channel, "ts": ts}});
        if let Some(author) = author {
            event["item_user"] = author;
        }
        if self.has("reactions:read") {
            self.event(channel, &event);
        }
        true
    }

    pub(super) fn click(&mut self, user: &str, channel: &str, ts: &str, action_id: &str) -> bool {
        let action_ts = self.next_ts();
        let key = self.key();
        let place = &self.channels[channel];
        let Some(message) = place.messages.get(ts).cloned() else {
            return false;
        };
        let root = message["thread_ts"].as_str().unwrap_or(ts).to_owned();
        let name = self.people.get(user).cloned().unwrap_or_default();
        self.urls
            .insert(key.clone(), (channel.to_owned(), ts.to_owned(), 5));
        let trigger = format!("{action_ts}.{TEAM}");
        self.triggers.insert(trigger.clone(), user.to_owned());
        let payload = json!({
            "type": "block_actions", "team": {"id": TEAM, "domain": "standin"},
            "user": {"id": user, "username": name, "name": name, "team_id": TEAM},
            "api_app_id": APP, "token": "legacy",
            "container": {"type": "message", "message_ts": ts, "channel_id": channel,
                "thread_ts": root, "is_ephemeral": false},
            "trigger_id": trigger,
            "channel": {"id": channel, "name": self.channels[channel].name},
            "message": message, "state": {"values": {}},
            "response_url": self.link(&format!("actions/{key}")),
            "actions": [{"type": "button", "action_id": action_id, "block_id": "b",
                "value": "v", "text": {"type": "plain_text", "text": "press"},
                "action_ts": action_ts}],
        });
        self.send("interactive", payload, true)
    }

    pub(super) fn command(&mut self, user: &str, channel: &str, command: &str, text: &str) -> bool {
        if !self.has("commands") {
            return false;
        }
        let key = self.key();
        let name = self.people.get(user).cloned().unwrap_or_default();
        self.urls
            .insert(key.clone(), (channel.to_owned(), String::new(), 5));
        let payload = json!({
            "token": "legacy", "team_id": TEAM, "team_domain": "standin", "channel_id": channel,
            "channel_name": self.channels[channel].name, "user_id": user, "user_name": name,
            "command": command, "text": text, "api_app_id": APP,
            "response_url": self.link(&format!("actions/{key}")),
            "trigger_id": key,
        });
        self.send("slash_commands", payload, true)
    }

    pub(super) fn messages(&self, channel: &str) -> Vec<Value> {
        self.channels[channel].messages.values().cloned().collect()
    }

    /// An event for the app, when it is in the channel.
    pub(super) fn event(&mut self, channel: &str, event: &Value) {
        if self.muted || !self.channels[channel].with_app {
            return;
        }
        let event_id = self.fresh("Ev");
        self.events += 1;
        let payload = json!({
            "token": "legacy", "team_id": TEAM, "api_app_id": APP, "type": "event_callback",
            "event_id": event_id, "event_time": 0, "is_ext_shared_channel": false,
            "authorizations": [{"enterprise_id": null, "team_id": TEAM, "user_id": BOT_USER,
                "is_bot": true, "is_enterprise_install": false}],
            "event": event,
        });
        let twice = self.duplicate_every > 0 && self.events.is_multiple_of(self.duplicate_every);
        self.send("events_api", payload.clone(), false);
        if twice {
            self.send_again(payload, 1);
        }
    }
}
