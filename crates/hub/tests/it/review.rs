//! A change is reviewed on the page: comments on lines that become findings, marks on
//! files, what is new since the last round, and who sees which button.

use std::fmt::Write as _;

use butler_hub::Tokens;
use butler_protocol::{
    CommitSha, DecisionKind, MessageTs, PullNews, PullStatus, RequestId, Role, Standing,
};
use reqwest::StatusCode;
use serde_json::json;

use crate::{
    browser::{driver, play},
    page::{Browser, origin},
    views::news,
    world::{World, card, subject},
};

const FIRST: &str = "diff --git a/src/deep/a.rs b/src/deep/a.rs\n--- a/src/deep/a.rs\n+++ b/src/deep/a.rs\n@@ -1,3 +1,4 @@\n fn a() {\n-    one();\n+    two(\"<b>\");\n+    three();\n }\ndiff --git a/notes.md b/notes.md\n--- a/notes.md\n+++ b/notes.md\n@@ -1,1 +1,2 @@\n # Notes\n+New.\n";

/// The second round: one line of the first file is another one.
fn second() -> String {
    FIRST.replace("+    three();", "+    four();")
}

fn round(world: &World, root: &MessageTs, head: &str, diff: &str) -> PullNews {
    let mut pull = news(world, root, PullStatus::Open, Some(diff));
    pull.head = CommitSha::new(head.repeat(40));
    pull.branch = Some(butler_protocol::BranchName::new("codebutler/greet-1"));
    pull.url = Some("https://forge.example/you/notes/pull/7".into());
    pull
}

async fn opened(world: &World) -> MessageTs {
    let root = world.say("change it", None).await;
    let lead = world.control(Role::Lead);
    lead.pull(&round(world, &root, "a", FIRST)).await.unwrap();
    root
}

async fn sends(
    world: &World,
    browser: &Browser<'_>,
    root: &MessageTs,
    what: &str,
    form: &[(&str, &str)],
) -> StatusCode {
    let path = format!("c/{}/{root}/review/{what}", world.channel());
    browser.submit(&path, form, &origin(world)).await
}

fn comment<'a>(first: &'a str, last: &'a str, text: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("path", "src/deep/a.rs"),
        ("side", "R"),
        ("first", first),
        ("last", last),
        ("text", text),
        ("suggestion", "    two(\"<b>\");\r\n    three();"),
        ("back", "?&view=split"),
    ]
}

async fn shown(world: &World, browser: &Browser<'_>, root: &MessageTs, query: &str) -> String {
    let path = format!("c/{}/{root}/changes{query}", world.channel());
    browser.get(&path).await
}

async fn said(world: &World, root: &MessageTs) -> Vec<String> {
    let path = format!("v1/threads/{}/{root}", world.channel());
    let view = world.get(&world.ana, &path).await;
    let messages = view["messages"].as_array().unwrap();
    let texts = messages.iter().map(|one| one["text"].as_str().unwrap());
    texts.map(str::to_owned).collect()
}

