//! Setting up real Slack: the manifest, and tokens that are looked at before
//! they are kept.

use butler_testkit::SlackStandIn;
use serde_json::Value;

use crate::scratch::{Ran, Scratch, ran};

/// Runs the binary beside the stand-in, which lives in this process.
fn run(scratch: &Scratch, args: &[&str], tokens: (&str, &str)) -> Ran {
    let mut command = scratch.codebutler(args);
    command
        .env("SLACK_BOT_TOKEN", tokens.0)
        .env("SLACK_APP_TOKEN", tokens.1);
    tokio::task::block_in_place(|| ran(&mut command))
}

#[test]
fn the_manifest_is_json_on_the_output() {
    let ran = Scratch::without_git().run(&["slack", "manifest"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let manifest: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(manifest["settings"]["socket_mode_enabled"], true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn init_keeps_tokens_that_slack_accepts_and_names_missing_scopes() {
    let slack = SlackStandIn::start().await;
    slack.without_scope("reactions:read");
    let scratch = Scratch::new();
    scratch.machine(&format!(
        "{{\"slack\": {{\"apiUrl\": \"{}\"}}}}",
        slack.base()
    ));
    let (bot, app) = (slack.bot_token(), slack.app_token());
    let args = ["init", "--yes", "--slack"];
    let wrong = run(&scratch, &args, ("xoxb-wrong", &app));
    assert_ne!(wrong.code, 0, "{wrong:?}");
    assert!(wrong.err.contains("bot token is not accepted"), "{wrong:?}");
    assert!(
        !scratch.root().join(".codebutler").exists(),
        "nothing was written"
    );
    let swapped = run(&scratch, &args, (&bot, &bot));
    assert!(swapped.err.contains("that is the bot token"), "{swapped:?}");
    let right = run(&scratch, &args, (&bot, &app));
    assert_eq!(right.code, 0, "{right:?}");
    assert!(right.err.contains("reactions:read"), "{right:?}");
    for text in [&right.out, &right.err] {
        assert!(!text.contains(&bot) && !text.contains(&app));
    }
    let kept = std::fs::read_to_string(scratch.home().join("config.json")).unwrap();
    assert!(kept.contains(&bot) && kept.contains(&app));

    let doctor = run(&scratch, &["doctor"], ("", ""));
    assert!(doctor.out.contains("lacks reactions:read"), "{doctor:?}");
    let check = run(&scratch, &["slack", "check"], ("", ""));
    assert_eq!(check.code, 5, "{check:?}");
    slack.revoke();
    let doctor = run(&scratch, &["doctor"], ("", ""));
    assert!(doctor.out.contains("token_revoked"), "{doctor:?}");
    assert!(!doctor.out.contains(&bot));
    slack.outage(true);
    let doctor = run(&scratch, &["doctor"], ("", ""));
    assert!(doctor.out.contains("Slack does not answer"), "{doctor:?}");
}
