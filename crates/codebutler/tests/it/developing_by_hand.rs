//! A run over the roadmap in the hands of people: they merge, pause, resume and stop
//! it, watch it from a terminal, and items stand on each other's branches meanwhile.

use std::process::Stdio;

use serde_json::Value;

use crate::{
    developing::{Fate, PATIENCE, item, merged, on_main, run, team, until_said},
    team::{Team, says, story},
};

/// The thread of an item.
async fn thread_of(team: &Team, number: u32) -> String {
    let run = run(team).await.unwrap();
    let items = run["items"].as_array().unwrap().iter();
    let mut own = items.filter(|item| item["number"] == number);
    let item = own.next().unwrap_or_else(|| panic!("{number}: {run:#}"));
    item["thread"]["root"].as_str().unwrap().to_owned()
}

/// Waits until the run says this of an item, and gives its thread.
async fn until_stands(team: &Team, number: u32, state: &str, why: &str) -> String {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let all = run(team).await.unwrap_or_default();
        let items = all["items"].as_array().into_iter().flatten();
        let mut own = items.filter(|item| item["number"] == number);
        let report = own.next().map(|item| item["report"].clone());
        let report = report.unwrap_or_default();
        let words = report["why"].as_str().unwrap_or_default();
        if report["state"] == state && words.contains(why) {
            return thread_of(team, number).await;
        }
        assert!(
            tokio::time::Instant::now() < deadline,
            "item {number} does not stand as {state}: {all:#}"
        );
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

/// What the board is told of the time ahead, once it has so many conflicts.
async fn until_foreseen(team: &Team, clashes: usize) -> Value {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let answer = team.try_page("v1/agents").await.unwrap_or_default();
        let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
        let agents = answer["agents"].as_array().into_iter().flatten();
        let mut told = agents.map(|agent| agent["outlook"].clone());
        let told = told.find(|told| told["roadmap"] != serde_json::json!([]));
        let told = told.unwrap_or_default();
        if told["clashes"]
            .as_array()
            .is_some_and(|all| all.len() == clashes)
        {
            return told;
        }
        assert!(
            tokio::time::Instant::now() < deadline,
            "not {clashes} conflicts are foreseen: {answer:#}"
        );
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

const MERGE: &str = "its merge is waiting for a person";

/// A pull request as the remote has it.
fn pull(team: &Team, branch_of: &str) -> Value {
    let refs =
        team.scratch
            .remote_git(&["for-each-ref", "--format=%(refname)", "refs/codebutler/pr/"]);
    let all = refs.lines().map(|name| {
        let text = team
            .scratch
            .remote_git(&["show", &format!("{name}:pr.json")]);
        serde_json::from_str::<Value>(&text).unwrap()
    });
    let mut own = all.filter(|pull| pull["title"].as_str().unwrap().contains(branch_of));
    own.next()
        .unwrap_or_else(|| panic!("no pull request of {branch_of}"))
}

/// Three items on top of each other and one beside them, all built before anything is
/// merged; then merged one by one, with everything killed in between.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn items_begin_on_reviewed_work_and_follow_it_to_the_default_branch() {
    let items = [
        item(1, &[], Fate::Lists),
        item(2, &[1], Fate::Lists),
        item(3, &[2], Fate::Lists),
        item(4, &[], Fate::Built),
    ];
    let mut team = team(&items, "{}", &[]).await;
    let root = team.say("develop everything").await;
    team.press(&root, "start_stacked").await;
    let mut threads = Vec::new();
    for number in 1..=4 {
        threads.push(until_stands(&team, number, "asks", MERGE).await);
    }
    assert_eq!(merged(&team), Vec::<String>::new());
    let first = pull(&team, "ash");
    let second = pull(&team, "birch");
    let third = pull(&team, "cedar");
    assert_eq!(first["base"], "main");
    assert_eq!(second["base"], first["branch"]);
    assert_eq!(third["base"], second["branch"]);
    until_said(&team, &root, "fewest conflicts", PATIENCE).await;
    // Whoever is too early is told what comes first, and it waits.
    team.press(&threads[1], "merge").await;
    let below = "on which it stands, is not merged yet";
    until_said(&team, &threads[1], below, PATIENCE).await;
    team.press(&threads[0], "merge").await;
    until_stands(&team, 1, "merged", "").await;
    team.crash();
    // The second follows at once. What is merged after that is not beside it.
    let begun = second["branch"].as_str().unwrap();
    let follows = || {
        let onto = ["merge-base", "main", begun];
        team.scratch.remote_git(&onto) == team.scratch.remote_git(&["rev-parse", "main"])
    };
    team.wait("the second on main", follows).await;
    assert_eq!(pull(&team, "birch")["base"], "main");
    team.press(&threads[3], "merge").await;
    until_stands(&team, 4, "merged", "").await;
    team.press_action(&threads[1], "cb-act-try-again").await;
    until_stands(&team, 2, "merged", "").await;
    // What was reviewed is what was merged: nobody looked at it twice.
    let reviews = |thread: &Value| thread.to_string().matches("Both stand").count();
    let second = team.thread(&threads[1]).await.unwrap();
    assert_eq!(reviews(&second), 0, "{:#?}", story(&second));
    // Beside the third something else changed: it is checked and reviewed again.
    let stale = "stood on another branch, which is merged now";
    until_said(&team, &threads[2], stale, PATIENCE).await;
    team.press_card(&threads[2], "plant cedar too", "merge")
        .await;
    let thread = until_said(&team, &root, "The run has ended", PATIENCE).await;
    assert!(says(&thread, "all 4 items are done"), "{thread:#}");
    assert_eq!(merged(&team), ["ash", "dogwood", "birch", "cedar"]);
    let list = team.scratch.remote_file("main", "trees/list.txt");
    assert_eq!(list.as_deref(), Some("ash\nbirch\ncedar\n"));
    assert_eq!(on_main(&team).matches("- Status: done (20").count(), 4);
}

/// One item that touches what two others touch, each merged by a person: they are told
/// the best order, both sides of the conflict, and a stopped run begins nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_merge_in_the_order_that_makes_the_fewest_conflicts() {
    let items = [
        item(1, &[], Fate::Writes(&["trees/a.txt", "trees/b.txt"])),
        item(2, &[], Fate::Writes(&["trees/a.txt"])),
        item(3, &[], Fate::Writes(&["trees/b.txt"])),
        item(4, &[1], Fate::Built),
    ];
    let team = team(&items, "{}", &[]).await;
    let root = team.say("develop everything").await;
    team.press(&root, "start").await;
    let mut threads = Vec::new();
    for number in 1..=3 {
        threads.push(until_stands(&team, number, "asks", MERGE).await);
    }
    until_said(&team, &root, "the fewest conflicts: 2, 3, 1.", PATIENCE).await;
    assert_eq!(merged(&team), Vec::<String>::new(), "a person merges");
    let told = until_foreseen(&team, 2).await;
    assert_eq!(told["roadmap"].as_array().unwrap().len(), 4, "{told:#}");
    assert_eq!(
        told["clashes"][0]["files"],
        serde_json::json!(["trees/a.txt"])
    );
    // Whoever came second told the first, once.
    let told = async |number: usize| {
        let thread = team.thread(&threads[number - 1]).await.unwrap();
        thread
            .to_string()
            .matches("changes the same lines as this one")
            .count()
            + thread
                .to_string()
                .matches("⚠ conflicts with `codebutler/")
                .count()
    };
    for number in 1..=3 {
        assert!(told(number).await > 0, "item {number} knows of no conflict");
    }
    for number in [2, 3] {
        team.press(&threads[number - 1], "merge").await;
        until_stands(&team, number as u32, "merged", "").await;
    }
    team.press(&threads[0], "merge").await;
    let thread = until_said(
        &team,
        &threads[0],
        "conflicts with what was merged",
        PATIENCE,
    )
    .await;
    for part in ["“plant birch (#", "changed `trees/a.txt`. Why: As asked."] {
        assert!(says(&thread, part), "{part}: {:#?}", story(&thread));
    }
    team.reply(&root, "stop").await;
    until_said(&team, &root, "The run is stopped", PATIENCE).await;
    team.press_card(&threads[0], "plant ash too", "merge").await;
    let thread = until_said(&team, &threads[0], "Merged #", PATIENCE).await;
    assert!(says(&thread, "Both it is."), "{:#?}", story(&thread));
    assert_eq!(merged(&team), ["birch", "cedar", "ash"]);
    let all = run(&team).await.unwrap();
    assert_eq!(all["state"], "stopped");
    assert_eq!(all["items"].as_array().unwrap().len(), 3, "{all:#}");
}

