//! What a person said, where others quote it: in hand-overs, in logs of agents, in pull
//! requests. Only in the threads in which they said it, and lines that say something: "yes"
//! may be anybody's. A hand-over that changes is kept under its new hash, and who points to
//! it points there.

use std::collections::{BTreeMap, HashMap};

use butler_protocol::Sha256Hex;
use serde_json::Value;

use super::{ERASED, change, edit_texts, replaced};
use crate::{
    identity::Person,
    store::{
        Db,
        copy::Table,
        params,
        sql::{self, params_from_iter},
    },
};

/// A shorter line is no quote.
const LEAST: usize = 8;

type Thread = (String, String);
/// The old hash of a body and its new one.
type Moved = HashMap<String, String>;

/// Takes them out; to be called while the messages still say what was said.
pub(super) fn take_out(db: &Db, tables: &[Table], person: &Person) -> sql::Result<()> {
    let mut moved = Moved::new();
    for ((channel, root), lines) in said(db, person.id.as_str())? {
        let clean = |text: &str| without(text, &lines);
        let thread = [channel.as_str(), root.as_str()];
        for repo in texts(db, "SELECT repo FROM channels WHERE id = ?1", &[&channel])? {
            for hash in referred(db, &thread)? {
                rewrite(db, (&repo, &hash), &clean, &mut moved)?;
            }
        }
        for (table, column) in [
            ("messages", "body"),
            ("events", "frame"),
            ("records", "entry"),
        ] {
            let rows = (table, column, "channel = ?1 AND root = ?2");
            change(db, tables, rows, &thread, &mut |value| {
                edit_texts(value, &mut |text| clean(text))
            })?;
        }
        pulls(db, "channel = ?1 AND root = ?2", &thread, &clean)?;
    }
    let name = person.name.as_str();
    let clean = |text: &str| replaced(text, name);
    pulls(
        db,
        "instr(title, ?1) > 0 OR instr(body, ?1) > 0",
        &[name],
        &clean,
    )?;
    for repo in texts(db, "SELECT DISTINCT repo FROM bodies", &[])? {
        let all = "SELECT sha256 FROM bodies WHERE repo = ?1";
        for hash in texts(db, all, &[&repo])? {
            rewrite(db, (&repo, &hash), &clean, &mut moved)?;
        }
    }
    point(db, tables, &moved)
}

/// The lines that somebody said, the longest first, by thread.
fn said(db: &Db, id: &str) -> sql::Result<BTreeMap<Thread, Vec<String>>> {
    let sql = "SELECT channel, root, body FROM messages WHERE author = ?1";
    let messages: Vec<(String, String, String)> = db.rows(sql, [id])?;
    let mut threads: BTreeMap<Thread, Vec<String>> = BTreeMap::new();
    for (channel, root, body) in messages {
        let body: Value = serde_json::from_str(&body).unwrap_or_default();
        let text = body["text"].as_str().unwrap_or_default();
        let lines = threads.entry((channel, root)).or_default();
        for line in text.lines().map(str::trim).filter(|line| is_quote(line)) {
            lines.push(line.to_owned());
            // Agents read it as people see it.
            lines.push(
                line.replace("&lt;", "<")
                    .replace("&gt;", ">")
                    .replace("&amp;", "&"),
            );
        }
    }
    for lines in threads.values_mut() {
        lines.sort_by_key(|line| std::cmp::Reverse(line.len()));
        lines.dedup();
    }
    Ok(threads)
}

/// Whether a line is somebody's own, and not a word that means something to the program.
fn is_quote(line: &str) -> bool {
    let word = |c: char| c.is_ascii_lowercase() || c == '_';
    line.chars().count() >= LEAST && !line.chars().all(word)
}

fn without(text: &str, lines: &[String]) -> String {
    let mut text = text.to_owned();
    for line in lines {
        if text.contains(line.as_str()) {
            text = text.replace(line.as_str(), ERASED);
        }
    }
    text
}

