//! The errors that people meet most, as they meet them: the command, how it ended
//! and what it said. One snapshot holds all of them, so that they are read side by
//! side: what went wrong, where, what to do.

use std::{fmt::Write, fs, net::TcpListener, os::unix::fs::PermissionsExt};

use serde_json::json;

use crate::{
    endpoint,
    running::{Running, line_with},
    scratch::{Ran, Scratch, pushed},
};

/// What was run and what came, with the places of this run taken out.
#[derive(Default)]
struct Told(String);

impl Told {
    fn write(&mut self, case: &str, scratch: &Scratch, args: &[&str], ran: &Ran, hide: &[&str]) {
        let args = args.iter().map(|word| {
            let plain = |c: char| c.is_alphanumeric() || "-_./:".contains(c);
            match word.chars().all(plain) {
                true => (*word).to_owned(),
                false => format!("'{word}'"),
            }
        });
        let command = args.collect::<Vec<_>>().join(" ");
        let mut text = format!("{command} (exit {})\n{}{}", ran.code, ran.out, ran.err);
        text = text.replace(scratch.root().to_str().unwrap(), "[repo]");
        text = text.replace(scratch.home().to_str().unwrap(), "[home]");
        for one in hide {
            text = text.replace(one, "[address]");
        }
        // Log lines begin with the time of day; the error itself follows them.
        let log = |line: &&str| line.get(2..3) == Some(":") && line.get(5..6) == Some(":");
        let lines = text.lines().filter(|line| !log(line));
        let text = lines.map(without_session).collect::<Vec<_>>().join("\n");
        let _ = writeln!(self.0, "## {case}\n\n$ codebutler {}\n", text.trim_end());
    }

    /// Runs a command that must fail.
    fn run(&mut self, case: &str, scratch: &Scratch, args: &[&str], hide: &[&str]) {
        let (code, out, err) = Running::start(&mut scratch.codebutler(args)).ended_soon();
        assert_ne!(code, 0, "{args:?}");
        self.write(case, scratch, args, &Ran { code, out, err }, hide);
    }
}

/// A session's name is made from the time.
fn without_session(line: &str) -> String {
    let words = line.split_inclusive([' ', ':', '=']);
    words.fold(String::new(), |text, word| {
        let plain = word.trim_end_matches([' ', ':', '=']);
        let session = plain.strip_prefix("exec-").is_some_and(|rest| {
            rest.len() > 8 && rest.bytes().all(|b| b.is_ascii_digit() || b == b'-')
        });
        match session {
            true => format!("{text}[session]{}", &word[plain.len()..]),
            false => text + word,
        }
    })
}

/// A repo that is set up, with a model endpoint that nobody answers at.
fn set_up() -> Scratch {
    let scratch = Scratch::new();
    pushed(&scratch.root());
    let url = "http://127.0.0.1:1/v1";
    assert_eq!(scratch.run(&["init", "--yes", "--model-url", url]).code, 0);
    scratch
}

/// Before anything runs: the place, the command line, the files.
fn places_and_files(told: &mut Told) {
    let nowhere = Scratch::without_git();
    told.run("not a git repository", &nowhere, &["init", "--yes"], &[]);
    let fresh = Scratch::new();
    told.run("not set up", &fresh, &["up"], &[]);
    told.run("unknown command", &fresh, &["upp"], &[]);
    told.run("no model is known", &fresh, &["exec", "fix the tests"], &[]);
    told.run("a wrong role", &fresh, &["--role", "tester"], &[]);
    let scratch = set_up();
    let config = scratch.read(".codebutler/config.json");
    let wrong = json!({"limits": {"maxCostPerThred": 3, "reviewRounds": "three"},
        "models": {"endpoints": {"x": {"baseUrl": "http://example.com"}}}});
    scratch.write(".codebutler/config.json", &wrong.to_string());
    told.run("config problems", &scratch, &["up"], &[]);
    scratch.write(".codebutler/config.json", "{ \"limits\": ");
    told.run("config that is not JSON", &scratch, &["up"], &[]);
    scratch.write(".codebutler/config.json", &config);
    let file = scratch.home().join("config.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    told.run(
        "machine config that others can read",
        &scratch,
        &["up"],
        &[],
    );
}

/// The model endpoint: no key, a refused key, nobody there, no such model.
fn models(told: &mut Told) {
    let fresh = Scratch::new();
    let args = ["init", "--yes", "--model-key-env", "NO_SUCH_KEY"];
    told.run("no model key", &fresh, &args, &[]);
    let refusing = endpoint::answering(
        "401 Unauthorized",
        r#"{"error": {"code": 401, "message": "No auth credentials found"}}"#,
    );
    let args = ["exec", "--model", "m", "--model-url", &refusing, "hi"];
    told.run("refused key", &fresh, &args, &[&refusing]);
    let args = [
        "exec",
        "--model",
        "m",
        "--model-url",
        "http://127.0.0.1:1/v1",
        "hi",
    ];
    told.run("no model server", &fresh, &args, &[]);
    let listing = endpoint::listing(&["acme/coder-2", "acme/small"]);
    let args = ["init", "--yes", "--model-url", &listing];
    let scratch = Scratch::new();
    pushed(&scratch.root());
    assert_eq!(scratch.run(&args).code, 0);
    let args = ["model", "price", "acme/codr-2"];
    told.run("model missing", &scratch, &args, &[&listing]);
}

/// The hub: not there, the port taken, open to others.
fn hubs(told: &mut Told) {
    let scratch = set_up();
    told.run("hub not running", &scratch, &["chat", "-m", "hi"], &[]);
    told.run("no link without a hub", &scratch, &["link"], &[]);
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = other.local_addr().unwrap().to_string();
    told.run(
        "port taken",
        &scratch,
        &["hub", "--listen", &taken],
        &[&taken],
    );
    let args = ["hub", "--listen", "0.0.0.0:0"];
    told.run("an address that others reach", &scratch, &args, &[]);
    let args = ["hub", "--listen", "127.0.0.1:0"];
    let mut hub = Running::start(&mut scratch.codebutler(&args));
    let ready = line_with(&hub.out, "ready");
    let address = ready
        .trim_start_matches("ready")
        .trim()
        .trim_end_matches('/');
    told.run("hub running already", &scratch, &args, &[address]);
    let args = ["chat", "nosuch", "-m", "hi"];
    told.run("no such thread", &scratch, &args, &[address]);
    hub.interrupt();
}

/// What is not there, and what needs a person.
fn things(told: &mut Told) {
    let scratch = set_up();
    told.run("no such pull request", &scratch, &["pr", "show", "7"], &[]);
    told.run("nothing to undo", &scratch, &["undo", "exec/3"], &[]);
    told.run(
        "no such skill",
        &scratch,
        &["skill", "show", "explian"],
        &[],
    );
    told.run("no Slack tokens", &scratch, &["slack", "check"], &[]);
    let config = json!({"prepare": ["make everything"]});
    scratch.write(".codebutler/config.json", &config.to_string());
    told.run(
        "nobody to ask for consent",
        &scratch,
        &["policy", "accept"],
        &[],
    );
}

#[test]
fn the_errors_that_people_meet_most() {
    let mut told = Told::default();
    places_and_files(&mut told);
    models(&mut told);
    hubs(&mut told);
    things(&mut told);
    assert!(told.0.matches("## ").count() >= 20);
    insta::assert_snapshot!(told.0);
}
