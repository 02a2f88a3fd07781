//! Figures of the command line that must make sense before anything begins.

use std::{fmt, str::FromStr};

use butler_config::EndpointPrice;

/// What prompt and tools need at least; the same bound as in the machine config.
const SMALLEST_WINDOW: u64 = 2_048;

/// `IN/OUT`, dollars for a million tokens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TypedPrice(pub EndpointPrice);

impl FromStr for TypedPrice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let dollars = |part: &str| {
            let figure: f64 = part.trim().parse().ok()?;
            (figure.is_finite() && figure >= 0.0).then_some(figure)
        };
        let parts = text.split_once('/');
        parts
            .and_then(|(input, output)| {
                Some(EndpointPrice {
                    input: dollars(input)?,
                    output: dollars(output)?,
                })
            })
            .map(TypedPrice)
            .ok_or_else(|| "two figures with a slash, as in 0.5/2".to_owned())
    }
}

impl fmt::Display for TypedPrice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.0.input, self.0.output)
    }
}

/// What may be spent, in dollars.
pub(crate) fn cap(text: &str) -> Result<f64, String> {
    let figure: Option<f64> = text.trim().parse().ok();
    figure
        .filter(|dollars| dollars.is_finite() && *dollars > 0.0)
        .ok_or_else(|| {
            "a figure above 0, as in 2.50; a model of your own is free anyway".to_owned()
        })
}

/// How many times the model may be asked.
pub(crate) fn turns(text: &str) -> Result<u32, String> {
    let figure: Option<u32> = text.trim().parse().ok();
    figure.filter(|turns| *turns > 0).ok_or_else(|| {
        "a whole number of at least 1: without a turn nothing can be done".to_owned()
    })
}

/// The model's window in tokens.
pub(crate) fn window(text: &str) -> Result<u64, String> {
    let figure: Option<u64> = text.trim().parse().ok();
    figure
        .filter(|tokens| *tokens >= SMALLEST_WINDOW)
        .ok_or_else(|| {
            format!("a whole number of at least {SMALLEST_WINDOW}: prompt and tools must fit")
        })
}

#[cfg(test)]
mod tests {
    use crate::commands::run::exec::typed::*;

    #[test]
    fn a_price_is_two_figures_that_are_not_negative() {
        let price = TypedPrice::from_str("0.5/2").unwrap();
        assert_eq!((price.0.input, price.0.output), (0.5, 2.0));
        assert_eq!(price.to_string(), "0.5/2");
        for bad in ["", "1", "1/", "-1/2", "a/b", "nan/1", "inf/1"] {
            assert!(TypedPrice::from_str(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_cap_is_above_nothing() {
        assert_eq!(cap("0.10"), Ok(0.1));
        for bad in ["0", "-1", "nan", "inf", "", "five"] {
            assert!(cap(bad).is_err(), "{bad}");
        }
    }
}
