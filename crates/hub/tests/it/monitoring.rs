//! What is watched from outside: `/metrics` as Prometheus reads it, every alert rule
//! provoked by the fault that it is about, and the runbook beside them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::Ordering,
    time::Duration,
};

use butler_protocol::{
    AgentFacts, CallId, CrashClass, Ending, Entry, Record, RecordBatch, Reservation, ReserveAnswer,
    ReserveId, Role, Sha256Hex, TokenUsage, ToolOutcome, Usd,
};
use rusqlite::Connection;
use serde_json::json;

use crate::world::{World, peek};

/// A scrape: the samples of each metric by their labels.
pub(crate) type Scrape = BTreeMap<String, Vec<(BTreeMap<String, String>, f64)>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn file(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// Reads Prometheus' text form strictly: every sample below its own head, each head once,
/// no series twice, every value a number.
pub(crate) fn read(text: &str) -> Scrape {
    let mut scrape = Scrape::new();
    let (mut helped, mut typed) = (BTreeSet::new(), BTreeMap::new());
    let mut current = String::new();
    assert!(text.ends_with('\n'), "the last line is whole");
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(!help.is_empty() && helped.insert(name.to_owned()), "{line}");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(["counter", "gauge"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            assert!(helped.contains(name), "{line}");
            let twice = typed.insert(name.to_owned(), kind.to_owned());
            assert_eq!(twice, None, "{line}");
            current = name.to_owned();
            scrape.entry(current.clone()).or_default();
        } else {
            let (name, labels, value) = sample(line);
            assert_eq!(name, current, "{line}");
            let samples = scrape.get_mut(&name).unwrap();
            assert!(samples.iter().all(|(known, _)| *known != labels), "{line}");
            samples.push((labels, value));
        }
    }
    scrape
}

fn sample(line: &str) -> (String, BTreeMap<String, String>, f64) {
    let (series, value) = line.rsplit_once(' ').expect(line);
    let value = value.parse().expect(line);
    let Some((name, rest)) = series.split_once('{') else {
        return (series.to_owned(), BTreeMap::new(), value);
    };
    let rest = rest.strip_suffix('}').expect(line);
    let labels = rest.split("\",").map(|one| {
        let (label, value) = one.split_once("=\"").expect(line);
        (label.to_owned(), value.trim_end_matches('"').to_owned())
    });
    (name.to_owned(), labels.collect(), value)
}

/// The names of the alerts.
fn rules() -> Vec<String> {
    let text = file("packaging/monitoring/alerts.yml");
    let names = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "));
    names.map(str::to_owned).collect()
}

/// Whether Prometheus fires an alert when it scraped `before` for twenty minutes and `now`
/// for five; nothing where Prometheus' tool is not here.
pub(crate) fn fires(alert: &str, before: &Scrape, now: &Scrape) -> Option<bool> {
    let value = |scrape: &Scrape, name: &str, labels: &BTreeMap<String, String>| {
        let mut samples = scrape.get(name).into_iter().flatten();
        let found = samples.find(|(known, _)| known == labels);
        found.map_or("_x".to_owned(), |(_, value)| format!("{value}+0x"))
    };
    let mut series = BTreeSet::new();
    for (name, samples) in before.iter().chain(now) {
        for (labels, _) in samples {
            let (old, new) = (value(before, name, labels), value(now, name, labels));
            let labels: Vec<_> = labels
                .iter()
                .map(|(key, of)| format!("{key}=\"{of}\""))
                .collect();
            let labels = labels.join(",");
            series.insert(format!(
                "      - series: '{name}{{{labels}}}'\n        values: '{old}39 {new}10'\n"
            ));
        }
    }
    let test = tempfile::NamedTempFile::new().unwrap();
    let text = format!(
        "rule_files: ['{}']\nevaluation_interval: 30s\ntests:\n  - interval: 30s\n    input_series:\n{}    \
         promql_expr_test:\n      - expr: 'count(ALERTS{{alertname=\"{alert}\",alertstate=\"firing\"}})'\n        \
         eval_time: 24m\n        exp_samples: []\n",
        root().join("packaging/monitoring/alerts.yml").display(),
        series.into_iter().collect::<String>(),
    );
    fs::write(&test, text).unwrap();
    let words = ["test", "rules", test.path().to_str().unwrap()];
    let (quiet, said) = promtool(&words, "")?;
    assert!(quiet || said.contains("got: {} "), "{alert}: {said}");
    Some(!quiet)
}

async fn text(world: &World) -> String {
    let url = world.base.join("metrics").unwrap();
    let answer = world.http.get(url).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    answer.text().await.unwrap()
}

pub(crate) async fn scrape(world: &World) -> Scrape {
    read(&text(world).await)
}

pub(crate) fn settled(world: &World, root: &butler_protocol::MessageTs) -> RecordBatch {
    let call = CallId::new("c1");
    let sha256 = Sha256Hex::of("x");
    let records = [
        Record::ActivationStarted { activation: 1 },
        Record::Settled {
            reserve: ReserveId::new("r1"),
            cost: Usd::from_cents(25),
            usage: TokenUsage {
                input: 900,
                cached_input: 300,
                output: 40,
                ..TokenUsage::default()
            },
            model: "qwen3:8b".to_owned(),
        },
        Record::ToolIntent {
            call: call.clone(),
            tool: "Bash".to_owned(),
            crash: CrashClass::Opaque,
            sha256,
            trace: None,
        },
        Record::ToolResult {
            call,
            outcome: ToolOutcome::error("exit 1"),
        },
        Record::ActivationEnded {
            activation: 1,
            ending: Ending::Done,
        },
    ];
    let entries = (1..).zip(records).map(|(seq, record)| Entry {
        seq,
        epoch: 1,
        at_ms: 1_000,
        record,
    });
    RecordBatch {
        thread: world.thread(root),
        entries: entries.collect(),
        end: None,
    }
}

#[tokio::test]
async fn work_is_counted_once_by_repo_role_model_tool_and_method() {
    let world = World::start().await;
    let root = world.say("build it", None).await;
    let batch = settled(&world, &root);
    let control = world.control(Role::Coder);
    // An agent that was interrupted tells it again.
    control.records(&batch).await.unwrap();
    control.records(&batch).await.unwrap();
    let pm = world.web(Role::Pm);
    pm.post(&world.post("on it", Some(&root), "k"))
        .await
        .unwrap();
    let unknown = pm.call("chat.inventedMethod", json!({})).await;
    unknown.unwrap_err();
    let text = text(&world).await;
    for line in [
        r#"codebutler_model_calls_total{repo="/home/ana/app",role="coder",model="qwen3:8b"} 1"#,
        r#"codebutler_model_cost_dollars_total{repo="/home/ana/app",role="coder",model="qwen3:8b"} 0.25"#,
        r#"codebutler_model_tokens_total{repo="/home/ana/app",role="coder",model="qwen3:8b",kind="input"} 900"#,
        r#"codebutler_tool_calls_total{repo="/home/ana/app",role="coder",tool="Bash",outcome="failed"} 1"#,
        r#"codebutler_activations_total{repo="/home/ana/app",role="coder",ending="done"} 1"#,
        r#"codebutler_api_calls_total{method="chat.postMessage",outcome="ok"} 1"#,
        "codebutler_messages 2",
    ] {
        assert!(
            text.lines().any(|one| one == line),
            "{line} is not in\n{text}"
        );
    }
    assert!(!text.contains("inventedMethod"), "{text}");
    judged(&["check", "metrics"], &text);
}

/// Asserts that promtool finds something right, where it is there.
pub(crate) fn judged(words: &[&str], input: &str) {
    if let Some((well, said)) = promtool(words, input) {
        assert!(well, "{words:?}: {said}\n{input}");
    }
}

/// Whether promtool is content and what it says, where it is there.
#[expect(clippy::print_stderr, reason = "a skipped check says so")]
fn promtool(words: &[&str], input: &str) -> Option<(bool, String)> {
    let Some(parts) = std::env::var_os("CODEBUTLER_PROMETHEUS_DIR") else {
        assert!(
            std::env::var_os("CI").is_none(),
            "CODEBUTLER_PROMETHEUS_DIR is not set; crates/hub/tests/monitoring/setup.sh <dir> makes the folder"
        );
        eprintln!("SKIPPED: promtool is not here");
        return None;
    };
    let tool = Path::new(&parts).join("usr/bin/promtool");
    let mut tool = Command::new(tool);
    let tool = tool.args(words).current_dir(root());
    let piped = tool
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    Some((
        output.status.success(),
        String::from_utf8_lossy(&said).into_owned(),
    ))
}

#[tokio::test]
async fn every_alert_of_the_hub_fires_for_its_fault_and_not_before() {
    let mut world = World::start().await;
    let mut coder = world.socket(Role::Coder).await;
    let lead = world.socket(Role::Lead).await;
    let facts = |resting: &[&str]| AgentFacts {
        version: "0.1.0".to_owned(),
        host: "box".to_owned(),
        models: vec!["qwen3:8b".to_owned()],
        resting: resting.iter().map(|one| (*one).to_owned()).collect(),
        ..AgentFacts::default()
    };
    let control = world.control(Role::Coder);
    control.facts(&facts(&[])).await.unwrap();
    let root = world.say("build it", None).await;
    peek(&mut coder).await;
    let before = scrape(&world).await;
    for rule in rules() {
        assert_ne!(fires(&rule, &before, &before), Some(true), "{rule}");
    }

    // The only model keeps failing.
    control.facts(&facts(&["qwen3:8b"])).await.unwrap();
    assert_ne!(
        fires("NoModel", &before, &scrape(&world).await),
        Some(false)
    );

    // A thread wants more than a thread may cost.
    let reservation = Reservation {
        id: ReserveId::new("a"),
        thread: world.thread(&root),
        person: None,
        amount: Usd::from_cents(101),
        heard: None,
    };
    let refused = control.reserve(&reservation).await.unwrap();
    assert!(matches!(refused, ReserveAnswer::Refused(_)), "{refused:?}");
    assert_ne!(
        fires("CapReached", &before, &scrape(&world).await),
        Some(false)
    );

    // The Coder does not take its message; the Lead is gone with one unread.
    drop(lead.close().await);
    loop {
        let now = scrape(&world).await;
        let gone = |(labels, value): &(BTreeMap<String, String>, f64)| {
            labels["role"] == "lead" && *value == 0.0
        };
        if now["codebutler_agent_connected"].iter().any(gone) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    world.ahead.store(130, Ordering::Relaxed);
    let now = scrape(&world).await;
    assert_ne!(fires("AgentMissing", &before, &now), Some(false));
    assert_ne!(fires("QueueOld", &before, &now), Some(true));
    world.ahead.store(1_000, Ordering::Relaxed);
    assert_ne!(
        fires("QueueOld", &before, &scrape(&world).await),
        Some(false)
    );

    // An agent of a release that this hub does not know any more.
    let opened = world.app_call(Role::Lead, "apps.connections.open").await;
    let address = opened["url"].as_str().unwrap().replace("ws://", "http://");
    let dialed = world
        .http
        .get(format!("{address}&codebutler=0&version=0.0.1"));
    let dialed = dialed
        .header("connection", "upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    assert_eq!(dialed.send().await.unwrap().status(), 101);
    assert_ne!(fires("TooOld", &before, &scrape(&world).await), Some(false));
    let agents = world.get(&world.ana, "v1/agents").await.to_string();
    assert!(
        agents.contains("update codebutler where this agent runs"),
        "{agents}"
    );

    // Somebody else holds the store's file.
    let store = Connection::open(world.dir.path().join("hub.sqlite3")).unwrap();
    store.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_ne!(
        fires("StoreNotWriting", &before, &scrape(&world).await),
        Some(false)
    );
    store.execute_batch("ROLLBACK").unwrap();
    assert_ne!(
        fires("StoreNotWriting", &before, &scrape(&world).await),
        Some(true)
    );

    // The hub is gone: Prometheus' own metric of a target that does not answer.
    world.down().await;
    let url = world.base.join("metrics").unwrap();
    let up = f64::from(u8::from(world.http.get(url).send().await.is_ok()));
    let job = BTreeMap::from([("job".to_owned(), "codebutler".to_owned())]);
    let target = Scrape::from([("up".to_owned(), vec![(job, up)])]);
    assert_ne!(fires("HubDown", &before, &target), Some(false));
}

#[tokio::test]
async fn what_an_agent_does_not_repeat_is_not_how_its_models_stand() {
    let mut world = World::start().await;
    let _coder = world.socket(Role::Coder).await;
    let facts = AgentFacts {
        models: vec!["qwen3:8b".to_owned()],
        resting: vec!["qwen3:8b".to_owned()],
        ..AgentFacts::default()
    };
    let usable = async || scrape(&world).await["codebutler_agent_models_usable"].clone();
    world.control(Role::Coder).facts(&facts).await.unwrap();
    assert!(matches!(usable().await[..], [(_, 0.0)]));
    // It has told another hub since, where there is one: an alert must not last for ever.
    world.ahead.store(200, Ordering::Relaxed);
    assert!(usable().await.is_empty());
    world.control(Role::Coder).facts(&facts).await.unwrap();
    assert!(matches!(usable().await[..], [(_, 0.0)]));
    world.down().await;
}

#[test]
fn prometheus_accepts_the_rules_and_the_runbook_has_a_section_for_each() {
    judged(&["check", "rules", "packaging/monitoring/alerts.yml"], "");
    let page = file("docs/operations.md");
    let provoked = include_str!("monitoring.rs").to_owned() + include_str!("hearing.rs");
    for name in rules() {
        assert!(
            page.contains(&format!("\n### {name}\n")),
            "{name} has no section"
        );
        let fires = format!("fires(\"{name}\"");
        assert!(provoked.contains(&fires), "{name} is provoked by no test");
    }
    let sections = page.lines().filter_map(|line| line.strip_prefix("### "));
    let known = rules();
    let (_, alerts) = page.split_once("\n## Alerts\n").unwrap();
    for section in sections.filter(|section| alerts.contains(&format!("### {section}\n"))) {
        assert!(
            known.iter().any(|name| name == section),
            "{section} is no alert"
        );
    }
}
