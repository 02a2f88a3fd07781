//! Whose forge a remote is: by the machine's own config, by the names of the public ones,
//! by the person's ssh config where the remote has another name, by what `gh` is logged in
//! to. A remote on a host that nobody knows is refused with a word: taken for a plain
//! repository, its default branch would be pushed to without a review.

use std::{ffi::OsString, path::PathBuf};

use butler_protocol::Secret;

use super::gh::gh_knows;
use crate::{
    Error, Result, Settings,
    git::{Ask, run},
};

/// What kind of forge answers at a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForgeKind {
    /// GitHub, through the person's own `gh`.
    GitHub,
    GitLab,
    /// Gitea or Forgejo.
    Gitea,
    /// Git alone: pull requests are kept on the remote itself.
    Plain,
}

/// What this machine knows of one host. A token is sent there and nowhere else.
#[derive(Debug, Clone)]
pub struct ForgeHost {
    /// As in `gitlab.example.org`.
    pub host: String,
    /// What answers there.
    pub kind: ForgeKind,
    /// Where it answers, if not at `https://<host>`.
    pub url: Option<String>,
    /// What lets us in.
    pub token: Option<Secret>,
}

/// What this machine knows of forges.
#[derive(Debug, Clone, Default)]
pub struct ForgeHosts {
    pub hosts: Vec<ForgeHost>,
    /// Further certificate authorities.
    pub ca_file: Option<PathBuf>,
}

impl ForgeHosts {
    fn named(&self, host: &str) -> Option<&ForgeHost> {
        self.hosts
            .iter()
            .find(|known| known.host.eq_ignore_ascii_case(host))
    }

    /// A host whose kind is known without asking anybody.
    fn known(&self, host: &str, gh_host: Option<&str>) -> Option<ForgeHost> {
        if let Some(named) = self.named(host) {
            return Some(named.clone());
        }
        let kind = match host {
            "github.com" => ForgeKind::GitHub,
            _ if host.ends_with(".ghe.com") || gh_host == Some(host) => ForgeKind::GitHub,
            "gitlab.com" => ForgeKind::GitLab,
            "codeberg.org" | "gitea.com" => ForgeKind::Gitea,
            _ => return None,
        };
        Some(ForgeHost {
            host: host.to_owned(),
            kind,
            url: None,
            token: None,
        })
    }
}

/// Where a repository lives on a forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub host: String,
    /// One name, or on GitLab a group in groups.
    pub owner: String,
    pub name: String,
}

/// A remote on some host.
#[derive(Debug, PartialEq, Eq)]
struct Elsewhere<'a> {
    host: String,
    by_ssh: bool,
    path: &'a str,
}

impl<'a> Elsewhere<'a> {
    /// Reads `git@host:owner/name.git`, `ssh://…` or `https://…`; nothing for a folder.
    fn of(url: &'a str) -> Option<Self> {
        let (place, path, by_ssh) = match url.split_once("://") {
            Some((scheme @ ("https" | "http" | "ssh" | "git"), rest)) => {
                let (place, path) = rest.split_once('/').unwrap_or((rest, ""));
                let host = place.rsplit('@').next()?;
                // Without the port, if one is given.
                (host.split(':').next()?, path, scheme == "ssh")
            }
            Some(_) => return None,
            None => {
                let (place, path) = url.split_once(':')?;
                if place.contains('/') {
                    return None;
                }
                (place.rsplit('@').next()?, path, true)
            }
        };
        let host = place.to_ascii_lowercase();
        Some(Self { host, by_ssh, path })
    }

