//! The roadmap is developed: a person starts a run, and every item is planned, built,
//! reviewed and merged in a thread of its own before what depends on it begins.

use std::{path::Path, time::Duration};

use butler_rehearsal::Scenario;
use butler_testkit::git;
use serde_json::{Value, json};

use crate::{
    chaos::{Dice, nightly, sample_size},
    team::{Team, command, says, story},
};

/// Generous: the machine may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(240);

/// The person's side: what starts a run.
const START: &str = r#"
title: the whole roadmap
words: [develop everything]
roles:
  pm:
    - call: [{ tool: Develop, with: WITH }]
    - expect: { tool_result_contains: "waiting for a person" }
      say: It has begun.
"#;

const NAMES: [&str; 12] = [
    "ash", "birch", "cedar", "dogwood", "elm", "fir", "gum", "hazel", "ivy", "juniper", "kapok",
    "larch",
];

/// The sample's program, which the checks run.
const PROGRAM: &str = include_str!("../../demo/sample/notes.sh");

/// An item of the roadmap: what it depends on, and what becomes of it.
#[derive(Clone, Copy)]
pub(crate) struct Item {
    number: u32,
    after: &'static [u32],
    fate: Fate,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Fate {
    /// A file of its own.
    Built,
    /// The same line of a file that another item writes too.
    Clashes,
    /// Its PM asks before it plans.
    Asks,
    /// Its checks stay red, until a person has an idea.
    Fails,
    /// A list that has a line more than the one that it depends on left there.
    Lists,
    /// The same lines of these files that others write too.
    Writes(&'static [&'static str]),
}

pub(crate) const fn item(number: u32, after: &'static [u32], fate: Fate) -> Item {
    Item {
        number,
        after,
        fate,
    }
}

