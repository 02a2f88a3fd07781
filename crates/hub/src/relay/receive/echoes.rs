//! What the app itself posted. A post of ours enters the mirror and the event
//! log once, whoever finds it first: the answer to the call, the echo, or a
//! look into history after a kill.

use butler_protocol::{ChannelId, Idem, MessageTs, PostTag, Role, StampKind, ThreadId, fault};
use serde_json::{Value, json};

use crate::{
    error::{Refusal, Result, Trouble},
    identity::Agent,
    log::Happening,
    relay::{
        Us,
        receive::{asks, mirror},
    },
    store::{Db, Tx, params},
    workspace::{Rules, card, channels, message, outbox, runs, stops},
};

/// One part of a post.
#[derive(Debug, Clone)]
pub(crate) struct OwnPart {
    pub(crate) agent: Agent,
    pub(crate) idem: Idem,
    pub(crate) part: usize,
    /// Ours, or whatever the agent tagged its post with.
    pub(crate) metadata: Value,
}

impl OwnPart {
    /// The metadata in Slack: ours says which part it is.
    pub(crate) fn marked(&self) -> Value {
        let mut metadata = self.metadata.clone();
        if self.tag().is_some() {
            metadata["event_payload"]["part"] = json!(self.part);
        }
        metadata
    }

    fn tag(&self) -> Option<PostTag> {
        PostTag::from_metadata(&self.metadata).ok()?
    }

    /// Whether this message of Slack is this part.
    pub(crate) fn is(&self, us: &Us, message: &Value) -> bool {
        let payload = &message["metadata"]["event_payload"];
        mirror::is_ours(us, message)
            && payload["idem"].as_str() == Some(self.idem.as_str())
            && payload["part"].as_u64() == u64::try_from(self.part).ok()
            && payload["from"] == json!(self.agent.role)
    }
}

/// Keeps a part that is in Slack; gives the message as the mirror has it.
pub(crate) fn keep(
    tx: &mut Tx<'_>,
    rules: &Rules,
    us: &Us,
    own: &OwnPart,
    channel: &ChannelId,
    slack: &Value,
) -> Result<(MessageTs, Value)> {
    let (Some(ts), Some(root)) = (mirror::ts_of(slack), mirror::root_of(slack)) else {
        return Err(Trouble::Refused(Refusal::InternalError));
    };
    if let Some(known) = message::find(tx.db(), channel, &ts)? {
        landed(tx.db(), own, &ts)?;
        return Ok((ts, known.body));
    }
    let mut body = mirror::shape(tx.db(), &rules.base, channel, slack)?;
    body["metadata"] = own.metadata.clone();
    let thread = ThreadId::new(channel.clone(), root);
    let mut tag = own.tag();
    if stops::is_late(tx.db(), &thread, tag.as_ref().and_then(|tag| tag.heard))? {
        // It was on its way when somebody stopped the thread: it wakes nobody.
        tag = tag.map(|tag| PostTag::message(tag.idem, Vec::new()));
    }
    let hand_over = tag.as_ref().and_then(|tag| tag.hand_over.as_ref());
    let logged = Happening {
        to: tag.as_ref().map_or_else(Vec::new, |tag| tag.to.clone()),
        stamp: match hand_over {
            Some(_) => StampKind::HandOver,
            None => StampKind::Message,
        },
        reference: hand_over.map(|hand_over| hand_over.body.as_str().to_owned()),
        ..Happening::new(thread, Some(own.agent.role), body.clone())
    };
    fault("relay.before-own-post");
    message::record(tx, &ts, us.user.as_str(), logged)?;
    landed(tx.db(), own, &ts)?;
    let card = tag.as_ref().and_then(|tag| tag.card.as_ref());
    if let (Some(tag), Some(card)) = (
        &tag,
        card.filter(|card| card::carries(&body, &card.request)),
    ) {
        outbox::register_card(tx, &own.agent, channel, &ts, &body, tag)?;
        runs::decide_plan(tx, rules, &own.agent, &card.request)?;
    }
    if let Some(tag) = &tag {
        runs::item_stands(tx, &own.agent, &ts, tag)?;
    }
    fault("relay.after-own-post");
    Ok((ts, body))
}

/// A part has its timestamp.
fn landed(db: &Db, own: &OwnPart, ts: &MessageTs) -> Result<()> {
    db.run(
        "INSERT INTO upstream_parts (agent, idem, part, tag, ts, begun_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (agent, idem, part) DO UPDATE SET ts = excluded.ts",
        params![
            own.agent.key,
            own.idem,
            i64::try_from(own.part).unwrap_or(0),
            own.metadata.to_string(),
            ts,
            db.now_ms()
        ],
    )
}

/// Takes over a post of ours that nobody waits for: found by its tag, or by the
/// file it shares. `message` has its whole metadata.
pub(crate) fn adopt(
    tx: &mut Tx<'_>,
    rules: &Rules,
    us: &Us,
    channel: &ChannelId,
    message: &Value,
) -> Result<()> {
    if let Some(own) = recognise(tx.db(), channel, message)? {
        return keep(tx, rules, us, &own, channel, message).map(drop);
    }
    // A person's words that the app has put there: whoever does that keeps them too.
    if message["metadata"]["event_type"] == asks::EVENT {
        return Ok(());
    }
    // Posted through a `response_url`, or by hand with our token: no role said it.
    let Some((ts, root, body)) = mirror::unknown(tx.db(), rules, channel, message)? else {
        return Ok(());
    };
    let logged = Happening {
        delivered: false,
        ..Happening::new(ThreadId::new(channel.clone(), root), None, body)
    };
    message::record(tx, &ts, us.user.as_str(), logged)
}

fn recognise(db: &Db, channel: &ChannelId, message: &Value) -> Result<Option<OwnPart>> {
    let repo = channels::get(db, channel)?.repo;
    let metadata = &message["metadata"];
    if let Ok(Some(tag)) = PostTag::from_metadata(metadata)
        && let Some(role) = tag.from
    {
        let part = metadata["event_payload"]["part"].as_u64().unwrap_or(0);
        let Some(agent) = agent_of(db, &repo, role)? else {
            return Ok(None);
        };
        return Ok(Some(OwnPart {
            agent,
            idem: tag.idem.clone(),
            part: usize::try_from(part).unwrap_or(0),
            metadata: tag.to_metadata(),
        }));
    }
    let files = message["files"].as_array().into_iter().flatten();
    for id in files.filter_map(|file| file["id"].as_str()) {
        let found: Option<(i64, String, i64, String)> = db.first(
            "SELECT agent, idem, part, tag FROM upstream_parts WHERE file = ?1",
            [id],
        )?;
        let Some((key, idem, part, tag)) = found else {
            continue;
        };
        let metadata: Value = serde_json::from_str(&tag)?;
        let role = PostTag::from_metadata(&metadata).ok().flatten();
        let Some(role) = role.and_then(|tag| tag.from) else {
            continue;
        };
        return Ok(Some(OwnPart {
            agent: Agent {
                key,
                repo,
                role,
                machine: None,
            },
            idem: Idem::new(idem),
            part: usize::try_from(part).unwrap_or(0),
            metadata,
        }));
    }
    Ok(None)
}

fn agent_of(db: &Db, repo: &str, role: Role) -> Result<Option<Agent>> {
    let key: Option<i64> = db.first(
        "SELECT id FROM agents WHERE repo = ?1 AND role = ?2",
        params![repo, role],
    )?;
    Ok(key.map(|key| Agent {
        key,
        repo: repo.to_owned(),
        role,
        machine: None,
    }))
}
