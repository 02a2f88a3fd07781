//! What people do on the page beside talking: fields, reactions, Stop, notes
//! for one person, long threads.

use butler_protocol::{Activity, ActivityState, Role};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::{
    page::{Browser, origin},
    world::{World, take},
};

async fn with_fields(
    world: &World,
    root: &butler_protocol::MessageTs,
) -> butler_protocol::MessageTs {
    let option = |text: &str, value: &str| json!({"text": {"type": "plain_text", "text": text}, "value": value});
    let mut post = world.post("pick", Some(root), "fields");
    post.blocks = Some(json!([
        {"type": "section", "text": {"type": "mrkdwn", "text": "Pick"},
         "accessory": {"type": "checkboxes", "action_id": "tick",
            "options": [option("One", "1"), option("Two", "2")]}},
        {"type": "input", "label": {"type": "plain_text", "text": "Why"},
         "element": {"type": "plain_text_input", "action_id": "why"}},
        {"type": "actions", "block_id": "end", "elements": [
            {"type": "button", "action_id": "send", "value": "v",
             "text": {"type": "plain_text", "text": "Send"}}]},
    ]));
    world.web(Role::Pm).post(&post).await.unwrap().ts
}

#[tokio::test]
async fn checkboxes_and_inputs_reach_the_agent_with_their_state() {
    let world = World::start().await;
    let browser = Browser::login(&world).await;
    let root = world.say("hi", None).await;
    let ts = with_fields(&world, &root).await;
    let shown = browser.get(&format!("c/{}/{root}", world.channel())).await;
    assert!(
        shown.contains("type=\"checkbox\"") && shown.contains("data-dispatch"),
        "{shown}"
    );
    let mut pm = world.socket(Role::Pm).await;
    let path = format!("c/{}/press", world.channel());
    let form = [
        ("ts", ts.as_str()),
        ("root", root.as_str()),
        (r#"["b1","tick"]"#, "2"),
        (r#"["b1","tick"]"#, "not offered"),
        (r#"["b2","why"]"#, "because"),
        ("press", r#"["end","send"]"#),
    ];
    let status = browser.submit(&path, &form, &origin(&world)).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    let payload = loop {
        let envelope = take(&mut pm).await;
        if envelope.payload["type"] == "block_actions" {
            break envelope.payload;
        }
    };
    assert_eq!(payload["actions"][0]["action_id"], "send");
    assert_eq!(payload["actions"][0]["block_id"], "end");
    assert_eq!(payload["actions"][0]["value"], "v");
    let values = &payload["state"]["values"];
    let ticked = &values["b1"]["tick"]["selected_options"];
    assert_eq!(ticked.as_array().unwrap().len(), 1, "{values}");
    assert_eq!(ticked[0]["value"], "2");
    assert_eq!(values["b2"]["why"]["value"], "because");

    // The answer to a click is shown to the person who clicked, and only there.
    let answer = json!({"text": "for your eyes"});
    let url = payload["response_url"].as_str().unwrap();
    let sent = world.http.post(url).json(&answer).send().await.unwrap();
    assert_eq!(sent.status(), 200);
    let live = format!("c/{}/{root}/live", world.channel());
    assert!(browser.get(&live).await.contains("for your eyes"));
    let thread = format!("v1/threads/{}/{root}", world.channel());
    let bens = world.get(&world.ben, &thread).await;
    assert_eq!(bens["ephemerals"], json!([]));
    assert!(!bens["messages"].to_string().contains("for your eyes"));
}

#[tokio::test]
async fn a_note_for_one_person_is_seen_by_them_until_dismissed() {
    let world = World::start().await;
    let root = world.say("hi", None).await;
    let note = json!({"channel": world.channel(), "thread_ts": root, "text": "psst",
        "user": world.ben.user});
    let sent = world
        .http
        .post(world.base.join("api/chat.postEphemeral").unwrap())
        .bearer_auth(world.repo.agents[&Role::Pm].bot.expose())
        .json(&note);
    let answer: Value = sent.send().await.unwrap().json().await.unwrap();
    assert_eq!(answer["ok"], true, "{answer}");
    let thread = format!("v1/threads/{}/{root}", world.channel());
    let bens = world.get(&world.ben, &thread).await;
    assert_eq!(bens["ephemerals"][0]["text"], "psst");
    assert_eq!(
        world.get(&world.ana, &thread).await["ephemerals"],
        json!([])
    );
    let dismissal = json!({"channel": world.channel(), "ts": answer["message_ts"]});
    let foreign = world
        .person(&world.ana, "v1/ephemerals/dismiss", &dismissal)
        .await;
    assert_eq!(foreign.0, 404, "{foreign:?}");
    let own = world
        .person(&world.ben, "v1/ephemerals/dismiss", &dismissal)
        .await;
    assert_eq!(own.0, 200, "{own:?}");
    assert_eq!(
        world.get(&world.ben, &thread).await["ephemerals"],
        json!([])
    );
}

#[tokio::test]
async fn a_reaction_is_added_and_taken_back_by_the_same_button() {
    let world = World::start().await;
    let browser = Browser::login(&world).await;
    let root = world.say("hi", None).await;
    let path = format!("c/{}/react", world.channel());
    let form = [
        ("ts", root.as_str()),
        ("root", root.as_str()),
        ("name", "tada"),
    ];
    let live = format!("c/{}/{root}/live", world.channel());
    for expected in [true, false] {
        let status = browser.submit(&path, &form, &origin(&world)).await;
        assert_eq!(status, StatusCode::SEE_OTHER);
        let pressed = browser.get(&live).await.contains("aria-pressed=\"true\"");
        assert_eq!(pressed, expected);
    }
}

#[tokio::test]
async fn stop_is_there_while_somebody_works_and_says_stop() {
    let world = World::start().await;
    let browser = Browser::login(&world).await;
    let root = world.say("hi", None).await;
    let live = format!("c/{}/{root}/live", world.channel());
    assert!(!browser.get(&live).await.contains("/stop\""));
    let activity = Activity {
        thread: world.thread(&root),
        state: ActivityState::Working,
        step: Some("running <b>cargo test</b>".into()),
        lease_seconds: 30,
    };
    world
        .control(Role::Coder)
        .activity(&activity)
        .await
        .unwrap();
    let shown = browser.get(&live).await;
    assert!(
        shown.contains("running &lt;b&gt;cargo test") && shown.contains("/stop\""),
        "{shown}"
    );
    let mut coder = world.socket(Role::Coder).await;
    // Connected and working: the presence says so.
    let agents = world.get(&world.ana, "v1/agents").await;
    let coder_of = |all: &Value| {
        let all = all["agents"].as_array().unwrap().clone();
        all.into_iter().find(|one| one["role"] == "coder").unwrap()
    };
    let seen = coder_of(&agents);
    assert_eq!(seen["online"], true, "{seen}");
    assert_eq!(seen["working"][0]["thread"]["root"], root.as_str());
    let path = format!("c/{}/{root}/stop", world.channel());
    let status = browser.submit(&path, &[], &origin(&world)).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    loop {
        let envelope = take(&mut coder).await;
        if envelope.payload["event"]["text"] == "stop" {
            break;
        }
    }
    // It forgets who left.
    drop(coder);
    let gone = async {
        while coder_of(&world.get(&world.ana, "v1/agents").await)["online"] == true {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::world::PATIENCE, gone)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_long_thread_shows_its_newest_part_and_the_way_to_the_rest() {
    let world = World::start().await;
    let browser = Browser::login(&world).await;
    let root = world.say("the root of it", None).await;
    for number in 0..130 {
        world.say(&format!("reply {number}."), Some(&root)).await;
    }
    let path = format!("c/{}/{root}", world.channel());
    let shown = browser.get(&path).await;
    assert!(shown.contains("the root of it") && shown.contains("reply 129."));
    assert!(
        shown.contains("reply 30.") && !shown.contains("reply 29."),
        "the newest hundred"
    );
    assert!(shown.contains("30 more"), "how many are left out");
    let link = shown.split("?before=").nth(1).unwrap();
    let before = link.split('"').next().unwrap();
    let older = browser.get(&format!("{path}?before={before}")).await;
    assert!(
        older.contains("reply 0.") && older.contains("reply 29.") && !older.contains("reply 30.")
    );
    let part = world
        .get(
            &world.ana,
            &format!("v1/threads/{}/{root}?limit=5", world.channel()),
        )
        .await;
    assert_eq!(part["messages"].as_array().unwrap().len(), 6);
    assert_eq!(part["earlier"], 125);
}
