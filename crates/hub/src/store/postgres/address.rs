//! The address of a store in PostgreSQL, as it is written in the machine's config: where,
//! in which schema, and how the way there is made safe.

use std::{
    fmt,
    net::IpAddr,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use butler_protocol::Secret;
use tokio_postgres::{
    Config,
    config::{Host, SslMode},
};
use url::Url;

use super::{CONNECT, SILENCE, tls::Tls};
use crate::store::sql::{Error, Result};

/// The schema of a database in which the tables are, unless the address names another.
const SCHEMA: &str = "codebutler";

/// The address of a store.
#[derive(Clone)]
pub(crate) struct Address {
    pub(super) config: Config,
    pub(super) schema: String,
    pub(super) tls: Tls,
    /// Set when it was seen that a connection there is one.
    pub(super) is_held: Arc<OnceLock<()>>,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

/// What we read of an address ourselves; the rest is PostgreSQL's.
#[derive(Default)]
struct Own {
    schema: Option<String>,
    sslmode: Option<String>,
    sslrootcert: Option<PathBuf>,
}

impl Own {
    /// Takes it out of the address.
    fn taken_from(url: &mut Url) -> Self {
        let mut own = Self::default();
        let mut passed = Vec::new();
        for (name, value) in url.query_pairs().into_owned() {
            match name.as_str() {
                "schema" => own.schema = Some(value),
                "sslmode" => own.sslmode = Some(value),
                "sslrootcert" => own.sslrootcert = Some(value.into()),
                _ => passed.push((name, value)),
            }
        }
        url.set_query(None);
        for (name, value) in passed {
            url.query_pairs_mut().append_pair(&name, &value);
        }
        own
    }
}

impl Address {
    /// Reads `postgres://…`; `schema=` in it names the schema, `sslmode=` and
    /// `sslrootcert=` mean what they mean to PostgreSQL's own programs, but a certificate
    /// is always checked. Across a network nothing is plain unless that is written.
    pub(crate) fn parse(address: &Secret) -> Result<Self> {
        let mut url: Url = address.expose().parse().map_err(|_| Error::Address)?;
        let own = Own::taken_from(&mut url);
        let schema = own.schema.unwrap_or_else(|| SCHEMA.to_owned());
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if schema.is_empty() || !schema.chars().all(plain) {
            return Err(Error::Address);
        }
        let mut config: Config = url.as_str().parse().map_err(|_| Error::Address)?;
        let away = config.get_hosts().iter().find(|host| !is_here(host));
        let mode = match (own.sslmode.as_deref(), away) {
            (Some("require" | "verify-full"), _) => SslMode::Require,
            (Some("disable"), _) | (None, None) => SslMode::Disable,
            (None, Some(away)) => return Err(Error::Plain(named(away))),
            (Some(other), _) => return Err(Error::SslMode(other.to_owned())),
        };
        let trusted = match mode {
            SslMode::Require => butler_tls::config(own.sslrootcert.as_deref())?,
            _ => butler_tls::plain(),
        };
        config.ssl_mode(mode);
        config.connect_timeout(CONNECT).tcp_user_timeout(SILENCE);
        config.keepalives_idle(Duration::from_secs(5));
        config.keepalives_interval(Duration::from_secs(3));
        config.keepalives_retries(3).application_name("codebutler");
        Ok(Self {
            config,
            schema,
            tls: Tls(Arc::new(trusted)),
            is_held: Arc::default(),
        })
    }

    /// Server, database and schema, without the password.
    pub(crate) fn shown(&self) -> String {
        let hosts = self
            .config
            .get_hosts()
            .iter()
            .enumerate()
            .map(|(at, host)| {
                // One port may be meant for all of them.
                let ports = self.config.get_ports();
                let port = ports.get(at).or(ports.first());
                let port = port.map_or(String::new(), |port| format!(":{port}"));
                format!("{}{port}", named(host))
            });
        let hosts: Vec<String> = hosts.collect();
        let database = self.config.get_dbname().unwrap_or_default();
        format!("{}/{database} ({})", hosts.join(","), self.schema)
    }
}

fn named(host: &Host) -> String {
    match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string(),
    }
}

/// Whether the way there does not leave the machine.
fn is_here(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            let address = name.trim_matches(['[', ']']).parse::<IpAddr>();
            name == "localhost" || address.is_ok_and(|address| address.is_loopback())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(address: &str) -> Result<Address> {
        Address::parse(&Secret::new(address))
    }

    #[test]
    fn an_address_says_where_without_the_password() {
        let written = [
            "postgres://butler:",
            "hunter",
            "@db.example/team?schema=app&sslmode=verify-full",
        ]
        .concat();
        let address = parsed(&written).unwrap();
        assert_eq!(format!("{address:?}"), "db.example:5432/team (app)");
        for odd in [
            "",
            "team",
            "postgres://localhost/d?schema=a-b",
            "postgres://localhost/d?no=1",
        ] {
            parsed(odd).unwrap_err();
        }
    }

    #[test]
    fn across_a_network_nothing_is_plain_unless_that_is_written() {
        let mode = |address: &str| parsed(address).unwrap().config.get_ssl_mode();
        for here in ["localhost", "127.0.0.1", "[::1]", "%2Frun%2Fpostgresql"] {
            assert_eq!(mode(&format!("postgres://{here}/d")), SslMode::Disable);
        }
        for (written, meant) in [
            ("disable", SslMode::Disable),
            ("require", SslMode::Require),
            ("verify-full", SslMode::Require),
        ] {
            let address = format!("postgres://db.example/d?sslmode={written}");
            assert_eq!(mode(&address), meant);
        }
        for away in ["db.example", "10.0.0.7", "127.0.0.1,db.example"] {
            let told = parsed(&format!("postgres://{away}/d")).unwrap_err();
            assert!(told.to_string().contains("sslmode=verify-full"), "{told}");
        }
        let told = parsed("postgres://db.example/d?sslmode=prefer").unwrap_err();
        assert!(told.to_string().contains("prefer"), "{told}");
        let told = parsed("postgres://db.example/d?sslmode=require&sslrootcert=/none.pem");
        assert!(told.unwrap_err().to_string().contains("/none.pem"));
    }
}
