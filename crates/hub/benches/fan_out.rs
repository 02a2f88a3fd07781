//! What the hub can carry: events per second to six subscribers with the log on
//! disk, how long a message takes to reach them, and the proportional memory of
//! a hub that is idle, empty and with 1,000 threads. The hub is a process of its
//! own: a copy of this program, so that they share no page, with a variable that
//! says so. Ends with 1 when the idle hub holds more than the bar.
#![expect(
    clippy::print_stdout,
    reason = "a benchmark reports on standard output"
)]
#![expect(
    clippy::unwrap_used,
    reason = "a benchmark stops at the first surprise"
)]

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use butler_hub::{Hub, HubConfig, RepoTokens, Tokens};
use butler_policy::Redactor;
use butler_protocol::{Role, Secret};
use butler_slack::{SharedEpoch, Socket, Web};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use url::Url;

const CHILD: &str = "CODEBUTLER_BENCH_HUB";
/// What an idle hub may hold, in KiB.
const BAR: u64 = 20 << 10;
const THREADS: usize = 1_000;
const REPLIES: usize = 4;
const ROUNDS: usize = 500;
/// People who post at the same time.
const SPEAKERS: usize = 64;

async fn serve(dir: &str) {
    let redactor = Redactor::new(&[], &[]).unwrap();
    let config = HubConfig::new(([127, 0, 0, 1], 0).into(), dir.into(), redactor);
    let hub = Hub::start(config, CancellationToken::new()).await.unwrap();
    println!("http://{}/", hub.address());
    hub.wait().await;
}

/// Proportional set size of a process in KiB.
fn pss(child: &Child) -> u64 {
    let text = fs::read_to_string(format!("/proc/{}/smaps_rollup", child.id())).unwrap();
    let line = text.lines().find(|line| line.starts_with("Pss:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

struct World {
    base: Url,
    http: reqwest::Client,
    token: String,
    repo: RepoTokens,
}

impl World {
    async fn say(&self, text: &str, root: Option<&str>) -> String {
        let body = json!({"channel": self.repo.channel, "text": text, "thread_ts": root});
        let url = self.base.join("v1/messages").unwrap();
        let request = self.http.post(url).bearer_auth(&self.token).json(&body);
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        answer["ts"].as_str().unwrap().to_owned()
    }

    /// Six subscribers that acknowledge everything and say when they heard it.
    async fn listeners(&self) -> mpsc::UnboundedReceiver<Instant> {
        let (heard, receiver) = mpsc::unbounded_channel();
        for role in Role::ALL {
            let token = self.repo.agents[&role].app.clone();
            let opening = Socket::open(&self.base, token, CancellationToken::new());
            let mut socket = opening.await.unwrap();
            let heard = heard.clone();
            tokio::spawn(async move {
                while let Some(envelope) = socket.next().await {
                    let _ = heard.send(Instant::now());
                    socket.ack(&envelope.id).await.unwrap();
                }
            });
        }
        receiver
    }
}

async fn take(heard: &mut mpsc::UnboundedReceiver<Instant>, count: usize) -> Vec<Instant> {
    let mut all = Vec::with_capacity(count);
    while all.len() < count {
        all.push(heard.recv().await.unwrap());
    }
    all
}

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    if let Ok(dir) = std::env::var(CHILD) {
        serve(&dir).await;
        return ExitCode::SUCCESS;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut tokens = Tokens::open(folder.path()).unwrap();
    let repo = tokens.ensure_repo("app", "app").unwrap();
    let person = tokens.ensure_person("ana").unwrap();
    drop(tokens);
    let program = folder.path().join("hub");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut child = Command::new(&program)
        .env(CHILD, folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let base: Url = lines.next().unwrap().unwrap().parse().unwrap();
    // Making one of our own clients installs the TLS provider that reqwest wants.
    Web::new(&base, Secret::new(""), SharedEpoch::default()).unwrap();
    let world = World {
        base,
        http: reqwest::Client::builder().no_proxy().build().unwrap(),
        token: person.token.expose().to_owned(),
        repo,
    };
    let mut heard = world.listeners().await;
    let idle = pss(&child);
    println!("idle hub with six subscribers: {idle} KiB PSS");
    throughput(&world, &mut heard).await;
    println!("with {THREADS} threads: {} KiB PSS", pss(&child));
    latency(&world, &mut heard).await;
    child.kill().unwrap();
    child.wait().unwrap();
    let met = idle < BAR;
    println!("bar {BAR} KiB: {}", if met { "met" } else { "MISSED" });
    ExitCode::from(u8::from(!met))
}

async fn throughput(world: &World, heard: &mut mpsc::UnboundedReceiver<Instant>) {
    let began = Instant::now();
    let threads = stream::iter(0..THREADS).map(|number| async move {
        let root = world.say(&format!("thread {number}"), None).await;
        for reply in 0..REPLIES {
            world.say(&format!("reply {reply}"), Some(&root)).await;
        }
    });
    let posting = threads.buffer_unordered(SPEAKERS).collect::<Vec<_>>();
    let events = THREADS * (REPLIES + 1);
    let (_, all) = tokio::join!(posting, take(heard, events * Role::ALL.len()));
    let seconds = (*all.iter().max().unwrap() - began).as_secs_f64();
    println!(
        "{:.0} events/s, {:.0} deliveries/s ({events} messages of {SPEAKERS} people to six subscribers)",
        events as f64 / seconds,
        all.len() as f64 / seconds
    );
}

/// From the moment a person sends to the moment each subscriber has it.
async fn latency(world: &World, heard: &mut mpsc::UnboundedReceiver<Instant>) {
    let mut times: Vec<Duration> = Vec::new();
    let root = world.say("slowly now", None).await;
    take(heard, Role::ALL.len()).await;
    for round in 0..ROUNDS {
        let began = Instant::now();
        world.say(&format!("round {round}"), Some(&root)).await;
        let all = take(heard, Role::ALL.len()).await;
        times.extend(all.into_iter().map(|at| at - began));
    }
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    println!(
        "delivery: p50 {:?}, p99 {:?}, worst {:?}",
        at(50),
        at(99),
        at(100)
    );
}
