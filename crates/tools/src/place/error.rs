//! Why a path was not opened, in words that tell a model what to try.

/// A path that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// Not a usable path at all.
    #[error("path `{path}` {why}")]
    Odd {
        /// As written, shortened.
        path: String,
        why: &'static str,
    },
    /// It leads out of the root.
    #[error("`{path}` is outside the worktree: use a path relative to its root")]
    Outside {
        /// As written.
        path: String,
    },
    /// No role may use it.
    #[error("`{path}` {why}: {instead}")]
    Protected {
        path: String,
        why: &'static str,
        instead: &'static str,
    },
    /// This role may not use it.
    #[error("`{path}` is not among the files this role may use: {allowed}")]
    Scope { path: String, allowed: String },
    /// Nothing is there.
    #[error("`{path}` does not exist{}", did_you_mean(.near))]
    Missing { path: String, near: Vec<String> },
    /// A folder where a file is needed.
    #[error("`{path}` is a folder: use Glob with path `{path}` to see what is in it")]
    Folder { path: String },
    /// A part of the path is a file.
    #[error("`{path}` goes through something that is not a folder")]
    NotFolder { path: String },
    /// Changing something through a link.
    #[error("`{path}` is, or goes through, a symbolic link{}: name the real file", leads_to(.target))]
    Link {
        path: String,
        /// Where it leads, when that is inside.
        target: Option<String>,
    },
    /// A device, FIFO or socket.
    #[error("`{path}` is a {kind}: only regular files can be used")]
    Special { path: String, kind: &'static str },
    /// Several hard links: it may be a file from elsewhere.
    #[error(
        "`{path}` has {links} hard links, so it may be a file from outside the worktree: replace it by a copy of its own"
    )]
    Shared { path: String, links: u64 },
    /// More bytes than a tool takes.
    #[error("`{path}` has {bytes} bytes, more than the {cap} this tool takes: {instead}")]
    TooBig {
        path: String,
        bytes: u64,
        cap: u64,
        instead: &'static str,
    },
    /// Whatever else the system said.
    #[error("`{path}`: {source}")]
    Io {
        /// Relative to the root, or the root.
        path: String,
        source: std::io::Error,
    },
}

fn did_you_mean(near: &[String]) -> String {
    if near.is_empty() {
        ": look for it with Glob".to_owned()
    } else {
        format!(": did you mean {}?", near.join(" or "))
    }
}

fn leads_to(target: &Option<String>) -> String {
    target
        .as_ref()
        .map(|target| format!(" to `{target}`"))
        .unwrap_or_default()
}
