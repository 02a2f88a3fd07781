use std::{fs, path::Path, time::Duration};

use butler_policy::Redactor;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{Hub, HubConfig};

async fn hub(dir: &Path, cancel: &CancellationToken) -> Hub {
    let listen = ([127, 0, 0, 1], 0).into();
    let config = HubConfig::new(listen, dir.to_owned(), Redactor::new(&[], &[]).unwrap());
    Hub::start(config, cancel.clone()).await.unwrap()
}

async fn health(hub: &Hub) -> (u16, String) {
    let mut stream = TcpStream::connect(hub.address()).await.unwrap();
    let asked = b"GET /healthz HTTP/1.1\r\nhost: hub\r\nconnection: close\r\n\r\n";
    stream.write_all(asked).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap();
    (status.parse().unwrap(), body.to_owned())
}

fn names(db: &Db) -> Result<Vec<String>, Trouble> {
    Ok(db.rows("SELECT name FROM own_values WHERE value = 'test'", [])?)
}

fn note(tx: &mut Tx<'_>, name: &str) -> Result<(), Trouble> {
    let sql = "INSERT INTO own_values (name, value) VALUES (?1, 'test')";
    tx.db().run(sql, [name])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_is_survived_and_healthz_says_so_until_the_store_is_open_again() {
    let dir = tempfile::tempdir().unwrap();
    let cancel = CancellationToken::new();
    let hub = hub(dir.path(), &cancel).await;
    let store = hub.store().clone();
    assert_eq!(health(&hub).await, (200, "ok\n".to_owned()));

    // While its file is away the store cannot be opened again.
    let (file, away) = (dir.path().join("hub.sqlite3"), dir.path().join("away"));
    fs::rename(&file, &away).unwrap();
    let panicked = store.write::<(), _>(|_| panic!("on purpose")).await;
    assert!(matches!(panicked, Err(Trouble::Panicked)), "{panicked:?}");
    let (status, said) = health(&hub).await;
    assert_eq!(status, 503);
    assert!(said.contains("cannot write to its store"), "{said}");
    let refused = store.write(|tx| note(tx, "too early")).await;
    assert!(matches!(refused, Err(Trouble::Closed)), "{refused:?}");
    // Reading went on meanwhile.
    assert_eq!(store.read(names).await.unwrap(), Vec::<String>::new());

    fs::rename(&away, &file).unwrap();
    assert_eq!(health(&hub).await, (200, "ok\n".to_owned()));
    store.write(|tx| note(tx, "after")).await.unwrap();
    assert_eq!(store.read(names).await.unwrap(), ["after"]);

    // The same for who reads: all readers lose the file, and find it again.
    fs::rename(&file, &away).unwrap();
    for _ in 0..READERS {
        let panicked = store.read::<(), _>(|_| panic!("on purpose")).await;
        assert!(matches!(panicked, Err(Trouble::Closed)), "{panicked:?}");
    }
    let (status, said) = health(&hub).await;
    assert_eq!(status, 503);
    assert!(said.contains("cannot read its store"), "{said}");
    fs::rename(&away, &file).unwrap();
    assert_eq!(store.read(names).await.unwrap(), ["after"]);
    assert_eq!(health(&hub).await, (200, "ok\n".to_owned()));

    cancel.cancel();
    hub.wait().await;
    // Who comes too late is told, and does not wait for ever.
    assert!(matches!(store.read(names).await, Err(Trouble::Closed)));
}

#[tokio::test]
async fn a_panic_undoes_its_own_change_and_no_other_of_the_same_commit() {
    let dir = tempfile::tempdir().unwrap();
    let (notices, _) = broadcast::channel(16);
    let (store, threads) = Store::open(&dir.path().into(), db::system_clock(), notices).unwrap();
    // Keeps the writer busy until the others are queued behind it.
    let (go, wait) = std::sync::mpsc::sync_channel::<()>(0);
    let busy = store.write(move |_| {
        wait.recv().unwrap();
        Ok(())
    });
    let halfway = store.write::<(), _>(|tx| {
        note(tx, "half")?;
        tx.attempt(|tx| {
            note(tx, "nested")?;
            panic!("on purpose")
        })
    });
    let (before, after) = (
        store.write(|tx| note(tx, "before")),
        store.write(|tx| note(tx, "after")),
    );
    let release = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        go.send(()).unwrap();
    };
    let done = tokio::join!(busy, before, halfway, after, release);
    assert!(matches!(done.2, Err(Trouble::Panicked)), "{:?}", done.2);
    for kept in [done.0, done.1, done.3] {
        kept.unwrap();
    }
    let mut kept = store.read(names).await.unwrap();
    kept.sort();
    assert_eq!(kept, ["after", "before"]);
    threads.close().await;
}

