//! Decimal texts to whole numbers, exactly: money never goes through `f32`,
//! and through `f64` only when a provider writes an exponent.

use butler_protocol::Usd;
use serde_json::Value;

/// `text` times ten to the `places`, rounded up; nothing when it is negative or no number.
pub(crate) fn scaled(text: &str, places: u32) -> Option<i64> {
    let text = text.trim();
    if text.contains(['e', 'E']) {
        let value = text.parse::<f64>().ok()? * 10_f64.powi(i32::try_from(places).ok()?);
        return (value >= 0.0 && value.is_finite()).then(|| value.ceil() as i64);
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits_only = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if text.is_empty() || text == "." || !digits_only(whole) || !digits_only(fraction) {
        return None;
    }
    let places = places as usize;
    let (kept, dropped) = fraction.split_at(fraction.len().min(places));
    let number: i64 = format!("0{whole}{kept:0<places$}").parse().ok()?;
    let round_up = dropped.bytes().any(|b| b != b'0');
    Some(number.saturating_add(i64::from(round_up)))
}

/// An amount of dollars that is a number or a text.
pub(crate) fn dollars(value: &Value) -> Option<Usd> {
    scaled(&text_of(value)?, 9).map(Usd::from_nanos)
}

/// Dollars per token, as nanodollars per million tokens.
pub(crate) fn per_million(value: &Value) -> Option<Usd> {
    scaled(&text_of(value)?, 15).map(Usd::from_nanos)
}

/// A count that may be a number, a text or null.
pub(crate) fn count(value: Option<&Value>) -> Option<u64> {
    u64::try_from(scaled(&text_of(value?)?, 0)?).ok()
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn decimals_are_exact_and_round_up() {
        assert_eq!(dollars(&json!(0.00022876)), Some(Usd::from_nanos(228_760)));
        assert_eq!(dollars(&json!("0.0000000001")), Some(Usd::from_nanos(1)));
        assert_eq!(per_million(&json!("0.000003")), Some(Usd::from_cents(300)));
        assert_eq!(per_million(&json!("3e-6")), Some(Usd::from_cents(300)));
        assert_eq!(per_million(&json!("0")), Some(Usd::ZERO));
        assert_eq!(count(Some(&json!("12"))), Some(12));
        assert_eq!(count(Some(&json!(12.0))), Some(12));
        for bad in [
            json!("-1"),
            json!("free"),
            json!(null),
            json!(""),
            json!("."),
        ] {
            assert_eq!(per_million(&bad), None, "{bad}");
        }
        assert_eq!(scaled("99999999999999999999", 9), None);
    }
}
