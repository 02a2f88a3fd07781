//! What a run passed, and which of it is killed: passages of fault points, read
//! from the log that the processes write.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    hash::{Hash, Hasher},
    path::Path,
};

/// One passage of one point in one process.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Passage {
    /// `process/name`.
    pub point: String,
    /// Which passage in the life of the process, from 1.
    pub number: u32,
}

impl Passage {
    /// Reads what [`fmt::Display`] writes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (point, number) = text.rsplit_once(':')?;
        Some(Self {
            point: point.to_owned(),
            number: number.parse().ok()?,
        })
    }
}

impl fmt::Display for Passage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.point, self.number)
    }
}

/// Every passage of a run in which nobody died.
pub(crate) fn passages(log: &Path) -> Vec<Passage> {
    let text = fs::read_to_string(log).unwrap();
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    text.lines()
        .map(|line| {
            let count = counts.entry(line).or_default();
            *count += 1;
            Passage {
                point: line.to_owned(),
                number: *count,
            }
        })
        .collect()
}

/// Whether a run killed somebody.
pub(crate) fn killed(log: &Path) -> bool {
    fs::read_to_string(log).is_ok_and(|text| text.lines().any(|line| line.ends_with(" killed")))
}

/// The points of some passages.
pub(crate) fn points(passages: &[Passage]) -> BTreeSet<&str> {
    passages.iter().map(|one| one.point.as_str()).collect()
}

/// Whether everything is run, however long it takes.
pub(crate) fn nightly() -> bool {
    std::env::var_os("CODEBUTLER_NIGHTLY").is_some()
}

/// How many passages are chosen: `CODEBUTLER_SAMPLE`, else what CI can afford.
pub(crate) fn sample_size(affordable: usize) -> usize {
    let wanted = std::env::var("CODEBUTLER_SAMPLE").ok();
    wanted
        .and_then(|text| text.parse().ok())
        .unwrap_or(affordable)
}

/// How many worlds run at the same time.
pub(crate) fn worlds_at_once() -> usize {
    std::thread::available_parallelism().map_or(4, |cores| (cores.get() * 2).clamp(2, 12))
}

/// A small random sequence that a seed repeats.
pub(crate) struct Dice(u64);

impl Dice {
    /// From `CODEBUTLER_SEED`, else from the commit: every commit gets another
    /// sample, and the same one wherever it is tested. Printed, so that a
    /// failure can be played again.
    #[expect(clippy::print_stdout, reason = "a failure is played again by its seed")]
    pub(crate) fn throw() -> Self {
        let given = std::env::var("CODEBUTLER_SEED").ok();
        let seed = given.and_then(|text| text.parse().ok()).unwrap_or_else(|| {
            let mut hasher = std::hash::DefaultHasher::new();
            env!("CODEBUTLER_VERSION").hash(&mut hasher);
            hasher.finish()
        });
        println!("CODEBUTLER_SEED={seed}");
        Self(seed)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % limit as u64).unwrap()
    }

    /// So many passages, each of another point.
    pub(crate) fn sample(&mut self, all: &[Passage], count: usize) -> Vec<Passage> {
        let mut left: Vec<&str> = points(all).into_iter().collect();
        let mut chosen = Vec::new();
        while chosen.len() < count && !left.is_empty() {
            let point = left.swap_remove(self.below(left.len()));
            let of_point: Vec<_> = all.iter().filter(|one| one.point == point).collect();
            chosen.push(of_point[self.below(of_point.len())].clone());
        }
        chosen
    }
}

/// Every point once, at its first passage.
pub(crate) fn firsts(all: &[Passage]) -> Vec<Passage> {
    let first = |point: &str| all.iter().find(|one| one.point == point).cloned();
    points(all).into_iter().filter_map(first).collect()
}

/// Every point at its first and its last passage.
pub(crate) fn first_and_last(all: &[Passage]) -> Vec<Passage> {
    let mut chosen = BTreeSet::new();
    for point in points(all) {
        let mut of_point = all.iter().filter(|one| one.point == point);
        chosen.extend(of_point.next().cloned());
        chosen.extend(of_point.next_back().cloned());
    }
    chosen.into_iter().collect()
}

/// Passages named by `CODEBUTLER_VICTIM`, with commas between them.
pub(crate) fn named() -> Option<Vec<Passage>> {
    let names = std::env::var("CODEBUTLER_VICTIM").ok()?;
    Some(names.split(',').filter_map(Passage::parse).collect())
}
