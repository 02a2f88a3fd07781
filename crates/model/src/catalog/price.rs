//! What a call costs: the provider's own figure first, the price list second,
//! the configured upper price third. Whole nanodollars all the way.

use std::collections::BTreeMap;

use butler_protocol::{ModelMessage, Price, TokenUsage, Usd};
use serde::{Deserialize, Serialize};

use crate::ModelRequest;

/// More tokens than any provider counts for one picture of the size we send.
const TOKENS_PER_IMAGE: u64 = 5_000;
/// Role, separators and ids around each message.
const BYTES_PER_MESSAGE: u64 = 32;

/// The price of one model as a price list has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListPrice {
    /// The usual price.
    pub base: Price,
    /// On top, for every call.
    #[serde(default)]
    pub per_request: Usd,
    /// Other prices from so many input tokens on, in rising order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub longer: Vec<(u64, Price)>,
}

impl From<Price> for ListPrice {
    fn from(base: Price) -> Self {
        Self {
            base,
            per_request: Usd::ZERO,
            longer: Vec::new(),
        }
    }
}

impl ListPrice {
    /// What a call costs at this price.
    pub fn of(&self, usage: &TokenUsage) -> Usd {
        self.at(usage.input).of(usage) + self.per_request
    }

    /// The highest of its prices: what a reservation must assume.
    pub fn highest(&self) -> Price {
        let longer = self.longer.iter();
        longer.fold(self.base, |high, (_, price)| Price {
            input: high.input.max(price.input),
            cached_input: high.cached_input.max(price.cached_input),
            cache_write: high.cache_write.max(price.cache_write),
            output: high.output.max(price.output),
        })
    }

    fn at(&self, input: u64) -> &Price {
        let reached = self.longer.iter().rev().find(|(from, _)| input >= *from);
        reached.map_or(&self.base, |(_, price)| price)
    }
}

/// What models cost, by the id that is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PriceBook {
    listed: BTreeMap<String, ListPrice>,
    fixed: BTreeMap<String, ListPrice>,
    rest: Option<ListPrice>,
}

impl PriceBook {
    /// The book of a server of one's own, where nothing costs anything.
    pub fn free() -> Self {
        Self {
            rest: Some(Price::flat(Usd::ZERO, Usd::ZERO).into()),
            ..Self::default()
        }
    }

    /// Takes a price from an endpoint's list.
    pub fn list(&mut self, model: impl Into<String>, price: ListPrice) {
        self.listed.insert(model.into(), price);
    }

    /// Takes a price from the configuration; it wins over any list.
    pub fn fix(&mut self, model: impl Into<String>, price: ListPrice) {
        self.fixed.insert(model.into(), price);
    }

    /// The price of a model, when it is known.
    pub fn get(&self, model: &str) -> Option<&ListPrice> {
        let fixed = self.fixed.get(model);
        fixed
            .or_else(|| self.listed.get(model))
            .or(self.rest.as_ref())
    }

    /// What a call cost. `billed` is the provider's own figure.
    pub fn cost(&self, model: &str, usage: &TokenUsage, billed: Option<Usd>, upper: &Price) -> Usd {
        billed.unwrap_or_else(|| match self.get(model) {
            Some(price) => price.of(usage),
            None => upper.of(usage),
        })
    }

    /// The price to reserve at: the list's highest, else `upper`.
    pub fn reserve_price(&self, model: &str, upper: &Price) -> Price {
        self.get(model).map_or(*upper, ListPrice::highest)
    }
}

/// An upper bound of what a request can cost: two bytes are one input token,
/// the input is charged at the dearer of its two rates, the output is at its limit.
pub fn worst_case(request: &ModelRequest, price: &Price) -> Usd {
    let rate = Price::flat(price.input.max(price.cache_write), price.output);
    rate.of(&TokenUsage {
        input: input_tokens(request, 2),
        output: u64::from(request.max_tokens),
        ..TokenUsage::default()
    })
}

/// Input tokens when so many bytes are one token.
pub(crate) fn input_tokens(request: &ModelRequest, bytes_per_token: u64) -> u64 {
    let mut bytes = 0_u64;
    let mut images = 0_u64;
    for message in &request.messages {
        bytes += BYTES_PER_MESSAGE;
        match &**message {
            ModelMessage::System { text } | ModelMessage::Tool { text, .. } => {
                bytes += text.len() as u64;
            }
            ModelMessage::User { text, images: seen } => {
                bytes += text.len() as u64;
                images += seen.len() as u64;
            }
            ModelMessage::Assistant {
                text,
                calls,
                reasoning,
            } => {
                bytes += text.as_ref().map_or(0, String::len) as u64;
                bytes += reasoning.as_ref().map_or(0, json_length);
                for call in calls {
                    bytes += call.name.len() as u64 + json_length(&call.arguments);
                }
            }
        }
    }
    for tool in &*request.tools {
        bytes += BYTES_PER_MESSAGE + (tool.name.len() + tool.description.len()) as u64;
        bytes += json_length(&tool.parameters);
    }
    bytes.div_ceil(bytes_per_token) + images * TOKENS_PER_IMAGE
}

fn json_length(value: &serde_json::Value) -> u64 {
    value.to_string().len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(input: i64, output: i64) -> Price {
        Price::flat(Usd::from_cents(input), Usd::from_cents(output))
    }

    fn usage(input: u64, output: u64) -> TokenUsage {
        TokenUsage {
            input,
            output,
            ..TokenUsage::default()
        }
    }

    #[test]
    fn the_providers_figure_wins_then_the_list_then_the_upper_price() {
        let mut book = PriceBook::default();
        book.list("m", price(100, 200).into());
        let upper = price(1000, 2000);
        let counted = usage(1_000_000, 0);
        let billed = Some(Usd::from_cents(7));
        assert_eq!(book.cost("m", &counted, billed, &upper), Usd::from_cents(7));
        assert_eq!(book.cost("m", &counted, None, &upper), Usd::from_cents(100));
        assert_eq!(
            book.cost("x", &counted, None, &upper),
            Usd::from_cents(1000)
        );
        book.fix("m", price(50, 50).into());
        assert_eq!(book.cost("m", &counted, None, &upper), Usd::from_cents(50));
        assert_eq!(
            PriceBook::free().cost("x", &counted, None, &upper),
            Usd::ZERO
        );
    }

    #[test]
    fn long_prompts_have_their_own_price_and_a_call_its_fee() {
        let list = ListPrice {
            base: price(100, 0),
            per_request: Usd::from_cents(1),
            longer: vec![(200_000, price(300, 0)), (500_000, price(600, 0))],
        };
        assert_eq!(list.of(&usage(100_000, 0)), Usd::from_cents(10 + 1));
        assert_eq!(list.of(&usage(200_000, 0)), Usd::from_cents(60 + 1));
        assert_eq!(list.of(&usage(1_000_000, 0)), Usd::from_cents(600 + 1));
        assert_eq!(list.highest(), price(600, 0));
    }

    #[test]
    fn the_worst_case_counts_two_bytes_a_token_and_all_of_the_output() {
        let text = "x".repeat(2_000_000 - BYTES_PER_MESSAGE as usize);
        let mut request = ModelRequest::new("m", vec![ModelMessage::System { text }]);
        request.max_tokens = 500_000;
        let mut rate = price(300, 1000);
        assert_eq!(worst_case(&request, &rate), Usd::from_cents(300 + 500));
        rate.cache_write = Usd::from_cents(375);
        assert_eq!(worst_case(&request, &rate), Usd::from_cents(375 + 500));
    }
}
