//! A real PgBouncer (Debian's package) before a [`Postgres`]: many connections of clients on
//! few of the server. Gone when dropped.

#![expect(clippy::unwrap_used, reason = "a test kit stops at the first surprise")]

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;

use crate::postgres::{Postgres, free_port, is_root, run};

const PROGRAM: &str = "/usr/sbin/pgbouncer";

/// One that runs.
#[derive(Debug)]
pub struct Pooler {
    port: u16,
    process: Child,
    _folder: TempDir,
}

impl Pooler {
    /// One with this `pool_mode`; nothing where PgBouncer is not installed, which is said, and
    /// fails where nothing may be skipped.
    #[must_use]
    #[expect(clippy::print_stderr, reason = "a skipped test must say so")]
    pub fn start(server: &Postgres, mode: &str) -> Option<Self> {
        if !Path::new(PROGRAM).exists() {
            let ci = std::env::var_os("CI").is_some();
            assert!(!ci, "there is no PgBouncer; in CI nothing is skipped");
            eprintln!("SKIPPED: there is no PgBouncer (cargo xtask parts installs it)");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let (port, listens) = (free_port(), server.listens());
        let file = folder.path().join("pgbouncer.ini");
        let config = format!(
            "[databases]\npostgres = host={} port={} user=butler\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = {mode}\n",
            listens.ip(),
            listens.port()
        );
        fs::write(&file, config).unwrap();
        let mut command = match is_root() {
            // It refuses to run as root, as PostgreSQL does.
            true => {
                run(Command::new("chown")
                    .args(["-R", "nobody"])
                    .arg(folder.path()));
                let mut command = Command::new("setpriv");
                command.args([
                    "--reuid=nobody",
                    "--regid=nogroup",
                    "--clear-groups",
                    PROGRAM,
                ]);
                command
            }
            false => Command::new(PROGRAM),
        };
        let mut process = command
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap());
        let mut told = String::new();
        while !told.contains("process up") {
            let read = lines.read_line(&mut told).unwrap();
            assert_ne!(read, 0, "PgBouncer does not start: {told}");
        }
        std::thread::spawn(move || lines.read_to_end(&mut Vec::new()));
        Some(Self {
            port,
            process,
            _folder: folder,
        })
    }

    /// Its address; behind it is the database of the server's own.
    #[must_use]
    pub fn address(&self) -> String {
        format!("postgres://butler@127.0.0.1:{}/postgres", self.port)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
