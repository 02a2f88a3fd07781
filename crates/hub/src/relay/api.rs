//! The methods whose answer needs Slack: everything that writes, and who we
//! are. All others are answered from the mirror, as in the embedded workspace.

use std::sync::Arc;

use butler_protocol::UserId;
use serde_json::{Value, json};

use super::{Relay, add};
use crate::{
    error::{Refusal, Result, refuse},
    relay::send::{Order, fallback, post},
    web_api::{
        Call, chat,
        files::{self as uploads, Upload},
    },
    workspace::{
        channels, message,
        react::{self, Reactor},
    },
};

/// Whether the relay answers a method itself.
pub(crate) fn answers(method: &str) -> bool {
    matches!(
        method,
        "auth.test"
            | "team.info"
            | "bots.info"
            | "users.info"
            | "conversations.create"
            | "chat.postMessage"
            | "chat.postEphemeral"
            | "chat.update"
            | "chat.delete"
            | "chat.getPermalink"
            | "reactions.add"
            | "reactions.remove"
            | "files.completeUploadExternal"
    )
}

/// Whether its answer takes a call of Slack.
pub(super) fn asks_slack(method: &str) -> bool {
    !matches!(
        method,
        "auth.test" | "team.info" | "bots.info" | "conversations.create"
    )
}

/// Answers it.
pub(crate) async fn call(relay: Arc<Relay>, method: &str, call: Call) -> Result<Value> {
    match method {
        "auth.test" => Ok(auth_test(&relay, &call)),
        "team.info" => Ok(json!({"team": {"id": relay.us.team, "name": "Slack"}})),
        "bots.info" => Ok(json!({"bot": {"id": relay.us.bot, "name": "codebutler",
            "user_id": relay.us.user, "deleted": false}})),
        "users.info" => users_info(&relay, &call).await,
        // A repo has the channel that its configuration names.
        "conversations.create" => refuse(Refusal::RestrictedAction),
        "chat.postMessage" => post_message(relay, call).await,
        "chat.postEphemeral" => post_ephemeral(&relay, &call).await,
        "chat.update" => update(&relay, &call).await,
        "chat.delete" => delete(&relay, &call).await,
        "chat.getPermalink" => permalink(&relay, &call).await,
        "reactions.add" => react(&relay, &call, true).await,
        "reactions.remove" => react(&relay, &call, false).await,
        "files.completeUploadExternal" => complete_upload(relay, call).await,
        _ => refuse(Refusal::UnknownMethod),
    }
}

/// Slack's ids, the hub's address: nothing of the token.
fn auth_test(relay: &Relay, call: &Call) -> Value {
    json!({
        "url": call.app.rules.base, "team": "Slack", "team_id": relay.us.team,
        "user": "codebutler", "user_id": relay.us.user, "bot_id": relay.us.bot,
        "is_enterprise_install": false,
        "codebutler": {"role": call.agent.role, "repo": call.agent.repo},
    })
}

async fn users_info(relay: &Relay, call: &Call) -> Result<Value> {
    let user = UserId::new(call.args.need("user", Refusal::UserNotFound)?);
    let person = relay.person(&call.app.as_owner(), &user).await?;
    let found = call.app.read(move |db| channels::user(db, &user)).await;
    Ok(
        json!({"user": found.unwrap_or_else(|_| json!({"id": person.id, "name": person.name,
        "real_name": person.name, "profile": {"display_name": person.name}}))}),
    )
}

async fn post_message(relay: Arc<Relay>, call: Call) -> Result<Value> {
    let order = Order {
        post: chat::post_or_card_of(&call).await?,
        agent: call.agent.clone(),
        fence: call.fence.clone(),
        files: Vec::new(),
    };
    post::post(relay, Arc::clone(&call.app), order).await
}

async fn post_ephemeral(relay: &Relay, call: &Call) -> Result<Value> {
    let user = call.args.need("user", Refusal::UserNotInChannel)?;
    let post = chat::post_of(call)?;
    let channel = post.channel.clone();
    call.read(move |db, agent| agent.may_use(db, &channel))
        .await?;
    let mut args = json!({"channel": post.channel, "user": user, "text": post.text});
    add(&mut args, "thread_ts", &post.thread_ts);
    add(&mut args, "blocks", &post.blocks);
    add(&mut args, "attachments", &post.attachments);
    add(&mut args, "username", &post.username);
    add(&mut args, "icon_emoji", &post.icon_emoji);
    let answered = fallback::call(relay, "chat.postEphemeral", args).await?;
    Ok(json!({"message_ts": answered["message_ts"]}))
}

