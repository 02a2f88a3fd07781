//! People and strangers in real Slack: whose words decide, which bots are
//! heard, where people write, and repos that come while the hub runs.

use std::time::Duration;

use butler_hub::{HubError, RepoChannel, RepoTokens, Tokens};
use butler_protocol::{Choice, DecisionKind, Role, StampKind, UserId};
use butler_slack::{Envelope, Socket, Web};
use butler_testkit::{Disconnect, SlackStandIn};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::{
    relay::{ask, decided},
    slack_world::{SlackWorld, until},
    world::{self, PATIENCE, take, text_of},
};

/// The first event with this text; what was not acknowledged comes again first.
async fn hear(socket: &mut Socket, text: &str) -> Envelope {
    loop {
        let heard = take(socket).await;
        if text_of(&heard) == text {
            return heard;
        }
    }
}

#[tokio::test]
async fn a_bare_word_in_slack_decides_like_a_click() {
    let mut world = SlackWorld::down_with(SlackStandIn::start().await);
    world.approvers = vec![UserId::new(&world.ana)];
    world.up().await;
    let mut coder = world.socket(Role::Coder).await;
    let root = world.say("build it", None);
    take(&mut coder).await;
    ask(&world, &root, "plan01", DecisionKind::Plan).await;
    take(&mut coder).await;
    world.say("yes, but smaller", Some(&root));
    let heard = take(&mut coder).await.stamp.unwrap();
    assert_eq!(heard.kind, StampKind::Message);
    assert_eq!(decided(&world, "plan01").await, None);
    world.say("Dale!", Some(&root));
    let heard = take(&mut coder).await.stamp.unwrap();
    assert_eq!(heard.kind, StampKind::Decision);
    let word = take(&mut coder).await;
    assert_eq!(text_of(&word), "Dale!");
    assert_eq!(
        word.stamp.unwrap().kind,
        StampKind::Other,
        "no model reads it"
    );
    let by_ana = (Choice::Approve, UserId::new(&world.ana));
    assert_eq!(decided(&world, "plan01").await, Some(by_ana));

    // Merging is for approvers: ben's word stays a word.
    ask(&world, &root, "merge1", DecisionKind::Merge).await;
    take(&mut coder).await;
    let channel = world.channel();
    let (slack, ben) = (&world.slack, &world.ben);
    slack.say(ben, channel.as_str(), "merge", Some(&root));
    assert_eq!(
        take(&mut coder).await.stamp.unwrap().kind,
        StampKind::Message
    );
    assert_eq!(decided(&world, "merge1").await, None);
    world.say("merge", Some(&root));
    assert_eq!(
        take(&mut coder).await.stamp.unwrap().kind,
        StampKind::Decision
    );
    let by_ana = (Choice::Merge, UserId::new(&world.ana));
    assert_eq!(decided(&world, "merge1").await, Some(by_ana));
}

#[tokio::test]
async fn a_word_said_before_the_card_came_does_not_answer_it() {
    let mut world = SlackWorld::start().await;
    let mut coder = world.socket(Role::Coder).await;
    let root = world.say("build it", None);
    take(&mut coder).await;
    // Slack keeps the word to itself until the card is there and the hub asks.
    world.slack.mute(true);
    world.say("ok", Some(&root));
    ask(&world, &root, "plan01", DecisionKind::Plan).await;
    take(&mut coder).await;
    world.slack.mute(false);
    drop(coder);
    world.down().await;
    world.up().await;
    let mut coder = world.socket(Role::Coder).await;
    let late = hear(&mut coder, "ok").await;
    assert_eq!(late.stamp.unwrap().kind, StampKind::Message);
    assert_eq!(decided(&world, "plan01").await, None);
}

#[tokio::test]
async fn a_word_that_is_quicker_than_the_answer_to_the_post_still_counts() {
    let world = SlackWorld::start().await;
    let root = world.say("build it", None);
    let mut coder = world.socket(Role::Coder).await;
    take(&mut coder).await;
    world.slack.slow_answers(Duration::from_millis(700));
    let quick = async {
        until("the card is in Slack", || {
            let all = world.slack.messages(world.channel().as_str());
            all.iter().any(|one| one["thread_ts"] == root.as_str())
        })
        .await;
        world.say("yes", Some(&root));
    };
    tokio::join!(ask(&world, &root, "plan01", DecisionKind::Plan), quick);
    take(&mut coder).await;
    let heard = take(&mut coder).await.stamp.unwrap();
    assert_eq!(heard.kind, StampKind::Decision);
    assert_eq!(decided(&world, "plan01").await.unwrap().0, Choice::Approve);
}

