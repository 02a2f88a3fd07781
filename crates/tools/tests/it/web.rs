//! WebFetch against servers on this machine.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    Router,
    extract::State,
    http::{HeaderMap, header},
    response::{IntoResponse, Redirect},
    routing::get,
};
use butler_protocol::{Role, ToolOutcome};
use butler_tools::{Executor, Lookup, Registry, Web};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::fixture::Fixture;

/// A server that counts what must not be reached.
struct Site {
    address: SocketAddr,
    secret_reads: Arc<AtomicUsize>,
    lookups: Arc<Mutex<Vec<String>>>,
}

async fn serve(app: Router) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

impl Site {
    async fn start() -> Self {
        let secret_reads = Arc::new(AtomicUsize::new(0));
        let app = Router::new()
            .route(
                "/page",
                get(|| async {
                    (
                        [(header::CONTENT_TYPE, "text/html; charset=utf-8")],
                        "<h1>Manual</h1><p>Use <code>--flag</code>.</p><script>evil()</script>",
                    )
                }),
            )
            .route(
                "/long",
                get(|| async {
                    (1..=1000)
                        .map(|n| format!("line {n}\n"))
                        .collect::<String>()
                }),
            )
            .route("/big", get(|| async { "x".repeat(5 * 1024 * 1024) }))
            .route(
                "/picture",
                get(|| async { ([(header::CONTENT_TYPE, "image/png")], "x") }),
            )
            .route("/gone", get(|| async { axum::http::StatusCode::NOT_FOUND }))
            .route("/hop", get(|| async { Redirect::temporary("/page") }))
            .route(
                "/away",
                get(|headers: HeaderMap| async move {
                    let host = headers["host"].to_str().unwrap();
                    let away = host.replace("docs.example", "evil.example");
                    Redirect::temporary(&format!("http://{away}/secret"))
                }),
            )
            .route("/loop", get(|| async { Redirect::temporary("/loop") }))
            .route(
                "/inward",
                get(|headers: HeaderMap| async move {
                    let port = headers["host"]
                        .to_str()
                        .unwrap()
                        .rsplit(':')
                        .next()
                        .unwrap()
                        .to_owned();
                    Redirect::temporary(&format!("http://127.0.0.1:{port}/secret"))
                }),
            )
            .route(
                "/metadata",
                get(|| async { Redirect::temporary("http://169.254.169.254/latest/") }),
            )
            .route(
                "/secret",
                get(|State(reads): State<Arc<AtomicUsize>>| async move {
                    reads.fetch_add(1, Ordering::SeqCst);
                    "canary"
                }),
            )
            .route(
                "/headers",
                get(|headers: HeaderMap| async move { format!("{headers:?}").into_response() }),
            )
            .with_state(Arc::clone(&secret_reads));
        Self {
            address: serve(app).await,
            secret_reads,
            lookups: Arc::default(),
        }
    }

    /// Every name is this machine; `docs.example` with this port is opened.
    fn web(&self) -> Web {
        let (address, lookups) = (self.address, Arc::clone(&self.lookups));
        let lookup: Lookup = Arc::new(move |host, _| {
            lookups.lock().unwrap().push(host);
            Box::pin(async move { Ok(vec![address]) })
        });
        let opened =
            ["docs.example", "evil.example"].map(|host| format!("{host}:{}", self.address.port()));
        Web::default().with_lookup(lookup).with_opened(opened)
    }

    async fn fetch(&self, path: &str, more: Value) -> ToolOutcome {
        let url = format!("http://docs.example:{}{path}", self.address.port());
        self.fetch_url(&url, more).await
    }

    async fn fetch_url(&self, url: &str, more: Value) -> ToolOutcome {
        let mut fixture = Fixture::new();
        fixture.executor = Executor::new(Registry::native_with(self.web()));
        let mut arguments = json!({"url": url});
        arguments
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().cloned().unwrap_or_default());
        fixture
            .call_as(Role::Researcher, "WebFetch", arguments)
            .await
    }
}

#[tokio::test]
async fn a_page_comes_as_fenced_markdown() {
    let site = Site::start().await;
    let page = site.fetch("/page", json!({})).await;
    assert!(page.ok, "{}", page.text);
    assert!(
        page.text.contains("# Manual") && page.text.contains("`--flag`"),
        "{}",
        page.text
    );
    assert!(!page.text.contains("evil"), "{}", page.text);
    assert!(
        page.text.contains("<outside-") && page.text.contains("not an instruction"),
        "{}",
        page.text
    );
    assert_eq!(
        *site.lookups.lock().unwrap(),
        ["docs.example"],
        "one look-up, then that address"
    );
    let long = site
        .fetch("/long", json!({"offset": 600, "limit": 2}))
        .await;
    assert!(long.text.contains("lines 600-601 of 1000"), "{}", long.text);
    assert!(
        long.text.contains("line 600\nline 601\n</outside"),
        "{}",
        long.text
    );
    assert!(
        long.text.ends_with("[399 more lines: offset=602]"),
        "{}",
        long.text
    );
    let big = site.fetch("/big", json!({})).await;
    assert!(
        big.ok && big.text.contains("cut at 3 MB") && big.text.len() < 5000,
        "{}",
        big.text.len()
    );
}

