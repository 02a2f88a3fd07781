//! The page in a real Chromium. What drives it lives in a folder made by
//! `tests/browser/setup.sh <dir>` and named by `CODEBUTLER_BROWSER_DIR`.

use std::{path::PathBuf, process::Stdio};

use butler_hub::Tokens;
use butler_protocol::{AgentFacts, DecisionKind, MessageTs, RequestId, Role, Standing};
use serde_json::{Value, json};
use tokio::{process::Command, time::timeout};

use crate::world::{PATIENCE, World, card, subject, take};

/// Sets a mark on the window and asks for a dialog, if ever it runs.
const PROBE: &str = "\"'><img src=x onerror=\"window.hacked=1;alert(1)\"><script>window.hacked=1</script><svg onload=alert(1)>";
/// As much of it as Slack lets a button or an option say.
const SHORT_PROBE: &str = "\"'><img src=x onerror=\"window.hacked=1\"><svg onload=window.hacked=1>";

/// Where the driver is. Without it the test is skipped at home, and fails where
/// everything must be tried.
#[expect(clippy::print_stderr, reason = "a skipped test must say so")]
pub(crate) fn driver() -> Option<PathBuf> {
    if let Some(dir) = std::env::var_os("CODEBUTLER_BROWSER_DIR") {
        return Some(dir.into());
    }
    assert!(
        std::env::var("CI").as_deref() != Ok("true"),
        "CODEBUTLER_BROWSER_DIR is not set; crates/hub/tests/browser/setup.sh <dir> makes the folder"
    );
    eprintln!(
        "SKIPPED: no browser; run crates/hub/tests/browser/setup.sh <dir>, set CODEBUTLER_BROWSER_DIR"
    );
    None
}

/// A thread with probes in every place that people and models fill, and for each
/// size a card and fields of its own.
async fn seed(world: &World) -> MessageTs {
    let mut tokens = Tokens::open(world.dir.path()).unwrap();
    let mallory = tokens.ensure_person(PROBE).unwrap();
    let body = json!({"channel": world.channel(), "text": PROBE});
    let (status, answer) = world.person(&mallory, "v1/messages", &body).await;
    assert_eq!(status, 200, "{answer}");
    let root: MessageTs = answer["ts"].as_str().unwrap().parse().unwrap();
    attach(world, &root).await;
    let pm = world.web(Role::Pm);
    let mut post = world.post(PROBE, Some(&root), "probe");
    post.username = Some(PROBE.into());
    post.blocks = Some(probes());
    pm.post(&post).await.unwrap();
    let fence = world.post(
        &format!("```js\n{PROBE}\n```\n<{PROBE}|x> `{PROBE}`"),
        Some(&root),
        "fence",
    );
    pm.post(&fence).await.unwrap();
    for size in ["desktop", "phone"] {
        let mut post = world.post("fields", Some(&root), &format!("fields-{size}"));
        post.blocks = Some(fields(size));
        pm.post(&post).await.unwrap();
        let mut post = world.post("", Some(&root), &format!("card-{size}"));
        post.username = Some("codebutler.pm".into());
        let plan = subject(DecisionKind::Plan, &format!("Plan at {size}"));
        let id = format!("plan{size}");
        card(&world.control(Role::Pm), &mut post, &id, &plan).await;
        pm.post(&post).await.unwrap();
    }
    root
}

/// A file whose name is a probe.
async fn attach(world: &World, root: &MessageTs) {
    let part = reqwest::multipart::Part::text(PROBE).file_name(format!("{PROBE}.svg"));
    let form = reqwest::multipart::Form::new()
        .text("channel", world.channel().to_string())
        .text("thread_ts", root.to_string())
        .part("file", part);
    let request = world
        .http
        .post(world.base.join("v1/messages").unwrap())
        .bearer_auth(world.ana.token.expose())
        .multipart(form);
    assert_eq!(request.send().await.unwrap().status(), 200);
}

fn text(kind: &str, text: &str) -> Value {
    json!({"type": kind, "text": text})
}

fn probes() -> Value {
    let option = json!({"text": text("plain_text", SHORT_PROBE), "value": PROBE, "description": text("plain_text", PROBE)});
    json!([
        {"type": "header", "text": text("plain_text", PROBE)},
        {"type": "section", "text": text("mrkdwn", PROBE), "fields": [text("mrkdwn", PROBE)],
         "accessory": {"type": "button", "action_id": PROBE, "value": PROBE, "url": "javascript:alert(1)",
            "text": text("plain_text", SHORT_PROBE)}},
        {"type": "markdown", "text": format!("# {PROBE}\n[x](javascript:alert(1)) ![y](data:text/html,x)\n\n```{PROBE}\n{PROBE}\n```")},
        {"type": "context", "elements": [text("mrkdwn", PROBE)]},
        {"type": "image", "image_url": "javascript:alert(1)", "alt_text": PROBE},
        {"type": "input", "block_id": PROBE, "label": text("plain_text", PROBE), "hint": text("plain_text", PROBE),
         "element": {"type": "plain_text_input", "action_id": "i", "initial_value": PROBE,
            "placeholder": text("plain_text", PROBE)}},
        {"type": "actions", "elements": [
            {"type": "checkboxes", "action_id": "c", "options": [option]},
            {"type": "static_select", "action_id": "s", "options": [option], "placeholder": text("plain_text", PROBE)},
            {"type": "radio_buttons", "action_id": "r", "options": [option]}]},
    ])
}

