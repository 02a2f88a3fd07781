//! Package registries of our own on 127.0.0.1, for every ecosystem that the
//! preparation knows. They count what they are asked, so that a test sees who
//! needed the network.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

pub(crate) struct Registries {
    folder: tempfile::TempDir,
    pub address: String,
    asked: Arc<AtomicUsize>,
}

impl Registries {
    /// Fills them and hands them out, until the process ends.
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/registries/build.py");
        let made = Command::new("python3")
            .arg(script)
            .arg(folder.path())
            .arg(&address)
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let asked = Arc::new(AtomicUsize::new(0));
        let (root, count) = (folder.path().to_owned(), Arc::clone(&asked));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (root, count) = (root.clone(), Arc::clone(&count));
                std::thread::spawn(move || serve(stream, &root, &count));
            }
        });
        Self {
            folder,
            address,
            asked,
        }
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
        vec![
            ("GOPROXY", format!("{}/go", self.address)),
            ("GOSUMDB", "off".to_owned()),
            ("PIP_INDEX_URL", simple.clone()),
            ("UV_DEFAULT_INDEX", simple),
            ("npm_config_registry", format!("{}/npm/", self.address)),
            ("PNPM_CONFIG_REGISTRY", format!("{}/npm/", self.address)),
        ]
    }
}

fn serve(stream: TcpStream, root: &Path, asked: &AtomicUsize) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let mut words = line.split(' ');
        let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or("/"));
        let (head_only, path) = (method == "HEAD", path.to_owned());
        let mut length = 0;
        loop {
            let mut header = String::new();
            if reader.read_line(&mut header).unwrap_or(0) == 0 {
                return;
            }
            if let Some(bytes) = header.to_ascii_lowercase().strip_prefix("content-length:") {
                length = bytes.trim().parse().unwrap_or(0);
            }
            if header.trim().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        asked.fetch_add(1, Ordering::SeqCst);
        let (status, kind, body) = found(root, &path);
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let body = if head_only { Vec::new() } else { body };
        if stream.write_all(head.as_bytes()).is_err() || stream.write_all(&body).is_err() {
            return;
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
