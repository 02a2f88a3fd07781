//! What an operator allows: money per month and person, open threads, files, messages and
//! calls. Each is refused with a sentence that names the limit and who can raise it.

use butler_hub::Limits;
use butler_protocol::{
    DecisionKind, MessageTs, Refusal, Reservation, ReserveAnswer, ReserveId, Role, Standing, Usd,
    UserId,
};
use serde_json::{Value, json};

use crate::{
    slack_world::{SlackWorld, until},
    world::{World, card, subject, take, text_of},
};

async fn limited(limits: Limits) -> World {
    let mut world = World::start().await;
    world.down().await;
    world.operation.limits = limits;
    world.up().await;
    world
}

fn reservation(world: &World, root: &MessageTs, id: &str, person: Option<&UserId>) -> Reservation {
    Reservation {
        id: ReserveId::new(id),
        thread: world.thread(root),
        person: person.cloned(),
        amount: Usd::from_cents(60),
        heard: None,
    }
}

async fn budget_of(world: &World, wanted: &Reservation) -> Option<String> {
    match world.control(Role::Pm).reserve(wanted).await.unwrap() {
        ReserveAnswer::Refused(refusal) => Some(refusal.budget),
        other => {
            assert!(matches!(other, ReserveAnswer::Granted { .. }), "{other:?}");
            None
        }
    }
}

#[tokio::test]
async fn a_month_holds_for_the_repository_and_only_an_admin_raises_it() {
    let world = limited(Limits {
        repo_month: Some(Usd::from_cents(100)),
        ..Limits::default()
    })
    .await;
    let (first, second) = (world.say("one", None).await, world.say("two", None).await);
    assert_eq!(
        budget_of(&world, &reservation(&world, &first, "a", None)).await,
        None
    );
    let over = reservation(&world, &second, "b", None);
    let budget = budget_of(&world, &over).await.unwrap();
    assert_eq!(budget, "month of this repository");

    let control = world.control(Role::Pm);
    let mut post = world.post("", Some(&second), "cap");
    card(
        &control,
        &mut post,
        "capcap",
        &subject(DecisionKind::Cap, &budget),
    )
    .await;
    let asked = world.web(Role::Pm).post(&post).await.unwrap();
    let mut tokens = butler_hub::Tokens::open(world.dir.path()).unwrap();
    let raise = json!({"channel": world.channel(), "ts": asked.ts, "action_id": "cb:capcap:raise"});
    tokens.invite("boss", Standing::Approver).unwrap();
    let approver = tokens.ensure_person("boss").unwrap();
    let (status, answer) = world.person(&approver, "v1/actions", &raise).await;
    assert_eq!(
        (status, &answer["error"]),
        (403, &json!("operators_budget"))
    );
    assert!(
        Refusal::OperatorsBudget
            .sentence()
            .contains("only an admin")
    );
    tokens.give("boss", Standing::Admin).unwrap();
    let (status, answer) = world.person(&approver, "v1/actions", &raise).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(budget_of(&world, &over).await, None, "raised");
}

#[tokio::test]
async fn a_person_has_a_day_and_a_month_in_all_repositories() {
    let world = limited(Limits {
        person_day: Some(Usd::from_cents(100)),
        person_month: Some(Usd::from_cents(150)),
        ..Limits::default()
    })
    .await;
    let (ana, ben) = (world.ana.user.clone(), world.ben.user.clone());
    let (one, two) = (world.say("one", None).await, world.say("two", None).await);
    let (three, four) = (
        world.say("three", None).await,
        world.say("four", None).await,
    );
    let ask = |root: &MessageTs, id: &str, who: &UserId| reservation(&world, root, id, Some(who));
    assert_eq!(budget_of(&world, &ask(&one, "a", &ana)).await, None);
    let refused = budget_of(&world, &ask(&two, "b", &ana)).await;
    assert_eq!(refused.as_deref(), Some("day of this person"));
    assert_eq!(
        budget_of(&world, &ask(&two, "c", &ben)).await,
        None,
        "is another"
    );
    // The next day, perhaps of the next month: of three, one does not fit into a month.
    let month = |ahead: u64| {
        let now = std::time::SystemTime::now() + std::time::Duration::from_secs(ahead);
        let seconds = now.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        jiff::Timestamp::from_second(i64::try_from(seconds).unwrap())
            .unwrap()
            .strftime("%Y-%m")
            .to_string()
    };
    let day = 24 * 60 * 60;
    let same = month(0) == month(2 * day);
    world
        .ahead
        .fetch_add(day, std::sync::atomic::Ordering::Relaxed);
    let second = budget_of(&world, &ask(&three, "d", &ana)).await;
    world
        .ahead
        .fetch_add(day, std::sync::atomic::Ordering::Relaxed);
    let third = budget_of(&world, &ask(&four, "e", &ana)).await;
    assert_eq!(second, None);
    assert_eq!(third.as_deref(), same.then_some("month of this person"));
}

