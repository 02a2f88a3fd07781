//! The questions of `init`, answered at a real terminal.

use crate::{
    endpoint::{listing, wanting},
    scratch::{Scratch, git, pushed},
    terminal::Terminal,
};

const DOWN: &str = "\u{1b}[B";
const ESCAPE: &str = "\u{1b}";
const CHAT: &str = "Where do you talk to the team?";
const PROVIDER: &str = "Who has the models?";
const CHECKS: &str = "Which checks?";
const NEXT: &str = "Start the team?";

/// A repository with these targets of a Makefile, committed.
fn repository(makefile: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch.write("Makefile", makefile);
    let root = scratch.root();
    git(&root, &["add", "."]);
    git(&root, &["commit", "--quiet", "-m", "theirs"]);
    scratch
}

/// The address that Ollama's variable gives, to one that lists this.
fn ollama(names: &[&str]) -> String {
    let url = listing(names);
    url.trim_start_matches("http://")
        .trim_end_matches("/v1")
        .to_owned()
}

fn machine(scratch: &Scratch) -> String {
    std::fs::read_to_string(scratch.home().join("config.json")).unwrap()
}

/// Clears a line that begins with something, and types another.
fn instead(terminal: &mut Terminal, text: &str) {
    terminal.press(&"\u{7f}".repeat(80));
    terminal.press(&format!("{text}\r"));
}

#[test]
fn three_answers_set_up_a_repository_and_name_the_next_command() {
    let scratch = repository("test:\n\ttrue\n");
    let mut command = scratch.codebutler(&["init"]);
    command.env("OLLAMA_HOST", ollama(&["qwen3:8b"]));
    let mut terminal = Terminal::of(command, None);
    terminal.expect(CHAT);
    terminal.press("\r");
    terminal.expect(PROVIDER);
    terminal.expect("Ollama (running here)");
    terminal.press("\r");
    terminal.expect(CHECKS);
    terminal.press("\r");
    terminal.expect_next(NEXT);
    terminal.press("\r");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    for part in [
        "it answers",
        "trying make test",
        "test passed",
        "codebutler up",
    ] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    let config = scratch.read(".codebutler/config.json");
    assert!(
        config.contains("make test") && config.contains("qwen3:8b"),
        "{config}"
    );
    assert!(config.contains("codebutler-app"), "{config}");
    assert!(machine(&scratch).contains("/v1"), "{}", machine(&scratch));
}

/// The last question leads on: here the team runs until Ctrl-C.
#[test]
fn the_team_can_be_started_from_the_last_question() {
    let scratch = repository("test:\n\ttrue\n");
    pushed(&scratch.root());
    let mut command = scratch.codebutler(&["init"]);
    command.env("OLLAMA_HOST", ollama(&["qwen3:8b"]));
    let mut terminal = Terminal::of(command, None);
    for question in [CHAT, PROVIDER, CHECKS] {
        terminal.expect_next(question);
        terminal.press("\r");
    }
    terminal.expect_next(NEXT);
    terminal.press(&format!("{DOWN}\r"));
    terminal.expect_next("/login?code=");
    terminal.expect_next("the team is at work");
    terminal.interrupt();
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
}

/// Where there is code, the team is offered to get to know it: the price is said before,
/// one key skips it, and what was wanted is posted once, however often the team starts.
#[test]
fn getting_to_know_the_code_is_offered_with_its_price_and_begins_with_the_team() {
    let scratch = repository("test:\n\ttrue\n");
    scratch.write("notes.py", "print('notes')\n");
    git(&scratch.root(), &["add", "."]);
    git(&scratch.root(), &["commit", "--quiet", "-m", "code"]);
    pushed(&scratch.root());
    let learn = "Let the team get to know the code?";
    let set_up = |key: &str, next: &str| {
        let mut command = scratch.codebutler(&["init"]);
        command.env("OLLAMA_HOST", ollama(&["qwen3:8b"]));
        let mut terminal = Terminal::of(command, None);
        terminal.expect(CHAT);
        terminal.press("\r");
        terminal.expect_next(PROVIDER);
        terminal.press("\r");
        terminal.expect_next(CHECKS);
        terminal.press("\r");
        terminal.expect_next(learn);
        terminal.expect("12 model calls at most, free on this machine");
        terminal.press(key);
        terminal.expect_next(NEXT);
        terminal.press(next);
        terminal
    };
    let (code, screen) = set_up(ESCAPE, "\r").end();
    assert!(
        code == 0 && screen.contains("Skipped: say `learn this repo`"),
        "{screen}"
    );
    let note = scratch.root().join(".codebutler/threads/learn.wanted");
    assert!(!note.exists());
    std::fs::remove_dir_all(scratch.root().join(".codebutler")).unwrap();
    std::fs::remove_file(scratch.home().join("config.json")).unwrap();

    let mut terminal = set_up("\r", &format!("{DOWN}\r"));
    terminal.expect_next("the team gets to know the code");
    terminal.interrupt();
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert!(!note.exists());
    let mut again = Terminal::of(scratch.codebutler(&["up", "--no-open"]), None);
    again.expect_next("the team is at work");
    let roots = scratch.codebutler(&["chat", "--list"]).output().unwrap();
    let roots = String::from_utf8_lossy(&roots.stdout).into_owned();
    assert_eq!(roots.matches("learn this repo").count(), 1, "{roots}");
    again.interrupt();
    again.end();
}

