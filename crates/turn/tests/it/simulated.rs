//! The machine in a simulated world, over many seeds: the process dies between
//! any two steps, deliveries come twice, answers come late and in any order, the
//! clock jumps, models and tools misbehave.
//!
//! A seed that fails prints the line that replays it, step by step.

mod answers;
mod checks;
mod dice;
mod driver;
mod hub;
mod owed;
mod people;
mod time;
mod ways_on;

use std::panic::{AssertUnwindSafe, catch_unwind};

use butler_protocol::Role;

pub(crate) use checks::{all_text, check_request};
use driver::World;
use ways_on::Rest;

/// Seeds of the normal run; nightly runs ask for more.
const SEEDS: u64 = 10_000;
/// Asks for another number of seeds.
const COUNT_VARIABLE: &str = "CODEBUTLER_SIMULATION_SEEDS";
/// Names one seed to be replayed with all its steps.
const SEED_VARIABLE: &str = "CODEBUTLER_SIMULATION_SEED";

/// What a run went through, to know that the dice reach every corner.
#[derive(Debug, Clone, Copy)]
struct Tally {
    /// The state in which a person was needed.
    rest: Rest,
    crashes: u32,
    calls: usize,
    posts: usize,
    orders: usize,
    summaries: usize,
    stops: usize,
}

fn run(seed: u64, trace: bool) -> Tally {
    let mut setup = crate::harness::setup(Role::Pm, 3 + u32::try_from(seed % 7).unwrap());
    if seed.is_multiple_of(4) {
        setup.models.window_tokens = 300;
    }
    if seed.is_multiple_of(3) {
        setup.models.stronger = Some("stronger".into());
    }
    setup.limits.agent_messages = 3;
    let mut world = World::new(seed, setup);
    world.trace = trace;
    world.come_to_rest();
    checks::check_end(&world);
    let rest = Rest::of(&world);
    ways_on::check(&mut world);
    tally(&world, rest)
}

fn tally(world: &World, rest: Rest) -> Tally {
    use butler_protocol::{Ending, Record};
    let count = |wanted: fn(&Record) -> bool| {
        world
            .disk
            .iter()
            .filter(|entry| wanted(&entry.record))
            .count()
    };
    Tally {
        rest,
        crashes: world.crashes,
        calls: world.charged.len(),
        posts: world.hub.posts.len(),
        orders: world.hub.carried_out.len(),
        summaries: count(|record| matches!(record, Record::Summary { .. })),
        stops: count(|record| {
            let ending = Ending::Stopped;
            matches!(record, Record::ActivationEnded { ending: how, .. } if *how == ending)
        }),
    }
}

#[test]
fn ten_thousand_worlds_keep_every_promise() {
    if let Ok(seed) = std::env::var(SEED_VARIABLE) {
        run(seed.parse().expect("the seed is a number"), true);
        return;
    }
    let asked = std::env::var(COUNT_VARIABLE).ok();
    let seeds = asked.map_or(SEEDS, |count| count.parse().expect("a number of seeds"));
    let workers = 2;
    let halves = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..workers)
            .map(|worker| scope.spawn(move || run_all((worker..seeds).step_by(2))))
            .collect();
        let joined = handles.into_iter().map(|handle| handle.join().unwrap());
        joined.collect::<Vec<_>>()
    });
    let sum = |field: &dyn Fn(&Tally) -> usize| halves.iter().flatten().map(field).sum::<usize>();
    let crashes = sum(&|tally| usize::try_from(tally.crashes).unwrap());
    println!(
        "{crashes} crashes, {} model calls, {} posts",
        sum(&|t| t.calls),
        sum(&|t| t.posts)
    );
    if seeds < SEEDS {
        return;
    }
    // The dice must reach every corner, or the promises above mean nothing.
    for rest in Rest::ALL {
        let found = sum(&|tally| usize::from(tally.rest == rest));
        assert!(found > 20, "{rest:?} was the end of {found} worlds");
    }
    assert!(crashes > 10_000, "{crashes} crashes");
    assert!(
        sum(&|tally| tally.orders) > 500,
        "{} orders",
        sum(&|tally| tally.orders)
    );
    assert!(
        sum(&|tally| tally.summaries) > 500,
        "{} summaries",
        sum(&|tally| tally.summaries)
    );
    assert!(
        sum(&|tally| tally.stops) > 500,
        "{} stops",
        sum(&|tally| tally.stops)
    );
}

fn run_all(seeds: impl Iterator<Item = u64>) -> Vec<Tally> {
    let one = |seed| match catch_unwind(AssertUnwindSafe(|| run(seed, false))) {
        Ok(tally) => tally,
        Err(_) => panic!(
            "seed {seed} failed; replay it with\n  {SEED_VARIABLE}={seed} cargo test -p butler-turn --test it ten_thousand -- --nocapture"
        ),
    };
    seeds.map(one).collect()
}