async fn says(world: &World, who: &butler_hub::PersonToken, thread: Option<&MessageTs>) -> Value {
    let body = json!({"channel": world.channel(), "text": "please", "thread_ts": thread});
    world.person(who, "v1/messages", &body).await.1
}

#[tokio::test]
async fn open_threads_are_counted_per_person_and_per_repository() {
    let world = limited(Limits {
        threads_of_person: Some(1),
        threads_of_repo: Some(2),
        ..Limits::default()
    })
    .await;
    let root: MessageTs =
        serde_json::from_value(says(&world, &world.ana, None).await["ts"].clone()).unwrap();
    let refused = says(&world, &world.ana, None).await;
    assert_eq!(refused["error"], "too_many_own_threads");
    assert!(
        Refusal::TooManyOwnThreads
            .sentence()
            .contains("`hub.limits.openThreadsPerPerson`")
    );
    assert_eq!(
        says(&world, &world.ana, Some(&root)).await["ok"],
        true,
        "goes on"
    );
    assert_eq!(says(&world, &world.ben, None).await["ok"], true);
    let carl = butler_hub::Tokens::open(world.dir.path())
        .unwrap()
        .ensure_person("carl")
        .unwrap();
    assert_eq!(says(&world, &carl, None).await["error"], "too_many_threads");
    // What nobody spoke in for two days is not open any more.
    let days = 3 * 24 * 60 * 60;
    world
        .ahead
        .fetch_add(days, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(says(&world, &world.ana, None).await["ok"], true);
}

#[tokio::test]
async fn who_says_too_much_is_told_so_and_a_stop_always_counts() {
    let world = limited(Limits {
        messages: Some(3),
        ..Limits::default()
    })
    .await;
    let root = world.say("one", None).await;
    for _ in 0..2 {
        assert_eq!(says(&world, &world.ana, Some(&root)).await["ok"], true);
    }
    let body = json!({"channel": world.channel(), "text": "four", "thread_ts": root});
    let (status, answer) = world.person(&world.ana, "v1/messages", &body).await;
    assert_eq!(
        (status, &answer["error"]),
        (429, &json!("too_many_messages"))
    );
    assert_eq!(
        says(&world, &world.ben, Some(&root)).await["ok"],
        true,
        "is another"
    );
    world.say("stop", Some(&root)).await;
    let mut pm = world.socket(Role::Pm).await;
    let mut heard = Vec::new();
    while heard.last().is_none_or(|text| text != "stop") {
        heard.push(text_of(&take(&mut pm).await));
    }
    assert_eq!(heard, ["one", "please", "please", "please", "stop"]);
    let you = butler_hub::Tokens::open(world.dir.path())
        .unwrap()
        .ensure_person("you")
        .unwrap();
    let company = world.get(&you, "v1/company").await;
    let reached = json!([{"repo": company["repos"][0]["repo"], "limit": "messages of person",
        "times": 1}]);
    assert_eq!(company["reached"], reached);
}

#[tokio::test]
async fn files_of_a_repository_have_a_bound() {
    let world = limited(Limits {
        files_of_repo: Some(1_000),
        ..Limits::default()
    })
    .await;
    let pm = world.web(Role::Pm);
    let announce = |length: u64| json!({"filename": "a.txt", "length": length});
    let method = "files.getUploadURLExternal";
    pm.call(method, announce(900)).await.unwrap();
    let refused = pm.call(method, announce(200)).await.unwrap_err();
    assert_eq!(refused.refusal(), Some(Refusal::StorageLimitReached));
    assert!(
        Refusal::StorageLimitReached
            .sentence()
            .contains("`hub.limits.filesPerRepo`")
    );
    pm.call(method, announce(100)).await.unwrap();
}

#[tokio::test]
async fn a_token_that_calls_too_often_is_told_when_to_come_back_as_by_slack() {
    let world = limited(Limits {
        api_calls: Some(2),
        ..Limits::default()
    })
    .await;
    let call = async |role: Role| {
        let url = world.base.join("api/auth.test").unwrap();
        let token = world.repo.agents[&role].bot.expose().to_owned();
        world
            .http
            .post(url)
            .bearer_auth(token)
            .send()
            .await
            .unwrap()
    };
    for _ in 0..2 {
        assert_eq!(call(Role::Pm).await.status(), 200);
    }
    let refused = call(Role::Pm).await;
    assert_eq!(refused.status(), 429);
    let after: u64 = refused.headers()["retry-after"]
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    assert!((1..=31).contains(&after), "{after}");
    let body: Value = refused.json().await.unwrap();
    assert_eq!(body, json!({"ok": false, "error": "ratelimited"}));
    assert_eq!(
        call(Role::Coder).await.status(),
        200,
        "has a token of its own"
    );
}

/// In Slack it is said already: the team does not hear it, and its author is told once.
#[tokio::test]
async fn who_says_too_much_in_slack_is_told_once_and_the_team_hears_the_rest() {
    let mut world = SlackWorld::start().await;
    world.down().await;
    world.limits.messages = Some(2);
    world.up().await;
    let mut pm = world.socket(Role::Pm).await;
    let channel = world.channel();
    let root = world.slack.say(&world.ana, channel.as_str(), "one", None);
    for text in ["two", "three", "four", "stop"] {
        world
            .slack
            .say(&world.ana, channel.as_str(), text, Some(&root));
    }
    world
        .slack
        .say(&world.ben, channel.as_str(), "five", Some(&root));
    let mut heard = Vec::new();
    while heard.len() < 4 {
        heard.push(text_of(&take(&mut pm).await));
    }
    assert_eq!(heard, ["one", "two", "stop", "five"]);
    until("the word about it", || !world.slack.ephemerals().is_empty()).await;
    let told = world.slack.ephemerals();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["user"], world.ana.as_str());
    let words = told[0]["text"].as_str().unwrap();
    assert!(words.contains("hub.limits.messagesPerMinute"), "{words}");
}

#[tokio::test]
async fn metrics_are_for_who_has_the_token_and_open_only_where_nobody_else_comes() {
    let mut world = World::start().await;
    let status = async |world: &World, token: Option<&str>| {
        let request = world.http.get(world.base.join("metrics").unwrap());
        let request = match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(
        status(&world, None).await,
        200,
        "only this machine comes here"
    );
    world.down().await;
    world.public_url = Some("https://team.example.org/".parse().unwrap());
    world.up().await;
    assert_eq!(status(&world, None).await, 401, "a proxy lets others in");
    let person = world.ana.token.expose().to_owned();
    assert_eq!(status(&world, Some(&person)).await, 401);
    world.down().await;
    let token = ["metrics", "-", "token"].concat();
    world.operation.metrics_token = Some(butler_protocol::Secret::new(token.clone()));
    world.up().await;
    assert_eq!(status(&world, Some(&token)).await, 200);
    assert_eq!(status(&world, Some("metrics")).await, 401);
    world.down().await;
    world.public_url = None;
    world.up().await;
    assert_eq!(status(&world, None).await, 401, "who set a token wants it");
}
