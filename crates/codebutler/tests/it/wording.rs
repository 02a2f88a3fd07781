//! What people say instead of pressing, and what is answered without a model.

use serde_json::{Value, json};

use crate::team::{Team, says, story};

const STORY: &str = include_str!("../../demo/scenarios/json-flag.yaml");
const MODELS: &str = include_str!("scenarios/models.yaml");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn help_status_and_cost_ask_no_model_and_words_answer_cards() {
    let team = Team::start(STORY).await;
    let root = team.say("add a --json flag").await;
    let planned = |thread: &Value| story(thread).iter().any(|line| line.contains(": Plan"));
    team.until(&root, "the plan", planned).await;
    let calls = team.log(&root, "pm").matches("\"t\":\"assistant\"").count();
    for (word, answer) in [
        ("help", "nothing is built before you press Approve"),
        ("ayuda", "nothing is built before you press Approve"),
        ("Status?", "PM: waits for your decision"),
        ("cost", "total"),
        ("!aside lunch?", ""),
    ] {
        team.reply(&root, word).await;
        team.until(&root, word, |thread| says(thread, answer)).await;
    }
    let after = team.log(&root, "pm").matches("\"t\":\"assistant\"").count();
    assert_eq!(calls, after, "a model was asked");
    team.reply(&root, "sí").await;
    team.until(&root, "the merge card", |thread| {
        says(thread, "Ready to merge")
    })
    .await;
    team.reply(&root, "dale").await;
    let thread = team
        .until(&root, "the report", |thread| says(thread, "What it took"))
        .await;
    let people: Vec<_> = thread["decisions"].as_array().unwrap().iter().collect();
    assert!(
        people
            .iter()
            .all(|one| one["decided"]["person"].is_string()),
        "{people:?}"
    );
    assert_eq!(
        team.log(&root, "pm").matches("\"t\":\"assistant\"").count(),
        after
    );
    assert_eq!(team.model.left_over(), Vec::<String>::new());
}

/// With several cards open a bare word decides nothing; the person is asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bare_word_with_several_cards_open_asks_which() {
    let team = Team::start(include_str!("scenarios/learnings.yaml")).await;
    let root = team.say("add a --json flag").await;
    team.press(&root, "approve").await;
    team.until(&root, "the merge card", |thread| {
        says(thread, "Ready to merge")
    })
    .await;
    team.reply(&root, "no").await;
    let thread = team
        .until(&root, "the question", |thread| {
            says(thread, "Press the button on the one you mean")
        })
        .await;
    let open = thread["decisions"].as_array().unwrap().iter();
    assert_eq!(open.filter(|one| one["decided"].is_null()).count(), 4);
    // "merge" means one card only, however many others are open.
    team.reply(&root, "merge").await;
    team.until(&root, "the report", |thread| says(thread, "What it took"))
        .await;
}

/// A person takes another model for the PM, rejects a plan with one tap, rests
/// the team, and lets it go on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_model_a_rejection_in_one_tap_and_a_rest() {
    let team = Team::start_configured(MODELS, |config| {
        config["models"]["pm"]["pool"] = json!({"other": "rehearsal/pm-other"});
    })
    .await;
    let root = team.say("add something").await;
    let planned = |thread: &Value| says(thread, "First idea");
    team.until(&root, "the plan", planned).await;
    team.reply(&root, "!pm nonsense").await;
    team.until(&root, "the pool", |thread| says(thread, "I know no model"))
        .await;
    team.press(&root, "reject").await;
    team.until(&root, "the question", |thread| {
        says(thread, "Rejected. Why?")
    })
    .await;
    team.reply(&root, "!pause").await;
    team.until(&root, "the rest", |thread| {
        says(thread, "The team is paused")
    })
    .await;
    let calls = || team.log(&root, "pm").matches("\"t\":\"assistant\"").count();
    let before = calls();
    team.press_action(&root, "cb-why-big").await;
    let heard = || {
        team.log(&root, "pm")
            .contains("it is too big; propose less")
    };
    team.wait("the reason", heard).await;
    assert_eq!(calls(), before, "nobody works while the team rests");
    team.reply(&root, "!resume").await;
    team.until(&root, "the second plan", |thread| {
        says(thread, "Second idea")
    })
    .await;
}

/// A failed call is told with its reason and a button; the button goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_offers_retry_and_retry_goes_on() {
    let team = Team::start(include_str!("scenarios/refused.yaml")).await;
    let root = team.say("what is this?").await;
    team.until(&root, "the reason", |thread| says(thread, "cb-retry"))
        .await;
    team.press_action(&root, "cb-retry").await;
    team.until(&root, "the answer", |thread| says(thread, "It keeps notes"))
        .await;
}

/// In a closed thread people get answers, and no new plan.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_thread_answers_and_offers_a_new_one() {
    let scenario = STORY.replace(
        "  coder:\n",
        "    - expect: { any_user_contains: \"This thread is closed\" }\n      call:\n        - { tool: ProposePlan, with: { title: More, summary: More., steps: [\"More\"], criteria: [\"more\"], complexity: simple } }\n    - expect: { tool_result_contains: \"refused: this thread is closed\" }\n      say: That is a new matter. Write it in the channel and I start there.\n  coder:\n",
    );
    let team = Team::start(&scenario).await;
    let root = team.say("add a --json flag").await;
    team.press(&root, "approve").await;
    team.press(&root, "merge").await;
    team.until(&root, "the report", |thread| says(thread, "What it took"))
        .await;
    team.reply(&root, "and now the same for remove").await;
    team.until(&root, "the offer", |thread| {
        says(thread, "That is a new matter")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_not_on_the_list_is_told_so() {
    let team = Team::start_configured(STORY, |config| {
        config["limits"] = json!({"allowedUsers": ["U0NOBODY"]});
    })
    .await;
    let root = team.say("add a --json flag").await;
    let thread = team
        .until(&root, "the refusal", |thread| {
            says(thread, "limits.allowedUsers")
        })
        .await;
    assert_eq!(story(&thread).len(), 2, "{:#?}", story(&thread));
    assert_eq!(team.log(&root, "pm"), "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_shared_channel_only_a_mention_starts_work() {
    let team = Team::start_configured(STORY, |config| {
        config["slack"]["respondTo"] = json!("mention");
    })
    .await;
    let chat = team.say("add a --json flag").await;
    let asked = team.say("@codebutler add a --json flag").await;
    team.until(&asked, "the plan", |thread| {
        story(thread).iter().any(|line| line.contains(": Plan"))
    })
    .await;
    assert_eq!(team.log(&chat, "pm"), "", "nobody was asked there");
    // What Slack makes of a typed mention names a role as well.
    let direct = team.say("@codebutler coder are you there?").await;
    team.until(&direct, "the Coder", |_| {
        !team.log(&direct, "coder").is_empty()
    })
    .await;
    assert_eq!(team.log(&direct, "pm"), "");
    // Where work has begun a reply needs no mention.
    team.reply(&asked, "yes").await;
    team.until(&asked, "the merge card", |thread| {
        says(thread, "Ready to merge")
    })
    .await;
}
