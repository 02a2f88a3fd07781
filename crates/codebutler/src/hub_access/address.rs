//! Where a hub is, as one line of text: its address, and behind the `#` what its
//! certificate is known by. What stands there never goes over the wire. A link to join
//! by has the code there, too.

use butler_protocol::Secret;
use butler_slack::Workspace;
use butler_tls::{Fingerprint, Trust};
use url::{Host, Url, form_urlencoded};

use crate::CliError;

/// Behind the address of a hub in a link to join by.
const JOIN: &str = "join";

/// The address of a hub in one line.
pub(crate) fn written(base: &str, fingerprint: Option<&Fingerprint>) -> String {
    match fingerprint {
        Some(fingerprint) => format!("{base}#sha256={fingerprint}"),
        None => base.to_owned(),
    }
}

/// Reads such a line.
pub(crate) fn read(line: &str) -> Option<Workspace> {
    let mut base = Url::parse(line.trim()).ok()?;
    let pinned = match behind(&base, "sha256") {
        Some(text) => Some(text.parse().ok()?),
        None => None,
    };
    base.set_fragment(None);
    let trust = pinned.map_or(Trust::Usual, Trust::Exactly);
    Some(Workspace { base, trust })
}

/// What a machine joins by.
#[derive(Debug, Clone)]
pub(crate) struct JoinLink {
    /// The hub; its certificate, when it made its own.
    pub hub: Workspace,
    /// Works once.
    pub code: Secret,
}

impl JoinLink {
    /// The link for people to copy.
    pub(crate) fn written(base: &str, code: &Secret, pinned: Option<&Fingerprint>) -> String {
        let base = base.trim_end_matches('/');
        let pinned = pinned.map_or_else(String::new, |pinned| format!("&sha256={pinned}"));
        format!("{base}/{JOIN}#code={}{pinned}", code.expose())
    }

    /// Reads a link. One that would send secrets over a network in the clear is refused.
    pub(crate) fn read(text: &str) -> Result<Self, CliError> {
        const ANOTHER: &str = "`codebutler hub invite`, beside the hub, prints such a link";
        let wrong = |what: &str| CliError::user(format!("this is no link to join by: {what}"));
        let url =
            Url::parse(text.trim()).map_err(|error| wrong(&error.to_string()).hint(ANOTHER))?;
        let code = behind(&url, "code").filter(|code| !code.is_empty());
        let code = code.ok_or_else(|| wrong("it has no code").hint(ANOTHER))?;
        let mut hub = read(text).ok_or_else(|| {
            wrong("its fingerprint is not 64 hex digits").hint("copy the whole line")
        })?;
        match hub.base.scheme() {
            "https" => {}
            "http" if is_loopback(&hub.base) => {}
            "http" => {
                let host = hub.base.host_str().unwrap_or_default();
                return Err(CliError::user(format!(
                    "{host} is another machine, and http sends its tokens there for everybody to read"
                ))
                .hint("set `hub.tls` in the machine config of the hub, start it again, and invite again"));
            }
            _ => return Err(wrong("it begins with https://").hint(ANOTHER)),
        }
        let path = hub.base.path().trim_end_matches('/');
        let path = path.strip_suffix(JOIN).unwrap_or(path).to_owned();
        hub.base.set_path(&path);
        Ok(Self {
            hub,
            code: Secret::new(code),
        })
    }
}

/// A value behind the `#`.
fn behind(url: &Url, name: &str) -> Option<String> {
    let pairs = form_urlencoded::parse(url.fragment()?.as_bytes());
    let mut found = pairs.filter(|(key, _)| key == name);
    found.next().map(|(_, value)| value.into_owned())
}

/// Whether an address is on this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_read_as_it_was_written() {
        let pin: Fingerprint = "ab".repeat(32).parse().unwrap();
        let code = Secret::new("ABC");
        let text = JoinLink::written("https://hub.example:7878/", &code, Some(&pin));
        let link = JoinLink::read(&format!(" {text}\n")).unwrap();
        assert_eq!(link.hub.base.as_str(), "https://hub.example:7878/");
        assert_eq!(link.hub.trust, Trust::Exactly(pin));
        assert_eq!(link.code.expose(), "ABC");
        let text = JoinLink::written("https://team.example/butler", &code, None);
        let link = JoinLink::read(&text).unwrap();
        assert_eq!(link.hub.base.as_str(), "https://team.example/butler/");
        assert_eq!(link.hub.trust, Trust::Usual);
    }

    #[test]
    fn what_is_no_link_is_refused_with_a_remedy() {
        for (text, words) in [
            ("hello", "no link to join by"),
            ("https://hub.example/join", "has no code"),
            ("https://hub.example/join#code=", "has no code"),
            ("https://hub.example/join#code=A&sha256=12", "64 hex digits"),
            ("http://hub.example/join#code=A", "for everybody to read"),
            ("ftp://hub.example/join#code=A", "begins with https"),
        ] {
            let told = JoinLink::read(text).unwrap_err().plain_with_hints();
            assert!(told.contains(words), "{text}: {told}");
            assert!(told.contains("hub") || told.contains("copy"), "{told}");
        }
        JoinLink::read("http://127.0.0.1:7878/join#code=A").unwrap();
    }
}
