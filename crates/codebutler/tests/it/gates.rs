//! What must hold whatever a model says: receipts instead of claims, a person's
//! click instead of an agent's word, a way on for every thread.

use butler_repo::BRANCH_PREFIX;
use serde_json::{Value, json};

use crate::team::{Team, says, story};

fn count(thread: &Value, start: &str) -> usize {
    let lines = story(thread);
    lines.iter().filter(|line| line.starts_with(start)).count()
}

/// Claims without a run are refused once and then marked; an edit after the run
/// makes it stale; a bent test is pointed out although everything is green.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lying_coder_is_caught_by_receipts() {
    let team = Team::start_with(include_str!("scenarios/liar.yaml"), |root| {
        let test = "from notes import count\n\ndef test_count():\n    assert count() == 2\n    assert count() >= 0\n";
        std::fs::write(root.join("tests/test_count.py"), test).unwrap();
        butler_testkit::git(root, &["add", "tests/test_count.py"]);
        butler_testkit::git(root, &["commit", "--quiet", "--message", "a test"]);
        butler_testkit::git(root, &["push", "--quiet", "origin", "HEAD:main"]);
    })
    .await;
    let root = team.say("lie to me").await;
    team.press(&root, "approve").await;
    let ready = "codebutler.coder: @codebutler.reviewer pull request #1 is ready";
    let thread = team
        .until(&root, "both hand-overs", |thread| count(thread, ready) == 2)
        .await;
    let messages = thread["messages"].as_array().unwrap();
    let hand_overs: Vec<&str> = messages
        .iter()
        .filter_map(|one| one["text"].as_str())
        .filter(|text| text.contains("is ready, round"))
        .collect();
    assert!(hand_overs[0].contains("I ran them"), "{}", hand_overs[0]);
    assert!(
        hand_overs[0].contains("failed with exit code 1"),
        "{}",
        hand_overs[0]
    );
    assert!(hand_overs[1].contains("3 passed"), "{}", hand_overs[1]);
    assert!(
        hand_overs[1].contains("⚠"),
        "a bent test: {}",
        hand_overs[1]
    );
    assert!(
        hand_overs[1].contains("on the base passed (3 passed"),
        "{}",
        hand_overs[1]
    );
    let log = team.log(&root, "coder");
    assert_eq!(
        log.matches("refused: the checks have not passed").count(),
        1
    );
}

/// A plan that was changed on its card is what the Coder gets, and what its gate opens for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_coder_builds_the_plan_as_a_person_changed_it_on_the_card() {
    let team = Team::start(include_str!("scenarios/changed_plan.yaml")).await;
    let root = team.say("make a note").await;
    team.approve_with(&root, &["Write a note first", "and read it"])
        .await;
    let done = |thread: &Value| says(thread, "Is this the note you meant?");
    team.until(&root, "the Coder's question", done).await;
    let log = team.log(&root, "coder");
    assert!(log.contains("Write a note first"), "{log}");
    assert!(!log.contains("As the model planned it"), "{log}");
    assert!(!log.contains("refused"), "the gate is open: {log}");
    assert!(log.contains("\"model\":\"second/coder\""), "{log}");
    // The card says nothing any more of who would have built it, and for how much.
    let thread = team.thread(&root).await.unwrap();
    let card = thread["messages"].as_array().unwrap().iter();
    let card = card
        .map(|one| one["blocks"].to_string())
        .find(|one| one.contains("Write a note first"));
    let card = card.expect("the changed plan stands on its card");
    assert!(
        card.contains("second/coder") && card.contains("$2.50"),
        "{card}"
    );
    for stale in ["rehearsal/coder", "The thread may cost at most"] {
        assert!(!card.contains(stale), "{stale}: {card}");
    }
    // The PM's model knows what was made of its plan.
    team.reply(&root, "@codebutler.pm what is being built?")
        .await;
    let told = |thread: &Value| says(thread, "It is built as you changed it.");
    team.until(&root, "the PM's answer", told).await;
}

