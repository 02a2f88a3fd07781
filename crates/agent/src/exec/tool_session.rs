//! The folder of the task as a place for tools.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use butler_playbook::Profile;
use butler_protocol::ThreadId;
use butler_repo::Undo;
use butler_tools::{Executor, Surroundings, ToolContext, Workplace};
use tokio_util::sync::CancellationToken;

use super::ExecConfig;
use crate::{AgentError, thread::tool_session::ToolSession, tools::small};

/// Under which name the files are saved before they may be lost.
const SAVED_AS: &str = "exec";

/// Waits for the sandbox, which was probed while the model was asked.
pub(super) async fn open(
    config: &ExecConfig,
    thread: ThreadId,
    executor: Arc<Executor>,
    cancel: CancellationToken,
) -> Result<ToolSession, AgentError> {
    let sandbox = config.sandbox.clone().await;
    let sandbox = sandbox.map_err(AgentError::NoSandbox)?;
    let surroundings = Surroundings {
        home: config.person_home.clone(),
        hidden: vec![config.home.clone()],
        readable: git_folder(&config.folder).into_iter().collect(),
        ca_file: config.client.ca_file.clone(),
        redactor: Some(Arc::clone(&config.redactor)),
        ..Surroundings::default()
    };
    let workplace = Workplace::open(&config.folder, config.checks.clone(), surroundings)?;
    let sandboxed = sandbox.strength().is_whole();
    let mut tool_context = ToolContext::new(Arc::new(workplace), cancel).with_sandbox(sandbox);
    if config.profile == Profile::Small {
        tool_context = tool_context.with_result_bytes(small::RESULT_BYTES);
    }
    if let Some(undo) = Undo::of(&config.folder, SAVED_AS) {
        tool_context = tool_context.with_undo(Arc::new(undo));
    }
    let whose = (config.role, thread);
    let overrides = config.overrides.clone();
    Ok(ToolSession::in_place(
        whose,
        executor,
        tool_context,
        sandboxed,
        overrides,
        config.outside.names(),
    ))
}

/// Where git keeps the history of this folder, when that is not inside it: of a
/// linked worktree, or of a repository whose subfolder this is.
fn git_folder(folder: &Path) -> Option<PathBuf> {
    let git = folder
        .ancestors()
        .map(|folder| folder.join(".git"))
        .find(|git| git.exists())?;
    if git.is_dir() {
        return (git.parent() != Some(folder)).then_some(git);
    }
    let text = fs::read_to_string(&git).ok()?;
    let linked = git.parent()?.join(text.strip_prefix("gitdir:")?.trim());
    let common = match fs::read_to_string(linked.join("commondir")) {
        Ok(common) => linked.join(common.trim()),
        Err(_) => linked,
    };
    common.canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_of_a_subfolder_or_a_linked_worktree_is_found() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        let repo = root.join("repo");
        fs::create_dir_all(repo.join(".git/worktrees/w")).unwrap();
        fs::create_dir_all(repo.join("deep/er")).unwrap();
        fs::write(repo.join(".git/worktrees/w/commondir"), "../..\n").unwrap();
        let linked = root.join("w");
        fs::create_dir(&linked).unwrap();
        let pointer = format!("gitdir: {}\n", repo.join(".git/worktrees/w").display());
        fs::write(linked.join(".git"), pointer).unwrap();
        assert_eq!(git_folder(&repo), None, "it is inside already");
        assert_eq!(git_folder(&repo.join("deep/er")), Some(repo.join(".git")));
        assert_eq!(git_folder(&linked), Some(repo.join(".git")));
    }
}
