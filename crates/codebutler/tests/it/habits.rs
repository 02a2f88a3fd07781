//! A team that has the same kind of work again and again, eight threads of it: the third
//! request of a kind is offered as a skill, a command that keeps failing as a check, and
//! of two learnings on trial the one that nobody misses goes, with its figures.

use std::path::Path;

use butler_agent::Trials;
use butler_journal::ThreadDir;
use butler_testkit::git;
use serde_json::Value;

use crate::team::{Team, button, command, says};

const HABITS: &str = include_str!("scenarios/habits.yaml");
const PM: &str = "# PM\n\nYou plan.\n\n## Learnings\n\n### Be brave\n- **When:** always\n- **Rule:** be brave\n- **Example:** thread-1\n- **Confidence:** high\n- **Source:** thread-1, 2026-01-02\n- **Id:** brave2\n\n### Say how\n- **When:** an option is planned\n- **Rule:** say how it is used\n- **Example:** thread-1\n- **Confidence:** high\n- **Source:** thread-1, 2026-01-02\n- **Id:** useful\n\n## Archived Learnings\n";
const NAMES: [&str; 8] = [
    "all", "brief", "count", "date", "exact", "first", "group", "hide",
];
/// Both sides of a trial have three threads then.
const PRUNED_AT: i64 = 6;

fn prepare(root: &Path) {
    std::fs::write(root.join(".codebutler/pm.md"), PM).unwrap();
    std::fs::write(root.join("tests/style.sh"), "echo 'tabs, please'\nexit 1\n").unwrap();
    git(root, &["add", "--force", "."]);
    git(root, &["commit", "--quiet", "--message", "theirs"]);
    git(root, &["push", "--quiet", "origin", "HEAD:main"]);
}

fn run(team: &Team, args: &[&str]) -> String {
    let root = team.scratch.root();
    let output = command(root, &team.home()).args(args).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What the command says of a learning: threads with and without it, and the trouble.
fn worth(team: &Team, id: &str) -> (i64, i64, Option<f64>) {
    let all: Value = serde_json::from_str(&run(team, &["memory", "--json"])).unwrap();
    let mut all = all.as_array().unwrap().iter();
    let one = all.find(|one| one["id"] == id).unwrap();
    let count = |name: &str| one[name].as_i64().unwrap();
    (
        count("with"),
        count("without"),
        one["trouble"]["mean"].as_f64(),
    )
}

/// One thread, up to its merge card. Whoever does without the useful learning plans what
/// the person has to send back; the other learning spares nobody anything, on the
/// contrary.
async fn thread(team: &Team, name: &str) -> (String, Value) {
    let root = team
        .say(&format!("please support the option --{name} in list"))
        .await;
    let card = |thread: &Value| button(thread, ":approve").is_some();
    team.until(&root, "the plan", card).await;
    let threads = team.scratch.root().join(".codebutler/threads");
    let mut all = ThreadDir::list(&threads).unwrap().into_iter();
    let id = all.find(|id| id.root.as_str() == root).unwrap();
    let trials = Trials::read(&threads);
    let out = trials.left_out(&id);
    let does_without = |learning: &str| out.iter().any(|one| one == learning);
    let refused = u32::from(does_without("useful")) + u32::from(!does_without("brave2"));
    for _ in 0..refused {
        team.press(&root, "modify").await;
        let asked = |thread: &Value| button(thread, ":approve").is_none();
        team.until(&root, "the question", asked).await;
        team.reply(&root, "say how the option is used").await;
        team.until(&root, "the next plan", card).await;
    }
    team.press(&root, "approve").await;
    team.until(&root, "the merge card", |thread| {
        says(thread, "Ready to merge")
    })
    .await;
    let open = team.thread(&root).await.unwrap();
    (root, open)
}

async fn merged(team: &Team, root: &str) -> Value {
    team.press(root, "merge").await;
    team.until(root, "the report", |thread| says(thread, "What it took"))
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_repeats_is_offered_and_what_nobody_misses_goes() {
    let team = Team::start_with(HABITS, prepare).await;
    run(&team, &["memory", "trial", "brave2"]);
    run(&team, &["memory", "trial", "useful"]);
    for (number, name) in (1..).zip(NAMES) {
        let (root, open) = thread(&team, name).await;
        // Not before there is something to see, and with the figures it rests on.
        assert_eq!(says(&open, "Let this go?"), number == PRUNED_AT, "{number}");
        if number == PRUNED_AT {
            assert!(says(&open, "did not miss it"), "{open:#}");
            let (with, without, trouble) = worth(&team, "brave2");
            assert_eq!((with, without), (3, 3), "every thread counts once");
            assert!(trouble.unwrap() >= 0.0);
            let (with, without, trouble) = worth(&team, "useful");
            assert_eq!((with, without), (3, 3));
            assert!(trouble.unwrap() < 0.0, "{trouble:?}");
            team.press_card(&root, "Let this go?", "accept").await;
        }
        let seen = merged(&team, &root).await;
        let skill = "skills/support-the-option-in.md";
        let guard = "codebutler init --check sh-stylesh='sh tests/style.sh'";
        if number == 3 {
            let offered = |thread: &Value| says(thread, skill) && says(thread, guard);
            let seen = team.until(&root, "skill and check", offered).await;
            assert!(says(&seen, "Tried with"), "{seen:#}");
        }
        if number < 3 {
            assert!(
                !says(&seen, skill) && !says(&seen, guard),
                "{number}: {seen:#}"
            );
        }
    }
    let pm = team.scratch.remote_file("main", ".codebutler/pm.md");
    let pm = pm.unwrap();
    let (live, archive) = pm.split_once("## Archived Learnings").unwrap();
    assert!(
        live.contains("### Say how") && !live.contains("Be brave"),
        "{pm}"
    );
    assert!(
        archive.contains("did not miss it") && archive.contains("threads with it"),
        "{pm}"
    );
    let (with, without, trouble) = worth(&team, "useful");
    assert_eq!((with, without), (4, 4));
    assert!(
        trouble.unwrap() < 0.0,
        "the useful one is kept: {trouble:?}"
    );
    // Each thread was read once after its last call, and a few lines of it are kept.
    let kept = team
        .scratch
        .root()
        .join(".codebutler/threads/digests-lead.json");
    let kept: Value = serde_json::from_slice(&std::fs::read(kept).unwrap()).unwrap();
    let kept = kept.as_array().unwrap();
    assert_eq!(kept.len(), NAMES.len());
    for (_, one) in kept.iter().map(|pair| (&pair[0], &pair[1])) {
        assert!(one["calls"].as_u64().unwrap() > 0, "{one}");
        assert!(one["digest"]["request"].is_string(), "{one}");
    }
}
