//! Writing what the team remembers into a worktree: files below `.codebutler/`
//! only, never through a link.

use std::{
    fs, io,
    path::{Component, Path},
};

use butler_playbook::builtin_file;
use butler_protocol::{CommitSha, Proposal, fault};
use butler_repo::Worktree;

use crate::{AgentError, ThreadContext, decide::learnings};

/// What came of writing proposals.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// Titles of what is in the files now.
    pub kept: Vec<String>,
    /// What could not be written, and why.
    pub left_out: Vec<String>,
}

/// Puts accepted proposals into the files of a worktree. A repeat changes nothing.
pub(crate) fn write_all(root: &Path, proposals: &[Proposal]) -> Result<Written, AgentError> {
    let mut written = Written::default();
    for proposal in proposals {
        let result = learnings::check(proposal).and_then(|()| {
            let before = read(root, &proposal.path()).unwrap_or_else(|| {
                builtin_file(&proposal.file)
                    .map_or("", |f| f.text)
                    .to_owned()
            });
            learnings::apply(proposal, &before)
        });
        match result {
            Ok(text) => {
                write(root, &proposal.path(), &text)?;
                written.kept.push(proposal.title());
            }
            Err(reason) => written
                .left_out
                .push(format!("{}: {reason}", proposal.title())),
        }
    }
    Ok(written)
}

/// A file of the worktree, unless it is missing or a link is on the way.
pub(crate) fn read(root: &Path, path: &str) -> Option<String> {
    no_link(root, path).ok()?;
    fs::read_to_string(root.join(path)).ok()
}

/// Writes a file of the worktree.
pub(crate) fn write(root: &Path, path: &str, text: &str) -> Result<(), AgentError> {
    let full = root.join(path);
    let failed = |error: io::Error| AgentError::Missing(format!("{path}: {error}"));
    no_link(root, path).map_err(failed)?;
    if let Some(parent) = full.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    fs::write(&full, text).map_err(failed)
}

/// A repository may hold links to anywhere; the team's memory is not written
/// through one.
fn no_link(root: &Path, path: &str) -> io::Result<()> {
    let mut at = root.to_owned();
    for part in Path::new(path).components() {
        let Component::Normal(name) = part else {
            return Err(io::Error::other("not a path inside the repository"));
        };
        at.push(name);
        match fs::symlink_metadata(&at) {
            Ok(found) if found.is_symlink() => {
                return Err(io::Error::other("a symbolic link is in the way"));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Commits what was written and pushes it; gives the head that is on the remote.
pub(crate) async fn publish(
    context: &ThreadContext,
    worktree: &Worktree,
    message: &str,
    key: &str,
) -> Result<CommitSha, AgentError> {
    commit(context, worktree, message, key).await?;
    Ok(worktree.push(&context.cancel).await?)
}

/// Commits what was written and puts it on the default branch, as the policy of
/// this repository wants it.
pub(crate) async fn land(
    context: &ThreadContext,
    worktree: &Worktree,
    message: &str,
    key: &str,
) -> Result<CommitSha, AgentError> {
    commit(context, worktree, message, key).await?;
    fault("agent.before-land");
    let landed = worktree.land_knowledge(&context.cancel).await?;
    fault("agent.after-land");
    Ok(landed)
}

async fn commit(
    context: &ThreadContext,
    worktree: &Worktree,
    message: &str,
    key: &str,
) -> Result<(), AgentError> {
    let trailers = [
        ("CodeButler-Thread".to_owned(), context.thread.to_string()),
        (butler_repo::KEY_TRAILER.to_owned(), key.to_owned()),
    ];
    let message = context.agent.clean(message);
    worktree
        .commit_all(context.role(), &message, &trailers, &context.cancel)
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use butler_protocol::Change;

    use super::*;

    fn proposal(file: &str) -> Proposal {
        Proposal {
            file: file.into(),
            change: Change::Passage {
                old: String::new(),
                new: "- notes.sh: everything".into(),
                why: "the map was empty".into(),
            },
        }
    }

    #[test]
    fn a_file_that_the_repo_lacks_begins_as_the_shipped_one() {
        let root = tempfile::tempdir().unwrap();
        let written = write_all(root.path(), &[proposal("coder.md")]).unwrap();
        assert_eq!(written.kept.len(), 1);
        let text = read(root.path(), ".codebutler/coder.md").unwrap();
        assert!(text.starts_with("# Coder"));
        let (live, _) = text.split_once("## Archived Learnings").unwrap();
        assert!(live.contains("## Project Map\n\n- notes.sh: everything\n"));
    }

    #[test]
    fn nothing_is_written_through_a_link_or_outside() {
        let root = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), root.path().join(".codebutler")).unwrap();
        assert!(write_all(root.path(), &[proposal("coder.md")]).is_err());
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
        let written = write_all(root.path(), &[proposal("config.json")]).unwrap();
        assert_eq!(written.left_out.len(), 1);
    }
}
