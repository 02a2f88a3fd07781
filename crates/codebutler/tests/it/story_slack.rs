//! The same whole story with Slack behind the hub: ana writes and clicks there,
//! hub and six agents are real processes.

use std::fs;

use butler_protocol::Role;

use crate::{
    slack_picture,
    story::{REQUEST, SCENARIO, assert_remote, assert_story, merged},
    team::{Team, story},
};

/// From the request to the merge, the request itself counted.
const MESSAGES: usize = 9;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_in_slack_becomes_a_merge() {
    let team = Team::start_on_slack(SCENARIO).await;
    let root = team.say(REQUEST).await;
    team.press(&root, "approve").await;
    team.press(&root, "merge").await;
    let thread = team.until(&root, "the merge", merged).await;
    assert_story(&thread);
    assert_remote(&team);

    // Slack has exactly what the mirror has, in the same order.
    let in_slack = serde_json::json!({"messages": team.slack().messages(&team.channel)});
    assert_eq!(story(&in_slack), story(&thread));
    assert_eq!(team.slack().refusals(), 0, "the hub kept to Slack's limits");

    // Never more than needed: docs/slack.md says how many a story takes.
    let messages = team.slack().messages(&team.channel);
    assert!(messages.len() <= MESSAGES, "{} messages", messages.len());
    let ana = (team.slack().person("ana"), "ana".to_owned());
    let page = slack_picture::page(&messages, &[ana]);
    let drawn = page.matches("<div class=message>").count();
    assert_eq!(drawn, messages.len(), "every message is drawn: {page}");
    for part in [
        "Approved by ana",
        "Merge requested by ana",
        "codebutler.lead",
    ] {
        assert!(page.contains(part), "{part} is not on the page: {page}");
    }
    assert!(
        !page.contains("class=\"button"),
        "a decided card has no buttons"
    );
    if let Some(folder) = std::env::var_os("CODEBUTLER_PICTURES") {
        let folder = std::path::absolute(folder).unwrap();
        slack_picture::draw(&folder, "slack-story.png", &page, messages.len());
    }

    // The tokens are with the hub and nowhere else.
    let tokens = [team.slack().bot_token(), team.slack().app_token()];
    let mut places = vec![
        ("the log", team.written()),
        ("the page", team.page("").await),
        (
            "the thread's page",
            team.page(&format!("c/{}/{root}", team.channel)).await,
        ),
        ("the thread", thread.to_string()),
        ("Slack", in_slack.to_string()),
    ];
    for role in Role::ALL {
        let pid = team.pid(role.as_str()).unwrap();
        let variables = fs::read(format!("/proc/{pid}/environ")).unwrap();
        places.push((
            "an agent's environment",
            String::from_utf8_lossy(&variables).into(),
        ));
        places.push(("a conversation", team.log(&root, role.as_str())));
    }
    for (place, text) in places {
        for token in &tokens {
            assert!(
                !text.contains(token.as_str()),
                "a token of Slack is in {place}"
            );
        }
    }
}
