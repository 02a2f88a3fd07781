//! The machine config is its owner's alone.

use std::fs;

use butler_config::{Ask, agree};

use crate::scratch::{Scratch, mode};

#[test]
fn a_private_file_that_others_can_use_is_refused_with_the_command_to_run() {
    for open in [0o644, 0o640, 0o604, 0o620, 0o601, 0o660] {
        let scratch = Scratch::new().machine("{}");
        let file = scratch.home().join("config.json");
        mode(&file, open);
        let problems = scratch.load().unwrap_err();
        let command = format!("chmod 600 {}", file.display());
        assert!(
            problems.to_string().contains(&command),
            "{open:o}: {problems}"
        );
    }
    for closed in [0o600, 0o400] {
        let scratch = Scratch::new().machine("{}");
        mode(&scratch.home().join("config.json"), closed);
        assert!(scratch.load().is_ok(), "{closed:o}");
    }
}

#[test]
fn a_folder_in_place_of_the_file_is_a_problem_and_not_an_empty_file() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.home().join("config.json")).unwrap();
    mode(&scratch.home().join("config.json"), 0o700);
    assert!(
        scratch
            .load()
            .unwrap_err()
            .to_string()
            .contains("cannot be read")
    );
}

/// What a repo asks for that names this command.
fn asks(scratch: &Scratch) -> Vec<Ask> {
    scratch.load().unwrap().waiting()
}

#[test]
fn what_was_agreed_is_added_to_the_file_and_the_file_stays_private() {
    let scratch = Scratch::new()
        .machine("{\n  // mine\n  \"approvers\": [\"U1\"]\n}\n")
        .repo(
            "config.json",
            r#"{"prepare": ["make"], "limits": {"reviewRounds": 9}}"#,
        );
    let asks = asks(&scratch);
    agree(&scratch.home(), &scratch.root(), &asks[..1]).unwrap();
    agree(&scratch.home(), &scratch.root(), &asks[1..]).unwrap();
    let consents = scratch.load().unwrap().machine.consents.policy;
    let hashes: Vec<_> = consents.iter().map(|one| one.sha256.as_str()).collect();
    assert_eq!(hashes, [asks[0].sha256.as_str(), asks[1].sha256.as_str()]);
    let text = fs::read_to_string(scratch.home().join("config.json")).unwrap();
    assert!(text.contains("// mine") && text.contains("U1"), "{text}");
}

#[test]
fn agreeing_on_a_machine_without_a_file_makes_a_private_one() {
    let scratch = Scratch::new().repo("config.json", r#"{"prepare": ["make"]}"#);
    agree(&scratch.home(), &scratch.root(), &asks(&scratch)).unwrap();
    let settings = scratch.load().unwrap();
    assert_eq!(settings.machine.consents.policy.len(), 1);
    assert_eq!(settings.repo.prepare, ["make"]);
}
