//! Who may do what, by which way: one table, and a test of each of its cells for each
//! person. A cell names the least standing that is needed; `-` says that there is no
//! such way, and it is tried all the same.

use butler_hub::{PersonToken, Tokens, verify_audit};
use butler_protocol::{
    DecisionKind, MessageTs, PullStatus, RequestId, Role, Standing, ThreadId, UserId,
};
use butler_testkit::SlackStandIn;
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::{
    page::{Browser, origin},
    relay::{ask as ask_in_slack, decided as decided_in_slack},
    slack_world::{SlackWorld, until},
    views::news,
    world::{World, card, subject},
};

const TABLE: &str = "
            page        /v1         words       reactions   slack       slack-words slack-reactions command-line
ask         guest       guest       guest       guest       guest       guest       guest           you
stop        guest       guest       guest       guest       -           guest       guest           you
plan        approver    approver    approver    approver    approver    approver    approver        you
edit        approver    approver    -           -           -           -           -               you
command     approver    approver    approver    approver    approver    approver    approver        you
learning    approver    approver    approver    approver    approver    approver    approver        you
money       approver    approver    -           -           approver    -           -               you
merge       maintainer  maintainer  maintainer  -           maintainer  maintainer  -               you
hold        maintainer  maintainer  maintainer  -           maintainer  maintainer  -               you
close       maintainer  maintainer  maintainer  -           -           maintainer  -               you
archive     approver    approver    approver    -           approver    approver    -               you
invite      admin       admin       -           -           -           -           -               you
rights      admin       admin       -           -           -           -           -               you
sessions    admin       admin       -           -           -           -           -               you
audit       admin       admin       -           -           -           -           -               you
company     admin       admin       -           -           -           -           -               -
";

/// Every cell: action, way, and the least standing that it needs.
fn cells() -> Vec<(&'static str, &'static str, Option<&'static str>)> {
    let mut lines = TABLE.trim().lines();
    let ways: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    let row = |line: &'static str| {
        let mut words = line.split_whitespace();
        let action = words.next().unwrap();
        let cells: Vec<_> = words.collect();
        assert_eq!(cells.len(), ways.len(), "{action}");
        let cells = ways.clone().into_iter().zip(cells);
        cells.map(move |(way, least)| (action, way, (least != "-").then_some(least)))
    };
    lines.flat_map(row).collect()
}

fn card_kind(action: &str) -> Option<(DecisionKind, &'static str)> {
    Some(match action {
        "plan" | "edit" => (DecisionKind::Plan, "approve"),
        "command" => (DecisionKind::Command, "approve"),
        "learning" => (DecisionKind::Learning, "accept"),
        "money" => (DecisionKind::Cap, "raise"),
        "merge" => (DecisionKind::Merge, "merge"),
        _ => return None,
    })
}

/// How many events of the log have this in them.
fn logged(dir: &std::path::Path, words: &str) -> i64 {
    let store = rusqlite::Connection::open(dir.join("hub.sqlite3")).unwrap();
    let sql = "SELECT count(*) FROM events WHERE instr(frame, ?1)";
    store.query_row(sql, [words], |row| row.get(0)).unwrap()
}

/// Acts of people that were handed to agents.
fn acts(dir: &std::path::Path) -> i64 {
    let store = rusqlite::Connection::open(dir.join("hub.sqlite3")).unwrap();
    let sql = "SELECT count(*) FROM events WHERE json_extract(frame, '$.codebutler.kind') = 'act'
        OR json_extract(frame, '$.payload.actions[0].action_id') LIKE 'cb-act-%'";
    store.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Threads whose work was told to stop.
fn stopped(dir: &std::path::Path) -> i64 {
    let store = rusqlite::Connection::open(dir.join("hub.sqlite3")).unwrap();
    let sql = "SELECT count(*) FROM stops";
    store.query_row(sql, [], |row| row.get(0)).unwrap()
}

struct Visitor {
    name: &'static str,
    token: PersonToken,
    code: String,
}

/// Everybody that there can be in the built-in workspace.
fn visitors(world: &World) -> Vec<Visitor> {
    let mut tokens = Tokens::open(world.dir.path()).unwrap();
    let invited = Standing::ALL.map(|standing| {
        let code = tokens.invite(standing.as_str(), standing).unwrap();
        Visitor {
            name: standing.as_str(),
            token: tokens.ensure_person(standing.as_str()).unwrap(),
            code: code.expose().to_owned(),
        }
    });
    let code = tokens.login_link().unwrap();
    let you = Visitor {
        name: "you",
        token: tokens.ensure_person("you").unwrap(),
        code: code.expose().to_owned(),
    };
    invited.into_iter().chain([you]).collect()
}

fn suffices(person: &str, least: &str) -> bool {
    match (person, least) {
        ("you", _) => true,
        (_, "you") => false,
        _ => person.parse::<Standing>().unwrap() >= least.parse().unwrap(),
    }
}

/// One attempt: whether it counted.
struct Attempt<'a> {
    world: &'a World,
    browser: &'a Browser<'a>,
    who: &'a PersonToken,
    number: usize,
}

