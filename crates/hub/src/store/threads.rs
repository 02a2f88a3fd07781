//! The store's threads: one that writes, some that read. Whoever opened the store
//! holds [`StoreThreads`] and waits for them at the end.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread::{self, JoinHandle},
};

use butler_protocol::fault;
use tokio::sync::{broadcast, mpsc, oneshot};
use tracing::{error, info};

use crate::{
    error::{HubError, Result, Trouble},
    log::Notice,
    store::{
        Db, Store,
        connection::{Kept, with_causes},
        place::Place,
        shared, sql,
        tx::{Stamps, Tx},
    },
};

/// Changes that one commit carries at most.
const BATCH: usize = 256;

/// Gives the caller its answer, after the commit. Dropped without one, the caller
/// hears that the store is closed.
pub(super) type Answer = Box<dyn FnOnce() + Send>;
pub(super) type Change = Box<dyn FnOnce(&mut Tx<'_>) -> Answer + Send>;
pub(super) type Look = Box<dyn FnOnce(&Db) + Send>;

/// What a thread is asked for.
pub(super) enum Job<W> {
    Work(W),
    /// To say whether it has the file open.
    Sign(oneshot::Sender<bool>),
    /// To pass on what other hubs have written.
    Hear(oneshot::Sender<Result<()>>),
    Close,
}

/// The threads of an open store.
pub(crate) struct StoreThreads {
    store: Store,
    threads: Vec<JoinHandle<()>>,
}

impl StoreThreads {
    pub(super) fn new(store: Store, threads: Vec<JoinHandle<()>>) -> Self {
        Self { store, threads }
    }

    #[cfg(test)]
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Lets them finish what is queued, and waits for their end.
    pub(crate) async fn close(self) {
        self.store.close().await;
        let joined = tokio::task::spawn_blocking(move || {
            for thread in self.threads {
                if let Err(panic) = thread.join() {
                    error!(panic = words(&*panic), "a thread of the store panicked");
                }
            }
        });
        // Panics are noted above; nothing else can go wrong in there.
        let _ = joined.await;
    }
}

impl std::fmt::Debug for StoreThreads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.threads).finish()
    }
}

fn start(
    name: &str,
    place: &Place,
    work: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, HubError> {
    let started = thread::Builder::new().name(name.to_owned()).spawn(work);
    started.map_err(|source| HubError::Folder {
        path: place.shown().into(),
        source,
    })
}

/// Starts the thread that carries out changes.
pub(super) fn writer(
    place: &Place,
    hub: Arc<str>,
    mut todo: mpsc::Receiver<Job<Change>>,
    notices: broadcast::Sender<Arc<Notice>>,
) -> Result<JoinHandle<()>, HubError> {
    let db = place.open()?;
    let stamps = Stamps::load(&db).map_err(HubError::Step)?;
    let heard = match db.shared() {
        Some(_) => shared::newest_wake(&db).map_err(HubError::Step)?,
        None => 0,
    };
    let mut writer = Writer {
        hub,
        kept: Kept::new(place.clone(), db, can_commit),
        stamps,
        heard,
        notices,
    };
    start("hub-writer", place, move || {
        let mut next = None;
        while let Some(job) = next.take().or_else(|| todo.blocking_recv()) {
            match job {
                Job::Work(first) => next = writer.batch(first, &mut todo),
                Job::Sign(sign) => {
                    let _ = sign.send(writer.kept.get().is_some());
                }
                Job::Hear(heard) => {
                    let _ = heard.send(writer.hear());
                }
                Job::Close => return,
            }
        }
    })
}

/// Also a full disk is no store that can be written to. A database puts a small change where
/// there is room left by an earlier one, so it is asked for a large one.
fn can_commit(db: &Db) -> sql::Result<()> {
    db.set_own_value("recovered_ms", &db.now_ms().to_string())?;
    if db.shared().is_none() {
        return Ok(());
    }
    db.execute(
        "INSERT INTO own_values (name, value)
           SELECT 'room', string_agg(md5(CAST(random() AS TEXT)), '')
           FROM generate_series(1, 8192)
         ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        [],
    )?;
    db.execute("DELETE FROM own_values WHERE name = 'room'", [])?;
    Ok(())
}

struct Writer {
    /// The name of this hub among those that share the store.
    hub: Arc<str>,
    kept: Kept,
    stamps: Stamps,
    /// Up to which number listeners here have been told what hubs of the store said. Only
    /// this thread tells them, because what has the higher number is to be heard later.
    heard: i64,
    notices: broadcast::Sender<Arc<Notice>>,
}

impl Writer {
    /// Carries out a change and what has piled up behind it; gives the first job
    /// that is no change.
    fn batch(
        &mut self,
        first: Change,
        todo: &mut mpsc::Receiver<Job<Change>>,
    ) -> Option<Job<Change>> {
        let mut other = None;
        let mut more = || match todo.try_recv().ok()? {
            Job::Work(change) => Some(change),
            job => {
                other = Some(job);
                None
            }
        };
        let db = self.kept.get()?;
        let mut told = Told {
            hub: &self.hub,
            heard: &mut self.heard,
            notices: &self.notices,
        };
        // A panic of a change is caught where it is carried out; this is for the rest.
        let commit = || commit(db, &mut self.stamps, first, &mut more, &mut told);
        let sound = catch_unwind(AssertUnwindSafe(commit)).unwrap_or_else(|panic| {
            error!(panic = words(&*panic), "the store's writer panicked");
            false
        });
        if !sound {
            self.kept.give_up();
        }
        other
    }

    /// Tells listeners what other hubs have written.
    fn hear(&mut self) -> Result<()> {
        let db = self.kept.get().ok_or(Trouble::Closed)?;
        let (found, newest) = shared::heard(db, self.heard)?;
        self.heard = newest;
        tell(&self.notices, found);
        Ok(())
    }
}

/// What listeners are told, and up to where they have been.
struct Told<'a> {
    hub: &'a str,
    heard: &'a mut i64,
    notices: &'a broadcast::Sender<Arc<Notice>>,
}

