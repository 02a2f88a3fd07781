//! Questions to an app for the options of a field, while the person who types there waits.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use serde_json::Value;
use tokio::sync::oneshot;

/// Who waits for the answer to which event.
#[derive(Default)]
pub(crate) struct Options(Mutex<HashMap<u64, oneshot::Sender<Value>>>);

impl Options {
    /// Waits for the answer to this question.
    pub(crate) fn expect(&self, seq: u64) -> oneshot::Receiver<Value> {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Who has gone meanwhile waits no more.
        waiting.retain(|_, sender| !sender.is_closed());
        waiting.insert(seq, sender);
        receiver
    }

    /// The first answer goes to whoever waits for it.
    pub(super) fn answer(&self, seq: u64, answer: &Value) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = waiting.remove(&seq) {
            let _ = sender.send(answer.clone());
        }
    }
}
