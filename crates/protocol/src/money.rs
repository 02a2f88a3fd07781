//! Money and tokens. Whole nanodollars, so that sums are exact and a cap is a cap.

use std::{fmt, iter::Sum, ops};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An amount of US dollars in whole nanodollars.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Usd(i64);

impl Usd {
    /// Nothing.
    pub const ZERO: Usd = Usd(0);

    /// From whole nanodollars.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// From whole cents.
    pub const fn from_cents(cents: i64) -> Self {
        Self(cents.saturating_mul(10_000_000))
    }

    /// From a figure in dollars, rounded up to the next nanodollar; what is not
    /// a number counts as nothing.
    pub fn from_dollars(dollars: f64) -> Self {
        // The cast makes nothing of what is not a number.
        Self((dollars * 1e9).ceil() as i64)
    }

    /// Whole nanodollars.
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// Dollars as a floating point figure, for charts only.
    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// From `self` to `high`, as people read it: one figure where both read alike.
    pub fn to(self, high: Usd) -> String {
        let (low, high) = (self.to_string(), high.to_string());
        if low == high {
            low
        } else {
            format!("{low} to {high}")
        }
    }

    /// As exact as it reads: a guess to the last nanodollar promises too much.
    pub const fn rough(self) -> Usd {
        // Little is not nothing: it is rounded up, as it reads.
        let (step, more) = match self.0.unsigned_abs() {
            0..100_000_000 => (100_000, 99_999),
            _ => (10_000_000, 5_000_000),
        };
        Usd((self.0 + more) / step * step)
    }

    /// The difference, but never less than nothing.
    pub fn saturating_sub(self, other: Usd) -> Usd {
        Usd(self.0.saturating_sub(other.0).max(0))
    }

    /// What calls have cost, for people. Where nothing was charged, by a server of
    /// one's own or one that does not say what it takes, no amount is made up.
    pub fn or_unknown(self) -> String {
        match self {
            Usd::ZERO => "no known cost".to_owned(),
            cost => cost.to_string(),
        }
    }
}

impl fmt::Display for Usd {
    /// Two decimals from ten cents up, four below, so that small calls do not read `$0.00`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let nanos = self.0.unsigned_abs();
        if nanos == 0 || nanos >= 100_000_000 {
            let cents = (nanos + 5_000_000) / 10_000_000;
            write!(f, "{sign}${}.{:02}", cents / 100, cents % 100)
        } else {
            let parts = nanos.div_ceil(100_000);
            write!(f, "{sign}${}.{:04}", parts / 10_000, parts % 10_000)
        }
    }
}

impl ops::Add for Usd {
    type Output = Usd;

    fn add(self, other: Usd) -> Usd {
        Usd(self.0.saturating_add(other.0))
    }
}

impl ops::AddAssign for Usd {
    fn add_assign(&mut self, other: Usd) {
        *self = *self + other;
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Usd>>(amounts: I) -> Usd {
        amounts.fold(Usd::ZERO, ops::Add::add)
    }
}

/// What a provider counted for one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TokenUsage {
    /// All input tokens, the cached ones included.
    pub input: u64,
    /// Of these, read from the provider's cache.
    pub cached_input: u64,
    /// Of these, written to the provider's cache.
    pub cache_write: u64,
    /// All output tokens, the reasoning ones included.
    pub output: u64,
    /// Of these, spent on reasoning.
    pub reasoning: u64,
}

impl ops::AddAssign for TokenUsage {
    fn add_assign(&mut self, other: TokenUsage) {
        self.input += other.input;
        self.cached_input += other.cached_input;
        self.cache_write += other.cache_write;
        self.output += other.output;
        self.reasoning += other.reasoning;
    }
}

/// What a model charges per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Price {
    /// Per million input tokens.
    pub input: Usd,
    /// Per million input tokens read from the cache.
    pub cached_input: Usd,
    /// Per million input tokens written to the cache.
    pub cache_write: Usd,
    /// Per million output tokens.
    pub output: Usd,
}

impl Price {
    /// A price without cache rules: cached input costs what input costs.
    pub const fn flat(input: Usd, output: Usd) -> Self {
        Self {
            input,
            cached_input: input,
            cache_write: input,
            output,
        }
    }

    /// What a call costs at this price, rounded up.
    pub fn of(&self, usage: &TokenUsage) -> Usd {
        let special = usage.cached_input.saturating_add(usage.cache_write);
        let plain = usage.input.saturating_sub(special);
        let parts = [
            (plain, self.input),
            (usage.cached_input, self.cached_input),
            (usage.cache_write, self.cache_write),
            (usage.output, self.output),
        ];
        let total: i128 = parts
            .iter()
            .map(|(tokens, rate)| i128::from(*tokens) * i128::from(rate.0))
            .sum();
        let nanos = (total + 999_999).div_euclid(1_000_000);
        Usd(i64::try_from(nanos).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_as_people_write_them() {
        let cases = [
            (Usd::ZERO, "$0.00"),
            (Usd::from_cents(500), "$5.00"),
            (Usd::from_cents(18), "$0.18"),
            (Usd::from_nanos(1_234_567), "$0.0013"),
            (Usd::from_nanos(1), "$0.0001"),
            (Usd::from_nanos(99_999_999), "$0.1000"),
            (Usd::from_nanos(-20_000_000), "-$0.0200"),
        ];
        for (amount, text) in cases {
            assert_eq!(amount.to_string(), text);
        }
    }

    #[test]
    fn a_range_of_one_figure_is_one_figure() {
        let cents = Usd::from_cents;
        assert_eq!(cents(10).to(cents(20)), "$0.10 to $0.20");
        assert_eq!(cents(16).to(cents(16)), "$0.16");
        assert_eq!(cents(16).to(Usd::from_nanos(161_000_000)), "$0.16");
        assert_eq!(Usd::from_nanos(161_234_567).rough(), cents(16));
        assert_eq!(
            Usd::from_nanos(1_260_001).rough(),
            Usd::from_nanos(1_300_000)
        );
    }

    #[test]
    fn cached_tokens_count_at_their_own_price_and_nothing_rounds_to_free() {
        let price = Price {
            input: Usd::from_cents(300),
            cached_input: Usd::from_cents(30),
            cache_write: Usd::from_cents(375),
            output: Usd::from_cents(1500),
        };
        let usage = TokenUsage {
            input: 1_000_000,
            cached_input: 900_000,
            output: 1000,
            ..TokenUsage::default()
        };
        assert_eq!(
            price.of(&usage),
            Usd::from_nanos(300_000_000 + 270_000_000 + 15_000_000)
        );
        let one = TokenUsage {
            input: 1,
            ..TokenUsage::default()
        };
        assert!(Price::flat(Usd::from_nanos(1), Usd::ZERO).of(&one) > Usd::ZERO);
    }

    #[test]
    fn absurd_counts_saturate() {
        let usage = TokenUsage {
            input: u64::MAX,
            output: u64::MAX,
            ..TokenUsage::default()
        };
        assert_eq!(
            Price::flat(Usd::from_cents(1), Usd::from_cents(1)).of(&usage),
            Usd::from_nanos(i64::MAX)
        );
        assert_eq!(Usd::from_dollars(f64::NAN), Usd::ZERO);
    }
}
