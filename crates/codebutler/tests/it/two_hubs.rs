//! A whole story through two hubs on one PostgreSQL: agents and the person come to either
//! of them through a balancer, and two Coders share the threads, while hubs, agents and the
//! database are killed, a hub is cut off from the database, and a Coder stands still for so
//! long that the other one goes on. It ends merged, with nothing lost and nothing twice.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use butler_protocol::Role;
use butler_rehearsal::{Rehearsal, Scenario};
use butler_testkit::{Postgres, Proxy, ScratchRepo};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    activation_world::free_port,
    chaos::{Dice, nightly},
    groups::{knows_clone, settled},
    keeper::Keeper,
    person::Person,
    story::{REQUEST, SCENARIO, merged},
    team::{agree, command, home, set_up, tokens},
};

/// A home of its own for a process, as on another machine: the same configuration.
fn another_home(scratch: &ScratchRepo, name: &str) -> PathBuf {
    let place = scratch.folder().join(name);
    copy(&home(scratch), &place);
    place
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (path, there) = (entry.path(), to.join(entry.file_name()));
        match path.is_dir() {
            true => copy(&path, &there),
            false => drop(fs::copy(path, there).unwrap()),
        }
    }
}

/// A process of ours in a clone, on a machine.
fn keep(root: &Path, home: &Path, name: &str, args: &[&str]) -> Keeper {
    let (root, at) = (root.to_owned(), home.to_owned());
    let args: Vec<String> = args.iter().map(|word| (*word).to_owned()).collect();
    Keeper::start(name, home, move || {
        let mut command = command(&root, &at);
        command.args(&args);
        command
    })
}

/// Who can be struck, each started again when it ends.
struct Victims {
    hubs: [Keeper; 2],
    /// Between each hub and the database.
    ways: [Proxy; 2],
    server: Postgres,
    agents: Vec<Keeper>,
    /// Of one role, each with a clone of its own.
    coders: [Keeper; 2],
}

/// Of strikes.
const KINDS: usize = 6;
/// So long a Coder stands still: others have its threads by then.
const STILL: Duration = Duration::from_secs(10);

impl Victims {
    /// Strikes somebody; tells whom.
    fn strike(&mut self, number: usize, dice: &mut Dice) -> &'static str {
        let at = dice.below(2);
        match number % KINDS {
            0 | 5 => {
                signal(&self.hubs[at], "-9");
                "hub"
            }
            1 => {
                self.server.kill();
                self.server.up();
                "database"
            }
            2 => {
                signal(&self.coders[at], "-STOP");
                thread::sleep(STILL);
                signal(&self.coders[at], "-CONT");
                "coder that stands still"
            }
            3 => {
                match dice.below(2) {
                    0 => self.ways[at].cut(),
                    _ => self.ways[at].hold(),
                }
                thread::sleep(Duration::from_millis(500 + dice.below(3_500) as u64));
                self.ways[at].heal();
                "way to the database"
            }
            _ => {
                let agents = self.agents.iter().chain(&self.coders);
                let agents: Vec<&Keeper> = agents.collect();
                signal(agents[dice.below(agents.len())], "-9");
                "agent"
            }
        }
    }
}

fn signal(whom: &Keeper, signal: &str) {
    if let Some(pid) = whom.pid() {
        let pid = pid.to_string();
        Command::new("kill").args([signal, &pid]).status().unwrap();
    }
}

