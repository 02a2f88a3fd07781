//! How fast redaction reads clean text, beside a search for one absent byte
//! over the same bytes. Run with `cargo bench -p butler-policy`; ends with 1 below
//! the bar.
#![expect(clippy::print_stdout, reason = "a bench talks to whoever runs it")]

use std::{
    hint::black_box,
    process::ExitCode,
    time::{Duration, Instant},
};

use butler_policy::Redactor;
use butler_protocol::Secret;
use regex::Regex;

/// Clean text of the kinds that leave a team: code, prose, logs, diffs.
const PIECES: [&str; 5] = [
    include_str!("../src/judge.rs"),
    include_str!("../src/budget.rs"),
    include_str!("../src/shell/words.rs"),
    "2026-11-15T03:20:06Z INFO turn{role=coder thread=C1-1700000000-000100}: ran cargo test in 12.4 s, 318 passed, 0 failed\n",
    "The plan has three steps. First the parser learns here-documents, then the rules use them, and at the end the old code goes.\n",
];

/// What redaction must reach, in MB/s.
const BAR: f64 = 300.0;

fn fastest(mut run: impl FnMut()) -> Duration {
    // Short rounds, the fastest of many: what others do on the machine hardly counts.
    let rounds = (0..150).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed()
    });
    rounds.min().unwrap_or_default()
}

fn main() -> ExitCode {
    let mut text = String::new();
    while text.len() < 1 << 20 {
        PIECES.iter().for_each(|piece| text.push_str(piece));
    }
    let known: Vec<Secret> = (0..8)
        .map(|n| Secret::new(format!("known-value-{n}-0123456789abcdef")))
        .collect();
    let redactor = match Redactor::new(&known, &[]) {
        Ok(redactor) => redactor,
        Err(problem) => {
            println!("{problem}");
            return ExitCode::FAILURE;
        }
    };
    let found = redactor.redact(&text).findings.len();
    let ours = fastest(|| {
        black_box(redactor.redact(black_box(&text)));
    });
    let Ok(absent) = Regex::new("\u{1}") else {
        return ExitCode::FAILURE;
    };
    let memchr = fastest(|| {
        black_box(absent.is_match(black_box(&text)));
    });
    let rate = |time: Duration| text.len() as f64 / 1e6 / time.as_secs_f64();
    // The last one is made of nothing but words that could begin a secret.
    let dense = include_str!("../tests/it/redact/clean.txt");
    for piece in PIECES.into_iter().chain([dense]) {
        let text = piece.repeat((1 << 18) / piece.len());
        let time = fastest(|| {
            black_box(redactor.redact(black_box(&text)));
        });
        let shown: String = piece.chars().take(40).collect();
        let rate = text.len() as f64 / 1e6 / time.as_secs_f64();
        println!("        {rate:8.0} MB/s  {shown:?}");
    }
    println!(
        "redact  {:8.0} MB/s ({found} findings in {} bytes)",
        rate(ours),
        text.len()
    );
    println!("memchr  {:8.0} MB/s", rate(memchr));
    println!("ratio   {:8.1}", ours.as_secs_f64() / memchr.as_secs_f64());
    let met = rate(ours) >= BAR;
    println!(
        "bar     {BAR:8.0} MB/s: {}",
        if met { "met" } else { "MISSED" }
    );
    ExitCode::from(u8::from(!met))
}
