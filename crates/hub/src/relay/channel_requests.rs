//! Which repos want which channel of Slack. The list is in the store, so that
//! another repo of the machine can join while the hub runs: its processes write
//! their request there, and the worker finds the channel at its next beat.

use std::sync::Arc;

use butler_protocol::ChannelId;
use serde_json::{Value, json};
use tracing::{info, warn};

use crate::{
    HubError,
    error::Result,
    hub::{App, OwnersStore},
    relay::{Relay, RepoChannel, settle},
    store::{Db, params},
};

/// Writes a request down; one that is fulfilled and has not changed stays so. It is
/// one statement that everybody repeats at their start.
pub(crate) fn request(db: &Db, wanted: &RepoChannel) -> Result<()> {
    db.run(
        "INSERT INTO upstream_repos (repo, channel, name, bots, settled) VALUES (?1, ?2, ?3, ?4, 0)
         ON CONFLICT (repo) DO UPDATE SET
           settled = CASE WHEN upstream_repos.channel IS NOT DISTINCT FROM excluded.channel
             AND upstream_repos.name = excluded.name THEN upstream_repos.settled ELSE 0 END,
           trouble = NULL, channel = excluded.channel, name = excluded.name,
           bots = excluded.bots",
        params![
            wanted.repo,
            wanted.id.as_ref(),
            wanted.name,
            serde_json::to_string(&wanted.bots)?
        ],
    )
}

/// The requests of all repos; only those that wait, or all.
pub(crate) fn list(db: &Db, waiting: bool) -> Result<Vec<RepoChannel>> {
    let rows = db.rows::<(String, Option<ChannelId>, String, String)>(
        "SELECT repo, channel, name, bots FROM upstream_repos
         WHERE NOT ?1 OR (settled = 0 AND trouble IS NULL) ORDER BY repo",
        [waiting],
    )?;
    let wanted = |(repo, id, name, bots): (_, _, _, String)| RepoChannel {
        repo,
        id,
        name,
        bots: serde_json::from_str(&bots).unwrap_or_default(),
    };
    Ok(rows.into_iter().map(wanted).collect())
}

/// Whether a repo has wished for a channel of Slack.
pub(crate) fn waits(db: &Db, repo: &str) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM upstream_repos WHERE repo = ?1)";
    Ok(db.one(sql, [repo])?)
}

/// Why a repo has no channel, when Slack said so.
pub(crate) fn trouble(db: &Db, repo: &str) -> Result<Option<String>> {
    let found =
        db.first::<Option<String>>("SELECT trouble FROM upstream_repos WHERE repo = ?1", [repo])?;
    Ok(found.flatten())
}

/// Notes that a repo's channel cannot be used, and why; without a reason it is looked
/// for again.
pub(crate) fn troubled(db: &Db, repo: &str, why: Option<&str>) -> Result<()> {
    db.run(
        "UPDATE upstream_repos SET settled = 0, trouble = ?2 WHERE repo = ?1",
        params![repo, why],
    )
}

/// Everything that is wrong with the channels of repos.
pub(crate) fn troubles(db: &Db) -> Result<Vec<String>> {
    let sql = "SELECT trouble FROM upstream_repos WHERE trouble IS NOT NULL ORDER BY repo";

    Ok(db.rows(sql, [])?)
}

/// Looks again for the channels that could not be used.
pub(crate) fn try_again(db: &Db) -> Result<()> {
    db.run(
        "UPDATE upstream_repos SET trouble = NULL WHERE trouble IS NOT NULL",
        [],
    )
}

/// The channels of all repos as people are shown them.
pub(crate) fn shown(db: &Db) -> Result<Vec<Value>> {
    let rows = db.rows::<(String, Option<String>, String, Option<String>)>(
        "SELECT upstream_repos.repo, channels.id, coalesce(channels.name, upstream_repos.name),
                trouble
         FROM upstream_repos LEFT JOIN channels ON channels.repo = upstream_repos.repo
         ORDER BY upstream_repos.repo",
        [],
    )?;
    let shown = rows.into_iter().map(|(repo, id, name, trouble)| {
        json!({"repo": repo, "id": id, "name": name, "trouble": trouble})
    });
    Ok(shown.collect())
}

/// Whether a bot's messages count as those of people in a repo.
pub(crate) fn allows(db: &Db, repo: &str, bot: &str) -> Result<bool> {
    let bots: Option<String> =
        db.first("SELECT bots FROM upstream_repos WHERE repo = ?1", [repo])?;
    let bots: Vec<String> = bots
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    Ok(bots.iter().any(|one| one == bot))
}

/// Finds a repo's channel and notes how that went.
pub(crate) async fn fulfil(
    store: &OwnersStore<'_>,
    upstream: &super::Upstream,
    wanted: &RepoChannel,
) -> Result<(), HubError> {
    let outcome = settle::settle(store, upstream, wanted).await;
    let (repo, said) = (wanted.repo.clone(), outcome.as_ref().err());
    // As people are told it: what stands in front of it says whose error it is.
    let said = said.map(|error| match error {
        HubError::Slack(why) => why.clone(),
        other => other.to_string(),
    });
    store
        .write(move |tx| {
            let sql =
                "UPDATE upstream_repos SET settled = CASE WHEN ?2 IS NULL THEN 1 ELSE 0 END, trouble = ?2 WHERE repo = ?1";
            Ok(tx.db().execute(sql, params![repo, said])?)
        })
        .await?;
    outcome
}

/// Takes up the channels of repos that came while the hub runs.
pub(crate) async fn look(app: &Arc<App>, relay: &Arc<Relay>) -> Result<()> {
    for wanted in app.read(|db| list(db, true)).await? {
        match fulfil(&app.as_owner(), &relay.upstream, &wanted).await {
            Ok(()) => info!(repo = wanted.repo, "another repo has its channel"),
            Err(error) => warn!(%error, repo = wanted.repo, "a repo's channel cannot be had"),
        }
    }
    Ok(())
}
