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

use std::{borrow::Cow, ffi::OsString};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use butler_protocol::MergeBlock;

use super::{answer::Answer, host::Address};
use crate::{
    Error, Output, Result, Settings,
    git::{Ask, Input, run},
};

/// A request.
#[derive(Debug, Default)]
pub(super) struct Request<'a> {
    pub method: &'a str,
    /// Below `repos/<owner>/<name>/`, unless it begins with a stroke.
    pub path: String,
    pub body: Option<Value>,
    pub accept: Option<&'a str>,
}

/// Runs gh, about one repository or about none.
async fn start(
    settings: &Settings,
    address: Option<&Address>,
    args: &[OsString],
    input: Input,
    cancel: Option<&CancellationToken>,
) -> Result<Output> {
    let mut variables = settings.plain();
    variables.retain(|(name, _)| name != "GH_REPO");
    // A git that gh starts finds no repository either.
    variables.push(("GIT_DIR".into(), "/dev/null".into()));
    if let Some(Address { host, owner, name }) = address {
        variables.push(("GH_REPO".into(), format!("{host}/{owner}/{name}").into()));
    }
    run(Ask {
        input,
        cancel,
        ..Ask::new("gh", args, &variables, settings.remote_deadline)
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

/// Whether the person's gh has a login for a host. Nothing is asked over the network, and
/// what it prints is not looked at.
pub(super) async fn gh_knows(settings: &Settings, host: &str) -> bool {
    let args = ["auth", "token", "--hostname", host].map(OsString::from);
    let ended = start(settings, None, &args, Input::Nothing, None).await;
    ended.is_ok_and(|ended| ended.code == 0)
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
            more: None,
        }),
        // Nothing came back: no network, no login, no such host.
        None => {
            let error = ended
                .check(&[])
                .map_or_else(|error| error, |o| o.unreadable());
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
