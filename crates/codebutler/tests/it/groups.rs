//! Two Coders of one repository, as on two machines: each has a clone and a machine folder
//! of its own, and they share one hub. One is killed, or stands still, in the middle of its
//! work; the other one goes on, and nothing happens twice.

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use butler_protocol::{FAULT_LOG_VARIABLE, FAULT_VARIABLE, Role, Secret};
use butler_rehearsal::{Rehearsal, Scenario};
use butler_slack::Socket;
use butler_testkit::ScratchRepo;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{
    activation_world::{free_port, kept},
    anywhere::{books, presses_are_carried_out},
    chaos::{Dice, Passage, killed, nightly, passages, sample_size},
    keeper::Keeper,
    person::Person,
    story::{REQUEST, SCENARIO, assert_story, merged},
    team::{agree, command, home, set_up, story, tokens},
};

/// A hand-over in a log.
pub(crate) const GAVE: &str = "\"t\":\"gave\"";
const PAUSE: Duration = Duration::from_millis(50);
/// Runs with somebody killed at random that CI can afford; at night there are more.
const SAMPLE: usize = 2;
const NIGHTLY_SAMPLE: usize = 40;

/// A machine with a clone of its own.
struct Machine {
    root: PathBuf,
    home: PathBuf,
}

/// A team whose Coder there is twice.
struct Group {
    coders: Vec<Member>,
    _others: Vec<Keeper>,
    person: Person,
    machines: [Machine; 2],
    model: Rehearsal,
    scratch: ScratchRepo,
}

/// One Coder. Nobody starts it again.
struct Member {
    child: Child,
    log: PathBuf,
}

impl Member {
    fn start(machine: &Machine, log: PathBuf, variables: &[(&str, String)]) -> Self {
        let out = File::options().create(true).append(true).open(&log);
        let out = out.unwrap();
        let child = command(&machine.root, &machine.home)
            .args(["--role", "coder"])
            .env("CODEBUTLER_SUPERVISED", "1")
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(out.try_clone().unwrap())
            .stderr(out)
            .spawn()
            .unwrap();
        Self { child, log }
    }

