//! Two hubs as processes on one PostgreSQL, each behind a middle man of its own, and a
//! balancer before them. The database itself notes who became the owner when, and who
//! wrote what only the owner may write: each hub is a user of its own there.

use std::{
    io::{BufRead, BufReader},
    net::{SocketAddr, TcpListener},
    process::{Child, Command, Stdio},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use butler_hub::{Hub, StorePlace, Tokens};
use butler_protocol::{Clock, Secret};
use butler_testkit::{Postgres, Proxy, SlackStandIn, Visit};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{
    history::{Act, Lease},
    slack_world::{quick, relay_config},
    world::{PATIENCE, config},
};

const CHILD: &str = "CODEBUTLER_TEST_PAIR";
const READY: &str = "the hub of the pair is ready";
/// The hubs, as the database knows them.
pub(crate) const NAMES: [&str; 2] = ["one", "other"];
/// The hosts under which they know Slack, so that it can tell them apart.
const HOSTS: [&str; 2] = ["127.0.0.1", "localhost"];

/// What the database notes.
const WATCH: &str = "
    CREATE ROLE one SUPERUSER LOGIN; CREATE ROLE other SUPERUSER LOGIN;
    SET search_path = codebutler;
    CREATE TABLE lease_log (seq BIGSERIAL, number BIGINT, hub TEXT, at TIMESTAMPTZ);
    CREATE TABLE strays (hub TEXT, what TEXT, owner TEXT);
    CREATE FUNCTION log_lease() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF TG_OP = 'INSERT' OR NEW.epoch <> OLD.epoch THEN
        INSERT INTO codebutler.lease_log (number, hub, at)
        VALUES (NEW.epoch, session_user, clock_timestamp());
      END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER log_lease AFTER INSERT OR UPDATE ON leases
      FOR EACH ROW EXECUTE FUNCTION log_lease();
    CREATE FUNCTION log_stray() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE owner TEXT := (SELECT hub FROM codebutler.lease_log ORDER BY seq DESC LIMIT 1);
    BEGIN
      IF owner <> session_user AND session_user <> 'butler' THEN
        INSERT INTO codebutler.strays VALUES (session_user, TG_TABLE_NAME, owner);
      END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER log_stray AFTER INSERT OR UPDATE OR DELETE ON upstream_inbox
      FOR EACH ROW EXECUTE FUNCTION log_stray();
    CREATE TRIGGER log_stray AFTER INSERT OR UPDATE OR DELETE ON upstream_parts
      FOR EACH ROW EXECUTE FUNCTION log_stray();
    CREATE TRIGGER log_stray AFTER INSERT OR UPDATE OR DELETE ON upstream
      FOR EACH ROW EXECUTE FUNCTION log_stray();";

/// What a child is told.
#[derive(Serialize, Deserialize)]
struct Orders {
    listen: SocketAddr,
    folder: String,
    database: String,
    /// Seconds that its clock is wrong by.
    wrong_s: i64,
    slack: Option<[String; 3]>,
}

/// Not a test by itself: the child's main function.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn serve_in_a_pair() {
    let Ok(orders) = std::env::var(CHILD) else {
        return;
    };
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::INFO)
        .with_writer(std::io::stderr)
        .init();
    let orders: Orders = serde_json::from_str(&orders).unwrap();
    let mut config = config(orders.folder.as_ref(), orders.listen);
    config.reach.exact = true;
    config.database = Some(Secret::new(orders.database));
    config.clock = Clock::new(move || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let seconds = Duration::from_secs(orders.wrong_s.unsigned_abs());
        match orders.wrong_s < 0 {
            true => now - seconds,
            false => now + seconds,
        }
    });
    config.relay = orders
        .slack
        .map(|[base, bot, app]| relay_config((&base, &bot, &app), quick()));
    let hub = Hub::start(config, CancellationToken::new()).await.unwrap();
    println!("{READY}");
    hub.wait().await;
}

/// One of the two.
pub(crate) struct PairedHub {
    pub address: SocketAddr,
    pub database: Proxy,
    pub wrong_s: i64,
    folder: TempDir,
    child: Option<Child>,
}

impl PairedHub {
    pub(crate) fn base(&self) -> Url {
        format!("http://{}/", self.address).parse().unwrap()
    }

    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    pub(crate) fn signal(&self, signal: &str) {
        let child = self.child.as_ref().unwrap().id().to_string();
        Command::new("kill")
            .args([signal, &child])
            .status()
            .unwrap();
    }

