//! `rehearsal` and `model`: a scripted endpoint and a client, both ours, both as
//! real processes.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::scratch::{Ran, Scratch, binary, json_lines, pushed, ran};

const SCENARIO: &str = "\
title: a word
price: { input: 1.00, output: 4.00 }
roles:
  pm:
    - when: { tools_offered: false }
      say: pong
  coder:
    - say: never asked
";

/// A server of ours until it is told to stop.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(scratch: &Scratch, args: &[&str]) -> Self {
        let mut command = scratch.codebutler(args);
        let piped = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let url = line.trim().strip_prefix("ready ").unwrap().to_owned();
        Self { child, url }
    }

    /// Ends it as a service manager would; what it said beside the result.
    fn stop(mut self) -> String {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
        let mut said = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        said
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Only a test that failed leaves it running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn endpoint(scratch: &Scratch, url: &str) {
    let endpoint = json!({"kind": "generic", "baseUrl": url});
    scratch.machine(&json!({"models": {"endpoints": {"stage": endpoint}}}).to_string());
}

#[test]
fn a_scripted_model_answers_is_listed_and_has_a_price() {
    let scratch = Scratch::new();
    scratch.write("word.yaml", SCENARIO);
    let server = Server::start(&scratch, &["rehearsal", "serve", "word.yaml"]);
    endpoint(&scratch, &server.url);

    let ping = scratch.run(&["model", "ping", "rehearsal/pm"]);
    assert!(ping.code == 0 && ping.err.is_empty(), "{ping:?}");
    assert!(
        ping.out.starts_with("rehearsal/pm answered in "),
        "{ping:?}"
    );
    assert!(
        ping.out.contains(" s: pong\n") && ping.out.contains(" tokens in, "),
        "{ping:?}"
    );

    let list = scratch.run(&["model", "list"]);
    assert_eq!(list.out.lines().count(), 12, "{list:?}");
    let lead = scratch.run(&["model", "list", "REHEARSAL/LEAD", "--json"]);
    let lead = &json_lines(&lead.out)[0];
    assert!(
        lead[0]["id"] == "rehearsal/lead" && lead[1].is_null(),
        "{lead}"
    );

    let price = scratch.run(&["model", "price", "rehearsal/coder"]);
    assert!(
        price.code == 0 && price.out.contains("$1.00 in, $4.00 out per million"),
        "{price:?}"
    );
    let unknown = scratch.run(&["model", "price", "rehearsal/codre", "--json"]);
    assert!(
        unknown.code == 5 && json_lines(&unknown.out)[0]["found"].is_null(),
        "{unknown:?}"
    );
    let near = scratch.run(&["model", "price", "rehearsal/codre"]);
    assert!(near.out.contains("near: rehearsal/coder"), "{near:?}");

    let said = server.stop();
    assert!(said.contains("never given: coder"), "{said}");
}

#[test]
fn a_price_that_the_list_does_not_have_is_the_one_that_counts() {
    let scratch = Scratch::new();
    let url = crate::endpoint::listing(&["tiny"]);
    let price = |endpoint: serde_json::Value| {
        scratch.machine(&json!({"models": {"endpoints": {"stage": endpoint}}}).to_string());
        scratch.run(&["model", "price", "tiny"])
    };
    let own = price(json!({"baseUrl": url}));
    assert!(own.code == 0 && own.out.contains("free"), "{own:?}");
    let named = json!({"baseUrl": url, "price": {"input": 2, "output": 3}});
    let named = price(named);
    assert!(
        named.code == 0 && named.out.contains("$2.00 in, $3.00 out"),
        "{named:?}"
    );
    // Only a server of one's own is free; this dialect is somebody's service.
    let unknown = price(json!({"kind": "openai", "baseUrl": url, "apiKey": "x"}));
    assert!(
        unknown.code == 5 && unknown.out.contains("price unknown"),
        "{unknown:?}"
    );
}

#[test]
fn in_a_repo_the_models_of_its_roles_are_meant() {
    let scratch = Scratch::new();
    scratch.write("word.yaml", SCENARIO);
    let server = Server::start(&scratch, &["rehearsal", "serve", "word.yaml"]);
    endpoint(&scratch, &server.url);
    let outside = scratch.run(&["model", "ping"]);
    assert!(
        outside.code == 4 && outside.err.contains("name the model"),
        "{outside:?}"
    );

    let models = json!({
        "pm": {"default": "rehearsal/pm"}, "coder": {"default": "rehearsal/coder"},
        "reviewer": {"model": "rehearsal/reviewer"}, "researcher": {"model": "rehearsal/researcher"},
        "artist": {"uxModel": "rehearsal/artist"}, "lead": {"model": "rehearsal/laed"},
    });
    scratch.write(
        ".codebutler/config.json",
        &json!({"models": models}).to_string(),
    );
    let ping = scratch.run(&["model", "ping"]);
    assert!(ping.out.starts_with("rehearsal/pm answered"), "{ping:?}");
    let price = scratch.run(&["model", "price"]);
    assert_eq!(price.code, 5, "one is misspelt: {price:?}");
    let line = |role: &str| {
        price
            .out
            .lines()
            .find(|line| line.starts_with(role))
            .unwrap()
    };
    assert!(line("coder").contains("$4.00 out"), "{price:?}");
    assert!(line("lead").contains("near: rehearsal/lead"), "{price:?}");
    server.stop();
}

const FITNESS: &str = "\
title: an examination
roles:
  pm:
    - when: { tools_offered: true }
      say: I would rather talk.
    - when: { tools_offered: false }
      say: no idea
      repeat: forever
";

/// The doctor's findings of this name, as `level what fix`.
fn findings(scratch: &Scratch, args: &[&str], name: &str) -> (i32, Vec<String>) {
    let mut all = vec!["doctor", "--json"];
    all.extend(args);
    let run = scratch.run(&all);
    let list: Vec<serde_json::Value> = serde_json::from_str(&run.out).unwrap();
    let of_name = list.iter().filter(|one| one["name"] == name);
    let lines = of_name.map(|one| format!("{} {} {}", one["level"], one["what"], one["fix"]));
    (run.code, lines.collect())
}

#[test]
fn the_doctor_compares_ids_with_the_endpoints_list() {
    let scratch = Scratch::new();
    pushed(&scratch.root());
    scratch.write("word.yaml", SCENARIO);
    let server = Server::start(&scratch, &["rehearsal", "serve", "word.yaml"]);
    assert_eq!(
        scratch
            .run(&["init", "--yes", "--model-url", &server.url])
            .code,
        0
    );
    let config = |lead: &str| {
        let role =
            |name: &str| json!({"model": format!("rehearsal/{name}"), "fallbackModel": null});
        let models = json!({
            "pm": {"default": "rehearsal/pm", "pool": {}, "fallbackModel": null},
            "coder": role("coder"), "reviewer": role("reviewer"), "researcher": role("researcher"),
            "artist": {"uxModel": "rehearsal/artist", "fallbackModel": null},
            "lead": {"model": lead, "fallbackModel": null},
        });
        scratch.write(
            ".codebutler/config.json",
            &json!({"models": models}).to_string(),
        );
    };
    config("rehearsal/lead");
    let (_, fine) = findings(&scratch, &[], "models");
    assert!(fine.len() == 1 && fine[0].starts_with("\"ok\""), "{fine:?}");
    config("rehearsal/laed");
    let (code, wrong) = findings(&scratch, &[], "models");
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    for part in [
        "failed",
        "models.lead.model",
        "rehearsal/laed",
        "did you mean rehearsal/lead",
    ] {
        assert!(wrong[0].contains(part), "{part}: {wrong:?}");
    }
    // A server of one's own may answer to any name: it was asked, and does not.
    assert_eq!(code, 5, "{wrong:?}");

    // The same list under another kind of endpoint: calls would fail there.
    let strict = json!({"kind": "openai", "baseUrl": server.url, "apiKey": "x"});
    scratch.machine(&json!({"models": {"endpoints": {"main": strict}}}).to_string());
    let (code, wrong) = findings(&scratch, &[], "models");
    assert!(code == 5 && wrong[0].starts_with("\"failed\""), "{wrong:?}");
    server.stop();
    let (code, away) = findings(&scratch, &[], "models");
    assert!(code == 5 && away[0].starts_with("\"failed\""), "{away:?}");
}

#[test]
fn the_doctor_probes_when_asked_and_finds_a_model_that_only_talks() {
    let scratch = Scratch::new();
    scratch.write("fitness.yaml", FITNESS);
    let server = Server::start(&scratch, &["rehearsal", "serve", "fitness.yaml"]);
    assert_eq!(
        scratch
            .run(&["init", "--yes", "--model-url", &server.url])
            .code,
        0
    );
    let all = json!({"model": "rehearsal/pm"});
    let models = json!({"pm": {"default": "rehearsal/pm"}, "coder": all, "reviewer": all,
        "researcher": all, "artist": {"uxModel": "rehearsal/pm"}, "lead": all});
    scratch.write(
        ".codebutler/config.json",
        &json!({"models": models}).to_string(),
    );
    let (_, unasked) = findings(&scratch, &[], "model fitness");
    assert!(unasked.is_empty(), "{unasked:?}");
    let (code, found) = findings(&scratch, &["--probe"], "model fitness");
    assert_eq!(found.len(), 1, "one model, one probe: {found:?}");
    for part in [
        "failed",
        "pm, coder",
        "does not call tools",
        "I would rather talk.",
    ] {
        assert!(found[0].contains(part), "{part}: {found:?}");
    }
    assert_eq!(code, 5);
    server.stop();
}

#[test]
fn an_endpoint_that_is_missing_or_away_is_told() {
    let scratch = Scratch::new();
    let none = scratch.run(&["model", "list"]);
    assert!(
        none.code == 4 && none.err.contains("models.endpoints"),
        "{none:?}"
    );
    // Bound and never answered would hang; a port that nobody has refuses.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    endpoint(&scratch, &format!("http://{free}/v1"));
    let away = scratch.run(&["model", "list"]);
    assert!(
        away.code == 4 && away.err.contains("the model list of"),
        "{away:?}"
    );
    let ping = scratch.run(&["model", "ping", "tiny"]);
    for part in [
        &format!("http://{free}/v1"),
        "is the server running",
        "models.endpoints.stage.baseUrl",
    ] {
        assert!(
            ping.code == 4 && ping.err.contains(part),
            "{part}: {ping:?}"
        );
    }
}

#[test]
fn a_scenario_is_checked_with_file_and_line() {
    let scratch = Scratch::without_git();
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo/scenarios/json-flag.yaml");
    let sound = scratch.run(&["rehearsal", "check", demo.to_str().unwrap()]);
    assert!(
        sound.code == 0 && sound.out.contains("sound; steps: pm "),
        "{sound:?}"
    );

    let wrong = "title: x\nroles:\n  pm:\n    - call: [{ tool: Raed, with: {} }]\n    \
                 - call: [{ tool: AskUser, with: { questoin: why } }]\n";
    scratch.write("wrong.yaml", wrong);
    let wrong = scratch.run(&["rehearsal", "check", "wrong.yaml"]);
    assert_eq!(wrong.code, 5, "{wrong:?}");
    for part in [
        "wrong.yaml:4: pm: there is no tool `Raed`",
        "wrong.yaml:5: ",
        "`questoin`",
        "`question`",
    ] {
        assert!(wrong.out.contains(part), "{part} is missing: {wrong:?}");
    }
    scratch.write("torn.yaml", "title: x\nroles: [\n");
    assert_eq!(scratch.run(&["rehearsal", "check", "torn.yaml"]).code, 5);
    let serve = scratch.run(&["rehearsal", "serve", "torn.yaml"]);
    assert!(
        serve.code == 4 && serve.err.contains("torn.yaml"),
        "{serve:?}"
    );
    assert_eq!(scratch.run(&["rehearsal", "check", "missing.yaml"]).code, 4);
}

#[test]
fn a_person_answers_through_the_mailbox() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch, &["rehearsal", "mailbox", "post"]);
    endpoint(&scratch, &server.url);
    let mut ping = Command::new(binary());
    ping.args(["model", "ping", "rehearsal/pm"])
        .current_dir(scratch.root())
        .env("CODEBUTLER_HOME", scratch.home());
    let asking = std::thread::spawn(move || ran(&mut ping));
    let request = parked(&scratch.root().join("post/waiting"));
    let answer = request
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .replace(".md", ".yaml");
    let answers = scratch.root().join("post/answers");
    // Whole or not at all: a half-written answer must not be read.
    fs::write(answers.join("draft"), "a person was here").unwrap();
    fs::rename(answers.join("draft"), answers.join(answer)).unwrap();
    let Ran { code, out, err } = asking.join().unwrap();
    assert!(code == 0 && out.contains("a person was here"), "{out}{err}");
    server.stop();
}

/// The first request that comes.
fn parked(folder: &Path) -> PathBuf {
    loop {
        let files = fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().path());
        let mut files = files.filter(|path| path.extension().is_some_and(|kind| kind == "md"));
        if let Some(file) = files.next() {
            return file;
        }
        std::thread::yield_now();
    }
}
