//! What a save before a command costs in a tree of 10,000 files: when nothing
//! changed, and when one file did. `cargo bench -p butler-repo --bench undo`.
#![expect(
    clippy::print_stdout,
    reason = "a benchmark reports on standard output"
)]
#![expect(
    clippy::unwrap_used,
    reason = "a benchmark stops at the first surprise"
)]

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use butler_repo::Undo;
use butler_testkit::ScratchRepo;
use tokio_util::sync::CancellationToken;

const FILES: usize = 10_000;
const ROUNDS: usize = 40;

/// What a save may cost when little changed.
const BAR: Duration = Duration::from_millis(5);

fn main() -> ExitCode {
    let scratch = ScratchRepo::new();
    let clone = &scratch.clone;
    for n in 0..FILES {
        let text = format!("file {n}\n").repeat(20);
        clone.write(&format!("src/{}/{n}.txt", n % 200), &text);
    }
    clone.commit("many files");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let cancel = CancellationToken::new();
        let undo = Undo::of(scratch.root(), "bench").unwrap();
        let begin = Instant::now();
        undo.save("first", &cancel).await.unwrap();
        println!("the first save: {:?}", begin.elapsed());
        tokio::time::sleep(Duration::from_millis(200)).await;
        undo.save("settled", &cancel).await.unwrap();
        let (mut same, mut one) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let begin = Instant::now();
            undo.save("same", &cancel).await.unwrap();
            same.push(begin.elapsed());
            clone.write("src/0/0.txt", &format!("round {round}\n"));
            let begin = Instant::now();
            undo.save("one", &cancel).await.unwrap();
            one.push(begin.elapsed());
            tokio::time::sleep(Duration::from_millis(120)).await;
            undo.save("settled", &cancel).await.unwrap();
        }
        let median = |times: &mut Vec<Duration>| {
            times.sort();
            times[times.len() / 2]
        };
        let (same, one) = (median(&mut same), median(&mut one));
        let met = one <= BAR;
        println!("{FILES} files, nothing changed: {same:?}, one changed: {one:?}");
        println!("bar {BAR:?}: {}", if met { "met" } else { "MISSED" });
        ExitCode::from(u8::from(!met))
    })
}
