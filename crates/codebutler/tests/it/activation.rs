//! The fault matrix of one activation: killed at every fault point it passes,
//! started again, and compared with the run that nobody disturbed.

use std::{collections::BTreeSet, sync::Arc};

use butler_rehearsal::{Rehearsal, Scenario};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{
    activation_world::{Outcome, World},
    chaos::{Passage, firsts, killed, named, nightly, passages, points, worlds_at_once},
};

/// A message of several parts, with code that becomes a file.
fn scenario() -> Scenario {
    let prose = "A line of the report that is long enough to fill a message soon.\\n".repeat(70);
    let code = "let line = 1;\\n".repeat(30);
    let long = format!("\"The report.\\n{prose}```\\n{code}```\\nThat was it.\"");
    let text = include_str!("scenarios/activation.yaml").replace("LONG", &long);
    Scenario::parse(&text).unwrap()
}

pub(crate) async fn model() -> Rehearsal {
    let any = ([127, 0, 0, 1], 0).into();
    let started = Rehearsal::start(any, scenario(), true, CancellationToken::new());
    started.await.unwrap()
}

/// Plays once; says what differs from the undisturbed run.
async fn disturbed(model_url: &str, victim: &Passage, expected: &Outcome) -> (bool, Vec<String>) {
    let mut world = World::start(model_url, Some(victim)).await;
    let mut differences = Vec::new();
    match world.play().await {
        Err(problem) => differences.push(format!("{problem}\n{}", world.logs())),
        Ok(outcome) => {
            if outcome != *expected {
                differences.push(format!("ended as {outcome:#?}"));
            }
        }
    }
    let starts = world.starts();
    if starts.iter().any(|count| *count > 1) {
        differences.push(format!("commands started {starts:?} times"));
    }
    (killed(&world.fault_log()), differences)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_activation_survives_a_kill_at_every_fault_point() {
    let model = model().await;
    let mut world = World::start(&model.base_url(), None).await;
    let expected = world
        .play()
        .await
        .unwrap_or_else(|problem| panic!("{problem}\n{}", world.logs()));
    assert_eq!((world.starts(), world.deaths()), ([1, 1], 0));
    assert_eq!(model.left_over(), Vec::<String>::new());
    let all = passages(&world.fault_log());
    drop(world);
    let expected = Arc::new(expected);
    let victims = named().unwrap_or_else(|| if nightly() { all.clone() } else { firsts(&all) });
    let places = Arc::new(Semaphore::new(worlds_at_once()));
    let mut runs = tokio::task::JoinSet::new();
    for victim in &victims {
        let (places, expected) = (Arc::clone(&places), Arc::clone(&expected));
        let (url, victim) = (model.base_url(), victim.clone());
        runs.spawn(async move {
            let _place = places.acquire().await.unwrap();
            let (died, differences) = disturbed(&url, &victim, &expected).await;
            (victim, died, differences)
        });
    }
    let (mut covered, mut different) = (BTreeSet::new(), 0);
    while let Some(run) = runs.join_next().await {
        let (victim, died, differences) = run.unwrap();
        if died {
            covered.insert(victim.point.clone());
        }
        different += usize::from(!differences.is_empty());
        for difference in differences {
            println!("CODEBUTLER_VICTIM={victim}: {difference}");
        }
    }
    println!(
        "{} fault points passed, {} killed at, {} runs of {} passages, {different} differences",
        points(&all).len(),
        covered.len(),
        victims.len(),
        all.len()
    );
    assert_eq!(different, 0, "undisturbed: {expected:#?}");
    if named().is_none() {
        let missed: Vec<_> = points(&all)
            .into_iter()
            .filter(|point| !covered.contains(*point))
            .collect();
        assert!(missed.is_empty(), "nobody died at {missed:?}");
    }
}
