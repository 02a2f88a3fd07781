//! The floor: one request of as many bytes over a kept connection to a server on
//! this machine, its answer read; then one `sh` that runs the command. No JSON, no
//! journal, no walls, no limits. Twice: as the least that it can be, written here,
//! which the bar is set against; and to compare, as a script (`floor.py`).

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::scenario;

/// The script.
pub(crate) const SCRIPT: &str = include_str!("floor.py");

/// `__floor <address> <turns> <first bytes> <bytes more each turn>`.
pub(crate) fn run(words: &[String]) -> Result<()> {
    let number = |at: usize| -> Result<usize> {
        let word = words.get(at).context("a figure is missing")?;
        Ok(word.parse()?)
    };
    let address = words.first().context("the address is missing")?;
    let (turns, first, more) = (number(1)?, number(2)?, number(3)?);
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    for turn in 1..=turns {
        let body = vec![b'x'; first + (turn - 1) * more];
        write!(
            stream,
            "POST /v1/chat/completions HTTP/1.1\r\nhost: floor\r\ncontent-length: {}\r\n\r\n",
            body.len()
        )?;
        stream.write_all(&body)?;
        read_message(&mut reader)?;
        let output = Command::new("sh")
            .args(["-c", &scenario::command(turn)])
            .stdin(Stdio::null())
            .output()?;
        ensure!(output.status.success(), "sh failed");
    }
    Ok(())
}

/// Reads headers and body of one message; its length.
pub(crate) fn read_message(reader: &mut impl BufRead) -> Result<Option<usize>> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = Some(value.trim().parse()?);
        }
        if line.is_empty() {
            break;
        }
    }
    let length = length.unwrap_or(0);
    std::io::copy(
        &mut reader.by_ref().take(length as u64),
        &mut std::io::sink(),
    )?;
    Ok(Some(length))
}

/// A server that answers every request with `bytes` bytes; its address.
pub(crate) fn serve(bytes: usize) -> Result<String> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?.to_string();
    let body = "x".repeat(bytes);
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {bytes}\r\n\r\n{body}");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = stream.set_nodelay(true);
            let Ok(mut out) = stream.try_clone() else {
                continue;
            };
            let mut reader = BufReader::new(stream);
            while let Ok(Some(_)) = read_message(&mut reader) {
                if out.write_all(answer.as_bytes()).is_err() {
                    break;
                }
            }
        }
    });
    Ok(address)
}
