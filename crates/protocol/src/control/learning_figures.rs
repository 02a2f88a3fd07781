//! What is known of a learning, as the command line and the page show it.

use serde::{Deserialize, Serialize};

/// One learning, and whether it earns its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LearningFigures {
    pub id: String,
    /// The file it stands in.
    pub file: String,
    pub title: String,
    /// Where it comes from: the thread, and the day.
    pub source: String,
    /// Whether it is left out of half of the next threads.
    pub trial: bool,
    /// Threads that had it in a prompt.
    pub with: usize,
    /// Threads that had not.
    pub without: usize,
    /// Threads whose look back says that it helped.
    pub helped: usize,
    /// Trouble per thread.
    pub trouble: Option<Difference>,
    /// Dollars per thread.
    pub cost: Option<Difference>,
    /// The difference in words, with how sure it is.
    pub said: String,
    /// Why it should go, where something speaks against it.
    pub against: Option<String>,
}

impl LearningFigures {
    /// The day its source names, `YYYY-MM-DD`.
    pub fn day(&self) -> Option<&str> {
        let shape = |word: &str| {
            let parts: Vec<&str> = word.split('-').collect();
            let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
            let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
            lengths == [4, 2, 2] && parts.into_iter().all(digits)
        };
        let mut words = self.source.rsplit([',', ' ']);
        words.find(|word| shape(word))
    }
}

/// The difference that a learning makes per thread: below zero is less with it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    pub mean: f64,
    /// Half the width of the interval in which it lies in 19 of 20 cases.
    pub margin: f64,
}

impl Difference {
    /// Whether all of the interval lies on one side.
    pub fn is_clear(self) -> bool {
        self.mean.abs() > self.margin
    }
}
