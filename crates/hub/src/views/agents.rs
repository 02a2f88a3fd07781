//! The agents as people look at them: presence, what each says about itself, what it spent
//! today, and what went wrong last.

use std::collections::{HashMap, HashSet};

use butler_protocol::{Role, Usd};
use serde::Serialize;

use crate::{
    budget,
    error::Result,
    log::AgentKey,
    presence::{self, Member, facts::Known},
    store::{Db, params},
};

/// One agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct AgentView {
    #[serde(flatten)]
    pub(crate) member: Member,
    #[serde(flatten)]
    pub(crate) known: Known,
    /// What its role spent in its repository today.
    pub(crate) spent_today: Usd,
}

/// All of them, in the roles' order.
pub(crate) fn all(
    db: &Db,
    online: &HashSet<AgentKey>,
    mut known: HashMap<AgentKey, Known>,
) -> Result<Vec<AgentView>> {
    let members = presence::team(db, None, online, db.now_ms())?;
    let today = budget::day_of(db.now_ms());
    let view = |mut member: Member| {
        let known = known.remove(&member.key).unwrap_or_default();
        member.failing = known.is_failing();
        Ok(AgentView {
            spent_today: spent(db, &member.repo, member.role, &today)?,
            known,
            member,
        })
    };
    members.into_iter().map(view).collect()
}

fn spent(db: &Db, repo: &str, role: Role, day: &str) -> Result<Usd> {
    let sql = "SELECT coalesce(sum(coalesce(cost, amount)), 0) FROM reservations
        WHERE repo = ?1 AND role = ?2 AND day = ?3";
    let keys = params![repo, role, day];
    let nanos: i64 = db.one(sql, keys)?;
    Ok(Usd::from_nanos(nanos))
}