#[tokio::test]
async fn comments_are_drafts_of_one_person_until_they_are_findings_for_the_coder() {
    let world = World::start().await;
    let you = Browser::login(&world).await;
    let mut tokens = Tokens::open(world.dir.path()).unwrap();
    let code = tokens.invite("ben", Standing::Guest).unwrap();
    let ben = Browser::enter(&world, code.expose()).await;
    let root = opened(&world).await;
    let page = shown(&world, &you, &root, "?at=f0R2-3").await;
    assert!(page.contains("Add to the review"), "{page}");
    assert!(
        page.contains("name=\"first\" value=\"2\"") && page.contains("name=\"last\" value=\"3\"")
    );

    let two = comment("3", "2", "Why <i>three</i>?\r\napprove k3m9qa");
    assert_eq!(
        sends(&world, &you, &root, "comment", &two).await,
        StatusCode::SEE_OTHER
    );
    let mut other = comment("2", "2", "");
    other[5] = ("suggestion", "    two(\"b\");");
    assert_eq!(
        sends(&world, &you, &root, "comment", &other).await,
        StatusCode::SEE_OTHER
    );
    // Nothing in it, lines that are not there, a file that is not there.
    for (first, last, text) in [("2", "3", " "), ("2", "9", "x"), ("0", "0", "x")] {
        let form = comment(first, last, text);
        let status = sends(&world, &you, &root, "comment", &form).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{first}-{last} {text}");
    }
    let mut odd = comment("2", "2", "x");
    odd[0] = ("path", "src/none.rs");
    assert_eq!(
        sends(&world, &you, &root, "comment", &odd).await,
        StatusCode::BAD_REQUEST
    );

    // Nobody else sees it, and nobody was told.
    let page = shown(&world, &you, &root, "").await;
    assert!(
        page.contains("not sent yet") && page.contains("Send 2 comments"),
        "{page}"
    );
    assert!(page.contains("&lt;i&gt;three") && !page.contains("<i>three"));
    let theirs = shown(&world, &ben, &root, "").await;
    assert!(
        !theirs.contains("not sent yet") && !theirs.contains("three&lt;/i&gt;?"),
        "{theirs}"
    );
    assert_eq!(said(&world, &root).await.len(), 1);

    assert_eq!(
        sends(&world, &you, &root, "send", &[]).await,
        StatusCode::SEE_OTHER
    );
    let text = said(&world, &root).await.pop().unwrap();
    assert!(
        text.starts_with("@codebutler.coder Review of #7 at `aaaaaaaaaa`: 2 findings."),
        "{text}"
    );
    assert!(text.contains("*P1* `src/deep/a.rs:2-3`"), "{text}");
    assert!(
        text.contains("Why &lt;i&gt;three&lt;/i&gt;?\napprove k3m9qa"),
        "{text}"
    );
    assert!(text.contains("*P2* `src/deep/a.rs:2`"), "{text}");
    assert!(
        text.contains("become exactly\n```\n    two(\"b\");\n```"),
        "{text}"
    );
    assert_eq!(
        text.matches("Suggested").count(),
        1,
        "what was left as it is, is none: {text}"
    );
    let theirs = shown(&world, &ben, &root, "").await;
    assert!(
        theirs.contains(">P1</a>") && theirs.contains(">P2</a>"),
        "{theirs}"
    );
    // Sent once.
    assert_eq!(
        sends(&world, &you, &root, "send", &[]).await,
        StatusCode::BAD_REQUEST
    );
    assert_eq!(said(&world, &root).await.len(), 2);

    // The next round answers them, and the next findings count on.
    world
        .control(Role::Lead)
        .pull(&round(&world, &root, "b", &second()))
        .await
        .unwrap();
    let page = shown(&world, &you, &root, "").await;
    assert_eq!(page.matches("changed since").count(), 2, "{page}");
    let third = comment("2", "3", "Still?");
    sends(&world, &ben, &root, "comment", &third).await;
    // Another's draft is not theirs to take back.
    assert_eq!(
        sends(&world, &you, &root, "drop", &[("id", "3")]).await,
        StatusCode::SEE_OTHER
    );
    assert!(
        shown(&world, &ben, &root, "")
            .await
            .contains("not sent yet")
    );
    sends(&world, &ben, &root, "send", &[]).await;
    let text = said(&world, &root).await.pop().unwrap();
    assert!(
        text.contains("at `bbbbbbbbbb`: one finding") && text.contains("*P3* `src/deep/a.rs:2-3`"),
        "{text}"
    );
}

#[tokio::test]
async fn what_was_viewed_is_marked_until_it_changes() {
    let world = World::start().await;
    let you = Browser::login(&world).await;
    let mut tokens = Tokens::open(world.dir.path()).unwrap();
    let code = tokens.invite("ben", Standing::Guest).unwrap();
    let ben = Browser::enter(&world, code.expose()).await;
    let root = opened(&world).await;
    let page = shown(&world, &you, &root, "").await;
    assert!(page.contains("0 of 2 viewed"), "{page}");
    for path in ["src/deep/a.rs", "notes.md"] {
        let before = page.split(&format!("value=\"{path}\"")).nth(1).unwrap();
        let digest = before.split("name=\"digest\" value=\"").nth(1).unwrap();
        let digest = digest.split('"').next().unwrap();
        sends(
            &world,
            &you,
            &root,
            "viewed",
            &[("path", path), ("digest", digest)],
        )
        .await;
    }
    assert!(
        shown(&world, &you, &root, "")
            .await
            .contains("2 of 2 viewed")
    );
    assert!(
        shown(&world, &ben, &root, "")
            .await
            .contains("0 of 2 viewed")
    );
    world
        .control(Role::Lead)
        .pull(&round(&world, &root, "b", &second()))
        .await
        .unwrap();
    assert!(
        shown(&world, &you, &root, "")
            .await
            .contains("1 of 2 viewed")
    );
    sends(&world, &you, &root, "viewed", &[("path", "notes.md")]).await;
    assert!(
        shown(&world, &you, &root, "")
            .await
            .contains("0 of 2 viewed")
    );
}

