//! The demo's scripted model among people who do not keep to the script: at any
//! time whatever is typed gets an answer, and the story goes on.

use butler_rehearsal::Scenario;
use serde_json::Value;

use crate::{
    said::{ended, texts},
    team::{Team, button, says},
};

const FEATURE: &str = include_str!("../../demo/scenarios/feature.yaml");
const BUGFIX: &str = include_str!("../../demo/scenarios/bugfix.yaml");
const CLEANUP: &str = include_str!("../../demo/scenarios/cleanup.yaml");

/// The stories as the demo plays them.
pub(crate) fn stories() -> Vec<Scenario> {
    let shared = include_str!("../../demo/scenarios/shared.yaml");
    let shared = Scenario::parse(shared).unwrap();
    let stories = [FEATURE, BUGFIX, CLEANUP].map(|text| Scenario::parse(text).unwrap());
    stories
        .map(|story| story.with_shared(&shared))
        .into_iter()
        .collect()
}

/// Says something in the thread and waits until somebody has answered.
async fn answered(team: &Team, root: &str, words: &str) -> Value {
    let before = texts(&team.thread(root).await.unwrap()).len();
    team.reply(root, words).await;
    let answer = |thread: &Value| {
        let said = texts(thread);
        let after = said.iter().skip(before);
        after.into_iter().any(|text| {
            text.contains("script") || text.contains("waits for your click") || again(text)
        })
    };
    let what = format!("an answer to “{words}”");
    team.until(root, &what, answer).await
}

/// Words after Hold bring the card back instead.
fn again(text: &str) -> bool {
    text.contains("put it before them again") || text.starts_with("Ready to merge")
}

fn has(thread: &Value, ending: &str) -> bool {
    button(thread, ending).is_some()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_typed_is_answered_and_the_story_goes_on() {
    let team = Team::start_playing(stories(), false).await;
    let root = team.say(stories()[2].request()).await;
    let at = |ending: &'static str| move |thread: &Value| has(thread, ending);
    team.until(&root, "the plan", at(":approve")).await;
    answered(&team, &root, "what does the project do?").await;
    answered(&team, &root, "and who are you?").await;
    team.press(&root, "approve").await;
    let asked = |thread: &Value| says(thread, "May I run this?");
    team.until(&root, "the command", asked).await;
    answered(&team, &root, "why would you do that?").await;
    answered(&team, &root, "I am not sure").await;
    team.press(&root, "reject").await;
    team.until(&root, "the merge card", at(":merge")).await;
    answered(&team, &root, "@codebutler.coder are you done?").await;
    answered(&team, &root, "@codebutler.reviewer is it good?").await;
    answered(&team, &root, "@codebutler.lead what is left?").await;
    answered(&team, &root, "@codebutler.artist draw me a sheep").await;
    team.press(&root, "hold").await;
    answered(&team, &root, "let us merge it after all").await;
    team.until(&root, "the card again", at(":merge")).await;
    team.press(&root, "merge").await;
    team.until(&root, "the report", ended).await;
    let thread = answered(&team, &root, "thank you").await;
    let kept = texts(&thread);
    assert!(
        kept.iter()
            .any(|text| text.contains("nothing in it was touched")),
        "{kept:#?}"
    );
}

/// Notes that are collected become a request that the stories understand.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_draft_of_a_story_starts_the_story() {
    let team = Team::start_playing(stories(), false).await;
    let root = team.say("!draft add a --json flag to list").await;
    team.reply(&root, "other programs should read the notes")
        .await;
    team.reply(&root, "!done").await;
    let drafted = |thread: &Value| {
        let said = texts(thread);
        said.iter().any(|text| {
            text.contains("add a --json flag to list") && text.contains("other programs should")
        })
    };
    let thread = team.until(&root, "the request", drafted).await;
    let messages = thread["messages"].as_array().unwrap().iter();
    let mut actions = messages.filter_map(|one| {
        let (_, action) = button(&serde_json::json!({"messages": [one]}), "")?;
        action.starts_with("cb-draft-send").then_some(action)
    });
    let send = actions.next().unwrap();
    team.press_action(&root, &send).await;
    let planned = |thread: &Value| has(thread, ":approve") && says(thread, "Add list --json");
    team.until(&root, "the plan", planned).await;
}

/// Stopped in the middle, the story goes on from there when it is told to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_story_goes_on() {
    let team = Team::start_playing(stories(), false).await;
    let root = team.say(stories()[1].request()).await;
    team.press(&root, "approve").await;
    let at_work = || team.log(&root, "coder").contains("\"tool_intent\"");
    team.wait("the Coder's first call", at_work).await;
    team.reply(&root, "stop").await;
    let stopped = || team.log(&root, "coder").contains("\"how\":\"stopped\"");
    team.wait("the stop", stopped).await;
    team.reply(&root, "@codebutler.coder go on").await;
    team.press(&root, "merge").await;
    team.until(&root, "the report", ended).await;
}