/// No plan, an empty change, an unverified tree, a weakened test, a review that
/// read nothing, an untrue description: refused, or on the merge card in the
/// runtime's own words, and the click is bound to those.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_lying_team_claims_reaches_the_merge_card_as_claims_only() {
    let team = Team::start_with(include_str!("scenarios/hollow.yaml"), |root| {
        let test = "from notes import count\n\ndef test_count():\n    assert count() == 2\n    assert count() >= 0\n";
        std::fs::write(root.join("tests/test_count.py"), test).unwrap();
        butler_testkit::git(root, &["add", "tests/test_count.py"]);
        butler_testkit::git(root, &["commit", "--quiet", "--message", "a test"]);
        butler_testkit::git(root, &["push", "--quiet", "origin", "HEAD:main"]);
    })
    .await;
    let root = team.say("count the notes").await;
    let planned = |thread: &Value| count(thread, "codebutler.pm: Plan") == 1;
    team.until(&root, "the plan", planned).await;
    team.reply(&root, "@codebutler.coder hand it over").await;
    let waits = |thread: &Value| says(thread, "I wait for the plan");
    team.until(&root, "the first refusal", waits).await;
    team.press(&root, "approve").await;
    let carded = |thread: &Value| says(thread, "Ready to merge");
    let thread = team.until(&root, "the merge card", carded).await;
    let messages = thread["messages"].as_array().unwrap();
    let mut card = messages.iter().map(|one| one["blocks"].to_string());
    let card = card.rfind(|blocks| blocks.contains("What the runtime saw"));
    let card = card.expect("the card shows evidence");
    for words in [
        "⚠ Checks on this tree: `sh tests/run.sh` failed with exit code 1",
        "⚠ assertions removed in tests/test_count.py: 1 gone, 0 added",
        "3 files changed, 3001 lines added, 2 removed: `long.txt` +3000",
        "codebutler pr diff 1",
    ] {
        assert!(card.contains(words), "{words}: {card}");
    }
    let seen = card.find("What the runtime saw").unwrap();
    let written = card.find("The Lead writes").unwrap();
    let claim = card
        .find("All checks pass and no test was touched")
        .unwrap();
    assert!(seen < written && written < claim, "{card}");
    // The card is in the thread a moment before it is in the log.
    let asked = |thread: &Value| {
        let records = thread["records"].as_array().into_iter().flatten();
        let records = records.map(|line| line["entry"]["record"].clone());
        let mut asked = records.filter(|record| record["t"] == "decision_asked");
        asked.find(|record| record["subject"]["merge"].is_object())
    };
    let thread = team
        .until(&root, "the card in the log", |thread| {
            asked(thread).is_some()
        })
        .await;
    let asked = asked(&thread).unwrap();
    let mut subject = asked["subject"]["merge"].clone();
    assert!(!subject["evidence"].as_array().unwrap().is_empty());
    let hash = |subject: &Value| butler_protocol::Sha256Hex::of(ordered(subject));
    assert_eq!(asked["sha256"], hash(&subject).as_str());
    subject["evidence"] = json!([]);
    assert_ne!(asked["sha256"], hash(&subject).as_str());
}

/// The subject of a merge as it is hashed: its fields in their own order.
fn ordered(subject: &Value) -> String {
    let fields = [
        "pr",
        "head",
        "tree",
        "title",
        "description",
        "writer",
        "evidence",
    ];
    let fields = fields.map(|name| format!("\"{name}\":{}", subject[name]));
    format!("{{{}}}", fields.join(","))
}

/// Words of an agent approve nothing, and its text has no buttons.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_approves_nothing_and_draws_no_buttons() {
    let team = Team::start(include_str!("scenarios/own_approval.yaml")).await;
    let root = team.say("clean up").await;
    team.press(&root, "approve").await;
    let card = "codebutler.coder: May I run this?";
    team.until(&root, "the card", |thread| count(thread, card) == 1)
        .await;
    team.reply(&root, "go on").await;
    let thread = team
        .until(&root, "the second card", |thread| count(thread, card) == 2)
        .await;
    assert!(
        says(&thread, "approve "),
        "it did try: {:#?}",
        story(&thread)
    );
    for decision in thread["decisions"].as_array().unwrap() {
        let kind = &decision["asked"]["kind"];
        assert!(
            kind == "plan" || decision["decided"].is_null(),
            "{decision}"
        );
    }
    let drawn = thread["messages"].as_array().unwrap().iter().filter(|one| {
        let text = one["text"].as_str().unwrap_or_default();
        text.starts_with("Approve it here") && one["blocks"].to_string().contains("cb:")
    });
    assert_eq!(drawn.count(), 0);
    let log = team.log(&root, "coder");
    assert!(
        !log.contains("\"decision_used\""),
        "nothing was used: {log}"
    );
    let worktrees = team.scratch.root().join(".codebutler/branches");
    let built = std::fs::read_dir(worktrees)
        .unwrap()
        .flatten()
        .any(|one| one.path().join("drafts/old").exists());
    assert!(built, "the folder is still there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_coder_without_an_approved_plan_builds_nothing() {
    let team = Team::start(include_str!("scenarios/no_plan.yaml")).await;
    let root = team.say("@codebutler.coder just write new.txt").await;
    team.until(&root, "the refusal", |thread| {
        says(thread, "I cannot build without a plan")
    })
    .await;
    let branches = team.scratch.remote_branches();
    assert!(
        !branches.iter().any(|name| name.starts_with(BRANCH_PREFIX)),
        "{branches:?}"
    );
    assert!(!team.scratch.root().join("new.txt").exists());
}

