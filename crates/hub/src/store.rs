//! One SQLite file. All changes go through one writer thread, which commits
//! whatever has piled up in one go and answers only after the commit: what was
//! answered survives a kill. Reads have a thread of their own.

pub(crate) mod tx;

use std::{
    fs::{self, OpenOptions},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use butler_protocol::fault;
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};
use tokio::sync::{broadcast, oneshot};

use crate::{
    error::{HubError, Trouble},
    log::notice::Notice,
    store::tx::{Stamps, Tx},
};

/// How long another process may hold the file.
const PATIENCE: Duration = Duration::from_secs(10);
/// Changes that one commit carries at most.
const BATCH: usize = 256;

/// What the writer does after the commit: answer, and say what happened.
type Answer = Box<dyn FnOnce(bool) + Send>;
type Change = Box<dyn FnOnce(&mut Tx<'_>) -> Answer + Send>;
type Look = Box<dyn FnOnce(&Connection) + Send>;

/// The store's two threads.
#[derive(Clone)]
pub(crate) struct Store {
    changes: mpsc::Sender<Change>,
    looks: mpsc::Sender<Look>,
}

impl Store {
    /// Opens the file in `dir` and starts its threads; they end with the last clone.
    pub(crate) fn open(
        dir: &Path,
        notices: broadcast::Sender<Arc<Notice>>,
    ) -> Result<Self, HubError> {
        let path = file_in(dir)?;
        let writing = connect(&path)?;
        let reading = connect(&path)?;
        let stamps = Stamps::load(&writing).map_err(HubError::Step)?;
        let (changes, todo) = mpsc::channel();
        thread::Builder::new()
            .name("hub-writer".to_owned())
            .spawn(move || write_loop(writing, stamps, &todo, &notices))
            .map_err(|source| HubError::Folder {
                path: path.clone(),
                source,
            })?;
        let (looks, asked) = mpsc::channel::<Look>();
        thread::Builder::new()
            .name("hub-reader".to_owned())
            .spawn(move || {
                while let Ok(look) = asked.recv() {
                    look(&reading);
                }
            })
            .map_err(|source| HubError::Folder {
                path: path.clone(),
                source,
            })?;
        Ok(Self { changes, looks })
    }

    /// Carries out a change and answers after it is durable. An error rolls it
    /// back. The change happens also when the caller stops waiting.
    pub(crate) async fn write<T, F>(&self, work: F) -> Result<T, Trouble>
    where
        T: Send + 'static,
        F: FnOnce(&mut Tx<'_>) -> Result<T, Trouble> + Send + 'static,
    {
        let (answer, waiting) = oneshot::channel();
        let change: Change = Box::new(move |tx| {
            let outcome = tx.attempt(work);
            Box::new(move |committed| {
                let _ = answer.send(if committed {
                    outcome
                } else {
                    Err(Trouble::Closed)
                });
            })
        });
        self.changes.send(change).map_err(|_| Trouble::Closed)?;
        waiting.await.map_err(|_| Trouble::Closed)?
    }

    /// Looks something up.
    pub(crate) async fn read<T, F>(&self, work: F) -> Result<T, Trouble>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, Trouble> + Send + 'static,
    {
        let (answer, waiting) = oneshot::channel();
        let look: Look = Box::new(move |connection| {
            let _ = answer.send(work(connection));
        });
        self.looks.send(look).map_err(|_| Trouble::Closed)?;
        waiting.await.map_err(|_| Trouble::Closed)?
    }
}

fn write_loop(
    mut connection: Connection,
    mut stamps: Stamps,
    todo: &mpsc::Receiver<Change>,
    notices: &broadcast::Sender<Arc<Notice>>,
) {
    while let Ok(first) = todo.recv() {
        let mut answers = Vec::new();
        let mut said = Vec::new();
        let outcome = (|| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut tx = Tx::new(&transaction, &mut stamps);
            answers.push(first(&mut tx));
            while answers.len() < BATCH {
                let Ok(next) = todo.try_recv() else { break };
                answers.push(next(&mut tx));
            }
            said = tx.into_notices();
            fault("hub.before-commit");
            transaction.commit()
        })();
        fault("hub.after-commit");
        if let Err(error) = &outcome {
            tracing::error!(%error, "the store could not commit");
        }
        // Wake-ups first: who waits for an answer may look for their effect.
        if outcome.is_ok() {
            for notice in said {
                let _ = notices.send(Arc::new(notice));
            }
        }
        for answer in answers {
            answer(outcome.is_ok());
        }
    }
}

/// Makes the private folder and the path of the file in it.
fn file_in(dir: &Path) -> Result<PathBuf, HubError> {
    let failed = |source| HubError::Folder {
        path: dir.to_owned(),
        source,
    };
    if !dir.exists() {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .map_err(failed)?;
    }
    let path = dir.join("hub.sqlite3");
    // SQLite gives its side files the mode of the main one.
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(&path)
        .map_err(failed)?;
    Ok(path)
}

fn connect(path: &Path) -> Result<Connection, HubError> {
    let failed = |source| HubError::Store {
        path: path.to_owned(),
        source,
    };
    let connection = Connection::open(path).map_err(failed)?;
    let begun = Instant::now();
    loop {
        match prepare(&connection) {
            // Two processes that make the file at the same moment get in each
            // other's way where SQLite does not wait by itself.
            Err(error) if is_busy(&error) && begun.elapsed() < PATIENCE => {
                thread::sleep(Duration::from_millis(20));
            }
            Err(error) => return Err(failed(error)),
            Ok(()) => return Ok(connection),
        }
    }
}

fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.set_prepared_statement_cache_capacity(128);
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    transaction.execute_batch(include_str!("schema.sql"))?;
    transaction.commit()
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

/// A connection for another process (`Tokens`).
pub(crate) fn connect_in(dir: &Path) -> Result<Connection, HubError> {
    connect(&file_in(dir)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `codebutler hub tokens` while a hub starts: both make the file.
    #[test]
    fn many_open_a_new_store_at_once_and_all_can() {
        for _ in 0..5 {
            let dir = tempfile::tempdir().unwrap();
            let openers: Vec<_> = (0..8)
                .map(|_| {
                    let dir = dir.path().to_owned();
                    thread::spawn(move || connect_in(&dir).map(drop))
                })
                .collect();
            for opener in openers {
                opener.join().unwrap().unwrap();
            }
        }
    }
}
