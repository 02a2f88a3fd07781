//! Who is in a channel. Without a word about somebody, everybody is in a public one and
//! nobody in any other.

use super::{self as channels, Channel, Kind};
use crate::{
    error::Result,
    store::{Db, params},
};

/// Whether somebody is in a channel.
pub(crate) fn is_in(db: &Db, channel: &Channel, user: &str) -> Result<bool> {
    let told: Option<bool> = db.first(
        "SELECT present FROM members WHERE channel = ?1 AND user = ?2",
        params![channel.id, user],
    )?;
    Ok(told.unwrap_or(channel.kind == Kind::Public))
}

/// Everybody in a channel.
pub(crate) fn of(db: &Db, channel: &Channel) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for user in channels::users(db)? {
        let id = user["id"].as_str().unwrap_or_default();
        if is_in(db, channel, id)? {
            found.push(id.to_owned());
        }
    }
    Ok(found)
}

/// Somebody comes or goes.
pub(crate) fn set(db: &Db, channel: &Channel, user: &str, present: bool) -> Result<()> {
    db.run(
        "INSERT INTO members (channel, user, present) VALUES (?1, ?2, ?3)
         ON CONFLICT (channel, user) DO UPDATE SET present = excluded.present",
        params![channel.id, user, present],
    )
}
