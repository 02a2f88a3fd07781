//! The people of the built-in workspace: who they are, what they may do, where they
//! are logged in. Somebody is invited by a link that works once; every change of
//! people and rights is in the audit.

use butler_protocol::{Role, Secret, Sha256Hex, Standing, UserId};
use serde::Serialize;
use serde_json::json;

use super::{
    Person, audit,
    names::{BOT_NAME, id_of},
    person_by_id,
    tokens::random_text,
};
use crate::{
    error::{Refusal, Result, Trouble, When},
    store::{Db, from_row, params},
};

/// The person whom the machine belongs to.
pub(crate) const OWNER: &str = "you";
/// How long an invitation can be used.
const INVITATION_LIFE_MS: i64 = 7 * 24 * 3600 * 1000;

/// Somebody of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PersonEntry {
    /// Their id.
    pub id: String,
    /// Their name.
    pub name: String,
    /// What they may do; nothing when nobody said so.
    pub standing: Option<Standing>,
    /// In how many browsers they are logged in.
    pub sessions: usize,
    /// Whether an invitation of theirs was not used yet.
    pub invited: bool,
}

/// A browser in which somebody is logged in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionEntry {
    /// Its name; it opens nothing.
    pub id: String,
    /// Whose it is.
    pub person: String,
    /// Their name.
    pub name: String,
    /// Which browser, as it said itself.
    pub browser: String,
    /// Since when, in milliseconds since 1970; 0 for those of earlier releases.
    pub created_ms: i64,
}

from_row! { PersonEntry: id, name, standing, sessions, invited }
from_row! { SessionEntry: id, person, name, browser, created_ms }

/// The person whom the machine belongs to.
pub(crate) fn owner() -> Person {
    Person {
        id: id_by_name(OWNER),
        name: OWNER.to_owned(),
    }
}

pub(crate) fn is_owner(id: &UserId) -> bool {
    *id == id_by_name(OWNER)
}

/// The id that a name gets.
pub(crate) fn id_by_name(name: &str) -> UserId {
    UserId::new(id_of('U', &["person", name]))
}

/// What somebody was given.
pub(crate) fn standing(db: &Db, id: &UserId) -> Result<Option<Standing>> {
    let word: Option<Option<String>> =
        db.first("SELECT standing FROM people WHERE id = ?1", [&id])?;
    Ok(word.flatten().and_then(|word| word.parse().ok()))
}

/// Everybody, by name.
pub(crate) fn list(db: &Db) -> Result<Vec<PersonEntry>> {
    let mut all: Vec<PersonEntry> = db.rows(
        "SELECT id, name, standing,
         (SELECT count(*) FROM sessions s WHERE s.person = p.id AND s.expires_ms > ?1),
         EXISTS (SELECT 1 FROM login_codes c WHERE c.person = p.id AND c.expires_ms > ?1)
         FROM people p ORDER BY name",
        [db.now_ms()],
    )?;
    for one in &mut all {
        let owns = is_owner(&UserId::new(one.id.as_str()));
        one.standing = one.standing.or(owns.then_some(Standing::Admin));
    }
    Ok(all)
}

/// Invites somebody: gives the code of a link that lets them in, once. An invitation
/// from before no longer works.
pub(crate) fn invite(db: &Db, by: &Person, name: &str, standing: Standing) -> Result<Secret> {
    let name = checked(name)?;
    let id = id_by_name(&name);
    db.execute(
        "INSERT INTO people (id, name, created_ms, standing) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (id) DO UPDATE SET standing = excluded.standing, name = excluded.name",
        params![id, name, db.now_ms(), standing],
    )?;
    db.execute("DELETE FROM login_codes WHERE person = ?1", [&id])?;
    let code = random_text();
    db.execute(
        "INSERT INTO login_codes (sha256, person, expires_ms) VALUES (?1, ?2, ?3)",
        params![Sha256Hex::of(&code), id, db.now_ms() + INVITATION_LIFE_MS],
    )?;
    let about = json!({"person": id, "name": name, "standing": standing});
    audit::note(db, by, "invited", about)?;
    Ok(Secret::new(code))
}

/// A name that a person can have and nobody else in the workspace has.
fn checked(name: &str) -> Result<String> {
    let name = name.trim();
    let fits = |c: char| c.is_alphanumeric() || " ._-".contains(c);
    let taken = Role::ALL
        .iter()
        .any(|role| role.user_name() == name || role.as_str() == name);
    let usable = !name.is_empty() && name.chars().count() <= 40 && name.chars().all(fits);
    Refusal::InvalidPerson.when(!usable || taken || name == BOT_NAME)?;
    Refusal::OwnerStays.when(name == OWNER)?;
    Ok(name.to_owned())
}

/// Gives somebody other rights, from now on.
pub(crate) fn give(db: &Db, by: &Person, id: &UserId, standing: Standing) -> Result<()> {
    let person = other(db, id)?;
    db.execute(
        "UPDATE people SET standing = ?2 WHERE id = ?1",
        params![id, standing],
    )?;
    let about = json!({"person": id, "name": person.name, "standing": standing});
    audit::note(db, by, "gave rights", about)
}

/// Sends somebody away: no session, token or link of theirs works any longer. What they
/// did stays; should they be invited again, they are the same person.
pub(crate) fn send_away(db: &Db, by: &Person, id: &UserId) -> Result<()> {
    let person = other(db, id)?;
    for table in ["sessions", "tokens", "login_codes"] {
        db.execute(&format!("DELETE FROM {table} WHERE person = ?1"), [&id])?;
    }
    db.execute(
        "UPDATE people SET standing = ?2 WHERE id = ?1",
        params![id, Standing::Guest],
    )?;
    audit::note(
        db,
        by,
        "sent away",
        json!({"person": id, "name": person.name}),
    )
}

/// Somebody who exists and does not own the machine.
fn other(db: &Db, id: &UserId) -> Result<Person> {
    Refusal::OwnerStays.when(is_owner(id))?;
    person_by_id(db, id.as_str())?.ok_or(Trouble::Refused(Refusal::UserNotFound))
}

/// Where people are logged in, the newest first: everybody, or one of them.
pub(crate) fn sessions(db: &Db, of: Option<&UserId>) -> Result<Vec<SessionEntry>> {
    Ok(db.rows(
        "SELECT substr(s.sha256, 1, 12), p.id, p.name, s.browser, s.created_ms
         FROM sessions s JOIN people p ON p.id = s.person
         WHERE s.expires_ms > ?1 AND (?2 IS NULL OR p.id = ?2) ORDER BY s.created_ms DESC, 1",
        params![db.now_ms(), of],
    )?)
}

/// Ends a session: one's own, or with `any` somebody else's. Gives whose it was.
pub(crate) fn end_session(db: &Db, by: &Person, id: &str, any: bool) -> Result<UserId> {
    let whose: Option<String> = db.first(
        "DELETE FROM sessions WHERE substr(sha256, 1, 12) = ?1 AND (?2 OR person = ?3)
             RETURNING person",
        params![id, any, by.id],
    )?;
    let whose = whose.ok_or(Refusal::NotFound)?;
    audit::note(
        db,
        by,
        "ended a session",
        json!({"session": id, "person": whose}),
    )?;
    Ok(UserId::new(whose))
}
