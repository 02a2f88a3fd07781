//! Where the compilers and interpreters of this machine live, beyond `/usr`:
//! what `PATH` and a few variables point at. A person's home is otherwise not
//! readable, so of each toolchain in it only the folders that hold programs are
//! shown: its login lies beside them, under a name that nobody can list in advance.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use crate::env::home;

/// Folders in a home that programs share with private data.
const SHARED: [&str; 5] = [".local", ".config", ".cache", ".ssh", ".cargo"];

/// What is shown of a toolchain in a home.
const PARTS: [&str; 12] = [
    "bin",
    "sbin",
    "lib",
    "lib64",
    "libexec",
    "include",
    "share",
    "shims",
    "versions",
    "installs",
    "tools",
    "toolchains",
];

/// Every place that must be readable, as it is on disk.
pub(crate) fn places() -> BTreeSet<PathBuf> {
    let home = home();
    let mut places = BTreeSet::new();
    let path = std::env::var_os("PATH").unwrap_or_default();
    for entry in std::env::split_paths(&path).filter(|entry| entry.is_absolute()) {
        let real = fs::canonicalize(&entry);
        for entry in [Some(entry), real.ok()].into_iter().flatten() {
            if entry.is_dir() {
                places.extend(around(&home, &entry));
            }
        }
    }
    let at = |name: &str, below: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|place| place.is_absolute())
            .unwrap_or_else(|| home.join(below))
    };
    places.extend(cargo(&at("CARGO_HOME", ".cargo")));
    places.extend([
        at("RUSTUP_HOME", ".rustup").join("toolchains"),
        at("RUSTUP_HOME", ".rustup").join("settings.toml"),
        at("RUSTUP_HOME", ".rustup").join("update-hashes"),
        at("NVM_DIR", ".nvm").join("versions"),
        at("SDKMAN_DIR", ".sdkman").join("candidates"),
        at("GOMODCACHE", "go/pkg/mod"),
        home.join(".local/lib"),
        home.join(".local/share/pipx/venvs"),
        home.join(".local/share/pipx/shared"),
        home.join(".local/share/uv/python"),
        home.join(".local/share/uv/tools"),
        home.join(".local/share/mise/installs"),
        home.join(".local/share/fnm/node-versions"),
    ]);
    for name in ["GOROOT", "JAVA_HOME"] {
        places.extend(std::env::var_os(name).map(PathBuf::from));
    }
    // A folder above the home would show the home.
    places.retain(|place| place.is_absolute() && place.exists() && !home.starts_with(place));
    places
}

/// What a program directory needs around it: `…/node/bin` is nothing without
/// `…/node/lib`. A plain folder of scripts is shown alone.
fn around(home: &Path, entry: &Path) -> Vec<PathBuf> {
    let bare = || vec![entry.to_owned()];
    let (Some(name), Some(parent)) = (entry.file_name(), entry.parent()) else {
        return bare();
    };
    let is_dotted = |name: &OsStr| name.to_string_lossy().starts_with('.');
    if parent == home && is_dotted(name) {
        // The folder of a whole program, with its programs in it.
        return parts(entry).chain(programs(entry)).collect();
    }
    if !["bin", "sbin", "shims"].iter().any(|known| name == *known) {
        return bare();
    }
    let shared = SHARED.iter().any(|shared| parent == home.join(shared));
    if shared || home.starts_with(parent) || parent.parent().is_none() {
        return bare();
    }
    let dotted = parent.file_name().is_some_and(is_dotted);
    let installed = ["lib", "libexec", "pkg"]
        .iter()
        .any(|part| parent.join(part).is_dir());
    if !((dotted && parent.parent() == Some(home)) || installed) {
        return bare();
    }
    if parent.starts_with(home) {
        return parts(parent).collect();
    }
    vec![parent.to_owned()]
}

/// The folders of a toolchain that hold programs and what they need, and the file
/// in which pyenv, rbenv and nodenv keep which version their shims start.
fn parts(toolchain: &Path) -> impl Iterator<Item = PathBuf> {
    let parts = PARTS.iter().map(|part| toolchain.join(part));
    let chosen = toolchain.join("version");
    parts
        .filter(|part| part.is_dir())
        .chain(chosen.is_file().then_some(chosen))
}

