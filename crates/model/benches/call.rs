//! The CPU that a call costs beside the network: building and writing the body
//! of a long conversation, and reading a long answer.
//!
//! Prints one line per measure: the best and the median of many rounds. The
//! budget is 2 ms per call beyond the bytes themselves, so "the bytes" (writing
//! and parsing the same JSON with nothing around it) stand beside each figure.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::{hint::black_box, time::Instant};

use butler_model::{
    CacheLife, EndpointKind, EventReader, Gather, ModelRequest, PriceBook, read_reply, wire,
};
use butler_vocab::{CallId, ModelMessage, Price, ToolCall, ToolSpec, Usd};
use serde_json::{Value, json};

const ROUNDS: usize = 200;

fn main() {
    let request = conversation(400);
    let body = wire::body(&request, EndpointKind::Openrouter);
    let text = body.to_string();
    println!("request of 400 turns, {} KiB", text.len() / 1024);
    measure("  body and text", || {
        black_box(wire::body(&request, EndpointKind::Openrouter).to_string());
    });
    measure("  the bytes alone", || {
        black_box(body.to_string());
    });
    measure("  worst case", || {
        let price = Price::flat(Usd::from_cents(300), Usd::from_cents(1500));
        black_box(butler_model::worst_case(&request, &price));
    });

    let stream = answer(2000);
    println!("answer of 2000 chunks, {} KiB", stream.len() / 1024);
    measure("  read, gathered, judged", || {
        black_box(read(&stream, &request));
    });
    let chunks: Vec<&str> = stream
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .filter(|data| data.starts_with('{'))
        .collect();
    measure("  the bytes alone", || {
        for chunk in &chunks {
            black_box(serde_json::from_str::<Value>(chunk).ok());
        }
    });
}

fn measure(what: &str, mut work: impl FnMut()) {
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    println!(
        "{what}: best {:.3} ms, median {:.3} ms",
        rounds[0],
        rounds[ROUNDS / 2]
    );
}

fn conversation(turns: usize) -> ModelRequest {
    let mut messages = vec![
        ModelMessage::System {
            text: "You build what the plan says. ".repeat(200),
        },
        ModelMessage::User {
            text: "Add a flag.".into(),
            images: Vec::new(),
        },
    ];
    for turn in 0..turns {
        let id = CallId::new(format!("c{turn:08}"));
        messages.push(ModelMessage::Assistant {
            text: Some("Looking at the next file.".into()),
            calls: vec![ToolCall {
                id: id.clone(),
                name: "Read".into(),
                arguments: json!({"path": format!("src/{turn}.rs"), "offset": 1, "limit": 40}),
                problem: None,
            }],
            reasoning: None,
        });
        messages.push(ModelMessage::Tool {
            call: id,
            text: "    let answer = 42; // \"quoted\"\n".repeat(24),
        });
    }
    let mut request = ModelRequest::new("anthropic/claude-x", messages);
    request.cache = CacheLife::Short;
    request.tools = (0..12)
        .map(|n| ToolSpec {
            name: format!("Tool{n}"),
            description: "What it does, when to use it, when not. ".repeat(10),
            parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        })
        .collect();
    request
}

fn answer(chunks: usize) -> String {
    let mut stream = String::new();
    for _ in 0..chunks {
        let chunk = json!({"id": "gen-1", "object": "chat.completion.chunk", "model": "m",
            "choices": [{"index": 0, "delta": {"role": "assistant", "content": "some words "},
                         "finish_reason": null, "native_finish_reason": null}]});
        stream.push_str(&format!("data: {chunk}\n\n"));
    }
    stream.push_str(
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    );
    stream
}

fn read(stream: &str, request: &ModelRequest) -> usize {
    let mut reader = EventReader::default();
    let mut gather = Gather::default();
    for piece in stream.as_bytes().chunks(1400) {
        for data in reader.push(piece) {
            if gather.event(&data).is_err() {
                return 0;
            }
        }
    }
    let upper = Price::flat(Usd::ZERO, Usd::ZERO);
    let reply = read_reply(gather.finish(), request, &PriceBook::free(), &upper);
    reply
        .ok()
        .and_then(|reply| reply.text)
        .map_or(0, |text| text.len())
}
