//! A store in PostgreSQL, for more than one hub: a connection, and how a
//! statement runs there. The connection's own task lives on a thread of its own, so that
//! callers wait for it as they wait for a file, also inside of somebody's runtime.

mod address;
mod schema;
mod tls;
mod translate;
mod values;

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    fmt,
    pin::pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll, Wake},
    thread::{self, Thread},
    time::{Duration, Instant},
};

use tokio::{runtime::Runtime, sync::mpsc, time::timeout};
use tokio_postgres::{AsyncMessage, Client, Row, SimpleQueryMessage, Statement, types::Type};
use tracing::error;

use crate::store::sql::{Error, Params, Result, Value};

pub(crate) use self::address::Address;
pub(super) use self::translate::statement as translated;

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(5);
/// After so long without a word the other side counts as gone.
const SILENCE: Duration = Duration::from_secs(15);

/// Longer than a statement may take there (`statement_timeout`): a middle man may hold a
/// connection open that leads nowhere.
const PATIENCE: Duration = Duration::from_secs(65);

/// What holds for every connection. Whoever holds the right to write and falls silent
/// loses it, or all hubs would wait for one that is cut off: before their leases end.
const SETTINGS: &str =
    "SET client_min_messages = warning; SET idle_in_transaction_session_timeout = '3s';
    SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 3; SET tcp_keepalives_count = 3;
    SET statement_timeout = '60s';";

impl Address {
    /// Connects, and has the tables of this build there.
    pub(crate) fn open(&self) -> Result<(Pg, u32)> {
        let pg = self.connect(None)?;
        if self.is_held.get().is_none() {
            self.check_held(&pg)?;
            let _ = self.is_held.set(());
        }
        let found = schema::bring_up(&pg, &self.schema)?;
        Ok((pg, found))
    }

    /// Makes sure that a connection is the same one in each transaction: settings, what is
    /// listened for and what is made ready hang on it. A second one that is in the middle of a
    /// transaction takes the place of the first where they share some.
    fn check_held(&self, pg: &Pg) -> Result<()> {
        let own = pg.process()?;
        let other = self.connect(None)?;
        for _ in 0..3 {
            other.batch("BEGIN")?;
            let shared = other.process()? == own || pg.process()? != own;
            other.batch("ROLLBACK")?;
            if shared {
                return Err(Error::Pooled);
            }
        }
        Ok(())
    }

    /// Hears what other hubs have written, until the receiver is dropped or the
    /// connection ends.
    pub(crate) fn listen(&self) -> Result<(Pg, mpsc::Receiver<()>)> {
        let (told, news) = mpsc::channel(1);
        let pg = self.connect(Some(told))?;
        pg.batch(&format!("LISTEN {}", pg.bell))?;
        Ok((pg, news))
    }

    fn connect(&self, told: Option<mpsc::Sender<()>>) -> Result<Pg> {
        let (config, tls) = (self.config.clone(), self.tls.clone());
        let (answer, connected) = std::sync::mpsc::sync_channel(1);
        runtime()?.spawn(async move {
            let (client, mut connection) = match timeout(CONNECT * 2, config.connect(tls)).await {
                Ok(Ok(both)) => both,
                Ok(Err(error)) => return drop(answer.send(Err(Error::from(error)))),
                Err(_) => return drop(answer.send(Err(Error::Silent))),
            };
            let _ = answer.send(Ok(client));
            loop {
                let next = std::future::poll_fn(|context| connection.poll_message(context));
                match (next.await, &told) {
                    // Full means that the listener has not looked yet, and will.
                    (Some(Ok(AsyncMessage::Notification(_))), Some(told)) => _ = told.try_send(()),
                    (Some(Ok(_)), _) => {}
                    (Some(Err(_)) | None, _) => return,
                }
            }
        });
        let client = connected.recv().map_err(|_| Error::Address)??;
        let pg = Pg {
            client,
            ready: RefCell::default(),
            lock: lock_of(&self.schema),
            bell: format!("codebutler_{}", self.schema),
            silent: Cell::new(false),
            starved: Cell::new(false),
        };
        pg.batch(SETTINGS)?;
        pg.batch(&format!("SET search_path = \"{}\"", self.schema))?;
        Ok(pg)
    }
}

