//! Two hubs on one PostgreSQL while hubs, subscribers and the database are killed, hubs
//! are stopped past their lease or cut off from the database, and clocks are wrong. What
//! clients did and saw is written down and judged afterwards (`history.rs`).
//!
//! The faults follow from a seed, which is printed; `CODEBUTLER_SEED` gives it again.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use butler_hub::RepoTokens;
use butler_protocol::{
    DecisionKind, Reservation, ReserveAnswer, ReserveId, Role, Secret, StampKind, ThreadId, Usd,
};
use butler_slack::{Control, SharedEpoch, Socket, Web};
use butler_testkit::SlackStandIn;
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::sleep};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{
    history::{Deed, Heard, History, Operation, Outcome, Subscriber, judge},
    kill_storm::Chance,
    kills::post,
    pair::{Pair, now},
    slack_world::{CHANNEL, REPO},
    world::{PATIENCE, client, subject, text_of, try_card},
};

const CHILD: &str = "CODEBUTLER_TEST_HEARER";
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

/// Not a test by itself: the main function of a subscriber, which has each event in a
/// file before it acknowledges it.
#[tokio::test]
async fn hear_as_child() {
    let Ok(place) = std::env::var(CHILD) else {
        return;
    };
    let [base, token, file]: [&str; 3] =
        place.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let mut disk = OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .unwrap();
    // A torn last line was never acknowledged.
    disk.set_len(whole as u64).unwrap();
    let known = lines(Path::new(file)).into_iter();
    let mut known: BTreeSet<String> = known.map(|line| line["event"].to_string()).collect();
    let base: Url = base.parse().unwrap();
    let opening = Socket::open(&base, Secret::new(token), CancellationToken::new());
    let mut socket = opening.await.unwrap();
    while let Some(envelope) = socket.next().await {
        let event = json!(envelope.event_id());
        if known.insert(event.to_string()) {
            let stamp = envelope.stamp.clone().unwrap();
            let choice = envelope.action().and_then(|action| action.decision());
            let line = json!({"event": event, "seq": stamp.seq, "kind": stamp.kind,
                "thread": stamp.thread.map(|thread| thread.to_string()),
                "text": text_of(&envelope), "request": stamp.reference,
                "choice": choice.map(|action| action.choice)});
            disk.write_all(format!("{line}\n").as_bytes()).unwrap();
        }
        // Lost with its connection it comes again, and is known then.
        let _ = socket.ack(&envelope.id).await;
    }
}

/// What is in a subscriber's file.
fn lines(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let lines = text[..whole].lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

struct Hearer {
    role: Role,
    place: String,
    file: PathBuf,
    child: Child,
}

impl Hearer {
    fn start(role: Role, base: &Url, token: &Secret, folder: &Path) -> Self {
        let file = folder.join(role.as_str());
        let place = format!("{base} {} {}", token.expose(), file.display());
        let child = Self::spawn(&place);
        Self {
            role,
            place,
            file,
            child,
        }
    }

    fn spawn(place: &str) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "chaos::hear_as_child", "--nocapture"])
            .env(CHILD, place)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn kill_and_restart(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.child = Self::spawn(&self.place);
    }
}

impl Drop for Hearer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What clients write down.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<Operation>>>);

impl Notes {
    async fn of(&self, deed: Deed, doing: impl Future<Output = Outcome>) -> Outcome {
        let begun = now();
        let outcome = doing.await;
        let operation = Operation {
            begun,
            ended: now(),
            deed,
            outcome,
        };
        self.0.lock().unwrap().push(operation);
        outcome
    }
}

/// What every client needs.
#[derive(Clone)]
struct Clients {
    base: Url,
    repo: Arc<RepoTokens>,
    people: Vec<Secret>,
    http: reqwest::Client,
    notes: Notes,
    over: CancellationToken,
}

impl Clients {
    fn web(&self, role: Role) -> Web {
        let token = self.repo.agents[&role].bot.clone();
        Web::new(&self.base, token, SharedEpoch::default()).unwrap()
    }

    fn control(&self, role: Role) -> Control {
        let token = self.repo.agents[&role].bot.clone();
        Control::new(&self.base, token, SharedEpoch::default()).unwrap()
    }

    fn said(thread: &ThreadId, text: &str) -> Deed {
        Deed::Said {
            thread: thread.to_string(),
            text: text.to_owned(),
        }
    }

    /// A role talks in a thread until it is over, and repeats what has no outcome.
    async fn talk(self, role: Role, thread: ThreadId, number: usize) {
        let web = self.web(role);
        for turn in 0.. {
            if self.over.is_cancelled() {
                return;
            }
            let text = format!("{role} {number}.{turn}");
            let post = post(&thread.channel, Some(&thread.root), &text);
            let saying = async {
                for _ in 0..20 {
                    if web.post(&post).await.is_ok() {
                        return Outcome::Done;
                    }
                    sleep(Duration::from_millis(200)).await;
                }
                Outcome::Unknown
            };
            self.notes.of(Self::said(&thread, &text), saying).await;
            sleep(Duration::from_millis(60)).await;
        }
    }

