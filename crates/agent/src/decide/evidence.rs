//! What the runtime itself saw of a change, for whoever decides whether it is
//! merged: checks, size, review, weakened tests, where to look. No model writes a
//! word of it, and the merge card is bound to it.

mod left_to_do;
mod on_forge;

use butler_protocol::{Receipt, Verdict, count_of};
use butler_repo::{ChangedFile, Changes, PullRequest};
use butler_tools::weakened_checks;

use crate::{
    OrWarn, ThreadContext,
    tell::{render, thread_journal},
};

/// Files that are named before the rest is only counted.
const NAMED: usize = 12;

/// Everything that is known about a pull request at its present head.
pub(crate) async fn of_pull(
    context: &ThreadContext,
    pull: &PullRequest,
    verdict: Option<&Verdict>,
) -> Vec<String> {
    let verdict = verdict.filter(|verdict| verdict.head == pull.head);
    let changes = context.changes_at(&pull.head).await;
    let mut lines = match changes.or_warn("what a pull request changes cannot be told") {
        Some(changes) => of_change(verdict, &changes),
        None => {
            let mut lines = of_review(verdict);
            lines.push("⚠ What it changes could not be looked at".to_owned());
            lines
        }
    };
    lines.extend(on_forge::of_pull(context, pull.number).await);
    if context.agent.rules().journal_in_pull {
        lines.push(format!(
            "Adds a page about this thread, `{}`",
            thread_journal::path(&context.thread)
        ));
    }
    if pull.base != *context.agent.repo.default_branch() {
        lines.push(format!(
            "Stands on `{}`: that one is merged first, whichever is decided first",
            pull.base
        ));
    }
    lines.push(where_to_look(pull));
    lines
}

/// The same for knowledge: a person has accepted each sentence of it, and no
/// check could tell anything about it.
pub(crate) async fn of_knowledge(context: &ThreadContext, pull: &PullRequest) -> Vec<String> {
    let changes = context.changes_at(&pull.head).await;
    let counted = changes.map(|changes| size(&changes.files));
    counted.into_iter().chain([where_to_look(pull)]).collect()
}

/// Checks, size and review, in this order.
fn of_change(verdict: Option<&Verdict>, changes: &Changes) -> Vec<String> {
    let receipt = verdict.and_then(|verdict| verdict.observed.receipt.as_ref());
    let mut lines = checks(receipt);
    // Looked for in the change itself: without a receipt nobody else has.
    let mut flags = receipt.map_or_else(Vec::new, |receipt| receipt.flags.clone());
    for flag in weakened_checks(&changes.diff) {
        if !flags.contains(&flag) {
            flags.push(flag);
        }
    }
    lines.extend(flags.iter().map(|flag| format!("⚠ {flag}")));
    lines.extend(left_to_do::in_diff(&changes.diff));
    lines.push(size(&changes.files));
    lines.extend(of_review(verdict));
    lines
}

fn checks(receipt: Option<&Receipt>) -> Vec<String> {
    let mut receipt_only = receipt.cloned();
    if let Some(receipt) = &mut receipt_only {
        receipt.flags.clear();
    }
    let text = render::checks_line(receipt_only.as_ref());
    let lines = text.lines().map(|line| line.trim_start_matches("• "));
    // A card shows every sign as it is.
    let mut lines: Vec<String> = lines.map(|line| line.replace("**", "")).collect();
    if !receipt.is_some_and(Receipt::green)
        && let Some(first) = lines.first_mut()
    {
        first.insert_str(0, "⚠ ");
    }
    lines
}

fn size(files: &[ChangedFile]) -> String {
    if files.is_empty() {
        return "⚠ It changes nothing".to_owned();
    }
    let counted = files.iter().filter_map(|file| file.lines);
    let (added, removed) = counted.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let mut names: Vec<String> = files.iter().take(NAMED).map(named).collect();
    if files.len() > NAMED {
        names.push(format!("{} more", files.len() - NAMED));
    }
    format!(
        "{} changed, {} added, {removed} removed: {}",
        count_of(files.len(), "file"),
        count_of(added, "line"),
        names.join(", ")
    )
}

