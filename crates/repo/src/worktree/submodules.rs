//! The repositories that a repository is put together from. Git's own
//! `submodule update` would run on a working tree that commands can write, with
//! addresses from a branch that an agent can change, and would leave a `.git` of
//! its own in there. So we fetch ourselves, into the repo's cache, and
//! only from where the *default branch* says; whoever lays the files out needs no
//! network and no repository in the worktree.

use std::path::{Path, PathBuf};

use butler_protocol::{CommitSha, Sha256Hex};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::{Error, Git, Repo, Result, git::config_entries};

/// Repositories within repositories, and no deeper.
const DEEPEST: usize = 4;

/// The files of another repository, at a place of this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submodule {
    /// The folder, from the top of the worktree.
    pub path: String,
    pub commit: CommitSha,
    /// A bare repository that has this commit.
    pub store: PathBuf,
}

/// What `.gitmodules` says of one.
#[derive(Debug, Default)]
struct Entry {
    name: String,
    path: String,
    url: String,
}

impl Repo {
    /// The submodules of a commit, fetched.
    /// Fails when one has an address that is not used, or cannot be fetched.
    pub async fn submodules(
        &self,
        commit: &CommitSha,
        cancel: &CancellationToken,
    ) -> Result<Vec<Submodule>> {
        let Some(default) = self.resolve(&self.default_ref()).await? else {
            return Ok(Vec::new());
        };
        let around = self.remote().map_or("", |remote| remote.url.as_str());
        let mut found = Vec::new();
        let look = Look {
            repo: self,
            git: self.git().clone(),
            listing: default.as_str().to_owned(),
            commit: commit.clone(),
            around: around.to_owned(),
            below: String::new(),
            depth: 0,
        };
        look.gather(&mut found, cancel).await?;
        Ok(found)
    }

    /// A bare repository with this commit of that one.
    async fn fetched(
        &self,
        url: &str,
        commit: &CommitSha,
        cancel: &CancellationToken,
    ) -> Result<PathBuf> {
        let modules = self.root().join(".codebutler/cache/modules");
        let name = Sha256Hex::of(url)
            .as_str()
            .get(..20)
            .unwrap_or_default()
            .to_owned();
        let _turn = self.turn(&format!("module-{name}"), cancel).await?;
        let store = modules.join(name);
        if !store.join("HEAD").exists() {
            std::fs::create_dir_all(&store).map_err(Error::file(&store))?;
            let made = self
                .git()
                .call(["init", "--quiet", "--bare", "--template="]);
            made.arg(&store).run(cancel).await?;
        }
        let git = self.git().elsewhere(&store);
        let has = async || {
            let object = format!("{commit}^{{commit}}");
            let call = git.call(["cat-file", "-e", &object]);
            let call = call.variable("GIT_DIR", &store).accept(&[0, 1, 128]);
            Ok::<bool, Error>(call.run(cancel).await?.code == 0)
        };
        // First this commit alone; not every server gives single commits out.
        let alone = [format!("+{commit}:refs/codebutler/{commit}")];
        let all = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"].map(str::to_owned);
        for (depth, refs) in [(Some("--depth=1"), &alone[..]), (None, &all[..])] {
            if has().await? {
                return Ok(store);
            }
            let fetch = git
                .call(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"])
                .args(["--upload-pack=git-upload-pack", "--no-auto-maintenance"])
                .args(depth)
                .args(["--end-of-options", url])
                .args(refs)
                .variable("GIT_DIR", &store)
                .remote();
            match fetch.run(cancel).await {
                Err(error) if depth.is_none() => return Err(error),
                Err(error @ Error::Cancelled { .. }) => return Err(error),
                Ok(_) | Err(_) => {}
            }
        }
        match has().await? {
            true => Ok(store),
            false => Err(Error::Submodule {
                path: commit.to_string(),
                why: "its repository does not have this commit".to_owned(),
            }),
        }
    }
}

/// A look into one repository.
struct Look<'a> {
    repo: &'a Repo,
    git: Git,
    /// The commit whose `.gitmodules` counts.
    listing: String,
    commit: CommitSha,
    /// Where this repository is; addresses may begin there.
    around: String,
    /// Its folder in the worktree, with a slash, or nothing.
    below: String,
    depth: usize,
}

