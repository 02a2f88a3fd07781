//! Forgets a person: what they said, sent and wrote, their name, tokens and sessions. The
//! threads stay readable for the others, with "(erased)" where the words were; decisions
//! stay with the id, which is a hash. The audit keeps its chain: a line that named the
//! person loses the name and keeps its own hash, and a last line says which ones did.
//!
//! What others wrote about the person is kept, but for the name as a whole word and for
//! what they quoted.

mod quotes;
mod scrub;

use butler_protocol::{Sha256Hex, UserId};
use serde_json::{Value, json};

pub(crate) use self::scrub::scrub;
use crate::{
    error::{Refusal, Result, Trouble, When},
    identity::{Person, audit, people, person_by_id},
    store::{
        Db, cold,
        copy::{self, Cell, Table},
        params,
        sql::{self, params_from_iter},
    },
};

/// What stands where something was.
const ERASED: &str = "(erased)";
/// What a person is called then, in the words of others.
const SOMEBODY: &str = "somebody";

/// How much was forgotten.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Erased {
    /// Messages.
    pub messages: usize,
    /// Files.
    pub files: usize,
    /// Lines of agents' logs.
    pub records: usize,
}

/// Forgets somebody by name or id, in the transaction of the caller; gives their id.
pub(crate) fn erase(db: &Db, by: &Person, who: &str) -> Result<(Erased, UserId)> {
    let person = match person_by_id(db, who)? {
        Some(person) => person,
        None => named(db, who)?,
    };
    Refusal::OwnerStays.when(people::is_owner(&person.id))?;
    cold::unpack_all(db)?;
    let erased = out_of(db, &person)?;
    let lines = audit::forget(db, &person)?;
    let sha256 = Sha256Hex::of(&person.name);
    let about = json!({"person": person.id, "sha256": sha256, "lines": lines});
    audit::note(db, by, audit::ERASED, about)?;
    Ok((erased, person.id))
}

/// Takes everything of a person out of the store but the audit.
fn out_of(db: &Db, person: &Person) -> sql::Result<Erased> {
    let id = person.id.as_str();
    let tables = copy::tables()?;
    quotes::take_out(db, &tables, person)?;
    let erased = Erased {
        messages: messages(db, &tables, id)?,
        files: db.execute(
            "UPDATE files SET name = ?2, title = ?2, bytes = ?3, length = 0 WHERE user = ?1",
            params![id, ERASED, Vec::<u8>::new()],
        )?,
        records: records(db, &tables, person)?,
    };
    for (table, column) in [
        ("sessions", "person"),
        ("tokens", "person"),
        ("login_codes", "person"),
        ("reads", "person"),
        ("review_comments", "person"),
        ("review_viewed", "person"),
        ("views", "person"),
        ("triggers", "person"),
        ("responders", "person"),
        ("ephemerals", "user"),
        ("whispers", "user"),
        ("group_members", "user"),
    ] {
        let sql = format!("DELETE FROM {table} WHERE {column} = ?1");
        db.execute(&sql, [id])?;
    }
    name_of_others(db, &tables, person)?;
    db.execute(
        "UPDATE people SET name = ?2, standing = 'guest' WHERE id = ?1",
        params![id, format!("erased {}", id.to_lowercase())],
    )?;
    if db.shared().is_none() {
        // The words of what is gone are in the index until it is written anew.
        db.execute("INSERT INTO search (search) VALUES ('optimize')", [])?;
    } else {
        // What hubs told each other for one person's eyes.
        db.execute("DELETE FROM wakes WHERE instr(notices, ?1) > 0", [id])?;
    }
    Ok(erased)
}

fn named(db: &Db, name: &str) -> Result<Person> {
    let id = people::id_by_name(name);
    person_by_id(db, id.as_str())?.ok_or(Trouble::Refused(Refusal::UserNotFound))
}

/// What they said, where it is kept and where it is on its way.
fn messages(db: &Db, tables: &[Table], id: &str) -> sql::Result<usize> {
    let blank = |body: &mut Value| {
        for key in ["blocks", "files", "attachments", "metadata", "edited"] {
            if let Some(object) = body.as_object_mut() {
                object.remove(key);
            }
        }
        body["text"] = json!(ERASED);
    };
    let own = ("messages", "body", "author = ?1");
    let count = change(db, tables, own, &[id], &mut |body| {
        blank(body);
        true
    })?;
    let told = ("events", "frame", "instr(frame, ?1) > 0");
    change(db, tables, told, &[id], &mut |frame| {
        let mut found = false;
        let payload = &mut frame["payload"];
        for at in ["event", "message", "container"] {
            found |= blank_own(&mut payload[at], id, &blank);
            found |= blank_own(&mut payload[at]["message"], id, &blank);
            found |= blank_own(&mut payload[at]["previous_message"], id, &blank);
        }
        // A command, or a form that was filled in.
        if payload["user_id"] == id || payload["user"]["id"] == id {
            for key in ["text", "user_name", "actions", "view", "state"] {
                if let Some(object) = payload.as_object_mut() {
                    found |= object.remove(key).is_some();
                }
            }
            if payload["user"]["name"].is_string() {
                payload["user"]["name"] = json!(SOMEBODY);
            }
        }
        found
    })?;
    Ok(count)
}

