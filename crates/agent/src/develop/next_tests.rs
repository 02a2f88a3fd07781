use butler_protocol::{DevelopSubject, MergeMode, PrNumber, PullStatus, RunItem, ThreadId};
use proptest::prelude::*;

use super::*;

/// A world in which items are built: what people and models would make of it is dice.
#[derive(Debug)]
struct World {
    run: Run,
    roadmap: Roadmap,
    opened: Vec<u32>,
    /// What people were told last.
    told: BTreeMap<u32, ItemReport>,
    finished: bool,
}

/// One throw: which of those at work, and what becomes of it.
type Dice = (usize, u8, u8);

fn thread(number: u32) -> ThreadId {
    format!("C1/17000000{number:02}.000100").parse().unwrap()
}

impl World {
    fn new(depends: &[Vec<u32>], at_once: u32, caps: &[i64], budget: i64) -> Self {
        let text: String = (1..)
            .zip(depends)
            .map(|(number, on)| {
                let on: Vec<String> = on.iter().map(ToString::to_string).collect();
                format!("## {number}. Item\n- Depends on: {}\n\n", on.join(", "))
            })
            .collect();
        let roadmap = Roadmap::parse(text);
        let items = roadmap.items().iter().map(|item| DevelopItem {
            number: item.number,
            title: item.title.clone(),
            depends_on: item.depends_on.clone(),
            criteria: Vec::new(),
            sha256: Sha256Hex::of(roadmap.words_of(item.number).unwrap()),
            cap: Usd::from_cents(caps[(item.number as usize - 1) % caps.len()]),
        });
        let subject = DevelopSubject {
            items: items.collect(),
            at_once,
            budget: Usd::from_cents(budget),
            answer_after_minutes: None,
        };
        let view = RunView {
            request: butler_protocol::RequestId::new("abcdef"),
            thread: thread(0),
            person: butler_protocol::UserId::new("U1"),
            mode: MergeMode::Merging,
            state: RunState::Running,
            subject,
            spent: Usd::ZERO,
            items: Vec::new(),
        };
        Self {
            run: Run {
                view,
                standing: BTreeMap::new(),
                order: Vec::new(),
                merging: false,
            },
            roadmap,
            opened: Vec::new(),
            told: BTreeMap::new(),
            finished: false,
        }
    }

    fn cap(&self, number: u32) -> Usd {
        let mut items = self.run.view.subject.items.iter();
        items.find(|item| item.number == number).unwrap().cap
    }

    fn working(&self) -> Vec<u32> {
        let all = self.run.standing.iter();
        all.filter(|(_, one)| one.state == ItemState::Working)
            .map(|(number, _)| *number)
            .collect()
    }

    /// What the hub would hold to: everything that began, at its cap until it has ended.
    fn taken(&self) -> Usd {
        let items = self.run.view.items.iter();
        let kept = items.map(|item| {
            if self.run.standing[&item.number].ended() {
                item.spent
            } else {
                item.spent.max(self.cap(item.number))
            }
        });
        kept.sum()
    }

    fn carry_out(&mut self) {
        let steps = next(&self.run, &self.roadmap);
        for step in steps {
            match step {
                Step::Open(number) => self.open(number),
                Step::Answer(number, _) => {
                    let standing = Standing::plain(ItemState::Working);
                    self.run.standing.insert(number, standing);
                }
                Step::Decide(number) => self.run.view.items.iter_mut().for_each(|item| {
                    if item.number == number {
                        item.allowed = None;
                    }
                }),
                Step::MoveUp(_) => {}
                Step::Report(number, report) => drop(self.told.insert(number, report)),
                Step::Finish => self.finished = true,
            }
        }
        let most = self.run.view.subject.at_once.max(1) as usize;
        assert!(self.working().len() <= most, "{:?}", self.working());
        assert!(self.taken() <= self.run.view.subject.budget);
    }

    fn open(&mut self, number: u32) {
        assert!(!self.opened.contains(&number), "{number} began twice");
        assert_eq!(self.run.view.state, RunState::Running);
        let mut items = self.run.view.subject.items.iter();
        let item = items.find(|item| item.number == number).unwrap();
        for before in &item.depends_on {
            let standing = self.run.standing.get(before);
            let merged = standing.is_some_and(|one| one.state == ItemState::Merged);
            let done = self.roadmap.item(*before).unwrap().status == Status::Done;
            assert!(merged || done, "{number} began before {before} was there");
        }
        let words = self.roadmap.words_of(number).unwrap();
        assert_eq!(Sha256Hex::of(words), item.sha256, "another item");
        self.opened.push(number);
        self.run.view.items.push(RunItem {
            number,
            thread: thread(number),
            spent: Usd::ZERO,
            pull: None,
            open: Vec::new(),
            allowed: None,
            stopped: false,
            spoken: false,
            report: None,
        });
        let standing = Standing::plain(ItemState::Working);
        self.run.standing.insert(number, standing);
    }

