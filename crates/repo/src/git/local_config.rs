//! What a repository's own config could make git run, and how we take that away.
//!
//! A clone brings no config, but an unpacked archive does, and whatever can
//! write to `.git` can write it. We list the local config (which runs nothing)
//! and override each key that names a program. The list is read again whenever
//! a config file changed. `include` is refused outright: an included file may
//! lie where an agent can write, and change between our look and git's.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    Settings,
    call::path_of,
    process::{Ask, run},
};
use crate::{Error, Result};

/// Where a worktree keeps its state.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    /// This worktree's own.
    pub own: PathBuf,
    /// What it shares with all others.
    pub common: PathBuf,
}

/// Reads `.git` by hand, as git would.
pub(crate) fn places(dir: &Path) -> Option<Places> {
    let dot = dir.join(".git");
    let own = if dot.is_dir() {
        dot
    } else if let Ok(text) = fs::read_to_string(&dot) {
        dir.join(text.strip_prefix("gitdir:")?.trim())
    } else if dir.join("HEAD").is_file() && dir.join("objects").is_dir() {
        dir.to_owned()
    } else {
        return None;
    };
    let common = match fs::read_to_string(own.join("commondir")) {
        Ok(text) => own.join(text.trim()),
        Err(_) => own.clone(),
    };
    Some(Places {
        own: own.canonicalize().ok()?,
        common: common.canonicalize().ok()?,
    })
}

/// Where our own merge rules are kept, beside the repository's config.
pub(crate) const RULES: &str = "codebutler/attributes";

type Overrides = Arc<Vec<(String, String)>>;
/// Modification time, size and inode: enough to see that a file was replaced.
type Stamp = [Option<(i64, i64, u64, u64)>; 2];

/// Keeps the overrides of one repository up to date.
#[derive(Debug)]
pub(crate) struct Guard {
    dir: PathBuf,
    last: Mutex<Option<(Stamp, Overrides)>>,
}

impl Guard {
    pub(crate) fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            last: Mutex::new(None),
        }
    }

    /// The overrides for the config as it is now.
    pub(crate) async fn overrides(&self, settings: &Settings) -> Result<Overrides> {
        let Some(places) = places(&self.dir) else {
            return Ok(Overrides::default());
        };
        let now = [
            stamp(&places.common.join("config")),
            stamp(&places.own.join("config.worktree")),
        ];
        {
            let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((then, overrides)) = &*last
                && *then == now
            {
                return Ok(Arc::clone(overrides));
            }
        }
        let mut fresh = look(&places.own, settings).await?;
        let rules = places.common.join(RULES);
        if rules.exists() {
            fresh.push(("core.attributesFile".into(), rules.display().to_string()));
        }
        let fresh = Arc::new(fresh);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some((now, Arc::clone(&fresh)));
        Ok(fresh)
    }
}

fn stamp(file: &Path) -> Option<(i64, i64, u64, u64)> {
    let meta = fs::metadata(file).ok()?;
    Some((meta.mtime(), meta.mtime_nsec(), meta.len(), meta.ino()))
}

/// Lists the local config without following includes, and answers it.
async fn look(dir: &Path, settings: &Settings) -> Result<Vec<(String, String)>> {
    // Found by git itself, which refuses what somebody else owns; all other
    // commands are told where it is.
    let mut variables = settings.environment(&[]).await?;
    if let Some(parent) = dir.parent() {
        variables.push(("GIT_CEILING_DIRECTORIES".into(), parent.into()));
    }
    let args = ["config", "--list", "--no-includes", "--show-origin", "-z"];
    let args = args.map(std::ffi::OsString::from);
    let ended = run(Ask {
        dir: Some(dir),
        ..Ask::new("git", &args, &variables, settings.local_deadline)
    });
    let output = ended.await?.check(&[0])?;
    let mut overrides = Vec::new();
    let mut fields = output.stdout.split(|b| *b == 0);
    while let (Some(origin), Some(entry)) = (fields.next(), fields.next()) {
        let Some(file) = origin.strip_prefix(b"file:") else {
            continue;
        };
        let entry = String::from_utf8_lossy(entry);
        let key = entry.split('\n').next().unwrap_or_default();
        if key == "include.path" || key.starts_with("includeif.") {
            return Err(Error::Include {
                file: dir.join(path_of(file)),
                key: key.to_owned(),
            });
        }
        if let Some(value) = harmless(key) {
            overrides.push((key.to_owned(), value.to_owned()));
        }
    }
    overrides.dedup();
    Ok(overrides)
}

/// The value that takes a dangerous key's power away; nothing for other keys.
fn harmless(key: &str) -> Option<&'static str> {
    let (section, name) = (key.split('.').next()?, key.rsplit('.').next()?);
    match (section, name) {
        ("filter", "clean" | "smudge" | "process") => Some(""),
        ("filter", "required") => Some("false"),
        // The built-in text merge, under the driver's name.
        ("merge", "driver") => Some("git merge-file -q %A %O %B"),
        ("diff", "command" | "external" | "textconv") => Some(""),
        ("diff", "cachetextconv") => Some("false"),
        // Listed for people only: of two values git takes the first, so every
        // fetch and push names the programs itself.
        ("remote", "uploadpack") => Some("git-upload-pack"),
        ("remote", "receivepack") => Some("git-receive-pack"),
        ("remote", "mirror" | "prune" | "prunetags") => Some("false"),
        ("credential", "helper") => Some(""),
        ("gpg", "program" | "defaultkeycommand") => Some("false"),
        ("trailer", "command" | "cmd") => Some("true"),
        // Here too the first wins; GIT_PROXY_COMMAND is what takes it away.
        ("core", "gitproxy") => Some(""),
        ("core", "sshcommand") => Some("ssh"),
        ("core", "pager" | "editor") | ("sequence", "editor") => Some("true"),
        ("interactive", "difffilter") => Some("cat"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_that_names_a_program_is_disarmed() {
        for key in [
            "filter.lfs.clean",
            "filter.a.b.c.process",
            "merge.x.driver",
            "diff.external",
            "diff.x.textconv",
            "remote.origin.uploadpack",
            "credential.https://x.y/.helper",
            "gpg.ssh.program",
            "trailer.key.cmd",
        ] {
            assert!(harmless(key).is_some(), "{key}");
        }
        for key in ["user.name", "remote.origin.url", "core.autocrlf"] {
            assert!(harmless(key).is_none(), "{key}");
        }
    }
}
