//! Files that leave for the thread: of the worktree, or of the thread's own files. What
//! usually holds secrets stays; text loses the ones that this machine knows of.

use butler_policy::Scope;

use super::holds_secrets;
use crate::{ToolContext, tools::reading};

/// The most that one file may hold.
const FILE_BYTES: u64 = 20 << 20;

impl ToolContext {
    /// A file as it leaves: its name and its bytes.
    /// Fails: says why it stays.
    pub fn outgoing(&self, scope: Option<Scope>, path: &str) -> Result<(String, Vec<u8>), String> {
        let opened = reading(self, scope, path).map_err(|error| error.to_string())?;
        let name = opened
            .real
            .split()
            .map_or(path, |(_, name)| name)
            .to_owned();
        if holds_secrets(&name) {
            return Err(format!("`{name}` is a place for secrets, so it stays here"));
        }
        let bytes = opened
            .read(FILE_BYTES, "send a part of it")
            .map_err(|error| error.to_string())?;
        if bytes.is_empty() {
            return Err(format!("`{name}` is empty"));
        }
        let redactor = self.workplace().surroundings().redactor.as_ref();
        let bytes = match redactor {
            Some(redactor) => redactor.redact_file(bytes).0,
            None => bytes,
        };
        Ok((name, bytes))
    }
}
