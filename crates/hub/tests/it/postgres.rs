//! The hub on a real PostgreSQL: this suite once more, two hubs on one store, and the
//! server killed under them.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use butler_hub::{Hub, HubError, HubTls, StorePlace, Tokens};
use butler_protocol::{Role, Secret};
use butler_slack::Socket;
use butler_testkit::{Pooler, Postgres};
use butler_tls::Trust;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{
    erasing::{any_file_holds, tables_of},
    store_versions,
    world::{PATIENCE, World, client, client_trusting, config, take, text_of},
};

/// What runs a second time on PostgreSQL: nearly everything that only needs the hub, and
/// the relay to Slack.
const AGAIN: &[&str] = &[
    "control::",
    "decisions::",
    "edits::",
    "epochs::",
    "erasing::",
    "fan_out::",
    "groups::",
    "limits::",
    "machines::",
    "needs::",
    "people::",
    "posting::",
    "relay::",
    "review::",
    "runs::",
    "sessions::",
    "stopping::",
    "upkeep::",
    "store_versions::",
    "views::",
    "words::",
];

/// Hubs that are killed, at each point and at random, with Slack and without, and Slack
/// in bad weather.
const KILLED: &[&str] = &["kills::", "kill_storm::", "relay_kills::", "relay_storm::"];

/// Tests that look into SQLite's file themselves, one with a browser, and one that runs
/// others again.
const NOT: &[&str] = &["after_a_longer_absence", "by_clicks", "holds_encrypted"];

#[test]
fn the_suite_holds_on_postgres() {
    again(AGAIN, 80);
}

#[test]
fn hubs_killed_anywhere_lose_and_repeat_nothing_on_postgres() {
    again(KILLED, 6);
}

/// Runs tests of this program with a store in PostgreSQL.
fn again(tests: &[&str], at_least: u32) {
    let Some(server) = Postgres::start() else {
        return;
    };
    let ran = Command::new(std::env::current_exe().unwrap())
        .args(tests)
        .args(NOT.iter().flat_map(|name| ["--skip", name]))
        .arg("--test-threads=2")
        .env("CODEBUTLER_TEST_DATABASE", server.address())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}");
    let summary = said.lines().find(|line| line.contains("test result: ok"));
    let passed = summary.and_then(|line| line.split_whitespace().nth(3)?.parse::<u32>().ok());
    assert!(passed.unwrap_or(0) >= at_least, "{said}");
}

/// Two hubs, each with a folder of its own, on one store.
struct Pair {
    server: Postgres,
    folders: [TempDir; 2],
    hubs: Vec<Option<(Hub, CancellationToken)>>,
    bases: Vec<Url>,
    http: reqwest::Client,
    /// Whether they encrypt.
    tls: Option<HubTls>,
}

impl Pair {
    async fn start() -> Option<Self> {
        Self::start_with(None).await
    }

    async fn start_with(tls: Option<HubTls>) -> Option<Self> {
        let mut pair = Self {
            tls,
            server: Postgres::start()?,
            folders: [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()],
            hubs: vec![None, None],
            bases: vec!["http://127.0.0.1:0/".parse().unwrap(); 2],
            http: client(),
        };
        for at in 0..2 {
            pair.up(at).await;
        }
        Some(pair)
    }

    async fn up(&mut self, at: usize) {
        let mut config = config(self.folders[at].path(), ([127, 0, 0, 1], 0).into());
        config.database = Some(Secret::new(self.server.address()));
        config.reach.tls.clone_from(&self.tls);
        let cancel = CancellationToken::new();
        let hub = Hub::start(config, cancel.clone()).await.unwrap();
        let scheme = match hub.fingerprint().cloned() {
            Some(own) => {
                self.http = client_trusting(&Trust::Exactly(own));
                "https"
            }
            None => "http",
        };
        let base = format!("{scheme}://{}/", hub.address());
        self.bases[at] = base.parse().unwrap();
        self.hubs[at] = Some((hub, cancel));
    }

    async fn down(&mut self, at: usize) {
        let (hub, cancel) = self.hubs[at].take().unwrap();
        cancel.cancel();
        timeout(PATIENCE, hub.wait()).await.unwrap();
    }

    fn tokens(&self) -> Tokens {
        let database = Some(Secret::new(self.server.address()));
        let folder = self.folders[0].path().to_owned();
        Tokens::open(StorePlace::new(folder, database)).unwrap()
    }

