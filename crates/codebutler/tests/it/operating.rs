//! What an operator asks on a machine whose hub belongs to no repository, and of which one
//! repository is broken: log, status, and why a message was not taken.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Stdio},
};

use serde_json::json;

use crate::scratch::{Scratch, binary, ran};

/// Ended when dropped.
struct Alone(Child);

impl Drop for Alone {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A hub that was started outside of any repository.
fn hub(scratch: &Scratch) -> Alone {
    let mut command = scratch.command(&binary());
    command.arg("hub").current_dir(scratch.home());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    lines.read_line(&mut line).unwrap();
    assert!(line.starts_with("ready"), "{line}");
    Alone(child)
}

#[test]
fn a_hub_of_no_repository_and_a_broken_neighbour_are_told_about() {
    let scratch = Scratch::new();
    let limits = json!({"messagesPerMinute": 1});
    let machine = json!({"hub": {"listen": "127.0.0.1:0", "limits": limits}});
    scratch.machine(&machine.to_string());
    scratch.write(".codebutler/config.json", "{}");
    let shop = scratch.root().with_file_name("shop");
    fs::create_dir_all(shop.join(".codebutler")).unwrap();
    fs::write(shop.join(".codebutler/config.json"), "{}").unwrap();
    let _hub = hub(&scratch);
    for root in [scratch.root(), shop.clone()] {
        let tokens = ran(scratch.codebutler(&["hub", "tokens"]).current_dir(root));
        assert_eq!(tokens.code, 0, "{tokens:?}");
    }

    for place in [scratch.root(), scratch.home()] {
        let log = ran(scratch.codebutler(&["logs", "--hub"]).current_dir(&place));
        assert!(log.out.contains("the hub listens"), "{place:?}: {log:?}");
    }

    fs::write(shop.join(".codebutler/config.json"), "{ broken").unwrap();
    let status = scratch.run(&["status", "--all"]);
    let said = [
        "nothing runs",
        "that of this machine, http://127.0.0.1:",
        "1 problem in the configuration",
    ];
    for words in said {
        assert!(status.out.contains(words), "{words}: {status:?}");
    }

    let chat = ["chat", "-m", "once", "--wait", "0"];
    scratch.run(&chat);
    let again = scratch.run(&chat);
    assert!(
        again.err.contains("`hub.limits.messagesPerMinute`"),
        "{again:?}"
    );
    assert!(!again.err.contains('{'), "{again:?}");
}
