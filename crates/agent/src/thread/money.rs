//! What a model call may cost at most, and how long its answer may be for what
//! a budget still holds.

use butler_protocol::{Price, TokenUsage, Usd};
use butler_turn::Reserve;

/// Below this an answer is not worth asking for.
pub(crate) const SHORTEST_ANSWER: u32 = 4096;

/// An amount to set aside, and the length of answer that it pays for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bid {
    /// The worst case.
    pub amount: Usd,
    /// Tokens the answer may have then.
    pub max_tokens: u32,
}

/// The worst case of a call with an answer of so many tokens.
pub(crate) fn worst_case(reserve: &Reserve, price: &Price, max_tokens: u32) -> Usd {
    // Two bytes a token until the provider's own counts are known; and the
    // dearer of the two ways in which input can be charged.
    let price = Price {
        input: price.input.max(price.cache_write),
        ..*price
    };
    price.of(&TokenUsage {
        input: reserve.input_tokens.unwrap_or(reserve.input_bytes / 2 + 1),
        output: u64::from(max_tokens),
        ..TokenUsage::default()
    })
}

/// The longest answer that `left` pays for; nothing when not even a short one is.
pub(crate) fn bid(reserve: &Reserve, price: &Price, left: Usd) -> Option<Bid> {
    let whole = worst_case(reserve, price, reserve.max_tokens);
    if whole <= left {
        return Some(Bid {
            amount: whole,
            max_tokens: reserve.max_tokens,
        });
    }
    let input = worst_case(reserve, price, 0);
    let for_output = i128::from(left.nanos()) - i128::from(input.nanos());
    let a_million = i128::from(price.output.nanos()).max(1);
    let tokens = u32::try_from(for_output.max(0) * 1_000_000 / a_million).unwrap_or(u32::MAX);
    // Rounded up to whole nanodollars the amount may be one too many.
    let max_tokens = tokens.saturating_sub(1).min(reserve.max_tokens);
    let amount = worst_case(reserve, price, max_tokens);
    (max_tokens >= SHORTEST_ANSWER.min(reserve.max_tokens) && amount <= left)
        .then_some(Bid { amount, max_tokens })
}

#[cfg(test)]
mod tests {
    use butler_protocol::ReserveId;

    use super::*;

    fn call(input_tokens: u64, max_tokens: u32) -> Reserve {
        Reserve {
            id: ReserveId::new("r"),
            model: "m".into(),
            input_bytes: 0,
            input_tokens: Some(input_tokens),
            max_tokens,
        }
    }

    /// One dollar a million tokens in, two out.
    fn price() -> Price {
        Price::flat(Usd::from_cents(100), Usd::from_cents(200))
    }

    #[test]
    fn a_full_budget_pays_for_the_whole_answer() {
        let bid = bid(&call(1000, 8192), &price(), Usd::from_cents(100)).unwrap();
        assert_eq!(bid.max_tokens, 8192);
        assert_eq!(bid.amount, Usd::from_nanos(1_000_000 + 8192 * 2000));
    }

    #[test]
    fn a_nearly_empty_budget_pays_for_a_shorter_one_and_never_more_than_it_holds() {
        let left = Usd::from_nanos(1_000_000 + 5000 * 2000);
        let bid = bid(&call(1000, 8192), &price(), left).unwrap();
        assert!((4096..=5000).contains(&bid.max_tokens), "{bid:?}");
        assert!(bid.amount <= left);
    }

    #[test]
    fn below_the_shortest_answer_nothing_is_asked() {
        let left = Usd::from_nanos(1_000_000 + 4000 * 2000);
        assert_eq!(bid(&call(1000, 8192), &price(), left), None);
        assert_eq!(bid(&call(1000, 8192), &price(), Usd::ZERO), None);
    }

    #[test]
    fn a_model_that_costs_nothing_needs_no_budget() {
        let free = Price::flat(Usd::ZERO, Usd::ZERO);
        let bid = bid(&call(1000, 8192), &free, Usd::ZERO).unwrap();
        assert_eq!((bid.amount, bid.max_tokens), (Usd::ZERO, 8192));
    }
}
