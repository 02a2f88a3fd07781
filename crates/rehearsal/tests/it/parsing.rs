//! Reading a scenario file.

use butler_rehearsal::Scenario;

fn problem(yaml: &str) -> (u64, String) {
    let error = Scenario::parse(yaml).unwrap_err();
    (error.line, error.problem)
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let cases = [
        ("title: t\nroles:\n  tester: []\n", 3, "tester"),
        ("title: t\nroles:\n  pm:\n    - sya: x\n", 4, "sya"),
        (
            "title: t\nroles:\n  pm:\n    - say: x\n    - { id: b }\n",
            5,
            "answers nothing",
        ),
        ("title: t\nroles:\n  pm:\n    - say: 'a ${b}'\n", 4, "${b}"),
        (
            "title: t\nroles:\n  pm:\n    - say: x\n      capture: { a: { from: user, regex: '(' } }\n",
            4,
            "does not compile",
        ),
        (
            "title: t\nroles:\n  pm:\n    - { say: x, when: { played: nobody } }\n",
            4,
            "nobody",
        ),
        (
            "title: t\nroles:\n  pm:\n    - { say: x, fault: earthquake }\n",
            4,
            "",
        ),
        ("title: t\nroles: {}\n", 1, "no role"),
        ("roles: {}\n", 1, "title"),
        ("title: [\n", 2, ""),
    ];
    for (yaml, line, words) in cases {
        let (found, problem) = problem(yaml);
        assert!(problem.contains(words), "{words} in {problem}");
        assert!(
            found.abs_diff(line) <= 1 && found > 0,
            "line {found} for {yaml}: {problem}"
        );
    }
}

#[test]
fn a_scenario_knows_its_roles_and_tools() {
    let scenario = Scenario::parse(
        "title: t\nroles:\n  pm: [{ call: [{ tool: Grep }] }]\n  coder: [{ say: x }, { call: [{ tool: Bash }] }]\n",
    )
    .unwrap();
    assert_eq!(
        scenario.tools().into_iter().collect::<Vec<_>>(),
        ["Bash", "Grep"]
    );
    assert_eq!(scenario.roles().map(|(_, steps)| steps).sum::<usize>(), 3);
}
