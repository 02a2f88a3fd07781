//! The environment's proxy: honoured for endpoints elsewhere, never used for one
//! on this machine. Variables belong to a process, so each call is made in one
//! of its own.

use std::{
    env,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use butler_model::{ClientConfig, Endpoint, EndpointKind, ModelClient};

use crate::kit::{ask, question};

const URL: &str = "CODEBUTLER_TEST_PROXY_URL";
/// Generous: the machine may be busy. Reaching it is a failure, not a measure.
const PATIENCE: Duration = Duration::from_secs(60);

/// Takes connections, reports the first line of each and refuses it.
fn listen() -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let line = first_line(stream.unwrap());
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    (address, receiver)
}

fn first_line(mut stream: TcpStream) -> String {
    let mut bytes = vec![0; 16 << 10];
    let length = stream.read(&mut bytes).unwrap_or(0);
    let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
    let text = String::from_utf8_lossy(&bytes[..length]);
    text.lines().next().unwrap_or_default().to_owned()
}

/// One call of a client in a process that knows this proxy.
fn call(endpoint: &str, proxy: &str) {
    let mut child = Command::new(env::current_exe().unwrap());
    child
        .args(["--ignored", "--exact", "proxy::one_call_of_a_child"])
        .env(URL, endpoint)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    for name in ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"] {
        child.env(name, format!("http://{proxy}"));
        child.env(name.to_lowercase(), format!("http://{proxy}"));
    }
    child.env_remove("NO_PROXY").env_remove("no_proxy");
    assert!(child.status().unwrap().success());
}

#[tokio::test]
#[ignore = "run by the other tests of this file"]
async fn one_call_of_a_child() {
    let url = env::var(URL).unwrap().parse().unwrap();
    let mut config = ClientConfig::new(Endpoint::new(EndpointKind::Generic, url));
    config.retry.pace = butler_model::Pace::new(|_| std::future::ready(()), || 0.0);
    let client = ModelClient::new(config).unwrap();
    // Nobody answers it; who was asked is the question.
    assert!(ask(&client, &question("m")).await.is_err());
}

#[test]
fn an_endpoint_elsewhere_is_reached_through_the_proxy() {
    let (proxy, asked) = listen();
    call("https://models.example.invalid/v1", &proxy);
    let line = asked.recv_timeout(PATIENCE).unwrap();
    assert_eq!(line, "CONNECT models.example.invalid:443 HTTP/1.1");
}

#[test]
fn an_endpoint_on_this_machine_is_never_reached_through_a_proxy() {
    let (proxy, asked) = listen();
    let (server, served) = listen();
    let port = server.rsplit_once(':').unwrap().1;
    for host in ["127.0.0.1", "localhost"] {
        call(&format!("http://{host}:{port}/v1"), &proxy);
        let line = served.recv_timeout(PATIENCE).unwrap();
        assert_eq!(line, "POST /v1/chat/completions HTTP/1.1");
    }
    assert!(asked.try_recv().is_err(), "the proxy saw something");
}
