//! What package managers download, kept once per repo: a folder for each of
//! them below `.codebutler/cache`, and the variables that lead them there.
//!
//! Who has the network may fill it: the repo's preparation, and a command that a
//! person approved. Everybody else reads it, told that there is no network, so
//! that a check neither asks a registry nor changes what other threads build with.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use butler_protocol::among;
use butler_sandbox::Network;

/// A package manager's variable, and the folder it names.
const FOLDERS: &[(&str, &str)] = &[
    ("CARGO_HOME", "cargo"),
    ("GOMODCACHE", "go"),
    ("PIP_CACHE_DIR", "pip"),
    ("UV_CACHE_DIR", "uv"),
    ("UV_PYTHON_INSTALL_DIR", "uv-python"),
    ("POETRY_CACHE_DIR", "poetry"),
    ("npm_config_cache", "npm"),
    // Up to version 10, and from 11 on.
    ("npm_config_store_dir", "pnpm"),
    ("PNPM_CONFIG_STORE_DIR", "pnpm"),
    // Version 1, and those after it.
    ("YARN_CACHE_FOLDER", "yarn"),
    ("YARN_GLOBAL_FOLDER", "yarn-global"),
    ("COREPACK_HOME", "corepack"),
    ("BUN_INSTALL_CACHE_DIR", "bun"),
    ("CP_HOME_DIR", "cocoapods"),
];

/// Those that are read by what was installed, not only while installing. The
/// others hold nothing that a check needs, and some refuse to work in a folder
/// that they cannot write.
const READ_LATER: &str = "cargo go uv-python yarn yarn-global corepack";

/// While there is a network. A hard link into the cache would let a check change
/// what it links to, so everything is copied.
const ONLINE: &[(&str, &str)] = &[
    ("UV_LINK_MODE", "copy"),
    ("npm_config_package_import_method", "copy"),
    ("PNPM_CONFIG_PACKAGE_IMPORT_METHOD", "copy"),
    ("npm_config_update_notifier", "false"),
    ("npm_config_fund", "false"),
    ("npm_config_audit", "false"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("POETRY_VIRTUALENVS_IN_PROJECT", "true"),
    ("COREPACK_ENABLE_DOWNLOAD_PROMPT", "0"),
    ("YARN_ENABLE_TELEMETRY", "0"),
    // Else Go writes folders that nobody can delete.
    ("GOFLAGS", "-modcacherw"),
];

/// While there is none: what is there must do, and nobody waits for a registry.
const OFFLINE: &[(&str, &str)] = &[
    ("npm_config_offline", "true"),
    ("npm_config_update_notifier", "false"),
    ("UV_OFFLINE", "1"),
    ("UV_NO_SYNC", "1"),
    // Its own cache would have to be writable.
    ("UV_NO_CACHE", "1"),
    ("PIP_NO_INDEX", "1"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("POETRY_VIRTUALENVS_IN_PROJECT", "true"),
    ("YARN_ENABLE_NETWORK", "0"),
    ("YARN_ENABLE_TELEMETRY", "0"),
];

/// The same, for those whose cache holds something.
const OFFLINE_WITH: &[(&str, &str, &str)] = &[
    ("cargo", "CARGO_NET_OFFLINE", "true"),
    ("go", "GOPROXY", "off"),
];

/// Of the process's own environment: how a company's network is reached.
const PROXIES: &str =
    "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy";

/// The same by the names that Yarn after version 1 looks for.
const PROXIES_OF_YARN: &[(&str, [&str; 2])] = &[
    ("YARN_HTTP_PROXY", ["HTTP_PROXY", "http_proxy"]),
    ("YARN_HTTPS_PROXY", ["HTTPS_PROXY", "https_proxy"]),
];

/// And which mirrors it has. One with a login in its address is left out: an
/// install script would read it.
const MIRRORS: &str = "GOPROXY GOPRIVATE GONOPROXY GONOSUMDB GOSUMDB GOINSECURE PIP_INDEX_URL \
    PIP_EXTRA_INDEX_URL PIP_TRUSTED_HOST UV_INDEX UV_DEFAULT_INDEX UV_INDEX_URL \
    npm_config_registry NPM_CONFIG_REGISTRY PNPM_CONFIG_REGISTRY YARN_NPM_REGISTRY_SERVER \
    COREPACK_NPM_REGISTRY";

/// By what name tools look for further certificate authorities.
const AUTHORITIES: &[&str] = &[
    "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    // Behind a proxy npm and pnpm believe only what they are told by these.
    "npm_config_cafile",
    "PNPM_CONFIG_CAFILE",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "YARN_HTTPS_CA_FILE_PATH",
    "GIT_SSL_CAINFO",
];

/// Where systems keep the usual ones.
const USUAL_AUTHORITIES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
];

/// The usual certificate authorities and a company's own, in one file.
const BUNDLE: &str = "certificates.pem";

/// The cache of one repo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    root: PathBuf,
    /// A PEM file with further certificate authorities.
    ca_file: Option<PathBuf>,
}

