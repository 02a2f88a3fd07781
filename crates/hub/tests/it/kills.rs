//! The hub killed with SIGKILL, again and again. It runs as a child process:
//! this test binary itself, started with a variable that says so.

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use butler_hub::{Hub, RepoTokens, Tokens};
use butler_protocol::{
    ChannelId, FAULT_VARIABLE, FaultPoint, Idem, MessageTs, PostTag, Role, ThreadId, on_fault,
};
use butler_slack::{Message, Post, SharedEpoch, Web};
use serde_json::json;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::world::{PATIENCE, config};

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
pub(crate) fn die(name: &'static str) {
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

pub(crate) struct KillableHub {
    address: SocketAddr,
    dir: tempfile::TempDir,
    child: Child,
}

impl KillableHub {
    pub(crate) async fn start(dir: tempfile::TempDir) -> Self {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        Self {
            child: spawn(address, dir.path().to_owned(), None).await,
            address,
            dir,
        }
    }

    pub(crate) async fn kill_and_restart(&mut self) {
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

    pub(crate) fn base(&self) -> Url {
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

pub(crate) fn tokens(dir: &tempfile::TempDir) -> RepoTokens {
    let mut tokens = Tokens::open(dir.path()).unwrap();
    tokens.ensure_repo("/home/ana/app", "app").unwrap()
}

pub(crate) fn post(channel: &ChannelId, root: Option<&MessageTs>, text: &str) -> Post {
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

/// Another process asks for tokens while the hub dies and comes back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_can_be_asked_for_at_any_moment_of_a_hubs_life() {
    let mut hub = KillableHub::start(tempfile::tempdir().unwrap()).await;
    let over = CancellationToken::new();
    let (dir, end) = (hub.dir.path().to_owned(), over.clone());
    let asking = std::thread::spawn(move || {
        let mut asked = 0;
        while !end.is_cancelled() {
            let mut tokens = Tokens::open(&dir).unwrap();
            tokens.ensure_repo("/home/ana/app", "app").unwrap();
            asked += 1;
        }
        asked
    });
    for _ in 0..8 {
        hub.kill_and_restart().await;
    }
    over.cancel();
    assert!(asking.join().unwrap() > 8);
}

/// Prose, so many lines of it twice, and two blocks of code that become files.
fn long_text(lines: usize) -> String {
    let prose = "A line of the report that says something about one of the files.\n".repeat(lines);
    let code = |name: &str| format!("```\n{}```\n", format!("let {name} = 1;\n").repeat(300));
    format!("{prose}{}{prose}{}The end.", code("first"), code("second"))
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
    // As several messages, and as a file with a beginning.
    for (lines, at_least) in [(40, 5), (170, 2)] {
        let text = long_text(lines);
        let post_in = async |thread: &str| {
            let ts = web
                .post(&root(&format!("{lines} {thread}")))
                .await
                .unwrap()
                .ts;
            let mut long = post(&repo.channel, Some(&ts), &text);
            long.tag = PostTag::message(Idem::new(format!("long {lines} {thread}")), vec![]);
            (ThreadId::new(repo.channel.clone(), ts), long)
        };
        let (thread, long) = post_in("undisturbed").await;
        web.post(&long).await.unwrap();
        let whole = parts_of(&web, &thread).await;
        assert!(whole.len() >= at_least, "{}", whole.len());
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
}
