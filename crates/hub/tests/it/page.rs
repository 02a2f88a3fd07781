//! The page as a browser meets it.

use butler_hub::Tokens;
use butler_protocol::{DecisionKind, RequestId, Role};
use reqwest::{StatusCode, header};
use serde_json::json;
use url::Url;

use crate::world::{World, card, subject};

/// A browser: a cookie and an origin.
pub(crate) struct Browser<'a> {
    world: &'a World,
    cookie: String,
}

impl<'a> Browser<'a> {
    pub(crate) async fn login(world: &'a World) -> Self {
        let code = Tokens::open(world.dir.path())
            .unwrap()
            .login_link()
            .unwrap();
        let link = format!("login?code={}", code.expose());
        // A preview's GET does not use the code up.
        for _ in 0..2 {
            let shown = world
                .http
                .get(world.base.join(&link).unwrap())
                .send()
                .await
                .unwrap();
            assert_eq!(shown.status(), StatusCode::OK);
        }
        let form = [("code", code.expose())];
        let foreign = world
            .http
            .post(world.base.join("login").unwrap())
            .header(header::ORIGIN, "http://evil.example")
            .form(&form);
        assert_eq!(
            foreign.send().await.unwrap().status(),
            StatusCode::FORBIDDEN
        );
        let enter = || {
            world
                .http
                .post(world.base.join("login").unwrap())
                .header(header::ORIGIN, origin(world))
                .form(&form)
                .send()
        };
        let entered = enter().await.unwrap();
        assert_eq!(entered.status(), StatusCode::SEE_OTHER);
        let cookie = entered.headers()[header::SET_COOKIE]
            .to_str()
            .unwrap()
            .to_owned();
        assert!(
            cookie.contains("HttpOnly") && cookie.contains("SameSite"),
            "{cookie}"
        );
        assert_eq!(enter().await.unwrap().status(), StatusCode::UNAUTHORIZED);
        Self {
            world,
            cookie: cookie.split(';').next().unwrap().to_owned(),
        }
    }

