//! A store of every version there ever was opens with everything in it. The fixtures
//! are dumps without tokens; `UPDATE_FIXTURES=1` writes the one of this version.

use std::{
    fs,
    path::{Path, PathBuf},
};

use butler_hub::Tokens;
use butler_protocol::{
    Choice, DecisionKind, RequestId, Reservation, ReserveAnswer, ReserveId, Role, ThreadId, Usd,
};
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

use crate::world::{World, card, subject};

fn fixture(version: u32) -> PathBuf {
    let name = format!("tests/fixtures/store_{version}.sql");
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn store(dir: &Path) -> Connection {
    Connection::open(dir.join("hub.sqlite3")).unwrap()
}

fn version(store: &Connection) -> u32 {
    store
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap()
}

fn column<T: rusqlite::types::FromSql>(store: &Connection, sql: &str) -> Vec<T> {
    let mut statement = store.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Tables, views, indexes and triggers, as their makers wrote them. What the search
/// keeps for itself it makes itself.
fn schema(store: &Connection) -> Vec<String> {
    let sql = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL
                 AND name NOT LIKE 'sqlite_%' AND sql NOT LIKE 'CREATE TABLE ''search_%'
               ORDER BY instr('table view index trigger', type), name";
    column(store, sql)
}

/// The store as SQL. Tokens are not in it: they are made anew when it is laid out.
fn dump(store: &Connection) -> String {
    let mut lines: Vec<String> = schema(store).iter().map(|sql| format!("{sql};")).collect();
    // The words to search for come back with the rows that they stand in.
    let tables = "SELECT name FROM sqlite_master WHERE type = 'table'
                  AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'search%' ORDER BY name";
    for table in column::<String>(store, tables) {
        if ["tokens", "sessions", "login_codes", "own_values"].contains(&table.as_str()) {
            continue;
        }
        let columns = format!("SELECT name FROM pragma_table_info('{table}')");
        let quoted: Vec<String> = column::<String>(store, &columns)
            .iter()
            .map(|name| format!("quote({name})"))
            .collect();
        let rows = format!("SELECT {} FROM {table}", quoted.join(" || ', ' || "));
        let rows = column::<String>(store, &rows).into_iter();
        lines.extend(rows.map(|row| format!("INSERT INTO {table} VALUES ({row});")));
    }
    lines.join("\n") + "\n"
}

/// What every fixture holds: a request, an answer, a reaction, an approved plan, money.
pub(crate) async fn live_in(world: &World) {
    let root = world.say("build it", None).await;
    let pm = world.web(Role::Pm);
    pm.post(&world.post("on it", Some(&root), "first"))
        .await
        .unwrap();
    let react = json!({"channel": world.channel(), "timestamp": root, "name": "eyes"});
    pm.call("reactions.add", react).await.unwrap();
    let control = world.control(Role::Pm);
    let mut post = world.post("", Some(&root), "card plan01");
    let plan = subject(DecisionKind::Plan, "1. do it");
    card(&control, &mut post, "plan01", &plan).await;
    let asked = pm.post(&post).await.unwrap();
    let press =
        json!({"channel": world.channel(), "ts": asked.ts, "action_id": "cb:plan01:approve"});
    let (status, answer) = world.person(&world.ana, "v1/actions", &press).await;
    assert_eq!(status, 200, "{answer}");
    let reservation = Reservation {
        id: ReserveId::new("a"),
        thread: world.thread(&root),
        person: None,
        amount: Usd::from_cents(60),
        heard: None,
    };
    let granted = control.reserve(&reservation).await.unwrap();
    assert!(matches!(granted, ReserveAnswer::Granted { .. }));
}

/// Lays a store out as one of that version left it.
fn laid_out(version: u32, dump: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    // Rows come in the order of their tables.
    store.pragma_update(None, "foreign_keys", false).unwrap();
    store.execute_batch(dump).unwrap();
    store.pragma_update(None, "user_version", version).unwrap();
    if !in_file() {
        // What a person does who had a file until now.
        let place = tempfile::tempdir().unwrap();
        let copy = dir.path().join("hub.sqlite3");
        butler_hub::put_back(&copy, &place.path().into()).unwrap();
        return place;
    }
    dir
}

/// Whether the suite runs on files.
fn in_file() -> bool {
    std::env::var_os("CODEBUTLER_TEST_DATABASE").is_none()
}

/// The version that this build writes.
pub(crate) fn newest() -> u32 {
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/schema");
    let names = fs::read_dir(schema).unwrap().flatten();
    let names = names.filter_map(|file| file.file_name().into_string().ok());
    let versions = names.filter_map(|name| name.split('_').next()?.parse().ok());
    versions.max().unwrap()
}

pub(crate) async fn everything_is_there(world: &World) {
    let threads = world.get(&world.ana, "v1/board").await;
    let thread: ThreadId = serde_json::from_value(threads["threads"][0]["thread"].clone()).unwrap();
    let view = world.get(&world.ana, &format!("v1/threads/{thread}")).await;
    let messages = view["messages"].as_array().unwrap();
    assert_eq!(messages[0]["text"], "build it", "{view}");
    assert_eq!(messages[0]["reactions"][0]["name"], "eyes", "{view}");
    assert_eq!(messages[1]["text"], "on it", "{view}");
    let hits = world.get(&world.ana, "v1/search?q=build").await;
    assert_eq!(hits["hits"][0]["title"], "build it", "{hits}");
    assert_eq!(view["cost"]["used"], 60 * 10_000_000_i64, "{view}");
    let decision = world.control(Role::Coder);
    let decision = decision.decision(&RequestId::new("plan01")).await.unwrap();
    let decided = decision.decided.unwrap();
    assert_eq!(
        (decided.choice, decided.person),
        (Choice::Approve, world.ana.user.clone())
    );
    // And it goes on: a new word comes after the old ones.
    let said = world.say("more", Some(&thread.root)).await;
    assert!(said > thread.root);
}

#[tokio::test]
async fn a_store_of_every_version_opens_with_everything_in_it() {
    let newest = newest();
    if std::env::var_os("UPDATE_FIXTURES").is_some() {
        let mut world = World::start().await;
        live_in(&world).await;
        world.down().await;
        fs::write(fixture(newest), dump(&store(world.dir.path()))).unwrap();
    }
    // Stores from before there were versions look like those of the first.
    for (version, written) in (0..=newest).map(|version| (version, version.max(1))) {
        let dump = fs::read_to_string(fixture(written))
            .expect("a fixture of this version: UPDATE_FIXTURES=1 writes it, the git log keeps it");
        let dir = laid_out(version, &dump);
        let world = World::on(dir, |_, _| Vec::new()).await;
        everything_is_there(&world).await;
        if in_file() {
            let fresh = tempfile::tempdir().unwrap();
            Tokens::open(fresh.path()).unwrap();
            let (opened, fresh) = (store(world.dir.path()), store(fresh.path()));
            assert_eq!([&opened, &fresh].map(self::version), [newest; 2]);
            assert_eq!(schema(&opened), schema(&fresh));
            let gives_back: u32 = opened
                .pragma_query_value(None, "auto_vacuum", |row| row.get(0))
                .unwrap();
            assert_eq!(gives_back, 2, "what is deleted makes the file smaller");
        }
    }
}