impl Look<'_> {
    fn gather<'b>(
        &'b self,
        found: &'b mut Vec<Submodule>,
        cancel: &'b CancellationToken,
    ) -> BoxFuture<'b, Result<()>> {
        Box::pin(async move {
            for entry in self.entries(cancel).await? {
                let Some(commit) = self.pinned(&entry.path, cancel).await? else {
                    continue;
                };
                let path = format!("{}{}", self.below, entry.path);
                let refused = |why: &str| Error::Submodule {
                    path: path.clone(),
                    why: why.to_owned(),
                };
                let url = resolved(&self.around, &entry.url)
                    .ok_or_else(|| refused("its address leads nowhere"))?;
                if !may_fetch(&self.around, &url) {
                    return Err(refused("its address is not one of https, ssh or git"));
                }
                let store = self.repo.fetched(&url, &commit, cancel).await?;
                found.push(Submodule {
                    path: path.clone(),
                    commit: commit.clone(),
                    store: store.clone(),
                });
                if self.depth < DEEPEST {
                    let inside = Look {
                        repo: self.repo,
                        git: self.repo.git().elsewhere(&store),
                        listing: commit.as_str().to_owned(),
                        commit,
                        around: url,
                        below: format!("{path}/"),
                        depth: self.depth + 1,
                    };
                    inside.gather(found, cancel).await?;
                }
            }
            Ok(())
        })
    }

    /// What `.gitmodules` lists. It includes no other file: a blob cannot.
    async fn entries(&self, cancel: &CancellationToken) -> Result<Vec<Entry>> {
        let blob = format!("{}:.gitmodules", self.listing);
        let listed = self
            .git
            .call(["config", "--blob", &blob, "-z", "--get-regexp"])
            .arg(r"^submodule\..*\.(path|url)$")
            .variable("GIT_DIR", self.git.git_dir()?)
            .accept(&[0, 1, 128])
            .run(cancel)
            .await?;
        let mut entries: Vec<Entry> = Vec::new();
        for (key, value) in config_entries(&listed.stdout) {
            let Some((name, field)) = key
                .strip_prefix("submodule.")
                .and_then(|key| key.rsplit_once('.'))
            else {
                continue;
            };
            if !entries.iter().any(|entry| entry.name == name) {
                entries.push(Entry {
                    name: name.to_owned(),
                    ..Entry::default()
                });
            }
            if let Some(entry) = entries.iter_mut().find(|entry| entry.name == name) {
                match field {
                    "path" => entry.path = value,
                    _ => entry.url = value,
                }
            }
        }
        entries.retain(|entry| is_inside(&entry.path) && !entry.url.is_empty());
        Ok(entries)
    }

    /// The commit that the tree names at a place; nothing when there is no
    /// submodule at it.
    async fn pinned(&self, path: &str, cancel: &CancellationToken) -> Result<Option<CommitSha>> {
        let listed = self
            .git
            .call([
                "ls-tree",
                "-z",
                "--full-tree",
                self.commit.as_str(),
                "--",
                path,
            ])
            .variable("GIT_DIR", self.git.git_dir()?)
            .variable("GIT_LITERAL_PATHSPECS", "1")
            .run(cancel)
            .await?;
        let pinned = listed.fields().find_map(|entry| {
            let text = String::from_utf8_lossy(entry).into_owned();
            let (head, at) = text.split_once('\t')?;
            let object = head.strip_prefix("160000 commit ")?;
            (at == path).then(|| CommitSha::new(object))
        });
        Ok(pinned)
    }
}

/// Whether a place is a folder below the top, and not git's own.
fn is_inside(path: &str) -> bool {
    !path.is_empty()
        && !path.starts_with('/')
        && !path.contains(['\n', '\\', '\0'])
        && path.split('/').all(|part| {
            !part.is_empty() && part != "." && part != ".." && !part.eq_ignore_ascii_case(".git")
        })
}

/// An address that may begin at the outer repository's.
fn resolved(around: &str, url: &str) -> Option<String> {
    if !url.starts_with("./") && !url.starts_with("../") {
        return Some(url.to_owned());
    }
    let mut base = around.trim_end_matches('/').to_owned();
    let mut rest = url;
    loop {
        if let Some(after) = rest.strip_prefix("./") {
            rest = after;
        } else if let Some(after) = rest.strip_prefix("../") {
            let cut = base.rfind(['/', ':'])?;
            // `git@host:name` and `https://host` have nothing above them.
            if base[..cut].ends_with('/') || base[..cut].is_empty() {
                return None;
            }
            let colon = base[cut..].starts_with(':');
            base.truncate(if colon { cut + 1 } else { cut });
            rest = after;
        } else {
            let glue = if base.ends_with(':') { "" } else { "/" };
            return Some(format!("{base}{glue}{rest}"));
        }
    }
}

/// A repository on this disk is fetched from only by one that is on it too: else
/// a stranger's clone could name the person's own folders.
fn may_fetch(around: &str, url: &str) -> bool {
    if url.starts_with('-') || url.contains("::") {
        return false;
    }
    let remote = ["https://", "http://", "ssh://", "git://"];
    if remote.iter().any(|scheme| url.starts_with(scheme)) {
        return true;
    }
    let local = |url: &str| url.starts_with("file://") || Path::new(url).is_absolute();
    if local(url) {
        return local(around);
    }
    // As in `git@host:team/name`.
    url.split_once(':').is_some_and(|(host, path)| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "@.-_".contains(c);
        !host.is_empty() && host.chars().all(plain) && !host.starts_with('-') && !path.is_empty()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_may_begin_at_the_outer_repository() {
        for (around, url, expected) in [
            ("https://h/a/b.git", "../c.git", Some("https://h/a/c.git")),
            ("https://h/a/b", "./c", Some("https://h/a/b/c")),
            ("git@h:a/b.git", "../../x/c.git", Some("git@h:x/c.git")),
            ("/srv/a.git", "../b.git", Some("/srv/b.git")),
            ("https://h/a", "https://other/x", Some("https://other/x")),
            ("https://h/a", "../../../x", None),
        ] {
            assert_eq!(resolved(around, url).as_deref(), expected, "{around} {url}");
        }
    }

    #[test]
    fn a_clone_from_elsewhere_names_no_folder_of_this_machine_and_no_program() {
        let far = "https://h/a";
        for url in ["https://h/b", "ssh://h/b", "git@h:b"] {
            assert!(may_fetch(far, url), "{url}");
        }
        for url in [
            "/home/you/private",
            "file:///etc",
            "ext::sh -c x",
            "-upload-pack=x",
            "../x",
            "fd::1",
            "",
        ] {
            assert!(!may_fetch(far, url), "{url}");
        }
        assert!(may_fetch("/srv/a.git", "/srv/b.git"));
        assert!(may_fetch("file:///srv/a.git", "file:///srv/b.git"));
    }

    #[test]
    fn a_place_is_below_the_top_and_not_gits() {
        for path in ["lib", "third party/x", "a/b"] {
            assert!(is_inside(path), "{path}");
        }
        for path in [
            "", "/x", "../x", "a/../b", ".git", "a/.GIT/x", "a//b", "a\nb",
        ] {
            assert!(!is_inside(path), "{path}");
        }
    }
}
