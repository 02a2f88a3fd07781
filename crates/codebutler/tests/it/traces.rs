//! A thread from message to merge, as a collector of traces and a scrape of the metrics
//! see it: the whole way, and nothing that anybody said.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};

use crate::{
    story::{REQUEST, SCENARIO, merged},
    team::Team,
};

type Bodies = Arc<Mutex<Vec<String>>>;

/// A collector that keeps what it is sent; the first request it is too busy for.
fn collector() -> (String, Bodies) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/traces", listener.local_addr().unwrap());
    let kept = Bodies::default();
    let bodies = Arc::clone(&kept);
    std::thread::spawn(move || {
        let mut busy = true;
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.unwrap());
            let (mut length, mut line) = (0, String::new());
            while reader.read_line(&mut line).is_ok_and(|count| count > 2) {
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let status = match busy {
                true => "503 Service Unavailable",
                false => "200 OK",
            };
            if !busy {
                bodies
                    .lock()
                    .unwrap()
                    .push(String::from_utf8(body).unwrap());
            }
            busy = false;
            let answer =
                format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            let _ = reader.get_mut().write_all(answer.as_bytes());
        }
    });
    (url, kept)
}

fn spans(bodies: &Bodies) -> Vec<Value> {
    let bodies = bodies.lock().unwrap();
    let parsed = bodies
        .iter()
        .map(|body| serde_json::from_str::<Value>(body).unwrap());
    parsed
        .flat_map(|body| {
            let spans = &body["resourceSpans"][0]["scopeSpans"][0]["spans"];
            spans.as_array().unwrap().clone()
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_is_followed_from_message_to_merge_without_its_words() {
    let (url, bodies) = collector();
    let team = Team::start_on_machine(SCENARIO, move |machine| {
        machine["hub"]["traces"] = json!(url);
    })
    .await;
    let root = team.say(REQUEST).await;
    team.press(&root, "approve").await;
    team.press(&root, "merge").await;
    team.until(&root, "the merge", merged).await;
    let named = |span: &Value| span["name"].as_str().unwrap().to_owned();
    let arrived = || {
        let names: BTreeSet<String> = spans(&bodies).iter().map(named).collect();
        names.contains("merge") && names.contains("lead works")
    };
    team.wait("the spans", arrived).await;

    let spans = spans(&bodies);
    let names: BTreeSet<String> = spans.iter().map(named).collect();
    for name in [
        "message",
        "pm works",
        "coder works",
        "reviewer works",
        "model call",
        "hand over task",
        "hand over ready_for_review",
        "hand over verdict",
        "merge",
    ] {
        assert!(names.contains(name), "{name} is not among {names:?}");
    }
    assert!(
        names.iter().any(|name| name.starts_with("tool ")),
        "{names:?}"
    );
    let traces: BTreeSet<String> = spans
        .iter()
        .map(|span| span["traceId"].to_string())
        .collect();
    assert_eq!(traces.len(), 1, "one thread is one trace");
    // Whatever role works hangs, over the hand-overs, below the person's message.
    let by_id: BTreeMap<String, &Value> = spans
        .iter()
        .map(|span| (span["spanId"].as_str().unwrap().to_owned(), span))
        .collect();
    for span in spans.iter().filter(|span| named(span) == "reviewer works") {
        let mut way = vec![named(span)];
        let mut at = span;
        while let Some(parent) = by_id.get(at["parentSpanId"].as_str().unwrap()) {
            at = parent;
            way.push(named(at));
        }
        let end = ["coder works", "hand over task", "message"];
        assert!(way.ends_with(&end.map(str::to_owned)), "{way:?}");
    }
    for span in &spans {
        let time = |key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
        assert!(
            time("startTimeUnixNano") <= time("endTimeUnixNano"),
            "{span}"
        );
    }
    let sent = bodies.lock().unwrap().concat();
    for words in ["--json", "notes.sh", "approved", "list_json"] {
        assert!(!sent.contains(words), "{words} was sent");
    }

    let metrics = team.page("metrics").await;
    let counted = |start: &str| {
        let mut lines = metrics.lines().filter(|line| line.starts_with(start));
        lines.any(|line| !line.ends_with(" 0"))
    };
    for start in [
        "codebutler_model_calls_total{repo=\"",
        "codebutler_tool_calls_total{repo=\"",
        "codebutler_activations_total{repo=\"",
        "codebutler_agent_models_usable{repo=\"",
    ] {
        assert!(counted(start), "{start} is not in\n{metrics}");
    }
}
