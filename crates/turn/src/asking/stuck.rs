//! Going in circles, and getting out.
//!
//! Looks at the calls of the last turns *and* their results: asking again is
//! fine while the answer changes. When the last turn belongs to a pattern, the
//! escape steps are taken one after the other, two turns each; two turns of
//! something else bring it back to nothing.

use std::{
    collections::{BTreeSet, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
};

use butler_protocol::{ToolCall, ToolOutcome, among};

use crate::known::SPEAKING;

/// Calls that are looked at.
const WINDOW: usize = 12;
/// How often something has to be the same.
const REPEATS: usize = 3;
/// How many calls in a row have to fail, or to alternate.
const RUN: usize = 6;
/// Turns that a step gets to work.
const TURNS_PER_STEP: u32 = 2;
/// Turns without a pattern that count as progress.
const CLEAN_TURNS: u32 = 2;

/// How far the way out has been gone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Escape {
    #[default]
    None,
    /// Asked to reflect.
    Reflect,
    /// Asked for a list of what was tried, and something new.
    List,
    /// The looping call is refused.
    Refuse,
    /// Somebody else has to help.
    GiveUp,
}

impl Escape {
    fn next(self) -> Self {
        match self {
            Escape::None => Escape::Reflect,
            Escape::Reflect => Escape::List,
            Escape::List => Escape::Refuse,
            Escape::Refuse | Escape::GiveUp => Escape::GiveUp,
        }
    }
}

/// What was seen in the last turns of an activation.
#[derive(Debug, Default)]
pub(crate) struct Stuck {
    calls: VecDeque<Seen>,
    texts: VecDeque<u64>,
    escape: Escape,
    /// The turn in which the current step began.
    since: u32,
    clean: u32,
    refused: Vec<u64>,
    why: String,
}

#[derive(Debug, Clone)]
struct Seen {
    turn: u32,
    call: u64,
    result: u64,
    ok: bool,
    name: String,
}

/// A pattern that the last turn belongs to.
struct Pattern {
    why: String,
    calls: Vec<u64>,
}

