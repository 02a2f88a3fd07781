//! The way to a server that is a program: one JSON message per line.
//!
//! Whatever comes is bounded before it is understood: the length of a line, and
//! how much a server may say that nobody asked for. Lines that are no messages
//! are passed over.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use rmcp::{
    RoleClient,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{Mutex as AsyncMutex, watch},
};

/// The longest line.
const LINE_BYTES: usize = 32 << 20;
/// What a server may say between two answers that were waited for.
const NOISE_BYTES: usize = 64 << 20;
const NOISE_LINES: usize = 10_000;

/// Notices that mean something here; the others are passed over.
const HEARD: [&str; 3] = [
    "notifications/progress",
    "notifications/tools/list_changed",
    "notifications/cancelled",
];

/// Both directions of the talk with a program.
pub(crate) struct Link {
    read: OwnedReadHalf,
    write: Arc<AsyncMutex<OwnedWriteHalf>>,
    buffer: Vec<u8>,
    /// How much of the buffer has no line end.
    scanned: usize,
    noise_bytes: usize,
    noise_lines: usize,
    heard: watch::Sender<bool>,
    fault: Fault,
}

/// Why a talk was broken off, for whoever asks later.
#[derive(Clone, Default)]
pub(crate) struct Fault(Arc<Mutex<Option<String>>>);

impl Fault {
    pub(crate) fn get(&self) -> Option<String> {
        let fault = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        fault.clone()
    }

    pub(crate) fn set(&self, why: String) {
        let mut fault = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        fault.get_or_insert(why);
    }
}

impl Link {
    /// The link, and what becomes true with the first byte that comes.
    pub(crate) fn new(stream: UnixStream, fault: Fault) -> (Self, watch::Receiver<bool>) {
        let (read, write) = stream.into_split();
        let (heard, first) = watch::channel(false);
        let link = Self {
            read,
            write: Arc::new(AsyncMutex::new(write)),
            buffer: Vec::new(),
            scanned: 0,
            noise_bytes: 0,
            noise_lines: 0,
            heard,
            fault,
        };
        (link, first)
    }

    /// The next line. Nothing of it is lost when the future is dropped.
    async fn line(&mut self) -> Option<Vec<u8>> {
        loop {
            let unseen = &self.buffer[self.scanned..];
            if let Some(at) = unseen.iter().position(|byte| *byte == b'\n') {
                let rest = self.buffer.split_off(self.scanned + at + 1);
                self.scanned = 0;
                return Some(std::mem::replace(&mut self.buffer, rest));
            }
            self.scanned = self.buffer.len();
            if self.buffer.len() > LINE_BYTES {
                let most = LINE_BYTES >> 20;
                self.fault
                    .set(format!("it sent a line of more than {most} MiB"));
                return None;
            }
            match self.read.read_buf(&mut self.buffer).await {
                Ok(0) | Err(_) => return None,
                Ok(_) => {
                    let _ = self.heard.send_replace(true);
                }
            }
        }
    }

    /// Whether a server still says a bearable amount of what nobody asked for.
    fn bears(&mut self, bytes: usize) -> bool {
        self.noise_bytes += bytes;
        self.noise_lines += 1;
        let bearable = self.noise_bytes <= NOISE_BYTES && self.noise_lines <= NOISE_LINES;
        if !bearable {
            let why = "it flooded the talk with what nobody asked for";
            self.fault.set(why.to_owned());
        }
        bearable
    }

    /// The message in a line, if it has one for us.
    fn understood(&mut self, line: &[u8]) -> Option<RxJsonRpcMessage<RoleClient>> {
        let mut message: Value = serde_json::from_slice(line).ok()?;
        let method = message.get("method").and_then(Value::as_str);
        let id = message.get("id").cloned();
        match (method, id) {
            (Some(method), None) if !HEARD.contains(&method) => return None,
            (None, Some(id)) => {
                (self.noise_bytes, self.noise_lines) = (0, 0);
                // Ours are numbers; some servers answer with their text.
                if let Some(number) = id.as_str().and_then(|id| id.parse::<u32>().ok()) {
                    message["id"] = number.into();
                }
            }
            _ => {}
        }
        serde_json::from_value(message).ok()
    }
}

impl Transport<RoleClient> for Link {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let write = Arc::clone(&self.write);
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            write.lock().await.write_all(&line).await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let line = self.line().await?;
            if !self.bears(line.len()) {
                return None;
            }
            match self.understood(&line) {
                Some(message) => return Some(message),
                None => tracing::debug!(bytes = line.len(), "a line of a server is passed over"),
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        // A writer that is stuck ends with the program.
        match self.write.try_lock() {
            Ok(mut write) => write.shutdown().await,
            Err(_) => Ok(()),
        }
    }
}
