//! What people did: who asked, decided, merged, invited. One line each, written in the
//! transaction that does it; each carries the hash of the one before, so that a line
//! that was changed, added or taken out later is found.
//!
//! Texts are not in it, only where they stand and their hashes: what somebody pasted
//! by mistake does not spread further.

use std::collections::HashSet;

use butler_protocol::{Decision, PullNews, Sha256Hex, ThreadId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Person, person_by_id};
use crate::{
    error::Result,
    store::{Db, params},
};

/// What is done when somebody is forgotten; the entry says in which lines.
pub(crate) const ERASED: &str = "erased";

/// Something that a person did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Its number; the first is 1, and none is left out.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// The person's id.
    pub person: String,
    /// The person's name then.
    pub name: String,
    /// What: `asked`, `decided`, `merged`, `invited`, `entered`, …
    pub did: String,
    /// About what.
    pub about: Value,
}

/// An entry in its chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditLine {
    /// What was done.
    pub entry: AuditEntry,
    /// The hash of the line before; empty at the first.
    pub before: String,
    /// The hash of that hash and this entry.
    pub hash: String,
}

/// Where a chain does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} {why}")]
pub struct Broken {
    /// Which line, counted from 1.
    pub line: u64,
    /// What is wrong with it.
    pub why: String,
}

fn hash_of(before: &str, entry: &str) -> String {
    Sha256Hex::of(format!("{before}\n{entry}"))
        .as_str()
        .to_owned()
}

/// Notes what a person did.
pub(crate) fn note(db: &Db, person: &Person, did: &str, about: Value) -> Result<()> {
    let last: Option<(i64, String)> =
        db.first("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1", [])?;
    let (last, before) = last.unwrap_or_default();
    let entry = AuditEntry {
        seq: last.unsigned_abs() + 1,
        at_ms: db.now_ms(),
        person: person.id.as_str().to_owned(),
        name: person.name.clone(),
        did: did.to_owned(),
        about,
    };
    let text = serde_json::to_string(&entry)?;
    db.run(
        "INSERT INTO audit (seq, hash, entry) VALUES (?1, ?2, ?3)",
        params![last + 1, hash_of(&before, &text), text],
    )
}

/// Takes somebody's name out of every line, whose hashes stay; which lines that were.
pub(crate) fn forget(db: &Db, person: &Person) -> Result<Vec<u64>> {
    let mut forgotten = Vec::new();
    for line in lines(db, 0, usize::MAX)? {
        let mut entry = line.entry;
        let own = entry.person == person.id.as_str();
        let about = entry.about["name"] == person.name.as_str();
        if own {
            entry.name.clear();
        }
        if about {
            entry.about["name"] = json!("");
        }
        if own || about {
            let text = serde_json::to_string(&entry)?;
            db.execute(
                "UPDATE audit SET entry = ?2 WHERE seq = ?1",
                params![entry.seq.cast_signed(), text],
            )?;
            forgotten.push(entry.seq);
        }
    }
    Ok(forgotten)
}

/// The lines that a later one says were erased.
fn forgotten(lines: &[AuditLine]) -> HashSet<u64> {
    let erasures = lines.iter().filter(|line| line.entry.did == ERASED);
    let listed = erasures.flat_map(|line| {
        let listed = line.entry.about["lines"].as_array().into_iter().flatten();
        let listed = listed.filter_map(Value::as_u64);
        let before = move |seq: &u64| *seq < line.entry.seq;
        listed.filter(before).collect::<Vec<_>>()
    });
    listed.collect()
}

/// A person's message began a thread.
pub(crate) fn asked(db: &Db, author: &str, thread: &ThreadId, text: &str) -> Result<()> {
    let Some(person) = person_by_id(db, author)? else {
        return Ok(());
    };
    let about = json!({"thread": thread, "sha256": Sha256Hex::of(text)});
    note(db, &person, "asked", about)
}

/// A person decided about a card.
pub(crate) fn decided(db: &Db, person: &Person, decision: &Decision) -> Result<()> {
    let about = json!({"request": decision.request, "kind": decision.kind,
        "choice": decision.choice, "sha256": decision.sha256, "thread": decision.thread,
        "run": decision.run});
    note(db, person, "decided", about)
}

/// A pull request was merged: by whose decision, or outside.
pub(crate) fn merged(db: &Db, repo: &str, news: &PullNews) -> Result<()> {
    let by: Option<String> = db.first(
        "SELECT person FROM cards WHERE channel = ?1 AND root = ?2 AND kind = 'merge'
               AND choice = 'merge' ORDER BY decided_ms DESC LIMIT 1",
        params![news.thread],
    )?;
    let person = match by {
        Some(id) => person_by_id(db, &id)?,
        None => None,
    };
    let outside = || Person {
        id: butler_protocol::UserId::new(""),
        name: "somebody outside".to_owned(),
    };
    let about = json!({"repo": repo, "pull": news.number, "head": news.head,
        "thread": news.thread});
    note(db, &person.unwrap_or_else(outside), "merged", about)
}