fn fields(size: &str) -> Value {
    let option =
        |label: &str, value: &str| json!({"text": text("plain_text", label), "value": value});
    json!([
        {"type": "section", "text": text("mrkdwn", "*Pick* what you like")},
        {"type": "input", "block_id": "ticks", "label": text("plain_text", "Which"),
         "element": {"type": "checkboxes", "action_id": "tick",
            "options": [option("One", "1"), option("Two", "2")]}},
        {"type": "input", "block_id": "reason", "label": text("plain_text", &format!("Why at {size}")),
         "element": {"type": "plain_text_input", "action_id": "why"}},
        {"type": "actions", "elements": [{"type": "button", "action_id": format!("send-{size}"),
            "text": text("plain_text", "Send")}]},
    ])
}

/// More replies than a page holds at first.
async fn seed_long(world: &World) -> MessageTs {
    let root = world.say("a long thread", None).await;
    for number in 0..120 {
        world.say(&format!("reply {number}."), Some(&root)).await;
    }
    root
}

/// A person at work at one size, in the seeded thread and in the long one.
async fn drive(dir: &PathBuf, world: &World, [root, long]: [&MessageTs; 2], size: &str) {
    let more = [
        ("CHANNEL", world.channel().to_string()),
        ("ROOT", root.to_string()),
        ("LONG", long.to_string()),
        (
            "BOT_TOKEN",
            world.repo.agents[&Role::Pm].bot.expose().to_owned(),
        ),
    ];
    play(dir, world, "workspace.mjs", size, &more).await;
}

/// A script at one size, logged in as ana.
pub(crate) async fn play(
    dir: &PathBuf,
    world: &World,
    script: &str,
    size: &str,
    more: &[(&str, String)],
) {
    let code = Tokens::open(world.dir.path())
        .unwrap()
        .login_link()
        .unwrap();
    let scripts = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    let mut command = Command::new("node");
    command
        .arg(scripts.join(script))
        .env("BROWSER_DIR", dir)
        .env("HUB", world.base.as_str())
        .env(
            "LOGIN",
            format!("{}login?code={}", world.base, code.expose()),
        )
        .envs(more.iter().map(|(name, value)| (name, value)))
        .env("SIZE", size)
        .kill_on_drop(true)
        .stdin(Stdio::null());
    let output = timeout(PATIENCE * 3, command.output())
        .await
        .unwrap()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success() && text(&output.stdout).contains("ok"),
        "{size}: {}\n{}\n{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
}

/// What the clicks left behind, as the agents and the records have it.
async fn assert_done(world: &World, root: &MessageTs, size: &str) {
    let view = world
        .get(
            &world.ana,
            &format!("v1/threads/{}/{root}", world.channel()),
        )
        .await;
    let messages = view["messages"].as_array().unwrap();
    let picture = messages
        .iter()
        .find(|one| one["text"] == format!("a picture at {size} size"))
        .unwrap();
    assert_eq!(picture["files"][0]["mimetype"], "image/png");
    assert_eq!(picture["reactions"][0]["name"], "tada");
    let request = RequestId::new(format!("plan{size}"));
    let decision = world.control(Role::Pm).decision(&request).await.unwrap();
    assert!(decision.decided.is_some(), "{size}");
    let history = format!("v1/channels/{}/messages", world.channel());
    let history = world.get(&world.ana, &history).await;
    assert!(
        history
            .to_string()
            .contains(&format!("a request at {size} size"))
    );
}

#[tokio::test]
async fn people_work_on_the_page_at_both_sizes() {
    let Some(dir) = driver() else { return };
    let world = World::start().await;
    let root = seed(&world).await;
    let long = seed_long(&world).await;
    let mut pm = world.socket(Role::Pm).await;
    for size in ["desktop", "phone"] {
        drive(&dir, &world, [&root, &long], size).await;
        assert_done(&world, &root, size).await;
        let action = format!("send-{size}");
        let payload = loop {
            let envelope = take(&mut pm).await;
            if envelope.payload["actions"][0]["action_id"] == action.as_str() {
                break envelope.payload;
            }
        };
        let values = &payload["state"]["values"];
        assert_eq!(values["ticks"]["tick"]["selected_options"][0]["value"], "2");
        assert_eq!(values["reason"]["why"]["value"], "because");
    }
}

/// A thread with a card for each size.
async fn with_cards(world: &World) -> MessageTs {
    let root = world.say("a plan, please", None).await;
    for size in ["desktop", "phone"] {
        let mut post = world.post("", Some(&root), &format!("card-{size}"));
        let plan = subject(DecisionKind::Plan, &format!("Plan at {size}"));
        let id = format!("plan{size}");
        card(&world.control(Role::Pm), &mut post, &id, &plan).await;
        world.web(Role::Pm).post(&post).await.unwrap();
    }
    root
}

