//! A machine whose kernel confines less: no namespaces, as for an ordinary user in many
//! containers, or neither namespaces nor Landlock. `doctor` says so, every command asks
//! and then runs, and the team's own git goes on.

use crate::{
    scratch::{Scratch, ran},
    team::{Team, says, weaker},
};

#[test]
fn doctor_says_what_the_kernel_lacks_and_what_follows() {
    for (missing, level, words) in [
        ("namespaces", "warning", "Landlock only"),
        ("everything", "failed", "runs unconfined when approved"),
    ] {
        let scratch = Scratch::new();
        let mut command = scratch.codebutler(&[]);
        command.args(weaker(missing)).args(["doctor", "--json"]);
        let run = ran(&mut command);
        let found: serde_json::Value = serde_json::from_str(&run.out).unwrap();
        let list = found.as_array().unwrap();
        let sandbox = list.iter().find(|one| one["name"] == "sandbox").unwrap();
        assert_eq!(sandbox["level"], level, "{sandbox}");
        let text = sandbox.to_string();
        assert!(
            text.contains(words) && text.contains("every command asks"),
            "{text}"
        );
    }
}

async fn goes_on(missing: &'static str) {
    let team = Team::start_without(missing, include_str!("scenarios/weaker.yaml")).await;
    let root = team.say("say hello").await;
    team.press(&root, "approve").await;
    let asks = "cannot confine commands fully";
    let thread = team
        .until(&root, "the card", |thread| says(thread, asks))
        .await;
    assert!(says(&thread, "echo made > made.txt"), "{thread:#}");
    team.press_on(&root, 1, "approve").await;
    let question = "Is this the greeting you meant?";
    team.until(&root, "the review", |thread| says(thread, question))
        .await;
    let branches = team.scratch.remote_branches();
    let own = branches
        .iter()
        .find(|name| name.contains("say-hello"))
        .unwrap();
    for (file, text) in [("hello.txt", "hello\n"), ("made.txt", "made\n")] {
        assert_eq!(team.scratch.remote_file(own, file).as_deref(), Some(text));
    }
    let told = team
        .written()
        .contains("git on working trees runs without a sandbox");
    assert_eq!(told, missing == "everything", "{}", team.written());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_namespaces_a_story_asks_for_commands_and_goes_on() {
    goes_on("namespaces").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_anything_a_story_asks_for_commands_and_goes_on() {
    goes_on("everything").await;
}
