//! The way out of networks that have only one: the proxy that the environment names.
//!
//! Behind a proxy names may mean nothing here, so what a name leads to cannot always
//! be checked. What can be is: addresses, names that resolve here, and names that are
//! made for inner networks.

use std::env;

use butler_protocol::among;
use url::{Host, Url};

/// Endings of names that never are on the internet.
const INNER: &str = "local localhost internal intranet private lan home corp localdomain arpa";

/// Which proxy is used for what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Proxies {
    http: Option<Url>,
    https: Option<Url>,
    /// Hosts that are reached without one, with all below them.
    except: Vec<String>,
}

impl Proxies {
    /// Those that this process was given.
    pub(super) fn of_environment() -> Self {
        Self::of(|name| env::var(name).ok())
    }

    fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let first = |names: [&str; 4]| {
            let mut values = names.into_iter().filter_map(&variable);
            values.find(|value| !value.trim().is_empty())
        };
        let proxy = |names| {
            let text: String = first(names)?;
            let text = text.trim();
            let with_scheme = if text.contains("://") {
                text.to_owned()
            } else {
                format!("http://{text}")
            };
            Url::parse(&with_scheme).ok()
        };
        let except = first(["no_proxy", "NO_PROXY", "no_proxy", "NO_PROXY"]).unwrap_or_default();
        let except = except.split(',').map(|host| {
            let host = host.trim().trim_start_matches("*.").trim_start_matches('.');
            host.to_ascii_lowercase()
        });
        Self {
            http: proxy(["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]),
            https: proxy(["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]),
            except: except.filter(|host| !host.is_empty()).collect(),
        }
    }

    /// The proxy for an address, if it is reached through one.
    pub(super) fn for_address(&self, url: &Url) -> Option<&Url> {
        let host = url.host_str()?.trim_end_matches('.').to_ascii_lowercase();
        let excepted = self.except.iter().any(|one| {
            let below = host.strip_suffix(one.as_str());
            one == "*" || below.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        });
        let proxy = if url.scheme() == "https" {
            &self.https
        } else {
            &self.http
        };
        proxy.as_ref().filter(|_| !excepted)
    }
}

/// Whether a name that nobody here can look up may be given to a proxy.
pub(super) fn may_be_public(host: &Host<&str>) -> bool {
    let Host::Domain(name) = host else {
        return false;
    };
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    match name.rsplit_once('.') {
        Some((_, last)) => !among(INNER, last),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    #[test]
    fn the_environment_says_what_goes_through_which_proxy() {
        let none = Proxies::of(|_| None);
        assert_eq!(none.for_address(&url("https://a.example/")), None);
        let set = Proxies::of(|name| {
            let value = match name {
                "https_proxy" => "http://proxy.example:3128",
                "ALL_PROXY" => "other.example:80",
                "NO_PROXY" => "inner.example, .wiki.example,*.x.example",
                _ => return None,
            };
            Some(value.to_owned())
        });
        let proxy = |address: &str| set.for_address(&url(address)).map(Url::as_str);
        assert_eq!(
            proxy("https://a.example/"),
            Some("http://proxy.example:3128/")
        );
        assert_eq!(proxy("http://a.example/"), Some("http://other.example/"));
        for direct in [
            "https://inner.example/",
            "http://a.inner.example/",
            "https://wiki.example/",
            "https://b.x.example./",
        ] {
            assert_eq!(proxy(direct), None, "{direct}");
        }
        assert!(proxy("https://notinner.example/").is_some());
    }

    #[test]
    fn names_of_inner_networks_are_not_given_to_a_proxy() {
        for (name, may) in [
            ("docs.rs", true),
            ("a.b.example", true),
            ("wiki", false),
            ("printer.local", false),
            ("x.corp.", false),
            ("metadata.google.internal", false),
        ] {
            assert_eq!(may_be_public(&Host::Domain(name)), may, "{name}");
        }
        assert!(!may_be_public(&Host::Ipv4([10, 0, 0, 1].into())));
    }
}