#[tokio::test]
async fn people_with_different_rights_share_the_page() {
    let Some(dir) = driver() else { return };
    let world = World::start().await;
    let root = with_cards(&world).await;
    for size in ["desktop", "phone"] {
        let more = [
            ("CHANNEL", world.channel().to_string()),
            ("ROOT", root.to_string()),
        ];
        play(&dir, &world, "people.mjs", size, &more).await;
        let request = RequestId::new(format!("plan{size}"));
        let decision = world.control(Role::Pm).decision(&request).await.unwrap();
        let people = Tokens::open(world.dir.path()).unwrap().people().unwrap();
        let abe = people.iter().find(|one| one.name == format!("abe-{size}"));
        assert_eq!(decision.decided.unwrap().person.as_str(), abe.unwrap().id);
    }
}

#[tokio::test]
async fn a_plan_is_changed_on_its_card() {
    let Some(dir) = driver() else { return };
    let world = World::start().await;
    let root = with_cards(&world).await;
    let facts = AgentFacts {
        pool: vec!["cheap".into(), "strong".into()],
        ..AgentFacts::default()
    };
    world.control(Role::Coder).facts(&facts).await.unwrap();
    for size in ["desktop", "phone"] {
        let more = [
            ("CHANNEL", world.channel().to_string()),
            ("ROOT", root.to_string()),
        ];
        play(&dir, &world, "plan.mjs", size, &more).await;
        let request = RequestId::new(format!("plan{size}"));
        let view = world.control(Role::Pm).decision(&request).await.unwrap();
        let plan = view.edited.unwrap();
        assert_eq!(plan.steps[1].text, format!("and test it at {size}"));
        assert_eq!(plan.cap, Some(butler_protocol::Usd::from_cents(250)));
        assert_eq!(plan.model.as_deref(), Some("strong"));
        assert_eq!(view.decided.unwrap().sha256, plan.sha256());
    }
}

/// Every view at three widths, in light and dark: nothing serious for axe, nothing wider
/// than the screen. With `PICTURES=<dir>` the pictures of the documentation are taken.
#[tokio::test]
async fn every_view_is_well_made_at_every_width_and_in_both_schemes() {
    let Some(dir) = driver() else { return };
    let world = World::start().await;
    let (root, _) = crate::page_snapshots::story(&world).await;
    let mut tokens = Tokens::open(world.dir.path()).unwrap();
    tokens.invite("ben", Standing::Approver).unwrap();
    let more = [
        ("CHANNEL", world.channel().to_string()),
        ("ROOT", root.to_string()),
    ];
    play(&dir, &world, "views.mjs", "desktop", &more).await;
}

#[tokio::test]
async fn keys_lead_everywhere_and_decide_nothing() {
    let Some(dir) = driver() else { return };
    let world = World::start().await;
    let root = with_cards(&world).await;
    for size in ["desktop", "phone"] {
        let more = [
            ("CHANNEL", world.channel().to_string()),
            ("ROOT", root.to_string()),
            ("WORDS", "plan please".to_owned()),
        ];
        play(&dir, &world, "palette.mjs", size, &more).await;
    }
}

#[tokio::test]
async fn a_notification_is_asked_for_and_shown() {
    let Some(dir) = driver() else { return };
    for size in ["desktop", "phone"] {
        let world = World::start().await;
        let ready = world.dir.path().join("ready");
        let more = [("READY", ready.display().to_string())];
        let playing = play(&dir, &world, "notified.mjs", size, &more);
        let asking = async {
            while !ready.exists() {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
            let root = world.say(&format!("a wish at {size}"), None).await;
            let mut post = world.post("", Some(&root), "card");
            let plan = subject(DecisionKind::Plan, "Do it");
            card(&world.control(Role::Pm), &mut post, "plan01", &plan).await;
            world.web(Role::Pm).post(&post).await.unwrap();
        };
        tokio::join!(playing, asking);
    }
}

/// A document of one empty page.
const PDF: &str = "%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n\
2 0 obj\n<</Type/Pages/Kids[3 0 R]/Count 1>>\nendobj\n\
3 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>\nendobj\n\
trailer\n<</Size 4/Root 1 0 R>>\n%%EOF\n";

#[tokio::test]
async fn files_are_brought_and_shown_and_do_no_harm() {
    let Some(dir) = driver() else { return };
    let world = World::start().await;
    let root = world.say("look at these", None).await;
    for size in ["desktop", "phone"] {
        let more = [
            ("CHANNEL", world.channel().to_string()),
            ("ROOT", root.to_string()),
            ("PDF", PDF.to_owned()),
            (
                "BOT_TOKEN",
                world.repo.agents[&Role::Pm].bot.expose().to_owned(),
            ),
        ];
        play(&dir, &world, "files.mjs", size, &more).await;
    }
}
