//! Commands, shortcuts and modals of apps on the page, without script.

use butler_protocol::Role;
use serde_json::{Value, json};

use crate::{
    page::{Browser, origin},
    world::{World, take},
};

fn view(error: bool) -> Value {
    let plain = |text: &str| json!({"type": "plain_text", "text": text});
    let label = if error { "Why again" } else { "Why" };
    json!({"type": "modal", "callback_id": "form", "title": plain("Deploy it"),
        "submit": plain("Go"), "notify_on_close": true, "blocks": [
            {"type": "input", "block_id": "why", "label": plain(label),
                "element": {"type": "plain_text_input", "action_id": "reason"}},
            {"type": "actions", "block_id": "more", "elements": [
                {"type": "button", "action_id": "look", "text": plain("Look")}]}]})
}

#[tokio::test]
async fn a_modal_of_an_app_is_filled_in_sent_and_closed_on_the_page() {
    let world = World::start().await;
    let browser = Browser::login(&world).await;
    let channel = format!("c/{}", world.channel());
    let here = origin(&world);
    let mut app = world.socket(Role::Coder).await;
    assert!(!browser.get(&channel).await.contains("Slash command"));
    // One of Slack's own clients listens.
    let store = rusqlite::Connection::open(world.dir.path().join("hub.sqlite3")).unwrap();
    store
        .execute("UPDATE agents SET foreign_client = 1", [])
        .unwrap();
    assert!(browser.get(&channel).await.contains("Slash command"));

    let apps = format!("{channel}/apps");
    browser
        .submit(&apps, &[("command", "/deploy now")], &here)
        .await;
    let typed = take(&mut app).await.payload;
    assert_eq!(
        (&typed["command"], &typed["text"]),
        (&json!("/deploy"), &json!("now"))
    );
    let open = json!({"trigger_id": typed["trigger_id"], "view": view(false)});
    let opened = world
        .web(Role::Coder)
        .attempt("views.open", open)
        .await
        .unwrap()
        .body;
    let id = opened["view"]["id"].as_str().unwrap().to_owned();
    for page in [&channel, "board", "nav"] {
        let shown = browser.get(page).await;
        assert!(
            shown.contains("Deploy it") && shown.contains(">Go</button>"),
            "{page}: {shown}"
        );
    }

    let modal = format!("modals/{id}");
    let field = r#"["why","reason"]"#;
    browser
        .submit(
            &modal,
            &[(field, "because"), ("press", r#"["more","look"]"#)],
            &here,
        )
        .await;
    let pressed = take(&mut app).await.payload;
    assert_eq!(pressed["type"], "block_actions");
    assert_eq!(pressed["actions"][0]["action_id"], "look");
    let update = json!({"view_id": id, "view": view(true)});
    world
        .web(Role::Coder)
        .attempt("views.update", update)
        .await
        .unwrap();
    let shown = browser.get(&channel).await;
    assert!(shown.contains("Why again"), "{shown}");
    assert!(
        shown.contains("value=\"because\""),
        "what was filled in stays: {shown}"
    );

    browser
        .submit(
            &modal,
            &[(field, "because of it"), ("press", "send")],
            &here,
        )
        .await;
    let sent = take(&mut app).await.payload;
    assert_eq!(sent["type"], "view_submission");
    let value = &sent["view"]["state"]["values"]["why"]["reason"]["value"];
    assert_eq!(value, "because of it");
    browser.submit(&modal, &[("press", "close")], &here).await;
    assert_eq!(take(&mut app).await.payload["type"], "view_closed");
    assert!(!browser.get(&channel).await.contains("Deploy it"));

    // A shortcut, of the app and on a message.
    let root = world.say("look at this", None).await;
    take(&mut app).await;
    browser
        .submit(&apps, &[("callback_id", "everywhere")], &here)
        .await;
    assert_eq!(take(&mut app).await.payload["type"], "shortcut");
    browser
        .submit(
            &apps,
            &[("callback_id", "here"), ("ts", root.as_str())],
            &here,
        )
        .await;
    let used = take(&mut app).await.payload;
    assert_eq!(
        (&used["type"], &used["callback_id"]),
        (&json!("message_action"), &json!("here"))
    );
    assert_eq!(used["message"]["text"], "look at this");
    assert_eq!(
        browser
            .submit(&apps, &[("command", "no slash")], &here)
            .await
            .as_u16(),
        400
    );
}
