//! The rules of a protected branch before a merge. An account that may step over them
//! is not stopped by GitHub itself, so they are looked at first; and where a merge queue
//! merges, the pull request is put there and waits.

use butler_protocol::MergeBlock;
use serde_json::{Value, json};

use super::{
    super::{Merge, block::in_words},
    HostedForge, Way,
    look::{data, graph},
};
use crate::{Error, Result};

const STANDING: &str = "query($owner: String!, $name: String!, $number: Int!) { \
    repository(owner: $owner, name: $name) { pullRequest(number: $number) { id state isDraft \
    mergeStateStatus reviewDecision viewerCanMergeAsAdmin isInMergeQueue isMergeQueueEnabled \
    commits(last: 1) { nodes { commit { statusCheckRollup { state } } } } } } }";
const ENQUEUE: &str = "mutation($id: ID!, $head: GitObjectID!) { enqueuePullRequest(input: \
    {pullRequestId: $id, expectedHeadOid: $head}) { mergeQueueEntry { state } } }";

/// What the rules say to a merge now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rules {
    /// GitHub may be asked; it says no by itself if it must.
    Ask,
    Merged,
    /// A queue merges here.
    Queue {
        /// What GitHub calls it.
        id: String,
        waits: bool,
    },
    /// GitHub would let us, and only us, step over this.
    Holds(MergeBlock, &'static str),
}

impl HostedForge {
    /// Nothing to do but to ask, or the error that a merge is now.
    pub(super) async fn by_the_rules(&self, wanted: &Merge) -> Result<Rules> {
        if !matches!(self.way, Way::Gh) {
            return Ok(Rules::Ask);
        }
        let rules = self.rules(wanted).await?;
        let blocked = |block: MergeBlock, said: &str| {
            Err(Error::Blocked {
                number: wanted.number.to_string(),
                block,
                said: said.to_owned(),
                wait: None,
            })
        };
        match &rules {
            Rules::Holds(block, said) => blocked(*block, said),
            Rules::Queue { waits: true, .. } => blocked(MergeBlock::Queued, "it is queued"),
            Rules::Queue { .. } if wanted.queued => {
                blocked(MergeBlock::LeftQueue, "the queue put it out")
            }
            Rules::Queue { id, .. } => {
                self.enqueue(id, wanted).await?;
                blocked(MergeBlock::Queued, "it is queued")
            }
            Rules::Ask | Rules::Merged => Ok(rules),
        }
    }

    async fn rules(&self, wanted: &Merge) -> Result<Rules> {
        let variables = json!({"owner": self.address.owner, "name": self.address.name,
            "number": wanted.number.0});
        let answer = self.plain(graph(STANDING, &variables)).await?;
        match data(&answer) {
            Ok(data) => Ok(read(&data["repository"]["pullRequest"])),
            // An older server, which has neither queues nor the right word for it.
            Err(Error::Refused { reason, .. }) if reason.contains("doesn't exist on type") => {
                Ok(Rules::Ask)
            }
            Err(error) => Err(error),
        }
    }

    async fn enqueue(&self, id: &str, wanted: &Merge) -> Result<()> {
        let variables = json!({"id": id, "head": wanted.head});
        let answer = self.ask(graph(ENQUEUE, &variables)).await?;
        match data(&answer) {
            Ok(_) => Ok(()),
            Err(Error::Refused { reason, .. }) => {
                // "Already in the queue" says the same as a yes.
                let block = in_words(405, &reason);
                if block == MergeBlock::Queued {
                    return Ok(());
                }
                Err(Error::Blocked {
                    number: wanted.number.to_string(),
                    block,
                    said: reason,
                    wait: None,
                })
            }
            Err(error) => Err(error),
        }
    }
}