/// A thread in which something newer is known is looked at all the same.
#[tokio::test]
async fn a_reply_that_was_missed_arrives_although_a_role_spoke_after_it() {
    let world = SlackWorld::start().await;
    let mut coder = world.socket(Role::Coder).await;
    let root = world.say("build it", None);
    take(&mut coder).await;
    world.slack.mute(true);
    world.say("in blue, please", Some(&root));
    let post = world.post(Role::Pm, "on it", Some(&root), "k1");
    world.web(Role::Pm).post(&post).await.unwrap();
    assert_eq!(text_of(&take(&mut coder).await), "on it");
    world.slack.mute(false);
    world.slack.disconnect(Disconnect::Abrupt);
    assert_eq!(text_of(&take(&mut coder).await), "in blue, please");
    world.say("thanks", Some(&root));
    assert_eq!(text_of(&take(&mut coder).await), "thanks", "and once");
}

#[tokio::test]
async fn a_bot_that_the_repo_allows_is_heard_and_decides_nothing() {
    let mut world = SlackWorld::start().await;
    let channel = world.channel();
    let mut coder = world.socket(Role::Coder).await;
    let ignored = world
        .slack
        .foreign_bot_says(channel.as_str(), "nightly failed", None);
    world.say("next", None);
    assert_eq!(text_of(&take(&mut coder).await), "next", "not {ignored}");
    drop(coder);
    world.down().await;
    world.bots = vec!["B0FOREIGN".to_owned()];
    world.up().await;
    let root = world
        .slack
        .foreign_bot_says(channel.as_str(), "the nightly build failed", None);
    let mut coder = world.socket(Role::Coder).await;
    let heard = hear(&mut coder, "the nightly build failed").await;
    assert_eq!(heard.stamp.unwrap().kind, StampKind::Message);
    ask(&world, &root, "plan01", DecisionKind::Plan).await;
    take(&mut coder).await;
    let say = |text: &str| {
        let (slack, place) = (&world.slack, channel.as_str());
        slack.foreign_bot_says(place, text, Some(&root));
    };
    say("yes");
    assert_eq!(text_of(&take(&mut coder).await), "yes");
    say("approve plan01");
    assert_eq!(text_of(&take(&mut coder).await), "approve plan01");
    assert_eq!(decided(&world, "plan01").await, None);
}

#[tokio::test]
async fn the_page_sends_people_to_slack() {
    let world = SlackWorld::start().await;
    let mut coder = world.socket(Role::Coder).await;
    let root = world.say("build it", None);
    take(&mut coder).await;
    let card = ask(&world, &root, "plan01", DecisionKind::Plan).await;
    let (place, channel) = (world.channel(), world.channel());
    world.slack.react(&world.ben, place.as_str(), &card, "eyes");
    take(&mut coder).await;
    take(&mut coder).await;
    let mut tokens = Tokens::open(world.dir.path()).unwrap();
    let code = tokens.login_link().unwrap();
    let origin = world.base.as_str().trim_end_matches('/').to_owned();
    let login = world::client()
        .post(world.base.join("login").unwrap())
        .header("origin", origin)
        .form(&[("code", code.expose())])
        .send()
        .await
        .unwrap();
    let cookie = login.headers()["set-cookie"].to_str().unwrap().to_owned();
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let slack = world.slack.base();
    let digits = root.replace('.', "");
    for (path, link) in [
        (
            format!("c/{channel}"),
            format!("{slack}archives/{channel}\""),
        ),
        (
            format!("c/{channel}/{root}"),
            format!("{slack}archives/{channel}/p{digits}\""),
        ),
    ] {
        let url = world.base.join(&path).unwrap();
        let page = world::client().get(url).header("cookie", &cookie);
        let page = page.send().await.unwrap().text().await.unwrap();
        assert!(page.contains("build it"), "{page}");
        assert!(
            page.contains("write, react and press buttons there"),
            "{page}"
        );
        assert!(page.contains(&link), "{link} in {page}");
        for form in ["/say", "/press", "/react", "/stop"] {
            assert!(!page.contains(&format!("{form}\"")), "{form} in {page}");
        }
    }
}

fn wanted(repo: &str, name: &str) -> RepoChannel {
    RepoChannel {
        repo: repo.to_owned(),
        id: None,
        name: name.to_owned(),
        bots: Vec::new(),
    }
}

