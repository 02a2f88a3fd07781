//! Finds a repo's channel in Slack and keeps to it. Once found it is known by its id,
//! whatever people call it later: a second channel is never made while there is one.

use butler_protocol::ChannelId;
use butler_slack::SlackError;
use serde_json::{Value, json};
use tracing::{info, warn};

use crate::{
    HubError,
    error::{Refusal, Result},
    hub::OwnersStore,
    relay::{
        RepoChannel,
        channels::{recall, refused, remember},
        send::upstream::Upstream,
    },
    store::{Db, params},
};

/// Finds a repo's channel, makes or joins it, and takes it up.
pub(super) async fn settle(
    store: &OwnersStore<'_>,
    upstream: &Upstream,
    wanted: &RepoChannel,
) -> Result<(), HubError> {
    let (repo, name) = (wanted.repo.clone(), wanted.name.clone());
    let kept = store.read(move |db| kept(db, &repo, &name)).await?;
    let channel = find(upstream, wanted, kept).await?;
    let id = channel["id"].as_str().unwrap_or_default().to_owned();
    let name = channel["name"].as_str().unwrap_or(&wanted.name).to_owned();
    if name != wanted.name {
        info!(
            repo = wanted.repo,
            channel = name,
            "the channel has another name in Slack"
        );
    }
    let begins = newest(upstream, &id)
        .await
        .map_err(|error| refused(&error))?;
    let (repo, asked) = (wanted.repo.clone(), wanted.name.clone());
    store
        .write(move |tx| {
            keep(tx.db(), &repo, &asked, &id)?;
            take_up(tx.db(), &repo, &id, &name, &begins)
        })
        .await?;
    Ok(())
}

fn key(repo: &str) -> String {
    format!("channel of {repo}")
}

/// The id of the channel that was found for a repo under this name. Who asks for
/// another name asks for another channel.
fn kept(db: &Db, repo: &str, name: &str) -> Result<Option<ChannelId>> {
    let kept = recall(db, &key(repo))?;
    let same = |kept: String| {
        let (id, asked) = kept.split_once(' ')?;
        (asked == name).then(|| ChannelId::new(id))
    };
    if let Some(kept) = kept {
        return Ok(same(kept));
    }
    // Found by an earlier version, which kept no ids apart.
    let sql = "SELECT id FROM channels WHERE repo = ?1 AND name = ?2";
    Ok(db.first(sql, params![repo, name])?)
}

fn keep(db: &Db, repo: &str, asked: &str, id: &str) -> Result<()> {
    remember(db, &key(repo), &format!("{id} {asked}"))
}

async fn find(
    upstream: &Upstream,
    wanted: &RepoChannel,
    kept: Option<ChannelId>,
) -> Result<Value, HubError> {
    let ours = kept.is_some();
    let channel = match wanted.id.clone().or(kept) {
        Some(id) => by_id(upstream, wanted, &id).await?,
        None => match by_name(upstream, &wanted.name).await? {
            Some(channel) => channel,
            None => return make(upstream, wanted).await,
        },
    };
    let name = channel["name"].as_str().unwrap_or(&wanted.name);
    if channel["is_archived"] == json!(true) {
        return Err(HubError::Slack(archived(name)));
    }
    if channel["is_member"] == json!(true) {
        return Ok(channel);
    }
    if ours {
        return Err(HubError::Slack(removed(name)));
    }
    let args = json!({"channel": channel["id"]});
    let joined = upstream.call("conversations.join", &args).await;
    joined.map_err(|error| refused(&error))?;
    Ok(channel)
}

async fn by_id(
    upstream: &Upstream,
    wanted: &RepoChannel,
    id: &ChannelId,
) -> Result<Value, HubError> {
    let args = json!({"channel": id});
    match upstream.call("conversations.info", &args).await {
        Ok(answer) => Ok(answer["channel"].clone()),
        Err(error) if error.refusal() == Some(Refusal::ChannelNotFound) => {
            // It is gone; one that somebody has made in its place is meant now.
            let again = match wanted.id {
                Some(_) => None,
                None => by_name(upstream, &wanted.name).await?,
            };
            let Some(again) = again.filter(|channel| channel["is_archived"] != json!(true)) else {
                return Err(HubError::Slack(gone(id, &wanted.name)));
            };
            warn!(old = %id, name = wanted.name, "the channel was made anew in Slack; the old threads stay on the page");
            let args = json!({"channel": again["id"]});
            let joined = upstream.call("conversations.join", &args).await;
            joined.map_err(|error| refused(&error))?;
            let mut again = again;
            again["is_member"] = json!(true);
            Ok(again)
        }
        Err(error) => Err(refused(&error)),
    }
}

