//! Two hubs on one PostgreSQL while hubs, subscribers and the database are killed, hubs
//! are stopped past their lease or cut off from the database, answers are lost, and clocks
//! are wrong. What clients did and saw is written down and judged afterwards (`history.rs`).
//!
//! The faults follow from a seed, which is printed; `CODEBUTLER_SEED` gives it again.

mod clients;
mod hearer;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use butler_protocol::{Role, StampKind, ThreadId};
use butler_testkit::SlackStandIn;
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::sleep};
use tokio_util::sync::CancellationToken;

use self::{
    clients::{Clients, Notes},
    hearer::{Hearer, lines, subscriber, until_quiet},
};
use crate::{
    history::{Deed, History, Operation, Outcome, judge},
    kill_storm::Chance,
    pair::{Pair, now},
    slack_world::{CHANNEL, REPO},
    world::client,
};

const THREADS: usize = 3;
/// Of the thread in which money is set aside.
const CAP_CENTS: i64 = 100;
const HEARERS: [Role; 3] = [Role::Pm, Role::Coder, Role::Lead];

/// How many faults: few in the gate, many at night.
fn faults(in_gate: usize) -> usize {
    match std::env::var_os("CODEBUTLER_NIGHTLY") {
        Some(_) => 120,
        None => in_gate,
    }
}

/// One fault after the other.
#[expect(clippy::print_stdout, reason = "a failure is played again by its seed")]
async fn rage(pair: &mut Pair, hearers: &mut [Hearer], chance: &mut Chance, faults: usize) {
    for number in 0..faults {
        sleep(Duration::from_millis(300 + chance.below(1_200) as u64)).await;
        let (kind, at) = (chance.below(8), chance.below(2));
        let long = Duration::from_millis(500 + chance.below(8_500) as u64);
        let wrong_s = i64::try_from(chance.below(600)).unwrap() - 300;
        println!("fault {number}: kind {kind}, hub {at}, {long:?}");
        match kind {
            0 | 1 => {
                pair.hubs[at].kill();
                pair.hubs[at].wrong_s = wrong_s;
                pair.up(at).await;
            }
            2 => hearers[chance.below(hearers.len())].kill_and_restart(),
            3 => {
                pair.server.kill();
                sleep(long / 6).await;
                tokio::task::block_in_place(|| pair.server.up());
            }
            4 => {
                pair.hubs[at].database.cut();
                sleep(long).await;
                pair.hubs[at].database.heal();
            }
            5 => {
                pair.hubs[at].database.hold();
                sleep(long).await;
                pair.hubs[at].database.heal();
            }
            6 => {
                pair.hubs[at].signal("-STOP");
                sleep(long).await;
                pair.hubs[at].signal("-CONT");
            }
            _ => {
                // What was asked is done, and nobody hears so.
                pair.balancer.hold();
                sleep(Duration::from_millis(400)).await;
                pair.balancer.cut();
                sleep(Duration::from_millis(100)).await;
                pair.balancer.heal();
            }
        }
    }
}

