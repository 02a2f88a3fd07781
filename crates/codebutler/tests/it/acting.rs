//! Wherever a thread stands, a person can go on: for each state what is offered, one
//! way that is taken (a button of a card or of the page, a typed word, the command
//! line), and what comes of it. After every other story `owed` looks at the offers.

use butler_protocol::{ChannelId, ThreadId};
use butler_repo::Repo;
use serde_json::Value;

use crate::{
    said::texts,
    team::{Team, button, command, home, says},
};

/// What a person does.
enum Act {
    /// Presses the button of a message whose action ends so.
    Press(&'static str),
    /// Presses the button beside the thread that says this word.
    Page(&'static str),
    /// Presses the page's Stop.
    Stop,
    Says(&'static str),
    /// Calls the command line with these words and the thread's id.
    Runs(&'static [&'static str]),
}

use Act::{Page, Press, Runs, Says, Stop};

/// A state, the words that are offered in it, what a person does, and what is said
/// then that was not said before.
type Row = (&'static str, &'static [&'static str], Act, &'static str);

const NO_PULL: &[&str] = &["archive"];
const STOPPED: &[&str] = &["resume", "archive"];
const PULL: &[&str] = &["merge", "hold", "close", "archive"];
const HELD: &[&str] = &["merge", "resume", "close", "archive"];
const CARD: &str = "Asked for by: ";

fn times(thread: &Value, words: &str) -> usize {
    let blocks = thread["messages"].as_array().unwrap().iter();
    let blocks = blocks.map(|message| message["blocks"].to_string());
    let all = texts(thread).into_iter().chain(blocks);
    all.filter(|text| text.contains(words)).count()
}

fn short(team: &Team) -> String {
    let mut listing = command(team.scratch.root(), &home(&team.scratch));
    let listed = listing.args(["threads", "--json"]).output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    listed[0]["short"].as_str().unwrap().to_owned()
}

/// A part of the page of a thread, once it is there.
async fn on_page(team: &Team, root: &str, what: &str, part: &str) {
    let path = format!("c/{}/{root}", team.channel);
    for _ in 0..1200 {
        if team.page(&path).await.contains(part) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("{what}: the page has no {part}");
}

async fn act(team: &Team, root: &str, state: &str, act: &Act) {
    match act {
        Press(action) => team.press_action(root, action).await,
        Page(word) => {
            let offered = format!("name=\"text\" value=\"{word}\"");
            on_page(team, root, state, &offered).await;
            let path = format!("c/{}/say", team.channel);
            let fields = [("thread_ts", root), ("text", word)];
            team.submit(&path, &fields).await;
        }
        Stop => {
            let path = format!("c/{}/{root}/stop", team.channel);
            on_page(team, root, state, &path).await;
            team.submit(&path, &[]).await;
        }
        Says(words) => team.reply(root, words).await,
        Runs(words) => {
            let mut own = command(team.scratch.root(), &home(&team.scratch));
            let ran = own.args(*words).arg(short(team)).output().unwrap();
            assert!(ran.status.success(), "{state}: {ran:?}");
        }
    }
}

async fn walk(team: &Team, root: &str, rows: &[Row]) {
    for (state, offers, way, then) in rows {
        let offered = |thread: &Value| {
            let can = thread["can"].as_array().into_iter().flatten();
            let pressed = match way {
                Press(action) => button(thread, action).is_some(),
                _ => true,
            };
            pressed && can.eq(offers.iter().copied())
        };
        let thread = team.until(root, state, offered).await;
        let before = times(&thread, then);
        act(team, root, state, way).await;
        let came = |thread: &Value| then.is_empty() || times(thread, then) > before;
        team.until(root, &format!("{state}: {then}"), came).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_somebody_works_when_stopped_and_when_archived() {
    let team = Team::start(include_str!("scenarios/stop.yaml")).await;
    let root = team.say("wait for me").await;
    let begun = |times: usize| {
        let log = team.log(&root, "coder");
        log.matches("\"tool_intent\"").count() == times
    };
    let rows: [Row; 1] = [("a card waits", NO_PULL, Press(":approve"), "")];
    walk(&team, &root, &rows).await;
    team.wait("the command", || begun(1)).await;
    let rows: [Row; 3] = [
        (
            "at work",
            NO_PULL,
            Stop,
            "Stopped, as the user asked: Coder.",
        ),
        ("stopped", STOPPED, Page("archive"), "Archived by the user"),
        ("archived", STOPPED, Page("resume"), ""),
    ];
    walk(&team, &root, &rows).await;
    team.wait("the command again", || begun(2)).await;
    let rows: [Row; 1] = [("at work again", NO_PULL, Stop, "Stopped, as the user asked")];
    walk(&team, &root, &rows).await;
}

/// Whoever was stopped leaves the worktree a moment later than the thread says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn archived_while_somebody_is_on_the_way_out_of_the_worktree() {
    let team = Team::start(include_str!("scenarios/stop.yaml")).await;
    let root = team.say("wait for me").await;
    let rows: [Row; 1] = [("a card waits", NO_PULL, Press(":approve"), "")];
    walk(&team, &root, &rows).await;
    let begun = || team.log(&root, "coder").contains("\"tool_intent\"");
    team.wait("the command", begun).await;
    let rows: [Row; 1] = [("at work", NO_PULL, Stop, "Stopped, as the user asked")];
    walk(&team, &root, &rows).await;
    let repo = Repo::open(team.scratch.root()).await.unwrap();
    let thread = ThreadId::new(ChannelId::new(&team.channel), root.parse().unwrap());
    let mut held = None;
    team.wait("the worktree", || {
        held = repo.try_lock(&thread).unwrap();
        held.is_some()
    })
    .await;
    let leaving = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_secs(2));
        drop(held);
    });
    let rows: [Row; 1] = [("stopped", STOPPED, Page("archive"), "Archived by the user")];
    walk(&team, &root, &rows).await;
    leaving.join().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_asked_when_held_when_closed_and_when_archived_with_a_pull_request() {
    let team = Team::start(include_str!("scenarios/acting.yaml")).await;
    let root = team.say("say hello").await;
    team.press(&root, "approve").await;
    team.until(&root, "the question", |thread| says(thread, "you meant?"))
        .await;
    let rows: [Row; 8] = [
        ("asked", PULL, Page("archive"), "Archived by the user"),
        ("archived", PULL, Page("merge"), CARD),
        ("a card waits", PULL, Press(":hold"), "Held by the user"),
        ("held", HELD, Runs(&["thread", "resume"]), CARD),
        ("a card again", PULL, Says("close"), "Closed #1 without"),
        ("closed", NO_PULL, Says("what now?"), "What is next?"),
        (
            "closed and done",
            NO_PULL,
            Page("archive"),
            "Archived by the user",
        ),
        ("all put away", NO_PULL, Says("one more"), "Still here."),
    ];
    walk(&team, &root, &rows).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_it_failed() {
    let scenario = "title: a key that is refused once\nroles:\n  pm:\n    - fault: { kind: auth, times: 1 }\n      say: Here it is.\n    - say: And here.\n";
    let team = Team::start(scenario).await;
    let root = team.say("find it").await;
    let rows: [Row; 3] = [
        ("failed", NO_PULL, Press("cb-retry"), "Here it is."),
        (
            "done",
            NO_PULL,
            Runs(&["thread", "archive"]),
            "Archived by the user",
        ),
        ("archived", NO_PULL, Says("once more"), "And here."),
    ];
    walk(&team, &root, &rows).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_forge_refuses_the_merge() {
    if crate::deciding::no_gh() {
        eprintln!("SKIPPED: gh is not installed");
        return;
    }
    let (team, github) = Team::start_on_github(crate::story::SCENARIO).await;
    let root = team.say(crate::story::REQUEST).await;
    team.press(&root, "approve").await;
    github.refuse_merges(Some((405, "Required status check \"ci\" is failing.")));
    let withdrawn = "This merge was withdrawn";
    let rows: [Row; 5] = [
        ("a card waits", PULL, Press(":merge"), "is not merged yet"),
        ("refused", PULL, Press("cb-act-try-again"), ""),
        ("refused again", PULL, Page("hold"), withdrawn),
        ("withdrawn", PULL, Page("close"), CARD),
        ("a card again", PULL, Press(":close"), "Closed #1 without"),
    ];
    walk(&team, &root, &rows).await;
}