    /// A person's call: once, whatever comes of it.
    async fn person(&self, who: usize, path: &str, body: &Value) -> (Outcome, Value) {
        let request = self
            .http
            .post(self.base.join(path).unwrap())
            .timeout(Duration::from_secs(20))
            .bearer_auth(self.people[who].expose())
            .json(body);
        let Ok(answer) = request.send().await else {
            return (Outcome::Unknown, Value::Null);
        };
        let outcome = match answer.status().as_u16() {
            200 => Outcome::Done,
            400..500 => Outcome::Refused,
            _ => Outcome::Unknown,
        };
        (outcome, answer.json().await.unwrap_or_default())
    }

    /// A person talks, and does not repeat anything.
    async fn chat(self, who: usize, thread: ThreadId) {
        for turn in 0.. {
            if self.over.is_cancelled() {
                return;
            }
            let text = format!("person {who} {turn} in {}", thread.root);
            let body = json!({"channel": thread.channel, "thread_ts": thread.root,
                "text": text});
            let saying = async { self.person(who, "v1/messages", &body).await.0 };
            self.notes.of(Self::said(&thread, &text), saying).await;
            sleep(Duration::from_millis(150)).await;
        }
    }

    /// Cards, about each of which two people decide at the same time.
    async fn decide(self, thread: ThreadId) {
        let (web, control) = (self.web(Role::Pm), self.control(Role::Pm));
        for number in 0.. {
            if self.over.is_cancelled() {
                return;
            }
            let id = format!("plan{number:02}");
            let mut asking = post(&thread.channel, Some(&thread.root), &id);
            let plan = subject(DecisionKind::Plan, &id);
            if try_card(&control, &mut asking, &id, &plan).await.is_err() {
                continue;
            }
            let Ok(asked) = web.post(&asking).await else {
                continue;
            };
            let press = |who: usize, choice: &'static str| {
                let body = json!({"channel": thread.channel, "ts": asked.ts,
                    "action_id": format!("cb:{id}:{choice}")});
                let deed = Deed::Decided {
                    request: id.clone(),
                    choice: choice.to_owned(),
                };
                let this = self.clone();
                async move {
                    let pressing = async { this.person(who, "v1/actions", &body).await.0 };
                    this.notes.of(deed, pressing).await
                }
            };
            tokio::join!(press(0, "approve"), press(1, "reject"));
            sleep(Duration::from_millis(300)).await;
        }
    }

    /// Money, more of it than there is, asked for again until there is an answer.
    async fn spend(self, role: Role, thread: ThreadId) {
        let control = self.control(role);
        for number in 0..8 {
            let id = format!("{role}-{number}");
            let reservation = Reservation {
                id: ReserveId::new(&id),
                thread: thread.clone(),
                person: None,
                amount: Usd::from_cents(15),
                heard: None,
            };
            let deed = Deed::Reserved {
                budget: "thread".to_owned(),
                id,
                cents: 15,
            };
            let reserving = async {
                for _ in 0..20 {
                    match control.reserve(&reservation).await {
                        Ok(ReserveAnswer::Granted { .. }) => return Outcome::Done,
                        Ok(_) => return Outcome::Refused,
                        Err(_) => sleep(Duration::from_millis(200)).await,
                    }
                }
                Outcome::Unknown
            };
            self.notes.of(deed, reserving).await;
            sleep(Duration::from_millis(500)).await;
        }
    }
}

/// One fault after the other.
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
            _ => {
                pair.hubs[at].signal("-STOP");
                sleep(long).await;
                pair.hubs[at].signal("-CONT");
            }
        }
    }
}

/// Waits until every subscriber has everything, as long as something still comes.
async fn until_quiet(hearers: &[Hearer], complete: impl Fn(Role, &[Value]) -> bool) {
    let (mut count, mut since) = (0, std::time::Instant::now());
    loop {
        let all: Vec<(Role, Vec<Value>)> = hearers
            .iter()
            .map(|one| (one.role, lines(&one.file)))
            .collect();
        if all.iter().all(|(role, lines)| complete(*role, lines)) {
            return;
        }
        let heard = all.iter().map(|(_, lines)| lines.len()).sum();
        if heard > count {
            (count, since) = (heard, std::time::Instant::now());
        }
        // The judge says what is missing.
        if since.elapsed() > PATIENCE / 2 {
            return;
        }
        sleep(Duration::from_millis(100)).await;
    }
}

/// What a subscriber heard in these threads, and what it need not have heard.
fn subscriber(hearer: &Hearer, threads: &BTreeMap<String, Vec<String>>) -> Subscriber {
    let of_role = format!("{} ", hearer.role);
    let own = threads.values().flatten();
    let own = own.filter(|text| text.starts_with(&of_role)).cloned();
    let messages = lines(&hearer.file).into_iter();
    let messages = messages.filter(|line| line["kind"] == json!(StampKind::Message));
    let heard = messages.map(|line| Heard {
        event: line["event"].to_string(),
        seq: line["seq"].as_u64().unwrap(),
        thread: line["thread"].as_str().unwrap().to_owned(),
        text: line["text"].as_str().unwrap().to_owned(),
    });
    Subscriber {
        name: hearer.role.to_string(),
        heard: heard
            .filter(|event| threads.contains_key(&event.thread))
            .collect(),
        own: own.collect(),
    }
}

/// Tells what is wrong, and what hubs said about it.
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
        operations: clients.notes.0.lock().unwrap().clone(),
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
        operations: clients.notes.0.lock().unwrap().clone(),
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