/// The programs in a folder, without what lies beside them.
fn programs(folder: &Path) -> impl Iterator<Item = PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| {
        let found = fs::metadata(path);
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    })
}

/// Cargo keeps its login beside its programs: only these parts are shown.
fn cargo(cargo_home: &Path) -> Vec<PathBuf> {
    let mut parts: Vec<_> = ["bin", "registry", "git", "env"]
        .map(|part| cargo_home.join(part))
        .into();
    parts.extend(plain_configs(cargo_home));
    parts
}

/// Cargo's configuration files that hold no login.
fn plain_configs(cargo_home: &Path) -> impl Iterator<Item = PathBuf> {
    let files = ["config.toml", "config"].map(|name| cargo_home.join(name));
    files.into_iter().filter(|config| {
        fs::read_to_string(config).is_ok_and(|text| {
            let text = text.to_ascii_lowercase();
            !["token", "password", "secret", "credential", "@"]
                .iter()
                .any(|word| text.contains(word))
        })
    })
}

/// The person's configuration of cargo, when it may be shown to commands.
#[must_use]
pub fn plain_cargo_config() -> Option<PathBuf> {
    let told = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let place = told.filter(|place| place.is_absolute());
    plain_configs(&place.unwrap_or_else(|| home().join(".cargo"))).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn around_a_program_folder_its_installation_is_shown_and_never_the_home() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        for folder in [
            "bin",
            ".local/bin",
            ".cargo/bin",
            ".pyenv/shims",
            ".pyenv/versions",
            "node/bin",
            "node/lib",
            "work/bin",
        ] {
            fs::create_dir_all(home.join(folder)).unwrap();
        }
        fs::write(home.join(".pyenv/version"), "3.11.7").unwrap();
        let check = |entry: &str, shown: &[&str]| {
            let shown: Vec<_> = shown.iter().map(|part| home.join(part)).collect();
            assert_eq!(around(home, &home.join(entry)), shown, "{entry}");
        };
        check("bin", &["bin"]);
        check(".local/bin", &[".local/bin"]);
        check(".cargo/bin", &[".cargo/bin"]);
        let pyenv = [".pyenv/shims", ".pyenv/versions", ".pyenv/version"];
        check(".pyenv/shims", &pyenv);
        check("node/bin", &["node/bin", "node/lib"]);
        check("work/bin", &["work/bin"]);
    }

    #[test]
    fn a_login_beside_a_toolchain_is_not_shown() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let logins = [
            (".pulumi/bin", ".pulumi/credentials.json"),
            (".fly/bin", ".fly/config.yml"),
            (".railway/bin", ".railway/config.json"),
            (".wasmer/bin", ".wasmer/wasmer.toml"),
            (".gem/bin", ".gem/credentials"),
            (".cabal/bin", ".cabal/config"),
            (".foundry/bin", ".foundry/keystores/key"),
            ("tool/bin", "tool/token"),
            (".whole", ".whole/auth.json"),
        ];
        fs::create_dir_all(home.join("tool/lib")).unwrap();
        for (programs, login) in logins {
            fs::create_dir_all(home.join(programs)).unwrap();
            fs::create_dir_all(home.join(login).parent().unwrap()).unwrap();
            let program = home.join(programs).join("program");
            fs::write(&program, "").unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            fs::write(home.join(login), "x").unwrap();
            let shown = around(home, &home.join(programs));
            let covers = |path: &Path| shown.iter().any(|place| path.starts_with(place));
            assert!(covers(&program), "{shown:?}");
            assert!(!covers(&home.join(login)), "{login}: {shown:?}");
        }
    }

    #[test]
    fn of_cargo_only_what_holds_no_login_is_shown() {
        let home = tempfile::tempdir().unwrap();
        let config = home.path().join("config.toml");
        fs::write(&config, "[build]\njobs = 2\n").unwrap();
        assert!(cargo(home.path()).contains(&config));
        fs::write(&config, "[registry]\ntoken = \"x\"\n").unwrap();
        assert!(!cargo(home.path()).contains(&config));
        let shown = cargo(home.path());
        assert!(
            !shown
                .iter()
                .any(|path| path.ends_with("credentials.toml") || path == home.path())
        );
    }
}
