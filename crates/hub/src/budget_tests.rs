use butler_protocol::{Refusal, ReserveId, TokenUsage};

use super::*;
use crate::error::Trouble;

fn db() -> Db {
    Db::in_memory()
}

fn thread(n: u32) -> ThreadId {
    format!("C1/1700000000.{n:06}").parse().unwrap()
}

fn caps() -> Caps {
    Caps {
        thread: Usd::from_cents(100),
        day: Usd::from_cents(150),
        ..Caps::default()
    }
}

fn ask(db: &Db, id: &str, n: u32, cents: i64) -> ReserveAnswer {
    let wanted = Reservation {
        id: ReserveId::new(id),
        thread: thread(n),
        person: None,
        amount: Usd::from_cents(cents),
        heard: None,
    };
    reserve(
        db,
        "repo",
        Role::Pm,
        &wanted,
        (&caps(), &Limits::default()),
        1_700_000_000_000,
    )
    .unwrap()
}

fn pay(db: &Db, id: &str, cents: i64) {
    let settlement = Settlement {
        id: ReserveId::new(id),
        cost: Usd::from_cents(cents),
        usage: TokenUsage::default(),
        model: "m".into(),
    };
    settle(db, "repo", &settlement).unwrap();
}

fn refused_by(answer: ReserveAnswer) -> String {
    match answer {
        ReserveAnswer::Refused(refusal) => refusal.budget,
        ReserveAnswer::Later(limit) => limit.whose,
        ReserveAnswer::Granted { .. } => "nobody".to_owned(),
    }
}

#[test]
fn reserved_and_settled_never_pass_the_cap_by_a_reservation() {
    let db = db();
    assert_eq!(refused_by(ask(&db, "a", 1, 60)), "nobody");
    assert_eq!(refused_by(ask(&db, "a", 1, 60)), "nobody");
    assert_eq!(refused_by(ask(&db, "b", 1, 50)), "thread");
    pay(&db, "a", 10);
    assert_eq!(refused_by(ask(&db, "b", 1, 50)), "nobody");
    pay(&db, "a", 99);
    assert_eq!(
        spent_in_thread(&db, &thread(1)).unwrap(),
        Usd::from_cents(60)
    );
    assert_eq!(refused_by(ask(&db, "c", 2, 95)), "day");
}

#[test]
fn a_call_that_is_over_needs_a_new_id_and_a_dearer_one_is_recorded() {
    let db = db();
    ask(&db, "a", 1, 10);
    pay(&db, "a", 140);
    assert_eq!(
        spent_in_thread(&db, &thread(1)).unwrap(),
        Usd::from_cents(140)
    );
    let wanted = Reservation {
        id: ReserveId::new("a"),
        thread: thread(1),
        person: None,
        amount: Usd::from_cents(1),
        heard: None,
    };
    let again = reserve(
        &db,
        "repo",
        Role::Pm,
        &wanted,
        (&caps(), &Limits::default()),
        0,
    );
    assert!(matches!(
        again,
        Err(Trouble::Refused(Refusal::AlreadySettled))
    ));
    assert_eq!(refused_by(ask(&db, "b", 1, 1)), "thread");
}

#[test]
fn raise_grows_the_budget_that_refused() {
    let db = db();
    ask(&db, "a", 1, 100);
    assert_eq!(refused_by(ask(&db, "b", 1, 30)), "thread");
    raise(&db, &thread(1), &caps(), &Limits::default()).unwrap();
    assert_eq!(refused_by(ask(&db, "b", 1, 30)), "nobody");
    assert_eq!(refused_by(ask(&db, "c", 2, 30)), "day");
    raise(&db, &thread(2), &caps(), &Limits::default()).unwrap();
    assert_eq!(refused_by(ask(&db, "c", 2, 30)), "nobody");
    assert_eq!(
        thread_cap(&db, &thread(2), &caps()).unwrap(),
        Usd::from_cents(100)
    );
}

