//! What a story may cost in calls to the model when nobody wastes any: whatever
//! makes more of them necessary is in the runtime, and a person pays for it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    said::{ended, texts},
    team::{Team, command, says},
};

/// The answers of models in a thread, by role.
fn calls(thread: &Value) -> BTreeMap<String, usize> {
    let mut calls = BTreeMap::new();
    for line in thread["records"].as_array().unwrap() {
        if line["entry"]["record"]["t"] == "assistant" {
            let role = line["role"].as_str().unwrap().to_owned();
            *calls.entry(role).or_default() += 1;
        }
    }
    calls
}

fn assert_within(thread: &Value, budget: usize) {
    let calls = calls(thread);
    let all: usize = calls.values().sum();
    assert!(
        all > 0 && all <= budget,
        "{all} of {budget} calls: {calls:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_takes_three_calls() {
    let team = Team::start(include_str!("scenarios/ideal_question.yaml")).await;
    let root = team
        .say("what does remove do with a number that is not there?")
        .await;
    let answered = |thread: &Value| says(thread, "is ignored");
    let thread = team.until(&root, "the answer", answered).await;
    assert_within(&thread, 3);
    assert_eq!(team.model.left_over(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_fix_takes_eight_calls() {
    let team = Team::start(include_str!("scenarios/ideal_fix.yaml")).await;
    let root = team.say("remove fails when there are no notes").await;
    team.press(&root, "approve").await;
    team.press(&root, "merge").await;
    let thread = team.until(&root, "the report", ended).await;
    assert_within(&thread, 8);
    assert_eq!(team.model.left_over(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_feature_with_a_review_round_takes_sixteen_calls() {
    let team = Team::start(include_str!("scenarios/ideal_feature.yaml")).await;
    let root = team.say("count the notes").await;
    team.press(&root, "approve").await;
    team.press(&root, "merge").await;
    let thread = team.until(&root, "the report", ended).await;
    assert_within(&thread, 16);
    assert_eq!(team.model.left_over(), Vec::<String>::new());
    // The second round is shown what is new, and nothing else.
    let log = team.log(&root, "reviewer");
    let changes: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("\"event\":\"change:"))
        .collect();
    let [first, second] = changes[..] else {
        panic!("{changes:#?}");
    };
    assert!(
        first.contains("+count() {") && !second.contains("+count() {"),
        "{second}"
    );
    the_bill_says_where_the_calls_went(&team, &root, &thread).await;
    // What the change is judged by is said once, in the first round.
    let said = texts(&thread);
    let protocol = said.iter().filter(|text| text.contains("Must always hold"));
    assert_eq!(protocol.count(), 1, "{said:#?}");
    let round_two = said.iter().find(|text| text.contains("round 2: approved"));
    assert!(!round_two.unwrap().contains("Risks"), "{round_two:?}");
}

/// One verdict was refused for a finding that came too late; the rest was work.
async fn the_bill_says_where_the_calls_went(team: &Team, root: &str, thread: &Value) {
    assert!(
        says(thread, "calls by what they went to: work "),
        "{thread:#}"
    );
    assert!(says(thread, "refused forms 1 ("), "{thread:#}");
    let output = command(team.scratch.root(), &team.home())
        .args(["cost", "--waste"])
        .output()
        .unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("refused forms         1 call "), "{shown}");
    let page = team.page(&format!("c/{}/{root}/cost", team.channel)).await;
    assert!(
        page.contains("What the calls went to") && page.contains("refused forms"),
        "{page}"
    );
}

/// A small model is offered little, fills in no form and looks back on nothing; the
/// thread ends all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn small_models_finish_with_few_tools_and_without_ceremony() {
    let form = |line: &&str| {
        let start = line.trim_start();
        ["invariants:", "risks:", "tests:", "findings:"]
            .iter()
            .any(|field| start.starts_with(field))
    };
    // A plan that is not simple: a usual Reviewer would owe the whole form.
    let scenario: Vec<&str> = include_str!("scenarios/ideal_fix.yaml")
        .lines()
        .filter(|line| !form(line))
        .collect();
    let scenario = scenario
        .join("\n")
        .replace("complexity: simple", "complexity: medium");
    let team = Team::start_configured(&scenario, |config| {
        for (_, model) in config["models"].as_object_mut().unwrap() {
            model["profile"] = "small".into();
        }
    })
    .await;
    let root = team.say("remove fails when there are no notes").await;
    team.press(&root, "approve").await;
    team.press(&root, "merge").await;
    let thread = team.until(&root, "the report", ended).await;
    assert_within(&thread, 8);
    for role in ["pm", "coder", "reviewer", "lead"] {
        let log = team.log(&root, role);
        let prompt = log
            .lines()
            .find(|line| line.contains("{\"t\":\"prompt\""))
            .unwrap();
        let prompt: Value = serde_json::from_str(prompt).unwrap();
        let tools = prompt["entry"]["record"]["tools"].as_array().unwrap();
        assert!((1..=8).contains(&tools.len()), "{role}: {}", tools.len());
        let fields = tools.iter().map(|tool| tool["parameters"].to_string());
        assert!(!fields.collect::<String>().contains("invariants"), "{role}");
    }
    let lead = team.log(&root, "lead");
    assert!(lead.contains("No look back is needed."), "{lead}");
    assert_eq!(team.model.left_over(), Vec::<String>::new());
}