impl Cache {
    /// The cache in this folder, which need not be there yet. `ca_file` holds the
    /// certificate authorities of a company's own network.
    pub fn at(root: PathBuf, ca_file: Option<PathBuf>) -> Self {
        Self { root, ca_file }
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Makes what is missing of it. It ignores itself: no change contains it,
    /// whatever the repo's own `.gitignore` says.
    /// Fails when the folder cannot be written.
    pub fn open(&self) -> io::Result<()> {
        for (_, name) in FOLDERS {
            fs::create_dir_all(self.root.join(name))?;
        }
        fs::write(self.root.join(".gitignore"), "*\n")?;
        fs::write(
            self.root.join("CACHEDIR.TAG"),
            "Signature: 8a477f597d28d172789f06886806bc55\n# What package managers downloaded. It can be deleted.\n",
        )?;
        self.place_cargo_config(butler_sandbox::plain_cargo_config().as_deref())?;
        self.gather_authorities()
    }

    /// Which registry cargo asks; a file with a login in it is not taken over. Who had
    /// the network may have left something in its place: what the builds of all threads
    /// would go by, or a link to a file of the person's.
    fn place_cargo_config(&self, own: Option<&Path>) -> io::Result<()> {
        let folder = self.root.join("cargo");
        let text = own.map(fs::read).transpose()?;
        for name in ["config", "config.toml"] {
            let place = folder.join(name);
            let wanted = text.as_ref().filter(|_| name == "config.toml");
            match (fs::symlink_metadata(&place), wanted) {
                (Ok(there), Some(text)) if there.is_file() && fs::read(&place)? == *text => {
                    continue;
                }
                (Ok(there), _) if there.is_dir() => fs::remove_dir_all(&place)?,
                (Ok(_), None) => fs::remove_file(&place)?,
                _ => {}
            }
            if let Some(text) = wanted {
                // Beside the folders that commands may write, and then in the place of what is there.
                let (process, thread) = (std::process::id(), std::thread::current().id());
                let beside = self.root.join(format!("config-{process}-{thread:?}"));
                fs::write(&beside, text)?;
                fs::rename(&beside, &place)?;
            }
        }
        Ok(())
    }

    fn gather_authorities(&self) -> io::Result<()> {
        let told = ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"];
        let told = told.iter().filter_map(std::env::var_os).map(PathBuf::from);
        let own: Vec<PathBuf> = self.ca_file.iter().cloned().chain(told).collect();
        let bundle = self.root.join(BUNDLE);
        if own.is_empty() {
            return match fs::remove_file(bundle) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let usual = USUAL_AUTHORITIES.iter().map(PathBuf::from);
        let usual = usual.filter(|path| path.exists()).take(1);
        let mut text = Vec::new();
        for path in usual.chain(own) {
            let one = fs::read(&path).map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            })?;
            text.extend(one);
            text.push(b'\n');
        }
        fs::write(bundle, text)
    }

    /// What a command may write of it.
    pub(crate) fn writable(&self, network: Network) -> Vec<PathBuf> {
        match network {
            Network::Loopback => Vec::new(),
            Network::Host => {
                let mut folders: Vec<_> = FOLDERS
                    .iter()
                    .map(|(_, name)| self.root.join(name))
                    .collect();
                folders.dedup();
                folders
            }
        }
    }

    /// What a command may read of it.
    pub(crate) fn readable(&self, network: Network) -> Vec<PathBuf> {
        let path = match network {
            Network::Loopback => self.root.clone(),
            Network::Host => self.root.join(BUNDLE),
        };
        path.exists().then_some(path).into_iter().collect()
    }

    /// What leads package managers here.
    pub(crate) fn variables(&self, network: Network) -> BTreeMap<OsString, OsString> {
        let mut all = BTreeMap::new();
        if !self.root.is_dir() {
            return all;
        }
        let mut set = |name: &str, value: OsString| all.insert(OsString::from(name), value);
        let online = network == Network::Host;
        for (name, folder) in FOLDERS {
            if online || (among(READ_LATER, folder) && self.holds(folder)) {
                set(name, self.root.join(folder).into());
            }
        }
        for (name, value) in if online { ONLINE } else { OFFLINE } {
            set(name, value.into());
        }
        if !online {
            for (folder, name, value) in OFFLINE_WITH {
                if self.holds(folder) {
                    set(name, value.into());
                }
            }
            return all;
        }
        for name in PROXIES.split(' ').chain(MIRRORS.split(' ')) {
            let told = std::env::var_os(name);
            let login = told
                .as_ref()
                .is_some_and(|value| value.to_string_lossy().contains('@'));
            if let Some(value) = told.filter(|_| !login || among(PROXIES, name)) {
                set(name, value);
            }
        }
        for (name, usual) in PROXIES_OF_YARN {
            if let Some(value) = usual.iter().find_map(std::env::var_os) {
                set(name, value);
            }
        }
        let bundle = self.root.join(BUNDLE);
        if bundle.exists() {
            for name in AUTHORITIES {
                set(name, bundle.clone().into());
            }
        }
        all
    }

