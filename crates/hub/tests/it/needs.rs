//! What waits for a person, what is new to them, and what a search finds.

use butler_hub::PersonToken;
use butler_protocol::{
    Activity, ActivityState, DecisionKind, Ending, MessageTs, PullStatus, Record, Role, Waiting,
};
use serde_json::{Value, json};

use crate::{
    page::Browser,
    views::{DIFF, news, record},
    world::{World, card, subject},
};

async fn needs(world: &World, who: &PersonToken) -> Vec<(String, String)> {
    let answer = world.get(who, "v1/needs").await;
    let text = |need: &Value, field: &str| need[field].as_str().unwrap_or_default().to_owned();
    let all = answer["needs"].as_array().unwrap().iter();
    all.map(|need| (text(need, "kind"), text(need, "why")))
        .collect()
}

async fn kinds(world: &World, who: &PersonToken) -> Vec<String> {
    let all = needs(world, who).await;
    all.into_iter().map(|(kind, _)| kind).collect()
}

async fn ask(
    world: &World,
    root: &MessageTs,
    role: Role,
    id: &str,
    kind: DecisionKind,
) -> MessageTs {
    let mut post = world.post("", Some(root), &format!("card {id}"));
    card(&world.control(role), &mut post, id, &subject(kind, "Do it")).await;
    world.web(role).post(&post).await.unwrap().ts
}

async fn press(world: &World, who: &PersonToken, ts: &MessageTs, action: &str) {
    let press = json!({"channel": world.channel(), "ts": ts, "action_id": action});
    let (status, answer) = world.person(who, "v1/actions", &press).await;
    assert_eq!(status, 200, "{answer}");
}

async fn park(world: &World, root: &MessageTs, role: Role, waiting: Waiting) {
    let started = Record::ActivationStarted { activation: 1 };
    record(world, root, role, vec![started, Record::Parked { waiting }]).await;
    let activity = Activity {
        thread: world.thread(root),
        state: ActivityState::Parked,
        step: None,
        lease_seconds: 30,
    };
    world.control(role).activity(&activity).await.unwrap();
}

#[tokio::test]
async fn a_story_needs_its_people_where_it_waits_and_nowhere_else() {
    let world = World::start().await;
    assert!(needs(&world, &world.ana).await.is_empty());
    let root = world.say("build the <b>parser</b>", None).await;
    assert!(needs(&world, &world.ana).await.is_empty());

    // A question is for whoever takes part; the other one has nothing to answer.
    let words = format!("<@{}> 1. Which one?", world.ana.user);
    let pm = world.web(Role::Pm);
    pm.post(&world.post(&words, Some(&root), "q"))
        .await
        .unwrap();
    park(&world, &root, Role::Pm, Waiting::Person).await;
    let asked = vec![("question".to_owned(), "1. Which one?".to_owned())];
    assert_eq!(needs(&world, &world.ana).await, asked);
    assert!(needs(&world, &world.ben).await.is_empty());

    // A role that waits for another role needs nobody.
    park(
        &world,
        &root,
        Role::Coder,
        Waiting::Reply { deadline_ms: 0 },
    )
    .await;
    assert_eq!(kinds(&world, &world.ana).await, ["question"]);

    // Only the newest plan still asks; a decided one asks nobody.
    ask(&world, &root, Role::Pm, "plan01", DecisionKind::Plan).await;
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    let plan = ask(&world, &root, Role::Pm, "plan02", DecisionKind::Plan).await;
    let plans = kinds(&world, &world.ben).await;
    assert_eq!(plans, ["plan"], "whoever may decide is needed");
    press(&world, &world.ben, &plan, "cb:plan02:approve").await;
    assert!(kinds(&world, &world.ben).await.is_empty());

    // The merge, held.
    let open = news(&world, &root, PullStatus::Open, Some(DIFF));
    world.control(Role::Lead).pull(&open).await.unwrap();
    let merge = ask(&world, &root, Role::Lead, "merge1", DecisionKind::Merge).await;
    assert!(
        kinds(&world, &world.ana)
            .await
            .contains(&"merge".to_owned())
    );
    press(&world, &world.ana, &merge, "cb:merge1:hold").await;
    let all = kinds(&world, &world.ana).await;
    assert!(all.contains(&"held".to_owned()) && !all.contains(&"merge".to_owned()));

    // What is merged needs nobody, whatever was left open on the way.
    let merged = news(&world, &root, PullStatus::Merged, None);
    world.control(Role::Lead).pull(&merged).await.unwrap();
    assert!(needs(&world, &world.ana).await.is_empty());
}

