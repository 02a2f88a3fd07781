//! A real PostgreSQL (Debian's package) in a temporary folder, on a free port of this
//! machine. It refuses to run as root, so root runs it as `nobody`. Gone when dropped.

#![expect(clippy::unwrap_used, reason = "a test kit stops at the first surprise")]

use std::{
    ffi::OsString,
    fs::{self, Permissions},
    io::{BufRead, BufReader, Read},
    net::{Ipv4Addr, SocketAddr, TcpListener},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::Duration,
};

use tempfile::TempDir;

use crate::Host;

/// A server that runs, or was killed and can be started again.
#[derive(Debug)]
pub struct Postgres {
    folder: TempDir,
    programs: PathBuf,
    listens: SocketAddr,
    /// The words that lead to the machine where it runs.
    entry: Vec<OsString>,
    server: Option<Child>,
    /// Whether it takes connections with TLS only.
    secured: bool,
    /// Whether it waits for the disk; a test does not pull the plug.
    durable: bool,
}

impl Postgres {
    /// A new server; nothing where PostgreSQL is not installed, which is said, and fails
    /// where nothing may be skipped.
    #[must_use]
    pub fn start() -> Option<Self> {
        Self::new(false, None)
    }

    /// One on another machine, at this address of it. Nobody gets in from elsewhere before
    /// it is [`secured`](Self::secure).
    #[must_use]
    pub fn start_on(host: &Host, address: Ipv4Addr) -> Option<Self> {
        Self::new(false, Some((host, address)))
    }

    /// One that waits for the disk as in production, for what is measured.
    #[must_use]
    pub fn start_durable() -> Option<Self> {
        Self::new(true, None)
    }

    #[expect(clippy::print_stderr, reason = "a skipped test must say so")]
    fn new(durable: bool, on: Option<(&Host, Ipv4Addr)>) -> Option<Self> {
        let Some(programs) = programs() else {
            let ci = std::env::var_os("CI").is_some();
            assert!(!ci, "there is no PostgreSQL; in CI nothing is skipped");
            eprintln!("SKIPPED: there is no PostgreSQL (cargo xtask parts installs it)");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let listens = match on {
            // Nobody else has a port there.
            Some((_, address)) => (address, 5432).into(),
            None => (Ipv4Addr::LOCALHOST, free_port()).into(),
        };
        let mut server = Self {
            listens,
            entry: on.map(|(host, _)| host.entry()).unwrap_or_default(),
            folder,
            programs,
            server: None,
            secured: false,
            durable,
        };
        if is_root() {
            run(Command::new("chown")
                .arg("nobody")
                .arg(server.folder.path()));
        }
        run(server
            .command("initdb")
            .args(["--auth=trust", "--username=butler", "--no-sync"])
            .args(["--encoding=UTF8", "--locale=C", "-D"])
            .arg(server.data()));
        server.up();
        Some(server)
    }

    /// Its address, with a database that everybody may fill with schemas.
    #[must_use]
    pub fn address(&self) -> String {
        format!("postgres://butler@{}/postgres", self.listens)
    }

    /// Starts it anew with this certificate and its key; nobody gets in without TLS.
    pub fn secure(&mut self, certificate: &str, key: &str) {
        self.kill();
        let data = self.data();
        fs::write(data.join("server.crt"), certificate).unwrap();
        fs::write(data.join("server.key"), key).unwrap();
        fs::write(data.join("pg_hba.conf"), "hostssl all all all trust\n").unwrap();
        fs::set_permissions(data.join("server.key"), Permissions::from_mode(0o600)).unwrap();
        if is_root() {
            run(Command::new("chown")
                .arg("nobody")
                .args([data.join("server.crt"), data.join("server.key")]));
        }
        self.secured = true;
        self.up();
    }

    /// Where it listens.
    #[must_use]
    pub fn listens(&self) -> SocketAddr {
        self.listens
    }

    /// A database as SQL, without what lets anybody in and without words for `psql` alone.
    #[must_use]
    pub fn dump(&self, address: &str) -> String {
        let mut command = self.command("pg_dump");
        command.args(["--inserts", "--no-owner", "--schema=codebutler"]);
        let private = ["tokens", "sessions", "login_codes", "own_values", "hubs"];
        command.args(private.map(|name| format!("--exclude-table-data=codebutler.{name}")));
        let output = command
            .arg(address)
            .stdout(Stdio::piped())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with('\\'));
        lines.flat_map(|line| [line, "\n"]).collect()
    }

    /// The process that all its others are children of.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.server.as_ref().map_or(0, Child::id)
    }

    /// Kills it, as a crash would.
    pub fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.kill().unwrap();
            server.wait().unwrap();
        }
    }

    /// Starts it, again if need be, and waits until it takes connections.
    pub fn up(&mut self) {
        for _ in 0..300 {
            match self.try_up() {
                Ok(server) => {
                    self.server = Some(server);
                    return;
                }
                // What a killed server has started ends by itself, a moment later.
                Err(told) if told.contains("still in use") => sleep(Duration::from_millis(100)),
                Err(told) => panic!("PostgreSQL does not start: {told}"),
            }
        }
        panic!("what a killed PostgreSQL has started does not end");
    }

    fn try_up(&self) -> Result<Child, String> {
        let port = self.listens.port().to_string();
        let listen = format!("listen_addresses={}", self.listens.ip());
        let fsync = if self.durable {
            "fsync=on"
        } else {
            "fsync=off"
        };
        let mut server = self
            .command("postgres")
            .arg("-D")
            .arg(self.data())
            .args(["-p", &port, "-c", &listen])
            .args(["-c", "unix_socket_directories=", "-c", fsync])
            .args([
                "-c",
                "max_connections=300",
                "-c",
                "log_min_messages=warning",
            ])
            .args(["-c", if self.secured { "ssl=on" } else { "ssl=off" }])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(server.stderr.take().unwrap());
        let mut told = String::new();
        while !told.contains("ready to accept connections") {
            if lines.read_line(&mut told).unwrap() == 0 {
                server.wait().unwrap();
                return Err(told);
            }
        }
        std::thread::spawn(move || lines.read_to_end(&mut Vec::new()));
        Ok(server)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn command(&self, program: &str) -> Command {
        let program = self.programs.join(program);
        let mut words = self.entry.clone();
        if is_root() {
            let nobody = ["setpriv", "--reuid=nobody", "--regid=nogroup"];
            words.extend(nobody.map(OsString::from));
            words.push("--clear-groups".into());
        }
        words.push(program.into());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command.stdout(Stdio::null());
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Where Debian keeps the programs of the newest version.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir(Path::new("/usr/lib/postgresql")).ok()?;
    let version = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let found = versions.filter_map(|entry| Some(entry.ok()?.path()));
    let found = found.filter(|path| path.join("bin/initdb").exists());
    found.max_by_key(version).map(|path| path.join("bin"))
}

pub(crate) fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    id.stdout.trim_ascii() == b"0"
}

pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

pub(crate) fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}