/// A dead address, a refused key and a model that is not there: each is named and
/// asked for again, and what was right before is kept.
#[test]
fn a_wrong_answer_is_said_and_asked_again_and_nothing_is_lost() {
    let key = ["good-", "key"].concat();
    let url = wanting(&key, &["smollm2", "qwen3:8b"]);
    let scratch = repository("test:\n\ttrue\n");
    let mut terminal = Terminal::start(&scratch, &["init", "--model", "smolm2"]);
    terminal.expect(CHAT);
    terminal.press("\r");
    terminal.expect_next(PROVIDER);
    terminal.press("another address\r");
    terminal.expect_next("Address");
    // Typed as it is: nothing stands there that would have to be cleared first.
    terminal.press("http://127.0.0.1:1/v1\r");
    terminal.expect_next("Connection refused");
    terminal.expect_next("What now?");
    terminal.press("\r");
    terminal.expect_next("Address");
    instead(&mut terminal, &url);
    terminal.expect_next("no key was given");
    terminal.expect_next("Key (Enter");
    terminal.press("bad-key\r");
    terminal.expect_next("refuses the key: no such key");
    terminal.expect_next("Key (Enter");
    terminal.press(&format!("{key}\r"));
    terminal.expect_next("it answers");
    terminal.expect_next("there is no model `smolm2`");
    terminal.expect_next("Model for all roles?");
    terminal.press("\r");
    terminal.expect_next(CHECKS);
    terminal.press("\r");
    terminal.expect_next(NEXT);
    terminal.press("\r");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert!(
        !screen.contains(&key),
        "a key must not show while it is typed"
    );
    let (config, machine) = (scratch.read(".codebutler/config.json"), machine(&scratch));
    assert!(
        config.contains("make test") && config.contains("\"smollm2\""),
        "{config}"
    );
    assert!(
        machine.contains(&key) && machine.contains(&url),
        "{machine}"
    );
    assert!(
        !machine.contains("bad-key") && !config.contains("smolm2\""),
        "{machine}"
    );
}

/// A check that is red and one whose tool is not there are asked about one by one.
#[test]
fn a_check_that_does_not_work_is_named_and_asked_about() {
    let scratch = repository(
        "test:\n\tsh -c 'echo 3 wrong; exit 1'\nlint:\n\tno-such-linter .\nbuild:\n\ttrue\n",
    );
    scratch.machine(
        r#"{"models": {"endpoints": {"main": {"baseUrl": "URL"}}}}"#
            .replace("URL", &listing(&["m"]))
            .as_str(),
    );
    let mut terminal = Terminal::start(&scratch, &["init"]);
    terminal.expect(CHAT);
    terminal.press("\r");
    terminal.expect_next(CHECKS);
    terminal.press("\r");
    terminal.expect_next("`make test`, exit");
    terminal.expect_next("What about `make test`?");
    // Red tests are still the tests.
    terminal.press("\r");
    terminal.expect_next("is its tool installed?");
    terminal.expect_next("What about `make lint`?");
    // Changed, and tried again.
    terminal.press("change\r");
    terminal.expect_next("Command:");
    instead(&mut terminal, "sh -c true");
    terminal.expect_next("trying sh -c true");
    terminal.expect_next("What about `make test`?");
    terminal.press("\r");
    terminal.expect_next(NEXT);
    terminal.press("\r");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    let config = scratch.read(".codebutler/config.json");
    for part in ["make test", "\"sh -c true\"", "make build"] {
        assert!(config.contains(part), "{part}: {config}");
    }
    assert!(!config.contains("make lint"), "{config}");
}

