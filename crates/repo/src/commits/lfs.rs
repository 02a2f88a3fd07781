//! Git LFS keeps large files elsewhere and a pointer in the repository. The team's git runs no
//! filter of a repository, so that its worktrees show the pointers. Committed as it is, a new
//! picture would land on the default branch as a plain blob, which no clone expects: it is
//! refused with a word instead.

use std::path::PathBuf;

use tokio_util::sync::CancellationToken;

use crate::{Error, Git, Result, git::path_of};

/// What a pointer begins with.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";
/// A pointer is never longer.
const LONGEST: usize = 1024;

/// Refuses a tree in which a file of Git LFS, changed since `head`, is no pointer.
pub(super) async fn refuse_raw(
    git: &Git,
    head: &str,
    tree: &str,
    cancel: &CancellationToken,
) -> Result<()> {
    // Most repositories have no such rule, and then this is all it costs.
    let rules = [".gitattributes", "**/.gitattributes"].map(|at| format!(":(glob){at}"));
    let rules = git
        .call([
            "grep",
            "--quiet",
            "--fixed-strings",
            "-e",
            "filter=lfs",
            tree,
            "--",
        ])
        .args(rules)
        .accept(&[0, 1])
        .run(cancel)
        .await?;
    if rules.code != 0 {
        return Ok(());
    }
    let changed = git
        .call(["diff-tree", "-r", "-z", "--name-only", "--no-renames"])
        .args(["--diff-filter=AMT", head, tree])
        .run(cancel)
        .await?;
    let names: Vec<&[u8]> = changed.fields().filter(|name| !name.is_empty()).collect();
    if names.is_empty() {
        return Ok(());
    }
    let mut input = names.join(&0);
    input.push(0);
    let said = git
        .call(["check-attr", "-z", "--stdin", "filter"])
        .input(input)
        .run(cancel)
        .await?;
    let said: Vec<&[u8]> = said.fields().collect();
    let mut raw = Vec::new();
    for one in said.chunks_exact(3).filter(|one| one[2] == b"lfs") {
        if !is_pointer(git, tree, one[0], cancel).await? {
            raw.push(path_of(one[0]).to_owned());
        }
    }
    match raw.is_empty() {
        true => Ok(()),
        false => Err(Error::Lfs { files: raw }),
    }
}

async fn is_pointer(
    git: &Git,
    tree: &str,
    path: &[u8],
    cancel: &CancellationToken,
) -> Result<bool> {
    let path: PathBuf = path_of(path).to_owned();
    let name = format!("{tree}:{}", path.display());
    let size = git.call(["cat-file", "-s", &name]).run(cancel).await?;
    if size
        .text()
        .parse::<usize>()
        .is_ok_and(|size| size > LONGEST)
    {
        return Ok(false);
    }
    let text = git.call(["cat-file", "blob", &name]).run(cancel).await?;
    Ok(text.stdout.starts_with(POINTER))
}
