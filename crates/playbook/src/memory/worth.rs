//! Whether a learning earns its place: how threads went that had it in a prompt,
//! against those that had not. Honest about how little few threads can say.

use std::collections::BTreeSet;

use butler_protocol::{Difference, Role};
use serde::{Deserialize, Serialize};

/// How one thread went.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadStory {
    /// When it began, in milliseconds since 1970.
    pub began_ms: i64,
    /// Who took part.
    pub roles: BTreeSet<Role>,
    /// Ids of the learnings that were in one of its prompts.
    pub given: BTreeSet<String>,
    /// Ids of those that its look back names as having helped.
    pub helped: BTreeSet<String>,
    /// Second and later review rounds, refused forms, failed tools, corrections by a
    /// person, circles: what a good learning spares.
    pub trouble: u32,
    /// What it cost, in dollars.
    pub cost: f64,
}

fn difference(with: &[f64], without: &[f64]) -> Option<Difference> {
    let (n, m) = (with.len(), without.len());
    let fewest = n.min(m);
    if fewest < FEWEST {
        return None;
    }
    let spread = variance(with) / count(n) + variance(without) / count(m);
    Some(Difference {
        mean: mean(with) - mean(without),
        margin: quantile(fewest - 1) * spread.sqrt(),
    })
}

/// With fewer threads on one side nothing is said.
const FEWEST: usize = 3;

/// What is known of one learning.
#[derive(Debug, Clone, PartialEq)]
pub struct Worth {
    /// Threads that had it.
    pub with: usize,
    /// Threads that had not.
    pub without: usize,
    /// Threads whose look back says that it helped.
    pub helped: usize,
    /// Trouble per thread.
    pub trouble: Option<Difference>,
    /// Dollars per thread.
    pub cost: Option<Difference>,
}

impl Worth {
    /// Looks at threads that could have had it.
    pub fn of(id: &str, threads: &[ThreadStory]) -> Self {
        let (with, without): (Vec<&ThreadStory>, Vec<&ThreadStory>) =
            threads.iter().partition(|thread| thread.given.contains(id));
        let trouble = |threads: &[&ThreadStory]| -> Vec<f64> {
            threads.iter().map(|one| f64::from(one.trouble)).collect()
        };
        let cost =
            |threads: &[&ThreadStory]| -> Vec<f64> { threads.iter().map(|one| one.cost).collect() };
        Self {
            helped: with.iter().filter(|one| one.helped.contains(id)).count(),
            trouble: difference(&trouble(&with), &trouble(&without)),
            cost: difference(&cost(&with), &cost(&without)),
            with: with.len(),
            without: without.len(),
        }
    }

    /// Whether threads without it went as well, as far as they can tell: nobody
    /// named it, and what trouble there was is not less with it.
    pub fn is_useless(&self) -> bool {
        let spares = self.trouble.is_none_or(|trouble| trouble.mean < 0.0);
        self.helped == 0 && !spares
    }

    /// In one line, for people.
    pub fn in_words(&self) -> String {
        let Some(trouble) = self.trouble else {
            let Self { with, without, .. } = self;
            return format!("too few threads to tell ({with} with it, {without} without)");
        };
        let word = |value: f64| match value {
            _ if value.abs() < 0.05 => "the same".to_owned(),
            _ if value < 0.0 => format!("{:.1} less", -value),
            _ => format!("{value:.1} more"),
        };
        let (mean, with, without) = (word(trouble.mean), self.with, self.without);
        let (low, high) = (trouble.mean - trouble.margin, trouble.mean + trouble.margin);
        let range = format!("between {} and {}", word(low), word(high));
        let sure = match trouble.is_clear() {
            true => "",
            false => "; it may be chance",
        };
        format!(
            "trouble per thread: {mean} with it, {range}{sure} ({with} threads with it, {without} without)"
        )
    }
}

fn count(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / count(values.len())
}

fn variance(values: &[f64]) -> f64 {
    let middle = mean(values);
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    squares / count(values.len() - 1)
}

/// Student's t for 19 of 20 cases, by degrees of freedom; the smaller group's, which
/// errs on the careful side.
fn quantile(freedom: usize) -> f64 {
    const TABLE: [f64; 10] = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23];
    let exact = TABLE.get(freedom.saturating_sub(1)).copied();
    exact.unwrap_or(if freedom < 30 { 2.2 } else { 2.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(with: &[u32], without: &[u32]) -> Vec<ThreadStory> {
        let thread = |trouble: &u32, given: bool| ThreadStory {
            given: given.then(|| "a".to_owned()).into_iter().collect(),
            trouble: *trouble,
            cost: f64::from(*trouble) / 10.0,
            ..ThreadStory::default()
        };
        let with = with.iter().map(|trouble| thread(trouble, true));
        with.chain(without.iter().map(|trouble| thread(trouble, false)))
            .collect()
    }

    #[test]
    fn few_threads_say_nothing_and_many_say_how_sure_they_are() {
        let worth = Worth::of("a", &threads(&[0, 0], &[3, 3, 3]));
        assert_eq!(worth.trouble, None);
        assert!(worth.in_words().contains("too few threads"), "{worth:?}");
        assert!(
            !worth.is_useless(),
            "what is not known speaks against nobody"
        );
        let good = Worth::of("a", &threads(&[0, 0, 1, 0], &[3, 2, 3, 3]));
        assert!(good.trouble.unwrap().is_clear() && !good.is_useless());
        let said = good.in_words();
        assert!(
            said.contains("2.5 less with it") && !said.contains("chance"),
            "{said}"
        );
        let same = Worth::of("a", &threads(&[1, 2, 0, 1], &[1, 0, 2, 1]));
        assert!(same.is_useless() && same.in_words().contains("may be chance"));
    }

    #[test]
    fn what_a_look_back_names_is_not_useless() {
        let mut all = threads(&[1, 1, 1], &[1, 1, 1]);
        assert!(Worth::of("a", &all).is_useless());
        all[0].helped.insert("a".to_owned());
        assert!(!Worth::of("a", &all).is_useless());
    }
}
