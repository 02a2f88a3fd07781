//! Joining a hub on another machine: a code is exchanged for this machine's own tokens,
//! once the hub has shown who it is.

use std::{error::Error, fs, io, iter::successors, time::Duration};

use butler_config::{JoinedHub, JoinedRole, Settings};
use butler_protocol::{Refusal, Role};
use butler_slack::{Control, SharedEpoch, SlackError, Workspace};
use butler_tls::Trust;
use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::{Value, json};

use super::address::JoinLink;
use crate::{CliError, hub_access, wiring};

const PATIENCE: Duration = Duration::from_secs(30);
const ANOTHER: &str = "`codebutler hub invite`, beside the hub, gives another link";

/// What the hub answers a good code with.
#[derive(Deserialize)]
struct Answer {
    machine: String,
    repo: String,
    channel: String,
    tokens: Vec<JoinedRole>,
}

/// Whether the hub can be reached and is the one that the link names: asked before
/// anything else, since a code is good for one try.
pub(crate) async fn greet(hub: &Workspace) -> Result<(), CliError> {
    let url = hub.base.join("healthz").map_err(CliError::internal)?;
    let request = hub_access::client(hub)?.get(url).timeout(PATIENCE);
    match request.send().await {
        Ok(answer) if answer.status().is_success() => Ok(()),
        Ok(answer) => Err(CliError::user(format!(
            "what answers at {} is no hub: {}",
            hub.base,
            answer.status()
        ))
        .hint("is the address of the link that of the hub, and not of a proxy before it?")),
        Err(error) => Err(away(hub, &error)),
    }
}

/// Uses the code up.
pub(crate) async fn exchange(link: &JoinLink) -> Result<JoinedHub, CliError> {
    let hub = &link.hub;
    let url = hub.base.join("agent/v1/join").map_err(CliError::internal)?;
    let body = json!({"code": link.code.expose(), "name": this_machine()});
    let request = hub_access::client(hub)?.post(url).json(&body);
    let answer = request.timeout(PATIENCE).send().await;
    let answer = answer.map_err(|error| away(hub, &error))?;
    let status = answer.status();
    let body: Value = answer.json().await.unwrap_or_default();
    if !status.is_success() {
        let refusal = body["error"].as_str().and_then(Refusal::named);
        return Err(match refusal {
            Some(refusal) => CliError::user(refusal.sentence()).hint(ANOTHER),
            None => CliError::user(format!("the hub at {} answered {status}", hub.base))
                .hint("it may be older than this codebutler: update it"),
        });
    }
    let given: Answer = serde_json::from_value(body).map_err(|_| {
        CliError::user(format!("the hub at {} answered something else", hub.base))
            .hint("it may be newer than this codebutler: update this one, and invite again")
    })?;
    let fingerprint = match &hub.trust {
        Trust::Exactly(fingerprint) => Some(fingerprint.to_string()),
        Trust::Usual | Trust::WithFile(_) => None,
    };
    Ok(JoinedHub {
        url: hub.base.to_string(),
        fingerprint,
        machine: given.machine,
        repo: given.repo,
        channel: given.channel,
        tokens: given.tokens,
    })
}

/// Why there was no answer.
fn away(hub: &Workspace, error: &reqwest::Error) -> CliError {
    let base = &hub.base;
    match (refused_certificate(error), &hub.trust) {
        (true, Trust::Exactly(_)) => CliError::user(format!(
            "{base} does not show the certificate that the link names"
        ))
        .hint("somebody may be in between, or the hub has another certificate by now")
        .hint(ANOTHER),
        (true, _) => CliError::user(format!(
            "{base} shows a certificate that is not trusted here"
        ))
        .hint("`network.caFile` in the machine config names the file of your company's authority")
        .hint("a link to join by has to stand in quotes: a shell cuts it at `&`, before the certificate"),
        (false, _) => {
            let deepest = successors(error.source(), |cause| (**cause).source()).last();
            let why = deepest.map(ToString::to_string).unwrap_or_default();
            CliError::user(format!("the hub at {base} cannot be reached: {why}"))
                .hint("does it run, and does its address lead there from this machine?")
        }
    }
}

/// Whether a connection failed because of whom the other end is.
fn refused_certificate(error: &reqwest::Error) -> bool {
    let mut causes = successors(error.source(), |cause| (**cause).source());
    causes.any(|cause| matches!(tls(cause), Some(rustls::Error::InvalidCertificate(_))))
}

/// An error of TLS, which the libraries wrap as one of reading.
fn tls<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let wrapped = || tls(error.downcast_ref::<io::Error>()?.get_ref()?);
    error.downcast_ref().or_else(wrapped)
}

/// What people know this machine by.
fn this_machine() -> String {
    let name = fs::read_to_string("/etc/hostname").ok();
    let name = name.or_else(|| std::env::var("HOSTNAME").ok());
    name.unwrap_or_default().trim().to_owned()
}

/// Asks the joined hub about each role of this machine: whether it hears a process of it.
pub(crate) async fn ask(settings: &Settings) -> Vec<(Role, Result<bool, SlackError>)> {
    let (Some(joined), Ok(hub)) = (settings.joined(), wiring::hub(settings)) else {
        return Vec::new();
    };
    let one = |one: &JoinedRole| {
        let control = Control::new(&hub, one.bot.clone(), SharedEpoch::default());
        let role = one.role;
        async move {
            let asked = match control {
                Ok(control) => control.with_patience(Duration::ZERO).is_heard().await,
                Err(error) => Err(error),
            };
            (role, asked)
        }
    };
    join_all(joined.tokens.iter().map(one)).await
}

/// Whether the joined hub does not know this machine any longer. One that does not answer
/// has not said so.
pub(crate) async fn was_sent_away(settings: &Settings) -> bool {
    let asked = ask(settings).await;
    let refused = |asked: &Result<bool, SlackError>| {
        let error = asked.as_ref().err();
        error
            .and_then(SlackError::refusal)
            .is_some_and(Refusal::is_final)
    };
    !asked.is_empty() && asked.iter().all(|(_, asked)| refused(asked))
}
