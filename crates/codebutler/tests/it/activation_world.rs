//! One activation of the Coder in a world of its own: a real hub and a real
//! agent, both started again when they die. The test plays the PM, who had a
//! plan approved, and the person.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use assert_cmd::cargo::cargo_bin;
use butler_protocol::{
    CardBody, CardTag, ChannelId, Complexity, DecisionKind, FAULT_LOG_VARIABLE, FAULT_VARIABLE,
    HandOver, HandOverTag, Idem, MessageTs, Plan, PostTag, RequestId, Role, Secret, Sha256Hex,
    Subject, Task, ThreadId,
};
use butler_repo::Repo;
use butler_slack::{Control, Post, SharedEpoch, Web};
use butler_testkit::ScratchRepo;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    chaos::Passage,
    keeper::Keeper,
    person::Person,
    team::{set_up, tokens},
};

/// As an ordinary user too: root inside is nobody outside.
pub(crate) const NAMESPACE: [&str; 4] = ["unshare", "--user", "--map-root-user", "--mount"];

const REQUEST: &str = "do one of everything";

pub(crate) struct World {
    scratch: ScratchRepo,
    person: Person,
    pm: Pm,
    /// Dropped first: agents go before their hub.
    keepers: Vec<Keeper>,
    worktree: PathBuf,
    /// The Coder has mounts of its own.
    apart: bool,
}

/// The test in the PM's place.
struct Pm {
    web: Web,
    control: Control,
    channel: ChannelId,
}

/// What is left when it is over, without what differs from run to run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub files: BTreeMap<PathBuf, String>,
    /// Who said what, in order.
    pub messages: Vec<String>,
    pub reactions: Vec<String>,
    /// Who does what, as the hub knows it.
    pub activity: Vec<String>,
}

