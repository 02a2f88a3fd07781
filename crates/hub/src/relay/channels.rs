//! Who we are in Slack, and which of its channels belong to which repo.

use butler_protocol::ChannelId;
use butler_slack::SlackError;
use rusqlite::{OptionalExtension, params};
use serde_json::{Value, json};
use tracing::{info, warn};

use super::{RepoChannel, Us, scopes};
use crate::relay::{channel_requests, send::upstream::Upstream};
use crate::{
    HubError,
    error::{Refusal, Trouble},
    store::{Store, db::Db},
};

/// Asks Slack who we are and takes up the channels of the repos. While Slack is
/// away, what it said last time holds.
pub(super) async fn introduce(
    store: &Store,
    upstream: &Upstream,
    wanted: &[RepoChannel],
) -> Result<Us, HubError> {
    let known = store.read(remembered).await?;
    let answered = match upstream.once("auth.test", None, &json!({})).await {
        Ok(answered) => answered,
        Err(error) if crate::relay::send::upstream::repeatable(&error) => {
            let Some(us) = known else {
                return Err(HubError::Slack(format!(
                    "{error}; the first start needs Slack"
                )));
            };
            for one in wanted {
                let repo = one.repo.clone();
                if store.read(move |db| of_repo(db, &repo)).await?.is_none() {
                    return Err(refused(&error));
                }
            }
            warn!(%error, "Slack does not answer; going on with what is known");
            return Ok(us);
        }
        Err(error) => return Err(refused(&error)),
    };
    let missing = scopes::missing(&answered.scopes);
    if !missing.is_empty() {
        let missing = missing.join(", ");
        warn!(%missing, "the Slack app lacks scopes: add them and install the app again");
    }
    let text = |name: &str| answered.body[name].as_str().unwrap_or_default().to_owned();
    let us = Us {
        team: text("team_id"),
        user: butler_protocol::UserId::new(text("user_id")),
        bot: text("bot_id"),
        url: text("url"),
    };
    if us.bot.is_empty() {
        return Err(HubError::Slack(
            "the token is not a bot's; the bot token begins with xoxb-".to_owned(),
        ));
    }
    if let Some(known) = known
        && known.team != us.team
    {
        return Err(HubError::Slack(format!(
            "this store mirrors the workspace {}, the tokens are of {}; move the store away to begin anew",
            known.team, us.team
        )));
    }
    let kept = us.clone();
    store
        .write(move |tx| {
            for (key, value) in [
                ("team", kept.team.as_str()),
                ("user", kept.user.as_str()),
                ("bot", kept.bot.as_str()),
                ("url", kept.url.as_str()),
            ] {
                remember(tx.db(), key, value)?;
            }
            Ok(())
        })
        .await?;
    info!(team = us.team, "Slack knows us");
    for one in wanted {
        channel_requests::fulfil(store, upstream, one).await?;
    }
    for one in store.read(|db| channel_requests::list(db, false)).await? {
        let own = wanted.iter().any(|own| own.repo == one.repo);
        if own {
            continue;
        }
        // Another repo's trouble is not a reason to keep this one waiting.
        if let Err(error) = channel_requests::fulfil(store, upstream, &one).await {
            warn!(%error, repo = one.repo, "a repo's channel cannot be had");
        }
    }
    Ok(us)
}

fn refused(error: &SlackError) -> HubError {
    let remedy = if error.is_final() {
        "; check slack.botToken and slack.appToken in ~/.codebutler/config.json"
    } else {
        ""
    };
    HubError::Slack(format!("{error}{remedy}"))
}

fn remembered(db: &Db) -> Result<Option<Us>, Trouble> {
    let (team, user, bot) = (recall(db, "team")?, recall(db, "user")?, recall(db, "bot")?);
    Ok(match (team, user, bot) {
        (Some(team), Some(user), Some(bot)) => Some(Us {
            team,
            user: butler_protocol::UserId::new(user),
            bot,
            url: recall(db, "url")?.unwrap_or_default(),
        }),
        _ => None,
    })
}

