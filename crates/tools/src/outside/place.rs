//! Where the program of a server runs, and what it sees there: the repo to read, a
//! folder of its own to keep things in, no credentials, no logs.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    time::Duration,
};

use butler_mcp::Reach;
use butler_protocol::{Secret, Sha256Hex};
use butler_sandbox::{Command, Limits, Network, Profile, Stdin, scrubbed_env};

use crate::run::confine;

/// A server runs until nobody needs it.
const YEARS: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
/// What is kept of its standard error.
const LAST_WORDS: usize = 64 << 10;

/// What a server's program is given besides its command.
pub struct ServerPlace<'a> {
    /// The repo, or the folder that is worked in: visible, not writable.
    pub repo: &'a Path,
    /// `~/.codebutler`: hidden, but for the server's own folder below it.
    pub home: &'a Path,
    /// Where the person's credentials lie.
    pub person_home: &'a Path,
    pub env: &'a BTreeMap<String, Secret>,
    /// Folders below the repo that it may change.
    pub writable: &'a [String],
    /// Whether it may use the network.
    pub network: bool,
}

impl ServerPlace<'_> {
    /// The program of the server `name`, ready to be started.
    /// Fails when its own folder cannot be made.
    pub fn program(&self, name: &str, command: &str, args: &[String]) -> io::Result<Reach> {
        let own = self.own_folder(name)?;
        let mut profile = Profile::new(&own);
        profile.protected = vec![self.repo.to_owned()];
        profile.hidden = vec![self.home.to_owned(), self.repo.join(".codebutler/threads")];
        profile
            .hidden
            .extend(confine::credentials(self.person_home));
        if let Some(clean) = butler_repo::clean_config(self.repo) {
            profile.instead.push((clean.at, clean.from));
            profile.hidden.push(clean.ours);
        }
        // A way out of the repo is none of its folders.
        let inside = |name: &&String| Path::new(name).components().all(is_plain);
        let writable = self.writable.iter().filter(inside);
        profile.writable = writable.map(|name| self.repo.join(name)).collect();
        profile.network = if self.network {
            Network::Host
        } else {
            Network::Loopback
        };
        profile.limits = Limits {
            wall: YEARS,
            output_bytes: LAST_WORDS,
            ..Limits::default()
        };
        let argv = std::iter::once(command).chain(args.iter().map(String::as_str));
        Ok(Reach::Program {
            command: Command {
                argv: argv.map(OsString::from).collect(),
                cwd: self.repo.to_owned(),
                env: self.environment(&own),
                stdin: Stdin::Null,
                direct: Vec::new(),
                sockets: true,
            },
            profile: Box::new(profile),
        })
    }

    /// What package runners download is kept, so that it is downloaded once.
    fn environment(&self, own: &Path) -> BTreeMap<OsString, OsString> {
        let caches = [
            ("npm_config_cache", "npm"),
            ("UV_CACHE_DIR", "uv"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_DATA_HOME", "data"),
        ];
        let caches = caches.map(|(name, folder)| (name.into(), own.join(folder).into()));
        let given = self.env.iter();
        let given = given.map(|(name, value)| (name.into(), value.expose().into()));
        scrubbed_env(self.person_home, caches.into_iter().chain(given))
    }

    fn own_folder(&self, name: &str) -> io::Result<PathBuf> {
        let repo = Sha256Hex::of(self.repo.to_string_lossy().as_bytes());
        let folder = format!("{name}-{}", &repo.as_str()[..12]);
        let own = self.home.join("mcp/state").join(folder);
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&own)?;
        own.canonicalize()
    }
}

fn is_plain(part: std::path::Component<'_>) -> bool {
    matches!(
        part,
        std::path::Component::Normal(_) | std::path::Component::CurDir
    )
}
