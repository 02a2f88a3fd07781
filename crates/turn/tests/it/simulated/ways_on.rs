//! No state is a dead end: wherever a world came to rest, a person's next word is
//! taken up by a model or answered by a card, also after the process died there, and
//! also after a stop, which ends whatever sleeps.

use butler_protocol::{DecisionKind, Ending, Record, Waiting};

use super::{
    checks::check_end,
    driver::World,
    hub::{Delivery, Mail},
};

/// How a world came to rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Everybody was answered.
    Done,
    /// A role asked people something.
    WaitsForWords,
    /// A card is open.
    WaitsForACard,
    Stopped,
    Failed,
    /// Nobody raised the cap.
    OutOfMoney,
    /// The turns were used up, or it went in circles.
    GaveUp,
}

impl Rest {
    pub(crate) const ALL: [Self; 7] = [
        Self::Done,
        Self::WaitsForWords,
        Self::WaitsForACard,
        Self::Stopped,
        Self::Failed,
        Self::OutOfMoney,
        Self::GaveUp,
    ];

    pub(crate) fn of(world: &World) -> Self {
        match world.machine.parked() {
            Some(Waiting::Person) => return Self::WaitsForWords,
            Some(Waiting::Decision { .. }) => return Self::WaitsForACard,
            Some(other) => panic!("it rests while it waits for {other:?}"),
            None => {}
        }
        let mut ends = world.disk.iter().rev();
        let last = ends.find_map(|entry| match &entry.record {
            Record::ActivationEnded { ending, .. } => Some(ending),
            _ => None,
        });
        match last {
            None | Some(Ending::Done | Ending::PassedOn) => Self::Done,
            Some(Ending::Stopped) => Self::Stopped,
            Some(Ending::Failed { .. }) => Self::Failed,
            Some(Ending::OutOfMoney) => Self::OutOfMoney,
            Some(Ending::TurnLimit | Ending::Stuck) => Self::GaveUp,
        }
    }
}

/// What a person does in the state that a world ended in. Nothing dies any more.
pub(crate) fn check(world: &mut World) {
    world.crash_percent = 0;
    match world.dice.below(4) {
        0 => {}
        1 => world.crash(),
        2 => press(world),
        _ => {
            deliver(world, Delivery::Stop);
            assert!(
                world.machine.is_idle() && world.machine.parked().is_none(),
                "a stop does not end what sleeps"
            );
        }
    }
    let rest = Rest::of(world);
    let word = "word-900-";
    let said = crate::harness::heard(900, crate::harness::ana(), word);
    deliver(world, Delivery::Message(said));
    let taken_up = world.requests.iter().any(|request| request.contains(word));
    assert!(
        taken_up || asks_for_money(world, word),
        "{rest:?} is a dead end: a person's word starts nothing"
    );
    check_end(world);
}

fn deliver(world: &mut World, what: Delivery) {
    world.hub.mail.push(Mail {
        what,
        at_ms: world.now_ms,
        acknowledged: false,
    });
    world.come_to_rest();
}

/// Somebody comes back to every card that was left open; what a press must lead to
/// is among the promises of every end.
fn press(world: &mut World) {
    for (request, kind) in world.hub.open_cards() {
        let now_ms = world.now_ms;
        world.hub.press(&request, kind, now_ms, &mut world.dice);
    }
    world.come_to_rest();
    check_end(world);
}

/// Whether the word has to wait for money, and people are asked for it.
fn asks_for_money(world: &World, word: &str) -> bool {
    let heard = |record: &Record| matches!(record, Record::User { text, .. } if text == word);
    let mut since = world.disk.iter().skip_while(|entry| !heard(&entry.record));
    let asked = since.any(|entry| {
        let Record::DecisionAsked { subject, .. } = &entry.record else {
            return false;
        };
        subject.kind() == DecisionKind::Cap
    });
    let open = world.hub.open_cards();
    asked || open.values().any(|kind| *kind == DecisionKind::Cap)
}
