//! Hashes of what is there. A receipt names the tree it was made on; to see
//! whether it still counts, the tree of the working files and the tree of a
//! commit must be the same number when their contents are the same.
//!
//! `.codebutler/` is left out of both, so that a journal or a learning does not
//! make a receipt stale.

use std::fs;

use butler_protocol::TreeHash;
use tokio_util::sync::CancellationToken;

use crate::{
    Error, Git, Result,
    git::{Output, path_of},
};

/// The tree of a commit (or any tree), `.codebutler/` left out.
/// Fails when there is no such commit.
pub async fn tree_of(git: &Git, commit: &str) -> Result<TreeHash> {
    left_out(git, commit).await
}

/// Every working file that git would commit: tracked, and untracked but not
/// ignored. Neither the index nor any file is touched.
pub(crate) async fn working_tree(git: &Git, cancel: &CancellationToken) -> Result<String> {
    let scratch = ScratchIndex::of(git)?;
    stage(git, &scratch, cancel).await?;
    let written = scratch.on(git.call(["write-tree"])).run(cancel).await?;
    Ok(written.text())
}

/// Writes a tree that holds nothing but one file.
pub(crate) async fn of_one_file(
    git: &Git,
    name: &str,
    content: impl Into<Vec<u8>>,
    cancel: &CancellationToken,
) -> Result<String> {
    let blob = blob(git, content, cancel).await?;
    let entry = format!("100644 blob {blob}\t{name}\0");
    let tree = git.call(["mktree", "-z"]).input(entry).run(cancel).await?;
    Ok(tree.text())
}

/// Writes a file's content.
pub(crate) async fn blob(
    git: &Git,
    content: impl Into<Vec<u8>>,
    cancel: &CancellationToken,
) -> Result<String> {
    let written = git
        .call(["hash-object", "-w", "-t", "blob", "--no-filters", "--stdin"])
        .input(content)
        .run(cancel)
        .await?;
    Ok(written.text())
}

/// Puts every working file into the scratch index, by the plumbing commands:
/// `git add` would look into nested repositories, which runs git with *their*
/// config. Nested repositories are left out; git lists them with a slash.
async fn stage(git: &Git, scratch: &ScratchIndex, cancel: &CancellationToken) -> Result<()> {
    let listing = scratch
        .on(git.call(["ls-files", "-z", "--modified", "--others"]))
        .args(["--exclude-standard", "--full-name"])
        .run(cancel)
        .await?;
    // A file that became a folder is gone; what is in the folder is listed by
    // itself. A folder with a `.git` is a submodule and stays one.
    let became_folder = |path: &&[u8]| {
        let place = git.dir().join(path_of(path));
        let real = fs::symlink_metadata(&place).is_ok_and(|meta| meta.is_dir());
        real && !place.join(".git").exists()
    };
    let paths = listing.fields().filter(|p| !p.ends_with(b"/"));
    let (gone, changed): (Vec<&[u8]>, Vec<&[u8]>) = paths.partition(became_folder);
    scratch.update(git, "--force-remove", &gone, cancel).await?;
    scratch.update(git, "--remove", &changed, cancel).await
}

async fn left_out(git: &Git, tree: &str) -> Result<TreeHash> {
    let name = format!("{tree}^{{tree}}");
    let whole = git
        .call(["rev-parse", "--verify", "--end-of-options", &name])
        .finish()
        .await?;
    let listing: Output = git.call(["ls-tree", "-z", &whole.text()]).finish().await?;
    let ours = |entry: &&[u8]| {
        let path = entry.split(|b| *b == b'\t').nth(1);
        path == Some(b".codebutler".as_slice())
    };
    let kept: Vec<&[u8]> = listing.fields().filter(|entry| !ours(entry)).collect();
    if kept.len() == listing.fields().count() {
        return Ok(TreeHash::new(whole.text()));
    }
    let mut input = kept.join(&0);
    if !input.is_empty() {
        input.push(0);
    }
    let made = git.call(["mktree", "-z"]).input(input).finish().await?;
    Ok(TreeHash::new(made.text()))
}

/// A copy of a worktree's index that may be changed freely.
struct ScratchIndex {
    folder: tempfile::TempDir,
}

impl ScratchIndex {
    fn of(git: &Git) -> Result<Self> {
        let real = git.git_dir()?.join("index");
        // Private, and cleared at the next start if we are killed.
        let scratch = git.scratch()?;
        let folder = tempfile::Builder::new()
            .prefix("index-")
            .tempdir_in(&scratch)
            .map_err(Error::file(&scratch))?;
        let copy = folder.path().join("index");
        if real.exists() {
            // Git tells by the index's own time which entries it must not
            // trust, so the copy has to keep that time.
            let times = fs::metadata(&real).and_then(|meta| meta.modified());
            fs::copy(&real, &copy).map_err(Error::file(&real))?;
            fs::File::options()
                .write(true)
                .open(&copy)
                .and_then(|file| file.set_modified(times?))
                .map_err(Error::file(&copy))?;
        }
        Ok(Self { folder })
    }

    async fn update(
        &self,
        git: &Git,
        how: &str,
        paths: &[&[u8]],
        cancel: &CancellationToken,
    ) -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        let mut input = paths.join(&0);
        input.push(0);
        self.on(git.call(["update-index", "--add", "--replace", how]))
            .args(["-z", "--stdin"])
            .input(input)
            .run(cancel)
            .await
            .map(drop)
    }

    fn on<'a>(&self, call: crate::git::Call<'a>) -> crate::git::Call<'a> {
        call.variable("GIT_INDEX_FILE", self.folder.path().join("index"))
    }
}