    /// Somebody who was sent a link.
    pub(crate) async fn enter(world: &'a World, code: &str) -> Self {
        let entered = world
            .http
            .post(world.base.join("login").unwrap())
            .header(header::ORIGIN, origin(world))
            .form(&[("code", code)]);
        let entered = entered.send().await.unwrap();
        assert_eq!(entered.status(), StatusCode::SEE_OTHER);
        let cookie = entered.headers()[header::SET_COOKIE].to_str().unwrap();
        Self {
            world,
            cookie: cookie.split(';').next().unwrap().to_owned(),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> String {
        let (status, text) = self.look(path).await;
        assert_eq!(status, StatusCode::OK, "{path}");
        text
    }

    /// What is shown, and with which status.
    pub(crate) async fn look(&self, path: &str) -> (StatusCode, String) {
        let url = self.world.base.join(path).unwrap();
        let request = self
            .world
            .http
            .get(url)
            .header(header::COOKIE, &self.cookie);
        let answer = request.send().await.unwrap();
        (answer.status(), answer.text().await.unwrap())
    }

    pub(crate) async fn submit(
        &self,
        path: &str,
        form: &[(&str, &str)],
        origin: &str,
    ) -> StatusCode {
        self.send(path, form, origin).await.0
    }

    /// The same, with what is shown then.
    pub(crate) async fn send(
        &self,
        path: &str,
        form: &[(&str, &str)],
        origin: &str,
    ) -> (StatusCode, String) {
        let url = self.world.base.join(path).unwrap();
        let request = self
            .world
            .http
            .post(url)
            .header(header::COOKIE, &self.cookie)
            .header(header::ORIGIN, origin)
            .form(form);
        let answer = request.send().await.unwrap();
        (answer.status(), answer.text().await.unwrap())
    }
}

pub(crate) fn origin(world: &World) -> String {
    world.base.as_str().trim_end_matches('/').to_owned()
}

#[tokio::test]
async fn a_person_logs_in_once_says_something_and_presses_a_button() {
    let world = World::start().await;
    let browser = Browser::login(&world).await;
    let channel = world.channel();
    assert!(
        browser
            .get(&format!("c/{channel}"))
            .await
            .contains("Nothing here yet")
    );
    let form = [("text", "a *bold* request\r\nin two lines")];
    let status = browser
        .submit(&format!("c/{channel}/say"), &form, &origin(&world))
        .await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    let shown = browser.get(&format!("c/{channel}/live")).await;
    assert!(
        shown.contains("a <strong>bold</strong> request<br>in two lines"),
        "{shown}"
    );
    assert!(shown.contains("<strong>you</strong>"), "{shown}");

    let history = world
        .get(&world.ana, &format!("v1/channels/{channel}/messages"))
        .await;
    let root = history["messages"][0]["ts"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let request = RequestId::new("plan01");
    let mut post = world.post("", Some(&root), "card");
    post.username = Some("codebutler.pm".into());
    let plan = subject(DecisionKind::Plan, "The plan");
    card(&world.control(Role::Pm), &mut post, "plan01", &plan).await;
    let posted = world.web(Role::Pm).post(&post).await.unwrap();
    let thread = format!("c/{channel}/{root}");
    let shown = browser.get(&thread).await;
    assert!(
        shown.contains("data-action=\"cb:plan01:approve\""),
        "{shown}"
    );
    assert!(shown.contains("codebutler.pm") && shown.contains("The plan is waiting for approval"));

    let press = [
        ("ts", posted.ts.as_str()),
        ("root", root.as_str()),
        ("press", "[\"cb:plan01\",\"cb:plan01:approve\"]"),
    ];
    let path = format!("c/{channel}/press");
    let foreign = browser.submit(&path, &press, "http://evil.example").await;
    assert_eq!(foreign, StatusCode::FORBIDDEN);
    assert_eq!(
        browser.submit(&path, &press, &origin(&world)).await,
        StatusCode::SEE_OTHER
    );
    let decided = world
        .control(Role::Pm)
        .decision(&request)
        .await
        .unwrap()
        .decided;
    assert!(decided.is_some());
    let shown = browser.get(&format!("{thread}/live")).await;
    assert!(!shown.contains("data-action"), "{shown}");
    // Said once, from the record; the hub's own words on the card are left out.
    assert_eq!(shown.matches("Approved by you").count(), 1, "{shown}");
}

#[tokio::test]
async fn what_people_and_models_write_is_inert() {
    let world = World::start().await;
    let probe = "<img src=x onerror=alert(1)>\"'><script>alert(1)</script>";
    let root = world.say(probe, None).await;
    let mut post = world.post(probe, Some(&root), "k");
    post.username = Some(probe.into());
    post.blocks = Some(serde_json::json!([
        {"type": "section", "text": {"type": "mrkdwn", "text": probe}},
        {"type": "markdown", "text": probe}]));
    world.web(Role::Coder).post(&post).await.unwrap();
    let browser = Browser::login(&world).await;
    for path in [
        format!("c/{}", world.channel()),
        format!("c/{}/{root}", world.channel()),
    ] {
        let shown = browser.get(&path).await;
        assert!(
            !shown.contains("<img") && !shown.contains("<script>"),
            "{shown}"
        );
        assert!(shown.contains("&lt;img src=x"), "{shown}");
    }
}

#[tokio::test]
async fn strangers_and_foreign_names_stay_outside() {
    let world = World::start().await;
    let get = |path: &str| world.http.get(world.base.join(path).unwrap());
    let home = get("").send().await.unwrap();
    assert_eq!(home.headers()[header::LOCATION], "/login");
    let channel = get(&format!("c/{}", world.channel())).send().await.unwrap();
    assert_eq!(channel.headers()[header::LOCATION], "/login");
    for path in ["", "v1/channels", "login", "metrics"] {
        let foreign = get(path).header(header::HOST, "evil.example:7878");
        assert_eq!(foreign.send().await.unwrap().status(), 421, "{path}");
    }
    let login = get("login").send().await.unwrap();
    let policy = login.headers()["content-security-policy"].to_str().unwrap();
    assert!(
        policy.contains("default-src 'none'") && !policy.contains("unsafe"),
        "{policy}"
    );
    // With `no-referrer` browsers hide the origin of our own forms, and the
    // origin check would lock everybody out.
    assert_eq!(login.headers()["referrer-policy"], "same-origin");
    assert!(!login.text().await.unwrap().contains(" style="));
    assert_eq!(get("healthz").send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_reader_is_told_live_and_can_resume() {
    use futures_util::StreamExt;
    let world = World::start().await;
    world.say("first", None).await;
    let open = |path: &str| {
        world
            .http
            .get(world.base.join(path).unwrap())
            .bearer_auth(world.ana.token.expose())
            .send()
    };
    let stream = open("v1/events?after=0").await.unwrap();
    assert_eq!(stream.headers()[header::CONTENT_TYPE], "text/event-stream");
    let mut chunks = stream.bytes_stream();
    let mut heard = String::new();
    while !heard.contains("first") {
        heard.push_str(&String::from_utf8_lossy(
            &chunks.next().await.unwrap().unwrap(),
        ));
    }
    world.say("second", None).await;
    while !heard.contains("second") {
        heard.push_str(&String::from_utf8_lossy(
            &chunks.next().await.unwrap().unwrap(),
        ));
    }
    assert!(heard.contains("id: 1"), "{heard}");
}

/// What `chat.getPermalink` gives is for people: it leads to where a browser has its
/// session, or to the address that people were given.
#[tokio::test]
async fn a_permalink_has_the_name_that_people_use() {
    let mut world = World::start().await;
    let ts = world.say("the beginning", None).await;
    let args = json!({"channel": world.channel(), "message_ts": ts});
    let link = async |world: &World| -> Url {
        let web = world.web(Role::Pm);
        let answer = web.call("chat.getPermalink", args.clone()).await.unwrap();
        answer["permalink"].as_str().unwrap().parse().unwrap()
    };
    let own = link(&world).await;
    let name = own.host_str().unwrap();
    assert!(
        name.starts_with("codebutler-") && name.ends_with(".localhost"),
        "{own}"
    );
    assert_eq!(own.port(), world.base.port());
    let place = own.path().to_owned();
    assert!(place.starts_with("/archives/"), "{own}");
    world.public_url = Some("https://team.example/".parse().unwrap());
    world.down().await;
    world.up().await;
    let public = link(&world).await;
    assert_eq!(public.as_str(), format!("https://team.example{place}"));
}

/// The address that `chat.getPermalink` gives a message leads to it.
#[tokio::test]
async fn a_permalink_opens_the_thread_at_the_message() {
    let world = World::start().await;
    let root = world.say("the beginning", None).await;
    let ts = world.say("the end", Some(&root)).await;
    let browser = Browser::login(&world).await;
    let digits = ts.as_str().replace('.', "");
    let url = world
        .base
        .join(&format!("archives/{}/p{digits}", world.channel()));
    let ask = |cookie: &str| {
        let url = url.clone().unwrap();
        world.http.get(url).header(header::COOKIE, cookie).send()
    };
    let answer = ask(&browser.cookie).await.unwrap();
    assert_eq!(answer.status(), StatusCode::SEE_OTHER);
    let place = format!("/c/{}/{root}#m{ts}", world.channel());
    assert_eq!(answer.headers()[header::LOCATION], place.as_str());
    let stranger = ask("").await.unwrap();
    assert_ne!(
        stranger
            .headers()
            .get(header::LOCATION)
            .map(|place| place.to_str().unwrap()),
        Some(place.as_str()),
        "not without a login"
    );
    for odd in ["p1", "x", "pé00000", "p1700000000000001"] {
        let place = format!("archives/{}/{odd}", world.channel());
        let url = world.base.join(&place).unwrap();
        let asked = world.http.get(url).header(header::COOKIE, &browser.cookie);
        let answer = asked.send().await.unwrap();
        assert!(
            answer.status().is_client_error(),
            "{odd}: {}",
            answer.status()
        );
    }
}
