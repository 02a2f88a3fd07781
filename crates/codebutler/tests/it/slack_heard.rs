//! A team whose Slack is not heard says so wherever a person looks at a terminal, says
//! when it is heard again, and answers the first mention although no model answers yet.

use std::time::{Duration, Instant};

use butler_testkit::{Disconnect, SlackStandIn};
use serde_json::Value;

use crate::{
    running::{PATIENCE, Running, line_with},
    scratch::{Ran, Scratch, pushed, ran},
};

/// Runs a command until it says this.
fn says(scratch: &Scratch, args: &[&str], words: &str) -> Ran {
    let begun = Instant::now();
    loop {
        let last = scratch.run(args);
        if last.out.contains(words) {
            return last;
        }
        assert!(begun.elapsed() < PATIENCE, "{args:?}: {words}: {last:?}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn up_status_doctor_and_check_say_whether_slack_is_heard() {
    let slack = SlackStandIn::start().await;
    let ana = slack.person("ana");
    let scratch = Scratch::new();
    pushed(&scratch.root());
    scratch.machine(&format!(
        "{{\"slack\": {{\"apiUrl\": \"{}\"}}}}",
        slack.base()
    ));
    tokio::task::block_in_place(|| {
        let mut init = scratch.codebutler(&[
            "init",
            "--yes",
            "--slack",
            "--untried",
            "--model-url",
            "http://127.0.0.1:1/v1",
            "--model",
            "nobody",
        ]);
        init.env("SLACK_BOT_TOKEN", slack.bot_token())
            .env("SLACK_APP_TOKEN", slack.app_token());
        let init = ran(&mut init);
        assert_eq!(init.code, 0, "{init:?}");

        // Something on the way lets no WebSocket through.
        slack.block_sockets(true);
        let up = ["up", "--no-open", "--listen", "127.0.0.1:0"];
        let mut up = Running::start(&mut scratch.codebutler(&up));
        let mut said: Vec<String> = Vec::new();
        while !said.last().is_some_and(|line| line.contains("logs -f")) {
            said.push(line_with(&up.out, ""));
        }
        let told = |line: &String| line.contains("problem") && line.contains("Slack is not heard");
        assert!(said.iter().any(told), "{said:#?}");
        let blocked = "HTTP 403 instead of a WebSocket";
        says(&scratch, &["status"], blocked);
        says(&scratch, &["doctor"], blocked);
        let check = says(&scratch, &["slack", "check"], blocked);
        assert_eq!(check.code, 5, "{check:?}");

        slack.block_sockets(false);
        says(&scratch, &["status"], "heard  http");
        says(&scratch, &["doctor"], "what people say in Slack arrives");
        let check = says(
            &scratch,
            &["slack", "check"],
            "the team that runs hears Slack",
        );
        assert_eq!(check.code, 0, "{check:?}");

        // No model answers, and the first mention is answered all the same.
        let channel = slack.channel_named("codebutler-app").unwrap();
        let root = slack.say(&ana, &channel, "@codebutler.pm hello", None);
        let begun = Instant::now();
        let answer = loop {
            let all = slack.messages(&channel);
            let ours = |one: &&Value| one["thread_ts"] == *root && !one["bot_id"].is_null();
            if let Some(answer) = all.iter().find(ours) {
                break answer["text"].as_str().unwrap_or_default().to_owned();
            }
            assert!(begun.elapsed() < PATIENCE, "{all:#?}");
            std::thread::sleep(Duration::from_millis(100));
        };
        assert!(answer.to_lowercase().contains("model"), "{answer}");

        slack.disconnect(Disconnect::LinkDisabled);
        let off = "Socket Mode is switched off";
        says(&scratch, &["status"], off);
        says(&scratch, &["doctor"], off);
        let check = says(&scratch, &["slack", "check"], off);
        assert_eq!(check.code, 5, "{check:?}");
        up.interrupt();
    });
}
