//! Stuck detection and its escape steps, and the move to a stronger model.

use butler_protocol::{CheckRun, Ending, Receipt, Role, ToolOutcome, TreeHash};
use butler_turn::{Effect, Event};
use serde_json::{Value, json};

use crate::harness::{Harness, calls, setup, to_run};

/// One turn: a tool, its argument, its result; `!` in front means an error.
type Turn<'a> = (&'a str, u32, &'a str);

struct Loop {
    harness: Harness,
    effects: Vec<Effect>,
    /// Everything the machine asked for on the way.
    all: Vec<Effect>,
    ran: u32,
}

impl Loop {
    fn new() -> Self {
        Self::with(Harness::new(setup(Role::Coder, 100)))
    }

    fn with(mut harness: Harness) -> Self {
        let effects = harness.ana("go");
        Self {
            harness,
            effects,
            all: vec![],
            ran: 0,
        }
    }

    fn turn(&mut self, (tool, argument, result): Turn<'_>) {
        self.answer(calls(&[(tool, json!({"n": argument}))]), result, None);
    }

    fn answer(
        &mut self,
        reply: butler_protocol::ModelReply,
        result: &str,
        receipt: Option<&Receipt>,
    ) {
        let mut effects = self.harness.model(&self.effects, reply);
        self.all.extend(effects.clone());
        for call in to_run(&effects) {
            self.ran += 1;
            let outcome = match result.strip_prefix('!') {
                Some(error) => ToolOutcome::error(error),
                None => ToolOutcome::ok(result),
            };
            let event = Event::ToolDone {
                call: call.id,
                outcome,
                receipt: receipt.cloned(),
            };
            effects = self.harness.on(event);
        }
        self.all.extend(effects.clone());
        self.effects = effects;
    }

    fn steps(&self) -> Vec<String> {
        let chosen = self.all.iter().filter_map(|effect| match effect {
            Effect::Chose { what, .. } => Some(what.clone()),
            _ => None,
        });
        chosen.collect()
    }
}

