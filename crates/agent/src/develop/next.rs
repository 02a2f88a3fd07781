//! What a run does next. Pure: how it stands comes in, steps come out.
//!
//! An item begins when everything that it depends on is done, a place is free and its
//! whole cap fits into what is left of the budget. What cannot go on is named with its
//! reason and holds up only what depends on it.

use std::collections::{BTreeMap, BTreeSet};

use butler_playbook::{Roadmap, Status};
use butler_protocol::{
    DecisionKind, DevelopItem, ItemReport, ItemState, MergeMode, MessageTs, PullStatus, Role,
    RunState, RunView, Sha256Hex, Usd, UserId,
};

/// A run as it is now.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    /// What the hub knows.
    pub(crate) view: RunView,
    /// What the threads of its items say, for every item that has begun.
    pub(crate) standing: BTreeMap<u32, Standing>,
    /// The items whose merge card is open, in the order in which they should be merged.
    pub(crate) order: Vec<u32>,
    /// Whether a merge is under way that the others wait for.
    pub(crate) merging: bool,
}

/// How an item stands that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Standing {
    /// In one word.
    pub(crate) state: ItemState,
    /// What is asked, or why it cannot go on.
    pub(crate) why: String,
    /// Since when, in milliseconds since 1970.
    pub(crate) since_ms: i64,
    /// The role whom a person's words reach; nobody where only a button will do.
    pub(crate) asked_by: Option<Role>,
    /// What would make it go on.
    pub(crate) answer: Option<Answer>,
    /// Whether it waits for nothing but its merge, reviewed and green.
    pub(crate) reviewed: bool,
}

impl Standing {
    /// Without anything to say about it.
    pub(crate) fn plain(state: ItemState) -> Self {
        Self {
            state,
            why: String::new(),
            since_ms: 0,
            asked_by: None,
            answer: None,
            reviewed: false,
        }
    }

    fn report(&self) -> ItemReport {
        ItemReport {
            state: self.state,
            why: self.why.clone(),
        }
    }

    /// Nothing more will happen to it.
    fn ended(&self) -> bool {
        matches!(self.state, ItemState::Merged | ItemState::GivenUp)
    }
}

/// An answer to what an item asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A person gave it in the thread of the run.
    Said {
        /// Where.
        ts: MessageTs,
        /// Who.
        user: UserId,
        /// Their words.
        words: String,
    },
    /// Nobody did in time, and the person who started the run allowed to go on.
    Suggested,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// The item's thread is opened.
    Open(u32),
    /// What was allowed at the start is decided for the item.
    Decide(u32),
    /// What the item stood on is merged: it goes to the default branch.
    MoveUp(u32),
    /// The item goes on with this answer.
    Answer(u32, Answer),
    /// People are shown how the item stands.
    Report(u32, ItemReport),
    /// Nothing is left to do.
    Finish,
}

/// What follows from how a run stands.
pub(crate) fn next(run: &Run, roadmap: &Roadmap) -> Vec<Step> {
    let mut steps = Vec::new();
    if matches!(run.view.state, RunState::Stopped | RunState::Done) {
        return steps;
    }
    steps.extend(decisions(run).map(Step::Decide));
    steps.extend(
        run.standing
            .keys()
            .filter(|number| moves_up(**number, run))
            .copied()
            .map(Step::MoveUp),
    );
    let mut room = Room::of(run);
    // What has begun comes before what has not.
    for (number, standing) in &run.standing {
        let asks = matches!(standing.state, ItemState::Asks | ItemState::Blocked);
        if let Some(answer) = standing.answer.clone().filter(|_| asks)
            && room.take_place()
        {
            steps.push(Step::Answer(*number, answer));
        }
    }
    for item in &run.view.subject.items {
        let report = match place(item, run, roadmap) {
            Place::Known(report) => report,
            Place::Ready => match room.begin(item) {
                Ok(()) => {
                    steps.push(Step::Open(item.number));
                    continue;
                }
                Err(report) => report,
            },
        };
        steps.push(Step::Report(item.number, report));
    }
    // What has not begun by now cannot: nothing is under way that could change that.
    if room.goes_on && !room.under_way {
        steps.push(Step::Finish);
    }
    steps
}

