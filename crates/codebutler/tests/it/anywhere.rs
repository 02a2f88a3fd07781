//! Kill it anywhere: the whole story, once per fault point, with `kill -9` of
//! the hub or an agent there. It ends as the undisturbed one did.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
    sync::Arc,
};

use butler_protocol::{FAULT_LOG_VARIABLE, FAULT_VARIABLE, Role};
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::{
    chaos::{Dice, Passage, first_and_last, killed, named, nightly, passages, points, sample_size},
    story::{REQUEST, SCENARIO, assert_remote, assert_story, merged},
    team::{Team, keys},
};

/// What CI can afford.
const SAMPLE: usize = 25;
/// A team is seven processes.
const TEAMS_AT_ONCE: usize = 3;

/// What is left of a story.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// The tree of the default branch.
    tree: String,
    /// Posts by role and by what they are for.
    posts: BTreeMap<String, usize>,
    /// Answers of models that were paid by their count, and the lost ones.
    answered: usize,
    lost: usize,
    /// Calls whose model was told that they were interrupted.
    interrupted: usize,
    /// How often a command was begun that must not be begun twice.
    starts: usize,
    log: PathBuf,
}

async fn tell(folder: &tempfile::TempDir, victim: Option<&Passage>) -> Told {
    let log = folder.path().join("faults.log");
    let mut variables = vec![(FAULT_LOG_VARIABLE, log.display().to_string())];
    variables.extend(victim.map(|victim| (FAULT_VARIABLE, victim.to_string())));
    let team = Team::start_in(SCENARIO, |_| (), &variables).await;
    let person = team.person();
    let root = person.open(REQUEST).await;
    person.press(&root, "Plan", "approve").await.unwrap();
    person
        .press(&root, "Ready to merge", "merge")
        .await
        .unwrap();
    person.until(&root, "the merge", merged).await.unwrap();
    // Who was killed while it carried a decision out looks idle until it is back.
    let settled = |thread: &Value| {
        at_rest(thread) && books_closed(thread, &team, &root) && presses_are_carried_out(thread)
    };
    let thread = person.until(&root, "rest", settled).await.unwrap();
    assert_story(&thread);
    assert_remote(&team);
    let mut told = books(&thread);
    let tree = team.scratch.remote_git(&["ls-tree", "-r", "main"]);
    // A journal tells when things happened, and in which thread.
    let journal = |line: &&str| line.contains(".codebutler/journals/");
    let same: Vec<&str> = tree.lines().filter(|line| !journal(line)).collect();
    told.tree = same.join("\n");
    told.starts = fs::read_to_string(&log)
        .unwrap()
        .matches("/tools.before-command")
        .count();
    told.log = log;
    told
}

fn at_rest(thread: &Value) -> bool {
    let activity = thread["activity"].as_array();
    activity.is_some_and(|all| all.iter().all(|one| one["state"].as_str() == Some("idle")))
}

/// Every log line is on the page, and no money is set aside any more.
fn books_closed(thread: &Value, team: &Team, root: &str) -> bool {
    let lines: usize = Role::ALL
        .iter()
        .map(|role| team.log(root, role.as_str()).lines().count())
        .sum();
    let calls = thread["cost"]["calls"].as_array().into_iter().flatten();
    let reserved: i64 = calls.filter_map(|call| call["reserved"].as_i64()).sum();
    thread["records"].as_array().map_or(0, Vec::len) == lines && reserved == 0
}

/// For each card: how often its decision was used, and how often it was carried out.
fn presses(thread: &Value) -> BTreeMap<&str, (usize, usize)> {
    let mut presses: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for line in thread["records"].as_array().into_iter().flatten() {
        let record = &line["entry"]["record"];
        match text(&record["t"]) {
            "decision_asked" => {
                presses.entry(text(&record["request"])).or_default();
            }
            "decision_used" => presses.entry(text(&record["request"])).or_default().0 += 1,
            "user" => {
                let carried = text(&record["event"]).strip_prefix("carried:");
                if let Some(request) = carried {
                    presses.entry(request).or_default().1 += 1;
                }
            }
            _ => {}
        }
    }
    presses
}

pub(crate) fn presses_are_carried_out(thread: &Value) -> bool {
    presses(thread)
        .values()
        .all(|(used, carried)| used.min(carried) > &0)
}

