//! A person in Slack changes and deletes messages that the PM has not read yet.

use crate::team::{Team, says};

/// The first answer takes its time; what is said meanwhile waits.
const SCENARIO: &str = "
title: second thoughts
roles:
  pm:
    - delay_ms: 8000
      call: [{ tool: Read, with: { path: README.md } }]
    - expect: { any_user_contains: in blue }
      say: Blue it is.
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_waits_is_read_as_it_was_changed_and_not_when_it_was_deleted() {
    let team = Team::start_on_slack(SCENARIO).await;
    let root = team.say("which colour is it?").await;
    team.wait("the first request", || {
        team.log(&root, "pm").contains("\"reserved\"")
    })
    .await;
    let (slack, ana) = team.slack_and_ana();
    let colour = slack.say(ana, &team.channel, "in red", Some(&root));
    let slip = slack.say(ana, &team.channel, "ask my cat", Some(&root));
    let heard = |words: &str| team.log(&root, "pm").contains(words);
    team.wait("both", || heard("in red") && heard("ask my cat"))
        .await;
    slack.edit(ana, &team.channel, &colour, "in blue");
    slack.delete(&team.channel, &slip);
    team.until(&root, "the answer", |thread| says(thread, "Blue it is."))
        .await;
    let log = team.log(&root, "pm");
    assert!(
        log.contains("\"edited:") && log.contains("\"withdrawn:"),
        "{log}"
    );
}
