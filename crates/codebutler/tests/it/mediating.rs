//! When two do not agree, when a model does not answer, when a role would like to
//! be the person: what happens then is not up to them.

use serde_json::{Value, json};

use crate::{
    said::{ended, place, texts},
    team::{Team, says, story},
};

/// The Lead decides in one message, and the others go on from there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disagreement_goes_to_the_lead() {
    let team = Team::start(include_str!("scenarios/dispute.yaml")).await;
    let root = team.say("greet").await;
    team.press(&root, "approve").await;
    team.press(&root, "merge").await;
    let thread = team.until(&root, "the report", ended).await;
    let asked = place(&thread, "@codebutler.lead The Reviewer wants it louder");
    let decided = place(&thread, "@codebutler.coder The Coder: it stays");
    let approved = place(&thread, "round 2: approved");
    assert!(
        asked < decided && decided < approved,
        "{:#?}",
        story(&thread)
    );
}

/// Neither a message nor a hand-over of a role approves a plan, and without one
/// nothing is built.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_cannot_approve_a_plan() {
    let team = Team::start(include_str!("scenarios/own_plan.yaml")).await;
    let root = team.say("clean up").await;
    let open = |thread: &Value| thread["decisions"][0]["asked"]["request"].is_string();
    let thread = team.until(&root, "the plan", open).await;
    let card = thread["decisions"][0]["asked"]["request"].as_str().unwrap();
    team.reply(&root, &format!("@codebutler.coder look at card {card}"))
        .await;
    let tried = |thread: &Value| {
        let all = texts(thread);
        // At the end of a text: what the PM says about them may quote both.
        let tries = all
            .iter()
            .filter(|text| text.ends_with(&format!("approve {card}")));
        tries.count() == 2
    };
    team.until(&root, "both attempts", tried).await;
    team.reply(&root, "@codebutler.coder go on").await;
    let thread = team
        .until(&root, "the refusal", |thread| {
            says(thread, "I may not build yet")
        })
        .await;
    for decision in thread["decisions"].as_array().unwrap() {
        assert!(decision["decided"].is_null(), "{decision}");
    }
    let branches = team.scratch.root().join(".codebutler/branches");
    let built = std::fs::read_dir(branches).unwrap().flatten();
    let built = built.filter(|one| one.path().join("new.txt").exists());
    assert_eq!(built.count(), 0);
}

/// A model that is down is replaced by the other one, and the thread is told
/// once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_is_down_is_replaced_and_the_thread_is_told_once() {
    // It fails as often as the client asks before it gives up on a model.
    let team = Team::start_configured(include_str!("scenarios/fallback.yaml"), |config| {
        config["models"]["pm"]["default"] = json!("first/pm");
        config["models"]["pm"]["fallbackModel"] = json!("second/pm");
    })
    .await;
    let root = team.say("read it").await;
    let thread = team
        .until(&root, "the answer", |thread| says(thread, "I have read it"))
        .await;
    let told = texts(&thread);
    let told = told.iter().filter(|text| {
        text.contains("`first/pm` does not answer as it should") && text.contains("`second/pm`")
    });
    assert_eq!(told.count(), 1, "{:#?}", story(&thread));
    let calls = thread["records"].as_array().unwrap().iter();
    let calls = calls.map(|line| &line["entry"]["record"]);
    let answered: Vec<&Value> = calls.filter(|one| one["t"] == "assistant").collect();
    assert!(
        answered.iter().all(|one| one["model"] == "second/pm"),
        "{answered:?}"
    );
}

/// A way out to a model that the endpoint does not have is told, with the name that
/// was probably meant, and never taken.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fallback_that_the_endpoint_does_not_have_is_told_once_and_never_asked() {
    let team = Team::start_configured(include_str!("scenarios/fallback.yaml"), |config| {
        config["models"]["pm"]["default"] = json!("first/pm");
        config["models"]["pm"]["fallbackModel"] = json!("secnd/pm");
    })
    .await;
    let root = team.say("read it").await;
    let thread = team
        .until(&root, "the reason", |thread| says(thread, "cb-retry"))
        .await;
    let told =
        "no model `secnd/pm`, which `models.pm.fallbackModel` names; did you mean `second/pm`";
    assert!(says(&thread, told), "{:#?}", texts(&thread));
    assert!(!team.log(&root, "pm").contains("\"model\":\"secnd/pm\""));

    // The endpoint's trouble is over.
    team.press_action(&root, "cb-retry").await;
    let thread = team
        .until(&root, "the answer", |thread| says(thread, "I have read it"))
        .await;
    let told = texts(&thread)
        .into_iter()
        .filter(|text| text.contains(told));
    assert_eq!(told.count(), 1, "{:#?}", story(&thread));
}
