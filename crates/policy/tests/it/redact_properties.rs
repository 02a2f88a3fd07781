//! Redaction of anything: it ends, it never panics, and twice is once.

use butler_policy::{CustomPattern, PatternError, Redactor};
use butler_protocol::Secret;
use proptest::prelude::*;

use crate::redact_corpus::{lines, marked, redactor};

fn pieces() -> Vec<String> {
    let mut pieces: Vec<String> = [
        include_str!("redact/secrets.txt"),
        include_str!("redact/form_secrets.txt"),
    ]
    .into_iter()
    .flat_map(lines)
    .map(|line| marked(&line).0)
    .collect();
    pieces.extend(lines(include_str!("redact/clean.txt")));
    pieces.extend(lines(include_str!("redact/form_clean.txt")));
    let signs = [
        " ",
        "\n",
        "=",
        ":",
        "\"",
        "'",
        "[REDACTED:secret]",
        "[REDACTED:",
        "]",
        "password",
        "token",
        "://",
        "@",
        "\\",
        "%",
        "%41",
        "*",
        "\u{200b}",
        "-----BEGIN",
        "-----END",
        " PRIVATE KEY-----",
        "é",
        "10.0.0.1:80",
        "\\u0041",
        "Bearer ",
        "eyJ",
        "\u{1b}[31m",
        "\\u001b[0m",
        ": |\n  ",
        "(\"",
        "\", \"",
        " || '",
        "\", \"value\": \"",
        "</key><string>",
        " was set to ",
    ];
    pieces.extend(signs.map(str::to_owned));
    pieces
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn twice_is_once(parts in prop::collection::vec(prop::sample::select(pieces()), 0..12)) {
        let redactor = redactor();
        let once = redactor.redact(&parts.concat());
        let twice = redactor.redact(&once.text);
        prop_assert_eq!(&twice.text, &once.text);
        prop_assert!(twice.findings.is_empty());
    }

    #[test]
    fn findings_rebuild_the_result(parts in prop::collection::vec(prop::sample::select(pieces()), 0..8)) {
        let text = parts.concat();
        let redaction = redactor().redact(&text);
        let mut rebuilt = String::new();
        let mut at = 0;
        for found in &redaction.findings {
            prop_assert!(found.start >= at && found.end > found.start && found.length == found.end - found.start);
            rebuilt.push_str(&text[at..found.start]);
            rebuilt.push_str(&format!("[REDACTED:{}]", found.kind));
            at = found.end;
        }
        rebuilt.push_str(&text[at..]);
        prop_assert_eq!(rebuilt, redaction.text);
    }

    #[test]
    fn any_text_comes_back(text in ".*") {
        let _ = redactor().redact(&text);
    }

    #[test]
    fn a_known_secret_goes_in_every_form(
        secret in "[ -~]{8,40}",
        before in "[a-z]{0,5}",
        after in "[a-z]{0,5}",
    ) {
        use base64::{Engine, engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD}};
        prop_assume!(secret.trim() == secret);
        let redactor = Redactor::new(&[Secret::new(secret.clone())], &[]).unwrap();
        let json = serde_json::Value::from(secret.as_str()).to_string();
        let percent: String = secret.bytes().map(|b| format!("%{b:02x}")).collect();
        let whole = format!("{before}{secret}{after}");
        for form in [
            secret.clone(),
            json[1..json.len() - 1].to_owned(),
            percent,
            STANDARD.encode(&whole),
            URL_SAFE_NO_PAD.encode(&whole),
            secret.bytes().map(|b| format!("{b:02X}")).collect(),
        ] {
            let redaction = redactor.redact(&format!("x <{form}> y"));
            prop_assert!(!redaction.findings.is_empty(), "{}", form);
            prop_assert!(!redaction.text.contains(&form), "{}", form);
        }
    }
}

#[test]
fn custom_patterns_have_their_own_name() {
    let pattern = |name: &str, regex: &str| CustomPattern {
        name: name.into(),
        regex: regex.into(),
    };
    let redactor = Redactor::new(
        &[],
        &[
            pattern("customer_id", "cust_[a-z0-9]{6,}"),
            pattern("word", "[A-Z]{4,}"),
        ],
    )
    .unwrap();
    let redaction = redactor.redact("see cust_abc123 and SHOUT");
    assert_eq!(
        redaction.text,
        "see [REDACTED:customer_id] and [REDACTED:word]"
    );
    assert_eq!(redactor.redact(&redaction.text).text, redaction.text);
    let refused =
        |name: &str, regex: &str| Redactor::new(&[], &[pattern(name, regex)]).unwrap_err();
    assert!(matches!(refused("x]", "a"), PatternError::Name(_)));
    assert!(matches!(refused("x", "("), PatternError::Regex { .. }));
    assert!(matches!(refused("x", "a*"), PatternError::Empty(_)));
    assert!(matches!(
        refused("x", "(a{1000}){1000}"),
        PatternError::Regex { .. }
    ));
}

#[test]
fn short_known_values_do_not_tear_words_apart() {
    let redactor = Redactor::new(&[Secret::new("abc"), Secret::new("")], &[]).unwrap();
    assert_eq!(redactor.redact("abcdef").text, "abcdef");
}

#[test]
fn hostile_texts_end() {
    let redactor = redactor();
    for unit in [
        "-----BEGIN RSA PRIVATE KEY-----\n",
        "password=",
        "://",
        "a:b@",
        "eyJ",
        "%41",
        "\u{200b}",
        "token: ",
        "10.",
        "-----END PRIVATE KEY-----",
        "[REDACTED:",
        "sk-",
        "*a*",
        "\\u0041",
        "\u{1b}[",
        "\u{1b}[31m",
        "password: |\n",
        "password                                ",
        "name: token\n",
        "\"password\", ",
        "token || ",
        "\"kty\"",
        ":5432:",
        "curl -u",
        "docker login ",
        "LS0tLS1CRUdJTi",
        "ghp_aaaaaaaaaa\n",
        "sessionid=",
        "NRAL",
        "a8Q~",
    ] {
        let text = unit.repeat(20_000 / unit.len());
        let once = redactor.redact(&text);
        assert_eq!(redactor.redact(&once.text).text, once.text, "{unit}");
    }
}
