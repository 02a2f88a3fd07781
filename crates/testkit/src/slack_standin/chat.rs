//! What an app posts, changes and deletes.

use serde_json::{Value, json};

use super::{
    state::{APP, BOT, BOT_USER, State, TEAM},
    web::{Answer, Args, no},
};

/// The channel of a call, when the app may write there.
fn place(state: &State, args: &Args) -> Result<String, Value> {
    let Some(channel) = args.text("channel") else {
        return no("channel_not_found");
    };
    match state.channels.get(&channel) {
        None => no("channel_not_found"),
        Some(place) if place.archived => no("is_archived"),
        Some(place) if !place.with_app => no("not_in_channel"),
        Some(_) => Ok(channel),
    }
}

pub(super) fn post(state: &mut State, args: &Args) -> Answer {
    let channel = place(state, args)?;
    let text = args.text("text").unwrap_or_default();
    if text.is_empty() && args.get("blocks").is_none() {
        return no("no_text");
    }
    if text.len() > 40_000 {
        return no("msg_too_long");
    }
    known_blocks(state, args)?;
    let thread = args.text("thread_ts");
    if let Some(thread) = &thread
        && !state.channels[&channel].messages.contains_key(thread)
    {
        return no("thread_not_found");
    }
    let mut message = author(state, args)?;
    message["text"] = json!(text);
    for name in ["blocks", "metadata"] {
        if let Some(value) = args.get(name) {
            message[name] = value.clone();
        }
    }
    if args.get("unfurl_links").is_some() && !args.flag("unfurl_links") {
        message["unfurl_links"] = json!(false);
    }
    let ts = state.write(&channel, thread.as_deref(), message);
    let message = state.channels[&channel].messages[&ts].clone();
    Ok(json!({"channel": channel, "ts": ts, "message": message}))
}

/// Roll-outs are gradual: not every workspace knows every block.
fn known_blocks(state: &State, args: &Args) -> Result<(), Value> {
    let Some(refused) = &state.mishaps.refused_block else {
        return Ok(());
    };
    let blocks = args.get("blocks").and_then(Value::as_array);
    let at = blocks
        .into_iter()
        .flatten()
        .position(|block| block["type"] == json!(refused));
    match at {
        None => Ok(()),
        Some(at) => Err(json!({"ok": false, "error": "invalid_blocks",
            "response_metadata": {"messages":
                [format!("[ERROR] unsupported type: {refused} [json-pointer:/blocks/{at}/type]")]}})),
    }
}

/// A post under a custom name has no user and a subtype; a plain one is the
/// other way round.
fn author(state: &State, args: &Args) -> Result<Value, Value> {
    let Some(username) = args.text("username") else {
        return Ok(json!({"user": BOT_USER, "bot_id": BOT, "app_id": APP,
            "bot_profile": {"id": BOT, "app_id": APP, "name": "codebutler", "team_id": TEAM}}));
    };
    if !state.has("chat:write.customize") {
        return Err(json!({"ok": false, "error": "missing_scope",
            "needed": "chat:write.customize", "provided": state.scopes.join(",")}));
    }
    Ok(
        json!({"subtype": "bot_message", "username": username, "bot_id": BOT, "app_id": APP,
        "icons": {"emoji": args.text("icon_emoji")}}),
    )
}

pub(super) fn ephemeral(state: &mut State, args: &Args) -> Answer {
    let channel = place(state, args)?;
    let user = args.text("user").unwrap_or_default();
    if !state.people.contains_key(&user) {
        return no("user_not_in_channel");
    }
    let ts = state.next_ts();
    state
        .ephemerals
        .push(json!({"channel": channel, "user": user, "ts": ts,
        "text": args.text("text"), "thread_ts": args.text("thread_ts")}));
    Ok(json!({"message_ts": ts}))
}

/// Our own message, by the `ts` of a call.
fn own(state: &State, args: &Args, refusal: &str) -> Result<(String, String), Value> {
    let channel = place(state, args)?;
    let ts = args.text("ts").unwrap_or_default();
    match state.channels[&channel].messages.get(&ts) {
        None => no("message_not_found"),
        Some(message) if message["bot_id"] != json!(BOT) => no(refusal),
        Some(_) => Ok((channel, ts)),
    }
}

pub(super) fn update(state: &mut State, args: &Args) -> Answer {
    let (channel, ts) = own(state, args, "cant_update_message")?;
    known_blocks(state, args)?;
    let text = args.text("text").unwrap_or_default();
    if text.len() > 4_000 {
        return no("msg_too_long");
    }
    let edit_ts = state.next_ts();
    let mut fields = json!({"blocks": args.get("blocks").cloned().unwrap_or(json!([]))});
    if !text.is_empty() {
        fields["text"] = json!(text);
        fields["edited"] = json!({"user": BOT_USER, "ts": edit_ts});
    }
    if let Some(metadata) = args.get("metadata") {
        fields["metadata"] = metadata.clone();
    }
    state.changed(&channel, &ts, Some(&fields));
    let message = state.channels[&channel].messages[&ts].clone();
    Ok(json!({"channel": channel, "ts": ts, "text": message["text"], "message": message}))
}

pub(super) fn delete(state: &mut State, args: &Args) -> Answer {
    let (channel, ts) = own(state, args, "cant_delete_message")?;
    state.delete(&channel, &ts);
    Ok(json!({"channel": channel, "ts": ts}))
}

pub(super) fn permalink(state: &mut State, args: &Args) -> Answer {
    let channel = place(state, args)?;
    let ts = args.text("message_ts").unwrap_or_default();
    if !state.channels[&channel].messages.contains_key(&ts) {
        return no("message_not_found");
    }
    let link = format!(
        "https://standin.slack.com/archives/{channel}/p{}",
        ts.replace('.', "")
    );
    Ok(json!({"channel": channel, "permalink": link}))
}

pub(super) fn react(state: &mut State, args: &Args, add: bool) -> Answer {
    let channel = place(state, args)?;
    let ts = args.text("timestamp").unwrap_or_default();
    let name = args.text("name").unwrap_or_default();
    if !state.channels[&channel].messages.contains_key(&ts) {
        return no("message_not_found");
    }
    if state.react(BOT_USER, &channel, &ts, &name, add) {
        Ok(json!({}))
    } else {
        no(if add {
            "already_reacted"
        } else {
            "no_reaction"
        })
    }
}

/// The home tab of one person.
pub(super) fn publish(state: &mut State, args: &Args) -> Answer {
    let user = args.text("user_id").unwrap_or_default();
    let Some(view) = args.get("view").cloned() else {
        return no("invalid_arguments");
    };
    state.homes.insert(user, view.clone());
    Ok(json!({"view": view}))
}

/// The line below a thread about who works there.
pub(super) fn status(state: &mut State, args: &Args) -> Answer {
    let text = |name: &str| args.text(name).unwrap_or_default();
    let line = (text("thread_ts"), text("status"));
    state.lines.push(line);
    Ok(json!({}))
}