/// A fact about the mirrored workspace.
pub(crate) fn recall(db: &Db, key: &str) -> Result<Option<String>, Trouble> {
    Ok(db
        .prepare_cached("SELECT value FROM upstream WHERE key = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()?)
}

/// Keeps a fact about the mirrored workspace.
pub(super) fn remember(db: &Db, key: &str, value: &str) -> Result<(), Trouble> {
    db.prepare_cached(
        "INSERT INTO upstream (key, value) VALUES (?1, ?2)
         ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    )?
    .execute(params![key, value])?;
    Ok(())
}

/// Finds a repo's channel in Slack, makes or joins it, and takes it up.
pub(super) async fn settle(
    store: &Store,
    upstream: &Upstream,
    wanted: &RepoChannel,
) -> Result<(), HubError> {
    let channel = match find(upstream, wanted).await {
        Ok(channel) => channel,
        Err(error) if error.refusal() == Some(Refusal::NameTaken) => {
            return Err(HubError::Slack(format!(
                "#{} is a private channel; type `/invite @codebutler` there",
                wanted.name
            )));
        }
        Err(error) => return Err(refused(&error)),
    };
    let id = channel["id"].as_str().unwrap_or_default().to_owned();
    let name = channel["name"].as_str().unwrap_or(&wanted.name).to_owned();
    let begins = newest(upstream, &id)
        .await
        .map_err(|error| refused(&error))?;
    let repo = wanted.repo.clone();
    store
        .write(move |tx| take_up(tx.db(), &repo, &id, &name, &begins))
        .await?;
    Ok(())
}

async fn find(upstream: &Upstream, wanted: &RepoChannel) -> Result<Value, SlackError> {
    let found = match &wanted.id {
        Some(id) => {
            let args = json!({"channel": id});
            let answer = upstream.call("conversations.info", None, &args).await?;
            Some(answer["channel"].clone())
        }
        None => by_name(upstream, &wanted.name).await?,
    };
    let Some(channel) = found else {
        let args = json!({"name": wanted.name});
        let made = upstream.once("conversations.create", None, &args).await?;
        return Ok(made.body["channel"].clone());
    };
    if channel["is_member"] != json!(true) {
        let args = json!({"channel": channel["id"]});
        upstream.call("conversations.join", None, &args).await?;
    }
    Ok(channel)
}

async fn by_name(upstream: &Upstream, name: &str) -> Result<Option<Value>, SlackError> {
    let mut cursor = String::new();
    loop {
        let args = json!({"limit": 500, "exclude_archived": true, "cursor": cursor,
            "types": "public_channel,private_channel"});
        let page = upstream.call("conversations.list", None, &args).await?;
        let mut all = page["channels"].as_array().into_iter().flatten();
        if let Some(found) = all.find(|channel| channel["name"] == json!(name)) {
            return Ok(Some(found.clone()));
        }
        match page["response_metadata"]["next_cursor"].as_str() {
            Some(next) if !next.is_empty() && next != cursor => next.clone_into(&mut cursor),
            _ => return Ok(None),
        }
    }
}

/// The newest message of a channel: what is older was said before we came.
async fn newest(upstream: &Upstream, channel: &str) -> Result<String, SlackError> {
    let args = json!({"channel": channel, "limit": 1});
    let page = upstream.call("conversations.history", None, &args).await?;
    let newest = &page["messages"][0];
    let newest = newest["ts"].as_str().max(newest["latest_reply"].as_str());
    Ok(newest.unwrap_or("0000000000.000000").to_owned())
}

fn of_repo(db: &Db, repo: &str) -> Result<Option<ChannelId>, Trouble> {
    let id: Option<String> = db
        .query_row(
            "SELECT id FROM channels WHERE repo = ?1 ORDER BY created_ms, id LIMIT 1",
            [repo],
            |row| row.get(0),
        )
        .optional()?;
    Ok(id.map(ChannelId::new))
}

/// The channel is the repo's from now on. One that it had before loses it, and
/// with it its listeners; its messages stay readable on the page.
fn take_up(db: &Db, repo: &str, id: &str, name: &str, begins: &str) -> Result<(), Trouble> {
    db.execute(
        "UPDATE channels SET repo = '' WHERE repo = ?1 AND id <> ?2",
        params![repo, id],
    )?;
    db.execute(
        "UPDATE channels SET name = name || '-' || id WHERE name = ?1 AND id <> ?2",
        params![name, id],
    )?;
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
