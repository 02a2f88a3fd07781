//! Where a branch began, for receipts that compare: which commit that is, and a
//! folder in which its checks can be run.

use std::{
    any::Any,
    path::{Path, PathBuf},
};

use butler_protocol::CommitSha;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

/// Knows where a branch began. Problems are sentences: a receipt without a base
/// says why.
pub trait Past: Send + Sync {
    fn commit(&self, cancel: CancellationToken) -> BoxFuture<'_, Result<CommitSha, String>>;

    /// Its files, prepared for the checks, with some of the branch's laid over them.
    fn lay_out(
        &self,
        commit: CommitSha,
        files: Vec<String>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<LaidOut, String>>;

    /// How such a folder is made ready: another way may give other results.
    fn made_with(&self) -> String;

    /// A folder that no tool can write to, for what was found out once.
    fn kept(&self) -> &Path;
}

/// A folder to run checks in.
pub struct LaidOut {
    pub folder: PathBuf,
    /// Held as long as the folder is used.
    pub hold: Box<dyn Any + Send>,
}
