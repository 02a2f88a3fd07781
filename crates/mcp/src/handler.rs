//! What a server may want from us: nothing. It is heard when its tools changed and
//! when a call makes progress.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use rmcp::{
    ClientHandler, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ErrorCode, ErrorData,
        Implementation, ProgressNotificationParam, ProgressToken, ProtocolVersion,
    },
    service::{NotificationContext, RequestContext},
};
use tokio::sync::mpsc;

/// Hears a server.
#[derive(Clone, Default)]
pub(crate) struct Handler {
    changed: Arc<AtomicBool>,
    progress: Arc<Mutex<HashMap<ProgressToken, mpsc::Sender<String>>>>,
}

impl Handler {
    /// Whether the server said that its tools changed, since this was asked.
    pub(crate) fn take_changed(&self) -> bool {
        self.changed.swap(false, Ordering::AcqRel)
    }

    /// Has the progress of a call told to `lines`, until the guard is dropped.
    pub(crate) fn follow(&self, token: ProgressToken, lines: mpsc::Sender<String>) -> Following {
        self.followed().insert(token.clone(), lines);
        Following {
            handler: self.clone(),
            token,
        }
    }

    fn followed(&self) -> MutexGuard<'_, HashMap<ProgressToken, mpsc::Sender<String>>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call whose progress is told.
pub(crate) struct Following {
    handler: Handler,
    token: ProgressToken,
}

impl Drop for Following {
    fn drop(&mut self) {
        self.handler.followed().remove(&self.token);
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new("codebutler", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), own)
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn create_elicitation(
        &self,
        _request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let code = ErrorCode::METHOD_NOT_FOUND;
        Err(ErrorData::new(code, "elicitation/create", None))
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::Release);
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let Some(lines) = self.followed().get(&params.progress_token).cloned() else {
            return;
        };
        let total = params.total.map(|total| format!(" of {total}"));
        let far = format!("{}{}", params.progress, total.unwrap_or_default());
        let line = match params.message {
            Some(message) => format!("{far}: {message}"),
            None => far,
        };
        // A full status card is no reason to wait.
        let _ = lines.try_send(line);
    }
}