/// The number of a schema's lock: its name, hashed (FNV-1a).
fn lock_of(schema: &str) -> i64 {
    let mix = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    schema
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, mix)
        .cast_signed()
}

/// A connection.
pub(crate) struct Pg {
    client: Client,
    /// Statements that are ready, by text and the types of their values.
    ready: RefCell<HashMap<(String, Vec<Type>), Statement>>,
    lock: i64,
    bell: String,
    /// Whether it was given up because it said nothing.
    silent: Cell<bool>,
    /// Whether a change failed for what the server lacks: the next connection has to show that
    /// it can make one.
    starved: Cell<bool>,
}

impl fmt::Debug for Pg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pg({})", self.bell)
    }
}

impl Pg {
    /// Statements without values, as they are.
    pub(crate) fn batch(&self, sql: &str) -> Result<()> {
        self.ask(self.client.batch_execute(sql))
    }

    /// Begins to write: one hub after the other, so that what is numbered later is also
    /// seen later. What was written before is seen, because each statement looks anew.
    pub(crate) fn begin(&self) -> Result<()> {
        let lock = self.lock;
        self.batch(&format!("BEGIN; SELECT pg_advisory_xact_lock({lock})"))
    }

    /// Rings at every hub when the transaction is committed.
    pub(crate) fn ring(&self) -> Result<()> {
        self.batch(&format!("NOTIFY {}", self.bell))
    }

    /// The server's process behind it.
    fn process(&self) -> Result<String> {
        let said = self.ask(self.client.simple_query("SELECT pg_backend_pid()"))?;
        let pid = said.iter().find_map(|one| match one {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        Ok(pid.unwrap_or_default().to_owned())
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.silent.get() || self.starved.get() || self.client.is_closed()
    }

    fn ask<T>(&self, asked: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T> {
        match wait(asked, Instant::now() + PATIENCE) {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(error)) => {
                let error = Error::from(error);
                if error.is_starved() {
                    let remedy = error.remedy();
                    error!(%error, remedy, "the database cannot do what it is asked");
                    self.starved.set(true);
                }
                Err(error)
            }
            None => {
                self.silent.set(true);
                Err(Error::Silent)
            }
        }
    }

    pub(crate) fn execute(&self, sql: &str, values: &impl Params) -> Result<usize> {
        let values = listed(values);
        let statement = self.prepare(sql, &values)?;
        let places = values::places(&values);
        let changed = self.ask(self.client.execute(&statement, &places))?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    pub(crate) fn query(&self, sql: &str, values: &impl Params) -> Result<Vec<Row>> {
        let values = listed(values);
        let statement = self.prepare(sql, &values)?;
        let places = values::places(&values);
        self.ask(self.client.query(&statement, &places))
    }

    fn prepare(&self, sql: &str, values: &[Value<'_>]) -> Result<Statement> {
        let types: Vec<Type> = values.iter().map(values::of).collect();
        let key = (sql.to_owned(), types);
        if let Some(ready) = self.ready.borrow().get(&key) {
            return Ok(ready.clone());
        }
        let statement = self.ask(self.client.prepare_typed(&translated(sql), &key.1))?;
        self.ready.borrow_mut().insert(key, statement.clone());
        Ok(statement)
    }
}

fn listed<P: Params>(values: &P) -> Vec<Value<'_>> {
    let mut list = Vec::new();
    values.each(&mut |value| list.push(value));
    list
}

/// Where connections live.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();
    let made = RUNTIME.get_or_init(|| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("hub-postgres")
            .enable_all()
            .build()
            .ok()
    });
    made.as_ref().ok_or(Error::Address)
}

/// Waits on this thread. What is waited for happens on the connections' thread, so
/// that this one may belong to anybody's runtime.
fn wait<F: Future>(future: F, until: Instant) -> Option<F::Output> {
    struct Wakes(Thread);
    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Wakes(thread::current())).into();
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return Some(output),
            Poll::Pending => match until.checked_duration_since(Instant::now()) {
                Some(left) => thread::park_timeout(left),
                None => return None,
            },
        }
    }
}
