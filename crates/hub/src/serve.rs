//! The listener: connections, each with a limit on how long it may take to say what
//! it wants, and all of them with a limit on how many there are. With a certificate
//! nothing is said before the connection is encrypted.

pub(crate) mod tls;

use std::{pin::pin, sync::Arc, time::Duration};

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use tls::Certificate;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, warn};

/// How long a handshake or a head may take, also the next one of a connection that stays open.
const HEAD: Duration = Duration::from_secs(10);
/// Connections at once. An agent has up to three, a page has two: 200 repositories with six
/// agents each and 500 people with two open pages are 5,600.
const CONNECTIONS: usize = 8_192;
/// After the system had no connection to give.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves until `cancel`; then lets every connection finish what it is at.
pub(crate) async fn serve(
    listener: TcpListener,
    certificate: Option<Certificate>,
    router: Router,
    cancel: CancellationToken,
) {
    let free = Arc::new(Semaphore::new(CONNECTIONS));
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = cancel.cancelled() => break,
            accepted = accept(&listener, &free) => accepted,
        };
        let Some((stream, place)) = accepted else {
            continue;
        };
        let (router, cancel) = (router.clone(), cancel.clone());
        let certificate = certificate.clone();
        connections.spawn(async move {
            match certificate {
                None => one(stream, router, cancel).await,
                Some(certificate) => encrypted(stream, &certificate, router, cancel).await,
            }
            drop(place);
        });
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

async fn accept(
    listener: &TcpListener,
    free: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let place = Arc::clone(free).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => Some((stream, place)),
        Err(error) => {
            warn!(%error, "a connection could not be taken");
            sleep(PAUSE).await;
            None
        }
    }
}

async fn encrypted(
    stream: TcpStream,
    certificate: &Certificate,
    router: Router,
    cancel: CancellationToken,
) {
    let shaken = tokio::select! {
        shaken = timeout(HEAD, certificate.acceptor.accept(stream)) => shaken,
        () = cancel.cancelled() => return,
    };
    match shaken {
        Ok(Ok(stream)) => one(stream, router, cancel).await,
        Ok(Err(error)) => debug!(%error, "a connection was not encrypted"),
        Err(_) => debug!("a connection took too long to be encrypted"),
    }
}

async fn one<S>(stream: S, router: Router, cancel: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD);
    let service = TowerToHyperService::new(router);
    let mut connection =
        pin!(builder.serve_connection_with_upgrades(TokioIo::new(stream), service));
    let outcome = tokio::select! {
        outcome = connection.as_mut() => outcome,
        () = cancel.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = outcome {
        debug!(%error, "a connection ended early");
    }
}
