//! The logs of a thread that are on this disk; a role that works on another machine
//! has its own there.

use std::{fs, path::Path};

use butler_journal::{ThreadDir, read};
use butler_protocol::{Entry, Role, ThreadId};

use crate::CliError;

/// Each log with its role. Every question to the Researcher has one of its own.
pub(crate) fn logs(threads: &Path, thread: &ThreadId) -> Result<Vec<(Role, Vec<Entry>)>, CliError> {
    let folder = ThreadDir::new(threads, thread).conversation(Role::Pm);
    let found = folder.parent().and_then(|folder| fs::read_dir(folder).ok());
    let mut logs = Vec::new();
    for path in found
        .into_iter()
        .flatten()
        .flatten()
        .map(|item| item.path())
    {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(name) = name.strip_suffix(".jsonl") else {
            continue;
        };
        if let Ok(role) = name.split('-').next().unwrap_or_default().parse() {
            let log = read(&path).map_err(CliError::internal)?;
            logs.push((role, log.entries));
        }
    }
    Ok(logs)
}