/// Plans as they come, merges one after the other.
fn decisions(run: &Run) -> impl Iterator<Item = u32> {
    let allowed = |number: u32, kind: DecisionKind| {
        let mut items = run.view.items.iter();
        items.any(|item| item.number == number && item.allowed == Some(kind))
    };
    let plans = run.standing.keys().copied();
    let plans = plans.filter(move |number| allowed(*number, DecisionKind::Plan));
    let mut merges = run.order.iter().copied().filter(|_| !run.merging);
    let merge = merges.find(|number| allowed(*number, DecisionKind::Merge));
    plans.chain(merge)
}

/// Whether an item may stand on work that was merged meanwhile, and nobody is at work
/// on it: whoever is sees to it at the next step.
fn moves_up(number: u32, run: &Run) -> bool {
    let resting = run.standing.get(&number);
    let resting =
        resting.is_some_and(|one| matches!(one.state, ItemState::Asks | ItemState::Blocked));
    let mut items = run.view.subject.items.iter();
    let item = items.find(|item| item.number == number);
    let merged = |before: &u32| {
        let standing = run.standing.get(before);
        standing.is_some_and(|one| one.state == ItemState::Merged)
    };
    run.view.mode == MergeMode::Stacked
        && resting
        && item.is_some_and(|item| item.depends_on.iter().any(merged))
}

/// The one item below another that is not on the default branch, where its own work is
/// to begin on that one's.
pub(crate) fn stands_on(view: &RunView, number: u32, roadmap: &Roadmap) -> Option<u32> {
    let mut items = view.subject.items.iter();
    let item = items.find(|item| item.number == number)?;
    let merged = |number: u32| {
        let mut begun = view.items.iter();
        let begun = begun.find(|item| item.number == number);
        begun.is_some_and(|item| matches!(item.pull, Some((_, PullStatus::Merged))))
            || is_done_there(number, roadmap)
    };
    let mut missing = item.depends_on.iter().copied();
    missing.find(|number| !merged(*number))
}

/// Where one item is on its way.
enum Place {
    /// It can begin as far as the others are concerned.
    Ready,
    /// What people are told.
    Known(ItemReport),
}

fn place(item: &DevelopItem, run: &Run, roadmap: &Roadmap) -> Place {
    if let Some(standing) = run.standing.get(&item.number) {
        return Place::Known(standing.report());
    }
    if is_done(item.number, run, roadmap) {
        return Place::Known(report(ItemState::Merged, "done on the roadmap"));
    }
    if let Some(why) = changed(item, roadmap) {
        return Place::Known(report(ItemState::Blocked, why));
    }
    let missing: Vec<u32> = item
        .depends_on
        .iter()
        .copied()
        .filter(|number| !is_done(*number, run, roadmap))
        .collect();
    let reviewed = |number: &u32| run.standing.get(number).is_some_and(|one| one.reviewed);
    let on_top = run.view.mode == MergeMode::Stacked && missing.len() == 1;
    if missing.is_empty() || (on_top && missing.iter().all(reviewed)) {
        return Place::Ready;
    }
    let mut lost = missing
        .iter()
        .filter(|number| is_lost(**number, run, roadmap, &mut BTreeSet::new()));
    if let Some(lost) = lost.next() {
        let why = format!("item {lost}, which it needs, is not built in this run");
        return Place::Known(report(ItemState::Blocked, why));
    }
    let names: Vec<String> = missing
        .iter()
        .map(|number| match run.standing.get(number) {
            Some(one) if one.state == ItemState::Blocked => format!("{number} (blocked)"),
            Some(one) if one.state == ItemState::Asks => format!("{number} (asks)"),
            _ => number.to_string(),
        })
        .collect();
    let why = format!("waits for {}", names.join(", "));
    Place::Known(report(ItemState::Waiting, why))
}

/// Merged in this run, or done on the default branch by anybody.
fn is_done(number: u32, run: &Run, roadmap: &Roadmap) -> bool {
    let merged = run.standing.get(&number);
    merged.is_some_and(|one| one.state == ItemState::Merged) || is_done_there(number, roadmap)
}

