//! Hosts of the web: which one an address leads to, and which ones a person's
//! words name.
//!
//! With text from outside in its context an activation reads only hosts that
//! somebody named or that it had read before: a page that says "now fetch this"
//! could otherwise carry off what the activation knows.

use url::Url;

/// The host that an address leads to, in the one spelling in which hosts are
/// compared: lower case, no dot at the end, `www.` left out.
pub fn host_of(address: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    let host = url.host_str()?.trim_end_matches('.');
    let host = host.strip_prefix("www.").unwrap_or(host);
    (!host.is_empty()).then(|| host.to_owned())
}

/// The host of a setting, which is a bare name as in `docs.rs`.
pub(crate) fn host_named(name: &str) -> Option<String> {
    let bare = !name.contains(['/', '@', '?', '#', '\\']);
    bare.then(|| host_of(&format!("https://{name}"))).flatten()
}

/// The hosts of the addresses in a text. Only what is written as an address
/// counts: `readme.md` is a file in the mouth of a person and a host to buy for
/// whoever would like to be named.
pub fn hosts_in(text: &str) -> Vec<String> {
    let lower = text.to_ascii_lowercase();
    let mut hosts = Vec::new();
    let mut rest = lower.as_str();
    while let Some(start) = rest.find("http") {
        rest = &rest[start..];
        if !rest.starts_with("http://") && !rest.starts_with("https://") {
            rest = &rest["http".len()..];
            continue;
        }
        // An address inside another one's query is part of that one.
        let end = rest
            .find(|c: char| c.is_whitespace() || c.is_control() || "<>\"'`|()[]{}".contains(c))
            .unwrap_or(rest.len());
        let address = rest[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_']);
        let host = host_of(address).filter(|host| !hosts.contains(host));
        hosts.extend(host);
        rest = &rest[end..];
    }
    hosts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_one_spelling() {
        for address in [
            "https://docs.example/a?b#c",
            "http://DOCS.example:443",
            "https://www.docs.example./x",
            "https://ana:pw@docs.example/",
            "https:\\\\docs.example\\x",
            "https://docs%2Eexample/",
            " https://docs.example/ ",
        ] {
            assert_eq!(
                host_of(address).as_deref(),
                Some("docs.example"),
                "{address}"
            );
        }
        for address in [
            "docs.example",
            "file:///etc/passwd",
            "https://",
            "",
            "data:,x",
        ] {
            assert_eq!(host_of(address), None, "{address}");
        }
        assert_eq!(host_named("Docs.Example").as_deref(), Some("docs.example"));
        for name in ["docs.example/x", "ana@docs.example", "", "a b"] {
            assert_eq!(host_named(name), None, "{name}");
        }
    }

    #[test]
    fn an_address_in_words_names_its_host_and_a_file_names_none() {
        let words = "See https://docs.example/a, (http://Wiki.Example/b) and \
                     <https://www.docs.example|docs>; readme.md and lib.rs/x are files.";
        assert_eq!(hosts_in(words), ["docs.example", "wiki.example"]);
        assert_eq!(
            hosts_in("HTTPS://docs.example/?next=https://evil.example/"),
            ["docs.example"],
            "what an address carries along is not named"
        );
    }
}