fn first_step(turns: &[Turn<'_>]) -> Option<usize> {
    let mut test = Loop::new();
    for (at, turn) in turns.iter().enumerate() {
        test.turn(*turn);
        if !test.steps().is_empty() {
            return Some(at + 1);
        }
    }
    None
}

#[test]
fn what_counts_as_going_in_circles() {
    let same = ("Read", 1, "x");
    assert_eq!(first_step(&[same, same, same]), Some(3));
    let (a, b, c) = (("Read", 1, "x"), ("Read", 2, "y"), ("Bash", 3, "z"));
    assert_eq!(
        first_step(&[a, b, a, c, a]),
        Some(5),
        "also with other things in between"
    );
    let error = |n| ("Edit", n, "!old text not found");
    assert_eq!(first_step(&[error(1), error(2), error(3)]), Some(3));
    assert_eq!(first_step(&[a, b, a, b, a]), Some(5));
    let errors: Vec<String> = (0..6).map(|n| format!("!error {n}")).collect();
    let failing: Vec<Turn<'_>> = (0..)
        .zip(&errors)
        .map(|(n, text)| ("Bash", n, text.as_str()))
        .collect();
    assert_eq!(first_step(&failing), Some(6), "six errors in a row");
}

#[test]
fn what_does_not() {
    let results: Vec<String> = (0..10).map(|n| format!("{n} of 10 done")).collect();
    let polling: Vec<Turn<'_>> = results
        .iter()
        .map(|text| ("Bash", 1, text.as_str()))
        .collect();
    assert_eq!(first_step(&polling), None, "polling: the result changes");
    let reading: Vec<Turn<'_>> = (0..20).map(|n| ("Read", n, "same boilerplate")).collect();
    assert_eq!(first_step(&reading), None, "many files with the same text");
    let errors: Vec<String> = (0..5).map(|n| format!("!error {n}")).collect();
    let mut mostly: Vec<Turn<'_>> = (0..)
        .zip(&errors)
        .map(|(n, text)| ("Bash", n, text.as_str()))
        .collect();
    mostly.push(("Bash", 9, "ok"));
    assert_eq!(first_step(&mostly), None);
    let refusals: Vec<String> = (0..7).map(|n| format!("!field {n} is missing")).collect();
    let form: Vec<Turn<'_>> = (0..)
        .zip(&refusals)
        .map(|(n, text)| ("HandOver", n, text.as_str()))
        .collect();
    assert_eq!(
        first_step(&form),
        None,
        "a form that is corrected step by step"
    );
}

#[test]
fn alternation_is_seen_although_nothing_repeats_three_times_in_a_row() {
    let (a, b) = (("Read", 1, "x"), ("Read", 2, "y"));
    let mut test = Loop::new();
    for turn in [a, b, a, b, a, b] {
        test.turn(turn);
    }
    assert!(!test.steps().is_empty());
}

#[test]
fn the_same_text_beside_different_calls_is_a_circle() {
    let mut test = Loop::new();
    for n in 0..3 {
        let mut reply = calls(&[("Read", json!({"n": n}))]);
        reply.text = Some("Let me try once more.".into());
        test.answer(reply, &format!("result {n}"), None);
    }
    assert_eq!(test.steps(), ["asked for reflection"]);
}

#[test]
fn the_escape_steps_come_in_order_two_turns_each_and_then_it_stops() {
    let mut test = Loop::new();
    for _ in 0..8 {
        test.turn(("Bash", 1, "!no such file"));
    }
    let steps = [
        "asked for reflection",
        "asked for what was tried and for something new",
        "refused the call that repeats",
    ];
    assert_eq!(test.steps(), steps);
    assert_eq!(test.ran, 7, "the refused call no longer reaches the tool");
    assert_eq!(test.harness.notes().len(), 3);
    test.turn(("Bash", 1, "!no such file"));
    let Some(Effect::Escalate { text, .. }) = test.effects.last() else {
        panic!("{:#?}", test.effects)
    };
    assert!(text.contains("Bash was called"), "{text}");
    let effects = test.effects.clone();
    let effects = test.harness.posted(&effects);
    assert!(effects.contains(&Effect::End(Ending::Stuck)));
    assert!(test.harness.machine.is_idle());
    let effects = test.harness.ana("try the other folder");
    test.harness.grant(&effects);
}

#[test]
fn progress_lifts_the_refusal() {
    let mut test = Loop::new();
    for _ in 0..7 {
        test.turn(("Bash", 1, "x"));
    }
    let ran = test.ran;
    test.turn(("Bash", 1, "x"));
    assert_eq!(test.ran, ran, "refused");
    for n in 2..4 {
        test.turn(("Read", n, &format!("file {n}")));
    }
    let ran = test.ran;
    test.turn(("Bash", 1, "x"));
    assert_eq!(test.ran, ran + 1, "allowed again");
}

#[test]
fn insisting_on_a_refused_call_is_no_progress() {
    let mut test = Loop::new();
    for _ in 0..9 {
        test.turn(("Bash", 1, "x"));
    }
    assert!(matches!(test.effects.last(), Some(Effect::Escalate { .. })));
}

#[test]
fn a_restart_knows_how_far_the_way_out_was_gone() {
    let mut test = Loop::new();
    for _ in 0..7 {
        test.turn(("Bash", 1, "x"));
    }
    test.effects = test.harness.restart();
    let ran = test.ran;
    test.turn(("Bash", 1, "x"));
    assert_eq!(test.ran, ran, "still refused");
}

fn stronger() -> Harness {
    let mut setup = setup(Role::Coder, 100);
    setup.models.stronger = Some("strong".into());
    Harness::new(setup)
}

fn model_now(test: &mut Loop) -> String {
    let effects = test.effects.clone();
    test.harness.grant(&effects).model
}

#[test]
fn the_stronger_model_takes_over_when_two_hints_did_not_help() {
    let mut test = Loop::with(stronger());
    for _ in 0..6 {
        test.turn(("Bash", 1, "x"));
    }
    assert_eq!(model_now(&mut test), "usual");
    let mut test = Loop::with(stronger());
    for _ in 0..7 {
        test.turn(("Bash", 1, "x"));
    }
    assert_eq!(model_now(&mut test), "strong");
}

#[test]
fn the_stronger_model_takes_over_at_half_of_the_turns_and_stays() {
    let mut setup = setup(Role::Coder, 8);
    setup.models.stronger = Some("strong".into());
    let mut test = Loop::with(Harness::new(setup));
    for n in 0..4 {
        test.turn(("Read", n, &format!("file {n}")));
    }
    let raised = |step: &&String| step.contains("strong answers");
    assert_eq!(test.steps().iter().filter(raised).count(), 1);
    test.turn(("Read", 9, "file 9"));
    assert_eq!(test.steps().iter().filter(raised).count(), 1);
    assert_eq!(model_now(&mut test), "strong");
}

#[test]
fn the_stronger_model_takes_over_when_the_checks_stay_red() {
    let red = |n: u32| Receipt {
        tree: TreeHash::new(format!("t{n}")),
        checks: vec![CheckRun {
            name: "test".into(),
            command: "make test".into(),
            exit_code: Some(2),
            duration_ms: 1,
            counts: None,
        }],
        flags: vec![],
        base: None,
        not_compared: None,
    };
    let mut test = Loop::with(stronger());
    for n in 0..3 {
        let reply = calls(&[("RunChecks", Value::Object(serde_json::Map::new()))]);
        test.answer(reply, &format!("!{n} tests fail"), Some(&red(n)));
    }
    assert_eq!(model_now(&mut test), "strong");
}

#[test]
fn calls_of_one_turn_that_fail_alike_are_no_circle() {
    let mut test = Loop::new();
    let many: Vec<(&str, Value)> = (0..7).map(|n| ("Read", json!({"n": n}))).collect();
    let effects = test.harness.model(&test.effects, calls(&many));
    for call in to_run(&effects) {
        test.effects = test
            .harness
            .tool(&call.id, ToolOutcome::error("no such file"));
    }
    assert!(test.harness.notes().is_empty());
}