fn is_done_there(number: u32, roadmap: &Roadmap) -> bool {
    let item = roadmap.item(number);
    item.is_some_and(|item| item.status == Status::Done)
}

/// Whether the item on the default branch is another one than a person started.
fn changed(item: &DevelopItem, roadmap: &Roadmap) -> Option<&'static str> {
    let words = roadmap.words_of(item.number);
    match words {
        None => Some("it is not on the roadmap any more"),
        Some(words) if Sha256Hex::of(words) != item.sha256 => {
            Some("it was changed on the roadmap after Start, and waits for the next one")
        }
        Some(_) => None,
    }
}

/// Whether nothing in this run will make the item done: it was given up, or cannot
/// begin, or needs one of those. What blocks may still go on.
fn is_lost(number: u32, run: &Run, roadmap: &Roadmap, seen: &mut BTreeSet<u32>) -> bool {
    if is_done(number, run, roadmap) || !seen.insert(number) {
        return false;
    }
    if let Some(standing) = run.standing.get(&number) {
        return standing.state == ItemState::GivenUp;
    }
    let mut own = run.view.subject.items.iter();
    match own.find(|item| item.number == number) {
        // Somebody else may build it yet.
        None => false,
        Some(item) => {
            changed(item, roadmap).is_some()
                || item
                    .depends_on
                    .iter()
                    .any(|before| is_lost(*before, run, roadmap, seen))
        }
    }
}

/// Places and money that are left.
struct Room {
    goes_on: bool,
    places: u32,
    budget: Usd,
    /// Spent, or set aside for what has begun.
    taken: Usd,
    /// Whether something has begun and not ended, so that money may come back.
    under_way: bool,
}

impl Room {
    fn of(run: &Run) -> Self {
        let subject = &run.view.subject;
        let cap_of = |number: u32| {
            let mut items = subject.items.iter();
            let own = items.find(|item| item.number == number);
            own.map_or(Usd::ZERO, |item| item.cap)
        };
        // What is not of an item is of the run's own thread.
        let of_items: Usd = run.view.items.iter().map(|item| item.spent).sum();
        let own = run.view.spent.nanos().saturating_sub(of_items.nanos());
        let mut taken = Usd::from_nanos(own.max(0));
        let (mut working, mut under_way) = (0, false);
        for begun in &run.view.items {
            let standing = run.standing.get(&begun.number);
            let ended = standing.is_some_and(Standing::ended);
            taken += if ended {
                begun.spent
            } else {
                begun.spent.max(cap_of(begun.number))
            };
            under_way |= !ended;
            working += u32::from(standing.is_none_or(|one| one.state == ItemState::Working));
        }
        Self {
            goes_on: run.view.state == RunState::Running,
            places: subject.at_once.max(1).saturating_sub(working),
            budget: subject.budget,
            taken,
            under_way,
        }
    }

    fn take_place(&mut self) -> bool {
        let free = self.goes_on && self.places > 0;
        self.places -= u32::from(free);
        free
    }

    /// Takes a place and the whole cap of an item, or says what is missing.
    fn begin(&mut self, item: &DevelopItem) -> Result<(), ItemReport> {
        if !self.goes_on {
            return Err(report(ItemState::Waiting, "the run is paused"));
        }
        if self.taken + item.cap > self.budget {
            let why = format!(
                "it may cost {}, and {} of {} is spent or set aside",
                item.cap, self.taken, self.budget
            );
            let state = if self.under_way {
                ItemState::Waiting
            } else {
                ItemState::Blocked
            };
            return Err(report(state, why));
        }
        if !self.take_place() {
            return Err(report(ItemState::Waiting, "waits for a free place"));
        }
        self.taken += item.cap;
        self.under_way = true;
        Ok(())
    }
}

fn report(state: ItemState, why: impl Into<String>) -> ItemReport {
    ItemReport {
        state,
        why: why.into(),
    }
}

#[cfg(test)]
#[path = "next_tests.rs"]
mod tests;
