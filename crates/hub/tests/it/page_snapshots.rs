//! What each view of the page looks like as HTML, from one small story. What
//! differs from run to run (timestamps, times of day, the port) is replaced by
//! its number; everything else is compared to the letter.

use std::collections::HashMap;

use butler_protocol::{MessageTs, PullStatus, Role};
use reqwest::StatusCode;
use serde_json::json;

use crate::{
    page::{Browser, origin},
    views::{DIFF, news, record, shell_call, spend},
    world::{World, card},
};

/// Replaces what a run brings along by its kind. Timestamps of messages also get a
/// number, in order of appearance, because links between them matter.
#[derive(Default)]
struct Stable {
    seen: HashMap<String, usize>,
}

impl Stable {
    fn name(&mut self, kind: &'static str, found: &str) -> String {
        if kind != "ts" {
            return format!("[{kind}]");
        }
        let next = self.seen.len() + 1;
        let number = self.seen.entry(found.replace('.', "")).or_insert(next);
        format!("[ts {number}]")
    }

    /// Which kind of changing value a run of digits and signs is.
    fn kind(word: &str) -> Option<&'static str> {
        let digits = |text: &str, count: usize| {
            text.len() == count && text.bytes().all(|b| b.is_ascii_digit())
        };
        let parts: Vec<&str> = word.split(['.', ':', '-']).collect();
        let signs: String = word.chars().filter(|c| !c.is_ascii_digit()).collect();
        match (signs.as_str(), &parts[..]) {
            (".", [seconds, micros]) if digits(seconds, 10) && digits(micros, 6) => Some("ts"),
            ("", [whole]) if digits(whole, 16) => Some("ts"),
            ("", [whole]) if digits(whole, 13) => Some("ms"),
            (":" | "::" | "::.", [hours, minutes, ..])
                if digits(hours, 2) && digits(minutes, 2) =>
            {
                Some("time")
            }
            ("--", [year, month, day]) if digits(year, 4) && digits(month, 2) && digits(day, 2) => {
                Some("day")
            }
            ("-", [month, day]) if digits(month, 2) && digits(day, 2) => Some("day"),
            _ => None,
        }
    }

    fn html(&mut self, page: &str, port: u16) -> String {
        let page = page.replace(&format!("127.0.0.1:{port}"), "[hub]");
        let mut out = String::new();
        let mut word = String::new();
        for c in page.chars().chain(['\n']) {
            if c.is_ascii_digit() || (!word.is_empty() && matches!(c, '.' | ':' | '-')) {
                word.push(c);
                continue;
            }
            let kept = word.trim_end_matches(['.', ':', '-']).to_owned();
            let rest = &word[kept.len()..];
            match Self::kind(&kept) {
                Some(kind) => out.push_str(&self.name(kind, &kept)),
                None => out.push_str(&kept),
            }
            out.push_str(rest);
            word.clear();
            out.push(c);
        }
        // A line for each element: a change shows as the lines it touches.
        out.replace("><", ">\n<").trim_end().to_owned()
    }
}

/// One request with a plan, some work, a pull request and its card: the request
/// and the card.
pub(crate) async fn story(world: &World) -> (MessageTs, MessageTs) {
    let root = world
        .say("Please add a `--json` flag to *list*", None)
        .await;
    let mut plan = world.post("", Some(&root), "plan");
    plan.username = Some("codebutler.pm".into());
    let subject = json!({"plan": {"title": "Add --json", "summary": "The list as JSON.",
        "steps": [{"text": "print an array", "place": "src/list.rs:7"}], "criteria": ["valid JSON"],
        "files": ["src/list.rs"], "rejected": [], "complexity": "simple",
        "estimate": [160_000_000i64, 160_000_000i64]}});
    let subject = serde_json::from_value(subject).unwrap();
    let control = world.control(Role::Pm);
    card(&control, &mut plan, "plan01", &subject).await;
    world.web(Role::Pm).post(&plan).await.unwrap();
    world.say("approve plan01", Some(&root)).await;
    record(world, &root, Role::Coder, shell_call("2 passed")).await;
    spend(world, &root, Role::Coder, "r1", 12).await;
    let open = news(world, &root, PullStatus::Open, Some(DIFF));
    world.control(Role::Coder).pull(&open).await.unwrap();
    let mut done = world.post("Ready: <https://example.com/7|#7>", Some(&root), "done");
    done.username = Some("codebutler.coder".into());
    world.web(Role::Coder).post(&done).await.unwrap();
    let mut merge = world.post("", Some(&root), "merge");
    merge.username = Some("codebutler.lead".into());
    let subject = json!({"merge": {"pr": 7, "head": "0123456789abcdef0123456789abcdef01234567",
        "tree": "89abcdef0123456789abcdef0123456789abcdef", "title": "Add --json",
        "description": "As asked.", "evidence": ["checks green on this tree"], "writer": "lead"}});
    let subject = serde_json::from_value(subject).unwrap();
    let control = world.control(Role::Lead);
    card(&control, &mut merge, "merge1", &subject).await;
    let card = world.web(Role::Lead).post(&merge).await.unwrap();
    (root, card.ts)
}

