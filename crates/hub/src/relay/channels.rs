//! Who we are in Slack, and which of its channels belong to which repo.

use butler_protocol::ChannelId;
use butler_slack::SlackError;
use tracing::{info, warn};

use super::{RepoChannel, Us, scopes};
use crate::{
    HubError,
    error::Result,
    hub::OwnersStore,
    relay::{channel_requests, send::upstream::Upstream},
    store::{Db, params},
};

/// Asks Slack who we are; the owner takes up the channels of the repos. While Slack is
/// away, what it said last time holds. Tells whether it answered.
pub(super) async fn introduce(
    store: &OwnersStore<'_>,
    upstream: &Upstream,
    wanted: &[RepoChannel],
    owner: bool,
) -> Result<(Us, bool), HubError> {
    let known = store.read(remembered).await?;
    let answered = match upstream.who_are_we().await {
        Ok(answered) => answered,
        Err(error) if crate::relay::send::upstream::repeatable(&error) => {
            let Some(us) = known else {
                return Err(HubError::Slack(format!(
                    "{error}; the first start needs Slack"
                )));
            };
            for one in wanted.iter().filter(|_| owner) {
                let repo = one.repo.clone();
                if store.read(move |db| of_repo(db, &repo)).await?.is_none() {
                    return Err(refused(&error));
                }
            }
            warn!(%error, "Slack does not answer; going on with what is known");
            return Ok((us, false));
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
    if !owner {
        return Ok((us, true));
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
    Ok((us, true))
}

pub(super) fn refused(error: &SlackError) -> HubError {
    let remedy = if error.is_final() {
        "; `codebutler slack setup` asks for new tokens and checks them"
    } else {
        ""
    };
    HubError::Slack(format!("{error}{remedy}"))
}

fn remembered(db: &Db) -> Result<Option<Us>> {
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
pub(crate) fn recall(db: &Db, key: &str) -> Result<Option<String>> {
    Ok(db.first("SELECT value FROM upstream WHERE key = ?1", [key])?)
}

/// Keeps a fact about the mirrored workspace.
pub(super) fn remember(db: &Db, key: &str, value: &str) -> Result<()> {
    db.run(
        "INSERT INTO upstream (key, value) VALUES (?1, ?2)
         ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        params![key, value],
    )
}

fn of_repo(db: &Db, repo: &str) -> Result<Option<ChannelId>> {
    let id: Option<String> = db.first(
        "SELECT id FROM channels WHERE repo = ?1 ORDER BY created_ms, id LIMIT 1",
        [repo],
    )?;
    Ok(id.map(ChannelId::new))
}
