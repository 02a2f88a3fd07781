//! A model of two answers that looks at the clock and at the bytes: how long
//! from the start of the process to its first request, how large the first two
//! requests are.

use std::{
    io::{BufReader, Write},
    net::TcpListener,
    path::Path,
    process::{Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::{floor::read_message, scenario};

/// What was seen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    /// From the start of the process until its first request was here.
    pub start: Duration,
    /// Bytes of the first request.
    pub first: usize,
    /// Bytes that a turn adds.
    pub more: usize,
}

/// One run of `exec` against such a model.
pub(crate) fn once(binary: &Path, folder: &Path, home: &Path) -> Result<Seen> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let url = format!("http://{}/v1", listener.local_addr()?);
    let (sender, requests) = mpsc::channel();
    std::thread::spawn(move || {
        let call = json!({"id": "c1", "type": "function", "function": {
            "name": "Bash",
            "arguments": json!({"command": scenario::command(1)}).to_string(),
        }});
        let mut answers = vec![
            answer(&json!({"role": "assistant", "content": "Done."})),
            answer(&json!({"role": "assistant", "content": null, "tool_calls": [call]})),
        ];
        for stream in listener.incoming().flatten() {
            let Ok(mut out) = stream.try_clone() else {
                continue;
            };
            let mut reader = BufReader::new(stream);
            while let Ok(Some(bytes)) = read_message(&mut reader) {
                let Some(answer) = answers.pop() else { return };
                if sender.send((Instant::now(), bytes)).is_err()
                    || out.write_all(answer.as_bytes()).is_err()
                {
                    return;
                }
            }
        }
    });
    let begin = Instant::now();
    let output = Command::new(binary)
        .args([
            "exec",
            "--model-url",
            &url,
            "--model",
            "probe",
            "--price",
            "0/0",
            "probe",
        ])
        .current_dir(folder)
        .env("CODEBUTLER_HOME", home)
        .stdin(Stdio::null())
        .output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "exec failed: {errors}");
    let (at, first) = requests.recv().context("no request came")?;
    let (_, second) = requests.recv().context("no second request came")?;
    Ok(Seen {
        start: at - begin,
        first,
        more: second - first,
    })
}

fn answer(message: &Value) -> String {
    let reason = if message["tool_calls"].is_array() {
        "tool_calls"
    } else {
        "stop"
    };
    let body = json!({
        "id": "a", "object": "chat.completion", "model": "probe",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010},
    })
    .to_string();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}
