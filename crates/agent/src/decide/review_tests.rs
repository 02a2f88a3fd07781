use super::*;

fn lines(all: &[&str]) -> Vec<String> {
    all.iter().map(|one| (*one).to_owned()).collect()
}

const RISKS: [&str; 4] = [
    "security/low: nothing reaches a shell",
    "performance/low: one pass",
    "compatibility/low: the plain list is unchanged",
    "correctness/medium: quotes",
];
const TESTS: [&str; 3] = [
    "unit: quotes -> tests/run.sh:3",
    "integration: -> not needed, one script",
    "e2e: the flag -> tests/run.sh:9",
];

fn form(risks: &[&str], tests: &[&str]) -> Form {
    Form::read(&lines(&["the list stays"]), &lines(risks), &lines(tests)).unwrap()
}

#[test]
fn two_passes_ask_for_every_area_and_level_and_one_pass_for_a_line_of_each() {
    let whole = form(&RISKS, &TESTS);
    assert_eq!(whole.check(Depth::TwoPasses), Ok(()));
    let short = form(&RISKS[..1], &TESTS[..1]);
    assert_eq!(short.check(Depth::OnePass), Ok(()));
    let refused = form(&RISKS[..3], &TESTS).check(Depth::TwoPasses);
    assert!(refused.unwrap_err().contains("`risks` lacks correctness"));
    let refused = form(&RISKS, &TESTS[..1]).check(Depth::TwoPasses);
    assert!(
        refused
            .unwrap_err()
            .contains("`tests` lacks integration, e2e")
    );
    for (depth, empty) in [
        (Depth::OnePass, Form::default()),
        (Depth::OnePass, form(&[], &TESTS)),
        (Depth::OnePass, form(&RISKS, &[])),
    ] {
        assert!(empty.check(depth).is_err(), "{empty:?}");
    }
}

#[test]
fn missing_tests_come_before_the_logic_and_before_approval() {
    let lacking = form(&RISKS, &["unit: the empty list -> missing"]);
    let logic = findings(&lines(&["[quality/high] a.sh:1 wrong -> right"]), &[]).unwrap();
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
    let low = findings(&lines(&["[quality/low] a.sh:1 slow -> fine"]), &[]).unwrap();
    assert_eq!(agrees(true, &whole, &low), Ok(()));
}

#[test]
fn a_finding_keeps_its_number_over_the_rounds() {
    let mut first = findings(
        &lines(&[
            "[quality/high] a.sh:1 wrong -> right",
            "[test/high] t.sh:1 none -> one",
        ]),
        &[],
    )
    .unwrap();
    number(&mut first, &[]);
    let ids = |all: &[Finding]| all.iter().map(|one| one.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&first), ["F1", "F2"]);
    let said = lines(&[
        "[plan/medium] b.sh:2 more than asked -> less",
        "F2 [test/high] t.sh:4 still none -> one",
        "[quality/high] a.sh:1 wrong -> right",
    ]);
    let mut second = findings(&said, &first).unwrap();
    number(&mut second, &first);
    assert_eq!(ids(&second), ["F3", "F2", "F1"]);
    let unknown = findings(&lines(&["F9 [test/high] t.sh:4 none -> one"]), &first);
    assert!(unknown.unwrap_err().contains("there is no F9"));
}

#[test]
fn only_texts_are_texts() {
    assert!(only_texts(&lines(&["README.md", "docs/a.RST"])));
    for files in [&["README.md", "a.sh"][..], &[], &["md"], &["Makefile"]] {
        assert!(!only_texts(&lines(files)), "{files:?}");
    }
}