#[test]
fn a_machine_that_is_set_up_is_not_asked_about_models_again_unless_they_are_gone() {
    let scratch = Scratch::new();
    let stored = |url: &str| {
        let endpoint = serde_json::json!({"baseUrl": url});
        serde_json::json!({"models": {"endpoints": {"main": endpoint}}}).to_string()
    };
    scratch.machine(&stored(&listing(&["m"])));
    let mut terminal = Terminal::start(&scratch, &["init"]);
    terminal.expect(CHAT);
    terminal.press("\r");
    terminal.expect(CHECKS);
    terminal.press("\r");
    terminal.expect_next(NEXT);
    terminal.press("\r");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert!(!screen.contains(PROVIDER), "{screen}");

    // What is stored and refused can be replaced.
    let key = ["other-", "key"].concat();
    let url = wanting(&key, &["m"]);
    scratch.machine(&stored(&url));
    let mut terminal = Terminal::start(&scratch, &["init"]);
    terminal.expect_next("no key was given");
    terminal.expect_next(PROVIDER);
    terminal.press("another address\r");
    terminal.expect_next("Address");
    instead(&mut terminal, &url);
    terminal.expect_next("Key (Enter");
    terminal.press(&format!("{key}\r"));
    terminal.expect_next("it answers");
    terminal.expect_next(NEXT);
    terminal.press("\r");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert!(machine(&scratch).contains(&key), "{}", machine(&scratch));
}

#[test]
fn what_no_answer_could_mend_is_said_before_the_first_question() {
    let scratch = Scratch::new();
    let file = scratch.home().with_file_name("no-folder");
    std::fs::write(&file, "").unwrap();
    let before = scratch.files();
    let terminal = Terminal::start(&scratch, &["init", "--model-url", "nonsense"]);
    let (code, screen) = terminal.end();
    assert_eq!(code, 4, "{screen}");
    assert!(screen.contains("--model-url nonsense"), "{screen}");
    assert!(!screen.contains(CHAT), "{screen}");

    let mut command = scratch.codebutler(&["init"]);
    command.env("CODEBUTLER_HOME", file.join("below"));
    let (code, screen) = Terminal::of(command, None).end();
    assert_eq!(code, 4, "{screen}");
    assert!(screen.contains("no-folder cannot be written"), "{screen}");
    assert!(!screen.contains(CHAT), "{screen}");
    assert_eq!(scratch.files(), before);
}

#[test]
fn stopping_in_the_middle_writes_nothing() {
    let scratch = Scratch::new();
    let before = scratch.files();
    let mut terminal = Terminal::start(&scratch, &["init"]);
    terminal.expect(CHAT);
    terminal.press("\r");
    terminal.expect(PROVIDER);
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
    for (answer, tried) in [(format!("{DOWN}\r"), false), ("\r".to_owned(), true)] {
        let scratch = Scratch::new();
        let stored =
            serde_json::json!({"models": {"endpoints": {"main": {"baseUrl": listing(&["m"])}}}});
        scratch.machine(&stored.to_string());
        scratch.write(
            "package.json",
            r#"{"scripts": {"test": "true"}, "dependencies": {"left-pad": "1.3.0"}}"#,
        );
        scratch.write("package-lock.json", "{}");
        let root = scratch.root();
        git(&root, &["add", "."]);
        git(&root, &["commit", "--quiet", "-m", "theirs"]);
        let mut terminal = Terminal::start(&scratch, &["init"]);
        terminal.expect(CHAT);
        terminal.press("\r");
        terminal.expect("prepare  npm ci  (installs, with the network)");
        terminal.expect(CHECKS);
        assert!(!terminal.seen().contains("trying npm ci"));
        terminal.press(&answer);
        if tried {
            // It cannot work here; it is kept all the same.
            terminal.expect("What about `npm ci`?");
            terminal.press("keep\r");
        }
        terminal.expect_next(NEXT);
        terminal.press("\r");
        let (code, screen) = terminal.end();
        assert_eq!(code, 0, "{screen}");
        assert_eq!(screen.contains("trying npm ci"), tried, "{screen}");
        let written = scratch.read(".codebutler/config.json");
        assert!(written.contains("npm ci"), "{written}");
    }
}