    fn throw(&mut self, (which, what, share): Dice) {
        let working = self.working();
        let asking: Vec<u32> = self
            .run
            .standing
            .iter()
            .filter(|(_, one)| one.state == ItemState::Asks)
            .map(|(number, _)| *number)
            .collect();
        if what == 7 && !asking.is_empty() {
            let number = asking[which % asking.len()];
            let standing = self.run.standing.get_mut(&number).unwrap();
            standing.answer = Some(Answer::Suggested);
            return;
        }
        if what == 8 {
            let pending = self.roadmap.items()[which % self.roadmap.items().len()].number;
            if !self.opened.contains(&pending) {
                self.roadmap = self
                    .roadmap
                    .set_branch(pending, "by somebody else")
                    .unwrap();
            }
            return;
        }
        let Some(number) = working.get(which % working.len().max(1)).copied() else {
            return;
        };
        let spent = Usd::from_nanos(self.cap(number).nanos() / 8 * i64::from(share % 9));
        let state = match what {
            0..=3 => ItemState::Merged,
            4 => ItemState::Blocked,
            5 => ItemState::GivenUp,
            _ => ItemState::Asks,
        };
        let item = self.run.view.items.iter_mut();
        let item = item.rev().find(|item| item.number == number).unwrap();
        item.spent = item.spent.max(spent);
        if state == ItemState::Merged {
            item.pull = Some((PrNumber(u64::from(number)), PullStatus::Merged));
        }
        let mut standing = Standing::plain(state);
        standing.why = "because".to_owned();
        self.run.standing.insert(number, standing);
    }
}

