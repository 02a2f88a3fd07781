//! Every predicted conflict is a real one, and no real one is missed.

use std::{collections::BTreeSet, process::Command};

use butler_protocol::BranchName;
use butler_testkit::{ScratchRepo, git};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};

use crate::support::*;

/// What one branch does: to which file, at which line, what.
type Edits = Vec<(u8, u8, u8)>;

fn lines(n: u8) -> Vec<String> {
    (0..10)
        .map(|line| format!("file {n} line {line}"))
        .collect()
}

/// Makes branches from `main` in a plain clone and pushes them.
fn plant(scratch: &ScratchRepo, round: usize, branches: &[Edits]) -> Vec<BranchName> {
    let dir = scratch.root();
    let mut names = Vec::new();
    for (index, edits) in branches.iter().enumerate() {
        let name = format!("codebutler/r{round}-b{index}-aaaaaa");
        git(dir, &["checkout", "--quiet", "-B", &name, "origin/main"]);
        for (file, line, what) in edits {
            let path = dir.join(format!("f{}.txt", file % 3));
            let mut text = lines(file % 3);
            let at = usize::from(line % 10);
            match what % 4 {
                0 => text[at] = format!("changed {}", what % 8),
                1 => text.insert(at, format!("added {}", what % 8)),
                2 => drop(text.remove(at)),
                _ => {
                    let _ = std::fs::remove_file(&path);
                    continue;
                }
            }
            std::fs::write(&path, text.join("\n") + "\n").unwrap();
        }
        scratch.clone.commit("edit");
        git(dir, &["push", "--quiet", "origin", &name]);
        names.push(BranchName::new(name));
    }
    names
}

fn really_conflicts(
    scratch: &ScratchRepo,
    one: &BranchName,
    other: &BranchName,
) -> Option<BTreeSet<String>> {
    let dir = scratch.root();
    git(
        dir,
        &["checkout", "--quiet", "--detach", &format!("origin/{one}")],
    );
    let merge = Command::new("git")
        .arg("-C")
        .arg(dir)
        .args([
            "-c",
            "user.name=you",
            "-c",
            "user.email=y@z",
            "merge",
            "--no-edit",
            "--quiet",
        ])
        .arg(format!("origin/{other}"))
        .output()
        .unwrap();
    if merge.status.success() {
        return None;
    }
    let files = git(dir, &["diff", "--name-only", "--diff-filter=U"]);
    git(dir, &["merge", "--abort"]);
    Some(files.lines().map(str::to_owned).collect())
}

#[test]
fn predictions_and_real_merges_agree() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let scratch = ScratchRepo::new();
    for n in 0..3 {
        scratch.push_to_main(&format!("f{n}.txt"), &(lines(n).join("\n") + "\n"));
    }
    git(scratch.root(), &["fetch", "--quiet"]);
    let repo = runtime.block_on(open(&scratch));
    let round = std::cell::Cell::new(0);
    let seen = std::cell::Cell::new((0, 0));
    let edits = prop::collection::vec((any::<u8>(), any::<u8>(), any::<u8>()), 1..4);
    let mut runner = TestRunner::new(Config {
        cases: 8,
        failure_persistence: None,
        max_shrink_iters: 8,
        ..Config::default()
    });
    runner
        .run(&prop::collection::vec(edits, 4), |branches| {
            round.set(round.get() + 1);
            let names = plant(&scratch, round.get(), &branches);
            let forecast = runtime.block_on(async {
                repo.fetch(&go()).await.unwrap();
                repo.forecast(&names, &go()).await.unwrap()
            });
            assert_eq!(forecast.branches.len(), 4);
            for (index, one) in names.iter().enumerate() {
                for other in &names[index + 1..] {
                    let said = forecast
                        .clashes
                        .iter()
                        .find(|c| c.one == *one && c.other == *other);
                    let said =
                        said.map(|c| c.files.iter().map(|f| f.display().to_string()).collect());
                    let real = really_conflicts(&scratch, one, other);
                    let (yes, no) = seen.get();
                    seen.set(if real.is_some() {
                        (yes + 1, no)
                    } else {
                        (yes, no + 1)
                    });
                    assert_eq!(said, real, "{one} and {other}");
                }
            }
            Ok(())
        })
        .unwrap();
    let (conflicts, clean) = seen.get();
    assert!(
        conflicts > 0 && clean > 0,
        "both kinds were seen: {conflicts} and {clean}"
    );
}

#[tokio::test]
async fn a_forecast_knows_files_stale_branches_and_what_is_gone() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let one = repo.create(&thread(1), "one", &go()).await.unwrap();
    let two = repo.create(&thread(2), "two", &go()).await.unwrap();
    deliver(&one, "README.md", "one\n").await;
    deliver(&two, "other.txt", "two\n").await;
    let gone = BranchName::new("codebutler/gone-aaaaaa");
    let names = [one.branch.clone(), two.branch.clone(), gone];
    let calm = repo.forecast(&names, &go()).await.unwrap();
    assert!(calm.clashes.is_empty() && calm.stale.is_empty());
    assert_eq!(calm.branches.len(), 2);
    assert_eq!(calm.touching(&["other.txt".into()]), [&two.branch]);
    deliver(&two, "README.md", "two\n").await;
    scratch.push_to_main("README.md", "main\n");
    repo.fetch(&go()).await.unwrap();
    let storm = repo.forecast(&names, &go()).await.unwrap();
    assert_eq!(storm.clashes.len(), 1);
    assert_eq!(storm.stale.len(), 2);
    assert_eq!(
        storm.stale[0].files,
        [std::path::PathBuf::from("README.md")]
    );
    assert!(one.status(&go()).await.unwrap().is_clean());
}
