//! Voice notes: written down before it is decided whom they are for, posted under the note
//! with their price, paid once. The endpoint is a stand-in that keeps to the documented rules.

use butler_testkit::{MediaStandIn, SlackStandIn};
use serde_json::{Value, json};

use crate::{
    attached::{recording, spoken},
    said::texts,
    team::{Team, says},
};

const STORY: &str = include_str!("scenarios/voice.yaml");

/// A note without a word beside it; returns the message.
async fn note(team: &Team, thread: &str) -> String {
    let sound = recording();
    team.say_with_file(thread, "", ("note.wav", &sound)).await
}

/// What the log says was paid for listening.
fn paid(team: &Team, root: &str) -> Vec<String> {
    let log = team.log(root, "pm");
    let lines = log.lines().filter(|line| line.contains("\"settled\""));
    let heard = lines.filter(|line| line.contains("-heard-"));
    heard.map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_note_is_heard_posted_and_paid_once() {
    let Some(sound) = spoken("Add a flag for lists.") else {
        return;
    };
    let media = MediaStandIn::start("Add a flag for lists.").await;
    let team = Team::start_listening(STORY, &media, None, |_| ()).await;
    let root = team.say_with_file("", "", ("note.wav", &sound)).await;
    let thread = team
        .until(&root, "the answer", |thread| {
            says(thread, "A flag, understood")
        })
        .await;
    let said = texts(&thread);
    assert!(
        said[1].contains("Heard:") && said[1].contains("Add a flag for lists."),
        "{said:?}"
    );
    assert!(
        said[1].contains("`whisper`, $0.0060"),
        "a minute of it: {said:?}"
    );
    assert_eq!(media.asked(), [("whisper".to_owned(), sound.len())]);
    let page = team.page(&format!("c/{}/{root}", team.channel)).await;
    let player = page.split("<audio").nth(1).unwrap();
    let beside = player.split("</figure>").next().unwrap();
    assert!(
        beside.contains("class=\"transcript\"") && beside.contains("Add a flag for lists."),
        "what was said stands beside the player: {beside}"
    );
    assert_eq!(paid(&team, &root).len(), 1, "{}", team.log(&root, "pm"));

    // Billed by the endpoint itself, and by tokens.
    for (usage, price) in [
        (json!({"cost": 0.0123}), "$0.0123"),
        (
            json!({"type": "tokens", "input_tokens": 1_000, "output_tokens": 0}),
            "$0.0150",
        ),
    ] {
        media.bill(usage);
        note(&team, &root).await;
        team.until(&root, "the next price", |thread| says(thread, price))
            .await;
    }
    // Silence is no text.
    media.says("");
    note(&team, &root).await;
    team.until(&root, "silence", |thread| {
        says(thread, "I heard no words in `note.wav`.")
    })
    .await;
    // An error is told, and the role knows that there was a note.
    for (status, why) in [(429, "slow down"), (401, "wrong key"), (503, "no capacity")] {
        media.refuse(status, why);
        note(&team, &root).await;
        team.until(&root, "the error", |thread| {
            says(thread, "I could not listen to `note.wav`") && says(thread, why)
        })
        .await;
    }
    team.until(&root, "the role", |thread| {
        says(thread, "I did not hear that")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_in_slack() {
    let Some(sound) = spoken("Add a flag for lists.") else {
        return;
    };
    let media = MediaStandIn::start("Add a flag for lists.").await;
    let slack = SlackStandIn::start().await;
    let ana = slack.person("ana");
    let behind = Some((slack, ana));
    let team = Team::start_listening(STORY, &media, behind, |_| ()).await;
    let (slack, ana) = team.slack_and_ana();
    let root = slack.share(ana, &team.channel, "note.wav", &sound);
    let thread = team
        .until(&root, "the answer", |thread| {
            says(thread, "A flag, understood")
        })
        .await;
    assert!(says(&thread, "Heard:"), "{thread}");
    assert_eq!(media.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spoken_words_are_notes_of_a_draft_and_words_for_the_runtime() {
    let media = MediaStandIn::start("but only for lists").await;
    let draft = include_str!("scenarios/draft.yaml");
    let team = Team::start_listening(draft, &media, None, |_| ()).await;
    let root = team.say("!draft a --json flag").await;
    team.until(&root, "the draft", |thread| {
        says(thread, "I collect what you write")
    })
    .await;
    note(&team, &root).await;
    team.until(&root, "the words", |thread| says(thread, "Heard:"))
        .await;
    team.reply(&root, "!done").await;
    team.until(&root, "the request", |thread| {
        says(thread, "Add a --json flag, for lists only.")
    })
    .await;

    let media = MediaStandIn::start("Status").await;
    let team = Team::start_listening(STORY, &media, None, |_| ()).await;
    let root = note(&team, "").await;
    let asked = |thread: &Value| texts(thread).len() > 2;
    team.until(&root, "the status", asked).await;
    assert_eq!(team.log(&root, "pm"), "", "no model was asked");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_model_people_are_told_once_and_a_cap_holds() {
    let team = Team::start(STORY).await;
    let root = note(&team, "").await;
    let deaf = |thread: &Value| says(thread, "I did not hear that");
    team.until(&root, "the first", deaf).await;
    let second = note(&team, "").await;
    let other = team.until(&second, "the second", deaf).await;
    let first = team.thread(&root).await.unwrap();
    assert!(says(&first, "models.transcription"), "{first}");
    assert!(!says(&other, "models.transcription"), "{other}");

    // A budget that does not hold the worst case: nothing is sent anywhere.
    let media = MediaStandIn::start("never").await;
    let small = |config: &mut Value| config["limits"] = json!({"maxCostPerThread": 0.0005});
    let team = Team::start_listening(STORY, &media, None, small).await;
    let root = note(&team, "").await;
    team.until(&root, "the cap", |thread| {
        says(
            thread,
            "I did not listen to `note.wav`: the thread budget is used up",
        )
    })
    .await;
    assert_eq!(media.asked(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_dies_with_a_note_in_hand_tells_it_afterwards_and_pays_once() {
    let folder = tempfile::tempdir().unwrap();
    let passed = folder.path().join("passed").display().to_string();
    let media = MediaStandIn::start("Add a flag for lists.").await;
    // It was heard and kept; it dies before the first post, which tells it.
    let variables = [
        ("CODEBUTLER_FAULT", "pm/agent.before-post".to_owned()),
        ("CODEBUTLER_FAULT_LOG", passed.clone()),
    ];
    let team = Team::start_listening_in(STORY, &media, None, |_| (), &variables).await;
    let root = note(&team, "").await;
    let thread = team
        .until(&root, "the answer", |thread| {
            says(thread, "A flag, understood")
        })
        .await;
    let died = std::fs::read_to_string(&passed).unwrap();
    assert!(died.contains("killed"), "{died}");
    let told = texts(&thread);
    let told = told.iter().filter(|text| text.contains("Heard:")).count();
    assert_eq!((told, media.asked().len()), (1, 1), "{thread}");
    assert_eq!(paid(&team, &root).len(), 1, "{}", team.log(&root, "pm"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn others_are_answered_while_a_note_takes_its_time() {
    let media = MediaStandIn::start("Add a flag for lists.").await;
    let team = Team::start_listening(STORY, &media, None, |_| ()).await;
    media.slow(true);
    let first = note(&team, "").await;
    team.wait("the note is sent", || !media.asked().is_empty())
        .await;
    let script = ("plan.txt", &b"a plan\n"[..]);
    let other = team.say_with_file("", "", script).await;
    team.until(&other, "the other", |thread| {
        says(thread, "I did not hear that")
    })
    .await;
    assert!(!says(&team.thread(&first).await.unwrap(), "Heard:"));
    media.slow(false);
    team.until(&first, "the answer", |thread| {
        says(thread, "A flag, understood")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_note_is_known_by_its_bytes_whatever_it_is_called() {
    let media = MediaStandIn::start("Add a flag for lists.").await;
    let story = STORY.replace("\"note.wav (a WAV recording, \"", "\"(a WAV recording, \"");
    let team = Team::start_listening(&story, &media, None, |_| ()).await;
    for (number, name) in ["MEMO 3.WAV", "memo", "memo.mp3"].into_iter().enumerate() {
        let root = team.say_with_file("", "", (name, &recording())).await;
        team.until(&root, name, |thread| says(thread, "A flag, understood"))
            .await;
        assert_eq!(media.asked().len(), number + 1, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_only_calls_itself_a_recording_is_sent_nowhere() {
    let media = MediaStandIn::start("never").await;
    let team = Team::start_listening(STORY, &media, None, |_| ()).await;
    let script = b"#!/bin/sh\nrm -rf /\n";
    let root = team.say_with_file("", "", ("note.wav", script)).await;
    team.until(&root, "the answer", |thread| {
        says(thread, "I did not hear that")
    })
    .await;
    // A recorded screen is a film.
    let film = b"\x1a\x45\xdf\xa3.webm.V_VP9.A_OPUS";
    let root = team.say_with_file("", "", ("screen.webm", film)).await;
    team.until(&root, "the answer", |thread| {
        says(thread, "I did not hear that")
    })
    .await;
    assert_eq!(media.asked(), []);
}