/// The tokens of a repo as soon as it has a channel, or why it has none.
async fn settled(world: &SlackWorld, repo: &str, name: &str) -> Result<RepoTokens, HubError> {
    let mut tokens = Tokens::open(world.dir.path()).unwrap();
    tokens.request_channel(&wanted(repo, name)).unwrap();
    let waiting = async {
        loop {
            match tokens.ensure_repo(repo, name) {
                Err(HubError::NoChannel(_)) => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                answer => return answer,
            }
        }
    };
    timeout(PATIENCE, waiting)
        .await
        .expect("an answer of the hub")
}

#[tokio::test]
async fn another_repo_gets_its_channel_while_the_hub_runs() {
    let mut world = SlackWorld::start().await;
    let other = settled(&world, "site", "codebutler-site").await.unwrap();
    assert_ne!(other.channel, world.channel());
    assert_eq!(
        world.slack.channel_named("codebutler-site").as_deref(),
        Some(other.channel.as_str())
    );
    let token = other.agents[&Role::Pm].app.clone();
    let opening = Socket::open(&world.base, token, CancellationToken::new());
    let mut pm = timeout(PATIENCE, opening).await.unwrap().unwrap();
    let mut first = world.socket(Role::Pm).await;
    let place = other.channel.as_str();
    world.slack.say(&world.ana, place, "for the site", None);
    assert_eq!(text_of(&take(&mut pm).await), "for the site");
    world.say("for the app", None);
    assert_eq!(text_of(&take(&mut first).await), "for the app");
    let web = Web::new(
        &world.base,
        other.agents[&Role::Pm].bot.clone(),
        butler_slack::SharedEpoch::default(),
    )
    .unwrap();
    let post = crate::slack_world::post(&other.channel, Role::Pm, "on it", None, "k1");
    web.post(&post).await.unwrap();
    let theirs = world.slack.messages(place);
    assert!(theirs.iter().any(|one| one["text"] == "on it"));
    let strange = world.post(Role::Pm, "not mine", None, "k2");
    let refused = web.post(&strange).await.unwrap_err();
    assert_eq!(refused.code(), Some("channel_not_found"));

    // It is remembered: a hub that is started for the first repo serves both.
    drop((pm, first));
    world.down().await;
    world.slack.say(&world.ana, place, "while away", None);
    world.up().await;
    let token = other.agents[&Role::Pm].app.clone();
    let opening = Socket::open(&world.base, token, CancellationToken::new());
    let mut pm = timeout(PATIENCE, opening).await.unwrap().unwrap();
    hear(&mut pm, "while away").await;
}

#[tokio::test]
async fn a_channel_that_cannot_be_had_is_said_and_harms_nobody_else() {
    let mut world = SlackWorld::start().await;
    let _private = world.slack.private_channel("codebutler-hidden");
    let refused = settled(&world, "hidden", "codebutler-hidden").await;
    let words = refused.unwrap_err().to_string();
    assert!(words.contains("/invite @codebutler"), "{words}");
    world.down().await;
    world.up().await;
    let mut coder = world.socket(Role::Coder).await;
    world.say("still here", None);
    assert_eq!(text_of(&take(&mut coder).await), "still here");
}

