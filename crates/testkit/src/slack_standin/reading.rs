//! What an app reads: who it is, people, channels, history. Pages are short on
//! purpose, and replies repeat the parent on each of them.

use serde_json::{Value, json};

use super::{
    state::{APP, BOT, BOT_USER, Channel, State, TEAM},
    web::{Answer, Args, no},
};

pub(super) fn auth_test(state: &State) -> Answer {
    Ok(
        json!({"url": state.link(""), "team": "Stand-in", "team_id": TEAM,
        "user": "codebutler", "user_id": BOT_USER, "bot_id": BOT,
        "is_enterprise_install": false}),
    )
}

pub(super) fn connections_open(state: &mut State) -> Answer {
    let mut visits = state.visits.iter().rev();
    let asked = visits.find(|visit| visit.what == "apps.connections.open");
    let host = asked.map(|visit| visit.host.clone()).unwrap_or_default();
    if state.disabled {
        return no("not_allowed_token_type");
    }
    let ticket = state.key();
    state.tickets.insert(ticket.clone(), host);
    let url = state.link(&format!("link/?ticket={ticket}&app_id={APP}"));
    let url = url.replacen("http", "ws", 1);
    Ok(json!({"url": url}))
}

fn person(id: &str, name: &str) -> Value {
    json!({"id": id, "team_id": TEAM, "name": name, "real_name": name, "deleted": false,
        "is_bot": id == BOT_USER, "profile": {"display_name": name, "real_name": name}})
}

pub(super) fn user(state: &State, args: &Args) -> Answer {
    let id = args.text("user").unwrap_or_default();
    match state.people.get(&id) {
        Some(name) => {
            let mut shown = person(&id, name);
            shown["is_restricted"] = json!(name.starts_with("guest"));
            if name.starts_with("stranger") {
                shown["team_id"] = json!("T0OTHER");
            }
            Ok(json!({"user": shown}))
        }
        None if id == BOT_USER => Ok(json!({"user": person(&id, "codebutler")})),
        None => no("user_not_found"),
    }
}

pub(super) fn users(state: &State) -> Answer {
    let all = state.people.iter().map(|(id, name)| person(id, name));
    Ok(json!({"members": all.collect::<Vec<_>>(), "response_metadata": {"next_cursor": ""}}))
}

pub(super) fn group(state: &State, args: &Args) -> Answer {
    let members = args.text("usergroup").and_then(|id| state.groups.get(&id));
    members.map_or_else(
        || no("no_such_subteam"),
        |users| Ok(json!({"users": users})),
    )
}

fn shown(id: &str, channel: &Channel) -> Value {
    json!({"id": id, "name": channel.name, "is_channel": true, "is_private": channel.private,
        "is_archived": channel.archived,
        "is_member": channel.with_app && !channel.archived})
}

/// Two channels per page.
pub(super) fn channels(state: &State, args: &Args) -> Answer {
    let start: usize = args
        .text("cursor")
        .and_then(|at| at.parse().ok())
        .unwrap_or(0);
    let all: Vec<Value> = state
        .channels
        .iter()
        .filter(|(_, one)| (one.with_app || !one.private) && !one.direct)
        .filter(|(_, one)| !one.archived || !args.flag("exclude_archived"))
        .map(|(id, one)| shown(id, one))
        .collect();
    let end = (start + 2).min(all.len());
    let next = if end < all.len() {
        end.to_string()
    } else {
        String::new()
    };
    Ok(json!({"channels": all[start.min(end)..end], "response_metadata": {"next_cursor": next}}))
}

fn place<'a>(state: &'a State, args: &Args) -> Result<(String, &'a Channel), Value> {
    let id = args.text("channel").unwrap_or_default();
    match state.channels.get(&id) {
        Some(channel) if channel.with_app || !channel.private => Ok((id, channel)),
        _ => no("channel_not_found"),
    }
}

pub(super) fn channel(state: &State, args: &Args) -> Answer {
    let (id, channel) = place(state, args)?;
    Ok(json!({"channel": shown(&id, channel)}))
}

/// Whoever is in a channel; everybody where nobody was ever invited.
pub(super) fn members(state: &State, args: &Args) -> Answer {
    let (_, channel) = place(state, args)?;
    let mut all: Vec<&String> = match channel.people.is_empty() {
        true => state.people.keys().collect(),
        false => channel.people.iter().collect(),
    };
    let bot = BOT_USER.to_owned();
    all.push(&bot);
    Ok(json!({"members": all, "response_metadata": {"next_cursor": ""}}))
}

pub(super) fn join(state: &mut State, args: &Args) -> Answer {
    let (id, _) = place(state, args)?;
    let channel = state.place_of(&id);
    if channel.archived {
        return no("is_archived");
    }
    if channel.private && !channel.with_app {
        return no("method_not_supported_for_channel_type");
    }
    channel.with_app = true;
    Ok(json!({"channel": shown(&id, channel)}))
}

