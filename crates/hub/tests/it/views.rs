//! What the page and `/v1` show beside the conversation.

use butler_protocol::{
    BranchName, CallId, CommitSha, CrashClass, DecisionKind, Difference, Entry, HandOver,
    HandOverTag, Idem, LearningFigures, MessageTs, PostTag, PrNumber, PullNews, PullStatus, Record,
    RecordBatch, Reservation, ReserveId, Role, ServerState, ServerStatus, Settlement, Sha256Hex,
    TokenUsage, ToolCall, ToolOutcome, TreeHash, Usd, Verdict,
};
use serde_json::{Value, json};

use crate::{
    page::Browser,
    world::{World, card, secret, subject},
};

pub(crate) const DIFF: &str = "diff --git a/src/a.rs b/src/a.rs\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,1 +1,2 @@\n-let a = 1;\n+let a = \"<b>\";\n+let b = 2;\n";

pub(crate) fn news(
    world: &World,
    root: &MessageTs,
    state: PullStatus,
    diff: Option<&str>,
) -> PullNews {
    PullNews {
        thread: world.thread(root),
        number: PrNumber(7),
        title: "Add <i>it</i>".into(),
        body: "It *works*.".into(),
        branch: None,
        head: CommitSha::new("0123456789abcdef0123456789abcdef01234567"),
        state,
        url: None,
        diff: diff.map(str::to_owned),
    }
}

pub(crate) async fn spend(world: &World, root: &MessageTs, role: Role, id: &str, cents: i64) {
    let control = world.control(role);
    let reservation = Reservation {
        id: ReserveId::new(id),
        thread: world.thread(root),
        person: None,
        amount: Usd::from_cents(cents),
        heard: None,
    };
    control.reserve(&reservation).await.unwrap();
    let settlement = Settlement {
        id: ReserveId::new(id),
        cost: Usd::from_cents(cents),
        usage: TokenUsage::default(),
        model: format!("model-of-{role}"),
    };
    control.settle(&settlement).await.unwrap();
}

pub(crate) async fn record(world: &World, root: &MessageTs, role: Role, records: Vec<Record>) {
    let entries = (1..)
        .zip(records)
        .map(|(seq, record)| Entry {
            seq,
            epoch: 1,
            at_ms: 1_900_000_000_000 + i64::try_from(seq).unwrap() * 1000,
            record,
        })
        .collect();
    let batch = RecordBatch {
        thread: world.thread(root),
        entries,
        end: None,
    };
    world.control(role).records(&batch).await.unwrap();
}

pub(crate) fn shell_call(output: &str) -> Vec<Record> {
    let call = CallId::new("call1");
    vec![
        Record::Assistant {
            turn: 1,
            text: Some("I look <b>around</b>.".into()),
            calls: vec![ToolCall {
                id: call.clone(),
                name: "Bash".into(),
                arguments: json!({"command": "cargo test </pre>"}),
                problem: None,
            }],
            reasoning: None,
            model: "model-of-coder".into(),
            usage: TokenUsage::default(),
        },
        Record::ToolIntent {
            call: call.clone(),
            tool: "Bash".into(),
            crash: CrashClass::Opaque,
            sha256: Sha256Hex::of("x"),
            trace: None,
        },
        Record::ToolResult {
            call,
            outcome: ToolOutcome::ok(output),
        },
    ]
}

/// A hand-over as agents post it: body first, then the message that points to it.
pub(crate) async fn hand_over(world: &World, root: &MessageTs, from: Role, body: &HandOver) {
    let text = serde_json::to_string(body).unwrap();
    let control = world.control(from);
    let reference = control.put_body(text.as_bytes()).await.unwrap();
    let mut post = world.post(
        "over to you",
        Some(root),
        &format!("{from}-{:?}", body.kind()),
    );
    post.tag = PostTag {
        to: body.to().into_iter().collect(),
        hand_over: Some(HandOverTag {
            kind: body.kind(),
            body: reference,
            sha256: Sha256Hex::of(&text),
        }),
        ..PostTag::message(Idem::new(format!("h-{from}-{:?}", body.kind())), vec![])
    };
    world.web(from).post(&post).await.unwrap();
}

