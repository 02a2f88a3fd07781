//! Hub and subscribers killed with SIGKILL at random while six roles talk in
//! many threads at once: every subscriber has every message of the others once,
//! in the order of its thread.
//!
//! A subscriber is a process too: this test binary, started with a variable that
//! says so. It has each event in a file before it acknowledges it, as an agent
//! has, and reads the file when it is started again. The moments of the kills
//! follow from a seed, which is printed; `CODEBUTLER_SEED` gives it again.

use std::{
    collections::{BTreeMap, HashSet},
    fs::{File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use butler_protocol::{ChannelId, MessageTs, Role, Secret, ThreadId};
use butler_slack::{SharedEpoch, Socket, Web};
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{
    kills::{KillableHub, post, tokens},
    world::{PATIENCE, text_of},
};

const CHILD: &str = "CODEBUTLER_TEST_SUBSCRIBER";
const SEED: &str = "CODEBUTLER_SEED";
/// So many threads move at the same time.
const TALKERS: usize = 8;

/// How much: small in the gate, full at night.
struct Size {
    threads: usize,
    per_thread: usize,
    /// Of the hub; as many again of subscribers.
    kills: usize,
}

fn size() -> Size {
    let night = std::env::var_os("CODEBUTLER_NIGHTLY").is_some();
    let (threads, per_thread, kills) = if night { (200, 50, 20) } else { (16, 6, 4) };
    Size {
        threads,
        per_thread,
        kills,
    }
}

/// Splitmix: enough for moments.
pub(crate) struct Chance(pub u64);

impl Chance {
    pub(crate) fn from_environment() -> Self {
        let given = std::env::var(SEED).ok().and_then(|seed| seed.parse().ok());
        let clock = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        Self(given.unwrap_or_else(|| u64::from(clock().subsec_nanos())))
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % limit as u64).unwrap()
    }
}

/// Not a test by itself: the main function of a subscriber.
#[tokio::test]
async fn subscribe_as_child() {
    let Ok(place) = std::env::var(CHILD) else {
        return;
    };
    let [base, token, file]: [&str; 3] =
        place.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
    let (mut disk, mut known) = reopened(Path::new(file));
    let base: Url = base.parse().unwrap();
    let opening = Socket::open(&base, Secret::new(token), CancellationToken::new());
    let mut socket = opening.await.unwrap();
    while let Some(envelope) = socket.next().await {
        let id = envelope.event_id().to_string();
        if known.insert(id.clone()) {
            let thread = envelope.stamp.clone().unwrap().thread.unwrap();
            let line = format!("{id} {thread} {}\n", text_of(&envelope));
            disk.write_all(line.as_bytes()).unwrap();
        }
        socket.ack(&envelope.id).await.unwrap();
    }
}

/// What an earlier life has written; a torn last line was never acknowledged.
fn reopened(file: &Path) -> (File, HashSet<String>) {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let disk = OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .unwrap();
    disk.set_len(whole as u64).unwrap();
    let ids = text[..whole].lines().map(|line| line.split(' ').next());
    (disk, ids.map(|id| id.unwrap().to_owned()).collect())
}

struct Subscriber {
    role: Role,
    place: String,
    file: PathBuf,
    child: Child,
}

impl Subscriber {
    fn start(role: Role, hub: &Url, token: &Secret, folder: &Path) -> Self {
        let file = folder.join(role.as_str());
        let place = format!("{hub} {} {}", token.expose(), file.display());
        let child = spawn(&place);
        Self {
            role,
            place,
            file,
            child,
        }
    }

    fn kill_and_restart(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.child = spawn(&self.place);
    }

    fn heard(&self) -> usize {
        let text = std::fs::read(&self.file).unwrap_or_default();
        text.iter().filter(|byte| **byte == b'\n').count()
    }

    /// The texts by thread, in the order in which they came.
    fn threads(&self) -> BTreeMap<String, Vec<String>> {
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for line in std::fs::read_to_string(&self.file).unwrap().lines() {
            let [_, thread, text]: [&str; 3] =
                line.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
            found
                .entry(thread.to_owned())
                .or_default()
                .push(text.to_owned());
        }
        found
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(place: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill_storm::subscribe_as_child"])
        .env(CHILD, place)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Who says this: everybody says something in every thread.
fn speaker(thread: usize, turn: usize) -> Role {
    Role::ALL[(thread + turn) % Role::ALL.len()]
}

/// Every talker carries its threads on, one message at a time.
fn talk(
    size: &Size,
    webs: &BTreeMap<Role, Web>,
    channel: &ChannelId,
    said: &mpsc::Sender<()>,
) -> Vec<JoinHandle<Vec<(usize, MessageTs)>>> {
    let talker = |talker: usize| {
        let (webs, channel, said) = (webs.clone(), channel.clone(), said.clone());
        let mine: Vec<usize> = (talker..size.threads).step_by(TALKERS).collect();
        let turns = size.per_thread;
        tokio::spawn(async move {
            let mut roots: BTreeMap<usize, MessageTs> = BTreeMap::new();
            for turn in 0..turns {
                for thread in &mine {
                    let text = format!("{thread}.{turn}");
                    let post = post(&channel, roots.get(thread), &text);
                    let posted = webs[&speaker(*thread, turn)].post(&post).await.unwrap();
                    roots.entry(*thread).or_insert(posted.ts);
                    said.send(()).await.unwrap();
                }
            }
            roots.into_iter().collect()
        })
    };
    (0..TALKERS).map(talker).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_kill_loses_doubles_or_reorders_anything() {
    let (size, mut chance) = (size(), Chance::from_environment());
    println!("{SEED}={}", chance.0);
    let (began, total) = (Instant::now(), size.threads * size.per_thread);
    let dir = tempfile::tempdir().unwrap();
    let disks = tempfile::tempdir().unwrap();
    let repo = tokens(&dir);
    let mut hub = KillableHub::start(dir).await;
    let mut subscribers: Vec<Subscriber> = Role::ALL
        .into_iter()
        .map(|role| Subscriber::start(role, &hub.base(), &repo.agents[&role].app, disks.path()))
        .collect();
    let web = |role: &Role| {
        let token = repo.agents[role].bot.clone();
        Web::new(&hub.base(), token, SharedEpoch::default()).unwrap()
    };
    let webs: BTreeMap<Role, Web> = Role::ALL.iter().map(|role| (*role, web(role))).collect();
    let (said, mut progress) = mpsc::channel(total);
    let talkers = talk(&size, &webs, &repo.channel, &said);

    // Hub and subscribers in turn, at moments that nobody chose.
    let mut moments: Vec<usize> = (0..size.kills * 2).map(|_| chance.below(total)).collect();
    moments.sort_unstable();
    let mut count = 0;
    for (n, moment) in moments.into_iter().enumerate() {
        while count < moment {
            timeout(PATIENCE * 4, progress.recv()).await.unwrap();
            count += 1;
        }
        if n % 2 == 0 {
            hub.kill_and_restart().await;
        } else {
            subscribers[chance.below(Role::ALL.len())].kill_and_restart();
        }
    }
    let mut roots = BTreeMap::new();
    for talker in talkers {
        roots.extend(talker.await.unwrap());
    }
    println!("{total} posted after {:?}", began.elapsed());
    for one in &subscribers {
        let expected = expected(&size, &roots, &repo.channel, one.role);
        let messages = expected.values().map(Vec::len).sum();
        until_heard(one, messages).await;
        assert_eq!(one.threads(), expected, "{}", one.role);
    }
    println!("{total} heard by six after {:?}", began.elapsed());
    for (n, root) in &roots {
        let thread = ThreadId::new(repo.channel.clone(), root.clone());
        let kept = webs[&Role::Pm].replies(&thread).await.unwrap();
        let texts: Vec<String> = kept.into_iter().map(|message| message.text).collect();
        let all: Vec<String> = (0..size.per_thread)
            .map(|turn| format!("{n}.{turn}"))
            .collect();
        assert_eq!(texts, all);
    }
}

/// What a role hears: everything but its own words.
fn expected(
    size: &Size,
    roots: &BTreeMap<usize, MessageTs>,
    channel: &ChannelId,
    role: Role,
) -> BTreeMap<String, Vec<String>> {
    let of_thread = |(n, root): (&usize, &MessageTs)| {
        let thread = ThreadId::new(channel.clone(), root.clone());
        let turns = (0..size.per_thread).filter(|turn| speaker(*n, *turn) != role);
        let texts = turns.map(|turn| format!("{n}.{turn}")).collect();
        (thread.to_string(), texts)
    };
    roots.iter().map(of_thread).collect()
}

/// Waits as long as something still comes in.
async fn until_heard(one: &Subscriber, messages: usize) {
    let (mut heard, mut since) = (one.heard(), Instant::now());
    while heard < messages {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let now = one.heard();
        if now > heard {
            (heard, since) = (now, Instant::now());
        }
        let silent = since.elapsed() > PATIENCE;
        assert!(!silent, "{} has {heard} of {messages}", one.role);
    }
}