/// Lines after this one, oldest first.
pub(crate) fn lines(db: &Db, after: u64, limit: usize) -> Result<Vec<AuditLine>> {
    let mut before: String = db
        .first(
            "SELECT hash FROM audit WHERE seq = ?1",
            [after.cast_signed()],
        )?
        .unwrap_or_default();
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);

    let mut found = Vec::new();
    for (entry, hash) in db.rows::<(String, String)>(
        "SELECT entry, hash FROM audit WHERE seq > ?1 ORDER BY seq LIMIT ?2",
        params![after.cast_signed(), limit],
    )? {
        let line = AuditLine {
            entry: serde_json::from_str(&entry)?,
            before: std::mem::replace(&mut before, hash.clone()),
            hash,
        };
        found.push(line);
    }
    Ok(found)
}

/// The newest lines, newest first.
pub(crate) fn newest(db: &Db, limit: u64) -> Result<Vec<AuditLine>> {
    let last: i64 = db.one("SELECT coalesce(max(seq), 0) FROM audit", [])?;
    let mut found = lines(db, last.unsigned_abs().saturating_sub(limit), usize::MAX)?;
    found.reverse();
    Ok(found)
}

/// Whether a whole chain holds; the hash of its last line, which holds all of it.
///
/// # Errors
/// The first line that does not fit.
pub fn verify_audit(lines: &[AuditLine]) -> Result<String, Broken> {
    let mut before = String::new();
    let forgotten = forgotten(lines);
    for (number, line) in (1..).zip(lines) {
        let broken = |why: &str| Broken {
            line: number,
            why: why.to_owned(),
        };
        if line.entry.seq != number {
            return Err(broken(&format!(
                "says that it is number {}",
                line.entry.seq
            )));
        }
        if line.before != before {
            return Err(broken("does not follow the line before"));
        }
        let text = serde_json::to_string(&line.entry).unwrap_or_default();
        // Without the name its hash cannot be made again; the next line holds it.
        let nameless = line.entry.name.is_empty() || line.entry.about["name"] == "";
        let was_erased = nameless && forgotten.contains(&number);
        if !was_erased && hash_of(&before, &text) != line.hash {
            return Err(broken("was changed after it was written"));
        }
        before.clone_from(&line.hash);
    }
    Ok(before)
}

/// What the store says otherwise than the audit: a decision of another person or
/// another choice, or one that is missing from it.
pub(crate) fn contradiction(db: &Db) -> Result<Option<String>> {
    let sql = "SELECT c.request FROM cards c
        LEFT JOIN audit a ON json_extract(a.entry, '$.did') = 'decided'
          AND json_extract(a.entry, '$.about.request') = c.request
          AND json_extract(a.entry, '$.about.thread.channel') = c.channel
        WHERE c.choice IS NOT NULL AND (
          (a.seq IS NULL AND c.decided_ms >=
             (SELECT CAST(json_extract(entry, '$.at_ms') AS BIGINT) FROM audit WHERE seq = 1))
          OR json_extract(a.entry, '$.about.choice') <> c.choice
          OR json_extract(a.entry, '$.person') <> c.person) LIMIT 1";
    let request: Option<String> = db.first(sql, [])?;
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        identity::people,
        store::{db::system_clock, file::StoreFile},
    };

    fn chain() -> Vec<AuditLine> {
        let dir = tempfile::tempdir().unwrap();
        let db = StoreFile::in_folder(dir.path(), system_clock())
            .unwrap()
            .open()
            .unwrap();
        for number in 0..5 {
            note(&db, &people::owner(), "asked", json!({"number": number})).unwrap();
        }
        assert_eq!(newest(&db, 2).unwrap()[0].entry.seq, 5);
        assert_eq!(lines(&db, 3, 9).unwrap(), lines(&db, 0, 9).unwrap()[3..]);
        lines(&db, 0, 9).unwrap()
    }

    #[test]
    fn whatever_is_done_to_a_line_is_found() {
        let whole = chain();
        let head = verify_audit(&whole).unwrap();
        assert_eq!(head, whole[4].hash);
        let mut changed = whole.clone();
        changed[2].entry.name = "ben".to_owned();
        assert_eq!(verify_audit(&changed).unwrap_err().line, 3);
        // Also when its own hash was made anew: the next one tells.
        let text = serde_json::to_string(&changed[2].entry).unwrap();
        changed[2].hash = hash_of(&changed[2].before, &text);
        assert_eq!(verify_audit(&changed).unwrap_err().line, 4);
        for gone in 0..4 {
            let mut short = whole.clone();
            short.remove(gone);
            assert!(verify_audit(&short).is_err(), "{gone}");
        }
        // What was cut off at the end is seen by whoever kept the last hash.
        assert_ne!(verify_audit(&whole[..4]).unwrap(), head);
        // As exported and read again.
        let text = serde_json::to_string(&whole).unwrap();
        let again: Vec<AuditLine> = serde_json::from_str(&text).unwrap();
        assert_eq!(verify_audit(&again).unwrap(), head);
    }
}
