//! An owner that was stopped or cut off and comes back after a takeover: what it writes is
//! refused, and what it had begun to post stands in Slack once.

use std::time::Duration;

use butler_hub::RepoTokens;
use butler_protocol::{Role, Secret};
use butler_slack::{Hearing, SharedEpoch, Socket, Web};
use butler_testkit::SlackStandIn;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{
    history::{History, judge},
    pair::{NAMES, Pair},
    slack_world::{CHANNEL, REPO, post, until},
    world::{PATIENCE, client, take, text_of},
};

/// Two hubs before Slack, and which of them is the owner.
async fn start() -> Option<(Pair, RepoTokens, usize)> {
    client();
    let slack = SlackStandIn::start().await;
    let mut pair = Pair::prepare(Some(slack), [0, 0]).await?;
    for at in 0..2 {
        pair.up(at).await;
    }
    let repo = pair.tokens().ensure_repo(REPO, CHANNEL).unwrap();
    let owner = pair.owner(None).await;
    Some((pair, repo, owner))
}

fn slack(pair: &Pair) -> &SlackStandIn {
    pair.slack.as_ref().unwrap()
}

fn web(base: &Url, repo: &RepoTokens) -> Web {
    let token = repo.agents[&Role::Pm].bot.clone();
    Web::new(base, token, SharedEpoch::default()).unwrap()
}