async fn phase(world: &World) -> String {
    let board = world.get(&world.ana, "v1/board").await;
    board["threads"][0]["phase"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_board_follows_the_work() {
    let world = World::start().await;
    let browser = Browser::login(&world).await;
    assert!(browser.get("board").await.contains("No threads yet"));
    let root = world.say("build <b>it</b>", None).await;
    assert_eq!(phase(&world).await, "pm");
    let ready = HandOver::ReadyForReview {
        summary: "done".into(),
        branch: BranchName::new("codebutler/it-abc123"),
        head: CommitSha::new("0123456789abcdef0123456789abcdef01234567"),
        pr: PrNumber(7),
        receipt: None,
        round: 1,
        task: None,
        pictures: vec![],
        look: false,
    };
    hand_over(&world, &root, Role::Coder, &ready).await;
    assert_eq!(phase(&world).await, "review");
    let verdict = HandOver::Verdict {
        verdict: Verdict {
            head: CommitSha::new("0123456789abcdef0123456789abcdef01234567"),
            tree: TreeHash::new("89abcdef0123456789abcdef0123456789abcdef"),
            approved: true,
            round: 1,
            last: false,
            summary: "fine".into(),
            invariants: vec![],
            tests: vec![],
            risks: vec![],
            findings: vec![],
            observed: butler_protocol::Observed::default(),
        },
        pr: PrNumber(7),
    };
    hand_over(&world, &root, Role::Reviewer, &verdict).await;
    assert_eq!(phase(&world).await, "lead");
    let shown = browser.get("board").await;
    assert!(
        shown.contains("build &lt;b&gt;it") && shown.contains("Ready to merge"),
        "{shown}"
    );
    let merged = news(&world, &root, PullStatus::Merged, None);
    world.control(Role::Lead).pull(&merged).await.unwrap();
    assert_eq!(phase(&world).await, "closed");
}

#[tokio::test]
async fn the_time_line_joins_talk_and_work_and_holds_no_secret() {
    let world = World::start().await;
    let browser = Browser::login(&world).await;
    let root = world.say("please", None).await;
    record(
        &world,
        &root,
        Role::Coder,
        shell_call(&format!("green {}", secret())),
    )
    .await;
    let path = format!("v1/threads/{}/{root}/timeline", world.channel());
    let told = world.get(&world.ana, &path).await;
    let kinds: Vec<&str> = told["moments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|moment| moment["what"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["message", "turn", "tool"], "{told}");
    let call = &told["moments"][2];
    assert_eq!(call["input"]["command"], "cargo test </pre>");
    assert_eq!(call["took_ms"], 1000);
    assert!(
        call["output"].as_str().unwrap().starts_with("green "),
        "{call}"
    );
    let shown = browser
        .get(&format!("c/{}/{root}/timeline", world.channel()))
        .await;
    for (text, there) in [
        ("cargo test &lt;/pre&gt;", true),
        ("<b>around", false),
        ("model-of-coder", true),
        (secret().as_str(), false),
    ] {
        assert_eq!(shown.contains(text), there, "{text}: {shown}");
    }
    assert!(!told.to_string().contains(&secret()));
}

#[tokio::test]
async fn a_pull_request_has_its_diff_and_its_merge_button() {
    let world = World::start().await;
    let browser = Browser::login(&world).await;
    let root = world.say("please", None).await;
    let page = format!("c/{}/{root}/changes", world.channel());
    assert!(browser.get(&page).await.contains("No pull request yet"));
    let coder = world.control(Role::Coder);
    let diff = format!("{DIFF}+let key = \"{}\";\n", secret());
    let open = news(&world, &root, PullStatus::Open, Some(&diff));
    coder.pull(&open).await.unwrap();
    coder.pull(&open).await.unwrap();
    let mut post = world.post("", Some(&root), "card");
    let merge = subject(DecisionKind::Merge, "it");
    card(&world.control(Role::Lead), &mut post, "merge1", &merge).await;
    world.web(Role::Lead).post(&post).await.unwrap();
    let shown = browser.get(&page).await;
    assert!(
        shown.contains("#7 Add &lt;i&gt;it") && shown.contains("src/a.rs"),
        "{shown}"
    );
    assert!(shown.contains("data-action=\"cb:merge1:merge\""), "{shown}");
    assert!(
        shown.contains("class=\"add\"") && !shown.contains("<b>"),
        "{shown}"
    );
    assert!(!shown.contains(&secret()));
    // News without a diff keeps it, and what is merged stays merged.
    let lead = world.control(Role::Lead);
    lead.pull(&news(&world, &root, PullStatus::Merged, None))
        .await
        .unwrap();
    coder
        .pull(&news(&world, &root, PullStatus::Open, None))
        .await
        .unwrap();
    let path = format!("v1/threads/{}/{root}/pull", world.channel());
    let pull = world.get(&world.ana, &path).await["pull"].clone();
    assert_eq!(pull["state"], "merged", "{pull}");
    assert!(pull["diff"].as_str().unwrap().starts_with("diff --git"));
    let list = world.get(&world.ana, "v1/pulls").await;
    assert_eq!(list["pulls"][0]["diff"], Value::Null);
}

#[tokio::test]
async fn the_bill_adds_up_by_day_role_model_and_thread() {
    let world = World::start().await;
    let browser = Browser::login(&world).await;
    assert!(browser.get("cost").await.contains("Nothing spent yet"));
    let first = world.say("one", None).await;
    let second = world.say("two", None).await;
    spend(&world, &first, Role::Pm, "a", 10).await;
    spend(&world, &first, Role::Coder, "b", 30).await;
    spend(&world, &second, Role::Coder, "c", 2).await;
    let cost = world.get(&world.ana, "v1/cost").await["cost"].clone();
    let cents = |value: &Value| value.as_i64().unwrap() / 10_000_000;
    assert_eq!((cents(&cost["total"]), cents(&cost["today"])), (42, 42));
    assert_eq!(cost["roles"][0]["name"], "coder");
    assert_eq!(cents(&cost["roles"][0]["cost"]), 32);
    assert_eq!(cost["models"].as_array().unwrap().len(), 2);
    assert_eq!(cents(&cost["threads"][0]["cost"]), 40);
    assert_eq!(cents(&cost["days"][0]["cost"]), 42);
    let path = format!("v1/threads/{}/{second}/cost", world.channel());
    let one = world.get(&world.ana, &path).await["cost"].clone();
    assert_eq!((cents(&one["total"]), one["calls"].as_i64()), (2, Some(1)));
    let shown = browser.get("cost").await;
    assert!(shown.contains("<svg") && shown.contains("$0.42"), "{shown}");
    assert!(
        !shown.contains(" style="),
        "the policy allows no style of its own"
    );
    let own = browser
        .get(&format!("c/{}/{second}/cost", world.channel()))
        .await;
    assert!(own.contains("$0.02") && !own.contains("$0.42"), "{own}");
}

#[tokio::test]
async fn the_agents_page_shows_everybody() {
    let world = World::start().await;
    let browser = Browser::login(&world).await;
    let lead = world.socket(Role::Lead).await;
    let shown = browser.get("agents").await;
    for role in Role::ALL {
        assert!(shown.contains(role.title()), "{role}");
    }
    assert_eq!(shown.matches("class=\"state ready\"").count(), 1, "{shown}");
    assert!(shown.contains("data-log=\"/v1/log\""));
    drop(lead);
}

#[tokio::test]
async fn the_page_shows_servers_of_agents_that_are_there_and_no_secret_in_their_errors() {
    let world = World::start().await;
    let browser = Browser::login(&world).await;
    assert!(
        !browser.get("needs").await.contains("/servers"),
        "nobody has one"
    );
    let coder = world.socket(Role::Coder).await;
    let status = ServerStatus {
        name: "tracker".to_owned(),
        state: ServerState::Failed,
        tools: 24,
        tokens: 20_000,
        listed: false,
        error: Some(format!("it ended\u{1b}[31m after writing: <b>{}", secret())),
    };
    let control = world.control(Role::Coder);
    control
        .servers(std::slice::from_ref(&status))
        .await
        .unwrap();
    let shown = browser.get("servers").await;
    for part in [
        "tracker",
        "failed",
        "24 tools",
        "looked for when needed",
        "\\u{1b}[31m",
        "&lt;b&gt;",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains(&secret()), "{shown}");
    assert!(browser.get("needs").await.contains("href=\"/servers\""));
    let running = ServerStatus {
        state: ServerState::Running,
        listed: true,
        error: None,
        ..status
    };
    control.servers(&[running]).await.unwrap();
    let live = browser.get("servers/live").await;
    assert!(
        live.contains("running") && live.contains("in every request"),
        "{live}"
    );
    assert!(!live.contains("went wrong"), "{live}");
    drop(coder);
}

/// What learnings are worth is the Lead's to tell, and everybody's to see.
#[tokio::test]
async fn the_memory_page_shows_what_the_lead_counted() {
    let world = World::start().await;
    let browser = Browser::login(&world).await;
    let empty = browser.get("memory").await;
    assert!(empty.contains("Nothing learned yet"), "{empty}");
    let learning = |id: &str, against: Option<&str>| LearningFigures {
        id: id.to_owned(),
        file: "coder.md".to_owned(),
        title: format!("Name every <caller> {id}"),
        source: "thread-1700000000.000100, 2026-01-02".to_owned(),
        trial: against.is_some(),
        with: 3,
        without: 4,
        helped: 1,
        trouble: Some(Difference {
            mean: -1.0,
            margin: 2.0,
        }),
        cost: None,
        said: "trouble per thread: 1.0 less with it; it may be chance".to_owned(),
        against: against.map(str::to_owned),
    };
    let figures = [
        learning("k3m9qa", None),
        learning("brave2", Some("it is not missed")),
    ];
    let refused = world.control(Role::Coder).tell_memory(&figures).await;
    assert!(refused.is_err(), "only who keeps them counts them");
    let lead = world.control(Role::Lead);
    lead.tell_memory(&figures[..1]).await.unwrap();
    lead.tell_memory(&figures).await.unwrap();
    for shown in [
        browser.get("memory").await,
        browser.get("memory/live").await,
    ] {
        for part in [
            "Name every &lt;caller&gt; k3m9qa",
            "since 2026-01-02",
            "used in 3 threads",
            "named as helpful in 1",
            "it may be chance",
            "on trial",
            "it is not missed",
            "codebutler memory trial k3m9qa",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert_eq!(shown.matches("coder.md").count(), 2, "counted once each");
    }
}

#[tokio::test]
async fn a_search_finds_words_with_and_without_their_accents() {
    let world = World::start().await;
    for (said, asked) in [
        ("the café opens", "cafe"),
        ("a cafe closes", "café+closes"),
        ("Übung macht den Meister", "ubung"),
        ("naïve façade", "NAIVE+FACADE"),
        ("Việt Nam", "viet"),
        ("written apart: re\u{301}sume\u{301}", "résumé"),
        ("ЖУРНАЛ открыт", "журнал"),
        ("señal/niño.txt", "nino"),
    ] {
        world.say(said, None).await;
        let hits = world.get(&world.ana, &format!("v1/search?q={asked}")).await;
        let titles = hits["hits"].as_array().unwrap().iter();
        let titles: Vec<&str> = titles.filter_map(|hit| hit["title"].as_str()).collect();
        assert!(titles.contains(&said), "{asked}: {hits}");
    }
    // A letter of its own is not another one with a mark.
    world.say("die Straße nach Łódź", None).await;
    for asked in ["strasse", "lodz"] {
        let hits = world.get(&world.ana, &format!("v1/search?q={asked}")).await;
        assert_eq!(hits["hits"], json!([]), "{asked}");
    }
}
