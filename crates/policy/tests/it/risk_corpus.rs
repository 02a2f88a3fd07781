//! The lists of commands, scored as a whole: precision and recall.

use butler_policy::{Assessment, Overrides, RiskContext, assess};
use butler_protocol::Tier;

pub(crate) fn judge(command: &str) -> Assessment {
    let overrides = Overrides::default();
    let ctx = RiskContext {
        cwd: "/work/repo",
        root: "/work/repo",
        home: "/home/you",
        overrides: &overrides,
    };
    assess(command, &ctx)
}

/// Lines of a list, comments left out, `␤` read as a newline.
pub(crate) fn lines(list: &str) -> Vec<String> {
    list.lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with("## "))
        .map(|line| line.replace('␤', "\n"))
        .collect()
}

/// What was missed of the first list, and alarmed at in the second.
#[expect(
    clippy::print_stdout,
    reason = "a failed score must say which lines it was"
)]
fn score(destructive: &str, harmless: &str) -> (f64, f64) {
    let (destructive, harmless) = (lines(destructive), lines(harmless));
    let asks = |command: &String| judge(command).tier == Tier::Destructive;
    let missed: Vec<_> = destructive.iter().filter(|c| !asks(c)).collect();
    let alarms: Vec<_> = harmless.iter().filter(|c| asks(c)).collect();
    for command in &missed {
        println!("missed: {command}");
    }
    for command in &alarms {
        println!("false alarm: {command} ({})", judge(command).reason);
    }
    let hits = (destructive.len() - missed.len()) as f64;
    let recall = hits / destructive.len() as f64;
    let precision = hits / (hits + alarms.len() as f64);
    println!(
        "{} destructive, {} harmless: recall {recall:.3}, precision {precision:.3}",
        destructive.len(),
        harmless.len()
    );
    assert!(destructive.len() + harmless.len() > 600);
    (precision, recall)
}

#[test]
fn precision_and_recall_on_our_own_lists() {
    let (precision, recall) = score(
        include_str!("risk/destructive.txt"),
        include_str!("risk/harmless.txt"),
    );
    assert!(recall >= 0.97 && precision >= 0.97);
}

#[test]
fn precision_and_recall_on_the_second_lists() {
    let (precision, recall) = score(
        include_str!("risk/more_destructive.txt"),
        include_str!("risk/more_harmless.txt"),
    );
    assert!(recall >= 0.97 && precision >= 0.97);
}

/// What a tester found: no line of these may slip.
#[test]
fn every_line_of_the_third_lists() {
    for command in lines(include_str!("risk/third_destructive.txt")) {
        assert_eq!(judge(&command).tier, Tier::Destructive, "{command}");
    }
    for command in lines(include_str!("risk/third_harmless.txt")) {
        let verdict = judge(&command);
        assert!(
            verdict.tier < Tier::Destructive,
            "{command}: {}",
            verdict.reason
        );
    }
}
