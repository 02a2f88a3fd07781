//! Other machines that run agents. One is invited by a code that works once, and gets
//! tokens of its own for the roles it was given in one repo: it can be sent away without
//! the others noticing.

use butler_protocol::{ChannelId, Role, Secret, Sha256Hex};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    Person, audit,
    people::owner,
    tokens::{ensure_agent_key, random_text},
};
use crate::{
    error::{Refusal, Result, When, refuse},
    store::{Db, from_row, params},
    workspace::channels,
};

/// How much of a code's hash names an invitation.
const SHORT: usize = 12;

/// A machine that joined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MachineEntry {
    /// Its name at this hub; it opens nothing.
    pub id: String,
    /// What it calls itself.
    pub name: String,
    /// For which repo.
    pub repo: String,
    /// In which roles.
    pub roles: Vec<Role>,
    /// Since when, in milliseconds since 1970.
    pub joined_ms: i64,
}

/// An invitation that nobody has used yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MachineInvite {
    /// Its name; it opens nothing.
    pub id: String,
    /// For which repo.
    pub repo: String,
    /// For which roles.
    pub roles: Vec<Role>,
    /// Until when, in milliseconds since 1970.
    pub expires_ms: i64,
}

from_row! { MachineEntry: id, name, repo, joined_ms; roles: Vec::new() }
from_row! { MachineInvite: id, repo, expires_ms; roles: Vec::new() }

/// What a machine brings that wants to join.
#[derive(Debug, Deserialize)]
pub(crate) struct Joining {
    code: String,
    #[serde(default)]
    name: String,
}

/// What a machine gets that joined.
#[derive(Debug, Serialize)]
pub(crate) struct Joined {
    machine: String,
    repo: String,
    channel: ChannelId,
    tokens: Vec<RoleTokens>,
}

#[derive(Debug, Serialize)]
struct RoleTokens {
    role: Role,
    bot: String,
    app: String,
}

/// Invites a machine: the code of a link that lets it in, once.
pub(crate) fn invite(
    db: &Db,
    by: &Person,
    repo: &str,
    roles: &[Role],
    life_ms: i64,
) -> Result<Secret> {
    let code = random_text();
    let hash = Sha256Hex::of(&code);
    let roles = joined(roles);
    let expires = db.now_ms().saturating_add(life_ms);
    db.execute(
        "INSERT INTO machine_codes (sha256, repo, roles, expires_ms) VALUES (?1, ?2, ?3, ?4)",
        params![hash, repo, roles, expires],
    )?;
    let about = json!({"invite": &hash.as_str()[..SHORT], "repo": repo, "roles": roles});
    audit::note(db, by, "invited a machine", about)?;
    Ok(Secret::new(code))
}

/// Lets a machine in that brings a good code, which is used up.
pub(crate) fn join(db: &Db, joining: &Joining) -> Result<Joined> {
    let hash = Sha256Hex::of(joining.code.trim());
    let found: Option<(String, String, i64, Option<i64>)> = db.first(
        "SELECT repo, roles, expires_ms, used_ms FROM machine_codes WHERE sha256 = ?1",
        [&hash],
    )?;
    let now = db.now_ms();
    let (repo, roles) = match found {
        None => return refuse(Refusal::UnknownCode),
        Some((.., Some(_))) => return refuse(Refusal::CodeUsed),
        Some((_, _, expires, None)) if expires <= now => return refuse(Refusal::CodeExpired),
        Some((repo, roles, _, None)) => (repo, parsed(&roles)),
    };
    // Two may bring it at the same moment, to two hubs.
    let used = db.execute(
        "UPDATE machine_codes SET used_ms = ?2 WHERE sha256 = ?1 AND used_ms IS NULL",
        params![hash, now],
    )?;
    Refusal::CodeUsed.when(used == 0)?;
    let channel = channels::list(db, Some(&repo))?
        .into_iter()
        .next()
        .ok_or(Refusal::ChannelNotFound)?;
    let machine = random_text()[..10].to_ascii_lowercase();
    let name: String = joining.name.trim().chars().take(100).collect();
    db.execute(
        "INSERT INTO machines (id, name, repo, roles, joined_ms) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![machine, name, repo, joined(&roles), now],
    )?;
    let mut tokens = Vec::new();
    for role in &roles {
        let key = ensure_agent_key(db, &repo, *role)?;
        let issue = |prefix: &str, kind: &str| -> Result<String> {
            let secret = format!("{prefix}-1-{}", random_text());
            db.execute(
                "INSERT INTO tokens (sha256, secret, kind, agent, machine)
                 VALUES (?1, '', ?2, ?3, ?4)",
                params![Sha256Hex::of(&secret), kind, key, machine],
            )?;
            Ok(secret)
        };
        tokens.push(RoleTokens {
            role: *role,
            bot: issue("xoxb", "bot")?,
            app: issue("xapp", "app")?,
        });
    }
    let about = json!({"invite": &hash.as_str()[..SHORT], "machine": machine, "name": name,
        "repo": repo, "roles": joined(&roles)});
    audit::note(db, &owner(), "let a machine in", about)?;
    Ok(Joined {
        machine,
        repo,
        channel: channel.id,
        tokens,
    })
}

/// The machines that joined, the oldest first.
pub(crate) fn list(db: &Db) -> Result<Vec<MachineEntry>> {
    let sql = "SELECT id, name, repo, joined_ms, roles FROM machines ORDER BY joined_ms, id";
    let rows: Vec<(MachineEntry, String)> = db.rows(sql, [])?;
    let with_roles = |(entry, roles): (_, String)| MachineEntry {
        roles: parsed(&roles),
        ..entry
    };
    Ok(rows.into_iter().map(with_roles).collect())
}

/// The invitations that can still be used.
pub(crate) fn invites(db: &Db) -> Result<Vec<MachineInvite>> {
    let rows: Vec<(MachineInvite, String)> = db.rows(
        "SELECT substr(sha256, 1, 12), repo, expires_ms, roles FROM machine_codes
         WHERE used_ms IS NULL AND expires_ms > ?1 ORDER BY expires_ms",
        [db.now_ms()],
    )?;
    let with_roles = |(invite, roles): (_, String)| MachineInvite {
        roles: parsed(&roles),
        ..invite
    };
    Ok(rows.into_iter().map(with_roles).collect())
}

/// Sends a machine away, or takes an invitation back: nothing of it opens the hub any
/// longer.
pub(crate) fn revoke(db: &Db, by: &Person, id: &str) -> Result<()> {
    let machine = db.execute("DELETE FROM machines WHERE id = ?1", [id])?;
    if machine > 0 {
        db.execute("DELETE FROM tokens WHERE machine = ?1", [id])?;
        return audit::note(db, by, "sent a machine away", json!({"machine": id}));
    }
    let invite = db.execute(
        "DELETE FROM machine_codes WHERE substr(sha256, 1, 12) = ?1 AND used_ms IS NULL",
        [id],
    )?;
    if invite > 0 {
        return audit::note(db, by, "took an invitation back", json!({"invite": id}));
    }
    refuse(Refusal::NotFound)
}

/// Whether a machine is still welcome.
pub(crate) fn is_here(db: &Db, id: &str) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM machines WHERE id = ?1)";
    Ok(db.one(sql, [id])?)
}

fn joined(roles: &[Role]) -> String {
    let names: Vec<&str> = roles.iter().map(|role| role.as_str()).collect();
    names.join(",")
}

fn parsed(roles: &str) -> Vec<Role> {
    let names = roles.split(',');
    names.filter_map(|name| name.parse().ok()).collect()
}