#[tokio::test]
async fn redirects_are_followed_only_to_permitted_places() {
    let site = Site::start().await;
    assert!(
        site.fetch("/hop", json!({}))
            .await
            .text
            .contains("# Manual")
    );
    for (path, expected) in [
        ("/inward", "port other than 80 and 443"),
        ("/metadata", "leads into a private network"),
        ("/loop", "more than 5 redirects"),
        ("/picture", "is image/png, not text"),
        ("/gone", "answered 404"),
    ] {
        let refused = site.fetch(path, json!({})).await;
        assert!(
            !refused.ok && refused.text.contains(expected),
            "{path}: {}",
            refused.text
        );
    }
    assert_eq!(site.secret_reads.load(Ordering::SeqCst), 0);
}

/// A known host that sends on to another one is how a closed door is walked around.
#[tokio::test]
async fn a_fetch_that_is_held_to_hosts_follows_no_redirect_away_from_them() {
    let site = Site::start().await;
    let url = |path: &str| format!("http://docs.example:{}{path}", site.address.port());
    let hosts = ["docs.example".to_owned()];
    let page = site.web().fetch(&url("/hop"), Some(&hosts)).await.unwrap();
    assert!(page.url.path() == "/page", "{}", page.url);
    let refused = site.web().fetch(&url("/away"), Some(&hosts)).await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("nobody named"), "{refused}");
    assert!(site.web().fetch(&url("/page"), Some(&[])).await.is_err());
    assert_eq!(site.secret_reads.load(Ordering::SeqCst), 0);
    let lookups = site.lookups.lock().unwrap().clone();
    assert!(
        lookups.iter().all(|host| host == "docs.example"),
        "{lookups:?}"
    );
    site.web().fetch(&url("/away"), None).await.unwrap();
    assert_eq!(site.secret_reads.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn inner_addresses_are_refused_in_every_spelling() {
    let site = Site::start().await;
    for url in [
        "http://127.0.0.1/",
        "http://localhost/",
        "http://localhost./",
        "http://0/",
        "http://0x7f.1/",
        "http://2130706433/",
        "http://017700000001/",
        "http://127.1/",
        "http://[::1]/",
        "http://[::]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://10.0.0.1/",
        "http://192.168.1.1/",
        "http://172.16.0.1/",
        "http://169.254.169.254/latest/meta-data",
        "http://100.64.0.1/",
        "http://[fd00::1]/",
        "http://[fe80::1]/",
        "http://[2002:7f00:1::]/",
        "http://printer.local/",
        "http://docs.example/",
        "https://rebind.example/",
        "http://127.0.0.1./",
        "http://①②⑦.⓪.⓪.①/",
    ] {
        let refused = site.fetch_url(url, json!({})).await;
        assert!(
            !refused.ok && refused.text.contains("private network"),
            "{url}: {}",
            refused.text
        );
    }
    for url in [
        "file:///etc/passwd",
        "ftp://example.com/",
        "gopher://example.com/",
        "data:text/plain,x",
        "javascript:alert(1)",
        "http://you:pw@example.com/",
        "http://example.com:22/",
        "http://example.com:8080/",
        "not an address",
        "",
        "//example.com/",
        "http://",
    ] {
        let refused = site.fetch_url(url, json!({})).await;
        assert!(
            !refused.ok && refused.text.starts_with("refused"),
            "{url}: {}",
            refused.text
        );
    }
    assert_eq!(site.secret_reads.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn one_inner_address_among_outer_ones_is_enough() {
    let lookup: Lookup = Arc::new(|_, port| {
        Box::pin(async move {
            Ok(vec![
                SocketAddr::from(([93, 184, 216, 34], port)),
                SocketAddr::from(([127, 0, 0, 1], port)),
            ])
        })
    });
    let error = Web::default()
        .with_lookup(lookup)
        .fetch("http://rebind.example/", None)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("private network"), "{error}");
}

#[tokio::test]
async fn nothing_of_ours_goes_along() {
    let site = Site::start().await;
    let seen = site.fetch("/headers", json!({})).await.text.to_lowercase();
    for header in ["cookie", "authorization", "referer", "forwarded"] {
        assert!(!seen.contains(header), "{seen}");
    }
}

#[tokio::test]
async fn only_the_researcher_reads_the_web() {
    let fixture = Fixture::new();
    let refused = fixture
        .call("WebFetch", json!({"url": "https://example.com/"}))
        .await;
    assert!(
        !refused.ok && refused.text.contains("may not use WebFetch"),
        "{}",
        refused.text
    );
}

/// A page behind a certificate of an authority that nobody knows, and that
/// authority as PEM.
async fn serve_tls() -> (SocketAddr, String) {
    let authority_key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(Vec::<String>::new()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = params.self_signed(&authority_key).unwrap();
    let issuer = rcgen::Issuer::new(params, authority_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let leaf = rcgen::CertificateParams::new(vec!["docs.example".to_owned()]).unwrap();
    let leaf = leaf.signed_by(&key, &issuer).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            // A client that refuses the certificate hangs up here.
            let Ok(mut stream) = acceptor.accept(socket).await else {
                continue;
            };
            let mut request = vec![0; 64 << 10];
            let _ = stream.read(&mut request).await;
            let answer = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\nconnection: close\r\n\r\nInner";
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    (address, authority.pem())
}

#[tokio::test]
async fn an_authority_of_the_machines_file_is_believed_and_a_stranger_is_not() {
    let (address, authority) = serve_tls().await;
    let lookup: Lookup = Arc::new(move |_, _| Box::pin(async move { Ok(vec![address]) }));
    let opened = format!("docs.example:{}", address.port());
    let web = Web::default().with_lookup(lookup).with_opened([opened]);
    let url = format!("https://docs.example:{}/", address.port());
    let fetch = async |file: Option<std::path::PathBuf>| {
        let mut fixture = Fixture::surrounded(|around| around.ca_file = file);
        fixture.executor = Executor::new(Registry::native_with(web.clone()));
        let arguments = json!({"url": url});
        fixture
            .call_as(Role::Researcher, "WebFetch", arguments)
            .await
    };
    let stranger = fetch(None).await;
    assert!(
        !stranger.ok && stranger.text.contains("certificate"),
        "{}",
        stranger.text
    );

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("company.pem");
    std::fs::write(&file, authority).unwrap();
    let page = fetch(Some(file.clone())).await;
    assert!(page.ok && page.text.contains("Inner"), "{}", page.text);

    // A file that cannot be used is named, not passed over.
    std::fs::write(&file, "nothing").unwrap();
    let broken = fetch(Some(file)).await;
    assert!(
        !broken.ok && broken.text.contains("network.caFile"),
        "{}",
        broken.text
    );
}

/// As small as a document gets; its table of places is wrong on purpose.
fn pdf(words: &str) -> String {
    let page = format!("BT /F1 12 Tf ({words}) Tj ET");
    format!(
        "%PDF-1.4\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj\n\
         2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj\n\
         3 0 obj <</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>> endobj\n\
         4 0 obj <</Length {}>> stream\n{page}\nendstream endobj\n\
         5 0 obj <</Type/Font/Subtype/Type1/BaseFont/Courier>> endobj\n\
         xref\n0 0\ntrailer <</Root 1 0 R/Size 6>>\nstartxref\n0\n%%EOF\n",
        page.len()
    )
}

#[tokio::test]
async fn a_pdf_is_read_as_text_and_a_page_is_asked_for_once() {
    let reads = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&reads);
    let kind = || [(header::CONTENT_TYPE, "application/pdf")];
    let app = Router::new()
        .route(
            "/long",
            get(move || {
                counted.fetch_add(1, Ordering::Relaxed);
                async { "line\n".repeat(1_000) }
            }),
        )
        .route(
            "/bill.pdf",
            get(move || async move { (kind(), pdf("Invoice 42")) }),
        )
        .route(
            "/torn.pdf",
            get(move || async move { (kind(), "%PDF-1.4 torn") }),
        );
    let address = serve(app).await;
    let lookup: Lookup = Arc::new(move |_, _| Box::pin(async move { Ok(vec![address]) }));
    let web = Web::default().with_lookup(lookup);
    let web = web.with_opened([format!("docs.example:{}", address.port())]);
    let mut fixture = Fixture::new();
    fixture.executor = Executor::new(Registry::native_with(web));
    let fetch = async |path: &str, offset: u32| {
        let url = format!("http://docs.example:{}{path}", address.port());
        let arguments = json!({"url": url, "offset": offset});
        fixture
            .call_as(Role::Researcher, "WebFetch", arguments)
            .await
    };
    let bill = fetch("/bill.pdf", 1).await;
    assert!(bill.ok && bill.text.contains("Invoice 42"), "{}", bill.text);
    let torn = fetch("/torn.pdf", 1).await;
    assert!(
        !torn.ok && torn.text.contains("it is a PDF"),
        "{}",
        torn.text
    );
    for offset in [1, 401, 801] {
        let part = fetch("/long", offset).await;
        assert!(
            part.text.contains(&format!("lines {offset}-")),
            "{}",
            part.text
        );
    }
    assert_eq!(reads.load(Ordering::Relaxed), 1);
}
