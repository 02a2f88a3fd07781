//! Agents on another machine: it joins by a link, gets its own tokens for its roles and
//! nothing else, works over TLS with whom the link names and nobody else, and is cut off
//! when it is sent away. The other machine is a home and a clone of its own.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader, Read},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::Arc,
    time::Duration,
};

use butler_protocol::Role;
use butler_rehearsal::{Rehearsal, Scenario};
use butler_testkit::{Checkout, ScratchRepo};
use butler_tls::{Fingerprint, Trust};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    activation_world::{free_port, kept},
    keeper::Keeper,
    person::Person,
    story::{REQUEST, SCENARIO, assert_story, merged},
    team::{agree, agree_in, command, home, set_up, tokens},
};

/// The first machine: its clone, its home, and a hub that encrypts.
struct Office {
    scratch: ScratchRepo,
    address: String,
    model: Option<Rehearsal>,
    _hub: Keeper,
}

impl Office {
    async fn open(scenario: Option<&str>) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let scratch = ScratchRepo::new();
        let model = match scenario {
            Some(text) => {
                let scenarios = vec![Scenario::parse(text).unwrap()];
                let any = ([127, 0, 0, 1], 0).into();
                let never = CancellationToken::new();
                Some(
                    Rehearsal::start_all(any, scenarios, true, never)
                        .await
                        .unwrap(),
                )
            }
            None => None,
        };
        let url = model.as_ref().map(Rehearsal::base_url);
        set_up(
            &scratch,
            url.as_deref().unwrap_or("http://127.0.0.1:9/v1"),
            None,
        );
        let file = home(&scratch).join("config.json");
        let mut machine: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        machine["hub"] = json!({"tls": "self"});
        butler_config::write_private(&file, &machine.to_string()).unwrap();
        agree(&scratch);
        let address = format!("127.0.0.1:{}", free_port());
        let _hub = kept(
            &scratch,
            "hub",
            None,
            &["hub", "--listen", &address],
            vec![],
        );
        let office = Self {
            scratch,
            address,
            model,
            _hub,
        };
        // It says where it is once it listens, and has made its certificate by then.
        while !home(&office.scratch).join("hub/address").exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        office
    }

    fn run(&self, args: &[&str]) -> Output {
        command(self.scratch.root(), &home(&self.scratch))
            .args(args)
            .output()
            .unwrap()
    }

    fn invite(&self, roles: &str) -> String {
        let invited = self.run(&["hub", "invite", "--roles", roles]);
        assert!(invited.status.success(), "{invited:?}");
        let link = String::from_utf8(invited.stdout).unwrap().trim().to_owned();
        assert!(
            link.starts_with(&format!("https://{}/join#code=", self.address)),
            "{link}"
        );
        link
    }

    fn fingerprint(&self) -> Fingerprint {
        let printed = self.run(&["hub", "certificate"]);
        Fingerprint::of_pem(&String::from_utf8(printed.stdout).unwrap()).unwrap()
    }

    fn laptop(&self, name: &str) -> Laptop {
        let checkout = self.scratch.clone_as(name);
        let home = self.scratch.folder().join(format!("machine-{name}"));
        if let Some(model) = &self.model {
            fs::create_dir_all(&home).unwrap();
            let endpoint = json!({"kind": "generic", "baseUrl": model.base_url()});
            let machine = json!({"models": {"endpoints": {"rehearsal": endpoint}}});
            butler_config::write_private(&home.join("config.json"), &machine.to_string()).unwrap();
        }
        Laptop { checkout, home }
    }
}

/// Another machine.
struct Laptop {
    checkout: Checkout,
    home: PathBuf,
}

impl Laptop {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = command(self.checkout.root(), &self.home);
        command.args(args);
        command
    }

    fn join(&self, link: &str) -> Output {
        self.command(&["init", "--yes", "--untried", "--join", link])
            .output()
            .unwrap()
    }

    /// What it said when it could not do what was asked, which it never stores anything for.
    fn refused(&self, link: &str) -> String {
        let before = self.config();
        let output = self.join(link);
        assert_eq!(output.status.code(), Some(4), "{output:?}");
        assert_eq!(self.config(), before, "nothing is stored");
        String::from_utf8(output.stderr).unwrap()
    }

    fn config(&self) -> Option<String> {
        fs::read_to_string(self.home.join("config.json")).ok()
    }

    fn joined(&self) -> Value {
        let config: Value =
            serde_json::from_str(&without_comments(&self.config().unwrap())).unwrap();
        let root = self.checkout.root().display().to_string();
        config["joined"][root].clone()
    }
}

