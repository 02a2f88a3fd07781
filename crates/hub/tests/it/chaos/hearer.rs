//! Subscribers as processes of their own, which can be killed: each has an event in a file
//! before it acknowledges it, as an agent has.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use butler_protocol::{Role, Secret, StampKind};
use butler_slack::Socket;
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{
    history::{Heard, Subscriber},
    world::{PATIENCE, text_of},
};

const CHILD: &str = "CODEBUTLER_TEST_HEARER";

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
pub(super) fn lines(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let lines = text[..whole].lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub(super) struct Hearer {
    pub role: Role,
    place: String,
    pub file: PathBuf,
    child: Child,
}

impl Hearer {
    pub(super) fn start(role: Role, base: &Url, token: &Secret, folder: &Path) -> Self {
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
            .args(["--exact", "chaos::hearer::hear_as_child", "--nocapture"])
            .env(CHILD, place)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    pub(super) fn kill_and_restart(&mut self) {
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

/// Waits until every subscriber has everything, as long as something still comes.
pub(super) async fn until_quiet(hearers: &[Hearer], complete: impl Fn(Role, &[Value]) -> bool) {
    let (mut count, mut since) = (0, Instant::now());
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
            (count, since) = (heard, Instant::now());
        }
        // The judge says what is missing.
        if since.elapsed() > PATIENCE / 2 {
            return;
        }
        sleep(Duration::from_millis(100)).await;
    }
}

/// What a subscriber heard in these threads, and what it need not have heard.
pub(super) fn subscriber(hearer: &Hearer, threads: &BTreeMap<String, Vec<String>>) -> Subscriber {
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