impl Attempt<'_> {
    async fn post(&self, path: &str, body: Value) -> u16 {
        self.world.person(self.who, path, &body).await.0
    }

    async fn form(&self, path: &str, form: &[(&str, &str)]) -> StatusCode {
        self.browser.submit(path, form, &origin(self.world)).await
    }

    async fn make(&self, action: &str, way: &str) -> bool {
        if way == "command-line" {
            return self.at_the_terminal(action).await;
        }
        match action {
            "ask" => self.asks(way).await,
            "stop" => self.stops(way).await,
            "edit" => self.edits(way).await,
            "hold" | "close" | "archive" => self.acts(action, way).await,
            "invite" | "rights" | "sessions" | "audit" | "company" => {
                self.administers(action, way).await
            }
            card => self.decides(card, way).await,
        }
    }

    async fn asks(&self, way: &str) -> bool {
        let world = self.world;
        let text = format!("please {}-{way}", self.number);
        let root = world.say("something", None).await;
        match way {
            "page" => {
                let path = format!("c/{}/say", world.channel());
                self.form(&path, &[("text", &text)]).await;
            }
            "reactions" => {
                let body = json!({"channel": world.channel(), "ts": root, "name": "eyes"});
                return self.post("v1/reactions", body).await == 200;
            }
            _ => {
                let thread = (way == "words").then_some(&root);
                let body = json!({"channel": world.channel(), "text": text, "thread_ts": thread});
                self.post("v1/messages", body).await;
            }
        }
        logged(world.dir.path(), &text) > 0
    }

    async fn stops(&self, way: &str) -> bool {
        let world = self.world;
        let root = world.say("go", None).await;
        let before = stopped(world.dir.path());
        match way {
            "page" => {
                let path = format!("c/{}/{root}/stop", world.channel());
                self.form(&path, &[]).await;
            }
            "reactions" => {
                let body =
                    json!({"channel": world.channel(), "ts": root, "name": "octagonal_sign"});
                self.post("v1/reactions", body).await;
            }
            _ => {
                let body = json!({"channel": world.channel(), "text": "stop", "thread_ts": root});
                self.post("v1/messages", body).await;
            }
        }
        stopped(world.dir.path()) > before
    }

    /// A plan that is changed on its card: no word and no reaction says what to change.
    async fn edits(&self, way: &str) -> bool {
        let (root, ts, id, _) = self.card("edit").await;
        let world = self.world;
        match way {
            "page" => {
                let form = [
                    ("ts", ts.as_str()),
                    ("root", root.as_str()),
                    ("request", &id),
                    ("steps", "do it otherwise"),
                    ("complexity", "simple"),
                ];
                self.form(&format!("c/{}/plan", world.channel()), &form)
                    .await;
            }
            "/v1" => {
                let body = json!({"channel": world.channel(), "ts": ts, "request": id,
                    "steps": ["do it otherwise"], "complexity": "simple"});
                self.post("v1/plans/approve", body).await;
            }
            "words" => {
                let body = json!({"channel": world.channel(), "thread_ts": root,
                    "text": format!("approve {id}: do it otherwise")});
                self.post("v1/messages", body).await;
            }
            _ => {
                let body = json!({"channel": world.channel(), "ts": ts, "name": "pencil2"});
                self.post("v1/reactions", body).await;
            }
        }
        let view = world.control(Role::Pm).decision(&RequestId::new(&id)).await;
        view.unwrap().edited.is_some()
    }

    async fn card(&self, action: &str) -> (MessageTs, MessageTs, String, &'static str) {
        let world = self.world;
        let root = world.say("go", None).await;
        let (kind, choice) = card_kind(action).unwrap();
        let id = format!("c{:05}", self.number);
        let mut post = world.post("", Some(&root), &format!("card {id}"));
        let control = world.control(Role::Pm);
        card(&control, &mut post, &id, &subject(kind, &id)).await;
        let ts = world.web(Role::Pm).post(&post).await.unwrap().ts;
        (root, ts, id, choice)
    }

    async fn decides(&self, action: &str, way: &str) -> bool {
        let (root, ts, id, choice) = self.card(action).await;
        let world = self.world;
        let button = format!("cb:{id}:{choice}");
        match way {
            "page" => {
                let press = json!([format!("cb:{id}"), button]).to_string();
                let form = [
                    ("ts", ts.as_str()),
                    ("root", root.as_str()),
                    ("press", &press),
                ];
                self.form(&format!("c/{}/press", world.channel()), &form)
                    .await;
            }
            "/v1" => {
                let body = json!({"channel": world.channel(), "ts": ts, "action_id": button});
                self.post("v1/actions", body).await;
            }
            "words" => {
                for words in [
                    format!("approve {id}"),
                    "yes".into(),
                    "merge".into(),
                    "raise".into(),
                ] {
                    let body =
                        json!({"channel": world.channel(), "text": words, "thread_ts": root});
                    self.post("v1/messages", body).await;
                }
            }
            "reactions" => {
                let body = json!({"channel": world.channel(), "ts": ts, "name": "+1"});
                self.post("v1/reactions", body).await;
            }
            other => unreachable!("{other}"),
        }
        let view = world.control(Role::Pm).decision(&RequestId::new(&id)).await;
        let decided = view.unwrap().decided;
        if let Some(decision) = &decided {
            assert_eq!(
                decision.person, self.who.user,
                "every decision has its person"
            );
        }
        decided.is_some()
    }

    /// A word or a button that acts on a thread with an open pull request.
    async fn acts(&self, action: &str, way: &str) -> bool {
        let world = self.world;
        let root = world.say("go", None).await;
        let mut pull = news(world, &root, PullStatus::Open, None);
        pull.number = butler_protocol::PrNumber(self.number as u64);
        world.control(Role::Lead).pull(&pull).await.unwrap();
        let before = acts(world.dir.path());
        match way {
            "page" => {
                let form = [("thread_ts", root.as_str()), ("text", action)];
                self.form(&format!("c/{}/say", world.channel()), &form)
                    .await;
            }
            // Closing is a word that asks with a card; no button says it.
            "/v1" if action != "close" => {
                let mut post = world.post("held up", Some(&root), &format!("b{}", self.number));
                post.blocks = Some(json!([{"type": "actions", "elements": [{"type": "button",
                    "action_id": format!("cb-act-{action}"),
                    "text": {"type": "plain_text", "text": action}}]}]));
                let ts = world.web(Role::Lead).post(&post).await.unwrap().ts;
                let action = format!("cb-act-{action}");
                let body = json!({"channel": world.channel(), "ts": ts, "action_id": action});
                self.post("v1/actions", body).await;
            }
            "words" | "/v1" => {
                let body = json!({"channel": world.channel(), "text": action, "thread_ts": root});
                self.post("v1/messages", body).await;
            }
            "reactions" => {
                let body = json!({"channel": world.channel(), "ts": root, "name": "+1"});
                self.post("v1/reactions", body).await;
            }
            other => unreachable!("{other}"),
        }
        acts(world.dir.path()) > before
    }

    async fn administers(&self, action: &str, way: &str) -> bool {
        let mut tokens = Tokens::open(self.world.dir.path()).unwrap();
        let name = format!("new{}", self.number);
        if action != "invite" {
            let code = tokens.invite(&name, Standing::Guest).unwrap();
            Browser::enter(self.world, code.expose()).await;
        }
        let person = tokens.ensure_person("guest").unwrap().user;
        let new = tokens
            .people()
            .unwrap()
            .into_iter()
            .find(|one| one.name == name);
        let id = new.map_or(String::new(), |one| one.id);
        let session = tokens
            .sessions()
            .unwrap()
            .into_iter()
            .find(|one| one.name == name);
        let session = session.map_or(String::new(), |one| one.id);
        match (action, way) {
            ("invite", "page") => {
                self.form("people/invite", &[("name", &name), ("role", "admin")])
                    .await;
            }
            ("invite", "/v1") => {
                self.post("v1/people", json!({"name": name, "role": "admin"}))
                    .await;
            }
            ("rights", "page") => {
                self.form("people/give", &[("id", &id), ("role", "admin")])
                    .await;
            }
            ("rights", "/v1") => {
                let url = self.world.base.join(&format!("v1/people/{id}")).unwrap();
                let request = self
                    .world
                    .http
                    .patch(url)
                    .bearer_auth(self.who.token.expose());
                request
                    .json(&json!({"role": "admin"}))
                    .send()
                    .await
                    .unwrap();
            }
            ("sessions", "page") => {
                self.form("people/end-session", &[("id", &session)]).await;
            }
            ("sessions", "/v1") => {
                let url = self
                    .world
                    .base
                    .join(&format!("v1/sessions/{session}"))
                    .unwrap();
                let request = self
                    .world
                    .http
                    .delete(url)
                    .bearer_auth(self.who.token.expose());
                request.send().await.unwrap();
            }
            ("audit", "page") => {
                return self.browser.get("people").await.contains("What was done");
            }
            ("company", "page") => {
                return self.browser.look("company").await.0 == StatusCode::OK;
            }
            ("company", "/v1") => {
                return self.world.get(self.who, "v1/company").await["ok"] == true;
            }
            ("audit", "/v1") => {
                return self.world.get(self.who, "v1/audit").await["ok"] == true;
            }
            // Nothing that is said gives rights.
            _ => {
                let text = format!("invite {name} {person}");
                let body = json!({"channel": self.world.channel(), "text": text});
                self.post("v1/messages", body).await;
                return false;
            }
        }
        let people = tokens.people().unwrap();
        match action {
            "invite" => people.iter().any(|one| one.name == name),
            "rights" => people
                .iter()
                .any(|one| one.name == name && one.standing == Some(Standing::Admin)),
            _ => !tokens
                .sessions()
                .unwrap()
                .iter()
                .any(|one| one.id == session),
        }
    }

    /// The command line is the machine owner's: it opens the store, which nobody else on
    /// the machine can, and calls `/v1` as `you`.
    async fn at_the_terminal(&self, action: &str) -> bool {
        use std::os::unix::fs::PermissionsExt;
        let store = self.world.dir.path().join("hub.sqlite3");
        let mode = std::fs::metadata(store).unwrap().permissions().mode();
        assert_eq!(
            mode & 0o077,
            0,
            "others of the machine cannot open the store"
        );
        let mut tokens = Tokens::open(self.world.dir.path()).unwrap();
        let you = tokens.ensure_person("you").unwrap();
        if self.who.user != you.user {
            return false;
        }
        let name = format!("cli{}", self.number);
        match action {
            "invite" => tokens.invite(&name, Standing::Guest).is_ok(),
            "company" => false,
            "rights" => {
                tokens.invite(&name, Standing::Guest).unwrap();
                tokens.give(&name, Standing::Admin).is_ok() && tokens.send_away(&name).is_ok()
            }
            "sessions" => {
                let code = tokens.invite(&name, Standing::Guest).unwrap();
                Browser::enter(self.world, code.expose()).await;
                let all = tokens.sessions().unwrap();
                let session = all.iter().find(|one| one.name == name).unwrap();
                tokens.end_session(&session.id).is_ok()
            }
            "audit" => {
                let lines = tokens.audit().unwrap();
                assert_eq!(tokens.contradicts_audit().unwrap(), None);
                verify_audit(&lines).is_ok()
            }
            "hold" | "close" | "archive" => self.acts(action, "words").await,
            "stop" => self.stops("words").await,
            "edit" => self.edits("/v1").await,
            "ask" => self.asks("/v1").await,
            card => self.decides(card, "/v1").await,
        }
    }
}