fn worlds() -> impl Strategy<Value = (World, Vec<Dice>)> {
    (1usize..=12, 1u32..=4, 1i64..=3).prop_flat_map(|(count, at_once, rich)| {
        let depends = proptest::collection::vec(any::<u16>(), count);
        let caps = proptest::collection::vec(1i64..200, 1..4);
        let dice = proptest::collection::vec((0usize..12, 0u8..9, any::<u8>()), 0..60);
        (depends, caps, dice).prop_map(move |(bits, caps, dice)| {
            let on: Vec<Vec<u32>> = (1u32..)
                .zip(&bits)
                .map(|(number, bits)| (1..number).filter(|one| bits & (1 << one) != 0).collect())
                .collect();
            let all: i64 = caps.iter().sum();
            let budget = all * rich * i64::try_from(count).unwrap() / 3;
            (World::new(&on, at_once, &caps, budget), dice)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever happens to the items: dependencies hold, no item begins twice, never
    /// more at once than allowed, never more money than allowed, and it ends with every
    /// item either done or named with its reason.
    #[test]
    fn a_run_keeps_its_rules_and_ends((mut world, dice) in worlds()) {
        for one in dice {
            world.carry_out();
            world.throw(one);
        }
        // From here on everything succeeds; it must come to rest.
        for _ in 0..40 {
            world.carry_out();
            let Some(first) = world.working().first().copied() else { break };
            let at = world.working().iter().position(|one| *one == first).unwrap();
            world.throw((at, 0, 1));
        }
        world.carry_out();
        prop_assert!(world.working().is_empty());
        for item in &world.run.view.subject.items {
            let told = world.told.get(&item.number).expect("every item is told");
            match told.state {
                ItemState::Merged | ItemState::GivenUp => {}
                ItemState::Working => prop_assert!(false, "{told:?}"),
                _ => prop_assert!(!told.why.is_empty(), "{told:?}"),
            }
        }
        let all_ended = world.run.standing.values().all(Standing::ended);
        prop_assert_eq!(world.finished, all_ended, "{:?}", world.told);
    }

    /// Killed and started again it does the same: nothing but what comes in counts.
    #[test]
    fn the_same_comes_out_again((mut world, dice) in worlds()) {
        for one in dice {
            let steps = next(&world.run, &world.roadmap);
            prop_assert_eq!(&steps, &next(&world.run.clone(), &world.roadmap.clone()));
            world.carry_out();
            world.throw(one);
        }
    }
}

#[test]
fn a_paused_run_begins_nothing_and_a_stopped_one_says_nothing() {
    let mut world = World::new(&[vec![], vec![1]], 2, &[10], 100);
    world.run.view.state = RunState::Paused;
    let steps = next(&world.run, &world.roadmap);
    assert!(
        steps.iter().all(|step| matches!(step, Step::Report(..))),
        "{steps:?}"
    );
    world.run.view.state = RunState::Stopped;
    assert!(next(&world.run, &world.roadmap).is_empty());
}

#[test]
fn who_waits_is_told_for_whom() {
    let mut world = World::new(&[vec![], vec![1], vec![2]], 2, &[10], 100);
    world.carry_out();
    world.throw((0, 4, 1));
    world.carry_out();
    assert_eq!(world.told[&1].state, ItemState::Blocked);
    assert_eq!(world.told[&2].why, "waits for 1 (blocked)");
    assert_eq!(world.told[&3].why, "waits for 2");
    assert!(!world.finished);
}

/// An item that waits for its merge card; `allowed` when the hub may decide it.
fn at_its_merge(world: &mut World, number: u32, reviewed: bool, allowed: Option<DecisionKind>) {
    let mut standing = Standing::plain(ItemState::Asks);
    standing.reviewed = reviewed;
    world.run.standing.insert(number, standing);
    let mut items = world.run.view.items.iter_mut();
    let item = items.find(|item| item.number == number).unwrap();
    item.open = vec![DecisionKind::Merge];
    item.allowed = allowed;
}

#[test]
fn an_item_begins_on_reviewed_work_only_where_a_person_wanted_stacks() {
    for (mode, reviewed, begins) in [
        (MergeMode::Stacked, true, vec![2]),
        (MergeMode::Stacked, false, vec![]),
        (MergeMode::Person, true, vec![]),
        (MergeMode::Merging, true, vec![]),
    ] {
        let mut world = World::new(&[vec![], vec![1], vec![1, 2]], 3, &[10], 100);
        world.run.view.mode = mode;
        world.carry_out();
        at_its_merge(&mut world, 1, reviewed, None);
        let steps = next(&world.run, &world.roadmap);
        let opened: Vec<u32> = steps
            .iter()
            .filter_map(|step| match step {
                Step::Open(number) => Some(*number),
                _ => None,
            })
            .collect();
        assert_eq!(opened, begins, "{mode:?} {reviewed}");
    }
}

#[test]
fn what_stands_on_two_unmerged_items_waits_and_what_is_below_is_one() {
    let mut world = World::new(&[vec![], vec![], vec![1, 2]], 3, &[10], 100);
    world.run.view.mode = MergeMode::Stacked;
    world.carry_out();
    at_its_merge(&mut world, 1, true, None);
    at_its_merge(&mut world, 2, true, None);
    let steps = next(&world.run, &world.roadmap);
    assert!(!steps.contains(&Step::Open(3)), "{steps:?}");
    world
        .run
        .standing
        .insert(1, Standing::plain(ItemState::Merged));
    world.run.view.items[0].pull = Some((PrNumber(1), PullStatus::Merged));
    let steps = next(&world.run, &world.roadmap);
    assert!(steps.contains(&Step::Open(3)), "{steps:?}");
    assert_eq!(stands_on(&world.run.view, 3, &world.roadmap), Some(2));
    assert_eq!(stands_on(&world.run.view, 2, &world.roadmap), None);
}

#[test]
fn merges_are_decided_one_after_the_other_in_the_order_of_the_forecast() {
    let mut world = World::new(&[vec![], vec![], vec![]], 3, &[10], 100);
    world.carry_out();
    for number in 1..=3 {
        at_its_merge(&mut world, number, true, Some(DecisionKind::Merge));
    }
    world.run.order = vec![2, 3, 1];
    let decided = |world: &World| {
        let steps = next(&world.run, &world.roadmap).into_iter();
        let decided = steps.filter_map(|step| match step {
            Step::Decide(number) => Some(number),
            _ => None,
        });
        decided.collect::<Vec<u32>>()
    };
    assert_eq!(decided(&world), [2]);
    world.run.merging = true;
    assert_eq!(decided(&world), Vec::<u32>::new());
    // A plan holds up nothing and waits for nobody.
    world.run.view.items[0].allowed = Some(DecisionKind::Plan);
    assert_eq!(decided(&world), [1]);
    world.run.merging = false;
    world.run.view.items[1].allowed = None;
    assert_eq!(decided(&world), [1, 3]);
    world.run.view.state = RunState::Stopped;
    assert_eq!(decided(&world), Vec::<u32>::new());
}