#[tokio::test]
async fn what_failed_or_was_stopped_is_named_until_it_goes_on_or_is_put_away() {
    let world = World::start().await;
    let root = world.say("build it", None).await;
    let ended = |ending| {
        vec![
            Record::ActivationStarted { activation: 1 },
            Record::ActivationEnded {
                activation: 1,
                ending,
            },
        ]
    };
    let reason = "the model refuses the key".to_owned();
    record(&world, &root, Role::Coder, ended(Ending::Failed { reason })).await;
    let failed = vec![(
        "failed".to_owned(),
        "Coder: the model refuses the key".to_owned(),
    )];
    assert_eq!(needs(&world, &world.ana).await, failed);
    let browser = Browser::login(&world).await;
    assert!(
        !browser.get("needs").await.contains("refuses the key"),
        "not theirs"
    );

    // Another role that ended well later went on with it.
    let more = vec![
        Record::Note { text: "a".into() },
        Record::Note { text: "b".into() },
        Record::ActivationStarted { activation: 1 },
    ];
    record(&world, &root, Role::Pm, more).await;
    assert!(needs(&world, &world.ana).await.is_empty());

    let other = world.say("another", None).await;
    record(&world, &other, Role::Coder, ended(Ending::TurnLimit)).await;
    assert_eq!(kinds(&world, &world.ana).await, ["failed"]);
    let third = world.say("a third", None).await;
    let working = Activity {
        thread: world.thread(&third),
        state: ActivityState::Working,
        step: None,
        lease_seconds: 30,
    };
    world.control(Role::Coder).activity(&working).await.unwrap();
    world.say("stop", Some(&third)).await;
    let mut both = kinds(&world, &world.ana).await;
    both.sort();
    assert_eq!(both, ["failed", "stopped"]);
    world.say("archive", Some(&third)).await;
    assert_eq!(kinds(&world, &world.ana).await, ["failed"]);
}

#[tokio::test]
async fn what_is_new_is_new_to_each_person_until_they_look() {
    let world = World::start().await;
    let root = world.say("build it", None).await;
    let pm = world.web(Role::Pm);
    pm.post(&world.post("on it", Some(&root), "a"))
        .await
        .unwrap();
    let new = async |who: &PersonToken| {
        let answer = world.get(who, "v1/unread").await;
        answer["threads"][0]["new"].as_i64().unwrap_or(0)
    };
    assert_eq!((new(&world.ana).await, new(&world.ben).await), (1, 2));

    // Somebody who comes later begins with nothing new.
    let browser = Browser::login(&world).await;
    let channel = format!("c/{}", world.channel());
    pm.post(&world.post("more", Some(&root), "b"))
        .await
        .unwrap();
    assert!(browser.get(&channel).await.contains("1 new"));
    let thread = format!("{channel}/{root}");
    // A page in the background asks for its parts and reads nothing.
    browser.get(&format!("{thread}/live")).await;
    assert!(browser.get(&channel).await.contains("1 new"));
    browser.get(&format!("{thread}/live?seen=1")).await;
    assert!(!browser.get(&channel).await.contains("1 new"));
    assert_eq!((new(&world.ana).await, new(&world.ben).await), (2, 3));
}

#[tokio::test]
async fn a_search_finds_by_word_by_file_and_by_what_was_changed() {
    let world = World::start().await;
    let root = world.say("Straße <b>parser</b> breaks on CRLF", None).await;
    let other = world.say("something else", None).await;
    let pm = world.web(Role::Pm);
    pm.post(&world.post("the Lexer is fine", Some(&other), "a"))
        .await
        .unwrap();
    let open = news(&world, &root, PullStatus::Open, Some(DIFF));
    world.control(Role::Coder).pull(&open).await.unwrap();
    let part = reqwest::multipart::Part::text("a needle in it").file_name("haystack.txt");
    let form = reqwest::multipart::Form::new()
        .text("channel", world.channel().to_string())
        .text("thread_ts", other.to_string())
        .part("file", part);
    let request = world.http.post(world.base.join("v1/messages").unwrap());
    let request = request
        .bearer_auth(world.ana.token.expose())
        .multipart(form);
    assert_eq!(request.send().await.unwrap().status(), 200);

    let roots = async |query: &str| {
        let mut url = world.base.join("v1/search").unwrap();
        url.query_pairs_mut().append_pair("q", query);
        let answer = world.get(&world.ana, url.as_str()).await;
        let hits = answer["hits"].as_array().unwrap().clone();
        let roots = hits
            .iter()
            .map(|hit| hit["thread"]["root"].as_str().unwrap().to_owned());
        roots.collect::<Vec<_>>()
    };
    let (root, other) = (root.to_string(), other.to_string());
    assert_eq!(roots("pars crlf").await, std::slice::from_ref(&root));
    assert_eq!(
        roots("src/a.rs").await,
        std::slice::from_ref(&root),
        "by a file that was changed"
    );
    assert_eq!(roots("lexer").await, std::slice::from_ref(&other));
    assert_eq!(
        roots("haystack.txt").await,
        std::slice::from_ref(&other),
        "by the name of a file"
    );
    assert_eq!(
        roots("needle").await,
        std::slice::from_ref(&other),
        "by what stands in a file"
    );
    assert!(
        roots("parser lexer").await.is_empty(),
        "all words must be there"
    );
    assert!(roots("OR *").await.is_empty());

    // What is edited or deleted is found as it is now.
    let newer = news(
        &world,
        &root.parse().unwrap(),
        PullStatus::Open,
        Some("diff --git a/z.py b/z.py\n"),
    );
    world.control(Role::Coder).pull(&newer).await.unwrap();
    assert!(roots("src/a.rs").await.is_empty());
    assert_eq!(roots("z.py").await, [root]);

    let browser = Browser::login(&world).await;
    let page = browser.get("search?q=%3Cb%3Eparser").await;
    assert!(
        page.contains("&lt;b&gt;parser") && !page.contains("<b>parser"),
        "{page}"
    );
}
