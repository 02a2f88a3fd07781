//! What people who keep the page open cost the hub: how long a thread of 2,000 messages takes
//! to be there, what 200 open pages hold and use while nothing happens, and what one message
//! costs that all of them fetch.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::{
    idle::{Serving, memory, mib, set_up},
    table::Report,
};

const MESSAGES: usize = 2_000;
const PAGES: usize = 200;
const ROUNDS: usize = 15;
/// How long 200 pages are watched while nothing happens.
const REST: Duration = Duration::from_secs(10);

pub(crate) fn measure(binary: &Path) -> Result<Report> {
    let scratch = tempfile::Builder::new()
        .prefix("codebutler-bench-")
        .tempdir()?;
    let (root, home) = (scratch.path().join("app"), scratch.path().join("home"));
    set_up(&root, &home)?;
    let tokens = tokens(binary, &root, &home)?;
    let text = |path: &str| {
        tokens
            .pointer(path)
            .and_then(Value::as_str)
            .context("a token is missing")
    };
    let hub = Serving::start(binary, "hub", &root, &home)?;
    let person = Person {
        at: hub.address.clone(),
        token: text("/people/you/token")?.to_owned(),
    };
    let pid = hub.child.id().to_string();
    let channel = text("/channel")?;
    let thread = fill(&person, channel)?;

    let mut times = Vec::new();
    let mut bytes = 0;
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        bytes = person.call("GET", &thread, None)?.len();
        times.push(begin.elapsed());
    }
    times.sort();
    let opening = times[ROUNDS / 2];

    let (before, _) = memory(&pid)?;
    let pages: Vec<TcpStream> = (0..PAGES).map(|_| person.listen()).collect::<Result<_>>()?;
    std::thread::sleep(Duration::from_secs(3));
    let (after, _) = memory(&pid)?;
    let used = cpu(&pid)?;
    std::thread::sleep(REST);
    let at_rest = (cpu(&pid)? - used).as_secs_f64() / REST.as_secs_f64() * 100.0;

    // One message, and what every page fetches because of it.
    let used = cpu(&pid)?;
    person.say(channel, "one more", Some(&thread))?;
    for _ in 0..PAGES {
        person.call("GET", &format!("{thread}/live"), None)?;
        person.call("GET", "/nav?at=", None)?;
    }
    let one_message = cpu(&pid)? - used;
    drop(pages);

    let held = after.saturating_sub(before);
    let mut report = Report::new("What open pages cost the hub", &["what", "figure"]);
    let mut row = |what: &str, figure: String| report.row(vec![what.to_owned(), figure]);
    row(
        "a thread of 2,000 messages, until its HTML is there",
        format!("{opening:.1?}, {bytes} bytes"),
    );
    row("200 open pages hold", mib(held));
    row(
        "200 open pages use while nothing happens",
        format!("{at_rest:.2} % of a core"),
    );
    row(
        "one message that 200 pages fetch",
        format!("{one_message:.1?} of a core"),
    );
    report.bar(
        "a thread of 2,000 messages",
        opening.as_secs_f64() * 1000.0,
        1000.0,
        " ms",
    );
    report.bar("200 open pages", held as f64 / 1024.0, 20.0, " MiB");
    report.bar("200 open pages at rest", at_rest, 5.0, " % of a core");
    Ok(report)
}

/// A thread as threads are; the path of its page.
fn fill(person: &Person, channel: &str) -> Result<String> {
    let root = person.say(channel, "build it", None)?;
    let thread = format!("/c/{channel}/{root}");
    for number in 1..MESSAGES {
        let text =
            format!("message {number}: *bold*, `code`\n```rust\nfn main() {{}} // {number}\n```");
        person.say(channel, &text, Some(&thread))?;
    }
    Ok(thread)
}

/// Somebody with a token, over plain sockets: the bench needs no HTTP client.
struct Person {
    at: String,
    token: String,
}

impl Person {
    fn open(&self, method: &str, path: &str, body: Option<&Value>) -> Result<TcpStream> {
        let mut stream = TcpStream::connect(&self.at)?;
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.at,
            self.token,
            body.len()
        );
        stream.write_all(request.as_bytes())?;
        Ok(stream)
    }

    fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Result<String> {
        let mut answer = String::new();
        self.open(method, path, body)?.read_to_string(&mut answer)?;
        ensure!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer:.300}");
        Ok(answer)
    }

    fn json(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
        let answer = self.call(method, path, body)?;
        let (_, body) = answer.split_once("\r\n\r\n").context("no body")?;
        Ok(serde_json::from_str(body)?)
    }

    fn say(&self, channel: &str, text: &str, thread: Option<&str>) -> Result<String> {
        let root = thread.and_then(|path| path.rsplit('/').next());
        let body = json!({"channel": channel, "text": text, "thread_ts": root});
        let answer = self.json("POST", "/v1/messages", Some(&body))?;
        Ok(answer["ts"].as_str().context("no ts")?.to_owned())
    }

    /// What an open page keeps open.
    fn listen(&self) -> Result<TcpStream> {
        let mut stream = self.open("GET", "/v1/events", None)?;
        let mut first = [0; 64];
        let length = stream.read(&mut first)?;
        ensure!(first[..length].starts_with(b"HTTP/1.1 200"), "no events");
        Ok(stream)
    }
}

/// What people need to talk to the hub: a token, and the channel.
fn tokens(binary: &Path, root: &Path, home: &Path) -> Result<Value> {
    let output = Command::new(binary)
        .args(["hub", "tokens", "--json"])
        .current_dir(root)
        .env("CODEBUTLER_HOME", home)
        .output()?;
    serde_json::from_slice(&output.stdout).context("`hub tokens` said no JSON")
}

/// Processor time of a process so far.
fn cpu(pid: &str) -> Result<Duration> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, rest) = text.rsplit_once(") ").context("an odd stat")?;
    let ticks = rest.split(' ').skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|one| one.parse::<u64>().ok()).sum();
    // USER_HZ is 100 wherever Linux runs.
    Ok(Duration::from_millis(ticks * 10))
}
