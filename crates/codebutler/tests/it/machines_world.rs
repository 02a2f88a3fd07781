//! A company on a network of its own: a pair of hubs behind one address, their database on
//! a network that only they are on, a model and a git server elsewhere, two machines for
//! the team's work, and a laptop. Each is a network namespace with a home of its own.

use std::{
    fs,
    net::{SocketAddr, TcpStream},
    process::Stdio,
    time::Duration,
};

use butler_rehearsal::{Rehearsal, Scenario};
use butler_testkit::{Cable, Host, Network, Postgres, Proxy, ScratchRepo};
use butler_tls::{Fingerprint, Trust};
use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use crate::{
    keeper::Keeper,
    machine::{Machine, Running},
    person::Person,
    story::SCENARIO,
    team::set_up,
};

/// Where hubs and models listen; on these machines every port is free.
pub(crate) const PORT: u16 = 7878;
/// What a worker runs; the Reviewer is on the laptop.
const ROLES: &str = "pm,coder,researcher,artist,lead";

/// Everything, with the person at the laptop.
pub(crate) struct Company {
    _workers: Vec<Running>,
    pub person: Person,
    /// The two that do the work.
    pub machines: [Machine; 2],
    pub laptop: Machine,
    _keepers: Vec<Keeper>,
    pub hubs: [Machine; 2],
    /// Of the hubs, to the network of the database.
    pub to_database: Vec<Cable>,
    _balancer: Proxy,
    pub model: Rehearsal,
    _git: Running,
    _server: Postgres,
    pub database: SocketAddr,
    pub scratch: ScratchRepo,
    _runtimes: Vec<Runtime>,
    _places: Vec<Machine>,
    _database: Host,
    _networks: [Network; 2],
}

