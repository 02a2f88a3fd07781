//! What a person is owed, checked after every story that a real team played: from
//! the hub's store and the roles' logs as they lie on disk when all processes have
//! ended, never from what a process believes of itself; and what people are offered
//! then, by a hub that is opened again.
//!
//! What was cut off by the end of the test is excused: a law holds for a role whose
//! log has come to rest and that has no mail waiting at the hub.

mod laws;
mod ways_on;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use butler_journal::read;
use butler_protocol::{Entry, Record, ThreadId};
use rusqlite::{Connection, OpenFlags, params};
use serde_json::Value;

/// Panics with everything that somebody is owed and did not get.
pub(crate) fn check(root: &Path, remote: &Path, home: &Path) {
    let threads = root.join(".codebutler/threads");
    let mut owed = Vec::new();
    for hub in ["hub", "hub-slack"] {
        let folder = home.join(hub);
        let store = folder.join("hub.sqlite3");
        let Ok(store) = Connection::open_with_flags(store, OpenFlags::SQLITE_OPEN_READ_ONLY) else {
            continue;
        };
        let mut all = Thread::all(&store, &threads);
        drop(store);
        all.retain(|thread| !among_people(thread, root));
        let offers = ways_on::offers(&folder, &all);
        for thread in &all {
            let mut breaches = laws::breaches(thread, remote);
            breaches.extend(ways_on::missing(thread, &offers, remote));
            let told = breaches.iter().map(|what| format!("{}: {what}", thread.id));
            owed.extend(told);
        }
    }
    assert!(owed.is_empty(), "people are owed:\n{}", owed.join("\n"));
}

/// Where the team answers to its name only, a thread that never says it is none of its business.
fn among_people(thread: &Thread, root: &Path) -> bool {
    let config = fs::read_to_string(root.join(".codebutler/config.json")).unwrap_or_default();
    let config: Value = serde_json::from_str(&config).unwrap_or_default();
    let text = |message: &Message| message.body["text"].to_string();
    config["slack"]["respondTo"] == "mention"
        && thread.logs.is_empty()
        && !thread
            .messages
            .iter()
            .any(|message| text(message).contains("codebutler"))
}

/// A message of the hub's store.
struct Message {
    ts: String,
    /// Nobody's for a person.
    role: Option<String>,
    body: Value,
}

/// A card, and what was decided about it.
struct Card {
    request: String,
    kind: String,
    message: String,
    from: String,
    choice: Option<String>,
}

/// One role's log, or that of one research request.
struct RoleLog {
    role: String,
    entries: Vec<Entry>,
    /// Whether nothing is under way.
    rests: bool,
    /// Texts that the role chose to keep to itself.
    kept: String,
}

/// All that is known about one thread.
struct Thread {
    id: ThreadId,
    messages: Vec<Message>,
    cards: Vec<Card>,
    logs: Vec<RoleLog>,
    /// Messages that somebody reacted to.
    marked: BTreeSet<String>,
    /// Whether mail still waits for a role, or a note was collected.
    under_way: bool,
}

impl Thread {
    fn all(store: &Connection, threads: &Path) -> Vec<Self> {
        let pairs = rows(store, "SELECT DISTINCT channel, root FROM messages", &[]);
        let ids = pairs.into_iter().filter_map(|pair| {
            let id: ThreadId = format!("{}/{}", pair[0], pair[1]).parse().ok()?;
            Some(id)
        });
        ids.map(|id| Self::read(store, threads, id)).collect()
    }

    fn read(store: &Connection, threads: &Path, id: ThreadId) -> Self {
        let key = [id.channel.as_str(), id.root.as_str()];
        let of = |sql| rows(store, sql, &key);
        let messages = of("SELECT ts, coalesce(role, ''), body FROM messages
             WHERE channel = ?1 AND root = ?2 ORDER BY ts");
        let cards = of(
            "SELECT request, kind, message, from_role, coalesce(choice, '')
             FROM cards WHERE channel = ?1 AND root = ?2",
        );
        let marked = of("SELECT ts, name FROM reactions WHERE channel = ?1 AND ?2 = ?2");
        let waiting = of("SELECT DISTINCT agents.role, '' FROM deliveries
             JOIN agents ON agents.id = deliveries.agent
             JOIN events ON events.seq = deliveries.seq
             WHERE events.channel = ?1 AND events.root = ?2");
        let waiting: BTreeSet<String> = waiting.into_iter().map(|row| row[0].clone()).collect();
        let folder = threads.join(id.to_string().replace(['/', '.'], "-"));
        let logs = logs(&folder, &waiting);
        let resting = logs.iter().all(|log| log.rests);
        Self {
            under_way: !waiting.is_empty() || !resting || folder.join("drafts").exists(),
            messages: messages
                .into_iter()
                .map(|row| Message {
                    ts: row[0].clone(),
                    role: Some(row[1].clone()).filter(|role| !role.is_empty()),
                    body: serde_json::from_str(&row[2]).unwrap(),
                })
                .collect(),
            cards: cards.into_iter().map(card).collect(),
            logs,
            marked: marked.into_iter().map(|row| row[0].clone()).collect(),
            id,
        }
    }

    /// The logs of a role: one, or one for each request.
    fn logs_of(&self, role: &str) -> impl Iterator<Item = &RoleLog> {
        self.logs.iter().filter(move |log| log.role == role)
    }
}

fn card(row: Vec<String>) -> Card {
    let [request, kind, message, from, choice]: [String; 5] = row.try_into().unwrap();
    Card {
        request,
        kind,
        message,
        from,
        choice: Some(choice).filter(|choice| !choice.is_empty()),
    }
}

fn rows(store: &Connection, sql: &str, key: &[&str]) -> Vec<Vec<String>> {
    let mut statement = store.prepare(sql).unwrap();
    let columns = statement.column_count();
    let read = |row: &rusqlite::Row<'_>| (0..columns).map(|at| row.get(at)).collect();
    let found = match key {
        [channel, root] => statement.query_map(params![channel, root], read),
        _ => statement.query_map([], read),
    };
    found.unwrap().collect::<Result<_, _>>().unwrap()
}

fn logs(folder: &Path, waiting: &BTreeSet<String>) -> Vec<RoleLog> {
    let files = fs::read_dir(folder.join("conversations"))
        .into_iter()
        .flatten();
    let mut found = BTreeMap::new();
    for file in files.flatten().map(|file| file.path()) {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let (true, Ok(log)) = (
            file.extension().is_some_and(|end| end == "jsonl"),
            read(&file),
        ) else {
            continue;
        };
        let role = name.split('-').next().unwrap().to_owned();
        let choices = folder.join(format!("decisions/{name}.jsonl"));
        let rests = is_over(&log.entries) && !waiting.contains(&role);
        let log = RoleLog {
            rests,
            kept: fs::read_to_string(choices).unwrap_or_default(),
            entries: log.entries,
            role,
        };
        found.insert(name, log);
    }
    found.into_values().collect()
}

/// Whether the last thing that counts is an end, or a sleep.
fn is_over(log: &[Entry]) -> bool {
    let quiet = |record: &Record| {
        matches!(
            record,
            Record::Settled { .. }
                | Record::Stopped { .. }
                | Record::Posted { .. }
                | Record::DecisionAsked { .. }
                | Record::Received { .. }
        )
    };
    let last = log.iter().rev().find(|entry| !quiet(&entry.record));
    last.is_none_or(|entry| {
        matches!(
            entry.record,
            Record::ActivationEnded { .. } | Record::Parked { .. }
        )
    })
}