impl Item {
    fn name(self) -> &'static str {
        NAMES[self.number as usize - 1]
    }

    fn on_roadmap(self) -> String {
        let after: Vec<String> = self.after.iter().map(ToString::to_string).collect();
        let (number, name) = (self.number, self.name());
        format!(
            "## {number}. Plant {name}\n- Status: pending\n- Depends on: {}\n- Acceptance criteria:\n  - the {name} stands\n\n",
            after.join(", ")
        )
    }

    fn path(self) -> String {
        match self.fate {
            Fate::Clashes | Fate::Lists => "trees/list.txt".to_owned(),
            Fate::Writes(files) => files[0].to_owned(),
            _ => format!("trees/{}.txt", self.name()),
        }
    }

    /// What the models say about it. The words that open the story are in no file.
    fn story(self) -> Scenario {
        let (name, path) = (self.name(), self.path());
        let plan = json!({"tool": "ProposePlan", "with": {"title": format!("Plant {name}"),
            "summary": "As asked.", "steps": [format!("Plant it — {path}:1")],
            "criteria": ["it stands"], "files": [path], "complexity": "simple"}});
        let checks = json!({"call": [{"tool": "RunChecks", "with": {}}]});
        let write = |path: &str, content: &str| {
            json!({"call": [
            {"tool": "Write", "with": {"path": path, "content": content}}]})
        };
        let ready = |text: &str| {
            json!({"call": [
            {"tool": "HandOver", "with": {"kind": "ready_for_review", "text": text}}]})
        };
        let mut own = format!("{name}\n");
        if self.fate == Fate::Lists {
            let names = NAMES[..self.number as usize].iter();
            own = names.map(|name| format!("{name}\n")).collect();
        }
        let mut pm = vec![json!({"call": [plan]})];
        let mut coder = vec![write(&path, &own)];
        match self.fate {
            Fate::Asks => pm.insert(
                0,
                json!({"call": [{"tool": "AskUser", "with": {
                    "question": "1. In the sun or in the shade? I would take the sun."}}]}),
            ),
            Fate::Fails => {
                coder.push(write("notes.sh", "exit 1\n"));
                coder.push(checks.clone());
                coder.push(json!({"repeat": 3, "say": "The checks stay red, whatever I do."}));
                coder.push(write("notes.sh", "${program}"));
                pm.push(
                    json!({"when": {"person_said": true}, "call": [{"tool": "HandOver",
                    "with": {"kind": "answer", "to": "coder", "text": "Put the program back."}}]}),
                );
            }
            Fate::Writes(files) => {
                coder.extend(files[1..].iter().map(|file| write(file, &own)));
            }
            Fate::Built | Fate::Clashes | Fate::Lists => {}
        }
        coder.extend([checks.clone(), ready(&format!("The {name} stands."))]);
        let verdict = |text: &str| {
            json!({"call": [{"tool": "GitDiff", "with": {}},
            {"tool": "HandOver", "with": {"kind": "verdict", "approved": true,
            "invariants": ["the others stay"], "risks": ["correctness/low: one file"],
            "tests": ["unit: the file -> tests/run.sh"], "text": text}}]})
        };
        let mut reviewer = vec![verdict(&format!("The {name} it is."))];
        let merge = |title: &str| {
            json!({"call": [{"tool": "ProposeMerge",
            "with": {"title": title, "description": "One tree."}}]})
        };
        let mut lead = vec![merge(&format!("plant {name}"))];
        let conflict = "conflicts with what was merged meanwhile";
        let (heard, again) = match self.fate {
            Fate::Clashes => (conflict, vec![write(&path, "ash\nbirch\n")]),
            Fate::Writes(files) => {
                let both = |file: &&str| write(file, "both\n");
                (conflict, files.iter().map(both).collect())
            }
            _ => ("stood on another branch", Vec::new()),
        };
        if self.fate != Fate::Built {
            let later = |mut step: Value, heard: &str| {
                step["when"] = json!({"any_user_contains": heard});
                step
            };
            coder.extend(again.into_iter().map(|step| later(step, heard)));
            coder.push(later(checks, heard));
            coder.push(later(ready("Both stand."), heard));
            reviewer.push(later(verdict("Both it is."), "Both stand"));
            lead.push(later(merge(&format!("plant {name} too")), "Both it is"));
        }
        let story = json!({"title": name, "words": [format!("plant {name}")],
            "price": {"input": 1.0, "output": 4.0}, "vars": {"program": PROGRAM},
            "roles": {"pm": pm, "coder": coder, "reviewer": reviewer, "lead": lead}});
        Scenario::parse(&story.to_string()).unwrap()
    }
}

pub(crate) async fn team(items: &[Item], with: &str, variables: &[(&str, String)]) -> Team {
    let mut stories = vec![Scenario::parse(&START.replace("WITH", with)).unwrap()];
    stories.extend(items.iter().map(|item| item.story()));
    let roadmap: String = items.iter().map(|item| item.on_roadmap()).collect();
    let roadmap = format!("# Roadmap\n\nA word of ana.\n\n{roadmap}## Ideas\n- one day\n");
    let write = |root: &Path| {
        std::fs::write(root.join(".codebutler/roadmap.md"), &roadmap).unwrap();
        git(root, &["add", "--force", ".codebutler/roadmap.md"]);
        git(root, &["commit", "--quiet", "--message", "a roadmap"]);
        git(root, &["push", "--quiet", "origin", "HEAD:main"]);
    };
    let configure = |config: &mut Value| {
        config["limits"] = json!({"maxCostPerThread": 1.0, "maxCostPerDay": 100.0});
    };
    Team::start_playing_in(stories, configure, write, variables).await
}

/// What was merged, oldest first.
pub(crate) fn merged(team: &Team) -> Vec<String> {
    let log = team
        .scratch
        .remote_git(&["log", "--reverse", "--format=%s", "main"]);
    let planted = log.lines().filter_map(|line| line.strip_prefix("plant "));
    planted
        .map(|line| line.split(' ').next().unwrap().to_owned())
        .collect()
}

pub(crate) fn on_main(team: &Team) -> String {
    let file = team.scratch.remote_file("main", ".codebutler/roadmap.md");
    file.unwrap()
}

