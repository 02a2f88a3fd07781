//! The lines of agents' logs, whether they are at hand or packed. Threads that have been
//! at rest for long are packed, role by role; the first new line brings them back.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
};

use butler_protocol::ThreadId;
use flate2::{Compression, read::GzDecoder, write::GzEncoder};

use crate::{
    error::{Result, Trouble},
    store::{Db, params},
};

/// One line: whose, its number, and its text.
pub(crate) type Line = (String, i64, String);

/// Every line of a thread, by role and number.
pub(crate) fn lines(db: &Db, thread: &ThreadId) -> Result<Vec<Line>> {
    let mut found = at_hand(db, thread)?;
    let packed = packed(db, thread)?;
    if !packed.is_empty() {
        found.extend(packed);
        found.sort();
    }
    Ok(found)
}

fn at_hand(db: &Db, thread: &ThreadId) -> Result<Vec<Line>> {
    Ok(db.rows(
        "SELECT role, seq, entry FROM records WHERE channel = ?1 AND root = ?2 ORDER BY role, seq",
        [thread],
    )?)
}

fn packed(db: &Db, thread: &ThreadId) -> Result<Vec<Line>> {
    let mut found = Vec::new();
    for (role, bytes) in db.rows::<(String, Vec<u8>)>(
        "SELECT role, bytes FROM cold_records WHERE channel = ?1 AND root = ?2",
        [thread],
    )? {
        let mut text = String::new();
        GzDecoder::new(bytes.as_slice())
            .read_to_string(&mut text)
            .map_err(Trouble::Packed)?;
        let lines = text.lines().filter_map(|line| line.split_once('\t'));
        let lines = lines.filter_map(|(seq, line)| Some((seq.parse().ok()?, line)));
        found.extend(lines.map(|(seq, line): (i64, &str)| (role.clone(), seq, line.to_owned())));
    }
    Ok(found)
}

/// Whether something of a thread is packed.
pub(crate) fn is_cold(db: &Db, thread: &ThreadId) -> Result<bool> {
    let sql = "SELECT 1 FROM cold_records WHERE channel = ?1 AND root = ?2 LIMIT 1";
    let keys = [thread];
    Ok(db.has(sql, keys)?)
}

/// Packs the lines of a thread; how many there were at hand.
pub(crate) fn pack(db: &Db, thread: &ThreadId) -> Result<usize> {
    let count = at_hand(db, thread)?.len();
    let mut by_role: BTreeMap<String, (i64, String)> = BTreeMap::new();
    for (role, seq, line) in lines(db, thread)? {
        let (lines, text) = by_role.entry(role).or_default();
        *lines += 1;
        text.push_str(&format!("{seq}\t{line}\n"));
    }
    let mut insert = db.prepare_cached(
        "INSERT INTO cold_records (channel, root, role, lines, bytes) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (channel, root, role) DO UPDATE SET lines = excluded.lines, bytes = excluded.bytes",
    )?;
    let (channel, root) = (thread.channel.as_str(), thread.root.as_str());
    for (role, (lines, text)) in by_role {
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        let bytes = packed
            .write_all(text.as_bytes())
            .and_then(|()| packed.finish())
            .map_err(Trouble::Packed)?;
        insert.execute(params![channel, root, role, lines, bytes.as_slice()])?;
    }
    db.execute(
        "DELETE FROM records WHERE channel = ?1 AND root = ?2",
        params![channel, root],
    )?;
    Ok(count)
}

/// Brings the lines of a thread back, if they are packed.
pub(crate) fn unpack(db: &Db, thread: &ThreadId) -> Result<()> {
    if !is_cold(db, thread)? {
        return Ok(());
    }
    let mut insert = db.prepare_cached(
        "INSERT OR IGNORE INTO records (channel, root, role, seq, entry) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    let (channel, root) = (thread.channel.as_str(), thread.root.as_str());
    for (role, seq, line) in packed(db, thread)? {
        insert.execute(params![channel, root, role, seq, line])?;
    }
    db.run(
        "DELETE FROM cold_records WHERE channel = ?1 AND root = ?2",
        params![channel, root],
    )
}

/// Brings everything back: whoever looks for a person's words must see them.
pub(crate) fn unpack_all(db: &Db) -> Result<()> {
    let threads: Vec<ThreadId> = db.rows("SELECT DISTINCT channel, root FROM cold_records", [])?;
    threads.iter().try_for_each(|thread| unpack(db, thread))
}
