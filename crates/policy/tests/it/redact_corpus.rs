//! The lists of texts: every secret goes, no clean text changes.

use butler_policy::{Redaction, Redactor};

pub(crate) fn redactor() -> Redactor {
    Redactor::new(&[], &[]).unwrap()
}

pub(crate) fn lines(list: &str) -> Vec<String> {
    list.lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with("## "))
        .map(|line| {
            line.replace('¦', "")
                .replace('␤', "\n")
                .replace('␣', "\u{200b}")
                .replace('␛', "\u{1b}")
        })
        .collect()
}

/// The text of a marked line, and what must not be in the result.
pub(crate) fn marked(line: &str) -> (String, Vec<String>) {
    let secrets = line
        .split('«')
        .skip(1)
        .filter_map(|part| part.split('»').next())
        .map(str::to_owned)
        .collect();
    (line.replace(['«', '»'], ""), secrets)
}

fn leaks(redaction: &Redaction, secret: &str) -> bool {
    // Neither the whole nor any quarter of it may be left.
    let quarter = (secret.len() / 4).max(6);
    let chars: Vec<char> = secret.chars().collect();
    redaction.findings.is_empty()
        || redaction.text.contains(secret)
        || chars
            .chunks(quarter)
            .filter(|chunk| chunk.len() == quarter)
            .any(|chunk| redaction.text.contains(&chunk.iter().collect::<String>()))
}

/// How many secrets stayed and how many clean texts changed, with the totals.
#[expect(
    clippy::print_stdout,
    reason = "a failed score must say which lines it was"
)]
fn score(secrets: &str, clean: &str) -> [(usize, usize); 2] {
    let redactor = redactor();
    let (secrets, clean) = (lines(secrets), lines(clean));
    let mut missed = 0;
    for line in &secrets {
        let (text, secrets) = marked(line);
        let redaction = redactor.redact(&text);
        if secrets.iter().any(|secret| leaks(&redaction, secret)) {
            missed += 1;
            println!("missed: {text} -> {}", redaction.text);
        }
        let again = redactor.redact(&redaction.text);
        assert_eq!(again.text, redaction.text, "twice: {text}");
    }
    let mut changed = 0;
    for text in &clean {
        let redaction = redactor.redact(text);
        if redaction.text != *text {
            changed += 1;
            println!("changed: {text} -> {}", redaction.text);
        }
    }
    println!(
        "{} secrets, {missed} missed; {} clean, {changed} changed",
        secrets.len(),
        clean.len()
    );
    [(missed, secrets.len()), (changed, clean.len())]
}

#[test]
fn every_secret_goes_and_no_clean_text_changes() {
    let [(missed, secrets), (changed, clean)] = score(
        include_str!("redact/secrets.txt"),
        include_str!("redact/clean.txt"),
    );
    assert!(secrets > 120 && clean > 150);
    assert!(missed * 100 <= secrets * 3);
    assert_eq!(changed, 0);
}

#[test]
fn a_redactor_that_has_read_much_finds_the_same() {
    let (fresh, warm) = (redactor(), redactor());
    let _ = warm.redact(&"nothing to see here\n".repeat(20_000));
    for list in [
        include_str!("redact/secrets.txt"),
        include_str!("redact/clean.txt"),
        include_str!("redact/more_secrets.txt"),
        include_str!("redact/more_clean.txt"),
        include_str!("redact/form_secrets.txt"),
        include_str!("redact/form_clean.txt"),
    ] {
        for line in lines(list) {
            let (text, _) = marked(&line);
            assert_eq!(warm.redact(&text), fresh.redact(&text), "{text}");
        }
    }
}

#[test]
fn the_second_lists_hold_too() {
    let [(missed, secrets), (changed, clean)] = score(
        include_str!("redact/more_secrets.txt"),
        include_str!("redact/more_clean.txt"),
    );
    assert!(secrets > 150 && clean > 250);
    assert!(missed * 100 <= secrets * 3);
    assert_eq!(changed, 0);
}

#[test]
fn a_secret_goes_in_whatever_form_it_is_written() {
    let [(missed, secrets), (changed, clean)] = score(
        include_str!("redact/form_secrets.txt"),
        include_str!("redact/form_clean.txt"),
    );
    assert!(secrets > 150 && clean > 160);
    assert_eq!((missed, changed), (0, 0));
}

#[test]
fn spans_point_into_the_original_and_never_hold_text() {
    let key = ["ghp", "_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"].concat();
    let text = format!("ä {key} and password=hunter2");
    let named = redactor().redact(&format!("GITHUB_TOKEN={key}")).findings;
    assert_eq!(named[0].kind, "api_key", "the kind that says more wins");
    let redaction = redactor().with_salt(b"salt").redact(&text);
    assert_eq!(
        redaction.text,
        "ä [REDACTED:api_key] and password=[REDACTED:secret]"
    );
    let [first, second] = redaction.findings.as_slice() else {
        panic!("two findings, not {:?}", redaction.findings);
    };
    assert_eq!(
        (first.kind.as_str(), &text[first.start..first.end]),
        ("api_key", key.as_str())
    );
    assert_eq!((second.kind.as_str(), second.length), ("secret", 7));
    assert!(!format!("{redaction:?}").contains("hunter2"));
    assert!(first.hash.as_ref().is_some_and(|hash| hash.len() == 16));
    let other = redactor().with_salt(b"pepper").redact(&text);
    assert_ne!(other.findings[0].hash, first.hash);
}