/// Tells what is wrong, and what hubs said about it.
#[expect(clippy::print_stdout, reason = "a failure is played again by its seed")]
fn verdict(pair: &Pair, wrong: &[String], history: &History) {
    let count = |outcome| {
        let all = history.operations.iter();
        all.filter(|one| one.outcome == outcome).count()
    };
    println!(
        "{} operations: {} done, {} refused, {} unknown; {} owners, {} acts",
        history.operations.len(),
        count(Outcome::Done),
        count(Outcome::Refused),
        count(Outcome::Unknown),
        history.leases.len(),
        history.acts.len()
    );
    if !wrong.is_empty() {
        for hub in &pair.hubs {
            println!("--- {}\n{}", hub.address, hub.log());
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count(Outcome::Done) > history.operations.len() / 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hubs_under_faults_lose_double_and_reorder_nothing() {
    let mut chance = Chance::from_environment();
    println!("CODEBUTLER_SEED={}", chance.0);
    let Some(mut pair) = Pair::prepare(None, [120, -45]).await else {
        return;
    };
    for at in 0..2 {
        pair.up(at).await;
    }
    let repo = pair.tokens().ensure_repo("/home/ana/app", "app").unwrap();
    let people = ["ana", "ben"].map(|name| pair.tokens().ensure_person(name).unwrap().token);
    let clients = Clients {
        base: pair.base(),
        repo: Arc::new(repo),
        people: people.to_vec(),
        http: client(),
        notes: Notes::default(),
        over: CancellationToken::new(),
    };
    let mut roots = Vec::new();
    for number in 0..THREADS + 2 {
        let body = json!({"channel": clients.repo.channel, "text": format!("root {number}")});
        let (outcome, answer) = clients.person(0, "v1/messages", &body).await;
        assert_eq!(outcome, Outcome::Done);
        let root = answer["ts"].as_str().unwrap().parse().unwrap();
        roots.push(ThreadId::new(clients.repo.channel.clone(), root));
    }
    let (cards, money) = (roots.pop().unwrap(), roots.pop().unwrap());
    let disks = tempfile::tempdir().unwrap();
    let mut hearers: Vec<Hearer> = HEARERS
        .into_iter()
        .map(|role| {
            let token = &clients.repo.agents[&role].app;
            Hearer::start(role, &pair.base(), token, disks.path())
        })
        .collect();
    let mut work = JoinSet::new();
    for (number, thread) in roots.iter().enumerate() {
        work.spawn(
            clients
                .clone()
                .talk(HEARERS[number], thread.clone(), number),
        );
        let next = HEARERS[(number + 1) % HEARERS.len()];
        work.spawn(clients.clone().talk(next, thread.clone(), number + THREADS));
        work.spawn(clients.clone().chat(number % 2, thread.clone()));
    }
    work.spawn(clients.clone().decide(cards.clone()));
    for role in [Role::Pm, Role::Coder] {
        work.spawn(clients.clone().spend(role, money.clone()));
    }
    rage(&mut pair, &mut hearers, &mut chance, faults(10)).await;
    clients.over.cancel();
    while let Some(done) = work.join_next().await {
        done.unwrap();
    }

    let mut history = History {
        operations: clients.notes.all(),
        leases: pair.leases().await,
        ..History::default()
    };
    let web = clients.web(Role::Researcher);
    for thread in &roots {
        let messages = web.replies(thread).await.unwrap().into_iter().skip(1);
        let texts = messages.map(|message| message.text).collect();
        history.threads.insert(thread.to_string(), texts);
    }
    let decided = history
        .operations
        .iter()
        .filter(|one| matches!(one.deed, Deed::Decided { .. }) && one.outcome == Outcome::Done);
    let decided = decided.count();
    let threads = history.threads.clone();
    until_quiet(&hearers, |role, lines| {
        let of_role = format!("{role} ");
        let wanted = threads.values().flatten();
        let wanted = wanted.filter(|text| !text.starts_with(&of_role)).count();
        let count = |kind: StampKind| {
            let of_kind = lines.iter().filter(|line| line["kind"] == json!(kind));
            let here = of_kind.filter(|line| {
                kind == StampKind::Decision
                    || line["text"]
                        .as_str()
                        .is_some_and(|text| !text.starts_with("root "))
                        && threads.contains_key(line["thread"].as_str().unwrap_or_default())
            });
            here.count()
        };
        count(StampKind::Message) >= wanted && count(StampKind::Decision) >= decided
    })
    .await;
    for hearer in &hearers {
        let mut one = subscriber(hearer, &threads);
        one.heard.retain(|event| !event.text.starts_with("root "));
        history.subscribers.push(one);
    }
    for line in lines(&hearers[0].file) {
        if let (Some(request), Some(choice)) = (line["request"].as_str(), line["choice"].as_str()) {
            let all = history.decisions.entry(request.to_owned()).or_default();
            all.push(choice.to_owned());
        }
    }
    let seen = clients
        .http
        .get(clients.base.join(&format!("v1/threads/{money}")).unwrap())
        .bearer_auth(clients.people[0].expose());
    let seen: Value = seen.send().await.unwrap().json().await.unwrap();
    let kept = seen["cost"]["used"].as_i64().unwrap() / 10_000_000;
    history.caps = [("thread".to_owned(), CAP_CENTS)].into();
    history.set_aside = [("thread".to_owned(), kept)].into();
    let wrong = judge(&history);
    assert!(decided > 0 && kept > 0, "{decided} decided, {kept} kept");
    verdict(&pair, &wrong, &history);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hubs_before_slack_post_once_hear_everything_and_have_one_owner() {
    let mut chance = Chance::from_environment();
    println!("CODEBUTLER_SEED={}", chance.0);
    client();
    let slack = SlackStandIn::start().await;
    let ana = slack.person("ana");
    let Some(mut pair) = Pair::prepare(Some(slack), [-200, 90]).await else {
        return;
    };
    for at in 0..2 {
        pair.up(at).await;
    }
    let repo = pair.tokens().ensure_repo(REPO, CHANNEL).unwrap();
    let channel = repo.channel.clone();
    let clients = Clients {
        base: pair.base(),
        repo: Arc::new(repo),
        people: Vec::new(),
        http: client(),
        notes: Notes::default(),
        over: CancellationToken::new(),
    };
    let slack = pair.slack.as_ref().unwrap();
    let root = slack.say(&ana, channel.as_str(), "the thread", None);
    let thread = ThreadId::new(channel.clone(), root.parse().unwrap());
    let disks = tempfile::tempdir().unwrap();
    let mut hearers: Vec<Hearer> = HEARERS
        .into_iter()
        .map(|role| {
            let token = &clients.repo.agents[&role].app;
            Hearer::start(role, &pair.base(), token, disks.path())
        })
        .collect();
    let mut work = JoinSet::new();
    for (number, role) in [Role::Pm, Role::Coder].into_iter().enumerate() {
        work.spawn(clients.clone().talk(role, thread.clone(), number));
    }
    // People talk in Slack while the rest goes on.
    let speaking = {
        let (notes, over) = (clients.notes.clone(), clients.over.clone());
        let (slack, ana, root) = (pair.slack.as_ref().unwrap(), ana.clone(), root.clone());
        let (channel, thread) = (channel.clone(), thread.clone());
        let says = slack.speaker(&ana, channel.as_str());
        async move {
            for number in 0.. {
                if over.is_cancelled() {
                    return;
                }
                let text = format!("person {number}");
                let begun = now();
                says(&text, Some(&root));
                let operation = Operation {
                    begun,
                    // When it is heard is Slack's affair, and so is its order.
                    ended: u64::MAX,
                    deed: Clients::said(&thread, &text),
                    outcome: Outcome::Done,
                };
                notes.0.lock().unwrap().push(operation);
                sleep(Duration::from_millis(200)).await;
            }
        }
    };
    work.spawn(speaking);
    rage(&mut pair, &mut hearers, &mut chance, faults(8)).await;
    clients.over.cancel();
    while let Some(done) = work.join_next().await {
        done.unwrap();
    }
    // A last word, which comes behind everything that is still to be fetched.
    let said: Vec<String> = {
        let notes = clients.notes.0.lock().unwrap();
        let texts = notes.iter().filter(|one| one.outcome == Outcome::Done);
        texts
            .filter_map(|one| match &one.deed {
                Deed::Said { text, .. } => Some(text.clone()),
                _ => None,
            })
            .collect()
    };
    until_quiet(&hearers, |role, lines| {
        let of_role = format!("{role} ");
        let heard: BTreeSet<&str> = lines
            .iter()
            .filter_map(|line| line["text"].as_str())
            .collect();
        let mut wanted = said.iter().filter(|text| !text.starts_with(&of_role));
        wanted.all(|text| heard.contains(text.as_str()))
    })
    .await;

    let mut history = History {
        operations: clients.notes.all(),
        leases: pair.leases().await,
        acts: pair.acts(),
        strays: pair.strays().await,
        ..History::default()
    };
    // In the order of the hub's log, which is not always Slack's.
    let sql = "SELECT frame FROM codebutler.events WHERE kind = 'message' ORDER BY seq";
    let rows = pair.client().await.query(sql, &[]).await.unwrap();
    let texts = rows.iter().filter_map(|row| {
        let frame: Value = serde_json::from_str(row.get(0)).unwrap();
        let event = &frame["payload"]["event"];
        let text = event["text"].as_str().unwrap_or_default().to_owned();
        (text != "the thread" && !text.is_empty()).then_some(text)
    });
    history.threads = [(thread.to_string(), texts.collect())].into();
    for hearer in &hearers {
        let mut one = subscriber(hearer, &history.threads);
        one.heard
            .retain(|event| event.text != "the thread" && !event.text.is_empty());
        history.subscribers.push(one);
    }
    let mut wrong = judge(&history);
    // What stands in Slack itself.
    let messages = pair.slack.as_ref().unwrap().messages(channel.as_str());
    let texts = messages
        .iter()
        .filter_map(|message| message["text"].as_str());
    let texts = texts
        .filter(|text| *text != "the thread")
        .map(str::to_owned);
    let in_slack = History {
        operations: history.operations.clone(),
        threads: [(thread.to_string(), texts.collect())].into(),
        ..History::default()
    };
    let there = judge(&in_slack).into_iter();
    wrong.extend(there.map(|what| format!("in Slack: {what}")));
    verdict(&pair, &wrong, &history);
    assert!(history.acts.len() > 20, "{:?}", history.acts.len());
}
