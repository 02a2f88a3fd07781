//! Words by which a person acts on a thread itself when no card is open: merge,
//! close, hold, resume, archive, undo, remember. The word goes to the role that carries it out,
//! as a stamp that only the hub can make; models do not read it.

use butler_policy::{Remembered, Word, meanings, without_mentions};
use butler_protocol::{Choice, DecisionKind, DecisionView, PersonAct, Right, ThreadId};

use super::words::Said;
use crate::{
    error::{Result, Trouble},
    identity::Person,
    store::{Db, Tx},
    views::pulls,
    workspace::{Rules, access, decide, stops},
};

/// Words that go on after Hold; elsewhere they are for whoever works.
const GO_ON: [&str; 4] = ["resume", "go on", "continue", "sigue"];

/// The words by which a person can act on a thread now, in the order of the
/// buttons. There is always one.
pub(crate) fn possible(
    db: &Db,
    thread: &ThreadId,
    cards: &[DecisionView],
) -> Result<Vec<&'static str>> {
    let mut words = Vec::new();
    let open = pulls::has_open(db, thread)?;
    let held = open && is_held(cards);
    if open {
        words.push("merge");
    }
    if held || stops::stopped(db, thread)?.is_some() {
        words.push("resume");
    } else if open {
        words.push("hold");
    }
    if open {
        words.push("close");
    }
    words.push("archive");
    Ok(words)
}

/// Those of the words that count when this person says them.
pub(crate) fn allowed(
    db: &Db,
    rules: &Rules,
    person: &Person,
    thread: &ThreadId,
    mut words: Vec<&'static str>,
) -> Result<Vec<&'static str>> {
    let stopped = stops::stopped(db, thread)?.is_some();
    let right = |word: &str| match word {
        "archive" => PersonAct::Archive.right(),
        // Who was stopped goes on at anybody's word.
        "resume" if stopped => Right::Ask,
        "hold" => PersonAct::Hold.right(),
        _ => PersonAct::Merge.right(),
    };
    words.retain(|word| access::may(db, rules, person, right(word)).is_ok());
    Ok(words)
}

/// Whether the last word about the merge was Hold.
fn is_held(cards: &[DecisionView]) -> bool {
    let mut merges = cards
        .iter()
        .filter(|card| card.asked.kind == DecisionKind::Merge);
    let last = merges.next_back().and_then(|card| card.decided.as_ref());
    last.is_some_and(|decision| decision.choice == Choice::Hold)
}

/// What this message does to its thread, if it is such a word. Of somebody without the
/// right to it, it stays a word, and they are told.
pub(crate) fn meant(tx: &mut Tx<'_>, rules: &Rules, said: &Said<'_>) -> Result<Option<PersonAct>> {
    let Some(act) = read(tx.db(), said)? else {
        return Ok(None);
    };
    match access::may(tx.db(), rules, said.person, act.right()) {
        Ok(()) => Ok(Some(act)),
        Err(Trouble::Refused(refusal)) => {
            if let Some(root) = said.root {
                let thread = ThreadId::new(said.channel.clone(), root.clone());
                access::tell(tx, rules, said.person, (&thread, act.role()), refusal)?;
            }
            Ok(None)
        }
        Err(trouble) => Err(trouble),
    }
}

/// Without an open pull request a word about one is only a word.
fn read(db: &Db, said: &Said<'_>) -> Result<Option<PersonAct>> {
    // Also where it begins a thread; `add: …` answers proposals.
    if let Some(kept) = Remembered::read(without_mentions(said.text, None)) {
        let answers = match said.root {
            Some(root) => {
                let thread = ThreadId::new(said.channel.clone(), root.clone());
                let cards = decide::of_thread(db, &thread)?;
                let mut kinds = cards.iter().map(|card| card.asked.kind);
                kinds.any(|kind| matches!(kind, DecisionKind::Learning | DecisionKind::Maps))
            }
            None => false,
        };
        if answers || !kept.adds {
            return Ok(Some(PersonAct::Remember));
        }
    }
    let Some(root) = said.root else {
        return Ok(None);
    };
    let words = meanings(said.text);
    if words.contains(&Word::Archive) {
        return Ok(Some(PersonAct::Archive));
    }
    let plain = said.text.trim().trim_end_matches(['.', '!']).to_lowercase();
    let number = plain.strip_prefix("undo ").map(|rest| rest.trim().parse());
    if let Some(Ok(number)) = number {
        return Ok(Some(PersonAct::Undo(number)));
    }
    let goes_on = GO_ON.contains(&plain.as_str());
    let about = [Word::Merge, Word::Close, Word::Hold];
    if !goes_on && !words.iter().any(|word| about.contains(word)) {
        return Ok(None);
    }
    let thread = ThreadId::new(said.channel.clone(), root.clone());
    if !pulls::has_open(db, &thread)? {
        return Ok(None);
    }
    let cards = decide::of_thread(db, &thread)?;
    let mut merges = cards
        .iter()
        .filter(|card| card.asked.kind == DecisionKind::Merge);
    if goes_on {
        // Whoever was stopped goes on first.
        if stops::stopped(db, &thread)?.is_some() {
            return Ok(None);
        }
        return Ok(is_held(&cards).then_some(PersonAct::Merge));
    }
    Ok(if words.contains(&Word::Hold) {
        Some(PersonAct::Hold)
    } else {
        // An open card is answered by the word itself, where that is clear.
        let open = merges.any(|card| card.decided.is_none());
        (!open).then_some(PersonAct::Merge)
    })
}
