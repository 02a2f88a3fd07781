//! What earlier threads say about the next one: their plans and what they cost, as
//! the hub sums it up.

use butler_protocol::{Choice, Complexity, Plan, PlanSummary, ThreadId, TokenUsage, Usd};
use serde::{Deserialize, Serialize};

use crate::ThreadContext;

/// The plan of a thread that a person approved, if there is one.
pub(crate) fn plan_of<'a>(plans: &'a [PlanSummary], thread: &ThreadId) -> Option<&'a Plan> {
    let mut of_thread = plans.iter().filter(|one| one.thread == *thread);
    let approved = of_thread.find(|one| one.choice == Some(Choice::Approve));
    approved.map(|one| &one.plan)
}

/// What similar threads cost, and how many there were.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Estimate {
    /// The cheapest.
    pub(crate) low: Usd,
    /// The dearest.
    pub(crate) high: Usd,
    /// How many threads that rests on; none means a rule of thumb.
    pub(crate) threads: usize,
}

/// From what similar threads cost, else from the price of the model that builds.
pub(crate) fn estimate_in(context: &ThreadContext, complexity: Complexity) -> Estimate {
    let client = &context.agent.config.client;
    let rules = context.agent.rules();
    let model = rules.models.builders.of(complexity);
    let price = client.prices.reserve_price(model, &client.upper_price);
    estimate(&context.past, complexity, |usage| price.of(usage))
}

/// From finished threads of the same complexity; without one, from the price of
/// the model that would build it.
fn estimate(
    plans: &[PlanSummary],
    complexity: Complexity,
    thumb: impl Fn(&TokenUsage) -> Usd,
) -> Estimate {
    let similar = plans.iter().filter(|one| {
        one.merged && one.choice == Some(Choice::Approve) && one.plan.complexity == complexity
    });
    let costs: Vec<Usd> = similar.map(|one| one.cost).collect();
    let found = match (costs.iter().min(), costs.iter().max()) {
        (Some(low), Some(high)) => Estimate {
            low: *low,
            high: *high,
            threads: costs.len(),
        },
        _ => rule_of_thumb(complexity, thumb),
    };
    Estimate {
        low: found.low.rough(),
        high: found.high.rough(),
        threads: found.threads,
    }
}

/// Tokens that a thread of this size tends to need, at the given price.
fn rule_of_thumb(complexity: Complexity, price: impl Fn(&TokenUsage) -> Usd) -> Estimate {
    let size = match complexity {
        Complexity::Simple => 1,
        Complexity::Medium => 4,
        Complexity::Complex => 12,
    };
    let tokens = |input: u64, output: u64| TokenUsage {
        input: input * size,
        output: output * size,
        ..TokenUsage::default()
    };
    Estimate {
        low: price(&tokens(30_000, 2_000)),
        high: price(&tokens(150_000, 10_000)),
        threads: 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_estimate_rests_on_merged_threads_of_the_same_complexity() {
        let thumb = |usage: &TokenUsage| Usd::from_nanos(i64::try_from(usage.input).unwrap());
        let first = estimate(&[], Complexity::Simple, thumb);
        assert_eq!(first.threads, 0);
        assert!(first.low < first.high && first.low > Usd::ZERO);
        let past = |choice: &str, merged: bool, cents: i64| -> PlanSummary {
            let plan = json!({"title": "t", "summary": "s", "steps": [], "criteria": [],
                "complexity": "simple"});
            let summary = json!({"thread": {"channel": "C1", "root": "1700000001.000000"},
                "plan": plan, "choice": choice, "merged": merged, "cost": cents * 10_000_000});
            serde_json::from_value(summary).unwrap()
        };
        let plans = [
            past("approve", true, 10),
            past("approve", true, 30),
            past("reject", true, 1),
            past("approve", false, 99),
        ];
        let second = estimate(&plans, Complexity::Simple, thumb);
        assert_eq!(
            second,
            Estimate {
                low: Usd::from_cents(10),
                high: Usd::from_cents(30),
                threads: 2
            }
        );
        assert_eq!(estimate(&plans, Complexity::Complex, thumb).threads, 0);
    }
}