pub(super) fn create(state: &mut State, args: &Args) -> Answer {
    let name = args.text("name").unwrap_or_default();
    if state.channel_named(&name).is_some() {
        return no("name_taken");
    }
    let id = state.add_channel(&name, true);
    Ok(json!({"channel": shown(&id, &state.channels[&id])}))
}

pub(super) fn invite(state: &mut State, args: &Args) -> Answer {
    let (id, channel) = place(state, args)?;
    if !channel.with_app {
        return no("not_in_channel");
    }
    let users = args.text("users").unwrap_or_default();
    for user in users.split(',') {
        if !state.people.contains_key(user) {
            return no("user_not_found");
        }
        if !state.place_of(&id).people.insert(user.to_owned()) {
            return no("already_in_channel");
        }
    }
    Ok(json!({"channel": shown(&id, &state.channels[&id])}))
}

pub(super) fn archive(state: &mut State, args: &Args) -> Answer {
    let (id, _) = place(state, args)?;
    state.place_of(&id).archived = true;
    Ok(json!({}))
}

struct Page {
    oldest: Option<String>,
    latest: Option<String>,
    inclusive: bool,
    limit: usize,
    cursor: Option<String>,
    all_metadata: bool,
}

impl Page {
    fn of(args: &Args) -> Self {
        let limit = args.text("limit").and_then(|limit| limit.parse().ok());
        Self {
            oldest: args.text("oldest"),
            latest: args.text("latest"),
            inclusive: args.flag("inclusive"),
            limit: limit.unwrap_or(100).min(999),
            cursor: args.text("cursor"),
            all_metadata: args.flag("include_all_metadata"),
        }
    }

    fn holds(&self, ts: &str) -> bool {
        let above = self
            .oldest
            .as_deref()
            .is_none_or(|edge| ts > edge || (self.inclusive && ts == edge));
        let below = self
            .latest
            .as_deref()
            .is_none_or(|edge| ts < edge || (self.inclusive && ts == edge));
        above && below
    }
}

/// A message as it is read: replies counted, metadata whole only when asked for.
fn read(channel: &Channel, message: &Value, page: &Page) -> Value {
    let mut message = message.clone();
    if !page.all_metadata && message.get("metadata").is_some() {
        message["metadata"] = json!({"event_type": message["metadata"]["event_type"]});
    }
    let ts = message["ts"].as_str().unwrap_or_default().to_owned();
    let replies = replies_of(channel, &ts);
    if let Some(last) = replies.last() {
        message["thread_ts"] = json!(ts);
        message["reply_count"] = json!(replies.len());
        message["latest_reply"] = last["ts"].clone();
    }
    message
}

fn replies_of<'a>(channel: &'a Channel, root: &str) -> Vec<&'a Value> {
    let all = channel.messages.values();
    all.filter(|message| message["thread_ts"].as_str() == Some(root) && message["ts"] != root)
        .collect()
}

pub(super) fn history(state: &State, args: &Args) -> Answer {
    let (_, channel) = place(state, args)?;
    if !channel.with_app {
        return no("not_in_channel");
    }
    let page = Page::of(args);
    let mut found: Vec<Value> = Vec::new();
    let mut next = String::new();
    for (ts, message) in channel.messages.iter().rev() {
        let top = message["thread_ts"].is_null() || message["thread_ts"] == json!(ts);
        let fresh = page
            .cursor
            .as_deref()
            .is_none_or(|cursor| ts.as_str() < cursor);
        if !top || !fresh || !page.holds(ts) {
            continue;
        }
        if found.len() == page.limit {
            next = found[found.len() - 1]["ts"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            break;
        }
        found.push(read(channel, message, &page));
    }
    Ok(json!({"messages": found, "has_more": !next.is_empty(),
        "response_metadata": {"next_cursor": next}}))
}

pub(super) fn replies(state: &State, args: &Args) -> Answer {
    let (_, channel) = place(state, args)?;
    let root = args.text("ts").unwrap_or_default();
    let Some(parent) = channel.messages.get(&root) else {
        return no("thread_not_found");
    };
    let page = Page::of(args);
    let mut found = vec![read(channel, parent, &page)];
    let mut next = String::new();
    for reply in replies_of(channel, &root) {
        let ts = reply["ts"].as_str().unwrap_or_default();
        let fresh = page.cursor.as_deref().is_none_or(|cursor| ts > cursor);
        if !fresh || !page.holds(ts) {
            continue;
        }
        if found.len() > page.limit {
            next = found[found.len() - 1]["ts"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            break;
        }
        found.push(read(channel, reply, &page));
    }
    Ok(json!({"messages": found, "has_more": !next.is_empty(),
        "response_metadata": {"next_cursor": next}}))
}

pub(super) fn reactions(state: &State, args: &Args) -> Answer {
    let (id, channel) = place(state, args)?;
    let ts = args.text("timestamp").unwrap_or_default();
    match channel.messages.get(&ts) {
        Some(message) => Ok(json!({"type": "message", "channel": id, "message": message})),
        None => no("message_not_found"),
    }
}