    async fn post(&self, at: usize, token: &Secret, body: &Value) -> (u16, Value) {
        let url = self.bases[at].join("v1/messages").unwrap();
        let request = self.http.post(url).bearer_auth(token.expose()).json(body);
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    async fn text(&self, at: usize, path: &str) -> (u16, String) {
        let url = self.bases[at].join(path).unwrap();
        let answer = self.http.get(url).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_hub_writes_the_subscribers_of_the_other_hear_in_order_and_once() {
    let Some(mut pair) = Pair::start().await else {
        return;
    };
    let repo = pair.tokens().ensure_repo("app", "app").unwrap();
    let ana = pair.tokens().ensure_person("ana").unwrap();
    let app = repo.agents[&Role::Pm].app.clone();
    let open = |at: usize| Socket::open(&pair.bases[at], app.clone(), CancellationToken::new());
    let mut socket = timeout(PATIENCE, open(1)).await.unwrap().unwrap();
    for number in 0..20 {
        // People are at both hubs in turn; the agent is at the second.
        let body = json!({"channel": repo.channel, "text": format!("word {number}")});
        assert_eq!(pair.post(number % 2, &ana.token, &body).await.0, 200);
    }
    let mut heard = Vec::new();
    for _ in 0..20 {
        heard.push(text_of(&take(&mut socket).await));
    }
    let said: Vec<String> = (0..20).map(|number| format!("word {number}")).collect();
    assert_eq!(heard, said);

    // Who connects anew, to any hub, is the one that counts.
    let second = timeout(PATIENCE, open(0)).await.unwrap().unwrap();
    assert!(second.epoch() > socket.epoch());
    drop((socket, second));
    for at in [0, 1] {
        pair.down(at).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_is_good_at_any_hub_of_the_store_once_and_all_show_one_certificate() {
    let Some(mut pair) = Pair::start_with(Some(HubTls::Own)).await else {
        return;
    };
    let shown: Vec<_> = pair.hubs.iter().flatten().collect();
    assert!(shown[0].0.fingerprint().is_some());
    assert_eq!(shown[0].0.fingerprint(), shown[1].0.fingerprint());
    pair.tokens().ensure_repo("app", "app").unwrap();
    let life = std::time::Duration::from_secs(60);
    for _ in 0..5 {
        let code = pair.tokens().invite_machine("app", &[Role::Coder], life);
        let body = json!({"code": code.unwrap().expose(), "name": "laptop"});
        let join = async |at: usize| {
            let url = pair.bases[at].join("agent/v1/join").unwrap();
            let answer = pair.http.post(url).json(&body).send().await.unwrap();
            (
                answer.status().as_u16(),
                answer.json::<Value>().await.unwrap(),
            )
        };
        let (one, other) = tokio::join!(join(0), join(1));
        let (good, bad) = match one.0 {
            200 => (one, other),
            _ => (other, one),
        };
        assert_eq!((good.0, bad.0), (200, 401), "{good:?} {bad:?}");
        assert_eq!(bad.1["error"], "code_used");
        // What was given at one hub is good at both, until the machine is sent away.
        let bot = good.1["tokens"][0]["bot"].as_str().unwrap();
        let me = async |at: usize| {
            let url = pair.bases[at].join("agent/v1/me").unwrap();
            let asked = pair.http.get(url).bearer_auth(bot).send().await.unwrap();
            asked.status().as_u16()
        };
        assert_eq!((me(0).await, me(1).await), (200, 200));
        let machine = good.1["machine"].as_str().unwrap();
        pair.tokens().revoke_machine(machine).unwrap();
        assert_eq!((me(0).await, me(1).await), (401, 401));
    }
    for at in [0, 1] {
        pair.down(at).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_database_is_told_and_nothing_acknowledged_is_lost() {
    let Some(mut pair) = Pair::start().await else {
        return;
    };
    let repo = pair.tokens().ensure_repo("app", "app").unwrap();
    let ana = pair.tokens().ensure_person("ana").unwrap();
    let body = json!({"channel": repo.channel, "text": "before"});
    assert_eq!(pair.post(0, &ana.token, &body).await.0, 200);
    pair.server.kill();
    let told = async { while pair.text(0, "healthz").await.0 == 200 {} };
    timeout(PATIENCE, told).await.unwrap();
    let body = json!({"channel": repo.channel, "text": "into the void"});
    assert_ne!(pair.post(0, &ana.token, &body).await.0, 200);
    pair.server.up();
    for at in [0, 1] {
        let healthy = async { while pair.text(at, "healthz").await.0 != 200 {} };
        timeout(PATIENCE, healthy).await.unwrap();
    }
    let body = json!({"channel": repo.channel, "text": "after"});
    assert_eq!(pair.post(1, &ana.token, &body).await.0, 200);
    let app = repo.agents[&Role::Pm].app.clone();
    let opening = Socket::open(&pair.bases[0], app, CancellationToken::new());
    let mut socket = timeout(PATIENCE, opening).await.unwrap().unwrap();
    let mut heard = Vec::new();
    while heard.last().map(String::as_str) != Some("after") {
        heard.push(text_of(&take(&mut socket).await));
    }
    assert_eq!(heard, ["before", "after"]);
    for at in [0, 1] {
        pair.down(at).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_turned_away_by_one_hub_and_let_in_by_another_is_too_old_no_more() {
    let Some(mut pair) = Pair::start().await else {
        return;
    };
    let repo = pair.tokens().ensure_repo("app", "app").unwrap();
    let app = repo.agents[&Role::Lead].app.clone();
    let url = pair.bases[0].join("api/apps.connections.open").unwrap();
    let opened = pair.http.post(url).bearer_auth(app.expose()).send().await;
    let opened: Value = opened.unwrap().json().await.unwrap();
    let address = opened["url"].as_str().unwrap().replace("ws://", "http://");
    let dialed = pair
        .http
        .get(format!("{address}&codebutler=0&version=0.0.1"))
        .header("connection", "upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    assert_eq!(dialed.send().await.unwrap().status(), 101);
    let turned = "codebutler_agent_turned_away{repo=\"app\",role=\"lead\"} 1";
    // It counts from the first time that it was let in anywhere.
    let open = |at: usize| Socket::open(&pair.bases[at], app.clone(), CancellationToken::new());
    let let_in = timeout(PATIENCE, open(1)).await.unwrap().unwrap();
    let ended = async { while pair.text(0, "metrics").await.1.contains(turned) {} };
    timeout(PATIENCE, ended).await.unwrap();
    let here = "codebutler_agent_connected{repo=\"app\",role=\"lead\"} 1";
    let seen = async { while !pair.text(0, "metrics").await.1.contains(here) {} };
    timeout(PATIENCE, seen).await.unwrap();
    let (_, metrics) = pair.text(0, "metrics").await;
    assert!(!metrics.contains(turned), "{metrics}");
    drop(let_in);
    for at in [0, 1] {
        pair.down(at).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_without_room_refuses_for_now_and_says_that_it_does_not_write() {
    let Some(mut pair) = Pair::start().await else {
        return;
    };
    let repo = pair.tokens().ensure_repo("app", "app").unwrap();
    let ana = pair.tokens().ensure_person("ana").unwrap();
    // No new page can be had; what fits into an old one works.
    let full = "CREATE FUNCTION codebutler.full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full';
        END $$;
        CREATE TRIGGER no_room BEFORE INSERT ON codebutler.messages
          FOR EACH ROW EXECUTE FUNCTION codebutler.full();
        CREATE TRIGGER no_room BEFORE INSERT ON codebutler.own_values
          FOR EACH ROW WHEN (length(NEW.value) > 8000) EXECUTE FUNCTION codebutler.full();";
    directly(&pair.server.address(), full).await;
    let body = json!({"channel": repo.channel, "text": "no room"});
    let (status, told) = pair.post(0, &ana.token, &body).await;
    assert_eq!(status, 503, "{told}");
    // Agents repeat a call that was refused like this; an error they take as final.
    let url = pair.bases[1].join("api/chat.postMessage").unwrap();
    let bot = repo.agents[&Role::Pm].bot.expose();
    let posted = pair.http.post(url).bearer_auth(bot).json(&body).send();
    assert_eq!(posted.await.unwrap().status(), 503);
    for at in [0, 1] {
        assert_eq!(pair.text(at, "readyz/store").await.0, 503);
        let (_, metrics) = pair.text(at, "metrics").await;
        assert!(
            metrics.contains("\ncodebutler_store_writable 0\n"),
            "{metrics}"
        );
    }
    let room = "DROP TRIGGER no_room ON codebutler.messages;
        DROP TRIGGER no_room ON codebutler.own_values;";
    directly(&pair.server.address(), room).await;
    for at in [0, 1] {
        let writes = async { while pair.text(at, "readyz/store").await.0 != 200 {} };
        timeout(PATIENCE, writes).await.unwrap();
        assert_eq!(pair.post(at, &ana.token, &body).await.0, 200);
        pair.down(at).await;
    }
}

#[test]
fn a_middle_man_that_gives_each_transaction_another_connection_is_refused() {
    let Some(server) = Postgres::start() else {
        return;
    };
    for (mode, is_taken) in [("session", true), ("transaction", false)] {
        let Some(pooler) = Pooler::start(&server, mode) else {
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let database = Some(Secret::new(pooler.address()));
        let place = StorePlace::new(folder.path().to_owned(), database);
        match Tokens::open(place) {
            Ok(_) => assert!(is_taken, "{mode}"),
            Err(error) => {
                assert!(!is_taken, "{mode}: {error}");
                let cause = std::error::Error::source(&error).unwrap().to_string();
                assert!(cause.contains("pool_mode = session"), "{cause}");
            }
        }
    }
}

/// Says something to the server itself.
async fn directly(address: &str, sql: &str) -> Vec<tokio_postgres::SimpleQueryMessage> {
    let (client, connection) = tokio_postgres::connect(address, tokio_postgres::NoTls)
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    let answer = client.simple_query(sql).await.unwrap();
    drop(client);
    let _ = connection.await;
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_of_a_later_version_is_left_alone_and_the_error_says_why() {
    let Some(server) = Postgres::start() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let open = || {
        let database = Some(Secret::new(server.address()));
        Tokens::open(StorePlace::new(dir.path().to_owned(), database))
    };
    drop(open().unwrap());
    let later = "UPDATE codebutler.store_version SET version = 999";
    directly(&server.address(), later).await;
    let refused = open().unwrap_err();
    assert!(matches!(refused, HubError::Newer { .. }), "{refused}");
    assert!(
        refused.to_string().contains("newer codebutler"),
        "{refused}"
    );
    let mut config = config(dir.path(), ([127, 0, 0, 1], 0).into());
    config.database = Some(Secret::new(server.address()));
    let hub = Hub::start(config, CancellationToken::new()).await;
    assert!(matches!(hub.unwrap_err(), HubError::Newer { .. }));
    let kept = "SELECT version FROM codebutler.store_version";
    let kept = directly(&server.address(), kept).await;
    let tokio_postgres::SimpleQueryMessage::Row(row) = &kept[1] else {
        panic!("{kept:?}");
    };
    assert_eq!(row.get(0), Some("999"));
}

/// Whether a file of the server's tables holds these bytes.
async fn on_disk(address: &str, words: &str) -> bool {
    any_file_holds(tables_of(address).await, words)
}

#[tokio::test(flavor = "multi_thread")]
async fn erasing_waits_for_whoever_may_still_look_at_what_was_there() {
    let Some(mut pair) = Pair::start().await else {
        return;
    };
    let repo = pair.tokens().ensure_repo("app", "app").unwrap();
    let ana = pair.tokens().ensure_person("ana").unwrap();
    let body = json!({"channel": repo.channel, "text": "my cryptic plumage request"});
    assert_eq!(pair.post(0, &ana.token, &body).await.0, 200);
    for at in [0, 1] {
        pair.down(at).await;
    }
    let address = pair.server.address();
    let connect = || tokio_postgres::connect(&address, tokio_postgres::NoTls);
    let (reader, connection) = connect().await.unwrap();
    tokio::spawn(connection);
    // It holds no table, only a moment: VACUUM FULL does not wait for it by itself.
    let look = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1";
    reader.batch_execute(look).await.unwrap();
    let mut tokens = pair.tokens();
    let erasing = tokio::task::spawn_blocking(move || tokens.erase("ana"));
    let (watcher, connection) = connect().await.unwrap();
    tokio::spawn(connection);
    let waits = "SELECT count(*) FROM pg_stat_activity
        WHERE query LIKE '%backend_xmin%' AND pid <> pg_backend_pid()";
    let waiting = async {
        while !erasing.is_finished() {
            let count: i64 = watcher.query_one(waits, &[]).await.unwrap().get(0);
            if count > 0 {
                break;
            }
        }
    };
    timeout(PATIENCE, waiting).await.unwrap();
    assert!(on_disk(&address, "plumage").await);
    reader.batch_execute("COMMIT").await.unwrap();
    timeout(PATIENCE, erasing).await.unwrap().unwrap().unwrap();
    assert!(!on_disk(&address, "plumage").await);
}

/// A workspace as every release since the first with a database left it there.
fn fixture(version: u32) -> PathBuf {
    let name = format!("tests/fixtures/store_{version}.postgres.sql");
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The first version of the schema that was ever in a database.
const FIRST: u32 = 8;

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_every_version_opens_with_everything_in_it() {
    let Some(server) = Postgres::start() else {
        return;
    };
    let in_database = async |name: &str| {
        let address = server.address().replace("/postgres", &format!("/{name}"));
        directly(&server.address(), &format!("CREATE DATABASE {name}")).await;
        Secret::new(address)
    };
    if std::env::var_os("UPDATE_FIXTURES").is_some() {
        let address = in_database("made").await;
        let mut world = World::in_database(tempfile::tempdir().unwrap(), &address).await;
        store_versions::live_in(&world).await;
        world.down().await;
        let dumped = server.dump(address.expose());
        std::fs::write(fixture(store_versions::newest()), dumped).unwrap();
    }
    for version in FIRST..=store_versions::newest() {
        let dump = std::fs::read_to_string(fixture(version))
            .expect("a fixture of this version: UPDATE_FIXTURES=1 writes it, the git log keeps it");
        let address = in_database(&format!("v{version}")).await;
        directly(address.expose(), &dump).await;
        let world = World::in_database(tempfile::tempdir().unwrap(), &address).await;
        store_versions::everything_is_there(&world).await;
    }
}

/// What people and scripts see of a workspace.
async fn seen(base: &Url, http: &reqwest::Client, who: &Secret, thread: &str) -> Vec<Value> {
    let mut all = Vec::new();
    let paths = ["channels", "unread", "search?q=hello", "decisions", "audit"];
    let paths = paths.map(str::to_owned).into_iter();
    for path in paths.chain([format!("threads/{thread}")]) {
        let url = base.join(&format!("v1/{path}")).unwrap();
        let answer = http.get(url).bearer_auth(who.expose()).send().await;
        all.push(answer.unwrap().json().await.unwrap());
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_moves_whole_and_its_file_is_not_used_again() {
    let Some(server) = Postgres::start() else {
        return;
    };
    let mut world = World::start().await;
    let root = world.say("hello there", None).await;
    for number in 0..30 {
        world.say(&format!("word {number}"), Some(&root)).await;
    }
    let thread = format!("{}/{root}", world.channel());
    let before = seen(&world.base, &world.http, &world.ana.token, &thread).await;
    let folder = world.dir.path().to_owned();
    let address = Secret::new(format!("{}?schema=moved", server.address()));
    world.down().await;
    let moved = butler_hub::migrate(&folder, address.clone()).unwrap();
    assert!(moved.rows > 60, "{moved:?}");
    let again = Tokens::open(&folder).unwrap_err();
    assert!(matches!(again, HubError::Moved(_)), "{again}");

    let mut config = config(&folder, ([127, 0, 0, 1], 0).into());
    config.database = Some(address.clone());
    let cancel = CancellationToken::new();
    let hub = Hub::start(config, cancel.clone()).await.unwrap();
    world.base = format!("http://{}/", hub.address()).parse().unwrap();
    let after = seen(&world.base, &world.http, &world.ana.token, &thread).await;
    assert_eq!(after, before);
    // Agents find what they had not acknowledged, and it goes on behind that.
    let newest = world.say("from here on", Some(&root)).await;
    assert!(newest > root);
    let mut socket = world.socket(Role::Pm).await;
    assert_eq!(text_of(&take(&mut socket).await), "hello there");
    cancel.cancel();
    timeout(PATIENCE, hub.wait()).await.unwrap();

    // A database that has a workspace keeps it.
    let mut other = World::start().await;
    other.down().await;
    let taken = butler_hub::migrate(other.dir.path(), address).unwrap_err();
    assert!(matches!(taken, HubError::Taken(_)), "{taken}");
    Tokens::open(other.dir.path()).unwrap();
}