#[tokio::test]
async fn every_cell_of_the_table_in_the_built_in_workspace() {
    let world = World::start().await;
    let mut number = 0;
    for visitor in visitors(&world) {
        let browser = Browser::enter(&world, &visitor.code).await;
        for (action, way, least) in cells() {
            if way.starts_with("slack") {
                continue;
            }
            number += 1;
            let attempt = Attempt {
                world: &world,
                browser: &browser,
                who: &visitor.token,
                number,
            };
            let expected = least.is_some_and(|least| suffices(visitor.name, least));
            let counted = attempt.make(action, way).await;
            assert_eq!(counted, expected, "{} {action} by {way}", visitor.name);
        }
    }
    // Everything that was decided is in the audit, with its person, and the chain holds.
    let mut tokens = Tokens::open(world.dir.path()).unwrap();
    assert_eq!(tokens.contradicts_audit().unwrap(), None);
    let lines = tokens.audit().unwrap();
    verify_audit(&lines).unwrap();
    for name in ["approver", "maintainer", "admin", "you"] {
        let of = |did: &str| {
            lines
                .iter()
                .any(|line| line.entry.name == name && line.entry.did == did)
        };
        assert!(of("asked") && of("decided") && of("entered"), "{name}");
    }
    let guest = |did: &str| {
        lines
            .iter()
            .any(|line| line.entry.name == "guest" && line.entry.did == did)
    };
    assert!(guest("asked") && !guest("decided"));
}