/// Nobody listening is fine: notices are only wake-ups.
fn tell(notices: &broadcast::Sender<Arc<Notice>>, said: Vec<Notice>) {
    for notice in said {
        let _ = notices.send(Arc::new(notice));
    }
}

/// Carries out changes in one transaction, then answers. Says whether the connection
/// can be trusted from now on.
fn commit(
    db: &Db,
    stamps: &mut Stamps,
    first: Change,
    more: &mut dyn FnMut() -> Option<Change>,
    told: &mut Told<'_>,
) -> bool {
    let mut answers = Vec::new();
    let work = || {
        let transaction = db.begin()?;
        stamps.catch_up(db)?;
        let mut tx = Tx::new(db, stamps);
        answers.push(first(&mut tx));
        while answers.len() < BATCH {
            let Some(next) = more() else { break };
            answers.push(next(&mut tx));
        }
        let (said, sound) = tx.finish()?;
        // What others wrote before this is told before it; they cannot write now.
        let (mut others, mut newest) = (Vec::new(), *told.heard);
        if db.shared().is_some() && !said.is_empty() {
            loop {
                let (found, upto) = shared::heard(db, newest)?;
                if upto == newest {
                    break;
                }
                others.extend(found);
                newest = upto;
            }
        }
        let own = shared::tell(db, told.hub, stamps.last(), &said)?;
        fault("hub.before-commit");
        transaction.commit()?;
        *told.heard = own.unwrap_or(newest);
        others.extend(said);
        Ok::<_, crate::Trouble>((others, sound))
    };
    let outcome = work();
    fault("hub.after-commit");
    match outcome {
        Ok((said, sound)) => {
            // Wake-ups first: who waits for an answer may look for their effect.
            tell(told.notices, said);
            answers.into_iter().for_each(|answer| answer());
            sound
        }
        Err(Trouble::Store(sql::Error::Moved)) => {
            info!("the workspace is moving into a database; the file is not written to any more");
            false
        }
        Err(error) => {
            error!(error = with_causes(&error), "the store could not commit");
            false
        }
    }
}

/// Starts a thread that looks things up.
pub(super) fn reader(
    place: &Place,
    mut asked: mpsc::Receiver<Job<Look>>,
) -> Result<JoinHandle<()>, HubError> {
    let db = place.open()?;
    let mut kept = Kept::new(place.clone(), db, |_| Ok(()));
    start("hub-reader", place, move || {
        while let Some(job) = asked.blocking_recv() {
            match job {
                Job::Work(look) => {
                    let Some(db) = kept.get() else { continue };
                    let looked = catch_unwind(AssertUnwindSafe(|| look(db)));
                    if let Err(panic) = looked {
                        error!(panic = words(&*panic), "a look into the store panicked");
                        kept.give_up();
                    }
                }
                Job::Sign(sign) => {
                    let _ = sign.send(kept.get().is_some());
                }
                Job::Hear(_) => {}
                Job::Close => return,
            }
        }
    })
}

/// What a panic said.
pub(super) fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without words")
}