/// The run as scripts see it; nothing while the hub is away.
pub(crate) async fn run(team: &Team) -> Option<Value> {
    let all: Value = serde_json::from_str(&team.try_page("v1/runs").await?).ok()?;
    Some(all["runs"][0].clone())
}

/// Waits until the thread of the run says this, and checks all the while that no more
/// items are at work than allowed.
pub(crate) async fn until_said(team: &Team, root: &str, words: &str, patience: Duration) -> Value {
    let deadline = tokio::time::Instant::now() + patience;
    loop {
        let thread = team.thread(root).await.unwrap_or_default();
        if says(&thread, words) {
            return thread;
        }
        let run = run(team).await.unwrap_or_default();
        check_limits(&run);
        assert!(
            tokio::time::Instant::now() < deadline,
            "“{words}” was not said:\n{run:#}\n{:#?}",
            story(&thread)
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// What must hold at every moment of a run.
fn check_limits(run: &Value) {
    let items = run["items"].as_array().into_iter().flatten();
    let working = items
        .clone()
        .filter(|item| item["report"]["state"] == "working" && item["pull"][1] != "merged");
    let at_once = run["subject"]["at_once"].as_u64().unwrap_or(u64::MAX);
    assert!(working.count() as u64 <= at_once, "too many: {run:#}");
    let (spent, budget) = (&run["spent"], &run["subject"]["budget"]);
    assert!(spent.as_i64() <= budget.as_i64(), "too dear: {run:#}");
}

/// Every item that began has one thread and at most one pull request.
fn check_once(team: &Team, run: &Value, begun: usize) {
    let items = run["items"].as_array().unwrap();
    let mut numbers: Vec<u64> = items
        .iter()
        .map(|item| item["number"].as_u64().unwrap())
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!((numbers.len(), items.len()), (begun, begun), "{run:#}");
    let pulls =
        team.scratch
            .remote_git(&["for-each-ref", "--format=%(refname)", "refs/codebutler/pr/"]);
    let own: std::collections::BTreeSet<u64> = items
        .iter()
        .filter_map(|item| item["pull"][0].as_u64())
        .collect();
    assert_eq!(pulls.lines().count(), own.len(), "{pulls}\n{run:#}");
}

/// Everything comes after what it depends on.
fn check_order(items: &[Item], merged: &[String]) {
    let place = |number: u32| {
        let name = NAMES[number as usize - 1];
        merged.iter().position(|one| one == name)
    };
    for item in items.iter().filter(|item| place(item.number).is_some()) {
        for before in item.after {
            assert!(
                place(*before).is_some_and(|at| Some(at) < place(item.number)),
                "{} before {before}: {merged:?}",
                item.number
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_is_built_unattended_one_after_the_other() {
    let items = [
        item(1, &[], Fate::Built),
        item(2, &[1], Fate::Built),
        item(3, &[2], Fate::Built),
    ];
    let team = team(&items, "{}", &[]).await;
    let root = team.say("develop everything").await;
    let card = team
        .until(&root, "the card", |thread| says(thread, "Likely cost"))
        .await;
    for part in ["1, then 2, then 3", "Plant cedar", "the birch stands"] {
        assert!(card.to_string().contains(part), "{part}: {card:#}");
    }
    assert!(merged(&team).is_empty());
    team.press(&root, "start_merging").await;
    let thread = until_said(&team, &root, "The run has ended", PATIENCE).await;
    assert!(says(&thread, "all 3 items are done"), "{thread:#}");
    assert!(says(&thread, "3 of 3 items done"), "{thread:#}");
    assert_eq!(merged(&team), ["ash", "birch", "cedar"]);
    let roadmap = on_main(&team);
    let done = roadmap.matches("- Status: done (20").count();
    assert_eq!(done, 3, "{roadmap}");
    assert_eq!(roadmap.matches("- Branch: codebutler/").count(), 3);
    assert!(roadmap.starts_with("# Roadmap\n\nA word of ana.\n\n## 1. Plant ash\n"));
    assert!(roadmap.ends_with("## Ideas\n- one day\n"));
    git(team.scratch.root(), &["pull", "--quiet", "origin", "main"]);
    let shown = command(team.scratch.root(), &team.home())
        .args(["roadmap", "--json"])
        .output()
        .unwrap();
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown.to_string().matches("\"done\"").count(), 3, "{shown}");
}

/// Two that write the same line, a diamond with one that asks, and two chains, one of
/// them with an item whose checks stay red.
const TWELVE: [Item; 12] = [
    item(1, &[], Fate::Clashes),
    item(2, &[], Fate::Clashes),
    item(3, &[], Fate::Built),
    item(4, &[3], Fate::Asks),
    item(5, &[3], Fate::Built),
    item(6, &[4, 5], Fate::Built),
    item(7, &[], Fate::Built),
    item(8, &[7], Fate::Built),
    item(9, &[8], Fate::Built),
    item(10, &[], Fate::Built),
    item(11, &[10], Fate::Fails),
    item(12, &[11], Fate::Built),
];

const UNATTENDED: &str = "{ at_once: 3, budget: 14, answer_after_minutes: 0 }";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twelve_items_are_built_unattended_and_the_blocked_one_is_named() {
    let team = team(&TWELVE, UNATTENDED, &[]).await;
    let root = team.say("develop everything").await;
    team.press(&root, "start_merging").await;
    until_said(&team, &root, "10 of 12 items done", PATIENCE).await;
    let blocked = "12. Plant larch · waits for 11 (blocked)";
    until_said(&team, &root, blocked, PATIENCE).await;
    let thread = until_said(&team, &root, "11. Plant kapok (thread", PATIENCE).await;
    assert!(says(&thread, "The checks stay red, whatever I do."));
    let order = merged(&team);
    assert_eq!(order.len(), 10, "{order:?}");
    check_order(&TWELVE, &order);
    check_once(&team, &run(&team).await.unwrap(), 11);
    let list = team.scratch.remote_file("main", "trees/list.txt");
    assert_eq!(list.as_deref(), Some("ash\nbirch\n"), "the conflict");
    assert_eq!(on_main(&team).matches("- Status: done (20").count(), 10);
    // An answer resumes it, and what waited for it.
    team.reply(&root, "11: put the program back").await;
    let thread = until_said(&team, &root, "The run has ended", PATIENCE).await;
    assert!(says(&thread, "all 12 items are done"), "{thread:#}");
    check_order(&TWELVE, &merged(&team));
    check_once(&team, &run(&team).await.unwrap(), 12);
    assert_eq!(on_main(&team).matches("- Status: done (20").count(), 12);
}

/// Everything is killed again and again: nothing begins twice, nothing is forgotten,
/// and each item has one pull request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_survives_kills_of_everything() {
    let kills = sample_size(if nightly() { 30 } else { 4 });
    let mut team = team(&TWELVE, UNATTENDED, &[]).await;
    let root = team.say("develop everything").await;
    team.press(&root, "start_merging").await;
    let mut dice = Dice::throw();
    let mut in_time = 0;
    for _ in 0..kills {
        let pause = 200 + dice.below(2500);
        tokio::time::sleep(Duration::from_millis(pause as u64)).await;
        check_limits(&run(&team).await.unwrap_or_default());
        in_time += usize::from(merged(&team).len() < 10);
        team.crash();
    }
    println!("killed {kills} times, {in_time} of them before the last merge");
    assert!(
        in_time * 2 > kills,
        "the run was over too soon to show much"
    );
    until_said(&team, &root, "10 of 12 items done", 3 * PATIENCE).await;
    until_said(&team, &root, "11. Plant kapok (thread", PATIENCE).await;
    let order = merged(&team);
    let mut once = order.clone();
    once.sort();
    once.dedup();
    assert_eq!((order.len(), once.len()), (10, 10), "{order:?}");
    check_order(&TWELVE, &order);
    check_once(&team, &run(&team).await.unwrap(), 11);
    assert_eq!(on_main(&team).matches("- Status: done (20").count(), 10);
}