#[tokio::test]
async fn who_was_sent_away_can_do_nothing_and_is_heard_no_more() {
    let world = World::start().await;
    let mut tokens = Tokens::open(world.dir.path()).unwrap();
    let code = tokens.invite("carl", Standing::Admin).unwrap();
    let carl = tokens.ensure_person("carl").unwrap();
    let browser = Browser::enter(&world, code.expose()).await;
    assert_eq!(world.get(&carl, "v1/me").await["role"], "admin");
    let you = tokens.ensure_person("you").unwrap();
    let stream = world.http.get(world.base.join("v1/events").unwrap());
    let mut stream = stream
        .bearer_auth(carl.token.expose())
        .send()
        .await
        .unwrap();
    let url = world
        .base
        .join(&format!("v1/people/{}", carl.user))
        .unwrap();
    let gone = world
        .http
        .delete(url.clone())
        .bearer_auth(you.token.expose());
    assert_eq!(gone.send().await.unwrap().status(), StatusCode::OK);
    while stream.chunk().await.unwrap().is_some() {}
    assert_eq!(world.get(&carl, "v1/me").await["error"], "invalid_auth");
    assert_eq!(browser.look("needs").await.0, StatusCode::SEE_OTHER);
    // The owner stays, whoever asks.
    let owner = world.base.join(&format!("v1/people/{}", you.user)).unwrap();
    let answer = world.http.delete(owner).bearer_auth(you.token.expose());
    let answer: Value = answer.send().await.unwrap().json().await.unwrap();
    assert_eq!(answer["error"], "owner_stays");
    for name in ["", "you", "codebutler", "coder", "a\nb", "<b>"] {
        assert!(tokens.invite(name, Standing::Guest).is_err(), "{name:?}");
    }
}