    /// The repository, as the forge at a host knows it.
    fn at(&self, host: &str, kind: ForgeKind) -> Option<Address> {
        let path = self.path.trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        let (owner, name) = path.rsplit_once('/')?;
        let plain = |part: &str| {
            let letters = part.bytes();
            let mut letters = letters.map(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
            !part.is_empty() && part != "." && part != ".." && letters.all(|known| known)
        };
        let groups = owner.split('/').count();
        let fits = owner.split('/').all(plain) && plain(name);
        (fits && (groups == 1 || kind == ForgeKind::GitLab)).then(|| Address {
            host: host.to_owned(),
            owner: owner.to_owned(),
            name: name.to_owned(),
        })
    }
}

/// A repository on a forge that is not the remote itself.
#[derive(Debug)]
pub(super) struct Found {
    pub host: ForgeHost,
    pub address: Address,
}

/// The forge of a remote; nothing when it is a plain repository.
pub(super) async fn of_remote(
    settings: &Settings,
    url: &str,
    hosts: &ForgeHosts,
) -> Result<Option<Found>> {
    let Some(remote) = Elsewhere::of(url) else {
        return Ok(None);
    };
    let host = known(settings, &remote, hosts).await;
    let host = host.ok_or_else(|| Error::UnknownForge {
        host: remote.host.clone(),
    })?;
    if host.kind == ForgeKind::Plain {
        return Ok(None);
    }
    let address = remote.at(&host.host, host.kind);
    let address = address.ok_or_else(|| Error::UnknownForge {
        host: url.to_owned(),
    })?;
    Ok(Some(Found { host, address }))
}

async fn known(
    settings: &Settings,
    remote: &Elsewhere<'_>,
    hosts: &ForgeHosts,
) -> Option<ForgeHost> {
    let gh_host = settings.value("GH_HOST");
    let known = |host: &str| hosts.known(usual_name(host), gh_host.as_deref());
    if let Some(host) = known(&remote.host) {
        return Some(host);
    }
    let real = match remote.by_ssh {
        true => ssh_name(settings, &remote.host).await,
        false => None,
    };
    let real = real.unwrap_or_else(|| remote.host.clone());
    if let Some(host) = known(&real) {
        return Some(host);
    }
    let host = usual_name(&real);
    gh_knows(settings, host).await.then(|| ForgeHost {
        host: host.to_owned(),
        kind: ForgeKind::GitHub,
        url: None,
        token: None,
    })
}

/// The public forges have a second name, for networks that let nothing but 443 out.
fn usual_name(host: &str) -> &str {
    match host {
        "ssh.github.com" | "www.github.com" => "github.com",
        "altssh.gitlab.com" => "gitlab.com",
        other => other,
    }
}

/// What the person's ssh config calls a host.
async fn ssh_name(settings: &Settings, alias: &str) -> Option<String> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    if alias.is_empty() || alias.starts_with('-') || !alias.bytes().all(plain) {
        return None;
    }
    let (args, variables) = (["-G", "--", alias].map(OsString::from), settings.plain());
    let asked = Ask::new("ssh", &args, &variables, settings.local_deadline);
    let ended = run(asked).await.ok()?;
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    let name = said
        .lines()
        .find_map(|line| line.strip_prefix("hostname "))?;
    Some(name.trim().to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(url: &str) -> Option<(String, String, String)> {
        let hosts = ForgeHosts {
            hosts: vec![ForgeHost {
                host: "Git.example.invalid".into(),
                kind: ForgeKind::Gitea,
                url: None,
                token: None,
            }],
            ca_file: None,
        };
        let remote = Elsewhere::of(url)?;
        let host = hosts.known(usual_name(&remote.host), None)?;
        let Address { host, owner, name } = remote.at(&host.host, host.kind)?;
        Some((host, owner, name))
    }

    #[test]
    fn addresses_are_read_in_every_spelling_and_other_hosts_are_not() {
        let parts = |host: &str, owner: &str, name: &str| {
            Some((host.to_owned(), owner.to_owned(), name.to_owned()))
        };
        for url in [
            "git@github.com:ana/tool.git",
            "https://github.com/ana/tool",
            "https://x-token@GitHub.com/ana/tool.git",
            "ssh://git@github.com/ana/tool.git",
            "ssh://git@github.com:22/ana/tool.git",
            "ssh://git@ssh.github.com:443/ana/tool.git",
        ] {
            assert_eq!(address(url), parts("github.com", "ana", "tool"), "{url}");
        }
        assert_eq!(
            address("git@gitlab.com:group/sub/tool.git"),
            parts("gitlab.com", "group/sub", "tool")
        );
        assert!(address("https://git.example.invalid/a/b").is_some());
        for url in [
            "/srv/git/tool.git",
            "../github.com:x/tool.git",
            "https://example.org/a/b",
            "git@github.com:a/b/../../c",
            "git@gitlab.com:a/../c",
            "git@github.com:a/b/c",
            "https://github.com/a/b?x",
            "file:///github.com/a/b",
            "git@github.com:only",
        ] {
            assert_eq!(address(url), None, "{url}");
        }
    }

    #[test]
    fn a_folder_is_nowhere_else() {
        for url in ["/srv/git/a.git", "./a:b", "../a", "file:///srv/a", "C"] {
            assert_eq!(Elsewhere::of(url), None, "{url}");
        }
        assert!(Elsewhere::of("ssh://host").is_some());
    }
}