    /// Whether anything was put there; the person's own configuration is nothing.
    fn holds(&self, folder: &str) -> bool {
        let entries = fs::read_dir(self.root.join(folder)).into_iter().flatten();
        entries
            .flatten()
            .any(|entry| entry.file_name() != "config.toml")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value<'a>(variables: &'a BTreeMap<OsString, OsString>, name: &str) -> Option<&'a str> {
        variables.get(std::ffi::OsStr::new(name))?.to_str()
    }

    #[test]
    fn only_who_has_the_network_writes_and_the_others_are_told_that_there_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("cache"), None);
        for network in [Network::Host, Network::Loopback] {
            assert!(cache.variables(network).is_empty(), "nothing is there yet");
        }
        cache.open().unwrap();
        let online = cache.variables(Network::Host);
        for name in [
            "CARGO_HOME",
            "GOMODCACHE",
            "UV_CACHE_DIR",
            "PIP_CACHE_DIR",
            "npm_config_cache",
            "PNPM_CONFIG_STORE_DIR",
            "YARN_CACHE_FOLDER",
        ] {
            let path = PathBuf::from(value(&online, name).unwrap());
            assert!(cache.writable(Network::Host).contains(&path), "{name}");
        }
        assert_eq!(value(&online, "CARGO_NET_OFFLINE"), None);
        assert!(cache.writable(Network::Loopback).is_empty());
        assert_eq!(cache.readable(Network::Loopback), [cache.root().to_owned()]);
        // An empty one would only hide what the person has.
        assert_eq!(
            value(&cache.variables(Network::Loopback), "CARGO_HOME"),
            None
        );
        fs::create_dir(cache.root().join("cargo/registry")).unwrap();
        let offline = cache.variables(Network::Loopback);
        assert_eq!(value(&offline, "CARGO_NET_OFFLINE"), Some("true"));
        assert_eq!(value(&offline, "GOPROXY"), None);
        assert_eq!(value(&offline, "UV_OFFLINE"), Some("1"));
        assert_eq!(
            value(&offline, "npm_config_cache"),
            None,
            "it must be writable"
        );
    }

    #[test]
    fn what_a_command_left_in_the_place_of_cargos_configuration_goes() {
        let folder = tempfile::tempdir().unwrap();
        let persons = folder.path().join("persons");
        fs::write(&persons, "the person's").unwrap();
        let own = folder.path().join("own.toml");
        fs::write(&own, "[net]\n").unwrap();
        let cache = Cache::at(folder.path().join("cache"), None);
        cache.open().unwrap();
        let place = |name: &str| cache.root().join("cargo").join(name);
        let hostile: [fn(&Path, &Path); 3] = [
            |place, persons| std::os::unix::fs::symlink(persons, place).unwrap(),
            |place, _| fs::write(place, "[build]\nrustc-wrapper = \"./x\"\n").unwrap(),
            |place, _| fs::create_dir_all(place.join("below")).unwrap(),
        ];
        for leave in hostile {
            for (own, text) in [(Some(own.as_path()), Some("[net]\n")), (None, None)] {
                let _ = fs::remove_file(place("config.toml"));
                leave(&place("config.toml"), &persons);
                leave(&place("config"), &persons);
                cache.place_cargo_config(own).unwrap();
                let there = fs::read_to_string(place("config.toml")).ok();
                assert_eq!(there.as_deref(), text);
                assert!(fs::symlink_metadata(place("config")).is_err());
                assert_eq!(fs::read_to_string(&persons).unwrap(), "the person's");
            }
        }
    }

    #[test]
    fn a_companys_authorities_stand_beside_the_usual_ones_and_go_with_their_setting() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("own.pem");
        fs::write(&own, "OWN").unwrap();
        let root = folder.path().join("cache");
        let cache = Cache::at(root.clone(), Some(own));
        cache.open().unwrap();
        let text = fs::read_to_string(root.join(BUNDLE)).unwrap();
        assert!(text.contains("OWN"), "{text}");
        let bundle = root.join(BUNDLE);
        let online = cache.variables(Network::Host);
        assert_eq!(value(&online, "NODE_EXTRA_CA_CERTS"), bundle.to_str());
        assert_eq!(cache.readable(Network::Host), std::slice::from_ref(&bundle));
        Cache::at(root.clone(), None).open().unwrap();
        let told = ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"].map(std::env::var_os);
        assert_eq!(bundle.exists(), told.iter().any(Option::is_some));
        let missing = Cache::at(root, Some(folder.path().join("gone.pem")));
        let problem = missing.open().unwrap_err().to_string();
        assert!(problem.contains("gone.pem"), "{problem}");
    }

    #[test]
    fn the_cache_ignores_itself() {
        let folder = tempfile::tempdir().unwrap();
        butler_testkit::git(folder.path(), &["init", "--quiet"]);
        Cache::at(folder.path().join("cache"), None).open().unwrap();
        let status = butler_testkit::git(folder.path(), &["status", "--porcelain"]);
        assert_eq!(status, "");
    }
}
