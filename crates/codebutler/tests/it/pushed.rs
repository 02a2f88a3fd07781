//! What is pushed to the default branch reaches a team that runs: at the next
//! activation, without a restart, and what loosens only by consent.

use std::fs;

use butler_testkit::Checkout;
use serde_json::{Value, json};

use crate::{
    steering::models,
    team::{Team, agree, says, story},
};

/// Somebody else's clone of the same remote.
struct Elsewhere(Checkout);

impl Elsewhere {
    fn of(team: &Team) -> Self {
        Self(team.scratch.clone_as("elsewhere"))
    }

    fn write(&self, name: &str, text: &str) {
        self.0.write(&format!(".codebutler/{name}"), text);
    }

    fn configure(&self, change: impl FnOnce(&mut Value)) {
        let file = self.0.root().join(".codebutler/config.json");
        let mut config = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        change(&mut config);
        self.write("config.json", &config.to_string());
    }

    fn push(&self) {
        self.0.commit("other rules");
        self.0.git(&["push", "--quiet", "origin", "HEAD:main"]);
    }
}

async fn ask(team: &Team, root: &str, words: &str, answer: &str) -> Value {
    team.reply(root, words).await;
    team.until(root, answer, |thread| says(thread, answer))
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_push_reaches_a_running_team_at_its_next_activation() {
    let scenario = "title: answers\nroles:\n  pm:\n    - say: The first answer.\n    - say: The second answer.\n    - say: The third answer.\n";
    let team = Team::start(scenario).await;
    let root = team.say("what is this?").await;
    team.until(&root, "an answer", |thread| {
        says(thread, "The first answer")
    })
    .await;
    let elsewhere = Elsewhere::of(&team);
    elsewhere.configure(|config| {
        config["models"]["pm"]["default"] = json!("other/pm");
        config["language"] = json!({"reply": "Portuguese"});
    });
    elsewhere.write("pm.md", "# PM\n\nRhyme where you can.\n");
    elsewhere.push();
    ask(&team, &root, "and then?", "The second answer").await;
    assert_eq!(models(&team.log(&root, "pm")), ["rehearsal/pm", "other/pm"]);
    let log = team.log(&root, "pm");
    for rule in ["Rhyme where you can.", "Answer people in Portuguese."] {
        assert!(log.contains(rule), "{rule} is in no prompt");
    }

    // What cannot be used is told once, and the last rules hold on.
    elsewhere.write("config.json", "{\"limits\": {\"reviewRounds\": \"many\"}}");
    elsewhere.push();
    let thread = ask(&team, &root, "and now?", "The third answer").await;
    assert!(
        says(&thread, "cannot be used") && says(&thread, "reviewRounds"),
        "{thread:#}"
    );
    assert_eq!(models(&team.log(&root, "pm")).last().unwrap(), "other/pm");

    // Who may ask for work is a rule like any other, for this very message.
    elsewhere.write(
        "config.json",
        "{\"limits\": {\"allowedUsers\": [\"U0ANA\"]}}",
    );
    elsewhere.push();
    let thread = ask(&team, &root, "one more?", "I may work only for the people").await;
    // Told once, by the role that a person spoke to.
    let told = story(&thread)
        .into_iter()
        .filter(|line| line.contains("cannot be used"));
    assert_eq!(told.count(), 1, "{thread:#}");
    assert_eq!(
        models(&team.log(&root, "pm")).len(),
        3,
        "the model was asked"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_push_loosens_waits_for_consent_and_then_holds_without_a_restart() {
    let scenario = "title: answers\nroles:\n  pm:\n    - say: The first answer.\n    - say: The second answer.\n    - say: The third answer.\n";
    let team = Team::start(scenario).await;
    let pid = team.pid("pm");
    let elsewhere = Elsewhere::of(&team);
    elsewhere.configure(|config| config["limits"] = json!({"maxCostPerThread": 2.5}));
    elsewhere.push();
    let root = team.say("what is this?").await;
    team.until(&root, "an answer", |thread| {
        says(thread, "The first answer")
    })
    .await;
    ask(&team, &root, "status", "of $2.50 spent").await;

    elsewhere.configure(|config| config["limits"] = json!({"maxCostPerThread": 70}));
    elsewhere.push();
    ask(&team, &root, "and then?", "The second answer").await;
    ask(&team, &root, "status", "of $5.00 spent").await;

    agree(&team.scratch);
    ask(&team, &root, "and now?", "The third answer").await;
    ask(&team, &root, "status", "of $70.00 spent").await;
    assert_eq!(team.pid("pm"), pid, "nobody was started again");
}

/// What the team can be asked for is what this repo says now, not what was shipped.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn help_names_the_workflows_and_skills_of_this_repo() {
    let scenario = "title: an answer\nroles:\n  pm:\n    - say: The first answer.\n";
    let team = Team::start(scenario).await;
    let root = team.say("what is this?").await;
    team.until(&root, "an answer", |thread| {
        says(thread, "The first answer")
    })
    .await;
    let shipped = "`bug: {bug}` Something does not do what it should.";
    ask(&team, &root, "help", shipped).await;
    let elsewhere = Elsewhere::of(&team);
    let sprint = "# Workflows\n\n## sprint\n\nTwo weeks of work.\nTriggers: sprint: {goal}\n\n1. PM: plan it.\n";
    elsewhere.write("workflows.md", sprint);
    let skill = "# weather\n\nLook at the sky.\n\n## Trigger\nhow is the weather\n\n## Agent\npm\n\n## Prompt\nLook up.\n";
    elsewhere.write("skills/weather.md", skill);
    elsewhere.push();
    let own = "`sprint: {goal}` Two weeks of work.";
    let thread = ask(&team, &root, "help", own).await;
    assert!(
        says(&thread, "`how is the weather` Look at the sky."),
        "{thread:#}"
    );
    let said = thread["messages"].as_array().unwrap().iter();
    let told = said.filter(|one| {
        one["text"]
            .as_str()
            .is_some_and(|text| text.contains(shipped))
    });
    assert_eq!(told.count(), 1, "what the repo replaced is not offered");
}