    /// Until it listens, or died on the way there.
    async fn is_ready(&mut self) {
        let says_so = |log: &Path| fs::read_to_string(log).unwrap().contains("ready");
        while !says_so(&self.log) && self.child.try_wait().unwrap().is_none() {
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Group {
    /// Starts everything; the Coders in this order, each with its variables.
    async fn start(scenario: Scenario, coders: [&[(&str, String)]; 2]) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let any = ([127, 0, 0, 1], 0).into();
        let cancel = CancellationToken::new();
        let model = Rehearsal::start_all(any, vec![scenario], false, cancel)
            .await
            .unwrap();
        let scratch = ScratchRepo::new();
        set_up(&scratch, &model.base_url(), None);
        agree(&scratch);
        let address = format!("127.0.0.1:{}", free_port());
        let keep = |name: &str, args: &[&str]| kept(&scratch, name, None, args, vec![]);
        let mut others = vec![keep("hub", &["hub", "--listen", &address])];
        let known = tokens(&scratch);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let token = text(&known["people"]["you"]["token"]);
        let hub = format!("http://{address}/");
        let person = Person::new(&hub, &text(&known["channel"]), &token);
        while person.get("v1/me").await.is_none() {
            tokio::time::sleep(PAUSE).await;
        }
        let first = Machine {
            root: scratch.root().to_owned(),
            home: home(&scratch),
        };
        let machines = [first, second_machine(&scratch)];
        let mut members = Vec::new();
        for (number, machine) in machines.iter().enumerate() {
            let log = scratch.folder().join(format!("coder-{number}.log"));
            let mut member = Member::start(machine, log, coders[number]);
            member.is_ready().await;
            members.push(member);
        }
        let roles = Role::ALL.into_iter().filter(|role| *role != Role::Coder);
        others.extend(roles.map(|role| keep(role.as_str(), &["--role", role.as_str()])));
        Self {
            coders: members,
            _others: others,
            person,
            machines,
            model,
            scratch,
        }
    }

    /// The story up to its merge, and what it left.
    async fn finish(&self, root: &str) -> Value {
        finish(&self.person, &self.scratch, root).await
    }

    /// The Coder's log of a thread on a machine.
    fn log(&self, machine: usize, root: &str) -> String {
        coders_log(&self.machines[machine].root, &self.person, root)
    }

    /// Waits until the hub has a line of the Coder that contains this; which Coder had
    /// the thread first.
    async fn until_line(&self, root: &str, part: &str) -> usize {
        until_line(&self.person, root, part).await;
        usize::from(self.log(0, root).is_empty())
    }
}

/// The story up to its merge, and what it left.
pub(crate) async fn finish(person: &Person, scratch: &ScratchRepo, root: &str) -> Value {
    person.press(root, "Ready to merge", "merge").await.unwrap();
    person.until(root, "the merge", merged).await.unwrap();
    settled(person, scratch, root).await
}

/// What a merged story left, once nobody is at work any more.
pub(crate) async fn settled(person: &Person, scratch: &ScratchRepo, root: &str) -> Value {
    let rests = |thread: &Value| {
        let activity = thread["activity"].as_array();
        let is_idle = |one: &Value| one["state"] == json!("idle");
        let calls = thread["cost"]["calls"].as_array().into_iter().flatten();
        let reserved: i64 = calls.filter_map(|call| call["reserved"].as_i64()).sum();
        let idle = activity.is_some_and(|all| all.iter().all(is_idle));
        idle && reserved == 0 && presses_are_carried_out(thread)
    };
    let thread = person.until(root, "rest", rests).await.unwrap();
    assert_story(&thread);
    // Each call is paid once, each press has one effect, no command began twice.
    let _ = books(&thread);
    assert_remote(scratch);
    thread
}

/// One change, whole, and one pull request.
fn assert_remote(scratch: &ScratchRepo) {
    let file = |name: &str| scratch.remote_file("main", name).unwrap();
    let count = |text: &str, part: &str| text.matches(part).count();
    assert_eq!(count(&file("notes.sh"), "list_json() {"), 1);
    assert_eq!(count(&file("notes.sh"), "--json) list_json ;;"), 1);
    assert_eq!(count(&file("tests/run.sh"), "notes as JSON"), 1);
    assert_eq!(count(&file("README.md"), "list --json"), 1);
    assert_eq!(scratch.remote_branches(), ["main"]);
}

/// The Coder's log of a thread in a clone.
pub(crate) fn coders_log(clone: &Path, person: &Person, root: &str) -> String {
    let folder = format!("{}-{}", person.channel, root.replace('.', "-"));
    let threads = clone.join(".codebutler/threads");
    let file = threads.join(folder).join("conversations/coder.jsonl");
    fs::read_to_string(file).unwrap_or_default()
}

/// Waits until the hub has a line of the Coder that contains this.
pub(crate) async fn until_line(person: &Person, root: &str, part: &str) {
    let has = |thread: &Value| {
        let lines = thread["records"].as_array().into_iter().flatten();
        let mut own = lines.filter(|line| line["role"] == json!("coder"));
        own.any(|line| line["entry"].to_string().contains(part))
    };
    person.until(root, part, has).await.unwrap();
}

/// A second machine: it has the hub's address and tokens, and a clone under the same name.
fn second_machine(scratch: &ScratchRepo) -> Machine {
    let clone = scratch.clone_as("second");
    let (first, second) = (home(scratch), scratch.folder().join("machine-2"));
    fs::create_dir_all(&second).unwrap();
    fs::copy(first.join("config.json"), second.join("config.json")).unwrap();
    knows_clone(&second, clone.root());
    symlink(first.join("hub"), second.join("hub")).unwrap();
    Machine {
        root: clone.root().to_owned(),
        home: second,
    }
}

/// A machine takes this clone for the repository that others know as `clone`.
pub(crate) fn knows_clone(home: &Path, clone: &Path) {
    let names = json!({"clone": clone}).to_string();
    fs::write(home.join("repos.json"), names).unwrap();
}

fn scenario() -> Scenario {
    Scenario::parse(SCENARIO).unwrap()
}

fn lines_with<'a>(log: &'a str, part: &str) -> Vec<&'a str> {
    log.lines().filter(|line| line.contains(part)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_coders_share_the_threads_and_each_thread_has_one() {
    let group = Group::start(scenario(), [&[], &[]]).await;
    let mut roots = Vec::new();
    for _ in 0..2 {
        let root = group.person.open(REQUEST).await;
        group.person.press(&root, "Plan", "approve").await.unwrap();
        roots.push(root);
    }
    let ready = |thread: &Value| {
        let said = story(thread);
        said.iter().any(|line| line.contains("Ready to merge"))
    };
    for root in &roots {
        let thread = group.person.until(root, "a review", ready).await;
        assert_eq!(thread.unwrap()["messages"].as_array().unwrap().len(), 7);
    }
    let whose = |root: &String| [0, 1].map(|machine| !group.log(machine, root).is_empty());
    let mut all: Vec<[bool; 2]> = roots.iter().map(whose).collect();
    all.sort_unstable();
    assert_eq!(all, [[false, true], [true, false]], "one each");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_coder_that_is_killed_is_followed_by_another_and_nothing_happens_twice() {
    let mut group = Group::start(scenario().paced(), [&[], &[]]).await;
    let root = group.person.open(REQUEST).await;
    group.person.press(&root, "Plan", "approve").await.unwrap();
    // In the middle of its work: the first files are changed.
    let old = group.until_line(&root, "First the tests").await;
    group.coders[old].child.kill().unwrap();
    group.finish(&root).await;
    let (before, after) = (group.log(old, &root), group.log(1 - old, &root));
    let began = lines_with(&before, "\"t\":\"activation_started\"");
    assert!(!began.is_empty(), "the first one had the thread");
    assert_eq!(began[0], lines_with(&after, "activation_started")[0]);
    assert_eq!(lines_with(&after, "is lost, and you go on").len(), 1);
    assert!(lines_with(&before, GAVE).is_empty());
    assert_eq!(lines_with(&after, GAVE).len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_coder_that_stands_still_is_followed_and_refused_when_it_goes_on() {
    let group = Group::start(scenario().paced(), [&[], &[]]).await;
    let root = group.person.open(REQUEST).await;
    group.person.press(&root, "Plan", "approve").await.unwrap();
    // In the middle of its work: the model is being asked what comes next.
    let still = group.until_line(&root, "First the tests").await;
    group.coders[still].signal("-STOP");
    let written = group.log(still, &root).lines().count();
    group.until_line(&root, "is lost, and you go on").await;
    // The other one is at work, and so is the first again.
    group.coders[still].signal("-CONT");
    let thread = group.finish(&root).await;
    let (old, new) = (group.log(still, &root), group.log(1 - still, &root));
    assert!(old.lines().count() >= written);
    // What the hub has is what the second one wrote, line by line.
    let mut at_hub = thread["records"].as_array().unwrap().iter();
    let at_hub = at_hub
        .by_ref()
        .filter(|line| line["role"] == json!("coder"));
    let at_hub: Vec<&Value> = at_hub.map(|line| &line["entry"]).collect();
    let of_new: Vec<Value> = new
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["entry"].take())
        .collect();
    assert_eq!(at_hub.len(), of_new.len());
    for (there, here) in at_hub.iter().zip(&of_new) {
        assert_eq!(
            (&there["seq"], &there["epoch"]),
            (&here["seq"], &here["epoch"])
        );
    }
    let epochs: Vec<i64> = of_new
        .iter()
        .map(|line| line["epoch"].as_i64().unwrap())
        .collect();
    assert!(epochs.is_sorted(), "{epochs:?}");
    assert!(lines_with(&old, GAVE).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn coders_that_are_displaced_in_the_middle_of_their_work_end() {
    let mut group = Group::start(scenario().paced(), [&[], &[]]).await;
    let root = group.person.open(REQUEST).await;
    group.person.press(&root, "Plan", "approve").await.unwrap();
    group.until_line(&root, "First the tests").await;
    // What counts from now on is somebody else; a database that has forgotten a connection
    // says so of the very process that made it. Whoever keeps it starts it again, once it ends.
    let hub: Url = group.person.hub.parse().unwrap();
    let app = tokens(&group.scratch)["agents"]["coder"]["app"].take();
    let app = Secret::new(app.as_str().unwrap());
    let opening = Socket::open(&hub, app, CancellationToken::new());
    let _newer = opening.await.unwrap();
    let ended = async {
        for coder in &mut group.coders {
            while coder.child.try_wait().unwrap().is_none() {
                tokio::time::sleep(PAUSE).await;
            }
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(120), ended).await;
    waited.expect("both end, also the one that was at work");
}

/// Until something on the machines' disks holds.
async fn until_true(holds: impl Fn() -> bool) {
    while !holds() {
        tokio::time::sleep(PAUSE).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_word_for_the_whole_team_reaches_the_coder_that_does_not_have_the_thread() {
    let mut group = Group::start(scenario(), [&[], &[]]).await;
    // Each has one of the threads; the second clone has nobody but its Coder.
    let second = group.machines[1].root.clone();
    let paused = || second.join(".codebutler/threads/paused").exists();
    let (one, other) = ("!aside one", "!aside other");
    let roots = [group.person.open(one).await, group.person.open(other).await];
    for root in &roots {
        group.person.reply(root, "!pause").await;
        until_true(paused).await;
        group.person.reply(root, "!resume").await;
        until_true(|| !paused()).await;
        let answered = |thread: &Value| story(thread).len() == 5;
        let thread = group.person.until(root, "answers", answered).await;
        let said = story(&thread.unwrap()).join("\n");
        for words in ["The team is paused", "The team goes on"] {
            assert_eq!(said.matches(words).count(), 1, "{said}");
        }
    }
    let [root, _] = roots;
    group.person.reply(&root, "!restart").await;
    for coder in &mut group.coders {
        while coder.child.try_wait().unwrap().is_none() {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Both Coders die once each, anywhere, and come back.
async fn storm(victims: [Passage; 2]) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("faults.log").display().to_string();
    let armed = victims.map(|victim| {
        [
            (FAULT_LOG_VARIABLE, log.clone()),
            (FAULT_VARIABLE, victim.to_string()),
        ]
    });
    let mut group = Group::start(scenario(), [&armed[0], &armed[1]]).await;
    let root = group.person.open(REQUEST).await;
    group.person.press(&root, "Plan", "approve").await.unwrap();
    let person = group.person.clone();
    let ready = person.until(&root, "a review", |thread| {
        story(thread)
            .iter()
            .any(|line| line.contains("Ready to merge"))
    });
    tokio::pin!(ready);
    loop {
        tokio::select! {
            ended = &mut ready => {
                ended.unwrap();
                break;
            }
            () = tokio::time::sleep(PAUSE) => group.bring_back(),
        }
    }
    group.finish(&root).await;
    killed(Path::new(&log))
}

impl Group {
    /// Starts again who died, once more without a fault.
    fn bring_back(&mut self) {
        for (number, machine) in self.machines.iter().enumerate() {
            let member = &mut self.coders[number];
            if member.child.try_wait().unwrap().is_some() {
                let log = member.log.clone();
                self.coders[number] = Member::start(machine, log, &[]);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn coders_killed_at_random_lose_and_repeat_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("faults.log");
    let counted = [(FAULT_LOG_VARIABLE, log.display().to_string())];
    let group = Group::start(scenario(), [&counted, &counted]).await;
    let root = group.person.open(REQUEST).await;
    group.person.press(&root, "Plan", "approve").await.unwrap();
    group.finish(&root).await;
    assert_eq!(group.model.left_over(), Vec::<String>::new());
    drop(group);
    let all = passages(&log);
    let runs = sample_size(if nightly() { NIGHTLY_SAMPLE } else { SAMPLE });
    let mut dice = Dice::throw();
    let mut deaths = 0;
    for _ in 0..runs {
        let victims = [(); 2].map(|()| all[dice.below(all.len())].clone());
        println!("killed at {} and {}", victims[0], victims[1]);
        deaths += usize::from(storm(victims).await);
    }
    assert!(deaths > 0, "somebody died");
}