async fn make(upstream: &Upstream, wanted: &RepoChannel) -> Result<Value, HubError> {
    let args = json!({"name": wanted.name});
    match upstream.once("conversations.create", &args).await {
        Ok(made) => Ok(made.body["channel"].clone()),
        Err(error) if error.refusal() == Some(Refusal::NameTaken) => {
            Err(HubError::Slack(private(&wanted.name)))
        }
        Err(error) => Err(refused(&error)),
    }
}

/// By name, a living one before an archived one.
async fn by_name(upstream: &Upstream, name: &str) -> Result<Option<Value>, HubError> {
    let mut cursor = String::new();
    let mut old = None;
    loop {
        let args = json!({"limit": 500, "exclude_archived": false, "cursor": cursor,
            "types": "public_channel,private_channel"});
        let page = upstream.call("conversations.list", &args).await;
        let page = page.map_err(|error| refused(&error))?;
        let all = page["channels"].as_array().into_iter().flatten();
        for found in all.filter(|channel| channel["name"] == json!(name)) {
            if found["is_archived"] != json!(true) {
                return Ok(Some(found.clone()));
            }
            old = Some(found.clone());
        }
        match page["response_metadata"]["next_cursor"].as_str() {
            Some(next) if !next.is_empty() && next != cursor => next.clone_into(&mut cursor),
            _ => return Ok(old),
        }
    }
}

/// The newest message of a channel: what is older was said before we came.
async fn newest(upstream: &Upstream, channel: &str) -> Result<String, SlackError> {
    let args = json!({"channel": channel, "limit": 1});
    let page = upstream.call("conversations.history", &args).await?;
    let newest = &page["messages"][0];
    let newest = newest["ts"].as_str().max(newest["latest_reply"].as_str());
    Ok(newest.unwrap_or("0000000000.000000").to_owned())
}

/// The channel is the repo's from now on. One that it had before loses it, and
/// with it its listeners; its messages stay readable on the page.
pub(super) fn take_up(db: &Db, repo: &str, id: &str, name: &str, begins: &str) -> Result<()> {
    db.execute(
        "UPDATE channels SET repo = '' WHERE repo = ?1 AND id <> ?2",
        params![repo, id],
    )?;
    rename(db, id, name)?;
    db.execute(
        "INSERT INTO channels (id, name, repo, created_ms) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (id) DO UPDATE SET name = excluded.name, repo = excluded.repo",
        params![id, name, repo, db.now_ms()],
    )?;
    if recall(db, &format!("begins {id}"))?.is_none() {
        remember(db, &format!("begins {id}"), begins)?;
    }
    Ok(())
}

/// A channel is called this now; what had the name before gives it up.
pub(super) fn rename(db: &Db, id: &str, name: &str) -> Result<()> {
    db.execute(
        "UPDATE channels SET name = name || '-' || id WHERE name = ?1 AND id <> ?2",
        params![name, id],
    )?;
    db.run(
        "UPDATE channels SET name = ?2 WHERE id = ?1",
        params![id, name],
    )
}

/// What people are told of a channel that cannot be used.
pub(super) fn archived(name: &str) -> String {
    format!(
        "#{name} is archived; unarchive it in Slack, or pick another with `codebutler slack setup`"
    )
}

pub(super) fn removed(name: &str) -> String {
    format!("the app was removed from #{name}; type `/invite @codebutler` there")
}

pub(super) fn gone(id: &ChannelId, name: &str) -> String {
    format!(
        "the channel #{name} ({id}) is not there: it was deleted, or it is private and the app is \
         not in it; type `/invite @codebutler` there, or pick another with `codebutler slack setup`"
    )
}

fn private(name: &str) -> String {
    format!("#{name} is a private channel; type `/invite @codebutler` there")
}
