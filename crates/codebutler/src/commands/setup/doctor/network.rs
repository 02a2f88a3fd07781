//! What stands between this machine and the network: proxies and certificates.

use std::fs;

use butler_config::Settings;

use crate::commands::environment;
use crate::commands::setup::doctor::{Finding, Place};

const PROXIES: [&str; 6] = [
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
];

pub(crate) fn examine(_: &Place) -> Vec<Finding> {
    let mut findings: Vec<Finding> = PROXIES
        .into_iter()
        .filter_map(|name| Some((name, environment(name).filter(|value| !value.is_empty())?)))
        .map(|(name, value)| Finding::ok("proxy", format!("{name}={}", without_password(&value))))
        .collect();
    findings.extend(certificates());
    findings
}

fn certificates() -> Option<Finding> {
    let (machine, _) = Settings::machine(&environment).ok()?;
    let file = machine.network.ca_file?;
    let name = "certificates";
    Some(match fs::read_to_string(&file) {
        Ok(text) if text.contains("-----BEGIN CERTIFICATE-----") => Finding::ok(name, file),
        Ok(_) => Finding::failed(
            name,
            format!("{file} holds no PEM certificate"),
            "correct network.caFile in ~/.codebutler/config.json",
        ),
        Err(error) => Finding::failed(
            name,
            format!("{file} cannot be read: {error}"),
            "correct network.caFile in ~/.codebutler/config.json",
        ),
    })
}

/// A proxy's address as it may be shown.
fn without_password(address: &str) -> String {
    let (scheme, rest) = match address.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), address),
    };
    match rest.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}…@{host}"),
        None => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::commands::setup::doctor::network::*;

    #[test]
    fn a_proxys_password_is_not_shown() {
        for (address, shown) in [
            ("http://proxy:3128", "http://proxy:3128"),
            ("http://you:p@ss@proxy:3128", "http://…@proxy:3128"),
            ("you:pass@proxy", "…@proxy"),
        ] {
            assert_eq!(without_password(address), shown);
        }
    }
}
