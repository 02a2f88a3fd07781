//! How commands of a workplace are confined, in the sandbox's words.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use butler_policy::Permit;
use butler_sandbox::{Command, Ended, Exit, Limits, Network, Profile};

use tokio::sync::mpsc;

use crate::{ToolContext, Workplace, content::clip};

/// Pieces of output on their way to whoever watches.
const PIECES: usize = 16;

/// Where people keep credentials below their home.
const CREDENTIALS: &str = ".codebutler .ssh .gnupg .aws .azure .kube .docker .config/gh .config/gcloud .config/git \
    .netrc .git-credentials .gitconfig .npmrc .pypirc .cargo/credentials \
    .cargo/credentials.toml .local/share/keyrings .password-store";

/// Below the root: what commands may read and never change.
const PROTECTED: &[&str] = &[".git", ".codebutler"];

/// Only an approved call opens the network.
pub(crate) fn network(permit: &Permit) -> Network {
    if permit.network() {
        Network::Host
    } else {
        Network::Loopback
    }
}

/// How a workplace is confined: the same whoever starts the command.
pub(crate) fn profile(place: &Workplace, network: Network, wall: Duration) -> Profile {
    let around = place.surroundings();
    let mut profile = Profile::new(place.root());
    profile.protected = PROTECTED
        .iter()
        .map(|name| place.root().join(name))
        .collect();
    profile.protected.extend(around.readable.iter().cloned());
    let attached = around.attached.iter().filter(|folder| folder.is_dir());
    profile.protected.extend(attached.cloned());
    profile.hidden = around.hidden.clone();
    profile.hidden.extend(credentials(&around.home));
    // Tokens in the clone's config, and what we keep beside it.
    if let Some(clean) = butler_repo::clean_config(place.root()) {
        profile.instead.push((clean.at, clean.from));
        profile.hidden.push(clean.ours);
    }
    profile.writable = around.writable.clone();
    if let Some(cache) = &around.cache {
        profile.protected.extend(cache.readable(network));
        profile.writable.extend(cache.writable(network));
    }
    profile.network = network;
    profile.limits = Limits {
        wall,
        ..around.limits
    };
    profile
}

/// The places of credentials below somebody's home; none where nobody says.
pub(crate) fn credentials(home: &Path) -> impl Iterator<Item = PathBuf> {
    let names = home.is_absolute().then(|| CREDENTIALS.split(' '));
    names.into_iter().flatten().map(|name| home.join(name))
}

/// A shell command in the root, with an environment built from nothing.
pub(crate) fn shell(place: &Workplace, command: &str, network: Network) -> Command {
    let around = place.surroundings();
    let cache = around.cache.iter();
    let led = cache.flat_map(|cache| cache.variables(network));
    let extra = led.chain(around.env.clone());
    let mut shell = if around.home.is_absolute() {
        let env = butler_sandbox::scrubbed_env(&around.home, extra);
        butler_sandbox::shell_with(command, place.root(), env)
    } else {
        let mut plain = butler_sandbox::shell(command, place.root());
        plain.env.extend(extra);
        plain
    };
    shell.sockets = network == Network::Host || !butler_policy::needs_no_sockets(command);
    shell
}

/// Runs a command to its end, in the sandbox, or without where nothing can confine it and
/// the permit says that a person knows.
pub(crate) async fn run(
    context: &ToolContext,
    permit: &Permit,
    command: &str,
    wall: Duration,
) -> Result<Exit, String> {
    let sandbox = context.sandbox.as_ref().ok_or(NO_JAIL)?;
    let place = context.workplace();
    let network = network(permit);
    let profile = profile(place, network, wall);
    let command = shell(place, command, network);
    let (output, mut written) = mpsc::channel::<Vec<u8>>(PIECES);
    let output = context.watcher.as_deref().map(|_| output);
    let running = if permit.unconfined() {
        sandbox.run_unconfined(&command, &profile, context.cancel(), output)
    } else {
        sandbox.run(&command, &profile, context.cancel(), output)
    };
    let watching = async {
        while let (Some(watcher), Some(bytes)) = (context.watcher.as_deref(), written.recv().await)
        {
            watcher.output(&bytes);
        }
    };
    let (exit, ()) = tokio::join!(running, watching);
    exit.map_err(|error| format!("failed: {}", chain(&error)))
}

/// What a model reads where nothing confines commands.
pub(crate) const NO_JAIL: &str = "failed: commands cannot be confined here, so none runs; a person has to look at `codebutler doctor`";

/// How a command ended and after how long, in a few words.
pub(crate) fn verdict(exit: &Exit) -> String {
    told(
        exit,
        &format!(" after {:.1} s", exit.duration.as_secs_f64()),
    )
}

/// How a command ended: the same words however long it took.
pub(crate) fn ending(exit: &Exit) -> String {
    told(exit, "")
}

fn told(exit: &Exit, after: &str) -> String {
    match (exit.ended, exit.code, exit.signal) {
        (Ended::Itself, Some(code), _) => format!("exit {code}{after}"),
        (Ended::Itself, None, Some(signal)) => format!("killed by signal {signal}{after}"),
        (Ended::Itself, None, None) => format!("ended{after}"),
        (Ended::TimedOut, ..) => format!("timed out{after} and was killed"),
        (Ended::Cancelled, ..) => format!("stopped{after}"),
        (Ended::OutOfMemory, ..) => format!("killed{after}: it used too much memory"),
        (Ended::TooManyProcesses, ..) => format!("killed{after}: it started too many processes"),
        (Ended::DiskFull, ..) => format!("killed{after}: it wrote too much to the disk"),
        (Ended::OutputFlood, ..) => format!("killed{after}: it wrote far too much output"),
    }
}

/// The output as a model reads it, what was left out marked.
pub(crate) fn output(exit: &Exit, cap: usize) -> String {
    let text = if exit.cut > 0 {
        let (head, tail) = exit.output.split_at(exit.cut_at.min(exit.output.len()));
        format!(
            "{}\n[… {} bytes left out]\n{}",
            clip::plain(head),
            exit.cut,
            clip::plain(tail)
        )
    } else {
        clip::plain(&exit.output)
    };
    clip::head_and_tail(&text, cap, "write the output to a file and Read or Grep it")
}

/// An error with its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
