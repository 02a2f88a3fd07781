//! A company that rests: `codebutler serve` with 200 repositories and their 1,200 agents
//! asleep. What that costs, and how long the first model request of a sleeping team takes
//! from the message on.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::{
    idle::{Serving, memory, mib, set_up},
    table::Report,
};

const REPOS: usize = 200;
/// How long the company is watched while it rests.
const REST: Duration = Duration::from_secs(30);
/// Sleeping teams that are woken, one after the other.
const WOKEN: usize = 5;

pub(crate) fn measure(binary: &Path) -> Result<Report> {
    let scratch = tempfile::Builder::new()
        .prefix("codebutler-bench-")
        .tempdir()?;
    let home = scratch.path().join("home");
    let (model, asked) = model()?;
    let root = |number: usize| scratch.path().join(format!("repo-{number:03}"));
    for number in 0..REPOS {
        set_up(&root(number), &home)?;
    }
    let endpoint = json!({"models": {"endpoints": {"none": {"baseUrl": model}}}});
    fs::write(home.join("config.json"), endpoint.to_string())?;
    let named = |number: usize| (format!("repo-{number:03}"), root(number));
    let names: serde_json::Map<String, Value> = (0..REPOS)
        .map(named)
        .map(|(name, root)| (name, json!(root)))
        .collect();
    fs::write(home.join("repos.json"), Value::Object(names).to_string())?;

    let serve = Serving::start(binary, "serve", &root(0), &home)?;
    let hub = child_of(serve.child.id())?;
    let agents = agents(binary, &root(0), &home, &serve.address)?;
    ensure!(agents == REPOS * 6, "{agents} agents are known");
    let own = serve.child.id().to_string();
    let before = (used(&hub)?, used(&own)?);
    std::thread::sleep(REST);
    let after = (used(&hub)?, used(&own)?);
    let (hub_pss, hub_own) = memory(&hub)?;
    let (serve_pss, serve_own) = memory(&own)?;
    let share = |before: f64, after: f64| (after - before) / REST.as_secs_f64() * 100.0;
    let (hub_cpu, serve_cpu) = (share(before.0, after.0), share(before.1, after.1));

    let mut report = Report::new(
        "200 repositories, 1,200 agents asleep",
        &["process", "PSS", "of it own", "CPU at rest"],
    );
    report.row(vec![
        "hub".to_owned(),
        mib(hub_pss),
        mib(hub_own),
        format!("{hub_cpu:.2} %"),
    ]);
    report.row(vec![
        "serve".to_owned(),
        mib(serve_pss),
        mib(serve_own),
        format!("{serve_cpu:.2} %"),
    ]);
    let mut waking = Vec::new();
    for number in 1..=WOKEN {
        let begun = Instant::now();
        say(binary, &root(number), &home, &serve.address)?;
        asked
            .recv_timeout(Duration::from_secs(120))
            .context("no model was asked")?;
        waking.push(begun.elapsed().as_secs_f64());
        // Those that are awake ask again; the next figure begins in silence.
        while asked.recv_timeout(Duration::from_secs(3)).is_ok() {}
    }
    waking.sort_by(f64::total_cmp);
    let figures: Vec<String> = waking.iter().map(|one| format!("{one:.2} s")).collect();
    report.row(vec![
        "from a message to the model".to_owned(),
        figures.join(", "),
        String::new(),
        String::new(),
    ]);
    report.bar("the hub at rest", hub_pss as f64 / 1024.0, 60.0, " MiB");
    report.bar(
        "hub and serve at rest",
        hub_cpu + serve_cpu,
        1.0,
        " % of a core",
    );
    report.bar(
        "a sleeping team asks its model",
        waking[WOKEN / 2],
        5.0,
        " s",
    );
    Ok(report)
}

/// A model that says when it is asked, and is too busy to answer.
fn model() -> Result<(String, mpsc::Receiver<()>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/v1", listener.local_addr()?);
    let (asked, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream);
            let mut line = String::new();
            if reader.read_line(&mut line).is_err() {
                continue;
            }
            if line.starts_with("POST") && asked.send(()).is_err() {
                return;
            }
            let body = r#"{"data": [{"id": "m"}]}"#;
            let status = if line.starts_with("POST") {
                "503 Busy"
            } else {
                "200 OK"
            };
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = reader.get_mut().write_all(answer.as_bytes());
        }
    });
    Ok((url, receiver))
}

/// Seconds of CPU that a process has used.
pub(crate) fn used(pid: &str) -> Result<f64> {
    /// What the kernel counts in, on every Linux that we run on.
    const TICKS: f64 = 100.0;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name may have blanks; what follows its parenthesis has none.
    let (_, fields) = stat.rsplit_once(')').context("no fields")?;
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: f64 = ticks.filter_map(|one| one.parse::<f64>().ok()).sum();
    Ok(ticks / TICKS)
}

/// A child belongs to the thread that started it.
fn child_of(parent: u32) -> Result<String> {
    let mut children = String::new();
    for thread in fs::read_dir(format!("/proc/{parent}/task"))? {
        children += &fs::read_to_string(thread?.path().join("children"))?;
    }
    let child = children.split_whitespace().next();
    Ok(child.context("serve has no hub")?.to_owned())
}

/// The tokens of a person, and the channel of a repository.
pub(crate) fn tokens(binary: &Path, root: &Path, home: &Path) -> Result<Value> {
    let output = Command::new(binary)
        .args(["hub", "tokens", "--json"])
        .current_dir(root)
        .env("CODEBUTLER_HOME", home)
        .stdin(Stdio::null())
        .output()?;
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn agents(binary: &Path, root: &Path, home: &Path, hub: &str) -> Result<usize> {
    let known = tokens(binary, root, home)?;
    let body = http(hub, "GET", "/v1/agents", &known, "")?;
    let agents: Value = serde_json::from_str(&body)?;
    Ok(agents["agents"].as_array().map_or(0, Vec::len))
}

fn say(binary: &Path, root: &Path, home: &Path, hub: &str) -> Result<()> {
    let known = tokens(binary, root, home)?;
    let body = json!({"channel": known["channel"], "text": "what does this repository do?"});
    http(hub, "POST", "/v1/messages", &known, &body.to_string()).map(drop)
}

pub(crate) fn http(
    hub: &str,
    method: &str,
    path: &str,
    known: &Value,
    body: &str,
) -> Result<String> {
    let token = known["people"]["you"]["token"].as_str();
    let mut stream = TcpStream::connect(hub)?;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {hub}\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        token.context("no token")?,
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("no answer")?;
    ensure!(head.starts_with("HTTP/1.1 200"), "{head}\n{body}");
    // The body may come in pieces; JSON begins and ends with its braces.
    let (from, to) = (body.find('{'), body.rfind('}'));
    let (from, to) = from.zip(to).context("no JSON")?;
    Ok(body[from..=to].to_owned())
}