/// A change that keeps the writer, or a look that keeps a reader, until it is let go.
fn hold() -> (std::sync::mpsc::SyncSender<()>, impl FnOnce() + Send) {
    let (go, wait) = std::sync::mpsc::sync_channel::<()>(0);
    (go, move || wait.recv().unwrap())
}

#[tokio::test]
async fn who_brings_more_than_the_writer_can_do_waits_and_nothing_is_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let (notices, _) = broadcast::channel(16);
    let place = dir.path().into();
    let (store, threads) = Store::open(&place, db::system_clock(), notices).unwrap();
    let (go, held) = hold();
    let (has_begun, begun) = oneshot::channel();
    let (first, own) = (store.clone(), has_begun);
    let first = tokio::spawn(async move {
        let held = move |_: &mut Tx<'_>| {
            own.send(()).unwrap();
            held();
            Ok(())
        };
        first.write(held).await
    });
    begun.await.unwrap();
    let all: Vec<_> = (0..QUEUE + 100)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move { store.write(move |tx| note(tx, &number.to_string())).await })
        })
        .collect();
    while store.changes.capacity() > 0 {
        tokio::task::yield_now().await;
    }
    assert!(all.iter().all(|one| !one.is_finished()));
    // Who only looks is not held up.
    assert_eq!(store.read(names).await.unwrap(), Vec::<String>::new());
    go.send(()).unwrap();
    first.await.unwrap().unwrap();
    for one in all {
        one.await.unwrap().unwrap();
    }
    assert_eq!(store.read(names).await.unwrap().len(), QUEUE + 100);
    threads.close().await;
}

#[tokio::test]
async fn a_long_look_holds_up_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    let (notices, _) = broadcast::channel(16);
    let place = dir.path().into();
    let (store, threads) = Store::open(&place, db::system_clock(), notices).unwrap();
    let (go, held) = hold();
    let long = store.clone();
    let (has_begun, begun) = oneshot::channel();
    let long = tokio::spawn(async move {
        let held = move |_: &Db| {
            has_begun.send(()).unwrap();
            held();
            Ok(())
        };
        long.read(held).await
    });
    begun.await.unwrap();
    for _ in 0..20 {
        let look = timeout(Duration::from_secs(60), store.read(names));
        look.await.expect("no look waits for the long one").unwrap();
    }
    assert!(!long.is_finished());
    go.send(()).unwrap();
    long.await.unwrap().unwrap();
    threads.close().await;
}

#[tokio::test]
async fn times_come_from_the_clock_that_the_hub_was_given() {
    let dir = tempfile::tempdir().unwrap();
    let (notices, _) = broadcast::channel(16);
    let clock = Clock::new(|| Duration::from_millis(1_234_567));
    let (store, threads) = Store::open(&dir.path().into(), clock, notices).unwrap();
    let stamps = store.write(|tx| Ok((tx.db().now_ms(), tx.next_ts(), tx.next_ts())));
    let (now, first, second) = stamps.await.unwrap();
    assert_eq!((now, first.as_str()), (1_234_567, "0000001234.567000"));
    assert_eq!(second.as_str(), "0000001234.567001");
    threads.close().await;
}