/// What people do elsewhere than in the channel reaches the team as their words.
#[tokio::test]
async fn commands_and_direct_messages_are_answered() {
    let world = SlackWorld::start().await;
    let mut pm = world.socket(Role::Pm).await;
    let channel = world.channel();
    let command = |command: &str, text: &str| {
        assert!(
            world
                .slack
                .command(&world.ana, channel.as_str(), command, text)
        );
    };
    let answer = |number: usize| {
        let text = &world.slack.responses()[number]["text"];
        text.as_str().unwrap().to_owned()
    };
    command("/pm", "add a login page");
    let heard = take(&mut pm).await;
    assert_eq!(text_of(&heard), "@codebutler.pm add a login page");
    let stamp = heard.stamp.clone().unwrap();
    assert_eq!((stamp.from, stamp.to), (None, vec![Role::Pm]));
    assert_eq!(heard.payload["event"]["user"], world.ana.as_str());
    until("the asker is told", || world.slack.responses().len() == 1).await;
    assert!(answer(0).contains("The team has it"), "{}", answer(0));
    let shown = world.slack.messages(channel.as_str());
    let shown = shown.last().unwrap()["text"].as_str().unwrap().to_owned();
    assert!(shown.contains(&format!("<@{}> says", world.ana)), "{shown}");

    for (number, (text, part)) in [
        ("help", "/codebutler status"),
        ("status", "Nothing waits for you"),
        ("cost", "spent today"),
        ("stop", "Nothing is at work"),
    ]
    .into_iter()
    .enumerate()
    {
        command("/codebutler", text);
        let so_far = number + 2;
        until("it is answered", || world.slack.responses().len() == so_far).await;
        let said = answer(so_far - 1);
        assert!(said.contains(part), "{text}: {said}");
        assert_eq!(
            world.slack.responses()[so_far - 1]["response_type"],
            "ephemeral"
        );
    }

    let direct = world.slack.say_directly(&world.ben, "what is going on?");
    let heard = take(&mut pm).await;
    assert_eq!(text_of(&heard), "@codebutler.pm what is going on?");
    assert_eq!(heard.payload["event"]["user"], world.ben.as_str());
    until("ben is told where", || {
        world.slack.messages(&direct).len() == 2
    })
    .await;
    let told = world.slack.messages(&direct)[1]["text"].to_string();
    assert!(told.contains("archives"), "{told}");

    // What is done with a message, and what waits for whoever opens the home tab.
    let ts = world.say("the login page is slow", None);
    take(&mut pm).await;
    for (callback, words) in [
        ("ask_about_message", "What do you say to this?"),
        ("make_item", "roadmap-add: the login page is slow"),
    ] {
        assert!(
            world
                .slack
                .shortcut(&world.ben, channel.as_str(), &ts, callback)
        );
        let heard = text_of(&take(&mut pm).await);
        assert!(
            heard.contains(words) && heard.contains("is slow"),
            "{heard}"
        );
    }
    let card = crate::relay::ask(&world, &ts, "p1", DecisionKind::Plan).await;
    world.slack.open_home(&world.ana, channel.as_str());
    until("the home tab is drawn", || {
        world.slack.home(&world.ana).is_some()
    })
    .await;
    let home = world.slack.home(&world.ana).unwrap().to_string();
    assert!(
        home.contains("Plan") && home.contains(&card.replace('.', "")),
        "{home}"
    );
}

/// Guests and people of other workspaces are told politely that the team does not work
/// for them; their words and clicks reach nobody.
#[tokio::test]
async fn guests_and_strangers_are_refused_politely() {
    let world = SlackWorld::start().await;
    let mut pm = world.socket(Role::Pm).await;
    let channel = world.channel();
    let root = world.say("@codebutler.pm begin", None);
    take(&mut pm).await;
    for (number, name) in ["guest-gus", "stranger-sue"].into_iter().enumerate() {
        let outsider = world.slack.person(name);
        world.slack.say(
            &outsider,
            channel.as_str(),
            "@codebutler.pm do this",
            Some(&root),
        );
        until("they are told", || {
            world.slack.ephemerals().len() == number + 1
        })
        .await;
        let told = world.slack.ephemerals()[number].clone();
        assert_eq!(told["user"], outsider.as_str());
        assert!(
            told["text"]
                .as_str()
                .unwrap()
                .contains("members of this workspace")
        );
        assert!(
            world
                .slack
                .command(&outsider, channel.as_str(), "/pm", "do that")
        );
        until("the command is answered", || {
            world.slack.responses().len() == number + 1
        })
        .await;
        let said = world.slack.responses()[number]["text"].to_string();
        assert!(said.contains("members of this workspace"), "{said}");
    }
    world.say("@codebutler.pm go on", Some(&root));
    assert_eq!(
        text_of(&take(&mut pm).await),
        "@codebutler.pm go on".replace("@codebutler.pm", "@<http://codebutler.pm|codebutler.pm>")
    );
}

/// What agents and bots get through the relay has Slack's ids, none of the built-in
/// workspace's.
#[tokio::test]
async fn envelopes_have_the_ids_of_slack() {
    let world = SlackWorld::start().await;
    let mut coder = world.socket(Role::Coder).await;
    let root = world.say("hello", None);
    let said = take(&mut coder).await.payload;
    assert_eq!(said["team_id"], "T0STANDIN");
    assert_eq!(said["authorizations"][0]["team_id"], "T0STANDIN");
    assert_eq!(said["authorizations"][0]["user_id"], "U0STANDIN");
    let card = crate::relay::ask(&world, &root, "p1", DecisionKind::Plan).await;
    take(&mut coder).await;
    let channel = world.channel();
    let approve = "cb:p1:approve";
    assert!(
        world
            .slack
            .click(&world.ana, channel.as_str(), &card, approve)
    );
    let clicked = take(&mut coder).await.payload;
    assert_eq!(clicked["team"]["id"], "T0STANDIN");
    for text in [said.to_string(), clicked.to_string()] {
        assert!(
            !text.contains("0BUTLER") && !text.contains("T0WORKSHOP"),
            "{text}"
        );
    }
}