fn named(file: &ChangedFile) -> String {
    match file.lines {
        Some((added, removed)) => format!("`{}` +{added} −{removed}", file.path),
        None => format!("`{}` (not text)", file.path),
    }
}

fn of_review(verdict: Option<&Verdict>) -> Vec<String> {
    let Some(verdict) = verdict else {
        return vec!["⚠ Nobody has reviewed this head".to_owned()];
    };
    let round = verdict.round;
    let mut lines = vec![if verdict.approved {
        format!("Approved by the Reviewer in round {round}")
    } else {
        format!("⚠ Not approved by the Reviewer after round {round}")
    }];
    lines.extend(unread(verdict));
    let findings = verdict.findings.iter().map(render::finding);
    lines.extend(findings.map(|finding| format!("Open: {finding}")));
    lines
}

/// What the Reviewer judged without having opened it.
pub(crate) fn unread(verdict: &Verdict) -> Option<String> {
    let unread = &verdict.observed.unread;
    if unread.is_empty() {
        return None;
    }
    let names = render::as_code(unread);
    Some(format!("⚠ The Reviewer never opened {names}"))
}

fn where_to_look(pull: &PullRequest) -> String {
    match &pull.url {
        Some(url) => format!("Diff: {url}/files"),
        None => format!(
            "Diff: `codebutler pr diff {}`, or Changes on the page of this thread",
            pull.number.0
        ),
    }
}

#[cfg(test)]
mod tests {
    use butler_protocol::{CommitSha, Observed, TreeHash};

    use super::*;

    fn verdict(observed: Observed) -> Verdict {
        Verdict {
            head: CommitSha::new("h"),
            tree: TreeHash::new("t"),
            approved: true,
            round: 1,
            last: false,
            summary: "all good".into(),
            invariants: vec![],
            risks: vec![],
            tests: vec![],
            findings: vec![],
            observed,
        }
    }

    fn file(path: &str, lines: Option<(u64, u64)>) -> ChangedFile {
        ChangedFile {
            path: path.into(),
            lines,
        }
    }

    #[test]
    fn without_a_receipt_it_says_unverified_and_still_finds_a_bent_test() {
        let diff = "diff --git a/tests/test_a.py b/tests/test_a.py\n\
            --- a/tests/test_a.py\n+++ b/tests/test_a.py\n@@ -1,2 +1,1 @@\n\
             def test_a():\n-    assert a() == 2\n";
        let changes = Changes {
            files: vec![file("tests/test_a.py", Some((0, 1)))],
            diff: diff.into(),
        };
        let lines = of_change(Some(&verdict(Observed::default())), &changes);
        assert!(lines[0].starts_with("⚠ Checks: unverified"), "{lines:?}");
        assert!(lines[1].starts_with("⚠ assertions removed"), "{lines:?}");
        assert!(lines[2].starts_with("1 file changed, 0 lines added, 1 removed"));
    }

    #[test]
    fn what_was_judged_unseen_and_what_changes_nothing_is_said() {
        let unread = Observed {
            receipt: None,
            unread: vec!["a.sh".into()],
            ..Observed::default()
        };
        let lines = of_change(Some(&verdict(unread)), &Changes::default());
        let says = |words: &str| lines.iter().any(|line| line.contains(words));
        assert!(says("⚠ The Reviewer never opened `a.sh`"), "{lines:?}");
        assert!(says("⚠ It changes nothing"), "{lines:?}");
        let nobody = of_change(None, &Changes::default());
        assert!(
            nobody
                .iter()
                .any(|line| line.contains("Nobody has reviewed"))
        );
    }

    #[test]
    fn many_files_are_counted_and_binary_ones_named_as_such() {
        let mut files: Vec<ChangedFile> = (0..20)
            .map(|n| file(&format!("f{n}"), Some((1, 2))))
            .collect();
        files[0].lines = None;
        let line = size(&files);
        assert!(line.starts_with("20 files changed, 19 lines added, 38 removed"));
        assert!(
            line.contains("`f0` (not text)") && line.ends_with("8 more"),
            "{line}"
        );
    }
}
