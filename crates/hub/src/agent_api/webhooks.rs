//! Webhooks of a forge, where it can reach the hub: `POST /webhooks/<channel>`. A signed one
//! has the agents of that channel look at the forge now instead of in a minute, and that is
//! all: nothing in it is read, so nothing in it has to be believed, and what is missed or
//! comes twice changes nothing.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::{
    Extension, Json, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Path, Query},
    http::{HeaderMap, StatusCode},
    routing::{get, post},
};
use butler_protocol::{ChannelId, Secret, Sha256Hex};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::{sync::watch, time::timeout};
use tracing::warn;

use crate::{agent_api::Caller, error::Refused, hub::App};

/// What is longer is not taken; the next look sees what it was about.
const BODY_LIMIT: usize = 4 * 1024 * 1024;
/// So long an agent waits for one before it asks again.
const HELD: Duration = Duration::from_secs(25);

/// How often each channel's forge has said that something happened, since the hub started.
#[derive(Debug)]
pub(crate) struct Webhooks {
    secret: Option<Secret>,
    moved: watch::Sender<BTreeMap<ChannelId, u64>>,
}

impl Webhooks {
    pub(crate) fn new(secret: Option<Secret>) -> Self {
        Self {
            secret: secret.filter(|secret| !secret.expose().is_empty()),
            moved: watch::channel(BTreeMap::new()).0,
        }
    }
}

pub(crate) fn routes(webhooks: Webhooks) -> Router<Arc<App>> {
    Router::new()
        .route("/webhooks/{channel}", post(receive))
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .route("/agent/v1/forge/{channel}", get(moved))
        .layer(Extension(Arc::new(webhooks)))
}

async fn receive(
    Extension(webhooks): Extension<Arc<Webhooks>>,
    Path(channel): Path<ChannelId>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let Some(secret) = &webhooks.secret else {
        return StatusCode::NOT_FOUND;
    };
    let header = |name: &str| headers.get(name)?.to_str().ok();
    if !is_signed(secret.expose(), header, &body) {
        warn!(%channel, "a webhook without the right signature was refused");
        return StatusCode::UNAUTHORIZED;
    }
    webhooks.moved.send_if_modified(|all| {
        // Nobody has asked about any other channel.
        let count = all.get_mut(&channel);
        let known = count.is_some();
        count.into_iter().for_each(|count| *count += 1);
        known
    });
    StatusCode::NO_CONTENT
}

#[derive(Deserialize)]
struct Seen {
    /// What the agent was told last.
    #[serde(default)]
    seen: u64,
}

/// Answers as soon as the forge has said something that the agent has not heard, or after
/// a while.
async fn moved(
    Caller { app, agent, .. }: Caller,
    Extension(webhooks): Extension<Arc<Webhooks>>,
    Path(channel): Path<ChannelId>,
    Query(Seen { seen }): Query<Seen>,
) -> Result<Json<Value>, Refused> {
    let asked = channel.clone();
    app.read(move |db| agent.may_use(db, &asked)).await?;
    webhooks.moved.send_if_modified(|all| {
        all.entry(channel.clone()).or_default();
        false
    });
    let mut watched = webhooks.moved.subscribe();
    let count = |all: &BTreeMap<ChannelId, u64>| all.get(&channel).copied().unwrap_or_default();
    let other = async {
        let _ = watched.wait_for(|all| count(all) != seen).await.is_ok();
    };
    tokio::select! {
        () = app.cancel.cancelled() => {}
        _ = timeout(HELD, other) => {}
    }
    let now = count(&webhooks.moved.borrow());
    Ok(Json(json!({ "moved": now })))
}

/// GitHub, Gitea and Forgejo sign the body; GitLab sends the secret itself.
fn is_signed<'a>(secret: &str, header: impl Fn(&str) -> Option<&'a str>, body: &[u8]) -> bool {
    if let Some(token) = header("x-gitlab-token") {
        return same(token, secret);
    }
    let github = header("x-hub-signature-256").and_then(|value| value.strip_prefix("sha256="));
    let given = github
        .or_else(|| header("x-forgejo-signature"))
        .or_else(|| header("x-gitea-signature"));
    given.is_some_and(|given| same(given, hmac_sha256(secret.as_bytes(), body).as_str()))
}

/// How long it takes says nothing about where they differ.
fn same(one: &str, other: &str) -> bool {
    Sha256Hex::of(one) == Sha256Hex::of(other)
}

/// RFC 2104, in hexadecimal digits.
fn hmac_sha256(key: &[u8], message: &[u8]) -> Sha256Hex {
    let mut block = [0_u8; 64];
    if key.len() > block.len() {
        let hashed: [u8; 32] = Sha256::digest(key).into();
        block[..32].copy_from_slice(&hashed);
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let padded = |with: u8| block.map(|byte| byte ^ with);
    let inner = Sha256::new_with_prefix(padded(0x36)).chain_update(message);
    let inner: [u8; 32] = inner.finalize().into();
    let outer = [&padded(0x5c)[..], &inner[..]].concat();
    Sha256Hex::of(outer)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test cases 2, 6 and 7 of RFC 4231.
    #[test]
    fn the_signature_is_the_standard_one() {
        let long = [0xaa_u8; 131];
        for (key, message, expected) in [
            (
                &b"Jefe"[..],
                &b"what do ya want for nothing?"[..],
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &long[..],
                &b"Test Using Larger Than Block-Size Key - Hash Key First"[..],
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ] {
            assert_eq!(hmac_sha256(key, message).as_str(), expected);
        }
    }

    #[test]
    fn each_forge_signs_in_its_way_and_nothing_else_counts() {
        let body = b"{}";
        let good = hmac_sha256(b"s3", body).as_str().to_owned();
        let signed = format!("sha256={good}");
        let bad = format!("sha256={}", hmac_sha256(b"s3", b"[]").as_str());
        for (name, value, counts) in [
            ("x-hub-signature-256", signed.as_str(), true),
            ("x-gitea-signature", &good, true),
            ("x-forgejo-signature", &good, true),
            ("x-gitlab-token", "s3", true),
            ("x-gitlab-token", "s", false),
            ("x-gitlab-token", "", false),
            ("x-hub-signature-256", &bad, false),
            ("x-hub-signature-256", &good, false),
            ("x-hub-signature", &signed, false),
            ("x-gitea-signature", "", false),
        ] {
            let header = |asked: &str| (asked == name).then_some(value);
            assert_eq!(is_signed("s3", header, body), counts, "{name}: {value}");
        }
    }
}
