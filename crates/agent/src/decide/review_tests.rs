use butler_protocol::{PlannedTest, Risk};

use super::*;

fn lines(all: &[&str]) -> Vec<String> {
    all.iter().map(|one| (*one).to_owned()).collect()
}

const RISKS: [&str; 4] = ["security", "performance", "compatibility", "correctness"];
const TESTS: [(TestLevel, &str); 3] = [
    (TestLevel::Unit, "tests/run.sh:3"),
    (TestLevel::Integration, "not needed, one script"),
    (TestLevel::E2e, "tests/run.sh:9"),
];

fn form(areas: &[&str], tests: &[(TestLevel, &str)]) -> Form {
    let risk = |area: &&str| Risk {
        area: (*area).to_owned(),
        severity: Severity::Low,
        note: "small".to_owned(),
    };
    let test = |(level, place): &(TestLevel, &str)| PlannedTest {
        level: *level,
        what: "the empty list".to_owned(),
        place: (*place != "missing").then(|| (*place).to_owned()),
    };
    Form {
        invariants: lines(&["the list stays"]),
        risks: areas.iter().map(risk).collect(),
        tests: tests.iter().map(test).collect(),
    }
}

fn finding(
    id: &str,
    kind: FindingKind,
    severity: Severity,
    place: &str,
    evidence: &str,
) -> Finding {
    Finding {
        id: id.to_owned(),
        kind,
        severity,
        place: place.to_owned(),
        evidence: evidence.to_owned(),
        fix: "right".to_owned(),
    }
}

#[test]
fn two_passes_ask_for_every_area_and_level_and_one_pass_for_one_of_each() {
    assert!(form(&RISKS, &TESTS).problems(Depth::TwoPasses).is_empty());
    let short = form(&RISKS[..1], &TESTS[..1]);
    assert!(short.problems(Depth::OnePass).is_empty());
    let all = short.problems(Depth::TwoPasses).join("; ");
    assert!(
        all.contains("`risks` lacks performance, compatibility, correctness"),
        "{all}"
    );
    assert!(all.contains("`tests` lacks integration, e2e"), "{all}");
    for (depth, empty, problems) in [
        (Depth::OnePass, Form::default(), 3),
        (Depth::OnePass, form(&[], &TESTS), 1),
        (Depth::OnePass, form(&RISKS, &[]), 1),
    ] {
        assert_eq!(empty.problems(depth).len(), problems, "{empty:?}");
    }
}

#[test]
fn missing_tests_come_before_the_logic_and_before_approval() {
    let lacking = form(&RISKS, &[(TestLevel::Unit, "missing")]);
    let logic = [finding(
        "",
        FindingKind::Quality,
        Severity::High,
        "a.sh:1",
        "wrong",
    )];
    let refused = agrees(false, &lacking, &logic).unwrap_err();
    assert!(refused.contains("tests are missing"), "{refused}");
    assert!(agrees(true, &lacking, &[]).is_err());
    assert_eq!(agrees(false, &lacking, &[]), Ok(()));
    let asked = lacking.missing();
    assert_eq!(asked[0].evidence, "no unit test: the empty list");
    let whole = form(&RISKS, &TESTS);
    assert_eq!(agrees(false, &whole, &logic), Ok(()));
    assert!(agrees(true, &whole, &logic).unwrap_err().contains("wrong"));
    assert!(agrees(false, &whole, &[]).is_err());
    let low = [finding(
        "",
        FindingKind::Quality,
        Severity::Low,
        "a.sh:1",
        "slow",
    )];
    assert_eq!(agrees(true, &whole, &low), Ok(()));
}

#[test]
fn a_finding_keeps_its_number_over_the_rounds() {
    let wrong = || finding("", FindingKind::Quality, Severity::High, "a.sh:1", "wrong");
    let mut first = vec![
        wrong(),
        finding("", FindingKind::Test, Severity::High, "t.sh:1", "none"),
    ];
    number(&mut first, &[]);
    let ids = |all: &[Finding]| all.iter().map(|one| one.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&first), ["F1", "F2"]);
    let mut second = vec![
        finding(
            "",
            FindingKind::Plan,
            Severity::Medium,
            "b.sh:2",
            "more than asked",
        ),
        finding(
            "F2",
            FindingKind::Test,
            Severity::High,
            "t.sh:4",
            "still none",
        ),
        wrong(),
    ];
    assert!(unknown(&["F2"], &first).is_empty());
    number(&mut second, &first);
    assert_eq!(ids(&second), ["F3", "F2", "F1"]);
    assert!(unknown(&["F9"], &first)[0].contains("there is no finding F9"));
}

#[test]
fn only_texts_are_texts() {
    assert!(only_texts(&lines(&["README.md", "docs/a.RST"])));
    for files in [&["README.md", "a.sh"][..], &[], &["md"], &["Makefile"]] {
        assert!(!only_texts(&lines(files)), "{files:?}");
    }
}

#[test]
fn a_later_round_opens_nothing_small_where_nothing_changed() {
    let changed = [("a.sh".to_owned(), 10, 14)];
    let known = [finding(
        "F1",
        FindingKind::Quality,
        Severity::Low,
        "b.sh:3",
        "known",
    )];
    let late = |severity, place: &str, evidence: &str, round| {
        let one = finding("", FindingKind::Quality, severity, place, evidence);
        !too_late(&[one], &known, round, &changed).is_empty()
    };
    use Severity::{High, Low, Medium};
    for (severity, place, evidence, round, expected) in [
        (Low, "b.sh:3", "new", 2, true),
        (Low, "a.sh:40", "new", 2, true),
        (Medium, "b.sh:3", "new", 2, false),
        (Medium, "b.sh:3", "new", 3, true),
        (High, "b.sh:3", "new", 3, false),
        // What changed, and what was said before, is open.
        (Low, "a.sh:12", "new", 3, false),
        (Low, "a.sh:16-20", "new", 3, false),
        (Low, "a.sh", "new", 3, false),
        (Low, "b.sh:3", "known", 3, false),
    ] {
        assert_eq!(
            late(severity, place, evidence, round),
            expected,
            "{severity:?} {place} {evidence} {round}"
        );
    }
    let numbered = finding("F1", FindingKind::Quality, Low, "b.sh:3", "in other words");
    assert!(too_late(&[numbered], &known, 3, &changed).is_empty());
}
