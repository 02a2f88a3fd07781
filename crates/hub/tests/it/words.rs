//! Bare words that answer a card, and the greeting of a workspace.

use butler_hub::Tokens;
use butler_protocol::{Choice, DecisionKind, MessageTs, RequestId, Role, StampKind};
use serde_json::json;

use crate::world::{World, card, subject, take, text_of};

async fn ask(world: &World, root: &MessageTs, id: &str, kind: DecisionKind) {
    let mut post = world.post("", Some(root), &format!("card {id}"));
    let about = subject(kind, "body");
    card(&world.control(Role::Pm), &mut post, id, &about).await;
    world.web(Role::Pm).post(&post).await.unwrap();
}

async fn choice(world: &World, id: &str) -> Option<Choice> {
    let view = world.control(Role::Pm).decision(&RequestId::new(id)).await;
    view.unwrap().decided.map(|decision| decision.choice)
}

#[tokio::test]
async fn a_word_answers_the_one_open_card_and_wakes_no_model() {
    let mut world = World::start().await;
    let mut coder = world.socket(Role::Coder).await;
    let root = world.say("build it", None).await;
    take(&mut coder).await;
    ask(&world, &root, "plan01", DecisionKind::Plan).await;
    take(&mut coder).await;
    world.say("yes, but smaller", Some(&root)).await;
    assert_eq!(
        take(&mut coder).await.stamp.unwrap().kind,
        StampKind::Message
    );
    assert_eq!(choice(&world, "plan01").await, None);
    world.say("sí", Some(&root)).await;
    assert_eq!(choice(&world, "plan01").await, Some(Choice::Approve));
    assert_eq!(
        take(&mut coder).await.stamp.unwrap().kind,
        StampKind::Decision
    );
    let word = take(&mut coder).await;
    assert_eq!(text_of(&word), "sí");
    assert_eq!(word.stamp.unwrap().kind, StampKind::Other);
    world.down().await;
}

#[tokio::test]
async fn with_several_cards_open_only_merge_is_unambiguous() {
    let mut world = World::start().await;
    let root = world.say("build it", None).await;
    ask(&world, &root, "learn1", DecisionKind::Learning).await;
    ask(&world, &root, "merge1", DecisionKind::Merge).await;
    ask(&world, &root, "comma1", DecisionKind::Command).await;
    for word in ["yes", "no", "ok"] {
        world.say(word, Some(&root)).await;
    }
    for id in ["learn1", "merge1", "comma1"] {
        assert_eq!(choice(&world, id).await, None, "{id}");
    }
    world.say("done", Some(&root)).await;
    assert_eq!(choice(&world, "merge1").await, Some(Choice::Merge));
    // Nobody approves a command by a bare word, also when it is the only card.
    let other = world.say("run it", None).await;
    ask(&world, &other, "comma2", DecisionKind::Command).await;
    world.say("yes", Some(&other)).await;
    assert_eq!(choice(&world, "comma2").await, None);
    world.down().await;
}

#[tokio::test]
async fn a_greeting_beside_the_store_is_shown_with_its_requests() {
    let mut world = World::start().await;
    world.down().await;
    let welcome = json!({"banner": "Only a <test>", "requests": ["add a \"flag\""]});
    std::fs::write(world.dir.path().join("welcome.json"), welcome.to_string()).unwrap();
    world.up().await;
    let code = Tokens::open(world.dir.path())
        .unwrap()
        .login_link()
        .unwrap();
    let origin = world.base.as_str().trim_end_matches('/').to_owned();
    let login = world
        .http
        .post(world.base.join("login").unwrap())
        .header("origin", origin)
        .form(&[("code", code.expose())])
        .send()
        .await
        .unwrap();
    let cookie = login.headers()["set-cookie"].to_str().unwrap().to_owned();
    let page = world
        .http
        .get(world.base.join(&format!("c/{}", world.channel())).unwrap())
        .header("cookie", cookie.split(';').next().unwrap())
        .send()
        .await
        .unwrap();
    let page = page.text().await.unwrap();
    assert!(page.contains("Only a &lt;test&gt;"), "{page}");
    assert!(page.contains("value=\"add a &quot;flag&quot;\""), "{page}");
    world.down().await;
}