/// A process of ours that is started again when it dies; with a shell script in a
/// mount namespace of its own, which the script prepares.
pub(crate) fn kept(
    scratch: &ScratchRepo,
    name: &str,
    mounts: Option<&str>,
    args: &[&str],
    variables: Vec<(&'static str, String)>,
) -> Keeper {
    let mut words: Vec<String> = Vec::new();
    if let Some(script) = mounts {
        let shell = format!("{script} && exec \"$0\" \"$@\"");
        words.extend(NAMESPACE.map(str::to_owned));
        words.extend(["sh".to_owned(), "-c".to_owned(), shell]);
    }
    words.push(cargo_bin!("codebutler").display().to_string());
    words.extend(args.iter().map(|word| (*word).to_owned()));
    let (root, home) = (scratch.root().to_owned(), crate::team::home(scratch));
    Keeper::start(name, scratch.folder(), move || {
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .current_dir(&root)
            .env("CODEBUTLER_HOME", &home)
            .envs(variables.clone());
        command
    })
}

impl World {
    /// Starts everything; `victim` dies once.
    pub(crate) async fn start(model_url: &str, victim: Option<&Passage>) -> Self {
        let victim = victim.map(ToString::to_string);
        Self::start_in(model_url, victim.as_deref(), None).await
    }

    /// The same with the Coder in a mount namespace of its own, which a shell
    /// script prepares.
    pub(crate) async fn start_in(
        model_url: &str,
        victim: Option<&str>,
        mounts: Option<&str>,
    ) -> Self {
        let scratch = ScratchRepo::new();
        set_up(&scratch, model_url, None);
        let port = free_port();
        let hub = format!("http://127.0.0.1:{port}/");
        let log = fault_log(&scratch);
        let mut variables = vec![(FAULT_LOG_VARIABLE, log.display().to_string())];
        variables.extend(victim.map(|armed| (FAULT_VARIABLE, armed.to_owned())));
        let keep = |name: &str, mounts: Option<&str>, args: &[&str]| {
            kept(&scratch, name, mounts, args, variables.clone())
        };
        let address = format!("127.0.0.1:{port}");
        let mut keepers = vec![keep("hub", None, &["hub", "--listen", &address])];
        let tokens = tokens(&scratch);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let channel = text(&tokens["channel"]);
        let person = Person::new(&hub, &channel, &text(&tokens["people"]["you"]["token"]));
        while person.get("v1/me").await.is_none() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        keepers.insert(0, keep("coder", mounts, &["--role", "coder"]));
        let pm = Pm::new(&hub, &text(&tokens["agents"]["pm"]["bot"]), &channel);
        Self {
            scratch,
            person,
            pm,
            keepers,
            worktree: PathBuf::new(),
            apart: mounts.is_some(),
        }
    }

    pub(crate) fn fault_log(&self) -> PathBuf {
        fault_log(&self.scratch)
    }

    /// From the request to the Coder's hand-over.
    pub(crate) async fn play(&mut self) -> Result<Outcome, String> {
        let root = self.begin(|_| ()).await?;
        self.finish(&root).await
    }

    /// Gives the Coder its task; `before` gets the place of its log first.
    pub(crate) async fn begin(&mut self, before: impl FnOnce(&Path)) -> Result<String, String> {
        let root = self.person.open(REQUEST).await;
        let ts: MessageTs = root.parse().unwrap();
        let thread = ThreadId::new(self.pm.channel.clone(), ts);
        let plan = plan();
        self.pm.propose(&thread, &plan).await;
        self.person.press(&root, "Plan", "approve").await?;
        let repo = Repo::open(self.scratch.root()).await.unwrap();
        let made = repo
            .create(&thread, &plan.title, &CancellationToken::new())
            .await;
        let made = made.map_err(|error| error.to_string())?;
        self.worktree.clone_from(&made.path);
        before(&self.conversation(&root));
        self.pm.hand_over(&thread, plan, made.branch).await;
        Ok(root)
    }

    /// Answers and decides until the Coder is done.
    pub(crate) async fn finish(&self, root: &str) -> Result<Outcome, String> {
        let asked = |thread: &Value| says(thread, "Shall I go on?");
        self.person.until(root, "the question", asked).await?;
        self.person.reply(root, "yes, go on").await;
        self.person
            .press(root, "May I run this?", "approve")
            .await?;
        let over = |thread: &Value| says(thread, "All of it is done.") && at_rest(thread);
        let thread = self.person.until(root, "the end", over).await?;
        self.settled(root, thread).await
    }

    /// Waits until what nobody waits for has arrived too: marks, records, books.
    async fn settled(&self, root: &str, thread: Value) -> Result<Outcome, String> {
        let log = self.conversation(root);
        let lines = || fs::read_to_string(&log).unwrap_or_default().lines().count();
        let whole = |thread: &Value| {
            let shown = thread["records"].as_array().map_or(0, Vec::len);
            let open = thread["cost"]["calls"].as_array().into_iter().flatten();
            let reserved: i64 = open.filter_map(|call| call["reserved"].as_i64()).sum();
            shown == lines() && reserved == 0
        };
        let thread = match self.person.until(root, "records and books", whole).await {
            Ok(thread) => thread,
            Err(_) => {
                return Err(format!(
                    "the page shows {} of {} log lines; calls: {}",
                    thread["records"].as_array().map_or(0, Vec::len),
                    lines(),
                    thread["cost"]["calls"]
                ));
            }
        };
        let mut outcome = outcome(&thread);
        outcome.files = files(&self.worktree);
        Ok(outcome)
    }

    /// The Coder's log, as the Coder sees it.
    pub(crate) fn conversation(&self, root: &str) -> PathBuf {
        let folder = format!("{}-{}", self.pm.channel, root.replace('.', "-"));
        let log = format!("{folder}/conversations/coder.jsonl");
        self.threads().join(log)
    }

    /// The folder of all logs, as the Coder sees it: through its own mounts.
    pub(crate) fn threads(&self) -> PathBuf {
        let threads = self.scratch.root().join(".codebutler/threads");
        match self.keepers[0].pid().filter(|_| self.apart) {
            Some(pid) => PathBuf::from(format!("/proc/{pid}/root{}", threads.display())),
            None => threads,
        }
    }

    /// Waits until the thread says this.
    pub(crate) async fn until_said(&self, root: &str, words: &str) -> Value {
        let said = |thread: &Value| says(thread, words);
        let found = self.person.until(root, words, said).await;
        found.unwrap_or_else(|problem| panic!("{problem}\n{}", self.logs()))
    }

    pub(crate) fn worktree(&self) -> &Path {
        &self.worktree
    }

    /// The thread as the page shows it.
    pub(crate) async fn thread(&self, root: &str) -> Value {
        self.person.thread(root).await.unwrap()
    }

    /// `kill -9` of the Coder's process; it is started again.
    pub(crate) fn kill_coder(&self) {
        self.signal_coder("-9");
    }

    /// Any signal to the Coder's process; it is started again when it ends.
    pub(crate) fn signal_coder(&self, signal: &str) {
        let pid = self.coder().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status();
        assert!(sent.unwrap().success());
    }

    /// The Coder's process.
    pub(crate) fn coder(&self) -> u32 {
        self.keepers[0].pid().unwrap()
    }

    /// How often the Coder has said that it listens.
    pub(crate) fn lives(&self) -> usize {
        self.logs().matches("coder: listening").count()
    }

    /// The one who talks to the Coder.
    pub(crate) fn person(&self) -> &Person {
        &self.person
    }

    /// How often each opaque command began.
    pub(crate) fn starts(&self) -> [usize; 2] {
        ["starts.log", "removed.log"].map(|name| {
            let text = fs::read_to_string(self.worktree.join(name)).unwrap_or_default();
            text.lines().count()
        })
    }

    /// What the processes wrote to their logs.
    pub(crate) fn logs(&self) -> String {
        let read = |name: &str| fs::read_to_string(self.scratch.folder().join(name));
        let logs = ["hub.log", "coder.log"].map(|name| read(name).unwrap_or_default());
        logs.join("\n--\n")
    }

    pub(crate) fn deaths(&self) -> u32 {
        self.keepers.iter().map(Keeper::deaths).sum()
    }
}

impl Pm {
    fn new(hub: &str, bot: &str, channel: &str) -> Self {
        let base: url::Url = hub.parse().unwrap();
        let epoch = SharedEpoch::default;
        Self {
            web: Web::new(&base, Secret::new(bot), epoch()).unwrap(),
            control: Control::new(&base, Secret::new(bot), epoch()).unwrap(),
            channel: ChannelId::new(channel),
        }
    }

    async fn propose(&self, thread: &ThreadId, plan: &Plan) {
        let request = request(thread);
        let body = CardBody {
            unattended: false,
            subject: Subject::Plan(Box::new(plan.clone())),
            remarks: Vec::new(),
            people: Vec::new(),
            allowed: Vec::new(),
            language: None,
        };
        let bytes = serde_json::to_vec(&body).unwrap();
        let mut tag = PostTag::message(Idem::new(format!("plan {thread}")), vec![]);
        tag.card = Some(CardTag {
            request,
            kind: DecisionKind::Plan,
            sha256: plan.sha256(),
            body: Some(self.control.put_body(&bytes).await.unwrap()),
        });
        self.post(thread, String::new(), tag).await;
    }

    async fn hand_over(&self, thread: &ThreadId, plan: Plan, branch: butler_protocol::BranchName) {
        let body = HandOver::Task(Box::new(Task {
            request: REQUEST.to_owned(),
            plan,
            branch,
            approval: request(thread),
        }));
        let bytes = serde_json::to_vec(&body).unwrap();
        let reference = self.control.put_body(&bytes).await.unwrap();
        let mut tag = PostTag::message(Idem::new(format!("task {thread}")), vec![Role::Coder]);
        tag.hand_over = Some(HandOverTag {
            kind: body.kind(),
            body: reference,
            sha256: Sha256Hex::of(&bytes),
        });
        self.post(thread, "the plan is approved".to_owned(), tag)
            .await;
    }

    async fn post(&self, thread: &ThreadId, text: String, tag: PostTag) {
        let post = Post {
            channel: self.channel.clone(),
            thread: Some(thread.root.clone()),
            text,
            blocks: None,
            username: Some(Role::Pm.user_name()),
            icon: None,
            tag,
        };
        self.web.post(&post).await.unwrap();
    }
}

/// The card of a thread's plan.
fn request(thread: &ThreadId) -> RequestId {
    RequestId::new(thread.short())
}

fn plan() -> Plan {
    Plan {
        title: "One of everything".into(),
        summary: "Reads, writes, runs, asks.".into(),
        steps: vec![],
        criteria: vec!["all of it is done".into()],
        files: vec![],
        rejected: vec![],
        complexity: Complexity::Simple,
        estimate: None,
        cap: None,
        model: None,
        design: None,
    }
}

fn outcome(thread: &Value) -> Outcome {
    let messages = thread["messages"].as_array().unwrap();
    let who = |message: &Value| message["username"].as_str().unwrap_or("you").to_owned();
    let shown = |message: &Value| {
        let files = message["files"].as_array().into_iter().flatten();
        let files: Vec<_> = files
            .map(|file| format!("[{} {}]", file["name"], file["size"]))
            .collect();
        let buttons = message["blocks"].to_string().matches("\"button\"").count();
        format!(
            "{}: {} {} {buttons}",
            who(message),
            message["text"],
            files.join(" ")
        )
    };
    let reactions = messages.iter().flat_map(|message| {
        let all = message["reactions"].as_array().into_iter().flatten();
        all.map(|one| format!("{} on {}", one["name"], message["text"]))
            .collect::<Vec<_>>()
    });
    let activity = thread["activity"].as_array().into_iter().flatten();
    Outcome {
        files: BTreeMap::new(),
        messages: messages.iter().map(shown).collect(),
        reactions: reactions.collect(),
        activity: activity
            .map(|one| format!("{} {}", one["role"], one["state"]))
            .collect(),
    }
}

fn says(thread: &Value, words: &str) -> bool {
    let messages = thread["messages"].as_array().into_iter().flatten();
    let mut texts = messages.filter_map(|message| message["text"].as_str());
    texts.any(|text| text.contains(words))
}

fn at_rest(thread: &Value) -> bool {
    let activity = thread["activity"].as_array();
    activity
        .is_some_and(|all| !all.is_empty() && all.iter().all(|one| one["state"] == json!("idle")))
}

/// The files of the worktree, without what the opaque commands leave.
fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for item in fs::read_dir(&at).unwrap() {
            let path = item.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "drafts" {
                    folders.push(path);
                }
            } else if !matches!(name.as_str(), ".git" | "starts.log" | "removed.log") {
                let text = fs::read_to_string(&path).unwrap();
                found.insert(path.strip_prefix(folder).unwrap().to_owned(), text);
            }
        }
    }
    found
}

fn fault_log(scratch: &ScratchRepo) -> PathBuf {
    scratch.folder().join("faults.log")
}

pub(crate) fn free_port() -> u16 {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    free.local_addr().unwrap().port()
}