    /// What it has said since it was first started.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

impl Drop for PairedHub {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Both, with everything around them.
pub(crate) struct Pair {
    pub server: Postgres,
    pub hubs: [PairedHub; 2],
    pub balancer: Proxy,
    pub slack: Option<SlackStandIn>,
}

impl Pair {
    /// Everything but running hubs; nothing where there is no PostgreSQL.
    pub(crate) async fn prepare(slack: Option<SlackStandIn>, wrong_s: [i64; 2]) -> Option<Self> {
        let server = Postgres::start()?;
        let mut hubs = Vec::new();
        for wrong_s in wrong_s {
            let free = TcpListener::bind("127.0.0.1:0").unwrap();
            hubs.push(PairedHub {
                address: free.local_addr().unwrap(),
                database: Proxy::before(vec![server.listens()]).await,
                wrong_s,
                folder: tempfile::tempdir().unwrap(),
                child: None,
            });
        }
        let Ok(hubs) = <[PairedHub; 2]>::try_from(hubs) else {
            unreachable!("two were made");
        };
        let balancer = Proxy::before(hubs.iter().map(|hub| hub.address).collect()).await;
        let pair = Self {
            server,
            hubs,
            balancer,
            slack,
        };
        pair.tokens();
        pair.client().await.batch_execute(WATCH).await.unwrap();
        Some(pair)
    }

    pub(crate) fn tokens(&self) -> Tokens {
        let database = Some(Secret::new(self.server.address()));
        let folder = self.hubs[0].folder.path().to_owned();
        Tokens::open(StorePlace::new(folder, database)).unwrap()
    }

    /// A connection of the test's own.
    pub(crate) async fn client(&self) -> tokio_postgres::Client {
        let address = self.server.address();
        let connecting = tokio_postgres::connect(&address, tokio_postgres::NoTls);
        let (client, connection) = connecting.await.unwrap();
        tokio::spawn(connection);
        client
    }

    pub(crate) fn base(&self) -> Url {
        format!("http://{}/", self.balancer.address())
            .parse()
            .unwrap()
    }

    pub(crate) async fn up(&mut self, at: usize) {
        let slack = self.slack.as_ref().map(|slack| {
            let base = slack.base().replace(HOSTS[0], HOSTS[at]);
            [base, slack.bot_token(), slack.app_token()]
        });
        let hub = &mut self.hubs[at];
        let orders = Orders {
            listen: hub.address,
            folder: hub.folder.path().display().to_string(),
            database: format!(
                "postgres://{}@{}/postgres",
                NAMES[at],
                hub.database.address()
            ),
            wrong_s: hub.wrong_s,
            slack,
        };
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(hub.folder.path().join("log"))
            .unwrap();
        let starting = tokio::task::spawn_blocking(move || {
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "pair::serve_in_a_pair", "--nocapture"])
                .env(CHILD, serde_json::to_string(&orders).unwrap())
                .stdout(Stdio::piped())
                .stderr(log)
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            let ready = lines.any(|line| line.is_ok_and(|line| line.contains(READY)));
            if !ready {
                child.wait().unwrap();
                return None;
            }
            // The runner in the child says so when it runs for a minute.
            std::thread::spawn(move || lines.for_each(drop));
            Some(child)
        });
        hub.child = timeout(PATIENCE, starting).await.unwrap().unwrap();
        assert!(hub.child.is_some(), "the hub ended early: {}", hub.log());
    }

    /// Who was the owner, as the database has it.
    pub(crate) async fn leases(&self) -> Vec<Lease> {
        let sql = "SELECT number, hub, (extract(epoch FROM at) * 1000000)::bigint
            FROM codebutler.lease_log ORDER BY seq";
        let rows = self.client().await.query(sql, &[]).await.unwrap();
        rows.iter()
            .map(|row| Lease {
                number: row.get(0),
                hub: row.get(1),
                at: row.get::<_, i64>(2).unsigned_abs(),
            })
            .collect()
    }

    /// Waits until a hub is the owner; gives its place.
    pub(crate) async fn owner(&self, other_than: Option<usize>) -> usize {
        let looking = async {
            loop {
                let last = self.leases().await.pop();
                let at = last.map(|lease| NAMES.iter().position(|name| *name == lease.hub));
                match at.flatten() {
                    Some(at) if Some(at) != other_than => return at,
                    _ => tokio::time::sleep(Duration::from_millis(50)).await,
                }
            }
        };
        timeout(PATIENCE, looking).await.expect("an owner")
    }

    /// What was written by another than the owner.
    pub(crate) async fn strays(&self) -> Vec<String> {
        let sql = "SELECT hub, what, owner FROM codebutler.strays";
        let rows = self.client().await.query(sql, &[]).await.unwrap();
        let told = rows.iter().map(|row| {
            let (hub, what, owner): (String, String, String) = (row.get(0), row.get(1), row.get(2));
            format!("{hub} wrote {what}, the owner is {owner}")
        });
        told.collect()
    }

    /// What Slack saw of them. Who asks who it is does nothing that only the owner may.
    pub(crate) fn acts(&self) -> Vec<Act> {
        let visits = self.slack.iter().flat_map(SlackStandIn::visits);
        let acts = visits.filter(|visit: &Visit| visit.what != "auth.test");
        acts.map(|visit| {
            let at = HOSTS.iter().position(|host| *host == visit.host).unwrap();
            Act {
                hub: NAMES[at].to_owned(),
                what: visit.what,
                at: micros(visit.at),
            }
        })
        .collect()
    }
}

pub(crate) fn micros(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(since.as_micros()).unwrap()
}

pub(crate) fn now() -> u64 {
    micros(SystemTime::now())
}
