//! How long a forecast for 20 branches of a repository with 2,000 files takes.
#![expect(
    clippy::print_stdout,
    reason = "a benchmark reports on standard output"
)]
#![expect(
    clippy::unwrap_used,
    reason = "a benchmark stops at the first surprise"
)]

use std::time::Instant;

use butler_protocol::BranchName;
use butler_repo::Repo;
use butler_testkit::{ScratchRepo, git};
use tokio_util::sync::CancellationToken;

const FILES: usize = 2_000;
const BRANCHES: usize = 20;
const ROUNDS: usize = 10;

fn main() {
    let scratch = ScratchRepo::new();
    let clone = &scratch.clone;
    for n in 0..FILES {
        clone.write(
            &format!("src/{}/{n}.txt", n % 40),
            &format!("file {n}\n").repeat(20),
        );
    }
    clone.commit("many files");
    clone.git(&["push", "--quiet", "origin", "main"]);
    let mut names = Vec::new();
    for n in 0..BRANCHES {
        let name = format!("codebutler/branch-{n}-aaaaaa");
        clone.git(&["checkout", "--quiet", "-b", &name, "main"]);
        // Every third branch also changes one file that the others change too.
        for k in 0..5 {
            let file = n * 50 + k;
            clone.write(
                &format!("src/{}/{file}.txt", file % 40),
                &format!("by {n}\n"),
            );
        }
        if n % 3 == 0 {
            clone.write("src/0/1960.txt", &format!("by {n}\n"));
        }
        clone.commit("work");
        clone.git(&["push", "--quiet", "origin", &name]);
        names.push(BranchName::new(name));
    }
    git(scratch.root(), &["checkout", "--quiet", "main"]);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let cancel = CancellationToken::new();
        let repo = Repo::open(scratch.root()).await.unwrap();
        repo.fetch(&cancel).await.unwrap();
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let start = Instant::now();
            let forecast = repo.forecast(&names, &cancel).await.unwrap();
            times.push(start.elapsed());
            assert_eq!(forecast.branches.len(), BRANCHES);
            assert_eq!(forecast.clashes.len(), 7 * 6 / 2);
        }
        times.sort();
        println!(
            "forecast of {BRANCHES} branches, {FILES} files: median {:?}, worst {:?}",
            times[ROUNDS / 2],
            times[ROUNDS - 1]
        );
    });
}