/// Each press of a button has one effect in the logs, whatever was killed.
fn check_presses(thread: &Value) {
    let presses = presses(thread);
    assert!(!presses.is_empty());
    for (request, effects) in presses {
        assert_eq!(effects, (1, 1), "effects of the press on {request}");
    }
}

/// The bill, item by item, from the log lines; the hub's sum is the same.
pub(crate) fn books(thread: &Value) -> Told {
    let mut told = Told::default();
    let mut sum = 0;
    let mut intents = BTreeSet::new();
    for line in thread["records"].as_array().unwrap() {
        let record = &line["entry"]["record"];
        match record["t"].as_str().unwrap() {
            "settled" => {
                sum += record["cost"].as_i64().unwrap();
                if record["usage"]["output"].as_u64() == Some(0) {
                    told.lost += 1;
                } else {
                    told.answered += 1;
                }
            }
            "tool_intent" if record["tool"] == "Bash" => {
                let fresh = intents.insert(record["call"].to_string());
                assert!(fresh, "a command has two intents: {line}");
            }
            "tool_result" if text(&record["outcome"]["text"]).starts_with("interrupted") => {
                told.interrupted += 1;
            }
            _ => {}
        }
    }
    assert_eq!(thread["cost"]["used"].as_i64(), Some(sum), "the hub's bill");
    check_presses(thread);
    for key in keys(thread) {
        *told.posts.entry(kind_of(&key)).or_default() += 1;
    }
    told
}

/// A key without the ids in it, which are made from the thread's: `lead-report`
/// for what a decision set in motion, `coder` for a call of a tool.
fn kind_of(key: &str) -> String {
    let parts: Vec<&str> = key.split('-').collect();
    match parts[..] {
        [_, role, _, what] => format!("{role}-{what}"),
        [_, role, ..] => role.to_owned(),
        _ => key.to_owned(),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Panics with what differs.
fn compare(told: &Told, undisturbed: &Told) {
    assert_eq!(told.tree, undisturbed.tree, "the merged tree");
    assert_eq!(told.posts, undisturbed.posts, "posts");
    assert!(told.interrupted <= 1 && told.lost <= 1, "{told:?}");
    // A call that was lost is asked again; a command that was interrupted gets
    // one more turn, in which the model looks.
    let expected = undisturbed.answered + told.interrupted;
    assert_eq!(told.answered, expected, "paid answers: {told:?}");
    // Checks may run again, commands may not.
    assert!(told.starts <= undisturbed.starts, "{told:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_story_survives_a_kill_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let undisturbed = Arc::new(tell(&folder, None).await);
    let disturbed = (undisturbed.lost, undisturbed.interrupted);
    assert_eq!((disturbed, undisturbed.starts), ((0, 0), 1));
    let all = passages(&undisturbed.log);
    let victims = match named() {
        Some(victims) => victims,
        None if nightly() => first_and_last(&all),
        None => Dice::throw().sample(&all, sample_size(SAMPLE)),
    };
    let places = Arc::new(Semaphore::new(TEAMS_AT_ONCE));
    let mut runs = tokio::task::JoinSet::new();
    for victim in victims.clone() {
        let (places, undisturbed) = (Arc::clone(&places), Arc::clone(&undisturbed));
        runs.spawn(async move {
            let _place = places.acquire().await.unwrap();
            let folder = tempfile::tempdir().unwrap();
            let log = folder.path().join("faults.log");
            // A panic is a difference, and takes no other run with it.
            let armed = victim.clone();
            let run = tokio::spawn(async move {
                let told = tell(&folder, Some(&armed)).await;
                compare(&told, &undisturbed);
                killed(&told.log)
            });
            (victim, run.await.map_err(|error| error.to_string()), log)
        });
    }
    let (mut died, mut different) = (0, 0);
    while let Some(run) = runs.join_next().await {
        let (victim, outcome, _) = run.unwrap();
        match outcome {
            Ok(true) => died += 1,
            // A later passage need not be reached in every run.
            Ok(false) => println!("CODEBUTLER_VICTIM={victim}: not reached"),
            Err(difference) => {
                different += 1;
                println!("CODEBUTLER_VICTIM={victim}: {difference}");
            }
        }
    }
    println!(
        "{} fault points in {} passages, killed at {died} of {} chosen, {different} differences",
        points(&all).len(),
        all.len(),
        victims.len()
    );
    assert_eq!(different, 0);
}
