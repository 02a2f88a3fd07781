//! A middle man between two programs of this machine: it cuts connections, holds back
//! what is under way, or lets it pass. With several targets it is a balancer: a new
//! connection goes to the next one that answers.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    task::JoinHandle,
};

/// What the middle man does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Open,
    /// Every connection ends, and none comes about.
    Cut,
    /// Connections stand, and nothing arrives.
    Held,
}

/// A middle man; it ends when dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    way: watch::Sender<Way>,
    server: JoinHandle<()>,
}

impl Proxy {
    /// Stands before these addresses.
    pub async fn before(targets: Vec<SocketAddr>) -> Self {
        Self::at(([127, 0, 0, 1], 0).into(), targets).await
    }

    /// The same, at this address.
    pub async fn at(listen: SocketAddr, targets: Vec<SocketAddr>) -> Self {
        let listener = TcpListener::bind(listen).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let way = watch::Sender::new(Way::Open);
        let (targets, said) = (Arc::new(targets), way.subscribe());
        let next = Arc::new(AtomicUsize::new(0));
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (targets, next) = (Arc::clone(&targets), Arc::clone(&next));
                tokio::spawn(serve(stream, targets, next, said.clone()));
            }
        });
        Self {
            address,
            way,
            server,
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends every connection and lets none come about.
    pub fn cut(&self) {
        self.way.send_replace(Way::Cut);
    }

    /// Keeps what is sent from now on, in both directions.
    pub fn hold(&self) {
        self.way.send_replace(Way::Held);
    }

    /// Lets everything pass again, also what was kept.
    pub fn heal(&self) {
        self.way.send_replace(Way::Open);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.server.abort();
        self.way.send_replace(Way::Cut);
    }
}

async fn serve(
    client: TcpStream,
    targets: Arc<Vec<SocketAddr>>,
    next: Arc<AtomicUsize>,
    mut way: watch::Receiver<Way>,
) {
    if !passes(&mut way).await {
        return;
    }
    let first = next.fetch_add(1, Ordering::Relaxed);
    for at in 0..targets.len() {
        let target = targets[(first + at) % targets.len()];
        if let Ok(server) = TcpStream::connect(target).await {
            // What is small is not gathered, as between the two themselves.
            let _ = (client.set_nodelay(true), server.set_nodelay(true));
            let (from_client, to_client) = client.into_split();
            let (from_server, to_server) = server.into_split();
            tokio::join!(
                carry(from_client, to_server, way.clone()),
                carry(from_server, to_client, way),
            );
            return;
        }
    }
}

/// Waits while everything is held; false when it is cut.
async fn passes(way: &mut watch::Receiver<Way>) -> bool {
    let decided = way.wait_for(|way| *way != Way::Held).await;
    decided.is_ok_and(|way| *way == Way::Open)
}

async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut way: watch::Receiver<Way>) {
    let mut bytes = vec![0; 64 * 1024];
    loop {
        let read = tokio::select! {
            read = from.read(&mut bytes) => read.unwrap_or(0),
            _ = way.wait_for(|way| *way == Way::Cut) => 0,
        };
        if read == 0 || !passes(&mut way).await || to.write_all(&bytes[..read]).await.is_err() {
            // The other direction ends when its own side does, or is cut with this one.
            let _ = to.shutdown().await;
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_held_arrives_later_and_what_is_cut_ends() {
        let echo = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let targets = [&nobody, &echo].map(|one| one.local_addr().unwrap());
        drop(nobody);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = echo.accept().await {
                tokio::spawn(async move {
                    let (mut read, mut write) = stream.split();
                    tokio::io::copy(&mut read, &mut write).await
                });
            }
        });
        let proxy = Proxy::before(targets.to_vec()).await;
        let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
        stream.write_all(b"one").await.unwrap();
        let mut heard = [0; 3];
        stream.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"one");
        proxy.hold();
        stream.write_all(b"two").await.unwrap();
        let nothing = tokio::time::timeout(
            std::time::Duration::from_millis(100),
            stream.read_exact(&mut heard),
        );
        assert!(nothing.await.is_err());
        proxy.heal();
        stream.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"two");
        proxy.cut();
        assert_eq!(stream.read(&mut heard).await.unwrap_or(0), 0);
        let mut other = TcpStream::connect(proxy.address()).await.unwrap();
        assert_eq!(other.read(&mut heard).await.unwrap_or(0), 0);
    }
}
