//! TLS to a real PostgreSQL, with certificates that are made here.

use butler_hub::{Hub, StorePlace, Tokens};
use butler_protocol::Secret;
use butler_testkit::Postgres;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use tempfile::TempDir;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::world::{PATIENCE, client, config};

struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

fn authority(name: &str) -> Authority {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    Authority {
        pem: params.self_signed(&key).unwrap().pem(),
        issuer: Issuer::new(params, key),
    }
}

/// A server for the name `localhost`, and the files of its authority and of another.
fn server() -> Option<(Postgres, TempDir)> {
    let mut server = Postgres::start()?;
    let folder = tempfile::tempdir().unwrap();
    let (ours, another) = (authority("ours"), authority("another"));
    std::fs::write(folder.path().join("ours.pem"), &ours.pem).unwrap();
    std::fs::write(folder.path().join("another.pem"), &another.pem).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &ours.issuer).unwrap();
    server.secure(&certificate.pem(), &key.serialize_pem());
    Some((server, folder))
}

fn address(server: &Postgres, host: &str, more: &str) -> Secret {
    let port = server.listens().port();
    Secret::new(format!("postgres://butler@{host}:{port}/postgres?{more}"))
}

/// Why a store cannot be opened, with its causes; nothing when it can.
fn told(address: Secret) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let place = StorePlace::new(folder.path().to_owned(), Some(address));
    let error = Tokens::open(place).err()?;
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        words = format!("{words}: {inner}");
        cause = inner.source();
    }
    Some(words)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_works_over_tls_and_trusts_only_whom_it_is_told_to() {
    let Some((server, folder)) = server() else {
        return;
    };
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (ours, another) = (file("ours.pem"), file("another.pem"));
    for mode in ["require", "verify-full"] {
        let open = |host: &str, more: &str| {
            told(address(&server, host, &format!("sslmode={mode}&{more}")))
        };
        let trusting = format!("sslrootcert={ours}");
        assert_eq!(open("localhost", &trusting), None);
        // Another authority, the usual ones, and a certificate of another name.
        let refused = open("localhost", &format!("sslrootcert={another}")).unwrap();
        assert!(refused.contains("UnknownIssuer"), "{refused}");
        let refused = open("localhost", "").unwrap();
        assert!(refused.contains("UnknownIssuer"), "{refused}");
        let refused = open("127.0.0.1", &trusting).unwrap();
        assert!(refused.contains("not valid for name"), "{refused}");
    }
    // The server wants TLS, and plain is not TLS.
    let refused = told(address(&server, "localhost", "sslmode=disable")).unwrap();
    assert!(refused.contains("no encryption"), "{refused}");
    let silent = told(address(&server, "db.example", "")).unwrap();
    assert!(silent.contains("sslmode=verify-full"), "{silent}");

    // A whole hub, with all of its connections.
    let home = tempfile::tempdir().unwrap();
    let mut config = config(home.path(), ([127, 0, 0, 1], 0).into());
    let more = format!("sslmode=verify-full&sslrootcert={ours}");
    config.database = Some(address(&server, "localhost", &more));
    let cancel = CancellationToken::new();
    let hub = Hub::start(config, cancel.clone()).await.unwrap();
    let url = format!("http://{}/healthz", hub.address());
    assert_eq!(client().get(url).send().await.unwrap().status(), 200);
    cancel.cancel();
    timeout(PATIENCE, hub.wait()).await.unwrap();
}
