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
    let mut purse = Purse::new("thread", usd(100));
    purse.reserve(id(1), usd(60)).unwrap();
    purse.reserve(id(1), usd(60)).unwrap();
    assert_eq!(purse.left(), usd(40));
    assert!(
        matches!(purse.reserve(id(2), usd(41)), Err(ReserveError::Refused(r)) if r.used == usd(60))
    );
    purse.settle(&id(1), usd(10));
    purse.settle(&id(1), usd(99));
    assert_eq!((purse.settled(), purse.left()), (usd(10), usd(90)));
    assert_eq!(
        purse.reserve(id(1), usd(1)),
        Err(ReserveError::AlreadySettled(id(1)))
    );
}

#[test]
fn a_dearer_call_is_recorded_and_then_nothing_more_is_given() {
    let mut purse = Purse::new("thread", usd(100));
    purse.reserve(id(1), usd(60)).unwrap();
    purse.settle(&id(1), usd(130));
    assert_eq!((purse.settled(), purse.left()), (usd(130), Usd::ZERO));
    assert!(purse.reserve(id(2), usd(1)).is_err());
    assert!(purse.is_low());
    purse.set_cap(usd(200));
    purse.reserve(id(2), usd(70)).unwrap();
}

#[test]
fn absurd_amounts_do_not_slip_through() {
    let mut purse = Purse::new("day", usd(i64::MAX));
    purse.reserve(id(1), usd(i64::MAX)).unwrap();
    assert!(purse.reserve(id(2), usd(1)).is_err());
    assert!(matches!(
        purse.reserve(id(3), usd(-1)),
        Err(ReserveError::Negative(_))
    ));
    let mut empty = Purse::new("day", Usd::ZERO);
    empty.settle(&id(4), usd(-5));
    assert_eq!(empty.settled(), Usd::ZERO);
}

#[test]
fn several_purses_give_together_or_not_at_all() {
    let mut thread = Purse::new("thread", usd(100));
    let mut day = Purse::new("day", usd(50));
    let refused = reserve_all(&mut [&mut thread, &mut day], &id(1), usd(60)).unwrap_err();
    assert!(refused.to_string().contains("day"), "{refused}");
    assert_eq!(thread.reserved(), Usd::ZERO);
    reserve_all(&mut [&mut thread, &mut day], &id(1), usd(50)).unwrap();
    assert_eq!(
        (thread.left(), day.left(), day.unsettled().count()),
        (usd(50), Usd::ZERO, 1)
    );
}

#[test]
fn a_purse_survives_json() {
    let mut purse = Purse::new("thread", usd(100));
    purse.reserve(id(1), usd(60)).unwrap();
    purse.settle(&id(2), usd(5));
    let json = serde_json::to_string(&purse).unwrap();
    assert_eq!(serde_json::from_str::<Purse>(&json).unwrap(), purse);
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
        let mut purse = Purse::new("thread", usd(cap));
        for step in steps {
            match step {
                Step::Reserve(n, amount) => {
                    let fits = purse.used() + usd(amount) <= usd(cap);
                    let known = purse.open.contains_key(&id(n));
                    let over = purse.settled.contains_key(&id(n));
                    let given = purse.reserve(id(n), usd(amount)).is_ok();
                    prop_assert_eq!(given, !over && (known || fits));
                }
                Step::Settle(n, share) => {
                    let reserved = purse.open.get(&id(n)).copied().unwrap_or(Usd::ZERO);
                    purse.settle(&id(n), usd(reserved.nanos() * share / 100));
                }
            }
            prop_assert!(purse.used() <= usd(cap));
        }
    }
}
