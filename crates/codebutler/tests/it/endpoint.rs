//! A model endpoint that answers every request alike.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::{Arc, Mutex},
};

use serde_json::json;

/// One that lists these models, and nothing else.
pub(crate) fn listing(names: &[&str]) -> String {
    let models: Vec<_> = names
        .iter()
        .map(|name| json!({"id": name, "object": "model"}))
        .collect();
    let body = json!({"object": "list", "data": models});
    answering("200 OK", &body.to_string())
}

/// One that says this, whatever it is asked.
pub(crate) fn answering(status: &str, body: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    url
}

/// One that lists these models to whoever has the key, and refuses everybody else.
pub(crate) fn wanting(key: &str, names: &[&str]) -> String {
    let models: Vec<_> = names.iter().map(|name| json!({"id": name})).collect();
    let list = json!({"data": models}).to_string();
    let wanted = format!("bearer {key}\r\n");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let count = stream.read(&mut request).unwrap_or(0);
            let request = String::from_utf8_lossy(&request[..count]).to_lowercase();
            let (status, body) = match request.contains(&wanted) {
                true => ("200 OK", list.as_str()),
                false => (
                    "401 Unauthorized",
                    r#"{"error": {"message": "no such key"}}"#,
                ),
            };
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    url
}

/// One that refuses every request, and keeps what it was sent.
pub(crate) fn hearing() -> (String, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let heard = Arc::new(Mutex::new(String::new()));
    let keeps = Arc::clone(&heard);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut head, mut line) = (String::new(), String::new());
            while stream.read_line(&mut line).is_ok_and(|read| read > 2) {
                head.push_str(&std::mem::take(&mut line).to_lowercase());
            }
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            let mut body = vec![0; length.map_or(0, |length| length.trim().parse().unwrap())];
            stream.read_exact(&mut body).unwrap();
            keeps
                .lock()
                .unwrap()
                .push_str(&String::from_utf8_lossy(&body));
            let answer =
                "HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
        }
    });
    (url, heard)
}
