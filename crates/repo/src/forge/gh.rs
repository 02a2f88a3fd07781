//! One request to GitHub through the person's own `gh`: it holds the token,
//! knows the host and the proxy, and we never see any of it.
//!
//! `gh api` rather than `gh pr …`: the porcelain's exit codes differ between
//! versions, and `gh pr merge --delete-branch` switches branches in worktrees.
//! The REST interface underneath is stable, and says by status what happened.
//!
//! It acts with the person's token, so it must not run where a command of an agent
//! could have written a git config: it starts in a folder that belongs to no
//! repository and is told which one is meant. [`start`] is the only way to it.

use std::{
    borrow::Cow,
    ffi::OsString,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use butler_protocol::MergeBlock;

use super::block;
use crate::{
    Error, Output, Result, Settings,
    git::{Ask, Ended, Input, run},
};

/// Neither this folder nor one above it is a repository that anybody here can write.
const NEUTRAL: &str = "/";

/// Where a repository lives on GitHub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub host: String,
    pub owner: String,
    pub name: String,
}

impl Address {
    /// Reads `git@host:owner/name.git`, `ssh://…` or `https://…`; nothing when
    /// the host is not one of `hosts`.
    pub(super) fn of(url: &str, hosts: &[String]) -> Option<Self> {
        let (host, path) = match url.split_once("://") {
            Some(("https" | "http" | "ssh" | "git", rest)) => {
                let (place, path) = rest.split_once('/')?;
                let host = place.rsplit('@').next()?;
                // Without the port, if one is given.
                (host.split(':').next()?, path)
            }
            Some(_) => return None,
            None => {
                let (place, path) = url.split_once(':')?;
                (place.rsplit('@').next()?, path)
            }
        };
        let host = host.to_ascii_lowercase();
        let path = path.trim_matches('/');
        let (owner, name) = path.split_once('/')?;
        let name = name.strip_suffix(".git").unwrap_or(name);
        let plain = |part: &str| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        };
        let known = host == "github.com" || host.ends_with(".ghe.com") || hosts.contains(&host);
        (known && plain(owner) && plain(name)).then(|| Self {
            host,
            owner: owner.to_owned(),
            name: name.to_owned(),
        })
    }
}

/// A request.
#[derive(Debug, Default)]
pub(super) struct Request<'a> {
    pub method: &'a str,
    /// Below `repos/<owner>/<name>/`, unless it begins with a stroke.
    pub path: String,
    pub body: Option<Value>,
    pub accept: Option<&'a str>,
}

/// GitHub's answer; any status is one.
#[derive(Debug)]
pub(crate) struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
    head: String,
    command: String,
}

impl Answer {
    /// The body as JSON, if the request went well.
    pub(crate) fn json(&self) -> Result<Value> {
        if !(200..300).contains(&self.status) {
            return Err(self.refusal());
        }
        serde_json::from_slice(&self.body).map_err(|_| self.refusal())
    }

    /// The answer as an error, in GitHub's words.
    pub(crate) fn refusal(&self) -> Error {
        let said = self.said();
        match block::in_words(self.status, &said) {
            block @ (MergeBlock::RateLimited | MergeBlock::LoggedOut) => {
                self.blocked(block, String::new())
            }
            _ => Error::Refused {
                name: self.command.clone(),
                reason: format!("{said} (HTTP {})", self.status),
            },
        }
    }

    /// The same for a merge: every no of it has a name.
    pub(crate) fn no_merge(&self, number: String) -> Error {
        self.blocked(block::in_words(self.status, &self.said()), number)
    }

    /// Whether it is a no to more requests for now.
    pub(crate) fn is_limit(&self) -> bool {
        block::in_words(self.status, &self.said()) == MergeBlock::RateLimited
    }

    pub(crate) fn blocked(&self, block: MergeBlock, number: String) -> Error {
        Error::Blocked {
            number,
            block,
            said: self.said(),
            wait: (block == MergeBlock::RateLimited)
                .then(|| self.pause())
                .flatten(),
        }
    }

    fn said(&self) -> String {
        let said = serde_json::from_slice::<Value>(&self.body).ok();
        let message = said.as_ref().and_then(|json| json["message"].as_str());
        message.unwrap_or("no reason given").to_owned()
    }

    /// How long GitHub wants to be left alone, by its headers.
    fn pause(&self) -> Option<Duration> {
        let number = |name: &str| {
            let lines = self.head.lines().filter_map(|line| line.split_once(':'));
            let mut values = lines.filter(|(key, _)| key.eq_ignore_ascii_case(name));
            values.next()?.1.trim().parse::<u64>().ok()
        };
        let after = number("retry-after").map(Duration::from_secs);
        after.or_else(|| {
            let reset = Duration::from_secs(number("x-ratelimit-reset")?);
            let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
            reset.checked_sub(now)
        })
    }

    /// Whether nobody can say if it was done: ask before doing it again.
    pub(crate) fn is_unclear(&self) -> bool {
        self.status >= 500
    }
}