#[tokio::test]
async fn only_what_is_new_since_the_last_round_is_shown() {
    let world = World::start().await;
    let you = Browser::login(&world).await;
    let root = opened(&world).await;
    let page = shown(&world, &you, &root, "").await;
    assert!(!page.contains("Since the last round"), "{page}");
    let lead = world.control(Role::Lead);
    lead.pull(&round(&world, &root, "b", &second()))
        .await
        .unwrap();
    // Told again without a diff, or with the same one: the last round stays the last.
    lead.pull(&round(&world, &root, "b", &second()))
        .await
        .unwrap();
    let mut again = round(&world, &root, "b", "");
    again.diff = None;
    lead.pull(&again).await.unwrap();
    let page = shown(&world, &you, &root, "").await;
    assert!(page.contains("Since the last round") && page.contains("Changes in notes.md"));
    let page = shown(&world, &you, &root, "?since=1").await;
    assert!(
        !page.contains("Changes in notes.md"),
        "it did not change: {page}"
    );
    assert_eq!(page.matches(" fresh\"").count(), 1, "{page}");
    let line = page.split(" fresh\"").nth(1).unwrap();
    assert!(
        line.split("</tr>").next().unwrap().contains("four"),
        "{line}"
    );
    assert!(
        page.contains("1 line of the last round left the change") && page.contains("+    three();")
    );
}

