//! Our reader of bash against two others: whatever tree-sitter-bash finds as a
//! command, and whatever `bash -n` accepts, we must see too.

use std::process::{Command, Stdio};

use butler_protocol::Tier;

use crate::risk_corpus::{judge, lines};

fn corpus() -> Vec<String> {
    let mut all = lines(include_str!("risk/destructive.txt"));
    all.extend(lines(include_str!("risk/harmless.txt")));
    all.extend(lines(include_str!("risk/corners.txt")));
    all
}

/// Command names by the other grammar; nothing when it cannot read the text.
fn other_names(parser: &mut tree_sitter::Parser, text: &str) -> Option<Vec<String>> {
    let tree = parser.parse(text, None)?;
    if tree.root_node().has_error() {
        return None;
    }
    let mut names = Vec::new();
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if node.kind() == "command_name" {
            names.push(text[node.byte_range()].to_owned());
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Some(names);
            }
        }
    }
}

/// A text in which every command that the other grammar names is replaced by
/// one that asks must ask, whatever it was before.
#[test]
fn every_command_the_other_grammar_sees_is_judged() {
    let mut parser = tree_sitter::Parser::new();
    parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .unwrap();
    let mut compared = 0;
    for text in lines(include_str!("risk/harmless.txt")) {
        let Some(names) = other_names(&mut parser, &text) else {
            continue;
        };
        for name in names
            .iter()
            .filter(|name| name.chars().all(char::is_alphanumeric))
        {
            let tree = parser.parse(&text, None).unwrap();
            let place = find(tree.root_node(), &text, name);
            let Some(place) = place else { continue };
            // What stood behind the name must not soften it, as `--version` would.
            let swapped = format!("{}reboot; :{}", &text[..place.start], &text[place.end..]);
            compared += 1;
            assert_eq!(judge(&swapped).tier, Tier::Destructive, "{swapped}");
        }
    }
    assert!(compared > 400, "{compared}");
}

fn find(root: tree_sitter::Node<'_>, text: &str, name: &str) -> Option<std::ops::Range<usize>> {
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        if node.kind() == "command_name" && &text[node.byte_range()] == name {
            return Some(node.byte_range());
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return None;
            }
        }
    }
}

/// Corners of the grammar, each hiding one command that asks.
#[test]
fn no_corner_of_the_grammar_hides_a_command() {
    for text in lines(include_str!("risk/corners.txt")) {
        let verdict = judge(&text);
        assert_eq!(verdict.tier, Tier::Destructive, "{text}");
        let harmless = text.replace("sudo", "true");
        if harmless == text {
            continue;
        }
        let verdict = judge(&harmless);
        assert!(
            verdict.tier < Tier::Destructive,
            "{harmless}: {}",
            verdict.reason
        );
    }
}

/// What bash itself refuses to read, nobody has to judge; what it reads, we
/// must read as well.
#[test]
fn what_bash_reads_we_read() {
    let present = Command::new("bash")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    // Commands are run by bash, so a machine without it can run nothing anyway.
    assert!(
        present.is_ok_and(|status| status.success()),
        "bash is not installed"
    );
    for text in corpus() {
        let accepted = Command::new("bash")
            .args(["-n", "-c", &text])
            .stderr(Stdio::null())
            .status()
            .unwrap()
            .success();
        let unreadable = judge(&text).reason.contains("cannot be read");
        assert!(!(accepted && unreadable), "{text}: {}", judge(&text).reason);
    }
}
