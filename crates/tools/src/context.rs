//! What a call may use, and where it leaves what is not text for the model.
//!
//! The driver makes one context per activation and keeps it; the executor lends
//! each call a copy with a cancel token of its own.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use butler_protocol::{CallId, Image, Receipt, ToolOutcome, TreeHash};
use butler_repo::Undo;
use butler_sandbox::Sandbox;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::{Jobs, KeptPages, Past, Workplace, content::clip, tools::Step};

/// Room for verdict and hints in a result.
const HINT_BYTES: usize = 1024;

/// Computes the hash of the working files, `.codebutler/` left out.
pub type TreeHasher =
    Arc<dyn Fn(CancellationToken) -> BoxFuture<'static, Result<TreeHash, String>> + Send + Sync>;

/// Makes the unified diff of the working files against the base branch.
pub type DiffMaker =
    Arc<dyn Fn(CancellationToken) -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// Resolves once the folder is made ready for commands. A text is a warning that
/// belongs under what they answer: the preparation failed.
pub type ReadyGate = Arc<dyn Fn() -> BoxFuture<'static, Option<String>> + Send + Sync>;

/// Says what is in a picture, for a model that cannot see; nothing when nobody could look.
pub type Eyes = Arc<dyn Fn(Image) -> BoxFuture<'static, Option<String>> + Send + Sync>;

/// Is told what calls do while they run. It must not take long: the call waits.
pub trait Watcher: Send + Sync {
    /// What happens now, as in "running cargo test".
    fn progress(&self, line: &str);
    /// The next piece of what a command writes.
    fn output(&self, bytes: &[u8]);
}

/// How long a command waits for the preparation of its folder.
pub(crate) const READY_PATIENCE: Duration = Duration::from_secs(900);

const STILL_PREPARING: &str = "not run: the worktree is still being prepared (the repo's `prepare` commands run); do something that needs no command, then call again";

/// What a call may use. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct ToolContext {
    workplace: Arc<Workplace>,
    pub(crate) sandbox: Option<Arc<Sandbox>>,
    cancel: CancellationToken,
    jobs: Arc<Jobs>,
    pub(crate) tree: Option<TreeHasher>,
    pub(crate) diff: Option<DiffMaker>,
    pub(crate) past: Option<Arc<dyn Past>>,
    ready: Option<ReadyGate>,
    eyes: Option<Eyes>,
    pub(crate) undo: Option<Arc<Undo>>,
    pub(crate) watcher: Option<Arc<dyn Watcher>>,
    pub(crate) result_bytes: usize,
    pub(crate) pages: KeptPages,
    kept: Arc<Mutex<Kept>>,
}

/// What calls leave behind.
#[derive(Default)]
struct Kept {
    receipts: HashMap<CallId, Receipt>,
    checklist: Vec<Step>,
}