fn without_comments(text: &str) -> String {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// `codebutler worker`, ended with the test.
struct Worker(Child);

impl Worker {
    fn start(laptop: &Laptop, log: &Path) -> Self {
        let log = fs::File::create(log).unwrap();
        let mut child = laptop
            .command(&["worker"])
            .env("CODEBUTLER_SUPERVISED", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.next().unwrap().unwrap();
        assert!(ready.starts_with("ready coder, reviewer of "), "{ready}");
        Self(child)
    }

    async fn ended(&mut self) -> Option<i32> {
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_becomes_a_merge_with_two_roles_on_a_machine_that_joined() {
    let office = Office::open(Some(SCENARIO)).await;
    let laptop = office.laptop("laptop");
    let link = office.invite("reviewer,coder");
    let joined = laptop.join(&link);
    assert!(joined.status.success(), "{joined:?}");
    agree_in(laptop.checkout.root(), &laptop.home);
    let known = tokens(&office.scratch);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let trust = Trust::Exactly(office.fingerprint());
    let hub = format!("https://{}/", office.address);
    let person = Person::trusting(
        &hub,
        &text(&known["channel"]),
        &text(&known["people"]["you"]["token"]),
        &trust,
    );
    let _here = [Role::Pm, Role::Lead, Role::Researcher, Role::Artist].map(|role| {
        let args = ["--role", role.as_str()];
        kept(&office.scratch, role.as_str(), None, &args, vec![])
    });
    let log = office.scratch.folder().join("worker.log");
    let mut worker = Worker::start(&laptop, &log);

    let root = person.open(REQUEST).await;
    person.press(&root, "Plan", "approve").await.unwrap();
    person
        .press(&root, "Ready to merge", "merge")
        .await
        .unwrap();
    let thread = person.until(&root, "the merge", merged).await.unwrap();
    assert_story(&thread);
    let program = office.scratch.remote_file("main", "notes.sh").unwrap();
    assert!(program.contains("list_json()"));

    // Each machine has the logs of its own roles.
    let logs = |root: &Path| {
        let mut found = BTreeSet::new();
        names(&root.join(".codebutler/threads"), &mut found);
        found.retain(|name| name.ends_with(".jsonl"));
        found
    };
    let here = logs(office.scratch.root());
    let there = logs(laptop.checkout.root());
    for role in ["coder.jsonl", "reviewer.jsonl"] {
        assert!(
            there.contains(role) && !here.contains(role),
            "{here:?} {there:?}"
        );
    }
    assert!(
        here.contains("pm.jsonl") && !there.contains("pm.jsonl"),
        "{here:?} {there:?}"
    );

    // The other machine has what opens its two roles, and nothing else.
    let own: BTreeSet<String> = laptop.joined()["tokens"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|one| [text(&one["bot"]), text(&one["app"])])
        .collect();
    assert_eq!(own.len(), 4);
    let mut found = BTreeSet::new();
    secrets(&laptop.home, &mut found);
    secrets(&laptop.checkout.root().join(".codebutler"), &mut found);
    assert_eq!(found, own);
    assert!(
        !known.to_string().contains(own.first().unwrap()),
        "they are its own"
    );
    // And the hub itself keeps only their hashes.
    let mut kept_there = BTreeSet::new();
    secrets(&home(&office.scratch), &mut kept_there);
    assert!(kept_there.is_disjoint(&own), "{kept_there:?}");
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(laptop.home.join("config.json"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);

    // What it can say of itself, and what is done at the hub.
    let status = laptop.command(&["status", "--json"]).output().unwrap();
    let mut status: Value = serde_json::from_slice(&status.stdout).unwrap();
    let status = status["repos"][0].take();
    let process = |name: &str| {
        let all = status["processes"].as_array().unwrap();
        all.iter().find(|one| one["name"] == name).unwrap().clone()
    };
    assert_eq!(status["hub"], hub.as_str());
    assert_eq!(process("coder")["connected"], true, "{status}");
    assert_eq!(process("pm")["state"], "absent", "{status}");
    let listed = laptop.command(&["threads"]).output().unwrap();
    assert!(
        String::from_utf8_lossy(&listed.stdout).contains("--json"),
        "{listed:?}"
    );
    for args in [
        &["up", "--no-open"][..],
        &["hub", "tokens"],
        &["chat", "--list"],
        &["link"],
        &["people"],
        &["backup", "all.backup"],
        &["restore", "all.backup"],
        &["start"],
    ] {
        let said = laptop.command(args).output().unwrap();
        let told = String::from_utf8_lossy(&said.stderr).into_owned();
        assert_eq!(said.status.code(), Some(4), "{args:?}: {told}");
        assert!(
            told.contains(&hub) && told.contains("worker"),
            "{args:?}: {told}"
        );
    }

    // The link has done its work.
    let third = office.laptop("third");
    let told = third.refused(&link);
    assert!(
        told.contains("used already") && told.contains("hub invite"),
        "{told}"
    );

    // Sent away, it is cut off, and says so.
    let machines = office.run(&["hub", "machines", "--json"]);
    let machines: Value = serde_json::from_slice(&machines.stdout).unwrap();
    let id = text(&machines["machines"][0]["id"]);
    assert_eq!(id, text(&laptop.joined()["machine"]));
    assert!(office.run(&["hub", "revoke", &id]).status.success());
    assert_eq!(worker.ended().await, Some(4));
    let told = fs::read_to_string(&log).unwrap();
    assert!(
        told.contains("sent this machine away") && told.contains("hub invite"),
        "{told}"
    );
    let agents = person.get("v1/agents").await.unwrap();
    let online = |role: &str| {
        let all = agents["agents"].as_array().unwrap();
        all.iter()
            .any(|one| one["role"] == role && one["online"] == true)
    };
    assert!(
        !online("coder") && !online("reviewer") && online("pm"),
        "{agents}"
    );
    let doctor = laptop.command(&["doctor", "--quick"]).output().unwrap();
    let told = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(told.contains("sent this machine away"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_shows_another_certificate_gets_neither_code_nor_token() {
    let office = Office::open(None).await;
    let laptop = office.laptop("laptop");
    let link = office.invite("coder");
    let middle = Middle::before(&office.address).await;
    let through = link.replace(&office.address, &middle.address);
    let told = laptop.refused(&through);
    assert!(told.contains("does not show the certificate"), "{told}");
    // The code was never sent: it is good at the hub itself.
    let joined = laptop.join(&link);
    assert!(joined.status.success(), "{joined:?}");

    // Somebody who comes in between later is not spoken to either.
    let config = laptop
        .config()
        .unwrap()
        .replace(&office.address, &middle.address);
    butler_config::write_private(&laptop.home.join("config.json"), &config).unwrap();
    let doctor = laptop.command(&["doctor", "--quick"]).output().unwrap();
    let told = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(told.contains("does not show the certificate"), "{told}");
    let status = laptop.command(&["status", "--json"]).output().unwrap();
    let mut status: Value = serde_json::from_slice(&status.stdout).unwrap();
    let status = status["repos"][0].take();
    assert_eq!(status["hubAnswers"], false, "{status}");
    assert_eq!(middle.heard(), 0, "not a byte of what is said inside");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_way_not_to_join_is_told_with_its_remedy_and_stores_nothing() {
    let office = Office::open(None).await;
    let laptop = office.laptop("laptop");
    let good = office.invite("coder");
    let code = good
        .split_once("#code=")
        .unwrap()
        .1
        .split('&')
        .next()
        .unwrap()
        .to_owned();
    let elsewhere = format!("127.0.0.1:{}", free_port());
    let wrong_pin = format!("{}{}", good.split_once("sha256=").unwrap().0, "sha256=");
    for (link, what, remedy) in [
        ("no link", "no link to join by", "hub invite"),
        (
            &good.replace(&code, "AAAA"),
            "taken back, or never given",
            "hub invite",
        ),
        (
            &good.replace(&office.address, &elsewhere),
            "cannot be reached",
            "does it run",
        ),
        (
            &format!("http://198.51.100.7/join#code={code}"),
            "for everybody to read",
            "hub.tls",
        ),
        (
            &format!("{wrong_pin}{}", "ab".repeat(32)),
            "does not show the certificate",
            "in between",
        ),
        (&format!("{wrong_pin}12"), "64 hex digits", "whole line"),
        (
            good.split_once("&sha256").unwrap().0,
            "not trusted here",
            "network.caFile",
        ),
    ] {
        let told = laptop.refused(link);
        assert!(
            told.contains(what) && told.contains(remedy),
            "{link}: {told}"
        );
    }
    let store = rusqlite::Connection::open(home(&office.scratch).join("hub/hub.sqlite3")).unwrap();
    store.busy_timeout(Duration::from_secs(10)).unwrap();
    store
        .execute("UPDATE machine_codes SET expires_ms = 1", [])
        .unwrap();
    let told = laptop.refused(&good);
    assert!(
        told.contains("has expired") && told.contains("hub invite"),
        "{told}"
    );
    let kept_codes: String = store
        .query_row(
            "SELECT group_concat(sha256) FROM machine_codes",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert!(!kept_codes.contains(&code), "only its hash is kept");
    let usage = office.run(&["hub", "invite", "--roles", "plumber"]);
    assert_eq!(usage.status.code(), Some(2), "{usage:?}");
    // A machine that has joined nothing is told how to.
    let worker = laptop.command(&["worker"]).output().unwrap();
    assert_eq!(worker.status.code(), Some(4));
    let told = String::from_utf8_lossy(&worker.stderr).into_owned();
    assert!(told.contains("init --join"), "{told}");

    // A container's first start joins, the second finds that it has.
    let link = office.invite("coder,reviewer");
    for _ in 0..2 {
        let file = laptop.home.with_extension("link");
        fs::write(&file, &link).unwrap();
        let mut child = laptop
            .command(&["worker"])
            .env("CODEBUTLER_JOIN_FILE", &file)
            .env("CODEBUTLER_SUPERVISED", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let mut said = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        while !said.contains("ready coder, reviewer of ") {
            let read = output.read_line(&mut said).unwrap();
            assert!(read > 0, "{said}");
        }
        // Its life line cut, it ends by itself and well.
        drop(input);
        output.read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{said}");
    }
}

/// Somebody between a machine and the hub, with a certificate of their own, who passes
/// everything on and counts what they could read.
struct Middle {
    address: String,
    heard: Arc<std::sync::atomic::AtomicUsize>,
}

impl Middle {
    async fn before(hub: &str) -> Self {
        let key = rcgen::KeyPair::generate().unwrap();
        let names = vec!["127.0.0.1".to_owned()];
        let own = rcgen::CertificateParams::new(names)
            .unwrap()
            .self_signed(&key)
            .unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![own.der().clone()], key)
            .unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let heard = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let (count, _behind) = (Arc::clone(&heard), hub.to_owned());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut tls = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
                let mut inside = rustls::Stream::new(&mut tls, &mut stream);
                let mut bytes = [0; 1024];
                // Whoever trusts us says at least one byte.
                if let Ok(read) = inside.read(&mut bytes) {
                    count.fetch_add(read, std::sync::atomic::Ordering::SeqCst);
                }
            }
        });
        Self { address, heard }
    }

    fn heard(&self) -> usize {
        self.heard.load(std::sync::atomic::Ordering::SeqCst)
    }
}

fn names(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            names(&entry.path(), found);
        } else {
            found.insert(entry.file_name().to_string_lossy().into_owned());
        }
    }
}

/// Everything below a folder that looks like a token.
fn secrets(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            secrets(&entry.path(), found);
            continue;
        }
        let bytes = fs::read(entry.path()).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        for prefix in ["xoxb-", "xapp-", "xoxp-"] {
            for (at, _) in text.match_indices(prefix) {
                let fits = |c: char| c.is_ascii_alphanumeric() || c == '-';
                let token: String = text[at..].chars().take_while(|c| fits(*c)).collect();
                if token.len() > 20 {
                    found.insert(token);
                }
            }
        }
    }
}
