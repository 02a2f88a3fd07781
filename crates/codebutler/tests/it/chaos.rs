//! What a run passed, and which of it is killed: passages of fault points, read
//! from the log that the processes write.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    path::Path,
};

/// One passage of one point in one process.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Passage {
    /// `process/name`.
    pub point: String,
    /// Which passage in the life of the process, from 1.
    pub number: u32,
}

impl Passage {
    /// Reads what [`fmt::Display`] writes.
    pub fn parse(text: &str) -> Option<Self> {
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
pub fn passages(log: &Path) -> Vec<Passage> {
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
pub fn killed(log: &Path) -> bool {
    fs::read_to_string(log).is_ok_and(|text| text.lines().any(|line| line.ends_with(" killed")))
}

/// The points of some passages.
pub fn points(passages: &[Passage]) -> BTreeSet<&str> {
    passages.iter().map(|one| one.point.as_str()).collect()
}

/// Whether everything is run, however long it takes.
pub fn nightly() -> bool {
    std::env::var_os("CODEBUTLER_NIGHTLY").is_some()
}

/// How many worlds run at the same time.
pub fn worlds_at_once() -> usize {
    std::thread::available_parallelism().map_or(4, |cores| (cores.get() * 2).clamp(2, 12))
}
