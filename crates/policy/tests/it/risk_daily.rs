//! What people do all day does not ask; what loses or leaks asks, or is saved
//! before it runs (see the undo tests of `worktree`, which run the same list).

use butler_protocol::Tier;

use crate::risk_corpus::{judge, lines};

fn asks(command: &str) -> bool {
    judge(command).tier == Tier::Destructive
}

#[test]
fn of_two_hundred_daily_commands_three_in_a_hundred_ask_at_most() {
    let daily = lines(include_str!("risk/daily.txt"));
    assert!(daily.len() >= 200, "{}", daily.len());
    let asking: Vec<_> = daily.iter().filter(|command| asks(command)).collect();
    for command in &asking {
        println!("asks: {command} ({})", judge(command).reason);
    }
    assert!(asking.len() * 100 <= daily.len() * 3, "{}", asking.len());
}

#[test]
fn what_loses_or_leaks_asks_or_is_saved_first() {
    let leaking = lines(include_str!("risk/leaking.txt"));
    let losing = include_str!("../../../repo/tests/it/undoing.txt");
    let losing: Vec<_> = lines(losing)
        .into_iter()
        .filter(|line| !line.starts_with('#'))
        .collect();
    assert!(leaking.len() + losing.len() >= 200);
    let mut missed = Vec::new();
    // Nothing that only reads is saved before.
    missed.extend(
        losing
            .iter()
            .filter(|command| judge(command).tier == Tier::Read),
    );
    // The network is opened by nothing but an approval, so a command that would only
    // send something away fails without one.
    let harmless = |command: &&String| {
        let judged = judge(command);
        judged.tier != Tier::Destructive && !(judged.tier == Tier::WriteVisible && judged.network)
    };
    missed.extend(leaking.iter().filter(harmless));
    for command in &missed {
        println!("missed: {command} ({:?})", judge(command));
    }
    assert!(missed.is_empty(), "{}", missed.len());
}
