//! What fifty open pull requests cost on each hosted forge while nothing happens: requests a
//! minute, counted by the stand-ins over an hour of glances at the usual pace of one a minute.
//! Ends with 1 when it is more than one.
#![expect(
    clippy::print_stdout,
    reason = "a benchmark reports on standard output"
)]
#![expect(
    clippy::unwrap_used,
    reason = "a benchmark stops at the first surprise"
)]

use std::{process::ExitCode, sync::Arc};

use butler_protocol::{PrNumber, Secret};
use butler_repo::{Forge, ForgeHost, ForgeHosts, ForgeKind, Git, Repo, Settings};
use butler_testkit::{Flavour, GitHub, Hosted, ScratchRepo};
use tokio_util::sync::CancellationToken;

const PULLS: usize = 50;
const MINUTES: usize = 60;
/// Until what has no checks is known to have none.
const FIRST: usize = 5;
const BAR: usize = MINUTES;

#[tokio::main]
async fn main() -> ExitCode {
    println!("{PULLS} open pull requests, {MINUTES} quiet minutes");
    println!(
        "{:10} {:>14} {:>14} {:>10}",
        "forge", "first minutes", "the hour", "a minute"
    );
    let mut missed = false;
    for flavour in [
        None,
        Some(Flavour::GitLab),
        Some(Flavour::Gitea),
        Some(Flavour::Forgejo),
    ] {
        let name = flavour.map_or_else(|| "GitHub".to_owned(), |kind| format!("{kind:?}"));
        let (first, hour) = match flavour {
            None => github().await,
            Some(flavour) => hosted(flavour).await,
        };
        let a_minute = hour as f64 / MINUTES as f64;
        println!("{name:10} {first:>14} {hour:>14} {a_minute:>10.2}");
        missed |= hour > BAR;
    }
    println!(
        "bar: at most 1.00 a minute{}",
        if missed { ": MISSED" } else { "" }
    );
    ExitCode::from(u8::from(missed))
}

async fn github() -> (usize, usize) {
    let scratch = ScratchRepo::new();
    let github = GitHub::serve(&scratch);
    measure(&scratch, &github, &ForgeHosts::default()).await
}

async fn hosted(flavour: Flavour) -> (usize, usize) {
    let scratch = ScratchRepo::new();
    let hosted = Hosted::serve(&scratch, flavour);
    let host = ForgeHost {
        host: Hosted::HOST.to_owned(),
        kind: match flavour {
            Flavour::GitLab => ForgeKind::GitLab,
            _ => ForgeKind::Gitea,
        },
        url: Some(hosted.url()),
        token: Some(Secret::new(Hosted::token())),
    };
    let hosts = ForgeHosts {
        hosts: vec![host],
        ca_file: None,
    };
    measure(&scratch, &hosted, &hosts).await
}

async fn measure(scratch: &ScratchRepo, github: &GitHub, hosts: &ForgeHosts) -> (usize, usize) {
    let settings = Settings::from_variables(github.variables());
    let git = Git::with(scratch.root(), Arc::new(settings));
    let repo = Repo::open_with(git).await.unwrap();
    let forge = Forge::of(&repo, hosts).await.unwrap();
    github.open_many(PULLS);
    let all: Vec<PrNumber> = (1..).take(PULLS).map(PrNumber).collect();
    let cancel = CancellationToken::new();
    for _ in 0..FIRST {
        forge.glance(&all, &cancel).await.unwrap();
    }
    let first = github.requests();
    let standing = forge.glance(&all, &cancel).await.unwrap();
    let before = github.requests();
    for _ in 0..MINUTES {
        let now = forge.glance(&all, &cancel).await.unwrap();
        assert_eq!(now, standing, "nothing happened, and something moved");
    }
    (first, github.requests() - before)
}
