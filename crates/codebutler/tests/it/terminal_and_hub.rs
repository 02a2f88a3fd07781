//! What a person at the terminal sees when the team cannot start, when a hub is
//! shared, and when it goes away.

use std::{
    fs,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use butler_protocol::ThreadId;
use serde_json::{Value, json};

use crate::{
    endpoint::{answering, listing},
    running::{PATIENCE, Running, line_with},
    scratch::{Scratch, git, pushed},
    terminal::Terminal,
};

const UP: [&str; 3] = ["up", "--listen", "127.0.0.1:0"];

/// Whoever has no remote yet reads what is missing and how to get it, without a doctor.
#[test]
fn up_without_a_remote_says_how_to_get_one() {
    let scratch = Scratch::new();
    let url = listing(&["m"]);
    let init = scratch.run(&["init", "--yes", "--model-url", &url]);
    assert_eq!(init.code, 0, "{init:?}");
    assert!(
        init.err
            .contains("there is no remote; agents cannot start without one: `git remote add"),
        "{init:?}"
    );
    let (code, out, err) = Running::start(&mut scratch.codebutler(&UP)).ended();
    assert_eq!(code, 4, "{out}\n{err}");
    assert!(err.contains("has no remote: `git remote add"), "{err}");
}

#[test]
fn up_tells_once_why_no_agent_can_start_and_ends() {
    let scratch = Scratch::new();
    pushed(&scratch.root());
    assert_eq!(scratch.run(&["init", "--yes"]).code, 0);
    let (code, out, err) = Running::start(&mut scratch.codebutler(&UP)).ended();
    assert_eq!(code, 4, "{out}\n{err}");
    assert!(!out.contains("at work"), "{out}");
    assert_eq!(err.matches("no model endpoint").count(), 1, "{err}");
    assert!(err.contains("error: no agent can start"), "{err}");
}

/// Nobody would be answered, so nobody is at work; the page is there all the same.
#[test]
fn a_team_without_a_model_says_so_with_the_fix_and_is_not_at_work() {
    let refuses = answering("401 Unauthorized", "{}");
    let page = answering("200 OK", "<!doctype html><html></html>");
    let two = listing(&["qwen3:8b", "smollm2"]);
    for (url, why, fix) in [
        (
            "http://127.0.0.1:1/v1",
            "Connection refused",
            "start the server",
        ),
        (&*refuses, "no key was given", "--model-key-env"),
        (&*page, "answers with a web page", "end in /v1"),
        (&*two, "has no model", "init --model NAME"),
    ] {
        let scratch = Scratch::new();
        pushed(&scratch.root());
        let args = ["init", "--yes", "--model-url", url];
        assert_eq!(scratch.run(&args).code, 0, "{url}");
        let mut up = Running::start(&mut scratch.codebutler(&UP));
        let mut said: Vec<String> = Vec::new();
        while !said.last().is_some_and(|line| line.contains("logs -f")) {
            said.push(line_with(&up.out, ""));
        }
        assert!(said[0].starts_with("open ") && said[0].contains("login?code="));
        assert!(
            said[1].contains("cannot work yet: no model answers"),
            "{said:#?}"
        );
        assert!(
            said[2].starts_with("problem") && said[2].contains(why),
            "{said:#?}"
        );
        assert!(said[3].contains(fix), "{said:#?}");
        assert!(
            said[said.len() - 2].contains("#codebutler-app"),
            "{said:#?}"
        );
        assert!(!said.concat().contains("at work"), "{said:#?}");
        up.interrupt();
    }
}

/// Five lines and nothing else: what hub and agents log is in their files.
#[test]
fn up_greets_in_five_lines_and_logs_go_elsewhere() {
    let scratch = Scratch::new();
    pushed(&scratch.root());
    let url = listing(&["qwen3:8b"]);
    assert_eq!(scratch.run(&["init", "--yes", "--model-url", &url]).code, 0);
    let mut up = Running::start(&mut scratch.codebutler(&UP));
    let said: Vec<String> = (0..4).map(|_| line_with(&up.out, "")).collect();
    assert!(said[0].starts_with("open "), "{said:#?}");
    assert_eq!(
        said[1],
        "team     the team is at work: PM, Coder, Reviewer, Researcher, Artist, Lead"
    );
    let logged: Vec<String> = up.err.try_iter().collect();
    assert_eq!(logged, [""; 0]);
    let (code, err) = up.interrupted();
    assert_eq!((code, &*err), (Some(0), "stopping…"));
    let logs = scratch.run(&["logs"]);
    assert!(logs.out.contains("INFO"), "{logs:?}");
}

/// At a terminal with a display the page opens by itself, with a link of its own.
#[test]
fn the_page_opens_where_there_is_a_browser_and_nowhere_else() {
    let scratch = Scratch::new();
    pushed(&scratch.root());
    let url = listing(&["qwen3:8b"]);
    assert_eq!(scratch.run(&["init", "--yes", "--model-url", &url]).code, 0);
    let tools = scratch.root().with_extension("tools");
    fs::create_dir(&tools).unwrap();
    let opener = tools.join("xdg-open");
    fs::write(&opener, "#!/bin/sh\necho \"$1\" >> \"$0.opened\"\n").unwrap();
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::join_paths(
        std::iter::once(tools.clone())
            .chain(std::env::split_paths(&std::env::var("PATH").unwrap())),
    );
    let path = path.unwrap();
    let opened = || fs::read_to_string(tools.join("xdg-open.opened")).unwrap_or_default();
    for (args, variables, opens) in [
        (&UP[..], &[][..], false),
        (
            &["up", "--listen", "127.0.0.1:0", "--no-open"],
            &[("DISPLAY", ":7")],
            false,
        ),
        (&UP, &[("DISPLAY", ":7"), ("SSH_CONNECTION", "x")], false),
        (&UP, &[("DISPLAY", ":7")], true),
    ] {
        let mut command = scratch.codebutler(args);
        command.env("PATH", &path).envs(variables.iter().copied());
        let mut terminal = Terminal::of(command, None);
        terminal.expect("logs -f");
        if opens {
            let begun = Instant::now();
            while opened().is_empty() {
                assert!(begun.elapsed() < PATIENCE, "nothing was opened");
                std::thread::sleep(Duration::from_millis(20));
            }
            let link = opened();
            assert!(link.contains("/login?code="), "{link}");
            assert!(!terminal.seen().contains(link.trim()), "its own link");
        }
        terminal.interrupt();
        let (code, screen) = terminal.end();
        assert_eq!(code, 0, "{screen}");
        assert_eq!(opened().is_empty(), !opens, "{args:?} {variables:?}");
    }
}

#[test]
fn up_says_who_is_missing() {
    let scratch = Scratch::new();
    let url = listing(&["qwen3:8b"]);
    let url = url.as_str();
    pushed(&scratch.root());
    assert_eq!(scratch.run(&["init", "--yes", "--model-url", url]).code, 0);
    // An endpoint for all but one.
    let roles = ["coder", "reviewer", "researcher", "artist", "lead"];
    let endpoint = json!({"kind": "generic", "baseUrl": url, "roles": roles});
    let endpoints = json!({"models": {"endpoints": {"local": endpoint}}});
    scratch.machine(&endpoints.to_string());
    let mut up = Running::start(&mut scratch.codebutler(&UP));
    let line = line_with(&up.out, "at work");
    assert!(line.contains("5 of 6 agents are at work: Coder"), "{line}");
    assert!(line.contains("PM cannot start"), "{line}");
    up.interrupt();
}

#[test]
fn ending_up_on_purpose_warns_of_nothing() {
    let scratch = Scratch::new();
    pushed(&scratch.root());
    let url = "http://127.0.0.1:1/v1";
    assert_eq!(scratch.run(&["init", "--yes", "--model-url", url]).code, 0);
    // A terminal sends Ctrl-C to every process of the group.
    let mut command = scratch.codebutler(&UP);
    let mut up = Running::start(command.process_group(0));
    line_with(&up.out, "logs -f");
    up.err.try_iter().for_each(drop);
    let group = format!("-{}", up.child.id());
    let sent = Command::new("kill").args(["-INT", "--", &group]).status();
    assert!(sent.unwrap().success());
    let code = up.child.wait().unwrap().code();
    let err = up.err.iter().collect::<Vec<_>>().join("\n");
    assert_eq!((code, &*err), (Some(0), "stopping…"));
    assert!(err.contains("stopping"), "{err}");
    assert!(!err.contains("WARN") && !err.contains("ERROR"), "{err}");
}

#[test]
fn tokens_stand_in_columns() {
    let scratch = Scratch::new();
    assert_eq!(scratch.run(&["init", "--yes"]).code, 0);
    let ran = scratch.run(&["hub", "tokens"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let begins = |start: &str| ran.out.lines().any(|line| line.starts_with(start));
    assert!(begins("pm         xoxb-"), "{ran:?}");
    assert!(begins("researcher xoxb-"), "{ran:?}");
}

/// Another repo on the same machine.
fn second_repo(scratch: &Scratch, url: &str) -> PathBuf {
    let site = scratch.root().parent().unwrap().join("site");
    fs::create_dir(&site).unwrap();
    git(&site, &["init", "--quiet", "--initial-branch=main"]);
    pushed(&site);
    let mut init = scratch.codebutler(&["init", "--yes", "--model-url", url]);
    assert!(init.current_dir(&site).output().unwrap().status.success());
    let limits = json!({"limits": {"maxCostPerThread": 1.25}});
    fs::write(site.join(".codebutler/config.json"), limits.to_string()).unwrap();
    site
}

fn dollars(text: &str) -> i64 {
    (text.parse::<f64>().unwrap() * 1e9) as i64
}

/// What a new thread in a repo's channel may cost, in nanodollars.
async fn thread_cap(hub: &str, token: &str, repo: &Value) -> i64 {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let channel = repo["channel"].as_str().unwrap();
    // `!help` costs nothing: no model is asked.
    let body = json!({"channel": channel, "text": "!help"});
    let answer = async |request: reqwest::RequestBuilder| -> Value {
        let answer = request.bearer_auth(token).send().await.unwrap();
        answer.json().await.unwrap()
    };
    let posting = client.post(format!("{hub}v1/messages")).json(&body);
    let posted = answer(posting).await;
    let ts = posted["ts"].as_str().unwrap();
    let view = answer(client.get(format!("{hub}v1/threads/{channel}/{ts}"))).await;
    view["cost"]["cap"]
        .as_i64()
        .unwrap_or_else(|| panic!("{view}"))
}

fn page_of(line: &str) -> String {
    let at = line.find("http://").unwrap();
    line[at..].split("login").next().unwrap().to_owned()
}

fn tokens(scratch: &Scratch, root: &Path) -> Value {
    let mut asking = scratch.codebutler(&["hub", "tokens", "--json"]);
    let answer = asking.current_dir(root).output().unwrap();
    serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{answer:?}"))
}

/// The agents of a repo that are connected.
async fn online(hub: &str, token: &str, repo: &str) -> usize {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let asking = client.get(format!("{hub}v1/agents")).bearer_auth(token);
    let Ok(answer) = asking.send().await else {
        return 0;
    };
    let answer: Value = answer.json().await.unwrap_or_default();
    let all = answer["agents"].as_array().into_iter().flatten();
    all.filter(|agent| agent["repo"] == repo && agent["online"] == true)
        .count()
}

#[test]
fn two_folders_of_one_name_are_two_repos() {
    let scratch = Scratch::new();
    let url = "http://127.0.0.1:1/v1";
    assert_eq!(scratch.run(&["init", "--yes", "--model-url", url]).code, 0);
    let namesake = scratch.root().parent().unwrap().join("elsewhere/app");
    fs::create_dir_all(&namesake).unwrap();
    git(&namesake, &["init", "--quiet", "--initial-branch=main"]);
    pushed(&namesake);
    let mut init = scratch.codebutler(&["init", "--yes", "--model-url", url]);
    assert!(
        init.current_dir(&namesake)
            .output()
            .unwrap()
            .status
            .success()
    );
    let (first, second) = (
        tokens(&scratch, &scratch.root()),
        tokens(&scratch, &namesake),
    );
    assert_ne!(first["channel"], second["channel"]);
    assert_ne!(first["agents"]["pm"], second["agents"]["pm"]);
    assert_eq!(tokens(&scratch, &scratch.root()), first, "it keeps its own");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_repos_share_a_hub_and_the_second_takes_its_place() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let scratch = Scratch::new();
    let url = "http://127.0.0.1:1/v1";
    assert_eq!(scratch.run(&["init", "--yes", "--model-url", url]).code, 0);
    pushed(&scratch.root());
    let site = second_repo(&scratch, url);
    let mut first = Running::start(&mut scratch.codebutler(&UP));
    let hub = page_of(&line_with(&first.out, "login?code="));
    let mut second = Running::start(scratch.codebutler(&UP).current_dir(&site));
    let joined = page_of(&line_with(&second.out, "login?code="));
    assert_eq!(joined, hub, "one hub for both");
    let (app, other) = (tokens(&scratch, &scratch.root()), tokens(&scratch, &site));
    assert_ne!(app["channel"], other["channel"]);
    let token = other["people"]["you"]["token"].as_str().unwrap();
    assert_eq!(online(&hub, token, "app").await, 6);
    assert_eq!(online(&hub, token, "site").await, 6);
    let caps = [&app, &other].map(|repo| thread_cap(&hub, token, repo));
    let caps = futures_util::future::join_all(caps).await;
    assert_eq!(
        caps,
        ["5.0", "1.25"].map(dollars),
        "each has its own limits"
    );
    first.interrupt();
    let begun = Instant::now();
    while online(&hub, token, "site").await < 6 {
        assert!(begun.elapsed() < PATIENCE, "nobody took the hub's place");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(online(&hub, token, "app").await, 0);
    second.interrupt();
}

fn hub(scratch: &Scratch, listen: &str) -> (Running, String) {
    let running = Running::start(&mut scratch.codebutler(&["hub", "--listen", listen]));
    let url = line_with(&running.out, "ready");
    (running, url.trim_start_matches("ready").trim().to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chat_says_in_one_sentence_that_the_hub_went_away_and_goes_on_when_it_is_back() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let scratch = Scratch::new();
    let url = "http://127.0.0.1:1/v1";
    assert_eq!(scratch.run(&["init", "--yes", "--model-url", url]).code, 0);
    let (mut first, address) = hub(&scratch, "127.0.0.1:0");
    let chat = Running::start(&mut scratch.codebutler(&["chat", "-m", "hello"]));
    let thread = line_with(&chat.err, "thread ");
    let short = thread.trim().trim_start_matches("thread ").to_owned();
    let root = root_of(&scratch, &address, &short).await;
    first.interrupt();
    let away = line_with(&chat.err, "does not answer");
    assert!(
        away.contains(&address) && !away.contains("os error"),
        "{away}"
    );
    let place = address.trim_start_matches("http://").trim_end_matches('/');
    let (_second, again) = hub(&scratch, place);
    assert_eq!(again, address);
    assert_eq!(line_with(&chat.err, "hub"), "the hub is back");
    let own = tokens(&scratch, &scratch.root());
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let answer = json!({"channel": own["channel"], "thread_ts": root, "text": "good morning",
        "username": "codebutler.pm"});
    let posting = client
        .post(format!("{address}api/chat.postMessage"))
        .bearer_auth(own["agents"]["pm"]["bot"].as_str().unwrap())
        .json(&answer);
    let posted: Value = posting.send().await.unwrap().json().await.unwrap();
    assert_eq!(posted["ok"], true, "{posted}");
    line_with(&chat.out, "good morning");
}

/// When the thread with this id began.
async fn root_of(scratch: &Scratch, address: &str, short: &str) -> String {
    let own = tokens(scratch, &scratch.root());
    let channel = own["channel"].as_str().unwrap();
    let asking = reqwest::Client::builder().no_proxy().build().unwrap();
    let asking = asking
        .get(format!("{address}v1/channels/{channel}/messages"))
        .bearer_auth(own["people"]["you"]["token"].as_str().unwrap());
    let all: Value = asking.send().await.unwrap().json().await.unwrap();
    let root = all["messages"][0]["ts"].as_str().unwrap().to_owned();
    let id: ThreadId = format!("{channel}/{root}").parse().unwrap();
    assert_eq!(id.short(), short);
    root
}

#[test]
fn chat_without_a_hub_says_so_and_names_the_remedy() {
    let scratch = Scratch::new();
    let url = "http://127.0.0.1:1/v1";
    assert_eq!(scratch.run(&["init", "--yes", "--model-url", url]).code, 0);
    let (mut hub, _) = hub(&scratch, "127.0.0.1:0");
    hub.interrupt();
    let ran = scratch.run(&["chat", "-m", "hello"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!(lines.len(), 2, "{ran:?}");
    assert!(lines[0].ends_with("does not answer"), "{ran:?}");
    assert!(lines[1].contains("codebutler up"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_answers_under_its_public_name_and_under_no_other() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let scratch = Scratch::new();
    assert_eq!(scratch.run(&["init", "--yes"]).code, 0);
    let machine = json!({"hub": {"publicUrl": "https://team.example"}});
    scratch.machine(&machine.to_string());
    let (_hub, address) = hub(&scratch, "127.0.0.1:0");
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let asked = async |host: &str| {
        let asking = client.get(format!("{address}login")).header("host", host);
        asking.send().await.unwrap().status().as_u16()
    };
    assert_eq!(asked("team.example").await, 200);
    assert_eq!(asked("evil.example").await, 421);
    let link = scratch.run(&["link"]).out;
    assert!(
        link.starts_with("https://team.example/login?code="),
        "{link}"
    );
}