/// You, who trust the certificate that the hub prints and no other.
fn person(hub: &Machine, url: &str) -> Person {
    let certificate = loop {
        let printed = hub.output(&["hub", "certificate"]);
        if printed.status.success() {
            break String::from_utf8(printed.stdout).unwrap();
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    let trust = Trust::Exactly(Fingerprint::of_pem(&certificate).unwrap());
    let known: Value = serde_json::from_str(&hub.run(&["hub", "tokens", "--json"])).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let token = text(&known["people"]["you"]["token"]);
    Person::trusting(url, &text(&known["channel"]), &token, &trust)
}

/// Threads on a machine, for what the test itself does there.
fn threads_on(host: &Host) -> Runtime {
    let make = || {
        Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
    };
    host.inside(make).unwrap()
}

/// The model, at a pace at which somebody can be struck in the middle of the work.
fn play(there: &Runtime, at: SocketAddr) -> Rehearsal {
    let scenarios = vec![Scenario::parse(SCENARIO).unwrap().paced()];
    let model = Rehearsal::start_all(at, scenarios, false, CancellationToken::new());
    there.block_on(there.spawn(model)).unwrap().unwrap()
}

/// The database on its machine, and what a hub has to say to reach it.
fn database(host: &Host, cable: &Cable, scratch: &ScratchRepo) -> Option<(Postgres, String)> {
    let mut server = Postgres::start_on(host, cable.address)?;
    let key = KeyPair::generate().unwrap();
    let names = vec![cable.address.to_string()];
    let own = CertificateParams::new(names).unwrap().self_signed(&key);
    let pem = own.unwrap().pem();
    server.secure(&pem, &key.serialize_pem());
    let file = scratch.folder().join("database.pem");
    fs::write(&file, pem).unwrap();
    let trusting = format!("sslmode=verify-full&sslrootcert={}", file.display());
    let address = format!("{}?{trusting}", server.address());
    Some((server, address))
}

/// A git server that serves the remote of the sample project.
fn git_server(on: &Machine, scratch: &ScratchRepo) -> (Running, String) {
    let address = on.cable.address;
    let mut daemon = on.command("git");
    daemon
        .args(["daemon", "--export-all", "--enable=receive-pack"])
        .arg(format!("--listen={address}"))
        .arg(format!("--base-path={}", scratch.folder().display()))
        .stderr(Stdio::null());
    let daemon = Running(daemon.spawn().unwrap());
    let place = SocketAddr::from((address, 9418));
    while on.host.inside(|| TcpStream::connect(place)).is_err() {
        std::thread::sleep(Duration::from_millis(20));
    }
    (daemon, format!("git://{address}/remote.git"))
}

impl Company {
    /// Builds and starts all of it; nothing where it cannot be built, which is said.
    pub(crate) fn start() -> Option<Self> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut office = Network::start([10, 77, 0])?;
        let mut store = Network::start([10, 77, 1])?;
        let scratch = ScratchRepo::new();
        let mut machine = |name: &str| Machine::start(&mut office, &scratch, name);
        let hubs = [machine("hub-one")?, machine("hub-other")?];
        let (balancing, elsewhere) = (machine("balancer")?, machine("elsewhere")?);
        let machines = [machine("machine-one")?, machine("machine-other")?];
        let laptop = machine("laptop")?;
        let on_store = Host::start()?;
        let to_database: Vec<Cable> = hubs.iter().map(|hub| store.cable(&hub.host)).collect();
        let (server, database) = database(&on_store, &store.cable(&on_store), &scratch)?;

        // What a company has already: a model, and a git server with the repository.
        let runtimes = vec![threads_on(&elsewhere.host), threads_on(&balancing.host)];
        let model = play(&runtimes[0], elsewhere.at(PORT));
        set_up(&scratch, &model.base_url(), None);
        let (git, remote) = git_server(&elsewhere, &scratch);

        // The hubs: one of them has a clone, from which machines are invited.
        let targets = hubs.iter().map(|hub| hub.at(PORT)).collect();
        let balancer = runtimes[1].spawn(Proxy::at(balancing.at(PORT), targets));
        let balancer = runtimes[1].block_on(balancer).unwrap();
        let url = format!("https://{}/", balancer.address());
        let endpoint = json!({"kind": "generic", "baseUrl": model.base_url()});
        let host = elsewhere.cable.address.to_string();
        let mut config = json!({"models": {"endpoints": {"rehearsal": endpoint}},
            "forges": {host: {"kind": "plain"}}});
        for machine in [&machines[0], &machines[1], &laptop, &hubs[0]] {
            machine.configure(&config);
            machine.clone_from(&remote);
        }
        config["hub"] = json!({"tls": "self", "listen": format!("0.0.0.0:{PORT}"),
            "publicUrl": url, "database": database});
        let keepers = hubs.iter().map(|hub| hub.keep_hub(&config)).collect();
        hubs[0].agree();
        let person = person(&hubs[0], &url);

        let invite = |roles: &str| hubs[0].run(&["hub", "invite", "--roles", roles]);
        let mut workers = vec![laptop.join(invite("reviewer").trim())];
        workers.extend(machines.iter().map(|one| one.join(invite(ROLES).trim())));
        machines.iter().for_each(|machine| machine.listens(ROLES));
        laptop.listens("reviewer");
        Some(Self {
            _workers: workers,
            person,
            machines,
            laptop,
            _keepers: keepers,
            hubs,
            to_database,
            _balancer: balancer,
            model,
            _git: git,
            database: server.listens(),
            _server: server,
            scratch,
            _runtimes: runtimes,
            _places: vec![balancing, elsewhere],
            _database: on_store,
            _networks: [office, store],
        })
    }

    /// Does something at the laptop, as its person.
    pub(crate) fn at_laptop<T: Send>(&self, work: impl AsyncFnOnce(&Person) -> T + Send) -> T {
        self.laptop.host.inside(|| {
            let here = Builder::new_current_thread().enable_all().build().unwrap();
            here.block_on(work(&self.person))
        })
    }
}
