//! The questions of `init`, answered at a real terminal.

use crate::{scratch::Scratch, terminal::Terminal};

const DOWN: &str = "\u{1b}[B";
const ESCAPE: &str = "\u{1b}";

#[test]
fn three_answers_set_up_a_repository() {
    let scratch = Scratch::new();
    scratch.write("go.mod", "module x\n");
    let mut terminal = Terminal::start(&scratch, &["init"]);
    terminal.expect("Channel for this repository?");
    terminal.press("-two\r");
    terminal.expect("Where do the models answer?");
    terminal.press("\r");
    terminal.expect("OpenRouter key (empty for later):");
    let key = ["sk-", "or-", "typed"].concat();
    terminal.press(&format!("{key}\r"));
    terminal.expect("Run these checks?");
    terminal.press("\r");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert!(
        !screen.contains(&key),
        "a key must not show while it is typed"
    );
    let machine = std::fs::read_to_string(scratch.home().join("config.json")).unwrap();
    assert!(machine.contains(&key), "{machine}");
    assert!(
        scratch
            .read(".codebutler/config.json")
            .contains("go test ./...")
    );
}

#[test]
fn a_machine_that_is_set_up_is_not_asked_about_models_again() {
    let scratch = Scratch::new();
    scratch.machine(r#"{"openrouter": {"apiKey": "known"}}"#);
    let mut terminal = Terminal::start(&scratch, &["init"]);
    terminal.expect("Channel for this repository?");
    terminal.press("\r");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert!(
        !screen.contains("models answer") && !screen.contains("Run these"),
        "{screen}"
    );
}

#[test]
fn stopping_in_the_middle_writes_nothing() {
    let scratch = Scratch::new();
    let before = scratch.files();
    let mut terminal = Terminal::start(&scratch, &["init"]);
    terminal.expect("Channel for this repository?");
    terminal.press("\r");
    terminal.expect("Where do the models answer?");
    terminal.press(DOWN);
    terminal.press(ESCAPE);
    let (code, screen) = terminal.end();
    assert_eq!(code, 4, "{screen}");
    assert!(screen.contains("nothing was written"), "{screen}");
    assert_eq!(scratch.files(), before);
}
