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

#[test]
fn the_schema_beside_the_crate_is_the_current_one() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scenario.schema.json");
    let current = format!("{:#}\n", Scenario::schema());
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, &current).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    assert_eq!(kept, current, "run this test once with UPDATE_SCHEMA=1");
    for word in [
        "last_user_contains",
        "tool_result_contains",
        "interrupted",
        "rate_limited",
        "forever",
    ] {
        assert!(kept.contains(word), "{word}");
    }
}

#[test]
fn a_check_finds_what_the_grammar_does_not() {
    let yaml = r#"
title: t
roles:
  pm:
    - { id: a, call: [{ tool: Read, with: { path: x } }] }
    - { id: a, call: [{ tool: Reed }] }
    - { call: [{ tool: Read, with: { file: x } }] }
    - { repeat: forever, say: again }
    - { say: never }
    - { when: { interrupted: true }, say: still }
"#;
    let mut tool = crate::kit::tools().remove(0);
    tool.parameters = serde_json::json!({"type": "object", "required": ["path"],
        "properties": {"path": {"type": "string"}}});
    let scenario = Scenario::parse(yaml).unwrap();
    let found: Vec<String> = scenario
        .check(&[tool])
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        found,
        [
            "line 6: pm: a second step has the id `a`",
            "line 6: pm: there is no tool `Reed`",
            "line 7: pm: `Read` needs the field `path`",
            "line 7: pm: `Read` has no field `file`",
            "line 9: pm: never given: the step of line 8 repeats for ever",
        ]
    );
    assert_eq!(
        scenario.check(&[]).len(),
        2,
        "without tools, calls are not checked"
    );
}
