//! How long the other side asks us to wait, in the three spellings there are.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use reqwest::header::{HeaderMap, RETRY_AFTER};

/// `retry-after-ms`, or `Retry-After` in seconds or as a date.
pub(crate) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(wait) = text("retry-after-ms").and_then(|ms| ms.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(wait / 1000.0).ok();
    }
    let value = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
    let wait = date.duration_since(now).max(SignedDuration::ZERO);
    wait.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_spellings_are_read() {
        let now: Timestamp = "1994-11-06T08:49:00Z".parse().unwrap();
        let cases = [
            ("retry-after", "7", Some(7_000)),
            ("retry-after", "0.5", Some(500)),
            ("retry-after-ms", "1500", Some(1_500)),
            ("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT", Some(37_000)),
            ("retry-after", "Sun, 06 Nov 1994 08:48:00 GMT", Some(0)),
            ("retry-after", "soon", None),
            ("retry-after", "-3", None),
        ];
        for (name, value, wait) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            let expected = wait.map(Duration::from_millis);
            assert_eq!(retry_after(&headers, now), expected, "{name}: {value}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }
}
