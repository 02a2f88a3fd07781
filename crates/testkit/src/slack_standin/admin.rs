//! What administrators and networks do to an app: channels that get another name or
//! are closed, tokens without a right, a firewall, a clock of its own.

use serde_json::json;

use super::{
    SlackStandIn,
    state::{BOT_USER, State},
};

/// What goes wrong on purpose.
#[derive(Debug, Default)]
pub(super) struct Mishaps {
    /// The app-level token was made without `connections:write`.
    pub(super) no_connections: bool,
    /// Something on the way lets no WebSocket through.
    pub(super) blocked: bool,
    /// Blocks of this type are not known here yet.
    pub(super) refused_block: Option<String>,
    /// Triggers are too old when they arrive: no modal opens.
    pub(super) late_triggers: bool,
    /// How many seconds Slack's clock is ahead of ours.
    pub(super) ahead_s: i64,
    /// The name by which others reach it, instead of its address.
    pub(super) host: Option<String>,
    /// The way there is encrypted.
    pub(super) encrypted: bool,
}

impl State {
    /// Where it is reached, as in `127.0.0.1:1234`.
    fn place(&self) -> String {
        let host = self.mishaps.host.clone();
        host.unwrap_or_else(|| self.address.to_string())
    }

    /// An address here, by plain or encrypted HTTP.
    pub(super) fn link(&self, path: &str) -> String {
        let s = if self.mishaps.encrypted { "s" } else { "" };
        format!("http{s}://{}/{path}", self.place())
    }

    fn about(&mut self, channel: &str, event: &serde_json::Value) {
        let mut event = event.clone();
        event["event_ts"] = json!(self.next_ts());
        self.event(channel, &event);
    }
}

impl SlackStandIn {
    /// The app-level token lacks `connections:write`, or has it again.
    pub fn without_connections(&self, lacks: bool) {
        self.shared.lock().mishaps.no_connections = lacks;
    }

    /// Begins or ends to let no WebSocket through; open ones are cut.
    pub fn block_sockets(&self, blocked: bool) {
        self.shared.lock().mishaps.blocked = blocked;
        if blocked {
            self.disconnect(super::Disconnect::Abrupt);
        }
    }

    /// Refuses messages with a block of this type.
    pub fn refuse_blocks(&self, kind: &str) {
        self.shared.lock().mishaps.refused_block = Some(kind.to_owned());
    }

    /// Sets Slack's clock ahead of this machine's, or behind it.
    pub fn clock_ahead_s(&self, seconds: i64) {
        self.shared.lock().mishaps.ahead_s = seconds;
    }

    /// Gives out addresses under this name and port, which a proxy knows.
    pub fn reached_as(&self, host: &str) {
        self.shared.lock().mishaps.host = Some(host.to_owned());
    }

    /// As [`Self::reached_as`], over TLS.
    pub fn reached_encrypted_as(&self, host: &str) {
        self.reached_as(host);
        self.shared.lock().mishaps.encrypted = true;
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> std::net::SocketAddr {
        self.address
    }

    /// Somebody gives a channel another name.
    pub fn rename(&self, channel: &str, name: &str) {
        let mut state = self.shared.lock();
        state.place_of(channel).name = name.to_owned();
        let event = json!({"type": "channel_rename",
            "channel": {"id": channel, "name": name, "created": 0}});
        state.about(channel, &event);
    }

    /// Somebody archives a channel, or brings it back.
    pub fn archive(&self, channel: &str, archived: bool) {
        let mut state = self.shared.lock();
        state.place_of(channel).archived = archived;
        let kind = match archived {
            true => "channel_archive",
            false => "channel_unarchive",
        };
        let event = json!({"type": kind, "channel": channel, "user": "U0ADMIN"});
        state.about(channel, &event);
    }

    /// Somebody removes the app from a channel.
    pub fn remove_app(&self, channel: &str) {
        let mut state = self.shared.lock();
        let event = json!({"type": "channel_left", "channel": channel, "actor_id": "U0ADMIN"});
        state.about(channel, &event);
        state.place_of(channel).with_app = false;
    }

    /// Somebody invites the app.
    pub fn invite_app(&self, channel: &str) {
        let mut state = self.shared.lock();
        state.place_of(channel).with_app = true;
        let event = json!({"type": "member_joined_channel", "user": BOT_USER, "channel": channel,
            "channel_type": "C", "inviter": "U0ADMIN"});
        state.about(channel, &event);
    }

    /// Somebody deletes a channel for good.
    pub fn delete_channel(&self, channel: &str) {
        let mut state = self.shared.lock();
        let event = json!({"type": "channel_deleted", "channel": channel});
        state.about(channel, &event);
        state.channels.remove(channel);
    }

    /// A person writes to the app itself; the conversation is answered.
    pub fn say_directly(&self, user: &str, text: &str) -> String {
        let mut state = self.shared.lock();
        let name = format!("direct-{user}");
        let channel = match state.channel_named(&name) {
            Some(channel) => channel,
            None => {
                let channel = state.add_channel(&name, true);
                state.place_of(&channel).private = true;
                state.place_of(&channel).direct = true;
                channel
            }
        };
        state.write(&channel, None, json!({"user": user, "text": text}));
        channel
    }

    /// A person opens the app's home tab.
    pub fn open_home(&self, user: &str, channel: &str) {
        let event = json!({"type": "app_home_opened", "user": user, "channel": "D0HOME",
            "tab": "home"});
        self.shared.lock().about(channel, &event);
    }

    /// Threads and what was shown below them about who works, oldest first.
    #[must_use]
    pub fn lines(&self) -> Vec<(String, String)> {
        self.shared.lock().lines.clone()
    }

    /// What a person's home tab shows.
    #[must_use]
    pub fn home(&self, user: &str) -> Option<serde_json::Value> {
        self.shared.lock().homes.get(user).cloned()
    }

    /// A person uses a shortcut on a message; false as with [`SlackStandIn::click`].
    pub fn shortcut(&self, user: &str, channel: &str, ts: &str, callback: &str) -> bool {
        let mut state = self.shared.lock();
        let key = state.key();
        state
            .urls
            .insert(key.clone(), (channel.to_owned(), ts.to_owned(), 5));
        let payload = json!({"type": "message_action", "callback_id": callback,
            "trigger_id": key, "user": {"id": user}, "channel": {"id": channel},
            "message": state.channels[channel].messages.get(ts),
            "response_url": state.link(&format!("actions/{key}"))});
        state.send("interactive", payload, false)
    }

    /// Who is in a channel, besides the app.
    #[must_use]
    pub fn members(&self, channel: &str) -> Vec<String> {
        let state = self.shared.lock();
        state.channels[channel].people.iter().cloned().collect()
    }
}
