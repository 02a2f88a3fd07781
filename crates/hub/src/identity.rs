//! Who calls. A token names exactly one of these, and nothing in a request can
//! change it.

pub(crate) mod audit;
pub(crate) mod machines;
pub(crate) mod names;
pub(crate) mod people;
pub(crate) mod tokens;

use butler_protocol::{ChannelId, Epoch, Role, Sha256Hex, ThreadId, UserId, fault};
use serde::{Deserialize, Serialize};

use crate::{
    error::{Refusal, Result, When, refuse},
    log::{
        AgentKey,
        processes::{self, holders},
    },
    store::{Db, params},
};

pub(crate) use names::{APP, BOT, BOT_NAME, BOT_USER, TEAM, channel_name, id_of};

/// One role of one repo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Agent {
    pub(crate) key: AgentKey,
    pub(crate) repo: String,
    pub(crate) role: Role,
    /// The machine that joined with a token of its own; nothing beside the hub.
    pub(crate) machine: Option<String>,
}

/// What makes a write of an agent count: which process it is, and where it works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fence {
    /// That of its connection.
    pub(crate) epoch: Epoch,
    /// The thread that it works in, where it says so.
    pub(crate) thread: Option<ThreadId>,
}

/// A human of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Person {
    pub(crate) id: UserId,
    pub(crate) name: String,
}

/// What a token stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Identity {
    /// `xoxb-…`: the Web API and the control API.
    Bot(Agent),
    /// `xapp-…`: `apps.connections.open` only.
    App(Agent),
    /// `xoxp-…`: `/v1`.
    Person(Person),
}

/// Finds whom a token belongs to.
pub(crate) fn of_token(db: &Db, token: &str) -> Result<Option<Identity>> {
    let hash = Sha256Hex::of(token);
    let found = db.first::<(String, Option<i64>, Option<String>, Option<String>)>(
        "SELECT kind, agent, person, machine FROM tokens WHERE sha256 = ?1",
        [&hash],
    )?;
    Ok(match found {
        Some((kind, Some(agent), _, machine)) => {
            let agent = Agent {
                machine,
                ..agent_by_key(db, agent)?
            };
            Some(if kind == "app" {
                Identity::App(agent)
            } else {
                Identity::Bot(agent)
            })
        }
        Some((_, None, Some(person), _)) => person_by_id(db, &person)?.map(Identity::Person),
        _ => None,
    })
}

/// One role of one repo.
pub(crate) fn agent_by_key(db: &Db, key: AgentKey) -> Result<Agent> {
    let (repo, role): (String, String) =
        db.one("SELECT repo, role FROM agents WHERE id = ?1", [key])?;
    let role = role.parse().map_err(|_| Refusal::InvalidAuth)?;
    Ok(Agent {
        key,
        repo,
        role,
        machine: None,
    })
}

/// A person by id.
pub(crate) fn person_by_id(db: &Db, id: &str) -> Result<Option<Person>> {
    let name = db.first("SELECT name FROM people WHERE id = ?1", [id])?;
    Ok(name.map(|name| Person {
        id: UserId::new(id),
        name,
    }))
}

impl Agent {
    /// Refuses a channel of another repo as if it did not exist.
    pub(crate) fn may_use(&self, db: &Db, channel: &ChannelId) -> Result<()> {
        let repo: Option<String> =
            db.first("SELECT repo FROM channels WHERE id = ?1", [&channel])?;
        if repo.as_deref() == Some(self.repo.as_str()) {
            Ok(())
        } else {
            refuse(Refusal::ChannelNotFound)
        }
    }

    /// Refuses a process that a newer one has replaced, and one that works in a thread
    /// which another process of the role has by now. Slack's own SDKs send no epoch; for
    /// them only the socket is fenced.
    pub(crate) fn check_fence(&self, db: &Db, fence: Option<&Fence>) -> Result<()> {
        let Some(fence) = fence else { return Ok(()) };
        let is_valid = match processes::knows(db, self.key, fence.epoch)? {
            Some(known) => known,
            None => fence.epoch >= self.current_epoch(db)?,
        };
        Refusal::StaleEpoch.when(!is_valid)?;
        match &fence.thread {
            Some(thread) => holders::check_holder(db, self.key, fence.epoch, thread),
            None => Ok(()),
        }
    }

    /// The epoch of the newest connection.
    pub(crate) fn current_epoch(&self, db: &Db) -> Result<Epoch> {
        let epoch: i64 = db.one("SELECT epoch FROM agents WHERE id = ?1", [self.key])?;
        Ok(Epoch(u64::try_from(epoch).unwrap_or(0)))
    }

    /// A newer connection: the next epoch.
    pub(crate) fn raise_epoch(&self, db: &Db, now_ms: i64) -> Result<Epoch> {
        fault("hub.before-epoch");
        let epoch: i64 = db.one(
            "UPDATE agents SET epoch = epoch + 1, seen_ms = ?2 WHERE id = ?1 RETURNING epoch",
            params![self.key, now_ms],
        )?;
        fault("hub.after-epoch");
        Ok(Epoch(u64::try_from(epoch).unwrap_or(0)))
    }
}
