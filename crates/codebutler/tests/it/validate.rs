//! `validate` tells everything at once, on the error stream, without secrets.

use crate::scratch::{Scratch, ran};

#[test]
fn eight_mistakes_are_told_in_one_run_without_a_secret() {
    let scratch = Scratch::new();
    let secret = ["sk-", "ant-", "0123456789"].concat();
    scratch.machine(&format!(
        "{{\n\"openruoter\": {{\"apiKey\": \"{secret}\"}},\n\"slack\": {{\"botToken\": \"{secret}\"}},\n\
         \"hub\": {{\"listen\": \"{secret}\"}}\n}}"
    ));
    scratch.write(
        ".codebutler/config.json",
        &format!(
            "{{\n\"journal\": \"{secret}\",\n\"limits\": {{\"waitMinutes\": 0}},\n\
             \"openai\": {{\"apiKey\": \"{secret}\"}},\n\"language\": {{\"repo\": \"${{UNSET_ONE}}\"}}\n}}"
        ),
    );
    scratch.write(".codebutler/policy.json", "{\n\"knowledge\": \"drect\"}");
    let run = scratch.run(&["validate"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.out.is_empty() && !run.err.contains(&secret), "{run:?}");
    assert!(run.err.contains("8 problems"), "{}", run.err);
    let home = scratch.home();
    let repo = scratch.root().join(".codebutler");
    for (place, line, key) in [
        (&home, "config.json:2", "openruoter"),
        (&home, "config.json:3", "slack.botToken"),
        (&home, "config.json:4", "hub.listen"),
        (&repo, "config.json:2", "journal"),
        (&repo, "config.json:3", "limits.waitMinutes"),
        (&repo, "config.json:4", "openai"),
        (&repo, "config.json:5", "language.repo"),
        (&repo, "policy.json:2", "knowledge"),
    ] {
        let start = format!("{}: {key}", place.join(line).display());
        assert!(
            run.err.contains(&start),
            "{start} is missing in:\n{}",
            run.err
        );
    }
}

#[test]
fn a_repo_that_is_not_set_up_is_told_how_to_begin() {
    let run = Scratch::new().run(&["validate"]);
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.err.contains("codebutler init"), "{run:?}");
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let scratch = Scratch::new();
    let piped = scratch.run(&["validate"]);
    assert!(!piped.err.contains('\u{1b}'), "{piped:?}");
    let forced = ran(scratch.codebutler(&["validate"]).env("CLICOLOR_FORCE", "1"));
    assert!(forced.err.contains('\u{1b}'), "{forced:?}");
    let refused = ran(scratch.codebutler(&["validate"]).env("NO_COLOR", "1"));
    assert!(!refused.err.contains('\u{1b}'), "{refused:?}");
}
