//! The thin path: one whole story through every crate, as real processes.

use std::{collections::BTreeSet, fs};

use butler_protocol::{Entry, ModelMessage, Role};
use butler_turn::fold;
use serde_json::Value;

use crate::team::{Team, command, home, keys, story, tokens};

pub(crate) const SCENARIO: &str = include_str!("../../demo/scenarios/json-flag.yaml");
pub(crate) const REQUEST: &str = "add a --json flag";

/// What people read, in order; the ids in it differ from run to run.
const STORY: [&str; 8] = [
    "you: add a --json flag",
    "codebutler.pm: Plan",
    "codebutler.pm: @codebutler.coder the plan *Add list --json* is approved",
    "codebutler.coder: @codebutler.reviewer pull request #1 is ready, round 1",
    "codebutler.reviewer: @codebutler.lead review of #1",
    "codebutler.lead: Ready to merge",
    "codebutler.lead: Merged #1 as",
    "codebutler.lead: *What it took*",
];

/// The list of the Coder, which it never moved.
const LIST: &str = "codebutler.coder: *0 of 4* · ";

pub(crate) fn merged(thread: &Value) -> bool {
    story(thread)
        .iter()
        .any(|line| line.starts_with("codebutler.lead: *What it took*"))
}

pub(crate) fn assert_story(thread: &Value) {
    let mut lines = story(thread);
    // The Coder's list has its own pace: it holds nobody up, so it stands anywhere.
    let list = lines.iter().position(|line| line.starts_with(LIST));
    lines.remove(list.unwrap_or_else(|| panic!("the list is shown: {lines:#?}")));
    assert_eq!(lines.len(), STORY.len(), "{lines:#?}");
    for (line, start) in lines.iter().zip(STORY) {
        assert!(line.starts_with(start), "{line}\nshould start with {start}");
    }
    let all = keys(thread);
    let once: BTreeSet<_> = all.iter().collect();
    assert_eq!(once.len(), all.len(), "a key was posted twice: {all:?}");
}

/// The change is on the default branch of the remote, and nothing else is there.
pub(crate) fn assert_remote(team: &Team) {
    let scratch = &team.scratch;
    assert_eq!(scratch.remote_branches(), ["main"]);
    let program = scratch.remote_file("main", "notes.sh").unwrap();
    assert!(program.contains("list_json()"));
    let files = scratch.remote_git(&["ls-tree", "-r", "--name-only", "main"]);
    let files: BTreeSet<_> = files.lines().collect();
    let expected = [
        ".codebutler/.gitignore",
        ".codebutler/config.json",
        "README.md",
        "notes.sh",
        "tests/run.sh",
    ];
    for file in expected {
        assert!(files.contains(file), "{file} is missing: {files:?}");
    }
    assert!(!files.iter().any(|file| file.contains("threads")));
    let branches = scratch.root().join(".codebutler/branches");
    let left: Vec<_> = fs::read_dir(branches)
        .map(|all| all.flatten().map(|one| one.file_name()).collect())
        .unwrap_or_default();
    let left: Vec<_> = left
        .iter()
        .filter(|name| !name.to_string_lossy().starts_with(['_', '.']))
        .collect();
    assert!(left.is_empty(), "a worktree stayed behind: {left:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_becomes_a_merge() {
    let team = Team::start(SCENARIO).await;
    let root = team.say(REQUEST).await;
    team.press(&root, "approve").await;
    team.press(&root, "merge").await;
    for role in Role::ALL {
        only_hub_and_model(&team, role);
    }
    let thread = team.until(&root, "the merge", merged).await;
    assert_story(&thread);
    assert_remote(&team);
    people_have_names(&team, &root);
    assert_eq!(team.model.left_over(), Vec::<String>::new());
    assert!(
        thread["cost"]["used"].as_i64().unwrap() > 0,
        "{}",
        thread["cost"]
    );
}

/// No role is told of "you", who is itself, nor of an id, which nobody can say.
fn people_have_names(team: &Team, root: &str) {
    let person = tokens(&team.scratch)["people"]["you"]["user"].clone();
    let person = person.as_str().unwrap();
    let mut heard = 0;
    for role in Role::ALL {
        let log = team.log(root, role.as_str());
        let entries: Vec<Entry> = log
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["entry"].take())
            .map(|entry| serde_json::from_value(entry).unwrap())
            .collect();
        for message in fold(&entries) {
            let text = serde_json::to_string(&*message).unwrap();
            assert!(!text.contains(person), "{role}: {text}");
            let prompt = matches!(&*message, ModelMessage::System { .. });
            let told = !prompt && (text.contains(" by you") || text.contains("name=\\\"you"));
            assert!(!told, "{role}: {text}");
            heard += usize::from(text.contains("the user"));
        }
    }
    assert!(heard > 0, "nobody was told of the person");
}