/// A call that was written as text runs; the same call again and again is
/// refused, then the person hears of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_goes_in_circles_is_stopped_and_the_person_is_told() {
    let team = Team::start(include_str!("scenarios/loop.yaml")).await;
    let root = team.say("find it").await;
    let told = |thread: &Value| count(thread, "codebutler.pm: ") >= 1;
    team.until(&root, "a word to the person", told).await;
    let ended = || team.log(&root, "pm").contains("\"how\":\"stuck\"");
    team.wait("the end", ended).await;
    let log = team.log(&root, "pm");
    assert!(
        log.contains("list() {"),
        "the call in the text was made: {log}"
    );
    let turns = log.matches("\"t\":\"assistant\"").count();
    assert!(turns < 15, "stopped before its turns were used up: {turns}");
}

/// Empty answers move the role to its other model; if that says nothing either,
/// the person gets the reason and a button.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_answers_nothing_is_replaced_and_then_reported() {
    let team = Team::start_configured(include_str!("scenarios/empty.yaml"), |config| {
        config["models"]["pm"]["fallbackModel"] = json!("second/pm");
    })
    .await;
    let root = team.say("find it").await;
    let thread = team
        .until(&root, "the reason", |thread| {
            says(thread, "no usable answer")
        })
        .await;
    assert!(says(&thread, "cb-retry"));
    assert!(
        team.log(&root, "pm")
            .contains("two unusable answers in a row")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_without_a_hand_over_does_not_stall_the_thread() {
    let team = Team::start(include_str!("scenarios/no_hand_over.yaml")).await;
    let root = team.say("do something").await;
    team.press(&root, "approve").await;
    team.until(&root, "the default", |thread| {
        says(thread, "I did not pass this on to anybody")
    })
    .await;
}

/// At its cap a thread pauses, keeps everything, and goes on after Raise.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_at_its_cap_goes_on_after_raise_with_nothing_lost() {
    let scenario = include_str!("../../demo/scenarios/json-flag.yaml");
    let team = Team::start_configured(scenario, |config| {
        config["limits"] = json!({"maxCostPerThread": 0.025, "maxCostPerDay": 25.0});
    })
    .await;
    let root = team.say("add a --json flag").await;
    team.until(&root, "the cap", |thread| says(thread, "Out of money"))
        .await;
    let raised = std::cell::Cell::new(0);
    let ended = |thread: &Value| says(thread, "What it took");
    loop {
        let open = |thread: &Value| {
            let decisions = thread["decisions"].as_array().into_iter().flatten();
            decisions.into_iter().any(|one| one["decided"].is_null())
        };
        let next = |thread: &Value| open(thread) || ended(thread);
        let thread = team.until(&root, "a card or the end", next).await;
        if ended(&thread) {
            break;
        }
        let choose = |kind: &str| match kind {
            "cap" => Some("raise"),
            "plan" => Some("approve"),
            "merge" => Some("merge"),
            _ => None,
        };
        let cap = says(&thread, "Raise · Stop");
        if team.decide(&thread, choose).await && cap {
            raised.set(raised.get() + 1);
        }
    }
    assert!(raised.get() >= 1);
    let program = team.scratch.remote_file("main", "notes.sh").unwrap();
    assert!(program.contains("list_json()"));
    assert_eq!(team.model.left_over(), Vec::<String>::new());
}