#[tokio::test]
async fn every_view_of_the_page_looks_as_it_did() {
    let world = World::start().await;
    let browser = Browser::login(&world).await;
    let channel = world.channel();
    let port = world.base.port().unwrap();
    let mut stable = Stable::default();
    let login = world.http.get(world.base.join("login").unwrap());
    let login = login.send().await.unwrap().text().await.unwrap();
    insta::assert_snapshot!("login", stable.html(&login, port));
    let empty = browser.get(&format!("c/{channel}")).await;
    insta::assert_snapshot!("channel_without_messages", stable.html(&empty, port));
    let (root, _) = story(&world).await;
    let thread = format!("c/{channel}/{root}");
    for (name, path) in [
        ("channel", format!("c/{channel}")),
        ("thread", thread.clone()),
        ("thread_timeline", format!("{thread}/timeline")),
        ("thread_changes", format!("{thread}/changes")),
        ("thread_cost", format!("{thread}/cost")),
        ("board", "board".to_owned()),
        ("cost", "cost".to_owned()),
        ("agents", "agents".to_owned()),
        ("company", "company".to_owned()),
    ] {
        let shown = browser.get(&path).await;
        insta::assert_snapshot!(name, stable.html(&shown, port));
    }
    let (status, gone) = browser.look("c/CNOBODY").await;
    assert_eq!(status, 404, "{gone}");
    insta::assert_snapshot!("problem", stable.html(&gone, port));
}

/// What a refusal says to the person, without the page around it.
fn refusal(case: &str, (status, page): (StatusCode, String)) -> String {
    assert!(status.is_client_error(), "{case}: {status} {page}");
    let said = match page.split_once("role=\"alert\">") {
        Some((_, rest)) => rest.split("</p>").next().unwrap().to_owned(),
        None => page,
    };
    format!("{case}: {} {}\n", status.as_u16(), said.trim())
}

#[tokio::test]
async fn what_the_page_says_when_it_refuses() {
    let world = World::with_approvers(|_, ben| vec![ben.user.clone()]).await;
    let browser = Browser::login(&world).await;
    let (channel, here) = (world.channel(), origin(&world));
    let (root, card) = story(&world).await;
    let say = format!("c/{channel}/say");
    let press = format!("c/{channel}/press");
    let react = format!("c/{channel}/react");
    let gone = "1700000000.000001";
    let merge = "[\"cb:merge1\",\"cb:merge1:merge\"]";
    let other = "[\"cb:merge1\",\"cb:merge1:dance\"]";
    let mut told = String::new();
    for (case, path, form) in [
        ("nothing to say", &say, vec![("text", "  ")]),
        (
            "no such thread",
            &say,
            vec![("text", "hi"), ("thread_ts", gone)],
        ),
        (
            "no such message",
            &press,
            vec![("ts", gone), ("press", merge)],
        ),
        (
            "no such button",
            &press,
            vec![("ts", card.as_str()), ("press", other)],
        ),
        (
            "not an approver",
            &press,
            vec![("ts", card.as_str()), ("press", merge)],
        ),
        (
            "no such emoji",
            &react,
            vec![
                ("ts", root.as_str()),
                ("root", root.as_str()),
                ("name", "No Emoji"),
            ],
        ),
    ] {
        told += &refusal(case, browser.send(path, &form, &here).await);
    }
    let foreign = browser
        .send(&say, &[("text", "hi")], "http://evil.example")
        .await;
    told += &refusal("another page", foreign);
    told += &refusal("no such channel", browser.look("c/CNOBODY").await);
    told += &refusal("no such page", browser.look("nowhere").await);
    let used = browser.send("login", &[("code", "used")], &here).await;
    told += &refusal("a link that was used", used);
    insta::assert_snapshot!(told);
}
