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

/// What installs comes from a stranger's files and gets the network: it runs after a
/// person's word about exactly that, and not before.
#[test]
fn nothing_is_installed_before_the_person_agreed_to_try_it() {
    for (answer, tried) in [("n\r", false), ("\r", true)] {
        let scratch = Scratch::new();
        scratch.machine(r#"{"openrouter": {"apiKey": "known"}}"#);
        scratch.write(
            "package.json",
            r#"{"scripts": {"test": "true"}, "dependencies": {"left-pad": "1.3.0"}}"#,
        );
        scratch.write("package-lock.json", "{}");
        let root = scratch.root();
        crate::scratch::git(&root, &["add", "."]);
        crate::scratch::git(&root, &["commit", "--quiet", "-m", "theirs"]);
        let mut terminal = Terminal::start(&scratch, &["init"]);
        terminal.expect("Channel for this repository?");
        terminal.press("\r");
        terminal.expect("Run these checks?");
        terminal.press("\r");
        terminal.expect("Prepare every fresh worktree with npm ci?");
        terminal.press("\r");
        terminal.expect("Try them once now, with the network? npm ci");
        assert!(!terminal.seen().contains("trying npm ci"));
        terminal.press(answer);
        let (code, screen) = terminal.end();
        assert_eq!(code, 0, "{screen}");
        assert_eq!(screen.contains("trying npm ci"), tried, "{screen}");
        let written = scratch.read(".codebutler/config.json");
        assert!(written.contains("npm ci"), "{written}");
    }
}