/// While it is paused nothing is decided; what came meanwhile is decided afterwards.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_pauses_and_goes_on_to_its_end_before_the_eyes_of_a_terminal() {
    let items = [item(1, &[], Fate::Built), item(2, &[1], Fate::Built)];
    let team = team(&items, "{}", &[]).await;
    let root = team.say("develop everything").await;
    team.press(&root, "start_merging").await;
    until_said(&team, &root, "0 of 2 items done", PATIENCE).await;
    team.reply(&root, "pause").await;
    until_said(&team, &root, "Paused: nothing begins", PATIENCE).await;
    let watched = team
        .command()
        .args(["roadmap", "--watch"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A card that came while it was paused, or it had come to its merge before.
    let stands = until_stands(&team, 1, "asks", "is waiting for").await;
    assert!(
        merged(&team).is_empty(),
        "{:#?}",
        team.thread(&stands).await
    );
    team.reply(&root, "status").await;
    until_said(&team, &root, "paused, `resume` goes on", PATIENCE).await;
    team.reply(&root, "resume").await;
    let thread = until_said(&team, &root, "The run has ended", PATIENCE).await;
    assert!(says(&thread, "all 2 items are done"), "{thread:#}");
    assert_eq!(merged(&team), ["ash", "birch"]);
    let watched = tokio::task::spawn_blocking(move || watched.wait_with_output());
    let watched = watched.await.unwrap().unwrap();
    let drawn = String::from_utf8_lossy(&watched.stdout);
    assert!(watched.status.success(), "{watched:?}");
    for part in ["paused: 0 of 2 done", "done: 2 of 2 done", "2. Plant birch"] {
        assert!(drawn.contains(part), "{part}: {drawn}");
    }
}

/// A person asks for one item by its number; at the end the file says that it is done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_item_asked_for_by_its_number_ends_as_done() {
    let items = [
        item(1, &[], Fate::Built),
        item(2, &[], Fate::Built),
        item(3, &[1], Fate::Built),
    ];
    let team = team(&items, "{}", &[]).await;
    let root = team.say("implement item 2").await;
    team.press(&root, "approve").await;
    team.press(&root, "merge").await;
    until_said(&team, &root, "Merged #", PATIENCE).await;
    let roadmap = on_main(&team);
    let second = roadmap.split("## 2. ").nth(1).unwrap();
    let second = second.split("\n## ").next().unwrap();
    assert!(second.contains("- Status: done (20"), "{roadmap}");
    assert!(second.contains("- Branch: codebutler/"), "{roadmap}");
    assert_eq!(roadmap.matches("- Status: done").count(), 1, "{roadmap}");
    assert_eq!(merged(&team), ["birch"]);
}

/// Nobody allowed a suggestion to count: the item waits for a person's words, and what does
/// not depend on it is built meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_waits_for_a_person_unless_a_suggestion_may_count() {
    let items = [item(1, &[], Fate::Asks), item(2, &[], Fate::Built)];
    let team = team(&items, "{}", &[]).await;
    let root = team.say("develop everything").await;
    team.press(&root, "start_merging").await;
    until_said(&team, &root, "1 of 2 items done", PATIENCE).await;
    let own = until_stands(&team, 1, "asks", "").await;
    until_said(&team, &root, "In the sun or in the shade?", PATIENCE).await;
    let thread = team.thread(&own).await.unwrap();
    assert!(!says(&thread, "Plant it"), "{:#?}", story(&thread));
    assert_eq!(merged(&team), ["birch"]);
    team.reply(&root, "1: in the shade").await;
    let thread = until_said(&team, &root, "The run has ended", PATIENCE).await;
    assert!(says(&thread, "all 2 items are done"), "{thread:#}");
    let thread = team.thread(&own).await.unwrap();
    assert!(says(&thread, "in the shade"), "{:#?}", story(&thread));
    assert_eq!(merged(&team), ["birch", "ash"]);
}
