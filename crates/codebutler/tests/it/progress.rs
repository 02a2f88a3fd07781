//! How far the Coder is stands in one message of the thread, through a crash too,
//! and no colleague is told of it.

use serde_json::Value;

use crate::team::{Team, story};

const SCENARIO: &str = "
title: a list that moves
roles:
  pm:
    - call:
        - tool: ProposePlan
          with:
            title: Look around
            summary: Nothing changes.
            steps: [\"Look - notes.sh\"]
            criteria: [\"it was looked at\"]
            files: []
            complexity: simple
  coder:
    - call:
        - tool: Checklist
          with: { steps: [{ text: look at the notes, state: doing }, { text: look at the tests }] }
    - delay_ms: 6000
      call:
        - tool: Checklist
          with: { steps: [\"[x] look at the notes\", \"[~] look at the tests\"] }
    - delay_ms: 3500
      call:
        - tool: Checklist
          with: { steps: [\"[x] look at the notes\", \"[x] look at the tests\"] }
    - call:
        - tool: AskUser
          with: { question: I have seen it all. Is that enough? }
";

/// The messages that show the list: where they stand, and what they say.
fn lists(thread: &Value) -> Vec<(String, String)> {
    let messages = thread["messages"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    messages
        .map(|message| (text(&message["ts"]), text(&message["text"])))
        .filter(|(_, text)| text.contains(" of 2* · "))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_checklist_is_one_message_that_is_edited_through_a_crash() {
    let team = Team::start(SCENARIO).await;
    let root = team.say("look around").await;
    team.press(&root, "approve").await;
    let begun = team
        .until(&root, "the list", |thread| !lists(thread).is_empty())
        .await;
    let first = lists(&begun);
    let (ts, text) = &first[0];
    // The model of the script has no price.
    assert!(text.starts_with("*0 of 2* · under a minute\n"), "{text}");
    assert!(
        text.ends_with("\n▶ look at the notes\n☐ look at the tests"),
        "{text}"
    );
    team.kill("coder");
    let over = team
        .until(&root, "the list, done", |thread| {
            lists(thread)
                .iter()
                .any(|(_, text)| text.contains("*2 of 2*"))
        })
        .await;
    let [(same, text)] = &lists(&over)[..] else {
        panic!("one message: {:#?}", story(&over));
    };
    assert_eq!(same, ts, "it was edited, not posted again");
    assert!(
        text.ends_with("\n☑ look at the notes\n☑ look at the tests"),
        "{text}"
    );
    team.until(&root, "the end", |thread| {
        story(thread)
            .iter()
            .any(|line| line.contains("Is that enough?"))
    })
    .await;
    let log = team.log(&root, "coder");
    assert!(log.contains("\"checklist_shown\""), "{log}");
    assert!(
        !team.log(&root, "pm").contains(" of 2* · "),
        "nobody is told of it"
    );
}
