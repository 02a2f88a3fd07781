//! Package registries of our own on 127.0.0.1, for every ecosystem that the
//! preparation knows. They count what they are asked, so that a test sees who
//! needed the network. They can be slow, and they can be reached through a company's
//! proxy only.

mod proxy;

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

pub(crate) use proxy::Proxy;

pub(crate) struct Registries {
    folder: tempfile::TempDir,
    pub address: String,
    asked: Arc<AtomicUsize>,
    /// The only way to them, if it is.
    pub proxy: Option<Proxy>,
}

/// What the registries hand out, and how.
#[derive(Clone)]
struct Shelves {
    root: PathBuf,
    asked: Arc<AtomicUsize>,
    /// How long each answer takes.
    pause: Duration,
}

impl Registries {
    /// Fills them and hands them out, until the process ends.
    pub(crate) fn start() -> Self {
        Self::start_slow(Duration::ZERO)
    }

    /// The same, at the far end of a slow line: every answer takes this long.
    pub(crate) fn start_slow(pause: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (registries, shelves) = Self::fill(address, pause);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shelves = shelves.clone();
                std::thread::spawn(move || shelves.serve(stream));
            }
        });
        registries
    }

    /// The same inside a company's network: under a name that only its proxy knows,
    /// with a certificate of its own authority.
    pub(crate) fn start_in_a_company() -> Self {
        let address = format!("https://{}", proxy::NAME);
        let (mut registries, shelves) = Self::fill(address, Duration::ZERO);
        registries.proxy = Some(Proxy::start(shelves));
        registries
    }

    fn fill(address: String, pause: Duration) -> (Self, Shelves) {
        let folder = tempfile::tempdir().unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/registries/build.py");
        let made = Command::new("python3")
            .arg(script)
            .arg(folder.path())
            .arg(&address)
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let asked = Arc::new(AtomicUsize::new(0));
        let shelves = Shelves {
            root: folder.path().to_owned(),
            asked: Arc::clone(&asked),
            pause,
        };
        let registries = Self {
            folder,
            address,
            asked,
            proxy: None,
        };
        (registries, shelves)
    }

    /// A file that a project commits, as its lock file.
    pub(crate) fn file(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    /// How often anything was asked for since the last time.
    pub(crate) fn asked(&self) -> usize {
        self.asked.swap(0, Ordering::SeqCst)
    }

    /// What a machine with these mirrors says in its environment.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        let simple = format!("{}/simple/", self.address);
        let mut all = vec![
            ("GOPROXY", format!("{}/go", self.address)),
            ("GOSUMDB", "off".to_owned()),
            ("PIP_INDEX_URL", simple.clone()),
            ("UV_DEFAULT_INDEX", simple),
            ("npm_config_registry", format!("{}/npm/", self.address)),
            ("PNPM_CONFIG_REGISTRY", format!("{}/npm/", self.address)),
            ("YARN_NPM_REGISTRY_SERVER", format!("{}/npm", self.address)),
        ];
        all.extend(self.proxy.iter().flat_map(Proxy::variables));
        all
    }
}

/// What was asked for: the method and the path.
fn request(reader: &mut impl BufRead) -> Option<(String, String)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader
            .read_line(&mut header)
            .ok()
            .filter(|read| *read > 0)?;
        if let Some(bytes) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            length = bytes.trim().parse().unwrap_or(0);
        }
        if header.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let mut words = line.split(' ').map(str::to_owned);
    Some((words.next()?, words.next()?))
}

impl Shelves {
    fn serve(&self, stream: impl Read + Write) {
        let mut stream = BufReader::new(stream);
        while let Some((method, path)) = request(&mut stream) {
            self.asked.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(self.pause);
            let (status, kind, body) = found(&self.root, &path);
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            let body = if method == "HEAD" { Vec::new() } else { body };
            let out = stream.get_mut();
            if out.write_all(head.as_bytes()).is_err() || out.write_all(&body).is_err() {
                return;
            }
            let _ = out.flush();
        }
    }
}

fn found(root: &Path, path: &str) -> (&'static str, &'static str, Vec<u8>) {
    let path = path.split('?').next().unwrap_or("").trim_matches('/');
    let file = root.join(path);
    let file: PathBuf = if file.is_dir() {
        file.join("index")
    } else {
        file
    };
    let inside = !path.split('/').any(|part| part == "..");
    match fs::read(&file) {
        Ok(body) if inside => {
            let html = body.starts_with(b"<!DOCTYPE");
            let json = body.starts_with(b"{");
            let kind = match (html, json) {
                (true, _) => "text/html",
                (_, true) => "application/json",
                _ => "application/octet-stream",
            };
            ("200 OK", kind, body)
        }
        _ => ("404 Not Found", "text/plain", Vec::new()),
    }
}