/// Slack first: what stands there is the truth. A change that was carried out
/// twice is the same change.
async fn update(relay: &Relay, call: &Call) -> Result<Value> {
    let change = chat::change_of(call)?;
    let agent = call.agent.clone();
    let (channel, ts) = (change.channel.clone(), change.ts.clone());
    call.read(move |db, agent| {
        chat::own_message(db, agent, &channel, &ts, Refusal::CantUpdateMessage).map(drop)
    })
    .await?;
    let mut args = json!({"channel": change.channel, "ts": change.ts, "text": change.text});
    add(&mut args, "blocks", &change.blocks);
    add(&mut args, "attachments", &change.attachments);
    add(&mut args, "metadata", &change.metadata);
    fallback::call(relay, "chat.update", args).await?;
    call.app
        .write_as_owner(move |tx| chat::apply(tx, &agent, change))
        .await
}

async fn delete(relay: &Relay, call: &Call) -> Result<Value> {
    let (channel, ts) = (call.args.channel()?, call.args.message()?);
    let place = (channel.clone(), ts.clone());
    let look = call.read(move |db, agent| {
        chat::own_message(db, agent, &place.0, &place.1, Refusal::CantDeleteMessage)
    });
    let old = look.await?;
    let args = json!({"channel": channel, "ts": ts});
    match relay.upstream.call("chat.delete", &args).await {
        Ok(_) => {}
        // Gone already, perhaps by our own first try.
        Err(error) if error.refusal() == Some(Refusal::MessageNotFound) => {}
        Err(error) => return Err(error.into()),
    }
    let answer = json!({"channel": channel, "ts": ts});
    call.app
        .write_as_owner(move |tx| match message::find(tx.db(), &channel, &ts)? {
            Some(_) => message::delete(tx, &channel, &old),
            None => Ok(()),
        })
        .await?;
    Ok(answer)
}

async fn permalink(relay: &Relay, call: &Call) -> Result<Value> {
    let channel = call.args.channel()?;
    let ts = call.args.need("message_ts", Refusal::MessageNotFound)?;
    call.read_in(&channel, |_| Ok(())).await?;
    let args = json!({"channel": channel, "message_ts": ts});
    let answer = relay.upstream.call("chat.getPermalink", &args).await?;
    Ok(json!({"channel": channel, "permalink": answer["permalink"]}))
}

async fn react(relay: &Relay, call: &Call, add: bool) -> Result<Value> {
    let (channel, name) = (
        call.args.channel()?,
        call.args.need("name", Refusal::InvalidName)?,
    );
    let (place, ts) = (channel.clone(), call.args.item()?);
    call.read(move |db, agent| agent.may_use(db, &place))
        .await?;
    let method = match add {
        true => "reactions.add",
        false => "reactions.remove",
    };
    let args = json!({"channel": channel, "timestamp": ts, "name": name.trim_matches(':')});
    match relay.upstream.call(method, &args).await {
        Ok(_) => {}
        // Perhaps our own first try, whose answer was lost: the mirror knows.
        Err(error)
            if matches!(
                error.refusal(),
                Some(Refusal::AlreadyReacted | Refusal::NoReaction)
            ) => {}
        Err(error) => return Err(error.into()),
    }
    let reactor = Reactor::RoleAs(call.agent.role, relay.us.user.clone());
    call.app
        .write_as_owner(move |tx| react::react(tx, &reactor, &channel, &ts, &name, add))
        .await?;
    Ok(json!({}))
}

/// The bytes are in the hub; from here they go to Slack like any other part of
/// a post. Without a channel there is nobody to show them to.
async fn complete_upload(relay: Arc<Relay>, call: Call) -> Result<Value> {
    let base = call.app.rules.base.clone();
    let Upload { wanted, post } = uploads::upload_of(&call, base.clone())?;
    let ids: Vec<String> = wanted.iter().map(|(id, _)| id.clone()).collect();
    let (agent, fence) = (call.agent.clone(), call.fence.clone());
    let channel = post.as_ref().map(|post| post.channel.clone());
    // The files are known here; their bytes go to Slack with the message.
    let settle = call.app.write_as_owner(move |tx| {
        agent.check_fence(tx.db(), fence.as_ref())?;
        uploads::settled(tx.db(), &agent.repo, &wanted, channel.as_ref(), &base)
    });
    let mut answer = json!({"files": settle.await?});
    if let Some(post) = post {
        let order = Order {
            agent: call.agent.clone(),
            fence: call.fence.clone(),
            post,
            files: ids,
        };
        let posted = post::post(relay, Arc::clone(&call.app), order).await?;
        answer["codebutler"] = json!({"ts": posted["ts"]});
    }
    Ok(answer)
}
