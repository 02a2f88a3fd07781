//! Other machines at a hub: let in once by a code, with tokens of their own, cut off when
//! they are sent away; and everything that the hub says, encrypted.

use std::{
    process::{Command, Stdio},
    sync::atomic::Ordering,
    time::Duration,
};

use butler_hub::{Hub, HubError, HubTls, Tokens};
use butler_protocol::{Role, Secret};
use butler_slack::{Control, Ended, Hearing, SharedEpoch, Socket, Web, Workspace};
use butler_tls::Trust;
use serde_json::{Value, json};
use tokio::{io::AsyncReadExt, net::TcpStream, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::world::{PATIENCE, World, client, client_trusting, config};

const REPO: &str = "/home/ana/app";
const MINUTE: Duration = Duration::from_secs(60);

fn tokens(world: &World) -> Tokens {
    Tokens::open(world.dir.path()).unwrap()
}

fn invited(world: &World, roles: &[Role]) -> Secret {
    let mut tokens = tokens(world);
    tokens.invite_machine(REPO, roles, 15 * MINUTE).unwrap()
}

async fn join(world: &World, code: &str) -> (u16, Value) {
    let url = world.base.join("agent/v1/join").unwrap();
    let body = json!({"code": code, "name": "laptop"});
    let answer = world.http.post(url).json(&body).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

fn secret(joined: &Value, at: usize, kind: &str) -> Secret {
    Secret::new(joined["tokens"][at][kind].as_str().unwrap())
}

#[tokio::test]
async fn a_code_gives_one_machine_tokens_of_its_roles_and_no_other_ever_again() {
    let world = World::start().await;
    let code = invited(&world, &[Role::Coder, Role::Reviewer]);
    let (status, joined) = join(&world, code.expose()).await;
    assert_eq!(status, 200, "{joined}");
    let roles: Vec<&Value> = joined["tokens"].as_array().unwrap().iter().collect();
    assert_eq!(roles.len(), 2);
    assert_eq!(
        (&roles[0]["role"], &roles[1]["role"]),
        (&json!("coder"), &json!("reviewer"))
    );
    assert_eq!(joined["channel"], json!(world.channel()));
    for role in Role::ALL {
        let beside = &world.repo.agents[&role];
        assert!(
            !joined.to_string().contains(beside.bot.expose()),
            "its own, not those beside the hub"
        );
        assert!(!joined.to_string().contains(beside.app.expose()));
    }
    let control = |token| Control::new(world.workspace(), token, SharedEpoch::default()).unwrap();
    assert!(!control(secret(&joined, 0, "bot")).is_heard().await.unwrap());
    let opening = Socket::open(
        world.workspace(),
        secret(&joined, 0, "app"),
        CancellationToken::new(),
    );
    let socket = timeout(PATIENCE, opening).await.unwrap().unwrap();
    assert!(control(secret(&joined, 0, "bot")).is_heard().await.unwrap());
    assert!(!control(secret(&joined, 1, "bot")).is_heard().await.unwrap());
    // An agent of another machine is no person either.
    let me = world.http.get(world.base.join("v1/me").unwrap());
    let me = me
        .bearer_auth(secret(&joined, 0, "bot").expose())
        .send()
        .await
        .unwrap();
    assert_eq!(me.status().as_u16(), 403);
    drop(socket);

    let again = join(&world, code.expose()).await;
    assert_eq!((again.0, &again.1["error"]), (401, &json!("code_used")));
    let unknown = join(&world, "A").await;
    assert_eq!(
        (unknown.0, &unknown.1["error"]),
        (401, &json!("unknown_code"))
    );
    let late = invited(&world, &[Role::Coder]);
    world.ahead.store(16 * 60, Ordering::Relaxed);
    let late = join(&world, late.expose()).await;
    assert_eq!((late.0, &late.1["error"]), (401, &json!("code_expired")));
    world.ahead.store(0, Ordering::Relaxed);

    let back = invited(&world, &[Role::Coder]);
    let (machines, invites) = tokens(&world).machines().unwrap();
    assert_eq!((machines.len(), machines[0].name.as_str()), (1, "laptop"));
    for invite in &invites {
        tokens(&world).revoke_machine(&invite.id).unwrap();
    }
    let back = join(&world, back.expose()).await;
    assert_eq!((back.0, &back.1["error"]), (401, &json!("unknown_code")));
    let told: Vec<String> = tokens(&world)
        .audit()
        .unwrap()
        .into_iter()
        .map(|line| line.entry.did)
        .collect();
    for did in [
        "invited a machine",
        "let a machine in",
        "took an invitation back",
    ] {
        assert!(told.iter().any(|one| one == did), "{did}: {told:?}");
    }
}

#[tokio::test]
async fn a_machine_that_was_sent_away_is_cut_off_and_nobody_else_is() {
    let world = World::start().await;
    let code = invited(&world, &[Role::Coder]);
    let (_, joined) = join(&world, code.expose()).await;
    let there = |kind: &str| secret(&joined, 0, kind);
    let socket = Socket::start(&world.workspace(), there("app"), CancellationToken::new()).unwrap();
    let mut hearing = socket.hearing();
    let heard = |hearing: &Hearing| matches!(hearing, Hearing::Connected { .. });
    timeout(PATIENCE, hearing.wait_for(heard))
        .await
        .unwrap()
        .unwrap();
    let web = Web::new(world.workspace(), there("bot"), SharedEpoch::default()).unwrap();
    web.call("auth.test", json!({})).await.unwrap();
    let beside = world.socket(Role::Reviewer).await;

    let id = joined["machine"].as_str().unwrap();
    tokens(&world).revoke_machine(id).unwrap();
    let refused = web.call("auth.test", json!({})).await.unwrap_err();
    assert!(refused.to_string().contains("invalid_auth"), "{refused}");
    let over = |hearing: &Hearing| matches!(hearing, Hearing::Ended(_));
    let over = timeout(PATIENCE, hearing.wait_for(over))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        *over,
        Hearing::Ended(Ended::Refused("invalid_auth".to_owned()))
    );
    assert_eq!(beside.ended(), None);
    world
        .web(Role::Coder)
        .call("auth.test", json!({}))
        .await
        .unwrap();
    let gone = tokens(&world).revoke_machine(id).unwrap_err();
    assert!(gone.to_string().contains("not_found"), "{gone}");
}

#[tokio::test]
async fn only_whoever_shows_the_certificate_is_the_hub() {
    let mut world = World::start().await;
    world.down().await;
    world.tls = Some(HubTls::Own);
    world.up().await;
    let first = world.trust.clone();
    let token = || world.repo.agents[&Role::Coder].bot.clone();
    let call = async |trust: &Trust| {
        let base = world.base.clone();
        let workspace = Workspace {
            base,
            trust: trust.clone(),
        };
        let web = Web::new(&workspace, token(), SharedEpoch::default()).unwrap();
        web.with_patience(Duration::ZERO)
            .call("auth.test", json!({}))
            .await
    };
    let me = call(&first).await.unwrap();
    assert_eq!(me["url"], world.base.as_str());
    let open = world.app_call(Role::Coder, "apps.connections.open").await;
    assert!(
        open["url"].as_str().unwrap().starts_with("wss://"),
        "{open}"
    );
    // Neither the usual authorities nor another fingerprint will do, for calls or sockets.
    let other = Trust::Exactly("ab".repeat(32).parse().unwrap());
    for trust in [Trust::Usual, other] {
        call(&trust).await.unwrap_err();
        let base = world.base.clone();
        let app = world.repo.agents[&Role::Coder].app.clone();
        let socket =
            Socket::start(&Workspace { base, trust }, app, CancellationToken::new()).unwrap();
        let mut hearing = socket.hearing();
        let tried = |hearing: &Hearing| matches!(hearing, Hearing::Reconnecting { tries: 1.., .. });
        timeout(PATIENCE, hearing.wait_for(tried))
            .await
            .unwrap()
            .unwrap();
        socket.close().await;
    }
    let plain = format!("http://{}/healthz", world.base.authority());
    client().get(plain).send().await.unwrap_err();
    // It is made once: another start shows the same.
    world.down().await;
    world.up().await;
    assert_eq!(world.trust, first);
}

#[tokio::test]
async fn a_session_of_an_encrypted_page_is_shown_nowhere_else() {
    let mut world = World::start().await;
    world.down().await;
    world.tls = Some(HubTls::Own);
    world.up().await;
    let code = tokens(&world).login_link().unwrap();
    let login = world.base.join("login?here=1").unwrap();
    let form = [("code", code.expose()), ("here", "1")];
    let origin = format!("https://{}", world.base.authority());
    let entering = world.http.post(login).header("origin", origin).form(&form);
    let entered = entering.send().await.unwrap();
    let cookie = entered.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.contains("; Secure"), "{cookie}");
    let session = cookie.split(';').next().unwrap().to_owned();
    // Live news come over it, too.
    let events = world.http.get(world.base.join("v1/events").unwrap());
    let mut events = events.header("cookie", session).send().await.unwrap();
    assert_eq!(events.status().as_u16(), 200);
    world.say("hello", None).await;
    let news = timeout(PATIENCE, events.chunk()).await.unwrap().unwrap();
    assert!(news.is_some_and(|news| !news.is_empty()));
}

