//! A workspace moves into a database while people go on talking, and whoever moves it is
//! killed on the way.

use std::{
    path::Path,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use butler_hub::{Hub, HubError, Tokens, migrate};
use butler_protocol::{FAULT_VARIABLE, MessageTs, Role, Secret, on_fault};
use butler_testkit::Postgres;
use serde_json::json;
use tokio::{task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::{
    kills::die,
    world::{PATIENCE, World, config, take, text_of},
};

const MOVER: &str = "CODEBUTLER_TEST_MOVER";

/// Not a test by itself: the mover that is killed.
#[test]
fn move_as_child() {
    let Ok(words) = std::env::var(MOVER) else {
        return;
    };
    on_fault(die);
    let (address, folder) = words.split_once(' ').unwrap();
    migrate(Path::new(folder), Secret::new(address)).unwrap();
}

/// Moves, and dies at a point.
async fn move_and_die(folder: &Path, to: &Secret, point: &str) {
    let words = format!("{} {}", to.expose(), folder.display());
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "moving::move_as_child", "--nocapture"])
        .env(MOVER, words)
        .env(FAULT_VARIABLE, format!("{point}:1"))
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let ran = tokio::task::spawn_blocking(move || child.output().unwrap());
    let ran = timeout(PATIENCE, ran).await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), None, "not killed at {point}: {said}");
}

/// Says one word after the other, whatever happens.
struct Talker {
    /// What the hub has answered for, and all that was said.
    kept: Arc<Mutex<Vec<u32>>>,
    over: CancellationToken,
    talking: JoinHandle<u32>,
}

impl Talker {
    fn start(world: &World, root: &MessageTs) -> Self {
        let (kept, over) = (Arc::<Mutex<Vec<u32>>>::default(), CancellationToken::new());
        let (heard, end) = (Arc::clone(&kept), over.clone());
        let (http, token) = (world.http.clone(), world.ana.token.clone());
        let url = world.base.join("v1/messages").unwrap();
        let (channel, root) = (world.channel(), root.clone());
        let talking = tokio::spawn(async move {
            let mut number = 0;
            while !end.is_cancelled() {
                number += 1;
                let text = format!("word {number}");
                let body = json!({"channel": channel, "text": text, "thread_ts": root});
                let request = http.post(url.clone()).bearer_auth(token.expose());
                let sent = request.json(&body).send().await;
                if sent.is_ok_and(|answer| answer.status() == 200) {
                    heard.lock().unwrap().push(number);
                }
                tokio::time::sleep(Duration::from_millis(3)).await;
            }
            number
        });
        Self {
            kept,
            over,
            talking,
        }
    }

    fn count(&self) -> usize {
        self.kept.lock().unwrap().len()
    }

    /// Waits until more was answered for.
    async fn goes_on(&self) {
        let wanted = self.count() + 5;
        let more = async {
            while self.count() < wanted {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, more).await.expect("the hub takes words");
    }

    async fn stop(self) -> (Vec<u32>, u32) {
        self.over.cancel();
        let said = timeout(PATIENCE, self.talking).await.unwrap().unwrap();
        let kept = self.kept.lock().unwrap().clone();
        (kept, said)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_moves_while_people_talk_and_a_killed_move_loses_and_repeats_nothing() {
    let Some(server) = Postgres::start() else {
        return;
    };
    // Up to which point the file is in charge.
    for (number, (point, in_file)) in [
        ("hub.before-freeze", true),
        ("hub.after-freeze", true),
        ("hub.before-move", false),
        ("hub.after-move", false),
    ]
    .into_iter()
    .enumerate()
    {
        let address = format!("{}?schema=moved_{number}", server.address());
        let address = Secret::new(address);
        let mut world = World::start().await;
        let folder = world.dir.path().to_owned();
        let root = world.say("hello there", None).await;
        let talker = Talker::start(&world, &root);
        talker.goes_on().await;
        move_and_die(&folder, &address, point).await;
        if in_file {
            talker.goes_on().await;
        } else {
            // Nobody writes to the file any more, also not whoever has it open.
            let opened = Tokens::open(&folder).unwrap_err();
            assert!(matches!(opened, HubError::Moved(_)), "{point}: {opened}");
            let before = talker.count();
            tokio::time::sleep(Duration::from_millis(200)).await;
            assert_eq!(talker.count(), before, "{point}");
        }
        let (place, to) = (folder.clone(), address.clone());
        let moving = tokio::task::spawn_blocking(move || migrate(&place, to));
        timeout(PATIENCE, moving).await.unwrap().unwrap().unwrap();
        // The hub that had the file ends by itself.
        world.until_ended().await;
        let (kept, said) = talker.stop().await;
        assert!(kept.len() >= 5 && !folder.join("hub.sqlite3.moving").exists());

        let mut config = config(&folder, ([127, 0, 0, 1], 0).into());
        config.database = Some(address.clone());
        let cancel = CancellationToken::new();
        let hub = Hub::start(config, cancel.clone()).await.unwrap();
        world.base = format!("http://{}/", hub.address()).parse().unwrap();
        world.say("the end", Some(&root)).await;
        let mut socket = world.socket(Role::Pm).await;
        let mut heard = Vec::new();
        loop {
            match text_of(&take(&mut socket).await).as_str() {
                "the end" => break,
                text => heard.extend(
                    text.strip_prefix("word ")
                        .map(|n| n.parse::<u32>().unwrap()),
                ),
            }
        }
        // In order and once; what nobody answered for may have been written or not.
        assert!(heard.is_sorted_by(|one, next| one < next), "{heard:?}");
        assert!(heard.iter().all(|number| *number <= said));
        let lost: Vec<_> = kept.iter().filter(|one| !heard.contains(one)).collect();
        assert!(lost.is_empty(), "{point}: {lost:?}");
        // Once more is not a second time.
        let again = tokio::task::spawn_blocking(move || migrate(&folder, address));
        assert_eq!(again.await.unwrap().unwrap().rows, 0);
        cancel.cancel();
        timeout(PATIENCE, hub.wait()).await.unwrap();
    }
}