#[test]
fn an_hour_has_so_many_calls_of_a_repo_and_of_a_person() {
    let db = db();
    let caps = Caps {
        calls: Some(3),
        calls_of_person: Some(2),
        ..caps()
    };
    let start = 1_700_000_000_000;
    let ask = |id: &str, person: &str, at_ms: i64| {
        let wanted = Reservation {
            id: ReserveId::new(id),
            thread: thread(1),
            person: Some(UserId::new(person)),
            amount: Usd::from_cents(1),
            heard: None,
        };
        reserve(
            &db,
            "repo",
            Role::Pm,
            &wanted,
            (&caps, &Limits::default()),
            at_ms,
        )
        .unwrap()
    };
    let hour = butler_policy::HOUR_MS;
    assert_eq!(refused_by(ask("a", "ana", start)), "nobody");
    assert_eq!(refused_by(ask("b", "ana", start + 10)), "nobody");
    let ReserveAnswer::Later(limit) = ask("c", "ana", start + 20) else {
        panic!("a third call of ana");
    };
    assert_eq!(
        (limit.whose.as_str(), limit.limit, limit.free_at_ms),
        ("person", 2, start + hour)
    );
    assert_eq!(refused_by(ask("d", "ben", start + 30)), "nobody");
    assert_eq!(refused_by(ask("e", "ben", start + 40)), "repo");
    // A repeat of a call that was counted is no new call.
    assert_eq!(refused_by(ask("d", "ben", start + 50)), "nobody");
    assert_eq!(refused_by(ask("c", "ana", start + hour)), "nobody");
}

#[test]
fn each_repo_has_caps_and_a_day_of_its_own() {
    let db = db();
    let ask = |repo: &str, id: &str, n: u32, cents: i64| {
        let wanted = Reservation {
            id: ReserveId::new(id),
            thread: thread(n),
            person: None,
            amount: Usd::from_cents(cents),
            heard: None,
        };
        refused_by(
            reserve(
                &db,
                repo,
                Role::Pm,
                &wanted,
                (&caps(), &Limits::default()),
                1_700_000_000_000,
            )
            .unwrap(),
        )
    };
    let small = Caps {
        thread: Usd::from_cents(20),
        day: Usd::from_cents(30),
        ..Caps::default()
    };
    set_caps(&db, "small", &small).unwrap();
    assert_eq!(ask("repo", "a", 1, 100), "nobody");
    assert_eq!(ask("small", "a", 2, 21), "thread");
    assert_eq!(ask("small", "a", 2, 20), "nobody");
    assert_eq!(ask("small", "b", 3, 11), "day");
    assert_eq!(ask("small", "b", 3, 10), "nobody");
    assert_eq!(ask("repo", "b", 4, 50), "nobody", "its day is its own");
    assert_eq!(ask("repo", "c", 5, 1), "day");
    set_caps(&db, "small", &caps()).unwrap();
    assert_eq!(ask("small", "c", 6, 100), "nobody", "from the next call on");
}

/// What was begun before a stop gets no money, however late it asks.
#[test]
fn what_was_begun_before_a_stop_gets_no_money() {
    let db = db();
    stops::note(&db, &thread(1), 7, None).unwrap();
    let ask = |id: &str, on: u32, heard| {
        let wanted = Reservation {
            id: ReserveId::new(id),
            thread: thread(on),
            person: None,
            amount: Usd::from_cents(1),
            heard,
        };
        reserve(
            &db,
            "app",
            Role::Coder,
            &wanted,
            (&Caps::default(), &Limits::default()),
            0,
        )
    };
    let refused = ask("late", 1, Some(6)).unwrap_err();
    assert!(matches!(refused, Trouble::Refused(Refusal::ThreadStopped)));
    assert!(ask("later", 1, Some(7)).is_ok());
    assert!(ask("elsewhere", 2, Some(6)).is_ok());
}