impl Stuck {
    /// Takes a turn whose results are all in.
    pub(crate) fn observe<'a>(
        &mut self,
        turn: u32,
        text: Option<&str>,
        calls: impl Iterator<Item = (&'a ToolCall, &'a ToolOutcome)>,
    ) {
        let mut stubborn = true;
        for (call, outcome) in calls {
            // A refusal says nothing new about the call that was refused.
            if !self.refuses(call) {
                stubborn = false;
                self.see(turn, call, outcome);
            }
        }
        if let Some(text) = text {
            self.texts.push_back(hash(text.trim()));
        }
        while self.calls.len() > WINDOW {
            self.calls.pop_front();
        }
        while self.texts.len() > WINDOW {
            self.texts.pop_front();
        }
        let pattern = if stubborn {
            let (why, calls) = (self.why.clone(), self.refused.clone());
            Some(Pattern { why, calls })
        } else {
            self.pattern(turn)
        };
        match pattern {
            Some(pattern) => self.looping(turn, pattern),
            None => self.moving(),
        }
    }

    /// The same call twice in one turn counts once.
    fn see(&mut self, turn: u32, call: &ToolCall, outcome: &ToolOutcome) {
        let seen = Seen {
            turn,
            call: call_hash(call),
            result: hash(&outcome.text),
            ok: outcome.ok,
            name: call.name.clone(),
        };
        let twin = |other: &Seen| other.turn == turn && other.call == seen.call;
        if !self.calls.iter().any(twin) {
            self.calls.push_back(seen);
        }
    }

    fn looping(&mut self, turn: u32, pattern: Pattern) {
        self.clean = 0;
        let due = self.escape == Escape::None || turn >= self.since + TURNS_PER_STEP;
        if !due {
            return;
        }
        self.escape = self.escape.next();
        self.since = turn;
        self.why = pattern.why;
        if self.escape == Escape::Refuse {
            self.refused = pattern.calls;
        }
    }

    fn moving(&mut self) {
        self.clean += 1;
        if self.clean >= CLEAN_TURNS {
            self.escape = Escape::None;
            self.refused.clear();
        }
    }

    fn pattern(&self, turn: u32) -> Option<Pattern> {
        self.same_result(turn)
            .or_else(|| self.same_error(turn))
            .or_else(|| self.same_text())
            .or_else(|| self.alternation())
            .or_else(|| self.only_errors())
    }

    fn same_result(&self, turn: u32) -> Option<Pattern> {
        let last = self.calls.iter().filter(|seen| seen.turn == turn);
        last.into_iter().find_map(|seen| {
            let same = |other: &&Seen| (other.call, other.result) == (seen.call, seen.result);
            let count = self.calls.iter().filter(same).count();
            (count >= REPEATS).then(|| Pattern {
                why: format!(
                    "{} was called {count} times with the same arguments and the same result",
                    seen.name
                ),
                calls: vec![seen.call],
            })
        })
    }

    /// Several calls of one turn that fail alike count once.
    fn same_error(&self, turn: u32) -> Option<Pattern> {
        let failed = |seen: &&Seen| !seen.ok && seen.turn == turn;
        self.calls.iter().filter(failed).find_map(|seen| {
            let same = |other: &&Seen| !other.ok && other.result == seen.result;
            let alike = || self.calls.iter().filter(same);
            let turns: BTreeSet<u32> = alike().map(|other| other.turn).collect();
            (turns.len() >= REPEATS).then(|| Pattern {
                why: format!("{} gave the same error {} times", seen.name, turns.len()),
                calls: alike().map(|other| other.call).collect(),
            })
        })
    }

    fn same_text(&self) -> Option<Pattern> {
        let last = self.texts.back()?;
        let count = self.texts.iter().filter(|text| *text == last).count();
        (count >= REPEATS).then(|| Pattern {
            why: format!("the same text was written {count} times"),
            calls: Vec::new(),
        })
    }

    fn alternation(&self) -> Option<Pattern> {
        let last: Vec<&Seen> = self.calls.iter().rev().take(RUN).collect();
        let key = |seen: &Seen| (seen.call, seen.result);
        let swings = last.len() == RUN
            && last
                .windows(3)
                .all(|three| key(three[0]) == key(three[2]) && key(three[0]) != key(three[1]));
        swings.then(|| Pattern {
            why: format!(
                "{} and {} were called in turns without a change",
                last[1].name, last[0].name
            ),
            calls: vec![last[0].call, last[1].call],
        })
    }

    fn only_errors(&self) -> Option<Pattern> {
        let last: Vec<&Seen> = self.calls.iter().rev().take(RUN).collect();
        let turns: BTreeSet<u32> = last.iter().map(|seen| seen.turn).collect();
        let all = last.len() == RUN && turns.len() > 1 && last.iter().all(|seen| !seen.ok);
        (all && !corrected(&last)).then(|| Pattern {
            why: format!("the last {RUN} calls all failed"),
            calls: vec![last[0].call],
        })
    }

    /// How far the way out has been gone.
    pub(crate) fn escape(&self) -> Escape {
        self.escape
    }

    /// The step that begins after this turn, if one does.
    pub(crate) fn begins(&self, turn: u32) -> Option<Escape> {
        (self.escape > Escape::None && self.since == turn).then_some(self.escape)
    }

    /// What repeats.
    pub(crate) fn why(&self) -> &str {
        &self.why
    }

    /// Whether this call is refused for now.
    pub(crate) fn refuses(&self, call: &ToolCall) -> bool {
        self.escape >= Escape::Refuse && self.refused.contains(&call_hash(call))
    }
}

/// One form sent again and again, each time different and with another answer:
/// that is somebody filling it in, not going in circles.
fn corrected(calls: &[&Seen]) -> bool {
    let results: BTreeSet<u64> = calls.iter().map(|seen| seen.result).collect();
    let form = calls.first().map(|seen| seen.name.as_str());
    form.is_some_and(|name| among(SPEAKING, name))
        && calls.iter().all(|seen| Some(seen.name.as_str()) == form)
        && results.len() == calls.len()
}

pub(crate) fn call_hash(call: &ToolCall) -> u64 {
    hash(&(&call.name, call.arguments.to_string()))
}

/// Only ever compared with hashes of the same run, so any hash will do.
pub(crate) fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
