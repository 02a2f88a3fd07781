//! The environment of a confined command, built from nothing: what is not named
//! here is not there. No token of the caller can leak through a variable.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::Path,
    sync::LazyLock,
};

/// The home directory inside: empty, writable, gone afterwards.
pub const HOME: &str = "/tmp/home";
/// The directory for temporary files inside: private, gone afterwards.
pub const TMP: &str = "/tmp";

/// Variables that say where a toolchain lives, and where it is below a home
/// directory when the variable is not set. `HOME` is another one inside, so what
/// a tool would find there by itself must be said.
const PLACES: [(&str, Option<&str>); 9] = [
    ("CARGO_HOME", Some(".cargo")),
    ("RUSTUP_HOME", Some(".rustup")),
    ("PYENV_ROOT", Some(".pyenv")),
    ("RBENV_ROOT", Some(".rbenv")),
    ("VOLTA_HOME", Some(".volta")),
    ("NVM_DIR", Some(".nvm")),
    ("SDKMAN_DIR", Some(".sdkman")),
    ("GOROOT", None),
    ("JAVA_HOME", None),
];

/// `PATH`, `HOME`, `SHELL`, `TMPDIR`, `LC_CTYPE`, `TERM` and where the toolchains
/// are, plus `extra`. `home` is the person's home directory: toolchains that live below it
/// are named, nothing else of it is. Names in `extra` that would change which
/// program runs are dropped.
#[must_use]
pub fn scrubbed_env(
    home: &Path,
    extra: impl IntoIterator<Item = (OsString, OsString)>,
) -> BTreeMap<OsString, OsString> {
    let mut env = BTreeMap::new();
    let mut set = |name: &str, value: OsString| env.insert(OsString::from(name), value);
    set("PATH", SEARCH_PATH.clone());
    set("HOME", HOME.into());
    set("TMPDIR", TMP.into());
    // Told, so that a shell does not look it up among the users.
    set("SHELL", crate::command::shell_program().into());
    // Text is UTF-8; all else is as without a locale, and is not looked up in a
    // dozen files by every program that starts.
    set("LC_CTYPE", "C.UTF-8".into());
    set("TERM", "dumb".into());
    for (name, below_home) in PLACES {
        let told = std::env::var_os(name).filter(|place| Path::new(place).is_absolute());
        let found = || {
            let place = home.join(below_home?);
            place.is_dir().then(|| place.into_os_string())
        };
        if let Some(place) = told.or_else(found) {
            set(name, place);
        }
    }
    env.extend(extra.into_iter().filter(|(name, _)| !steers(name)));
    env
}

/// Of this process, whose own `PATH` nobody changes.
static SEARCH_PATH: LazyLock<OsString> =
    LazyLock::new(|| search_path(std::env::var_os("PATH").as_deref()));

/// The absolute entries of the caller's `PATH`: a relative one would let the
/// worktree decide what `git` is.
fn search_path(path: Option<&OsStr>) -> OsString {
    const USUAL: &str = "/usr/local/bin:/usr/bin:/bin";
    let entries = path
        .map(|path| {
            std::env::split_paths(path)
                .filter(|entry| entry.is_absolute())
                .collect::<Vec<_>>()
        })
        .unwrap_or_default();
    match std::env::join_paths(&entries) {
        Ok(joined) if !entries.is_empty() => joined,
        _ => USUAL.into(),
    }
}

/// Whether a variable changes what a shell or the loader runs.
fn steers(name: &OsStr) -> bool {
    const NAMES: [&str; 9] = [
        "BASH_ENV",
        "ENV",
        "PS4",
        "PROMPT_COMMAND",
        "IFS",
        "SHELLOPTS",
        "BASHOPTS",
        "CDPATH",
        "GLOBIGNORE",
    ];
    let name = name.to_string_lossy();
    name.starts_with("LD_") || name.starts_with("BASH_FUNC_") || NAMES.contains(&name.as_ref())
}

/// The person's home directory; `/` when nobody says.
pub(crate) fn home() -> std::path::PathBuf {
    std::env::home_dir()
        .filter(|home| home.is_absolute())
        .unwrap_or_else(|| "/".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_caller_is_taken_over_but_paths() {
        let extra = [
            ("APP_PORT", "80"),
            ("LD_PRELOAD", "x"),
            ("BASH_ENV", "x"),
            ("ENV", "x"),
        ];
        let extra = extra.map(|(name, value)| (name.into(), value.into()));
        let env = scrubbed_env(Path::new("/nobody"), extra);
        let known = [
            "PATH", "HOME", "SHELL", "TMPDIR", "LC_CTYPE", "TERM", "APP_PORT",
        ];
        for name in env.keys() {
            let place = PLACES.iter().any(|(place, _)| name == place);
            assert!(place || known.iter().any(|known| name == known), "{name:?}");
        }
        assert_eq!(env["HOME".as_ref() as &OsStr], HOME);
        assert_eq!(env["APP_PORT".as_ref() as &OsStr], "80");
    }

    #[test]
    fn a_toolchain_below_the_home_is_named_because_home_is_another_one_inside() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join(".volta")).unwrap();
        let env = scrubbed_env(home.path(), []);
        if std::env::var_os("VOLTA_HOME").is_none() {
            assert_eq!(
                env["VOLTA_HOME".as_ref() as &OsStr],
                home.path().join(".volta")
            );
        }
    }

    #[test]
    fn relative_entries_of_the_search_path_are_dropped() {
        let check = |path: Option<&str>, kept: &str| {
            assert_eq!(search_path(path.map(OsStr::new)), kept, "{path:?}");
        };
        check(Some("/a:.:b/c::/d"), "/a:/d");
        check(Some("node_modules/.bin"), "/usr/local/bin:/usr/bin:/bin");
        check(None, "/usr/local/bin:/usr/bin:/bin");
    }
}
