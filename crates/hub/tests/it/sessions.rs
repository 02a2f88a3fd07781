//! Sessions: who gets a session and where it is good, and what strangers
//! can make it take in.

use std::time::{Duration, Instant};

use butler_hub::Tokens;
use reqwest::{RequestBuilder, Response, StatusCode, header};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::world::{PATIENCE, World};

fn code(world: &World) -> String {
    let mut tokens = Tokens::open(world.dir.path()).unwrap();
    tokens.login_link().unwrap().expose().to_owned()
}

/// As a browser sends it.
async fn navigate(request: RequestBuilder) -> Response {
    let request = request.header("sec-fetch-mode", "navigate");
    request.send().await.unwrap()
}

fn place(answer: &Response) -> String {
    answer.headers()[header::LOCATION]
        .to_str()
        .unwrap()
        .to_owned()
}

#[tokio::test]
async fn a_browsers_session_has_a_name_that_no_other_port_is_told() {
    let world = World::start().await;
    let at = |path: &str| world.base.join(path).unwrap();
    let code = code(&world);
    let link = format!("login?code={code}");
    let port = world.base.port().unwrap();

    // Without a good code nobody learns the name.
    for path in ["login", "login?code=guess", ""] {
        let answer = navigate(world.http.get(at(path))).await;
        let place = answer.headers().get(header::LOCATION);
        assert!(place.is_none_or(|place| place == "/login"), "{path}");
    }
    let sent = navigate(world.http.get(at(&link))).await;
    assert_eq!(sent.status(), StatusCode::SEE_OTHER);
    let there = place(&sent);
    let host = there
        .strip_prefix("http://")
        .unwrap()
        .split('/')
        .next()
        .unwrap()
        .to_owned();
    let name = host.strip_suffix(&format!(":{port}")).unwrap();
    assert!(
        name.starts_with("codebutler-") && name.ends_with(".localhost"),
        "{name}"
    );
    assert!(name.len() > 30, "not to be guessed: {name}");
    assert!(there.ends_with(&link), "{there}");
    // Typed by hand on the shared name: the browser is sent on as well.
    let shared = format!("http://127.0.0.1:{port}");
    let form = [("code", code.as_str())];
    let typed = world
        .http
        .post(at("login"))
        .header(header::ORIGIN, &shared)
        .form(&form);
    let typed = navigate(typed).await;
    assert_eq!(place(&typed), there);
    assert!(!typed.headers().contains_key(header::SET_COOKIE));

    let own = format!("http://{host}");
    let enter = world.http.post(at("login")).header(header::HOST, &host);
    let entered = navigate(enter.header(header::ORIGIN, &own).form(&form)).await;
    let cookie = entered.headers()[header::SET_COOKIE].to_str().unwrap();
    assert!(!cookie.contains("Domain"), "for this name alone: {cookie}");
    let cookie = cookie.split(';').next().unwrap().to_owned();

    let channel = world.channel();
    let say = |host: &str, origin: &str| {
        let request = world.http.post(at(&format!("c/{channel}/say")));
        let request = request
            .header(header::HOST, host)
            .header(header::ORIGIN, origin);
        request
            .header(header::COOKIE, &cookie)
            .form(&[("text", "hi")])
            .send()
    };
    for (host, origin, expected) in [
        (host.as_str(), own.as_str(), StatusCode::SEE_OTHER),
        (&host, "http://127.0.0.1:9999", StatusCode::FORBIDDEN),
        (&host, &format!("http://{name}:9999"), StatusCode::FORBIDDEN),
    ] {
        assert_eq!(
            say(host, origin).await.unwrap().status(),
            expected,
            "{origin}"
        );
    }
    // Whoever got hold of the cookie elsewhere finds it good for nothing there.
    let elsewhere = world.http.get(at("v1/me")).header(header::COOKIE, &cookie);
    assert_eq!(
        elsewhere.send().await.unwrap().status(),
        StatusCode::UNAUTHORIZED
    );
    let foreign = say(&format!("127.0.0.1:{port}"), &shared).await.unwrap();
    assert_eq!(place(&foreign), "/login");
}

#[tokio::test]
async fn a_foreign_page_logs_nobody_out() {
    let world = World::start().await;
    let out = |origin: &str| {
        let request = world.http.post(world.base.join("logout").unwrap());
        request.header(header::ORIGIN, origin).send()
    };
    let foreign = out("http://evil.example").await.unwrap();
    assert_eq!(foreign.status(), StatusCode::FORBIDDEN);
    assert!(!foreign.headers().contains_key(header::SET_COOKIE));
    let own = world.base.as_str().trim_end_matches('/');
    assert_eq!(out(own).await.unwrap().status(), StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_stranger_is_refused_before_their_bytes_are_taken() {
    let world = World::start().await;
    let mut stream = TcpStream::connect(("127.0.0.1", world.base.port().unwrap()))
        .await
        .unwrap();
    let head = "POST /upload/FSTRANGER?key=guess HTTP/1.1\r\nHost: 127.0.0.1\r\n\
                Content-Length: 33554432\r\n\r\nonly the beginning";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = vec![0; 12];
    timeout(PATIENCE, stream.read_exact(&mut answer))
        .await
        .expect("an answer")
        .unwrap();
    assert_eq!(answer, b"HTTP/1.1 404");
}

#[tokio::test]
async fn a_head_that_never_ends_is_not_waited_for() {
    let world = World::start().await;
    let mut stream = TcpStream::connect(("127.0.0.1", world.base.port().unwrap()))
        .await
        .unwrap();
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: 127")
        .await
        .unwrap();
    let begun = Instant::now();
    let mut rest = Vec::new();
    let closed = timeout(PATIENCE, stream.read_to_end(&mut rest)).await;
    closed.expect("the hub closes it").unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(40),
        "{:?}",
        begun.elapsed()
    );
}