#[tokio::test]
async fn where_others_can_reach_it_a_hub_encrypts_or_does_not_start() {
    let dir = tempfile::tempdir().unwrap();
    let anywhere = ([0, 0, 0, 0], 0).into();
    let start = async |tls: Option<HubTls>| {
        let mut config = config(dir.path(), anywhere);
        config.reach.tls = tls;
        Hub::start(config, CancellationToken::new()).await
    };
    let refused = start(None).await.unwrap_err();
    assert!(matches!(refused, HubError::NotLoopback(_)), "{refused}");
    start(Some(HubTls::Own)).await.unwrap();
    let nothing = HubTls::Files {
        certificate: dir.path().join("missing.pem"),
        key: dir.path().join("missing.key"),
    };
    let dir = tempfile::tempdir().unwrap();
    let mut bad = config(dir.path(), ([127, 0, 0, 1], 0).into());
    bad.reach.tls = Some(nothing);
    let refused = Hub::start(bad, CancellationToken::new()).await.unwrap_err();
    assert!(refused.to_string().contains("missing.pem"), "{refused}");
}

#[tokio::test]
async fn a_certificate_of_a_companys_authority_is_trusted_by_its_file() {
    let authority_key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(Vec::<String>::new()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = params.self_signed(&authority_key).unwrap();
    let issuer = rcgen::Issuer::new(params, authority_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let leaf = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let leaf = leaf.signed_by(&key, &issuer).unwrap();
    let mut world = World::start().await;
    world.down().await;
    let file = |name: &str, text: &str| {
        let path = world.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let ca = file("ca.pem", &authority.pem());
    world.tls = Some(HubTls::Files {
        certificate: file("hub.pem", &leaf.pem()),
        key: file("hub.key", &key.serialize_pem()),
    });
    world.up().await;
    let ask = async |trust: Trust| {
        let client = client_trusting(&trust);
        client.get(world.base.join("healthz").unwrap()).send().await
    };
    assert_eq!(
        ask(Trust::WithFile(ca)).await.unwrap().status().as_u16(),
        200
    );
    ask(Trust::Usual).await.unwrap_err();
}

#[tokio::test]
async fn a_handshake_that_nobody_goes_on_with_is_given_up_like_a_head() {
    let mut world = World::start().await;
    world.down().await;
    world.tls = Some(HubTls::Own);
    world.up().await;
    let address = *world.base.socket_addrs(|| None).unwrap().first().unwrap();
    let mut silent = TcpStream::connect(address).await.unwrap();
    let mut said = Vec::new();
    let ended = timeout(PATIENCE, silent.read_to_end(&mut said)).await;
    ended.expect("the hub hangs up").unwrap();
    assert!(said.is_empty());
}

/// What a hub is asked in the other tests it answers encrypted as well.
#[test]
fn the_suite_holds_encrypted() {
    let ran = Command::new(std::env::current_exe().unwrap())
        .args([
            "control::",
            "decisions::",
            "people::",
            "posting::",
            "runs::",
        ])
        .args(["stopping::", "words::"])
        // A browser has no way to pin, and rightly refuses a certificate of our own.
        .args(["--skip", "seen_at_both_sizes"])
        .arg("--test-threads=2")
        .env("CODEBUTLER_TEST_TLS", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}");
    let summary = said.lines().find(|line| line.contains("test result: ok"));
    let passed = summary.and_then(|line| line.split_whitespace().nth(3)?.parse::<u32>().ok());
    assert!(passed.unwrap_or(0) >= 45, "{said}");
}
