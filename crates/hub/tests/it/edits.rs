//! What people do besides posting: change and delete their words, type commands,
//! mention the app, and be told something that only they see.

use butler_protocol::{Role, StampKind};
use butler_slack::EnvelopeKind;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::world::{PATIENCE, World, take, text_of};

async fn edit(world: &World, method: reqwest::Method, token: &str, body: &Value) -> (u16, Value) {
    let url = world.base.join("v1/messages").unwrap();
    let request = world
        .http
        .request(method, url)
        .bearer_auth(token)
        .json(body);
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

#[tokio::test]
async fn people_change_and_delete_their_own_words_only() {
    let world = World::start().await;
    let mut pm = world.socket(Role::Pm).await;
    let root = world.say("one", None).await;
    take(&mut pm).await;
    let (ana, ben) = (world.ana.token.expose(), world.ben.token.expose());
    let change = json!({"channel": world.channel(), "ts": root, "text": "two & <more>"});
    let (status, answer) = edit(&world, reqwest::Method::PATCH, ben, &change).await;
    assert_eq!(
        (status, &answer["error"]),
        (400, &json!("cant_update_message"))
    );
    let agent = world.repo.agents[&Role::Pm].bot.expose();
    let (status, _) = edit(&world, reqwest::Method::PATCH, agent, &change).await;
    assert_eq!(status, 403);
    let (status, answer) = edit(&world, reqwest::Method::PATCH, ana, &change).await;
    assert_eq!(status, 200, "{answer}");
    let event = take(&mut pm).await.payload["event"].clone();
    assert_eq!(event["subtype"], "message_changed");
    assert_eq!(event["message"]["text"], "two &amp; &lt;more&gt;");
    assert_eq!(event["message"]["edited"]["user"], json!(world.ana.user));
    assert_eq!(event["previous_message"]["text"], "one");
    let delete = json!({"channel": world.channel(), "ts": root});
    let (status, _) = edit(&world, reqwest::Method::DELETE, ben, &delete).await;
    assert_eq!(status, 400);
    let (status, _) = edit(&world, reqwest::Method::DELETE, ana, &delete).await;
    assert_eq!(status, 200);
    let event = take(&mut pm).await.payload["event"].clone();
    assert_eq!(
        (&event["subtype"], &event["deleted_ts"]),
        (&json!("message_deleted"), &json!(root))
    );
}

#[tokio::test]
async fn a_mention_of_the_app_is_two_events() {
    let world = World::start().await;
    let mut pm = world.socket(Role::Pm).await;
    world.say("@codebutler coder please", None).await;
    let first = take(&mut pm).await;
    assert_eq!(text_of(&first), "<@U0BUTLER> coder please");
    assert_eq!(first.stamp.clone().unwrap().to, [Role::Coder]);
    let second = take(&mut pm).await;
    assert_eq!(second.payload["event"]["type"], "app_mention");
    assert_eq!(second.payload["event"]["ts"], first.payload["event"]["ts"]);
    assert_ne!(second.event_id(), first.event_id());
    assert_eq!(
        second.stamp.unwrap().kind,
        StampKind::Other,
        "agents go by the message"
    );
}

/// The next event of this name that a person's page is sent.
async fn told(answer: &mut reqwest::Response, name: &str) -> Value {
    let mut text = String::new();
    let reading = async {
        loop {
            let piece = answer.chunk().await.unwrap().unwrap();
            text.push_str(std::str::from_utf8(&piece).unwrap());
            let event = text
                .split("\n\n")
                .find(|one| one.contains(&format!("event: {name}\n")));
            if let Some(data) = event.and_then(|one| one.split("data: ").nth(1)) {
                return serde_json::from_str(data.lines().next().unwrap()).unwrap();
            }
        }
    };
    timeout(PATIENCE, reading).await.unwrap()
}

async fn page_of(world: &World, token: &str) -> reqwest::Response {
    let url = world.base.join("v1/events").unwrap();
    world.http.get(url).bearer_auth(token).send().await.unwrap()
}

#[tokio::test]
async fn a_command_reaches_the_agents_and_its_answer_the_person() {
    let world = World::start().await;
    let mut pm = world.socket(Role::Pm).await;
    let mut ana = page_of(&world, world.ana.token.expose()).await;
    let mut ben = page_of(&world, world.ben.token.expose()).await;
    let body = json!({"channel": world.channel(), "command": "/pm", "text": "status"});
    let (status, answer) = world.person(&world.ana, "v1/commands", &body).await;
    assert_eq!(status, 200, "{answer}");
    let heard = take(&mut pm).await;
    assert_eq!(heard.kind, EnvelopeKind::SlashCommands);
    assert_eq!(heard.payload["command"], "/pm");
    assert_eq!(heard.payload["user_id"], json!(world.ana.user));
    let url = heard.payload["response_url"].as_str().unwrap();
    let answer = world
        .http
        .post(url)
        .json(&json!({"text": "all well"}))
        .send()
        .await;
    assert_eq!(answer.unwrap().status(), 200);
    assert_eq!(told(&mut ana, "ephemeral").await["text"], "all well");
    for odd in ["pm", "/", "/Bad one", "/<b>"] {
        let body = json!({"channel": world.channel(), "command": odd});
        let (status, _) = world.person(&world.ana, "v1/commands", &body).await;
        assert_eq!(status, 400, "{odd}");
    }
    // A whisper is for one person: ben's page hears his own and not the one before.
    // It passes the gate like everything else.
    let web = world.web(Role::Pm);
    for (user, text) in [
        (&world.ana.user, "for ana".to_owned()),
        (
            &world.ben.user,
            format!("for ben {}", crate::world::secret()),
        ),
    ] {
        let args = json!({"channel": world.channel(), "user": user, "text": text});
        web.call("chat.postEphemeral", args).await.unwrap();
    }
    let whisper = told(&mut ben, "ephemeral").await;
    let text = whisper["text"].as_str().unwrap();
    assert!(
        text.starts_with("for ben") && !text.contains(&crate::world::secret()),
        "{text}"
    );
    let thread = world.get(&world.ana, "v1/channels").await;
    assert!(!thread.to_string().contains("for ana"));
}