/// Runs gh, about one repository or about none.
async fn start(
    settings: &Settings,
    address: Option<&Address>,
    args: &[OsString],
    input: Input,
    cancel: Option<&CancellationToken>,
) -> Result<Ended> {
    let mut variables = settings.plain();
    variables.retain(|(name, _)| name != "GH_REPO");
    // A git that gh starts finds no repository either.
    variables.push(("GIT_DIR".into(), "/dev/null".into()));
    if let Some(Address { host, owner, name }) = address {
        variables.push(("GH_REPO".into(), format!("{host}/{owner}/{name}").into()));
    }
    run(Ask {
        program: "gh",
        dir: Some(Path::new(NEUTRAL)),
        args,
        variables: &variables,
        input,
        deadline: settings.remote_deadline,
        cancel,
    })
    .await
}

/// The version of the person's gh, as in `2.45.0`; an error where there is none.
pub async fn gh_version(settings: &Settings) -> Result<String> {
    let args = [OsString::from("--version")];
    let ended = start(settings, None, &args, Input::Nothing, None).await?;
    let said = String::from_utf8_lossy(&ended.stdout);
    let number = said
        .split_whitespace()
        .nth(2)
        .unwrap_or("of unknown version");
    Ok(number.to_owned())
}

/// Whether the person's gh is logged in; an error where there is none.
pub async fn gh_logged_in(settings: &Settings) -> Result<bool> {
    let args = ["auth", "status"].map(OsString::from);
    let ended = start(settings, None, &args, Input::Nothing, None).await?;
    Ok(ended.code == 0)
}

/// Sends a request.
pub(super) async fn send(
    settings: &Settings,
    address: &Address,
    request: Request<'_>,
    cancel: &CancellationToken,
) -> Result<Answer> {
    let Address { host, owner, name } = address;
    let path = match request.path.strip_prefix('/') {
        Some(whole) => whole.to_owned(),
        None => format!("repos/{owner}/{name}/{}", request.path),
    };
    let mut args: Vec<OsString> = ["api", "--include", "--hostname", host, "--method"]
        .into_iter()
        .chain([request.method, &path])
        .map(Into::into)
        .collect();
    if let Some(accept) = request.accept {
        args.extend(["--header".into(), format!("Accept: {accept}").into()]);
    }
    let input = match request.body {
        Some(body) => {
            args.extend(["--input".into(), "-".into()]);
            Input::Bytes(body.to_string().into_bytes())
        }
        None => Input::Nothing,
    };
    let ended = start(settings, Some(address), &args, input, Some(cancel)).await?;
    let command = ended.command.clone();
    match read(&ended.stdout) {
        Some((status, head, body)) => Ok(Answer {
            status,
            body: body.to_vec(),
            head: head.into_owned(),
            command,
        }),
        // Nothing came back: no network, no login, no such host.
        None => {
            let error = Output::check(ended, &[]).map_or_else(|error| error, |o| o.unreadable());
            Err(known(error))
        }
    }
}

/// gh's own way to say that nobody is logged in.
fn known(error: Error) -> Error {
    match error {
        Error::Failed { stderr, .. } if stderr.contains("gh auth login") => Error::Blocked {
            number: String::new(),
            block: MergeBlock::LoggedOut,
            said: "gh is not logged in".to_owned(),
            wait: None,
        },
        other => other,
    }
}

/// Splits `HTTP/1.1 200 OK`, headers, an empty line, and the body.
fn read(stdout: &[u8]) -> Option<(u16, Cow<'_, str>, &[u8])> {
    let end = stdout
        .windows(2)
        .position(|two| two == b"\n\n")
        .map(|at| (at, 2))
        .or_else(|| {
            let at = stdout.windows(4).position(|four| four == b"\r\n\r\n")?;
            Some((at, 4))
        })?;
    let head = String::from_utf8_lossy(&stdout[..end.0]);
    let status = head.strip_prefix("HTTP/")?.split_whitespace().nth(1)?;
    let status = status.parse().ok()?;
    Some((status, head, &stdout[end.0 + end.1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_in_every_spelling_and_other_hosts_are_not() {
        let hosts = ["git.example.invalid".to_owned()];
        for url in [
            "git@github.com:ana/tool.git",
            "https://github.com/ana/tool",
            "https://x-token@GitHub.com/ana/tool.git",
            "ssh://git@github.com/ana/tool.git",
            "ssh://git@github.com:22/ana/tool.git",
        ] {
            let read = Address::of(url, &hosts).unwrap();
            let parts = (read.host.as_str(), read.owner.as_str(), read.name.as_str());
            assert_eq!(parts, ("github.com", "ana", "tool"), "{url}");
        }
        assert!(Address::of("https://git.example.invalid/a/b", &hosts).is_some());
        for url in [
            "/srv/git/tool.git",
            "https://gitlab.com/a/b",
            "git@github.com:a/b/../../c",
            "https://github.com/a/b?x",
            "file:///github.com/a/b",
            "git@github.com:only",
        ] {
            assert_eq!(Address::of(url, &hosts), None, "{url}");
        }
    }

    #[test]
    fn an_answer_is_split_at_the_first_empty_line() {
        let parts = |bytes| {
            let (status, _, body) = read(bytes)?;
            Some((status, body))
        };
        assert_eq!(
            parts(b"HTTP/1.1 201 Created\r\nA: b\r\n\r\n{\"x\":\"\\n\"}".as_slice()),
            Some((201, b"{\"x\":\"\\n\"}".as_slice()))
        );
        assert_eq!(
            parts(b"HTTP/2.0 404 Not Found\nA: b\n\nx\n\ny".as_slice()),
            Some((404, b"x\n\ny".as_slice()))
        );
        assert_eq!(parts(b"gh: no login".as_slice()), None);
    }
}
