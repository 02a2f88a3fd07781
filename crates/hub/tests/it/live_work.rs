//! Live work: sent only while somebody looks, without secrets, and kept nowhere.

use std::time::Duration;

use butler_protocol::{LiveStep, LiveWork, MessageTs, Role};
use reqwest::Response;
use tokio::time::timeout;

use crate::world::{PATIENCE, World, client, secret};

async fn look(world: &World, root: &MessageTs) -> Response {
    let path = format!("v1/threads/{}/{root}/work", world.channel());
    let request = client()
        .get(world.base.join(&path).unwrap())
        .bearer_auth(world.ana.token.expose());
    request.send().await.unwrap()
}

/// Reads until this was said.
async fn hear(stream: &mut Response, wanted: &str) -> String {
    let mut heard = String::new();
    let listen = async {
        while !heard.contains(wanted) {
            let bytes = stream.chunk().await.unwrap().expect("it goes on");
            heard.push_str(&String::from_utf8_lossy(&bytes));
        }
    };
    timeout(PATIENCE, listen).await.unwrap();
    heard
}

fn work(world: &World, root: &MessageTs) -> LiveWork {
    LiveWork {
        saying: format!("I use {} ", secret()),
        running: Some("running make".into()),
        output: format!("compiling\n{}\n", secret()),
        steps: vec![LiveStep {
            state: "doing".into(),
            text: "build it".into(),
        }],
        diff: "diff --git a/a.txt b/a.txt\n@@ -0,0 +1 @@\n+one\n".into(),
        ..LiveWork::nothing(world.thread(root))
    }
}

#[tokio::test]
async fn work_is_sent_while_somebody_looks_and_is_seen_without_secrets() {
    let world = World::start().await;
    let root = world.say("build it", None).await;
    let coder = world.control(Role::Coder);
    // Nobody looks: nothing is taken, and the question waits.
    assert!(!coder.live(&work(&world, &root)).await.unwrap().watched);
    let thread = world.thread(&root);
    let asking = coder.watched(&thread);
    tokio::pin!(asking);
    let early = timeout(Duration::from_millis(200), &mut asking).await;
    assert!(early.is_err(), "somebody looks: {early:?}");
    let mut stream = look(&world, &root).await;
    let answer = timeout(PATIENCE, asking).await.unwrap().unwrap();
    assert!(answer.watched);
    hear(&mut stream, r#""roles":{}"#).await;
    assert!(coder.live(&work(&world, &root)).await.unwrap().watched);
    let heard = hear(&mut stream, "compiling").await;
    for wanted in ["coder", "running make", "build it", "+one"] {
        assert!(heard.contains(wanted), "{wanted} in {heard}");
    }
    assert!(!heard.contains(&secret()), "{heard}");
    // The work ends; then the reader goes.
    let nothing = LiveWork::nothing(thread.clone());
    assert!(coder.live(&nothing).await.unwrap().watched);
    hear(&mut stream, r#""roles":{}"#).await;
    drop(stream);
    let gone = async {
        while coder.live(&work(&world, &root)).await.unwrap().watched {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, gone).await.unwrap();
    // No trace of it in the thread.
    let path = format!("v1/threads/{}/{root}", world.channel());
    let view = world.get(&world.ana, &path).await;
    assert!(!view.to_string().contains("compiling"), "{view}");
}

#[tokio::test]
async fn a_stranger_neither_shows_nor_looks() {
    let world = World::start().await;
    let root = world.say("build it", None).await;
    for path in [
        format!("v1/threads/{}/{root}/work", world.channel()),
        format!("agent/v1/live/{}/{root}", world.channel()),
    ] {
        let url = world.base.join(&path).unwrap();
        assert_eq!(client().get(url).send().await.unwrap().status(), 401);
    }
    let url = world.base.join("agent/v1/live").unwrap();
    let post = client().post(url).json(&work(&world, &root));
    assert_eq!(post.send().await.unwrap().status(), 401);
}
