//! The hub killed with SIGKILL, again and again. It runs as a child process:
//! this test binary itself, started with a variable that says so.

use std::{
    collections::{BTreeMap, HashSet},
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use butler_hub::{Hub, RepoTokens, Tokens};
use butler_slack::{Message, Post, SharedEpoch, Socket, Web};
use butler_vocab::{
    ChannelId, FAULT_VARIABLE, FaultPoint, Idem, MessageTs, PostTag, Role, ThreadId, on_fault,
};
use serde_json::json;
use tokio::{sync::mpsc, time::timeout};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::world::{PATIENCE, config, text_of};

const CHILD: &str = "CODEBUTLER_TEST_HUB";
const READY: &str = "the hub is ready";

/// Not a test by itself: the child's main function.
#[tokio::test]
async fn serve_as_child() {
    let Ok(place) = std::env::var(CHILD) else {
        return;
    };
    on_fault(die);
    let (address, dir) = place.split_once(' ').unwrap();
    let listen: SocketAddr = address.parse().unwrap();
    let hub = Hub::start(config(dir.as_ref(), listen), CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(hub.address(), listen);
    println!("{READY}");
    hub.wait().await;
}

/// `kill -9` of itself at the armed point.
fn die(name: &'static str) {
    static PASSED: AtomicU32 = AtomicU32::new(0);
    let armed = std::env::var(FAULT_VARIABLE).ok();
    if let Some(point) = armed.as_deref().and_then(FaultPoint::parse)
        && point.name == name
        && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == point.passage
    {
        let me = std::process::id().to_string();
        Command::new("kill").args(["-9", &me]).status().unwrap();
        std::thread::park();
    }
}

struct KillableHub {
    address: SocketAddr,
    dir: tempfile::TempDir,
    child: Child,
}

impl KillableHub {
    async fn start(dir: tempfile::TempDir) -> Self {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        Self {
            child: spawn(address, dir.path().to_owned(), None).await,
            address,
            dir,
        }
    }

    async fn kill_and_restart(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.restart(None).await;
    }

    async fn restart(&mut self, fault: Option<&str>) {
        self.child = spawn(self.address, self.dir.path().to_owned(), fault).await;
    }

    /// The next life of the hub ends by itself at this point.
    async fn die_at(&mut self, fault: &str) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.restart(Some(fault)).await;
    }

    async fn until_dead(&mut self) {
        let dead = async {
            while self.child.try_wait().unwrap().is_none() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, dead)
            .await
            .expect("the hub reaches the point");
    }

    fn base(&self) -> Url {
        format!("http://{}/", self.address).parse().unwrap()
    }
}

/// Starts the child and waits for its word.
async fn spawn(address: SocketAddr, dir: PathBuf, fault: Option<&str>) -> Child {
    let armed = fault.map(|fault| (FAULT_VARIABLE, fault.to_owned()));
    let starting = tokio::task::spawn_blocking(move || {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kills::serve_as_child", "--nocapture"])
            .env(CHILD, format!("{address} {}", dir.display()))
            .envs(armed)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.any(|line| line.unwrap().contains(READY));
        assert!(ready, "the child ended early");
        // The test runner in the child says so when it runs for a minute, and
        // would die of a closed pipe.
        std::thread::spawn(move || lines.for_each(drop));
        child
    });
    timeout(PATIENCE, starting).await.unwrap().unwrap()
}

impl Drop for KillableHub {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn tokens(dir: &tempfile::TempDir) -> RepoTokens {
    let mut tokens = Tokens::open(dir.path()).unwrap();
    tokens.ensure_repo("/home/ana/app", "app").unwrap()
}

fn post(channel: &ChannelId, root: Option<&MessageTs>, text: &str) -> Post {
    Post {
        channel: channel.clone(),
        thread: root.cloned(),
        text: text.to_owned(),
        blocks: None,
        username: None,
        icon: None,
        tag: PostTag::message(Idem::new(text), vec![]),
    }
}

/// How much: small in the gate, full at night.
fn size() -> (usize, usize, usize) {
    if std::env::var_os("CODEBUTLER_NIGHTLY").is_some() {
        (200, 50, 20)
    } else {
        (10, 8, 4)
    }
}

/// A subscriber that is itself replaced now and then; `disk` is what it has
/// written before it acknowledged.
async fn subscribe(
    base: Url,
    app_token: butler_vocab::Secret,
    expected: usize,
) -> BTreeMap<String, Vec<String>> {
    let mut known = HashSet::new();
    let mut disk: BTreeMap<String, Vec<String>> = BTreeMap::new();
    while known.len() < expected {
        let opening = Socket::open(&base, app_token.clone(), CancellationToken::new());
        let mut socket = timeout(PATIENCE, opening).await.unwrap().unwrap();
        // Every so often the process dies between the disk and the acknowledgement.
        let lives_for = 7 + known.len() % 23;
        for turn in 0..lives_for {
            let next = timeout(PATIENCE, socket.next()).await;
            let envelope = next.expect("an envelope in time").expect("an open socket");
            if known.insert(envelope.event_id()) {
                let thread = envelope.stamp.clone().unwrap().thread.unwrap();
                disk.entry(thread.to_string())
                    .or_default()
                    .push(text_of(&envelope));
            }
            if known.len() == expected {
                return disk;
            }
            if turn + 1 < lives_for {
                socket.ack(&envelope.id).await.unwrap();
            }
        }
    }
    disk
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_kill_loses_doubles_or_reorders_anything() {
    let (threads, per_thread, kills) = size();
    let dir = tempfile::tempdir().unwrap();
    let repo = tokens(&dir);
    let mut hub = KillableHub::start(dir).await;
    let total = threads * per_thread;

    let mut readers = Vec::new();
    for role in Role::ALL {
        // The PM posts everything and gets nothing of its own back.
        if role != Role::Pm {
            let token = repo.agents[&role].app.clone();
            readers.push(tokio::spawn(subscribe(hub.base(), token, total)));
        }
    }
    let (progress, mut posted) = mpsc::channel(total);
    let token = repo.agents[&Role::Pm].bot.clone();
    let web = Web::new(&hub.base(), token, SharedEpoch::default()).unwrap();
    let (channel, poster) = (repo.channel.clone(), web.clone());
    let posting = tokio::spawn(async move {
        let mut roots = Vec::new();
        for n in 0..threads {
            roots.push(
                poster
                    .post(&post(&channel, None, &format!("{n}.0")))
                    .await
                    .unwrap()
                    .ts,
            );
            progress.send(()).await.unwrap();
        }
        for turn in 1..per_thread {
            for (n, root) in roots.iter().enumerate() {
                let text = format!("{n}.{turn}");
                poster
                    .post(&post(&channel, Some(root), &text))
                    .await
                    .unwrap();
                progress.send(()).await.unwrap();
            }
        }
        roots
    });
    for _ in 0..kills {
        // Spread over the run, while posts and deliveries are under way.
        for _ in 0..(total / (kills + 1)).max(1) {
            posted.recv().await.unwrap();
        }
        hub.kill_and_restart().await;
    }
    let roots = posting.await.unwrap();
    for reader in readers {
        let heard = timeout(PATIENCE * 4, reader).await.unwrap().unwrap();
        assert_eq!(heard.len(), threads);
        for (n, root) in roots.iter().enumerate() {
            let thread = ThreadId::new(repo.channel.clone(), root.clone());
            let expected: Vec<String> = (0..per_thread).map(|turn| format!("{n}.{turn}")).collect();
            assert_eq!(heard[&thread.to_string()], expected);
            let kept = web.replies(&thread).await.unwrap();
            let texts: Vec<String> = kept.into_iter().map(|message| message.text).collect();
            assert_eq!(texts, expected);
        }
    }
}

/// Thirty thousand characters: prose, and two blocks of code that become files.
fn long_text() -> String {
    let prose = "A line of the report that says something about one of the files.\n".repeat(170);
    let code = |name: &str| format!("```\n{}```\n", format!("let {name} = 1;\n").repeat(300));
    let text = format!("{prose}{}{prose}{}The end.", code("first"), code("second"));
    assert!(text.len() > 30_000, "{}", text.len());
    text
}

/// The texts and files of a thread below its root.
async fn parts_of(web: &Web, thread: &ThreadId) -> Vec<String> {
    let messages = web.replies(thread).await.unwrap();
    let shown = |message: &Message| {
        let sizes = message
            .files
            .iter()
            .map(|file| json!(file)["size"].to_string());
        format!("{}{}", message.text, sizes.collect::<String>())
    };
    messages.iter().skip(1).map(shown).collect()
}

/// Killed after each part of a long post: afterwards all parts are there once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_post_killed_after_each_part_is_whole_and_there_once() {
    let dir = tempfile::tempdir().unwrap();
    let repo = tokens(&dir);
    let mut hub = KillableHub::start(dir).await;
    let token = repo.agents[&Role::Pm].bot.clone();
    let web = Web::new(&hub.base(), token, SharedEpoch::default()).unwrap();
    let root = |name: &str| post(&repo.channel, None, name);
    let text = long_text();
    let post_in = async |thread: &str| {
        let ts = web.post(&root(thread)).await.unwrap().ts;
        let mut long = post(&repo.channel, Some(&ts), &text);
        long.tag = PostTag::message(Idem::new(format!("long {thread}")), vec![]);
        (ThreadId::new(repo.channel.clone(), ts), long)
    };
    let (thread, long) = post_in("undisturbed").await;
    web.post(&long).await.unwrap();
    let whole = parts_of(&web, &thread).await;
    assert!(whole.len() > 6, "{}", whole.len());
    for part in 1..=whole.len() {
        let (thread, long) = post_in(&part.to_string()).await;
        hub.die_at(&format!("hub.after-part:{part}")).await;
        let poster = web.clone();
        let posting = tokio::spawn(async move { poster.post(&long).await.map(|_| long) });
        hub.until_dead().await;
        hub.restart(None).await;
        let long = posting.await.unwrap().unwrap();
        assert_eq!(
            parts_of(&web, &thread).await,
            whole,
            "killed after part {part}"
        );
        // Whoever did not hear the answer asks again, and gets the first one.
        web.post(&long).await.unwrap();
        assert_eq!(parts_of(&web, &thread).await.len(), whole.len());
    }
    println!("killed after each of {} parts", whole.len());
}