/// How GitHub's picture of a pull request reads.
fn read(node: &Value) -> Rules {
    let yes = |name: &str| node[name] == Value::Bool(true);
    let id = node["id"].as_str().unwrap_or_default().to_owned();
    if node["state"] == "MERGED" {
        return Rules::Merged;
    }
    if yes("isDraft") {
        return Rules::Holds(MergeBlock::Draft, "Pull Request is still a draft");
    }
    if yes("isMergeQueueEnabled") || yes("isInMergeQueue") {
        let waits = yes("isInMergeQueue");
        return Rules::Queue { id, waits };
    }
    if !yes("viewerCanMergeAsAdmin") {
        return Rules::Ask;
    }
    let checks = &node["commits"]["nodes"][0]["commit"]["statusCheckRollup"]["state"];
    match (node["mergeStateStatus"].as_str(), checks.as_str()) {
        (Some("BEHIND"), _) => Rules::Holds(
            MergeBlock::Refused,
            "the newest default branch has to be in it first",
        ),
        (Some("BLOCKED"), checks) => match (node["reviewDecision"].as_str(), checks) {
            (Some("REVIEW_REQUIRED" | "CHANGES_REQUESTED"), _) => {
                Rules::Holds(MergeBlock::ReviewMissing, "a review is required")
            }
            (_, Some("FAILURE" | "ERROR")) => {
                Rules::Holds(MergeBlock::CheckFailed, "a required check is red")
            }
            (_, Some("SUCCESS")) => Rules::Holds(
                MergeBlock::Refused,
                "a rule of the protected branch is not met",
            ),
            _ => Rules::Holds(MergeBlock::CheckPending, "a required check has not ended"),
        },
        _ => Rules::Ask,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_may_step_over_the_rules_does_not() {
        let node = |admin: bool, state: &str, review: &str, checks: &str| {
            json!({"id": "PR_1", "state": "OPEN", "isDraft": false, "mergeStateStatus": state,
                "reviewDecision": review, "viewerCanMergeAsAdmin": admin,
                "isInMergeQueue": false, "isMergeQueueEnabled": false, "commits": {"nodes": [
                {"commit": {"statusCheckRollup": {"state": checks}}}]}})
        };
        let block = |node: &Value| match read(node) {
            Rules::Holds(block, _) => Some(block),
            _ => None,
        };
        let of = |state, review, checks| block(&node(true, state, review, checks));
        assert_eq!(of("CLEAN", "APPROVED", "SUCCESS"), None);
        assert_eq!(of("UNSTABLE", "APPROVED", "FAILURE"), None);
        let review = Some(MergeBlock::ReviewMissing);
        assert_eq!(of("BLOCKED", "REVIEW_REQUIRED", "SUCCESS"), review);
        assert_eq!(of("BLOCKED", "CHANGES_REQUESTED", "FAILURE"), review);
        let red = Some(MergeBlock::CheckFailed);
        assert_eq!(of("BLOCKED", "APPROVED", "FAILURE"), red);
        let pending = Some(MergeBlock::CheckPending);
        assert_eq!(of("BLOCKED", "", "PENDING"), pending);
        assert_eq!(of("BLOCKED", "", ""), pending);
        let other = Some(MergeBlock::Refused);
        assert_eq!(of("BLOCKED", "APPROVED", "SUCCESS"), other);
        assert_eq!(of("BEHIND", "APPROVED", "SUCCESS"), other);
        // GitHub stops these itself, and says why.
        assert_eq!(read(&node(false, "BLOCKED", "", "PENDING")), Rules::Ask);
        let mut draft = node(false, "DRAFT", "", "SUCCESS");
        draft["isDraft"] = json!(true);
        assert_eq!(block(&draft), Some(MergeBlock::Draft));
        let mut queue = node(true, "BLOCKED", "APPROVED", "SUCCESS");
        queue["isMergeQueueEnabled"] = json!(true);
        let id = "PR_1".to_owned();
        assert_eq!(read(&queue), Rules::Queue { id, waits: false });
        queue["state"] = json!("MERGED");
        assert_eq!(read(&queue), Rules::Merged);
    }
}