/// Strikes somebody every moment, until it is over; tells how often whom.
fn rage(
    mut victims: Victims,
    mut dice: Dice,
    strikes: usize,
    over: Arc<AtomicBool>,
) -> thread::JoinHandle<(Victims, BTreeMap<&'static str, u32>)> {
    thread::spawn(move || {
        let mut struck = BTreeMap::new();
        for number in 0..strikes {
            thread::sleep(Duration::from_millis(500 + dice.below(1_500) as u64));
            // Everybody was struck by then.
            if over.load(Ordering::SeqCst) && number >= KINDS {
                break;
            }
            *struck.entry(victims.strike(number, &mut dice)).or_default() += 1;
        }
        (victims, struck)
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_story_through_two_hubs_survives_kills_of_hubs_agents_and_database() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let Some(server) = Postgres::start() else {
        return;
    };
    let dice = Dice::throw();
    let scenarios = vec![Scenario::parse(SCENARIO).unwrap().paced()];
    let any = ([127, 0, 0, 1], 0).into();
    let model = Rehearsal::start_all(any, scenarios, false, CancellationToken::new())
        .await
        .unwrap();
    let scratch = ScratchRepo::new();
    set_up(&scratch, &model.base_url(), None);
    let named = |home: &Path, database: &str| {
        let file = home.join("config.json");
        let text = fs::read_to_string(&file).unwrap();
        let mut machine: Value = serde_json::from_str(&text).unwrap();
        machine["hub"]["database"] = json!(database);
        butler_config::write_private(&file, &machine.to_string()).unwrap();
    };
    named(&home(&scratch), &server.address());
    agree(&scratch);
    let known = tokens(&scratch);

    // Two hubs, each as on a machine of its own, and the team on two more.
    let addresses = [(); 2].map(|()| format!("127.0.0.1:{}", free_port()));
    let targets = addresses.iter().map(|one| one.parse().unwrap()).collect();
    let balancer = Proxy::before(targets).await;
    let url = format!("http://{}/", balancer.address());
    let ways = [server.listens(); 2].map(|server| Proxy::before(vec![server]));
    let [one, other] = ways;
    let ways = [one.await, other.await];
    let hubs = [0, 1].map(|at| {
        let home = another_home(&scratch, &format!("hub-{at}"));
        let way = ways[at].address().to_string();
        let through = server
            .address()
            .replace(&server.listens().to_string(), &way);
        named(&home, &through);
        let args = ["hub", "--listen", &addresses[at]];
        keep(scratch.root(), &home, &format!("hub-{at}"), &args)
    });
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let token = text(&known["people"]["you"]["token"]);
    let person = Person::new(&url, &text(&known["channel"]), &token);
    while person.get("v1/me").await.is_none() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let second = scratch.clone_as("second");
    let homes = ["team", "second-team"].map(|name| another_home(&scratch, name));
    knows_clone(&homes[1], second.root());
    for home in &homes {
        fs::create_dir_all(home.join("hub")).unwrap();
        fs::write(home.join("hub/address"), &url).unwrap();
    }
    let agent = |root: &Path, home: &Path, role: Role| {
        let name = format!("{role}-{}", root.file_name().unwrap().display());
        keep(root, home, &name, &["--role", role.as_str()])
    };
    let coders = [(scratch.root(), &homes[0]), (second.root(), &homes[1])];
    let coders = coders.map(|(root, home)| agent(root, home, Role::Coder));
    let others = Role::ALL.into_iter().filter(|role| *role != Role::Coder);
    let agents = others.map(|role| agent(scratch.root(), &homes[0], role));
    let victims = Victims {
        hubs,
        ways,
        server,
        agents: agents.collect(),
        coders,
    };

    let over = Arc::new(AtomicBool::new(false));
    let strikes = if nightly() { 60 } else { 2 * KINDS };
    let raging = rage(victims, dice, strikes, Arc::clone(&over));
    let root = person.open(REQUEST).await;
    person.press(&root, "Plan", "approve").await.unwrap();
    person
        .press(&root, "Ready to merge", "merge")
        .await
        .unwrap();
    person.until(&root, "the merge", merged).await.unwrap();
    over.store(true, Ordering::SeqCst);
    let raged = tokio::task::spawn_blocking(|| raging.join().unwrap());
    let (_victims, struck) = raged.await.unwrap();
    println!("struck: {struck:?}");
    assert_eq!(struck.len(), KINDS - 1, "everybody: {struck:?}");
    settled(&person, &scratch, &root).await;
}
