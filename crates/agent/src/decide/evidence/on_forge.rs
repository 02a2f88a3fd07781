//! How the forge itself sees a pull request: red and running checks, what reviewers say,
//! whether it would let it be merged. For the merge card, so that nobody merges over a
//! no without having read it.

use std::collections::BTreeMap;

use butler_protocol::{PrNumber, Reviewed};
use butler_repo::{CheckNow, CheckState, PullNow};

use crate::{OrWarn, ThreadContext};

/// What the forge says; nothing where it says nothing or cannot be asked.
pub(super) async fn of_pull(context: &ThreadContext, pr: PrNumber) -> Vec<String> {
    let found = context.agent.forge.look(&[pr], &context.cancel).await;
    let found = found.or_warn("how the forge sees a pull request is not known");
    let now = found.as_ref().and_then(|found| found.first());
    now.map(lines).unwrap_or_default()
}

fn lines(now: &PullNow) -> Vec<String> {
    let mut lines = Vec::new();
    let mut name = |what: &str, wanted: &dyn Fn(&CheckNow) -> bool| {
        let names = now.checks.iter().filter(|check| wanted(check));
        let names: Vec<String> = names.map(|check| format!("`{}`", check.name)).collect();
        if !names.is_empty() {
            lines.push(format!("{what}: {}", names.join(", ")));
        }
    };
    let red = |check: &CheckNow| check.state == CheckState::Failed;
    name("⚠ Red on the forge", &|check| {
        red(check) && !check.red_on_base
    });
    name(
        "Red on the forge, and on the default branch too",
        &|check| red(check) && check.red_on_base,
    );
    name("Not finished on the forge", &|check| {
        check.state == CheckState::Pending
    });
    // Of each person the last word counts.
    let mut reviews: BTreeMap<&str, Reviewed> = BTreeMap::new();
    for said in &now.said {
        reviews.extend(said.review.map(|review| (said.by.as_str(), review)));
    }
    for (by, review) in reviews {
        lines.push(match review {
            Reviewed::Approved => format!("Approved on the forge by {by}"),
            Reviewed::ChangesRequested => format!("⚠ {by} asks for changes on the forge"),
        });
    }
    lines.extend(standing(&now.merge_state).map(str::to_owned));
    lines
}

/// GitHub's word for whether it lets it be merged.
fn standing(word: &str) -> Option<&'static str> {
    Some(match word {
        "BLOCKED" => {
            "⚠ The forge does not let it be merged yet: a required review or check is missing"
        }
        "DIRTY" => "⚠ It conflicts with the default branch",
        "BEHIND" => "⚠ The forge wants the newest default branch in it first",
        "DRAFT" => "⚠ It is a draft on the forge",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use butler_protocol::{BranchName, CommitSha, Said};
    use butler_repo::PullState;

    use super::*;

    #[test]
    fn what_the_forge_has_against_it_is_said() {
        let check = |name: &str, state, red_on_base| CheckNow {
            name: name.to_owned(),
            state,
            red_on_base,
            job: None,
            summary: String::new(),
            url: None,
        };
        let said = |by: &str, review| Said {
            id: "review-1".into(),
            by: by.into(),
            may_write: true,
            review: Some(review),
            text: String::new(),
            place: None,
            outdated: false,
        };
        let now = PullNow {
            number: PrNumber(1),
            branch: BranchName::new("b"),
            state: PullState::Open,
            ended_by: String::new(),
            head: CommitSha::new("h"),
            pushed_by: None,
            draft: false,
            conflict: None,
            merge_state: "BLOCKED".into(),
            said: vec![
                said("ana", Reviewed::ChangesRequested),
                said("ben", Reviewed::ChangesRequested),
                said("ben", Reviewed::Approved),
            ],
            ours: Default::default(),
            checks: vec![
                check("ci", CheckState::Failed, false),
                check("nightly", CheckState::Failed, true),
                check("docs", CheckState::Pending, false),
                check("lint", CheckState::Passed, false),
            ],
        };
        assert_eq!(
            lines(&now),
            [
                "⚠ Red on the forge: `ci`",
                "Red on the forge, and on the default branch too: `nightly`",
                "Not finished on the forge: `docs`",
                "⚠ ana asks for changes on the forge",
                "Approved on the forge by ben",
                "⚠ The forge does not let it be merged yet: a required review or check is missing",
            ]
        );
    }
}
