//! Which method is carried out by what. Arguments are read where the store is: a method
//! is a function of the call and of what the store has.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Call, assistant, changes, chat, conversations, files, pins, reactions, views, who};
use crate::{
    error::{Refusal, Result, refuse},
    relay,
    store::{Db, Tx},
};

/// How a method is carried out.
enum Method {
    /// It tells what needs no store.
    Tell(fn(&Call) -> Result<Value>),
    /// It looks something up.
    Look(fn(&Db, &Call) -> Result<Value>),
    /// It changes something, unless a newer process has replaced the caller.
    Change(fn(&mut Tx<'_>, &Call) -> Result<Value>),
    /// A message or a card, whose body is looked up before.
    Post,
}

use Method::{Change, Look, Post, Tell};

pub(crate) async fn by_method(name: &str, mut call: Call) -> Result<Value> {
    let app = Arc::clone(&call.app);
    let method = match &app.relay {
        None => of_agents(name).or_else(|| of_apps(name)),
        Some(_) => of_agents(name),
    };
    let Some(method) = method else {
        return refuse(match &app.relay {
            None => not_for_apps(name),
            Some(_) => Refusal::UnknownMethod,
        });
    };
    if matches!(name, "chat.postMessage" | "chat.scheduleMessage") {
        conversations::by_name(&mut call).await?;
    }
    if let Some(relay) = app.relay.clone()
        && relay::answers(name)
    {
        return relay::call(relay, name, call).await;
    }
    match method {
        Tell(tell) => tell(&call),
        Look(look) => app.read(move |db| look(db, &call)).await,
        Change(change) => {
            let work = move |tx: &mut Tx<'_>| {
                call.agent.check_fence(tx.db(), call.fence.as_ref())?;
                change(tx, &call)
            };
            app.write(work).await
        }
        Post => chat::post_message(call).await,
    }
}

/// What our agents use, beside a real Slack as well.
fn of_agents(name: &str) -> Option<Method> {
    Some(match name {
        "auth.test" => Tell(who::auth_test),
        "team.info" => Tell(who::team_info),
        "bots.info" => Tell(who::bots_info),
        "users.info" => Look(who::users_info),
        "users.list" => Look(who::users_list),
        "conversations.list" => Look(conversations::list),
        "conversations.info" => Look(conversations::info),
        "conversations.create" => Change(conversations::create),
        "conversations.join" => Change(changes::join),
        "conversations.members" => Look(conversations::members),
        "conversations.history" => Look(conversations::history),
        "conversations.replies" => Look(conversations::replies),
        "chat.postMessage" => Post,
        "chat.postEphemeral" => Change(chat::post_ephemeral),
        "chat.update" => Change(chat::update),
        "chat.delete" => Change(chat::delete),
        "chat.getPermalink" => Look(chat::get_permalink),
        "reactions.add" => Change(|tx, call| reactions::change(tx, call, true)),
        "reactions.remove" => Change(|tx, call| reactions::change(tx, call, false)),
        "reactions.get" => Look(reactions::get),
        "reactions.list" => Look(reactions::list),
        "files.getUploadURLExternal" => Change(files::get_upload_url),
        "files.completeUploadExternal" => Change(files::complete_upload),
        "files.info" => Look(files::info),
        "users.conversations" => Look(conversations::of_user),
        "users.lookupByEmail" => Look(who::lookup_by_email),
        "users.profile.get" => Look(who::profile),
        "users.getPresence" => Look(who::presence),
        "emoji.list" => Tell(|_| Ok(json!({"emoji": {}, "cache_ts": "0"}))),
        "usergroups.list" => Tell(|_| Ok(json!({"usergroups": []}))),
        "usergroups.users.list" => Tell(|_| refuse(Refusal::NoSuchSubteam)),
        _ => return None,
    })
}

/// What apps of others expect, and ours do without: it changes what only the built-in
/// workspace keeps.
fn of_apps(name: &str) -> Option<Method> {
    Some(match name {
        "conversations.open" => Change(changes::open),
        "conversations.close" => Look(changes::close),
        "conversations.invite" => Change(changes::invite),
        "conversations.kick" => Change(changes::kick),
        "conversations.leave" => Change(changes::leave),
        "conversations.setTopic" => Change(|tx, call| changes::describe(tx, call, "topic")),
        "conversations.setPurpose" => Change(|tx, call| changes::describe(tx, call, "purpose")),
        "conversations.archive" => Change(|tx, call| changes::put_away(tx, call, true)),
        "conversations.unarchive" => Change(|tx, call| changes::put_away(tx, call, false)),
        "conversations.rename" => Change(changes::rename),
        "conversations.mark" => Look(changes::mark),
        "chat.scheduleMessage" => Change(chat::schedule::schedule),
        "chat.deleteScheduledMessage" => Change(chat::schedule::delete),
        "chat.scheduledMessages.list" => Look(chat::schedule::list),
        "chat.meMessage" => Change(chat::unfurl::me_message),
        "chat.unfurl" => Change(chat::unfurl::unfurl),
        "chat.startStream" => Change(chat::streams::start),
        "chat.appendStream" => Change(|tx, call| chat::streams::go_on(tx, call, false)),
        "chat.stopStream" => Change(|tx, call| chat::streams::go_on(tx, call, true)),
        "pins.add" => Change(|tx, call| pins::pin(tx, call, true)),
        "pins.remove" => Change(|tx, call| pins::pin(tx, call, false)),
        "pins.list" => Look(pins::list),
        "bookmarks.add" => Change(pins::add_bookmark),
        "bookmarks.edit" => Change(pins::edit_bookmark),
        "bookmarks.remove" => Change(pins::remove_bookmark),
        "bookmarks.list" => Look(pins::bookmarks),
        "files.list" => Look(files::list),
        "files.delete" => Change(files::delete),
        "views.open" => Change(views::open),
        "views.push" => Change(views::push),
        "views.update" => Change(views::update),
        "views.publish" => Change(views::publish),
        "assistant.threads.setStatus" => Change(assistant::set_status),
        "assistant.threads.setTitle" | "agents.sessions.rename" => Change(assistant::set_title),
        "agents.sessions.setStatus" => Change(assistant::set_session),
        "assistant.threads.setSuggestedPrompts" => Change(assistant::set_prompts),
        _ => return None,
    })
}

/// What Slack has and refuses to an app like ours, as it refuses it; the rest is unknown.
fn not_for_apps(name: &str) -> Refusal {
    match name.split('.').next().unwrap_or_default() {
        "admin" | "reminders" | "search" | "stars" => Refusal::NotAllowedTokenType,
        "calls" | "canvases" | "dnd" | "slackLists" | "usergroups" => Refusal::MissingScope,
        _ => Refusal::UnknownMethod,
    }
}
