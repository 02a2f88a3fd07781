//! The team gets to know a repository: four roles at once, one card, one commit; and
//! again when the code has changed, only where it has.

use std::path::Path;

use butler_protocol::{FAULT_LOG_VARIABLE, FAULT_VARIABLE};
use butler_testkit::git;
use serde_json::Value;

use crate::team::{Team, says};

const MAPPING: &str = include_str!("scenarios/mapping.yaml");
const FILES: [&str; 5] = ["global.md", "pm.md", "coder.md", "reviewer.md", "artist.md"];

fn on_main(team: &Team, name: &str) -> String {
    let file = team
        .scratch
        .remote_file("main", &format!(".codebutler/{name}"));
    file.unwrap_or_default()
}

fn commits(team: &Team) -> Vec<String> {
    let log = team.scratch.remote_git(&["log", "--format=%s", "main"]);
    let lines = log.lines().filter(|line| line.contains("project maps"));
    lines.map(str::to_owned).collect()
}

fn calls(thread: &Value) -> i64 {
    let calls = thread["cost"]["calls"].as_array().unwrap().iter();
    calls.filter_map(|one| one["calls"].as_i64()).sum()
}

async fn learned(team: &Team, words: &str) -> (String, Value) {
    let root = team.say(words).await;
    let asked = |thread: &Value| says(thread, "Keep these project maps?");
    team.until(&root, "the card", asked).await;
    team.press(&root, "accept").await;
    let kept = |thread: &Value| says(thread, "on the default branch");
    let thread = team.until(&root, "the commit", kept).await;
    (root, thread)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_roles_explore_and_one_click_keeps_their_maps() {
    let team = Team::start(MAPPING).await;
    // What the repository lacks begins as the shipped file.
    let before = butler_playbook::builtin_file("coder.md").unwrap().text;
    let head = git(team.scratch.root(), &["rev-parse", "HEAD"]);
    let (root, thread) = learned(&team, "learn this repo").await;
    assert_eq!(commits(&team).len(), 1);
    let changed = team
        .scratch
        .remote_git(&["show", "--name-only", "--format=", "main"]);
    assert_eq!(changed.lines().count(), FILES.len(), "{changed}");
    for (name, words) in [
        ("global.md", "- `README.md`: the manual"),
        ("pm.md", "- `notes.sh`: the commands add, list and remove"),
        ("coder.md", "- `tests`: one script, tests/run.sh"),
        ("reviewer.md", "Good to know:\n\n- remove rewrites"),
        ("artist.md", "- nothing but lines of text"),
    ] {
        let text = on_main(&team, name);
        assert!(text.contains(words), "{name}: {text}");
        let stamp = format!("## Project Map\n\nSeen at `{}`.\n", &head[..12]);
        assert!(text.contains(&stamp), "{name}: {text}");
    }
    // Nothing but the map is touched.
    let after = on_main(&team, "coder.md");
    let (start, end) = before.split_once("## Project Map\n").unwrap();
    assert!(after.starts_with(start) && after.ends_with(end.trim_start()));
    assert!(
        !after.contains("src/notes.rs"),
        "what the tree does not have is refused"
    );
    assert!(calls(&thread) <= 12, "{}", thread["cost"]);
    assert_eq!(team.logs(&root, "researcher").len(), 0);

    // A changed tree: the one whose map it concerns, and the Lead.
    more_code(team.scratch.root());
    let (root, thread) = learned(&team, "re-learn").await;
    assert!(calls(&thread) <= 4, "{}", thread["cost"]);
    assert_eq!(team.logs(&root, "artist").len(), 0, "nothing new to see");
    let coder = on_main(&team, "coder.md");
    assert!(
        coder.contains("- `lib/json.sh`: `escape_json()`"),
        "{coder}"
    );
    assert!(
        coder.contains("- `tests`: one script"),
        "what was there stays"
    );
    assert_eq!(commits(&team).len(), 2);

    // What the tree speaks against is put up with it.
    team.press_card(&root, "Let this go?", "accept").await;
    team.press_card(&root, "Keep what was learned", "merge")
        .await;
    team.until(&root, "the merge", |thread| says(thread, "Merged #1"))
        .await;
    let coder = on_main(&team, "coder.md");
    let (live, archive) = coder.split_once("## Archived Learnings").unwrap();
    assert!(!live.contains("Old habit") && archive.contains("away.sh, which is gone"));
    assert!(live.contains("- `lib/json.sh`"), "{coder}");
}

const OLD: &str = "## Learnings\n\n### Old habit\n- **When:** a flag is added\n- **Rule:** run old/away.sh first\n- **Example:** thread-1\n- **Confidence:** high\n- **Source:** thread-1, 2026-01-02\n";

fn more_code(root: &Path) {
    git(root, &["pull", "--quiet", "origin", "main"]);
    let file = root.join(".codebutler/coder.md");
    let coder = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, coder.replacen("## Learnings\n", OLD, 1)).unwrap();
    git(root, &["add", ".codebutler/coder.md"]);
    std::fs::create_dir_all(root.join("lib")).unwrap();
    std::fs::write(root.join("lib/json.sh"), "escape_json() {\n    cat\n}\n").unwrap();
    git(root, &["add", "lib"]);
    git(root, &["commit", "--quiet", "--message", "more code"]);
    git(root, &["push", "--quiet", "origin", "HEAD:main"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn maps_can_be_looked_at_one_by_one() {
    let team = Team::start(MAPPING).await;
    let root = team.say("learn this repo").await;
    team.press(&root, "each").await;
    let cards = |thread: &Value| {
        let all = thread["decisions"].as_array().into_iter().flatten();
        all.filter(|one| one["asked"]["kind"] == "learning").count() == FILES.len()
    };
    team.until(&root, "a card each", cards).await;
    for (name, choice) in FILES
        .iter()
        .zip(["reject", "accept", "accept", "reject", "reject"])
    {
        team.press_card(&root, name, choice).await;
    }
    team.press(&root, "merge").await;
    team.until(&root, "the merge", |thread| says(thread, "Merged #1 as"))
        .await;
    for (name, kept) in FILES.iter().zip([false, true, true, false, false]) {
        let text = on_main(&team, name);
        assert_eq!(text.contains("Seen at `"), kept, "{name}: {text}");
    }
}

/// Killed where a map is handed over, where the card is posted, and around the commit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_anywhere_loses_and_doubles_nothing() {
    for point in [
        "coder/agent.after-post",
        "lead/agent.before-card",
        "lead/agent.after-card",
        "lead/repo.after-memory",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("faults.log");
        let variables = [
            (FAULT_LOG_VARIABLE, log.display().to_string()),
            (FAULT_VARIABLE, point.to_owned()),
        ];
        let team = Team::start_in(MAPPING, |_| (), &variables).await;
        let (_, thread) = learned(&team, "learn this repo").await;
        let passed = std::fs::read_to_string(&log).unwrap();
        assert!(passed.contains("killed"), "{point}: {passed}");
        assert_eq!(commits(&team).len(), 1, "{point}");
        let cards = thread["decisions"].as_array().unwrap();
        assert_eq!(cards.len(), 1, "{point}: {cards:#?}");
        let map = on_main(&team, "coder.md");
        assert_eq!(map.matches("- `notes.sh`").count(), 1, "{point}: {map}");
    }
}