fn blank_own(value: &mut Value, id: &str, blank: &impl Fn(&mut Value)) -> bool {
    let own = value.is_object() && value["user"] == id;
    if own {
        blank(value);
    }
    own
}

/// What agents wrote down of what they said.
fn records(db: &Db, tables: &[Table], person: &Person) -> sql::Result<usize> {
    let id = person.id.as_str();
    let said = ("records", "entry", "instr(entry, ?1) > 0");
    let count = change(db, tables, said, &[id], &mut |entry| {
        let record = &mut entry["record"];
        let own = record["speaker"]["user"] == id;
        if own {
            record["text"] = json!(ERASED);
            record["speaker"]["name"] = json!(SOMEBODY);
            if let Some(object) = record.as_object_mut() {
                object.remove("images");
            }
        }
        own
    })?;
    let by = "json_extract(entry, '$.record.by') = ?1";
    let by = ("records", "entry", by);
    change(db, tables, by, &[&person.name], &mut |entry| {
        entry["record"]["by"] = json!(SOMEBODY);
        true
    })?;
    Ok(count)
}

/// The name in what others wrote, as a whole word.
fn name_of_others(db: &Db, tables: &[Table], person: &Person) -> sql::Result<()> {
    let name = person.name.as_str();
    for (table, column) in [
        ("messages", "body"),
        ("events", "frame"),
        ("card_bodies", "body"),
        ("records", "entry"),
        ("run_reports", "report"),
        ("ephemerals", "body"),
        // What was answered to agents, and what is on its way from and to Slack.
        ("outbox", "answer"),
        ("outbox", "parts"),
        ("upstream_inbox", "payload"),
        ("upstream_parts", "tag"),
        ("scheduled", "arguments"),
    ] {
        let holds = format!("instr({column}, ?1) > 0");
        change(db, tables, (table, column, &holds), &[name], &mut |value| {
            edit_texts(value, &mut |text| replaced(text, name))
        })?;
    }
    Ok(())
}

/// Changes every text in a value; whether one is another now.
fn edit_texts(value: &mut Value, edit: &mut dyn FnMut(&str) -> String) -> bool {
    match value {
        Value::String(text) => {
            let clean = edit(text);
            let found = clean != *text;
            *text = clean;
            found
        }
        // All of them, so not only until one is found.
        Value::Array(items) => {
            let changed = items.iter_mut().map(|item| edit_texts(item, edit));
            changed.filter(|changed| *changed).count() > 0
        }
        Value::Object(fields) => {
            let changed = fields.values_mut().map(|item| edit_texts(item, edit));
            changed.filter(|changed| *changed).count() > 0
        }
        _ => false,
    }
}

fn replaced(text: &str, name: &str) -> String {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (before, after) = (&rest[..at], &rest[at + name.len()..]);
        let inside = before
            .chars()
            .next_back()
            .or(out.chars().next_back())
            .is_some_and(word)
            || after.chars().next().is_some_and(word);
        out.push_str(before);
        out.push_str(if inside { name } else { SOMEBODY });
        rest = after;
    }
    out + rest
}

/// Changes a column of JSON in the rows that a condition on `?1` chooses; how many changed.
fn change(
    db: &Db,
    tables: &[Table],
    (table, column, holds): (&str, &str, &str),
    with: &[&str],
    edit: &mut dyn FnMut(&mut Value) -> bool,
) -> sql::Result<usize> {
    let known = tables.iter().find(|known| known.name == table);
    let keys: &[String] = known.map_or(&[], |known| &known.keys);
    let columns = keys.join(", ");
    let sql = format!("SELECT {column}, {columns} FROM {table} WHERE {holds}");
    let mut statement = db.prepare_cached(&sql)?;
    let rows = statement.query_map(params_from_iter(with.iter().copied()), |row| {
        let key = (1..=keys.len()).map(|at| row.get(at));
        Ok((row.get(0)?, key.collect::<sql::Result<Vec<Cell>>>()?))
    })?;
    let rows: Vec<(Option<String>, Vec<Cell>)> = rows.collect::<sql::Result<_>>()?;
    let places: Vec<String> = (2..)
        .zip(keys)
        .map(|(n, key)| format!("{key} = ?{n}"))
        .collect();
    let places = places.join(" AND ");
    let mut update =
        db.prepare_cached(&format!("UPDATE {table} SET {column} = ?1 WHERE {places}"))?;
    let mut changed = 0;
    for (text, key) in rows {
        let value = text.and_then(|text| serde_json::from_str::<Value>(&text).ok());
        let Some(mut value) = value else { continue };
        if edit(&mut value) {
            let cells = [Cell::Text(value.to_string())].into_iter().chain(key);
            update.execute(params_from_iter(cells))?;
            changed += 1;
        }
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_name_is_taken_out() {
        assert_eq!(
            replaced("ana said: banana, @ana!", "ana"),
            "somebody said: banana, @somebody!"
        );
        assert_eq!(replaced("anaana ana", "ana"), "anaana somebody");
    }
}