/// Judged as every history of a pair is.
async fn nothing_is_wrong(pair: &Pair) {
    let history = History {
        leases: pair.leases().await,
        acts: pair.acts(),
        strays: pair.strays().await,
        ..History::default()
    };
    let wrong = judge(&history);
    let logs: Vec<String> = pair.hubs.iter().map(crate::pair::PairedHub::log).collect();
    assert!(wrong.is_empty(), "{wrong:#?}\n{}", logs.join("\n---\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_owner_listens_and_posts_whichever_hub_was_asked() {
    let Some((pair, repo, owner)) = start().await else {
        return;
    };
    assert_eq!(slack(&pair).connections(), 1);
    for at in 0..2 {
        let web = web(&pair.hubs[at].base(), &repo);
        for number in 0..3 {
            let text = format!("{at} {number}");
            let one = post(&repo.channel, Role::Pm, &text, None, &text);
            let posted = web.post(&one).await.unwrap();
            // The same key has the same answer, from any hub.
            assert_eq!(web.post(&one).await.unwrap().ts, posted.ts);
        }
        let gone = post(&repo.channel, Role::Pm, "x", Some("1.000001"), "gone");
        assert!(web.post(&gone).await.is_err());
    }
    let all = slack(&pair).messages(repo.channel.as_str());
    assert_eq!(all.len(), 6, "{all:?}");
    assert_eq!(slack(&pair).most_open(), 1);
    let acts = pair.acts();
    assert!(acts.iter().all(|act| act.hub == NAMES[owner]), "{acts:?}");
    nothing_is_wrong(&pair).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_owner_wrote_and_could_not_send_is_refused_after_a_takeover() {
    let Some((pair, repo, owner)) = start().await else {
        return;
    };
    let ana = slack(&pair).person("ana");
    // The owner's words to the database are under way for longer than its lease.
    pair.hubs[owner].database.hold();
    slack(&pair).say(&ana, repo.channel.as_str(), "late", None);
    let next = pair.owner(Some(owner)).await;
    assert_ne!(next, owner);
    pair.hubs[owner].database.heal();
    let healthy = async {
        let url = pair.hubs[owner].base().join("healthz").unwrap();
        while !client()
            .get(url.clone())
            .send()
            .await
            .is_ok_and(|answer| answer.status() == 200)
        {
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(PATIENCE, healthy).await.unwrap();
    assert!(pair.hubs[owner].log().contains("not the owner any more"));
    // The one that followed has it all the same, from Slack's history.
    let web = web(&pair.hubs[next].base(), &repo);
    let mirrored = async {
        loop {
            let args = serde_json::json!({"channel": repo.channel});
            let page = web.call("conversations.history", args).await.unwrap();
            if page.to_string().contains("late") {
                return;
            }
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(PATIENCE, mirrored).await.unwrap();
    nothing_is_wrong(&pair).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_post_of_a_stopped_owner_stands_in_slack_once() {
    let Some((pair, repo, owner)) = start().await else {
        return;
    };
    // Slack has the post, and the owner is stopped before it hears so.
    slack(&pair).slow_answers(Duration::from_secs(1));
    let web = web(&pair.base(), &repo);
    let one = post(&repo.channel, Role::Pm, "once", None, "once");
    let posting = tokio::spawn(async move { web.post(&one).await });
    let there = || slack(&pair).messages(repo.channel.as_str()).len();
    until("the post", || there() == 1).await;
    pair.hubs[owner].signal("-STOP");
    slack(&pair).slow_answers(Duration::ZERO);
    let next = pair.owner(Some(owner)).await;
    // Whoever asks the other one meanwhile gets the post that is there.
    let other = self::web(&pair.hubs[next].base(), &repo);
    let again = post(&repo.channel, Role::Pm, "once", None, "once");
    let answered = timeout(PATIENCE, other.post(&again)).await.unwrap();
    pair.hubs[owner].signal("-CONT");
    let first = timeout(PATIENCE * 2, posting).await.unwrap().unwrap();
    assert_eq!(answered.unwrap().ts, first.unwrap().ts);
    assert_eq!(there(), 1);
    nothing_is_wrong(&pair).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hub_that_is_cut_off_sends_everybody_to_the_other() {
    let Some(mut pair) = Pair::prepare(None, [0, 0]).await else {
        return;
    };
    for at in 0..2 {
        pair.up(at).await;
    }
    let repo = pair.tokens().ensure_repo("app", "app").unwrap();
    let ana = pair.tokens().ensure_person("ana").unwrap();
    let asks = |at: usize, token: &Secret| {
        let url = pair.hubs[at].base().join("v1/me").unwrap();
        client().get(url).bearer_auth(token.expose()).send()
    };
    assert_eq!(asks(0, &ana.token).await.unwrap().status(), 200);
    let app = |role: Role| repo.agents[&role].app.clone();
    // One is at the hub itself and goes nowhere; others come by the balancer, two of them
    // to each hub.
    let mut sockets = Vec::new();
    for role in [Role::Pm, Role::Coder, Role::Lead, Role::Reviewer] {
        let base = pair.base();
        if role == Role::Lead {
            let once = client().get(base.join("healthz").unwrap()).send();
            assert_eq!(once.await.unwrap().status(), 200);
        }
        let opening = Socket::open(&base, app(role), CancellationToken::new());
        sockets.push(timeout(PATIENCE, opening).await.unwrap().unwrap());
    }
    let here = pair.hubs[0].base();
    let own = Socket::open(&here, app(Role::Artist), CancellationToken::new());
    let own = timeout(PATIENCE, own).await.unwrap().unwrap();

    // The database says nothing any more, not even that it is away.
    pair.hubs[0].database.hold();
    let refused = async {
        loop {
            if let Ok(answer) = asks(0, &ana.token).await
                && answer.status() == 503
            {
                return answer;
            }
        }
    };
    let refused = timeout(PATIENCE, refused).await.unwrap();
    assert_eq!(refused.headers()["connection"], "close");
    let mut hearing = own.hearing();
    let dropped = hearing.wait_for(|now| matches!(now, Hearing::Reconnecting { .. }));
    timeout(PATIENCE, dropped).await.unwrap().unwrap();
    // Whoever watches it hears what is wrong: a hub that only refused would count as one
    // that is down.
    let watch = |path: &str| {
        let url = pair.hubs[0].base().join(path).unwrap();
        client().get(url).send()
    };
    let metrics = watch("metrics").await.unwrap();
    assert_eq!(metrics.status(), 200);
    let metrics = metrics.text().await.unwrap();
    assert!(
        metrics.contains("\ncodebutler_store_writable 0\n"),
        "{metrics}"
    );
    assert_eq!(watch("readyz/store").await.unwrap().status(), 503);
    let said = client()
        .post(pair.hubs[1].base().join("v1/messages").unwrap())
        .bearer_auth(ana.token.expose())
        .json(&serde_json::json!({"channel": repo.channel, "text": "hello"}));
    assert_eq!(said.send().await.unwrap().status(), 200);
    for socket in &mut sockets {
        assert_eq!(text_of(&take(socket).await), "hello");
    }
    pair.hubs[0].database.heal();
    let back = async {
        while asks(0, &ana.token)
            .await
            .is_ok_and(|now| now.status() != 200)
        {}
    };
    timeout(PATIENCE, back).await.unwrap();
}