#[tokio::test]
async fn a_changed_decision_is_found_by_the_audit() {
    let world = World::start().await;
    let all = visitors(&world);
    let browser = Browser::enter(&world, &all[3].code).await;
    let attempt = Attempt {
        world: &world,
        browser: &browser,
        who: &all[3].token,
        number: 1,
    };
    assert!(attempt.decides("merge", "/v1").await);
    let mut tokens = Tokens::open(world.dir.path()).unwrap();
    assert_eq!(tokens.contradicts_audit().unwrap(), None);
    let store = rusqlite::Connection::open(world.dir.path().join("hub.sqlite3")).unwrap();
    let guest = all[0].token.user.as_str();
    store
        .execute("UPDATE cards SET person = ?1", [guest])
        .unwrap();
    assert_eq!(
        tokens.contradicts_audit().unwrap().as_deref(),
        Some("c00001")
    );
    store
        .execute(
            "UPDATE audit SET entry = replace(entry, 'merge', 'close')",
            [],
        )
        .unwrap();
    assert!(verify_audit(&tokens.audit().unwrap()).is_err());
}

/// Ways of Slack: by user id, by group, and everybody else.
#[tokio::test]
async fn every_cell_of_the_table_in_slack() {
    let mut world = SlackWorld::down_with(SlackStandIn::start().await);
    let person = |name: &str| world.slack.person(name);
    let people = [
        ("guest", person("gus")),
        ("approver", person("abe")),
        ("maintainer", person("mia")),
        ("admin", person("ada")),
    ];
    world.slack.group("S0MAINT", &[&people[2].1]);
    world.people = [
        ("*", Standing::Guest),
        (people[1].1.as_str(), Standing::Approver),
        ("S0MAINT", Standing::Maintainer),
        (people[3].1.as_str(), Standing::Admin),
    ]
    .map(|(id, standing)| (id.to_owned(), standing))
    .into();
    world.up().await;
    let dir = world.dir.path().to_owned();
    let heard = |text: String| {
        let dir = dir.clone();
        async move { until(&text.clone(), || logged(&dir, &text) > 0).await }
    };
    let mut number = 0;
    for (name, user) in &people {
        for (action, way, least) in cells() {
            let Some(way) = way.strip_prefix("slack") else {
                continue;
            };
            // There is nothing in Slack to do it with; a plan is changed there in a form,
            // which `relay_forms` tries.
            if ["edit", "invite", "rights", "sessions", "audit", "company"].contains(&action) {
                assert_eq!(least, None);
                continue;
            }
            number += 1;
            let channel = world.channel();
            let root = world
                .slack
                .say(user, channel.as_str(), &format!("start-{number}."), None);
            heard(format!("start-{number}.")).await;
            let thread = ThreadId::new(channel.clone(), root.parse().unwrap());
            let before = acts(&dir) + stopped(&dir);
            let mut id = None;
            if action == "stop" {
                match way {
                    "-words" => {
                        world.slack.say(user, channel.as_str(), "stop", Some(&root));
                    }
                    "-reactions" => {
                        world
                            .slack
                            .react(user, channel.as_str(), &root, "octagonal_sign");
                    }
                    // There is no button for it in Slack.
                    _ => {}
                }
            } else if let Some((kind, choice)) = card_kind(action) {
                let request = format!("s{number:05}");
                let ts = ask_in_slack(&world, &root, &request, kind).await;
                match way {
                    "" => {
                        let button = format!("cb:{request}:{choice}");
                        assert!(world.slack.click(user, channel.as_str(), &ts, &button));
                    }
                    "-words" => {
                        for words in [format!("approve {request}").as_str(), "yes", "merge"] {
                            world.slack.say(user, channel.as_str(), words, Some(&root));
                        }
                    }
                    _ => world.slack.react(user, channel.as_str(), &ts, "+1"),
                }
                id = Some(request);
            } else if action != "ask" {
                let mut pull = butler_protocol::PullNews {
                    thread,
                    number: butler_protocol::PrNumber(number),
                    title: "t".into(),
                    body: "b".into(),
                    branch: None,
                    head: butler_protocol::CommitSha::new(
                        "0123456789abcdef0123456789abcdef01234567",
                    ),
                    state: PullStatus::Open,
                    url: None,
                    diff: None,
                };
                pull.branch = None;
                world.control(Role::Lead).pull(&pull).await.unwrap();
                match way {
                    "" if action == "close" => {}
                    "" => {
                        let mut post =
                            world.post(Role::Lead, "held", Some(&root), &format!("b{number}"));
                        post.blocks = Some(
                            json!([{"type": "actions", "block_id": "b", "elements": [{"type": "button",
                            "action_id": format!("cb-act-{action}"),
                            "text": {"type": "plain_text", "text": action}}]}]),
                        );
                        let ts = world.web(Role::Lead).post(&post).await.unwrap().ts;
                        let button = format!("cb-act-{action}");
                        assert!(
                            world
                                .slack
                                .click(user, channel.as_str(), ts.as_str(), &button)
                        );
                    }
                    "-words" => {
                        world.slack.say(user, channel.as_str(), action, Some(&root));
                    }
                    _ => world.slack.react(user, channel.as_str(), &root, "+1"),
                }
            }
            // What comes after it was read after it.
            world.slack.say(
                user,
                channel.as_str(),
                &format!("end-{number}."),
                Some(&root),
            );
            heard(format!("end-{number}.")).await;
            let counted = match &id {
                Some(id) => {
                    let decided = decided_in_slack(&world, id).await;
                    if let Some((_, by)) = &decided {
                        assert_eq!(*by, UserId::new(user));
                    }
                    decided.is_some()
                }
                None if action == "ask" => true,
                None => acts(&dir) + stopped(&dir) > before,
            };
            let expected = least.is_some_and(|least| suffices(name, least));
            assert_eq!(counted, expected, "{name} {action} by slack{way}");
        }
    }
}
