//! Reactions. Like Slack, one user reacts with one emoji once; all roles are
//! one user.

pub(crate) mod emoji;

use std::{collections::HashSet, sync::LazyLock};

use butler_policy::is_stop_emoji;
use butler_protocol::{ChannelId, MessageTs, Role, StampKind, ThreadId, UserId, fault};
use serde_json::{Value, json};

use super::message;
use crate::{
    error::{Refusal, Result, When, refuse},
    identity::BOT_USER,
    log::{self, Happening},
    store::{Db, Tx, params},
};

/// Who reacts.
#[derive(Debug, Clone)]
pub(crate) enum Reactor {
    Person(UserId),
    Role(Role),
    /// A role whose app has this user in Slack.
    RoleAs(Role, UserId),
}

impl Reactor {
    fn user(&self) -> &str {
        match self {
            Reactor::Person(user) | Reactor::RoleAs(_, user) => user.as_str(),
            Reactor::Role(_) => BOT_USER,
        }
    }

    fn role(&self) -> Option<Role> {
        match self {
            Reactor::Person(_) => None,
            Reactor::Role(role) | Reactor::RoleAs(role, _) => Some(*role),
        }
    }
}

/// Adds or removes a reaction and logs it.
pub(crate) fn react(
    tx: &mut Tx<'_>,
    reactor: &Reactor,
    channel: &ChannelId,
    ts: &MessageTs,
    name: &str,
    add: bool,
) -> Result<()> {
    let name = &usual(name.trim_matches(':'));
    Refusal::InvalidName.when(!is_emoji_name(name))?;
    let target = message::find(tx.db(), channel, ts)?.ok_or(Refusal::MessageNotFound)?;
    let user = reactor.user();
    let key = params![channel, ts, name, user];
    fault("hub.before-reaction");
    let changed = if add {
        tx.db().execute(
            "INSERT OR IGNORE INTO reactions (channel, ts, name, user, at_ms)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            params![channel, ts, name, user, tx.db().now_ms()],
        )?
    } else {
        tx.db().execute(
            "DELETE FROM reactions WHERE channel = ?1 AND ts = ?2 AND name = ?3 AND user = ?4",
            key,
        )?
    };
    fault("hub.after-reaction");
    if changed == 0 {
        return refuse(if add {
            Refusal::AlreadyReacted
        } else {
            Refusal::NoReaction
        });
    }
    let event_ts = tx.next_ts();
    let mut event = json!({
        "type": if add { "reaction_added" } else { "reaction_removed" },
        "user": user, "reaction": name, "event_ts": event_ts,
        "item": {"type": "message", "channel": channel, "ts": ts},
    });
    // As in Slack: a post under a custom name has no user.
    if let Some(author) = target.body.get("user") {
        event["item_user"] = author.clone();
    }
    let thread = ThreadId::new(channel.clone(), target.root);
    let reacted = Happening {
        stamp: match reactor {
            Reactor::Person(_) if add && is_stop_emoji(name) => StampKind::Stop,
            _ => StampKind::Reaction,
        },
        ..Happening::new(thread, reactor.role(), event)
    };
    log::append(tx, reacted)?;
    Ok(())
}

/// The reactions on a message in Slack's shape, oldest first.
pub(crate) fn of(db: &Db, channel: &ChannelId, ts: &MessageTs) -> Result<Vec<Value>> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for (name, user) in db.rows::<(String, String)>("SELECT name, user FROM reactions WHERE channel = ?1 AND ts = ?2 ORDER BY at_ms, name, user", params![channel, ts])? {
        match found.iter_mut().find(|(known, _)| *known == name) {
            Some((_, users)) => users.push(user),
            None => found.push((name, vec![user])),
        }
    }
    Ok(found
        .into_iter()
        .map(|(name, users)| json!({"name": name, "count": users.len(), "users": users}))
        .collect())
}

/// Whether somebody reacted with this emoji already.
pub(crate) fn has(
    db: &Db,
    channel: &ChannelId,
    ts: &MessageTs,
    name: &str,
    user: &UserId,
) -> Result<bool> {
    let found = db.one(
        "SELECT EXISTS (SELECT 1 FROM reactions
             WHERE channel = ?1 AND ts = ?2 AND name = ?3 AND user = ?4)",
        params![channel, ts, name, user],
    )?;
    Ok(found)
}

/// Slack's own name of an emoji that has two.
fn usual(name: &str) -> String {
    let (first, tone) = name.split_once("::").unwrap_or((name, ""));
    let first = match first {
        "thumbsup" => "+1",
        "thumbsdown" => "-1",
        other => other,
    };
    if tone.is_empty() {
        first.to_owned()
    } else {
        format!("{first}::{tone}")
    }
}

/// Names of Slack's own that are neither a usual short code nor the emoji's plain name.
const SLACK_ONLY: &str = "\
    black_square_for_stop face_with_rolling_eyes hugging_face octagonal_sign \
    raised_hand_with_fingers_splayed robot_face rolling_on_the_floor_laughing simple_smile \
    sleuth_or_spy spock-hand the_horns zany_face";

/// Every emoji's plain name, written as Slack writes names.
static PLAIN: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let plain = |name: &str| {
        let words = name.split(|c: char| !c.is_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        words.join("_").to_lowercase()
    };
    emoji::names().map(plain).collect()
});

/// Whether Slack has an emoji of this name, as far as we know: a person with a job is
/// there as a man and as a woman, a flag by the letters of its country.
fn is_known(name: &str) -> bool {
    let country = |letters: &str| emoji::of_code(letters).is_some();
    let people = ["male-", "female-", "man-", "woman-"];
    emoji::of_code(name).is_some()
        || SLACK_ONLY.split(' ').any(|one| one == name)
        || PLAIN.contains(&name.replace('-', "_"))
        || name.strip_prefix("flag-").is_some_and(country)
        || people.iter().any(|who| {
            let job = name.strip_prefix(who).unwrap_or_default();
            !job.is_empty() && PLAIN.contains(&format!("man_{}", job.replace('-', "_")))
        })
}

/// Refuses names that are no emoji's. Those that a workspace in Slack made itself are
/// known there only, so this is for the built-in one.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let bare = name
        .strip_prefix(':')
        .and_then(|name| name.strip_suffix(':'));
    let name = bare.unwrap_or(name);
    let (first, tone) = match name.split_once("::") {
        Some((first, tone)) => (first, Some(tone)),
        None => (name, None),
    };
    let toned = tone.is_none_or(|tone| {
        let number = tone.strip_prefix("skin-tone-");
        number.is_some_and(|number| matches!(number, "2" | "3" | "4" | "5" | "6"))
    });
    if is_known(first) && toned {
        return Ok(());
    }
    refuse(Refusal::InvalidName)
}

/// `thumbsup`, `+1`, `thumbsup::skin-tone-3`: nothing that could be markup.
fn is_emoji_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 100
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | '\'' | ':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_emoji() {
        for name in [
            "+1",
            "thumbsup",
            ":eyes:",
            "octagonal_sign",
            "stop_sign",
            "flag-de",
            "thinking_face",
            "female-technologist",
        ] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        assert!(check_name("wave::skin-tone-5").is_ok());
        for name in ["", "no_such_emoji", "wave::skin-tone-9", "wave::", "<b>"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
