//! Reservations under any order of events.

use proptest::prelude::*;

use super::*;

fn id(n: u8) -> ReserveId {
    ReserveId::new(format!("r{n}"))
}

fn usd(nanos: i64) -> Usd {
    Usd::from_nanos(nanos)
}

#[test]
fn unused_money_goes_back_and_a_repeat_changes_nothing() {
    let mut budget = Budget::new("thread", usd(100));
    budget.reserve(id(1), usd(60)).unwrap();
    budget.reserve(id(1), usd(60)).unwrap();
    assert_eq!(budget.left(), usd(40));
    assert!(
        matches!(budget.reserve(id(2), usd(41)), Err(ReserveError::Refused(r)) if r.used == usd(60))
    );
    budget.settle(&id(1), usd(10));
    budget.settle(&id(1), usd(99));
    assert_eq!((budget.settled(), budget.left()), (usd(10), usd(90)));
    assert_eq!(
        budget.reserve(id(1), usd(1)),
        Err(ReserveError::AlreadySettled(id(1)))
    );
}

#[test]
fn a_dearer_call_is_recorded_and_then_nothing_more_is_given() {
    let mut budget = Budget::new("thread", usd(100));
    budget.reserve(id(1), usd(60)).unwrap();
    budget.settle(&id(1), usd(130));
    assert_eq!((budget.settled(), budget.left()), (usd(130), Usd::ZERO));
    assert!(budget.reserve(id(2), usd(1)).is_err());
    assert!(budget.is_low());
    budget.set_cap(usd(200));
    budget.reserve(id(2), usd(70)).unwrap();
}

#[test]
fn absurd_amounts_do_not_slip_through() {
    let mut budget = Budget::new("day", usd(i64::MAX));
    budget.reserve(id(1), usd(i64::MAX)).unwrap();
    assert!(budget.reserve(id(2), usd(1)).is_err());
    assert!(matches!(
        budget.reserve(id(3), usd(-1)),
        Err(ReserveError::Negative(_))
    ));
    let mut empty = Budget::new("day", Usd::ZERO);
    empty.settle(&id(4), usd(-5));
    assert_eq!(empty.settled(), Usd::ZERO);
}

#[test]
fn a_budget_survives_json() {
    let mut budget = Budget::new("thread", usd(100));
    budget.reserve(id(1), usd(60)).unwrap();
    budget.settle(&id(2), usd(5));
    let json = serde_json::to_string(&budget).unwrap();
    assert_eq!(serde_json::from_str::<Budget>(&json).unwrap(), budget);
}

#[derive(Debug, Clone)]
enum Step {
    Reserve(u8, i64),
    /// Settles at a share of what was reserved, in percent.
    Settle(u8, i64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0u8..12, 0i64..80).prop_map(|(n, amount)| Step::Reserve(n, amount)),
        (0u8..12, 0i64..=100).prop_map(|(n, share)| Step::Settle(n, share)),
    ]
}

proptest! {
    #[test]
    fn the_cap_holds_under_any_interleaving(steps in prop::collection::vec(step(), 0..80), cap in 0i64..300) {
        let mut budget = Budget::new("thread", usd(cap));
        for step in steps {
            match step {
                Step::Reserve(n, amount) => {
                    let fits = budget.used() + usd(amount) <= usd(cap);
                    let known = budget.open.contains_key(&id(n));
                    let over = budget.settled.contains_key(&id(n));
                    let given = budget.reserve(id(n), usd(amount)).is_ok();
                    prop_assert_eq!(given, !over && (known || fits));
                }
                Step::Settle(n, share) => {
                    let reserved = budget.open.get(&id(n)).copied().unwrap_or(Usd::ZERO);
                    budget.settle(&id(n), usd(reserved.nanos() * share / 100));
                }
            }
            prop_assert!(budget.used() <= usd(cap));
        }
    }
}