/// What a context may be given besides its folder.
macro_rules! given {
    ($($(#[$doc:meta])* $with:ident($field:ident: $type:ty);)*) => {
        impl ToolContext {$(
            $(#[$doc])*
            #[must_use]
            pub fn $with(mut self, $field: $type) -> Self {
                self.$field = Some($field);
                self
            }
        )*}
    };
}

given! {
    /// Without a sandbox no command runs.
    with_sandbox(sandbox: Arc<Sandbox>);

    /// RunChecks needs this to leave receipts.
    with_tree(tree: TreeHasher);

    /// With this, receipts flag changed check files and removed assertions.
    with_diff(diff: DiffMaker);

    /// With this, receipts are compared with a run where the branch began.
    with_past(past: Arc<dyn Past>);

    /// Commands wait for this before they start.
    with_ready(ready: ReadyGate);

    /// With this, pictures are described instead of shown.
    with_eyes(eyes: Eyes);

    /// With this, files are saved before a call may lose them.
    with_undo(undo: Arc<Undo>);

    /// Who is told what calls do while they run.
    with_watcher(watcher: Arc<dyn Watcher>);
}

impl ToolContext {
    /// A context for one workplace; `cancel` ends whatever runs in it.
    pub fn new(workplace: Arc<Workplace>, cancel: CancellationToken) -> Self {
        Self {
            workplace,
            sandbox: None,
            jobs: Arc::new(Jobs::new(&cancel)),
            cancel,
            tree: None,
            diff: None,
            past: None,
            ready: None,
            eyes: None,
            undo: None,
            watcher: None,
            result_bytes: clip::RESULT_BYTES + HINT_BYTES,
            pages: KeptPages::default(),
            kept: Arc::default(),
        }
    }

    /// The same context in another folder.
    pub(crate) fn at(&self, workplace: Workplace) -> Self {
        Self {
            workplace: Arc::new(workplace),
            ..self.clone()
        }
    }

    /// The outcome as the model can take it: what could be described is no picture any more.
    pub(crate) async fn described(&self, mut outcome: ToolOutcome) -> ToolOutcome {
        let Some(eyes) = &self.eyes else {
            return outcome;
        };
        for image in std::mem::take(&mut outcome.images) {
            match eyes(image.clone()).await {
                Some(text) => outcome.text = format!("{}\n{text}", outcome.text.trim_end()),
                None => outcome.images.push(image),
            }
        }
        outcome
    }

    /// The pages that were fetched before, where several contexts share them.
    #[must_use]
    pub fn with_pages(mut self, pages: KeptPages) -> Self {
        self.pages = pages;
        self
    }

    /// A smaller cap for results, as small models need.
    #[must_use]
    pub fn with_result_bytes(mut self, bytes: usize) -> Self {
        self.result_bytes = self.result_bytes.min(bytes.max(2 * HINT_BYTES));
        self
    }

    /// The folder the tools work in.
    pub fn workplace(&self) -> &Arc<Workplace> {
        &self.workplace
    }

    /// Cancelled when the call must end.
    pub fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }

    /// The same context with a token that ends one call only.
    pub fn for_call(&self) -> Self {
        Self {
            cancel: self.cancel.child_token(),
            ..self.clone()
        }
    }

    /// Says in a line what happens.
    pub fn progress(&self, line: impl AsRef<str>) {
        if let Some(watcher) = &self.watcher {
            watcher.progress(line.as_ref());
        }
    }

    /// The background commands; the driver stops them when the activation ends.
    pub fn jobs(&self) -> &Arc<Jobs> {
        &self.jobs
    }

    /// Waits until commands make sense here. `Ok` may carry a warning, `Err` is
    /// what the model is told instead of a result.
    pub(crate) async fn ready(&self) -> Result<Option<String>, String> {
        let Some(ready) = &self.ready else {
            return Ok(None);
        };
        self.progress("waiting for the worktree's preparation");
        tokio::select! {
            warning = ready() => Ok(warning),
            () = self.cancel.cancelled() => Err("stopped while the worktree was being prepared".to_owned()),
            () = tokio::time::sleep(READY_PATIENCE) => Err(STILL_PREPARING.to_owned()),
        }
    }

    /// How much a tool may show, so that verdict and hints fit beside it: whoever
    /// stops there by itself can say how to go on.
    pub(crate) fn room(&self) -> usize {
        self.result_bytes - HINT_BYTES
    }

    /// Leaves a receipt for the driver to store with the call's result.
    pub fn leave_receipt(&self, call: &CallId, receipt: Receipt) {
        self.kept().receipts.insert(call.clone(), receipt);
    }

    /// Takes the receipt that a call left.
    pub fn take_receipt(&self, call: &CallId) -> Option<Receipt> {
        self.kept().receipts.remove(call)
    }

    /// The steps of the plan with their state.
    pub fn checklist(&self) -> Vec<Step> {
        self.kept().checklist.clone()
    }

    pub(crate) fn set_checklist(&self, steps: Vec<Step>) {
        self.kept().checklist = steps;
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        // A tool that panicked while it held this left whole values behind.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
