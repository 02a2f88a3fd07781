//! Who of the team is there: an agent is present while its socket is open, and
//! at work where its last word says so.

pub(crate) mod absent;
pub(crate) mod activity;
pub(crate) mod facts;
pub(crate) mod live_work;
pub(crate) mod notify;
pub(crate) mod servers;

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use butler_protocol::{Role, ThreadId};
use serde::Serialize;

use self::{facts::Facts, live_work::LiveWorks, servers::Servers};
use crate::{
    error::Result,
    hub::App,
    log::{AgentKey, Notice},
    store::{Db, from_row, params},
};

/// Open sockets per agent, and how its servers stand.
#[derive(Default)]
pub(crate) struct Presence {
    open: Mutex<HashMap<AgentKey, u32>>,
    /// Agents that are connected to other hubs of the same store.
    elsewhere: Mutex<HashSet<AgentKey>>,
    pub(crate) servers: Servers,
    /// What every agent said about itself.
    pub(crate) facts: Facts,
    /// The work that somebody looks at.
    pub(crate) live: LiveWorks,
}

impl Presence {
    /// The agents that are connected now, to any hub.
    pub(crate) fn online(&self) -> HashSet<AgentKey> {
        let mut online: HashSet<AgentKey> = self.here().into_iter().collect();
        let elsewhere = self
            .elsewhere
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        online.extend(elsewhere.iter());
        online
    }

    /// The agents that are connected to this hub.
    pub(crate) fn here(&self) -> Vec<AgentKey> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.keys().copied().collect()
    }

    fn change(&self, agent: AgentKey, comes: bool) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(agent).or_default();
        if comes {
            *count += 1;
        } else {
            *count = count.saturating_sub(1);
        }
        if *count == 0 {
            open.remove(&agent);
        }
    }
}

/// Held by a connection; the agent counts as present until it is dropped.
pub(crate) struct Here {
    app: Arc<App>,
    agent: AgentKey,
}

/// Marks an agent as present and tells the pages.
pub(crate) fn enter(app: &Arc<App>, agent: AgentKey) -> Here {
    app.presence.change(agent, true);
    tell(app);
    Here {
        app: Arc::clone(app),
        agent,
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        self.app.presence.change(self.agent, false);
        tell(&self.app);
    }
}

/// Takes up who is connected to other hubs, and tells the pages of a change.
pub(crate) fn is_elsewhere(app: &App, agents: HashSet<AgentKey>) {
    let known = &app.presence.elsewhere;
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    if *known != agents {
        app.presence.facts.let_in(agents.difference(&known));
        *known = agents;
        drop(known);
        tell(app);
    }
}

fn tell(app: &App) {
    // Nobody listening is fine: notices are only wake-ups.
    let _ = app.notices.send(Arc::new(Notice::Presence));
}

/// One role of a repo's team as people see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Member {
    #[serde(skip)]
    pub(crate) key: AgentKey,
    pub(crate) repo: String,
    pub(crate) role: Role,
    pub(crate) online: bool,
    /// It is there, and its model or its own work keeps failing.
    pub(crate) failing: bool,
    /// When it last connected.
    pub(crate) connected_ms: Option<i64>,
    pub(crate) epoch: i64,
    /// Envelopes it has not acknowledged.
    pub(crate) queue: i64,
    /// What it does right now, newest first.
    pub(crate) working: Vec<Job>,
}

/// A thread that somebody works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Job {
    pub(crate) thread: ThreadId,
    pub(crate) step: Option<String>,
    pub(crate) since_ms: i64,
}

/// The team of one repo, or of all of them, in the roles' order.
pub(crate) fn team(
    db: &Db,
    repo: Option<&str>,
    online: &HashSet<AgentKey>,
    now_ms: i64,
) -> Result<Vec<Member>> {
    let mut members = Vec::new();
    for (key, repo, role, epoch, connected_ms, queue) in db
        .rows::<(AgentKey, String, String, _, _, _)>(
            "SELECT id, repo, role, epoch, seen_ms,
                (SELECT count(*) FROM deliveries WHERE deliveries.agent = agents.id)
         FROM agents WHERE ?1 IS NULL OR repo = ?1 ORDER BY repo, id",
            [repo],
        )?
    {
        let Ok(role) = role.parse() else { continue };
        members.push(Member {
            key,
            online: online.contains(&key),
            failing: false,
            working: jobs(db, &repo, role, now_ms)?,
            repo,
            role,
            epoch,
            connected_ms,
            queue,
        });
    }
    Ok(members)
}

fn jobs(db: &Db, repo: &str, role: Role, now_ms: i64) -> Result<Vec<Job>> {
    Ok(db.rows(
        "SELECT activity.channel, root, step, since_ms FROM activity
         JOIN channels ON channels.id = activity.channel
         WHERE channels.repo = ?1 AND role = ?2 AND state = 'working'
           AND ?3 - heard_ms <= lease_ms ORDER BY since_ms DESC LIMIT 20",
        params![repo, role, now_ms],
    )?)
}
from_row! { Job: thread, step, since_ms }
