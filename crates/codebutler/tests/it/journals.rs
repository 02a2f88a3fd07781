//! What stays of a thread: its story in the repo, and on disk why it went so.

use butler_protocol::ThreadId;
use serde_json::json;

use crate::{
    said::ended,
    team::{Team, command, says},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_is_committed_where_the_config_wants_it_and_decisions_can_be_read() {
    let scenario = include_str!("../../demo/scenarios/json-flag.yaml");
    let team = Team::start_configured(scenario, |config| config["journal"] = json!("pr")).await;
    let root = team.say("add a --json flag").await;
    team.press(&root, "approve").await;
    team.press(&root, "merge").await;
    let thread = team.until(&root, "the report", ended).await;
    assert!(
        says(&thread, "Adds a page about this thread"),
        "the card says so"
    );
    let path = format!(".codebutler/journals/thread-{root}.md");
    let journal = team.scratch.remote_file("main", &path).unwrap();
    for part in [
        "# Add list --json\n",
        "## Asked\n\nthe user wrote:\n\n> add a --json flag",
        "## Plan\n\n**Add list --json**",
        "## Decisions\n\n- the plan: Approve\n- the merge: Merge\n",
        "## Findings\n\n- F1 [quality/low] notes.sh:36",
        "## What it cost",
        "Coder · rehearsal/coder ·",
    ] {
        assert!(journal.contains(part), "“{part}” is missing in\n{journal}");
    }
    assert!(
        !journal.contains("RunChecks"),
        "no list of calls: {journal}"
    );
    let reviewed = team.scratch.remote_file("main", "notes.sh").unwrap();
    assert!(
        reviewed.contains("list_json()"),
        "the change itself is there"
    );

    let show = |args: &[&str]| {
        let output = command(team.scratch.root(), &team.home())
            .args(args)
            .output()
            .unwrap();
        let code = output.status.code();
        (code, String::from_utf8(output.stdout).unwrap())
    };
    let folder = format!("{}-{}", team.channel, root.replace('.', "-"));
    let (code, shown) = show(&["threads", "show", &folder]);
    assert_eq!(code, Some(0), "{shown}");
    for part in [
        "pm  approval: ask a person (of Approve, Modify, Reject); plan card",
        "pm  approval: Approve; the user on card ",
        "lead  approval: Merge; the user on card ",
    ] {
        assert!(shown.contains(part), "“{part}” is missing in\n{shown}");
    }
    let (code, json) = show(&["threads", "show", &folder, "--json"]);
    assert!(
        code == Some(0) && json.contains("\"about\":\"approval\""),
        "{json}"
    );
    assert_eq!(show(&["threads", "show", "nothing"]).0, Some(4));
    // The forge of this clone runs no checks; the team did.
    let (_, pull) = show(&["pr", "show", "1"]);
    assert!(
        pull.contains("checks that the ") && pull.contains("\n  test: passed"),
        "{pull}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_story_can_be_kept_beside_the_branches() {
    let scenario = include_str!("../../demo/scenarios/json-flag.yaml");
    let team = Team::start_configured(scenario, |config| config["journal"] = json!("ref")).await;
    let root = team.say("add a --json flag").await;
    team.press(&root, "approve").await;
    team.press(&root, "merge").await;
    team.until(&root, "the report", ended).await;
    let path = format!(".codebutler/journals/thread-{root}.md");
    let in_main = team.scratch.remote_file("main", &path);
    assert_eq!(in_main, None, "nothing of it is on the default branch");
    let thread: ThreadId = format!("{}/{root}", team.channel).parse().unwrap();
    let name = format!("refs/codebutler/journals/{}", thread.short());
    let journal = team.scratch.remote_file(&name, "journal.md").unwrap();
    assert!(
        journal.contains("Coder: was given the plan") && journal.contains("## What it cost"),
        "{journal}"
    );
}