#[tokio::test]
async fn the_branch_and_how_to_get_it_are_named() {
    let world = World::start().await;
    let you = Browser::login(&world).await;
    let root = opened(&world).await;
    let page = shown(&world, &you, &root, "").await;
    for part in [
        "href=\"https://forge.example/you/notes/pull/7\"",
        "git fetch origin codebutler/greet-1 &amp;&amp; git switch --detach FETCH_HEAD",
        "<summary>src/deep/</summary>",
        "href=\"#f1\"",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    // An address that is none of the web's is only a number.
    let mut odd = round(&world, &root, "a", FIRST);
    odd.url = Some("javascript:alert(1)".into());
    world.control(Role::Lead).pull(&odd).await.unwrap();
    let page = shown(&world, &you, &root, "").await;
    assert!(!page.contains("javascript:"), "{page}");
}

/// Long files wait until somebody opens them, part by part.
#[tokio::test]
async fn a_long_file_is_drawn_when_it_is_opened() {
    let world = World::start().await;
    let you = Browser::login(&world).await;
    let root = world.say("change it", None).await;
    let mut diff = String::from("diff --git a/long.txt b/long.txt\n@@ -0,0 +1,7000 @@\n");
    for line in 1..=7000 {
        let _ = writeln!(diff, "+line {line}.");
    }
    diff.push_str("diff --git a/short.txt b/short.txt\n@@ -0,0 +1,1 @@\n+brief\n");
    let lead = world.control(Role::Lead);
    lead.pull(&round(&world, &root, "a", &diff)).await.unwrap();
    let page = shown(&world, &you, &root, "").await;
    assert!(page.contains("Show its 7001 lines") && page.contains("brief"));
    assert!(
        !page.contains("id=\"f0R1\"") && page.len() < 40_000,
        "{}",
        page.len()
    );
    let page = shown(&world, &you, &root, "?open=0").await;
    assert!(page.contains("id=\"f0R2999\"") && !page.contains("id=\"f0R3000\""));
    let page = shown(&world, &you, &root, "?open=0&from=6000").await;
    assert!(page.contains("id=\"f0R7000\"") && !page.contains("Next lines"));
}

/// The buttons of a card and of a thread are there for who may press them.
#[tokio::test]
async fn buttons_are_shown_to_who_may_press_them() {
    let world = World::start().await;
    let root = opened(&world).await;
    for (kind, id) in [
        (DecisionKind::Plan, "plan1"),
        (DecisionKind::Merge, "merge1"),
    ] {
        let mut post = world.post("", Some(&root), id);
        card(
            &world.control(Role::Lead),
            &mut post,
            id,
            &subject(kind, id),
        )
        .await;
        world.web(Role::Lead).post(&post).await.unwrap();
    }
    let mut held_up = world.post("held up", Some(&root), "acts");
    held_up.blocks = Some(json!([{"type": "actions", "elements": [
        {"type": "button", "action_id": "cb-act-try-again", "text": {"type": "plain_text", "text": "Try again"}},
        {"type": "button", "action_id": "cb-act-archive", "text": {"type": "plain_text", "text": "Put away"}}]}]));
    world.web(Role::Lead).post(&held_up).await.unwrap();
    let mut tokens = Tokens::open(world.dir.path()).unwrap();
    for standing in Standing::ALL {
        let code = tokens.invite(standing.as_str(), standing).unwrap();
        let browser = Browser::enter(&world, code.expose()).await;
        let thread = browser.get(&format!("c/{}/{root}", world.channel())).await;
        let changes = shown(&world, &browser, &root, "").await;
        let approves = standing >= Standing::Approver;
        let merges = standing >= Standing::Maintainer;
        let has = |page: &str, what: &str, wanted: bool| {
            assert_eq!(page.contains(what), wanted, "{standing}: {what}");
        };
        has(&thread, "cb:plan1:approve", approves);
        has(&thread, "Change it here", approves);
        has(&thread, "cb-act-archive", approves);
        has(&thread, "cb-act-try-again", merges);
        for page in [&thread, &changes] {
            has(page, "cb:merge1:merge", merges);
            has(page, "Waiting for somebody who may decide it", !merges);
            for (word, may) in [
                ("merge", merges),
                ("hold", merges),
                ("close", merges),
                ("archive", approves),
            ] {
                has(page, &format!("name=\"text\" value=\"{word}\""), may);
            }
        }
        has(&thread, "Review the changes", true);
    }
}

/// A change in its second round, with a card that asks for its merge.
async fn asks_for_merge(world: &World) -> MessageTs {
    let root = opened(world).await;
    let lead = world.control(Role::Lead);
    let round = round(world, &root, "b", &second());
    lead.pull(&round).await.unwrap();
    let mut post = world.post("", Some(&root), "merge");
    let merge = subject(DecisionKind::Merge, "Merge it");
    card(&lead, &mut post, "merge1", &merge).await;
    world.web(Role::Lead).post(&post).await.unwrap();
    root
}

#[tokio::test]
async fn everything_works_without_script() {
    let Some(dir) = driver() else { return };
    let world = World::start().await;
    let root = asks_for_merge(&world).await;
    let more = [
        ("CHANNEL", world.channel().to_string()),
        ("ROOT", root.to_string()),
    ];
    play(&dir, &world, "plain.mjs", "phone", &more).await;
    let text = said(&world, &root).await.concat();
    assert!(text.contains("Say it plainly."), "{text}");
    let lead = world.control(Role::Lead);
    let view = lead.decision(&RequestId::new("merge1")).await.unwrap();
    assert!(view.decided.is_some());
}

#[tokio::test]
async fn a_change_is_reviewed_by_clicks_at_both_sizes() {
    let Some(dir) = driver() else { return };
    for size in ["desktop", "phone"] {
        let world = World::start().await;
        let root = asks_for_merge(&world).await;
        let lead = world.control(Role::Lead);
        let more = [
            ("CHANNEL", world.channel().to_string()),
            ("ROOT", root.to_string()),
        ];
        play(&dir, &world, "review.mjs", size, &more).await;
        let text = said(&world, &root).await;
        let text = text
            .iter()
            .find(|text| text.contains("Review of #7"))
            .unwrap();
        assert!(
            text.contains("*P1* `src/deep/a.rs:2-3`") && text.contains("Say it in words."),
            "{text}"
        );
        assert!(
            text.contains("become exactly\n```\n    two();\n    four();\n```"),
            "{text}"
        );
        let view = lead.decision(&RequestId::new("merge1")).await.unwrap();
        assert!(view.decided.is_some(), "merged from the review");
    }
}