/// The bodies that the messages of a thread point to.
fn referred(db: &Db, thread: &[&str]) -> sql::Result<Vec<String>> {
    let sql = "SELECT body FROM messages WHERE channel = ?1 AND root = ?2";
    let mut hashes = Vec::new();
    for message in texts(db, sql, thread)? {
        let mut message: Value = serde_json::from_str(&message).unwrap_or_default();
        edit_texts(&mut message["metadata"], &mut |text| {
            if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                hashes.push(text.to_owned());
            }
            text.to_owned()
        });
    }
    Ok(hashes)
}

/// Keeps a body without the words, under the hash that it has then.
fn rewrite(
    db: &Db,
    (repo, hash): (&str, &str),
    clean: &dyn Fn(&str) -> String,
    moved: &mut Moved,
) -> sql::Result<()> {
    let key = params![repo, hash];
    let sql = "SELECT bytes FROM bodies WHERE repo = ?1 AND sha256 = ?2";
    let bytes: Option<Vec<u8>> = db.first(sql, key)?;
    // What no agent can read either is no hand-over.
    let body = bytes.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let Some(mut body) = body else { return Ok(()) };
    if !edit_texts(&mut body, &mut |text| clean(text)) {
        return Ok(());
    }
    let bytes = body.to_string().into_bytes();
    let new = Sha256Hex::of(&bytes).as_str().to_owned();
    db.execute("DELETE FROM bodies WHERE repo = ?1 AND sha256 = ?2", key)?;
    db.execute(
        "INSERT OR IGNORE INTO bodies (repo, sha256, bytes) VALUES (?1, ?2, ?3)",
        params![repo, new, bytes],
    )?;
    // It may have been changed before, for the quotes in it.
    for target in moved.values_mut() {
        if target.as_str() == hash {
            target.clone_from(&new);
        }
    }
    moved.insert(hash.to_owned(), new);
    Ok(())
}

/// Lets everybody who points to a body point to what it is now.
fn point(db: &Db, tables: &[Table], moved: &Moved) -> sql::Result<()> {
    if moved.is_empty() {
        return Ok(());
    }
    for (old, new) in moved {
        let cards = "UPDATE card_bodies SET body = ?2 WHERE body = ?1";
        db.execute(cards, params![old, new])?;
    }
    for (table, column) in [
        ("messages", "body"),
        ("events", "frame"),
        ("outbox", "parts"),
        ("outbox", "answer"),
    ] {
        let rows = (table, column, &*format!("instr({column}, ?1) > 0"));
        change(db, tables, rows, &["event_payload"], &mut |value| {
            edit_texts(value, &mut |text| {
                moved.get(text).cloned().unwrap_or_else(|| text.to_owned())
            })
        })?;
    }
    Ok(())
}

/// What is told of pull requests, which is text and not JSON.
fn pulls(db: &Db, holds: &str, with: &[&str], clean: &dyn Fn(&str) -> String) -> sql::Result<()> {
    let sql = format!("SELECT repo, number, title, body FROM pulls WHERE {holds}");
    let found: Vec<(String, i64, String, String)> =
        db.rows(&sql, params_from_iter(with.iter().copied()))?;
    for (repo, number, title, body) in found {
        db.execute(
            "UPDATE pulls SET title = ?3, body = ?4 WHERE repo = ?1 AND number = ?2",
            params![repo, number, clean(&title), clean(&body)],
        )?;
    }
    Ok(())
}

fn texts(db: &Db, sql: &str, with: &[&str]) -> sql::Result<Vec<String>> {
    db.rows(sql, params_from_iter(with.iter().copied()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_is_a_line_of_somebodys_own() {
        for line in [
            "call 555-1234",
            "ana@example.org",
            "Hide that",
            "no, the other one",
        ] {
            assert!(is_quote(line), "{line}");
        }
        for line in ["yes", "ok do it", "ready_for_review", "approved"] {
            assert_eq!(is_quote(line), line == "ok do it", "{line}");
        }
        let lines = ["hide the cat".to_owned()];
        assert_eq!(
            without("> hide the cat, please", &lines),
            "> (erased), please"
        );
    }
}