/// An agent listens nowhere, talks to hub and model only, and holds no Slack token.
fn only_hub_and_model(team: &Team, role: Role) {
    let pid = team.pid(role.as_str()).unwrap();
    let allowed = [port(&team.hub), port(&team.model.base_url())];
    let inodes = sockets(pid);
    for table in ["tcp", "tcp6", "udp", "udp6"] {
        let lines = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        for line in lines.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            if !inodes.contains(fields[9]) {
                continue;
            }
            let (_, peer) = fields[2].rsplit_once(':').unwrap();
            let peer = u16::from_str_radix(peer, 16).unwrap();
            assert!(
                allowed.contains(&peer),
                "{role} talks to port {peer}: {line}"
            );
        }
    }
    let variables = fs::read(format!("/proc/{pid}/environ")).unwrap();
    let variables = String::from_utf8_lossy(&variables);
    assert!(!variables.contains("xoxb-") && !variables.contains("xapp-"));
}

fn sockets(pid: i32) -> BTreeSet<String> {
    let all = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    all.flatten()
        .filter_map(|one| fs::read_link(one.path()).ok())
        .filter_map(|link| {
            let link = link.to_string_lossy().into_owned();
            Some(link.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
        })
        .collect()
}

fn port(url: &str) -> u16 {
    url::Url::parse(url).unwrap().port().unwrap()
}

/// A key that a model writes down reaches neither the thread nor the pull request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_reaches_the_thread_or_the_pull_request() {
    let key = ["ghp", "_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let scenario = SCENARIO
        .replace("Unsure about nothing", &format!("The key is {key}"))
        .replace("Open: one `sed`", &format!("The key is {key}; one `sed`"));
    let team = Team::start(&scenario).await;
    let root = team.say(REQUEST).await;
    team.press(&root, "approve").await;
    team.press(&root, "merge").await;
    let thread = team.until(&root, "the merge", merged).await;
    let said = thread["messages"].to_string();
    assert!(said.contains("The key is [REDACTED:") && !said.contains(&key));
    let commit = team
        .scratch
        .remote_git(&["log", "-1", "--format=%B", "main"]);
    assert!(
        commit.contains("The key is [REDACTED:") && !commit.contains(&key),
        "{commit}"
    );
    let refs = team
        .scratch
        .remote_git(&["for-each-ref", "--format=%(refname)"]);
    for name in refs.lines().filter(|name| name.contains("/pr/")) {
        let pull = team.scratch.remote_git(&["log", "--patch", name]);
        assert!(!pull.contains(&key), "{name}");
    }
}

/// The working copy names models that do not exist; the default branch counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_obey_the_files_of_the_default_branch() {
    let team = Team::start_with(SCENARIO, |root| {
        let config = root.join(".codebutler/config.json");
        let text = fs::read_to_string(&config).unwrap();
        fs::write(config, text.replace("rehearsal/", "elsewhere/")).unwrap();
    })
    .await;
    let root = team.say(REQUEST).await;
    let planned = |thread: &Value| story(thread).iter().any(|line| line.contains(": Plan"));
    team.until(&root, "the plan", planned).await;
}

/// The Coder dies between its first edit and its last, the hub right after it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_coder_and_a_killed_hub_lose_and_double_nothing() {
    let team = Team::start(SCENARIO).await;
    let root = team.say(REQUEST).await;
    team.press(&root, "approve").await;
    let at_work = || team.log(&root, "coder").matches("\"tool_intent\"").count() >= 3;
    while !at_work() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    team.kill("coder");
    team.kill("hub");
    team.press(&root, "merge").await;
    let thread = team.until(&root, "the merge", merged).await;
    assert_story(&thread);
    assert_remote(&team);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_link_leads_to_the_page_of_the_running_hub() {
    let team = Team::start(SCENARIO).await;
    let link = || {
        let mut command = command(team.scratch.root(), &home(&team.scratch));
        let output = command.arg("link").output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let (one, other) = (link(), link());
    assert!(one.starts_with(&team.hub) && one != other, "{one} {other}");
    let path = one.strip_prefix(&team.hub).unwrap();
    assert!(team.page(path).await.contains("<form"), "{path}");
}
