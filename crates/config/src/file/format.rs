//! What a number or a string must look like beyond being one.

use std::net::SocketAddr;

use serde_json::{Number, Value};
use url::{Host, Url};

/// The bound that a number misses, in words.
pub(crate) fn out_of_range(number: &Number, schema: &Value) -> Option<String> {
    let value = number.as_f64()?;
    let least = schema["minimum"].as_f64().unwrap_or(f64::MIN);
    let most = match schema["format"].as_str() {
        Some("uint32") => f64::from(u32::MAX),
        _ => schema["maximum"].as_f64().unwrap_or(f64::MAX),
    };
    if value < least {
        Some(format!("a number of at least {least}"))
    } else if value > most {
        Some(format!("a number of at most {most}"))
    } else {
        None
    }
}

/// What is wrong with a string, and the remedy; neither quotes it.
pub(crate) fn malformed(text: &str, schema: &Value) -> Option<(String, String)> {
    let problem = |what: &str, remedy: &str| Some((what.to_owned(), remedy.to_owned()));
    match schema["format"].as_str() {
        Some("uri") => return address_problem(text).and_then(|(what, fix)| problem(what, fix)),
        Some("webhook") => return webhook_problem(text).and_then(|(what, fix)| problem(what, fix)),
        Some("socket-address") if text.parse::<SocketAddr>().is_err() => {
            let remedy = "Write it as in 127.0.0.1:7878";
            return problem("not an address with a port", remedy);
        }
        Some("regex") if regex::Regex::new(text).is_err() => {
            let remedy = "Correct it; look-around and back-references are not supported";
            return problem("not a regular expression", remedy);
        }
        Some("glob") if globset::Glob::new(text).is_err() => {
            return problem("not a glob", "Write it as in release/*");
        }
        _ => {}
    }
    let pattern = schema["pattern"].as_str()?;
    let matches = regex::Regex::new(pattern).is_ok_and(|regex| regex.is_match(text));
    if matches {
        return None;
    }
    let what = match pattern {
        "^xoxb-" => "not a bot token",
        "^xapp-" => "not an app-level token",
        _ => "not in the right form",
    };
    problem(what, &format!("Write a value that matches {pattern}"))
}

/// What is wrong with the address of a webhook: what waits is told in plain words, so nobody
/// on the way may read along.
fn webhook_problem(text: &str) -> Option<(&'static str, &'static str)> {
    const EXAMPLE: &str = "Write the whole address that the chat gave you; it begins with https://";
    let Ok(url) = Url::parse(text) else {
        return Some(("not an address", EXAMPLE));
    };
    let here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => return Some(("not an address with a host", EXAMPLE)),
    };
    match url.scheme() {
        "https" => None,
        "http" if here => None,
        "http" => {
            let remedy = "Use https://; plain http is for this machine only";
            Some(("not encrypted", remedy))
        }
        _ => Some(("not an https address", EXAMPLE)),
    }
}

/// What is wrong with the address of a server, and the remedy; neither quotes it.
pub fn address_problem(text: &str) -> Option<(&'static str, &'static str)> {
    const EXAMPLE: &str =
        "Write it as in https://openrouter.ai/api/v1 or http://127.0.0.1:11434/v1";
    let Ok(url) = Url::parse(text) else {
        return Some(("not an address", EXAMPLE));
    };
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Some(("not an http or https address", EXAMPLE));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Some((
            "an address with a password in it",
            "Put the key into its own field; addresses are shown and logged",
        ));
    }
    None
}
