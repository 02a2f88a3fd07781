//! A whole story through two hubs on one PostgreSQL: agents and the person come to either
//! of them through a balancer, while hubs, agents and the database are killed. It ends
//! merged, with nothing lost and nothing twice.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc, Mutex,
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
    activation_world::{free_port, kept},
    chaos::{Dice, nightly},
    keeper::Keeper,
    person::Person,
    story::{REQUEST, SCENARIO, assert_story, merged},
    team::{agree, home, keys, set_up, tokens},
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

/// Kills somebody every moment, until it is over; gives whom it killed how often.
fn kill_at_random(
    mut dice: Dice,
    kills: usize,
    victims: Vec<(&'static str, Arc<Keeper>)>,
    server: Arc<Mutex<Postgres>>,
    over: Arc<AtomicBool>,
) -> thread::JoinHandle<BTreeMap<&'static str, u32>> {
    thread::spawn(move || {
        let mut killed = BTreeMap::new();
        for number in 0..kills {
            thread::sleep(Duration::from_millis(700 + dice.below(1_500) as u64));
            if over.load(Ordering::SeqCst) {
                break;
            }
            // Hubs and the database most of the time, in turn with an agent.
            let name = match number % 4 {
                0 | 2 => victims[dice.below(2)].0,
                1 => "database",
                _ => victims[2 + dice.below(victims.len() - 2)].0,
            };
            match victims.iter().find(|(one, _)| *one == name) {
                None => {
                    let mut server = server.lock().unwrap();
                    server.kill();
                    server.up();
                }
                Some((_, keeper)) => {
                    if let Some(pid) = keeper.pid() {
                        let pid = pid.to_string();
                        Command::new("kill").args(["-9", &pid]).status().unwrap();
                    }
                }
            }
            *killed.entry(name).or_default() += 1;
        }
        killed
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_story_through_two_hubs_survives_kills_of_hubs_agents_and_database() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let Some(server) = Postgres::start() else {
        return;
    };
    let dice = Dice::throw();
    let scenarios = vec![Scenario::parse(SCENARIO).unwrap()];
    let any = ([127, 0, 0, 1], 0).into();
    let model = Rehearsal::start_all(any, scenarios, true, CancellationToken::new())
        .await
        .unwrap();
    let scratch = ScratchRepo::new();
    set_up(&scratch, &model.base_url(), None);
    let file = home(&scratch).join("config.json");
    let mut machine: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    machine["hub"]["database"] = json!(server.address());
    butler_config::write_private(&file, &machine.to_string()).unwrap();
    agree(&scratch);
    let known = tokens(&scratch);

    // Two hubs, each as on a machine of its own, and the team on a third.
    let addresses = [(); 2].map(|()| format!("127.0.0.1:{}", free_port()));
    let targets = addresses.iter().map(|one| one.parse().unwrap()).collect();
    let balancer = Proxy::before(targets).await;
    let url = format!("http://{}/", balancer.address());
    let homes = ["hub-one", "hub-other", "team"].map(|name| another_home(&scratch, name));
    let keep = |name: &str, home: &Path, args: &[&str]| {
        let variables = vec![("CODEBUTLER_HOME", home.display().to_string())];
        Arc::new(kept(&scratch, name, None, args, variables))
    };
    let hub = |at: usize, name: &'static str| {
        let args = ["hub", "--listen", &addresses[at]];
        (name, keep(name, &homes[at], &args))
    };
    let mut victims = vec![hub(0, "hub one"), hub(1, "hub other")];
    fs::create_dir_all(homes[2].join("hub")).unwrap();
    fs::write(homes[2].join("hub/address"), &url).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let token = text(&known["people"]["you"]["token"]);
    let person = Person::new(&url, &text(&known["channel"]), &token);
    while person.get("v1/me").await.is_none() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    victims.extend(Role::ALL.map(|role| {
        let args = ["--role", role.as_str()];
        (role.as_str(), keep(role.as_str(), &homes[2], &args))
    }));

    let (server, over) = (
        Arc::new(Mutex::new(server)),
        Arc::new(AtomicBool::new(false)),
    );
    let kills = if nightly() { 60 } else { 10 };
    let killing = kill_at_random(dice, kills, victims, Arc::clone(&server), Arc::clone(&over));
    let root = person.open(REQUEST).await;
    person.press(&root, "Plan", "approve").await.unwrap();
    person
        .press(&root, "Ready to merge", "merge")
        .await
        .unwrap();
    let thread = person.until(&root, "the merge", merged).await.unwrap();
    over.store(true, Ordering::SeqCst);
    let killed = killing.join().unwrap();
    println!("killed: {killed:?}");
    assert!(killed.len() > 1, "{killed:?}");
    assert_story(&thread);
    let mut posted = BTreeMap::<String, u32>::new();
    for key in keys(&thread) {
        *posted.entry(key).or_default() += 1;
    }
    posted.retain(|_, count| *count > 1);
    assert!(posted.is_empty(), "posted twice: {posted:?}");
}
