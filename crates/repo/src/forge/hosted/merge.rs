//! Squash merges on a hosted forge: only at the head that was agreed to, and the branch
//! goes afterwards.

use butler_protocol::{BranchName, CommitSha, MergeBlock, Role};
use serde_json::{Value, json};

use super::{
    super::{Edit, Merge, PullRequest, PullState, answer::Answer, gh::Request, wire},
    ATTEMPTS, HostedForge,
    queue::Rules,
};
use crate::{
    Error, Result,
    commits::{commit::with_trailers, squash},
    refs::push::jitter,
};

impl HostedForge {
    pub(crate) async fn merge(&self, wanted: &Merge) -> Result<CommitSha> {
        let (number, head) = (wanted.number, &wanted.head);
        for attempt in 0..ATTEMPTS {
            let (pull, json) = self.one(number).await?;
            match &pull.state {
                PullState::Merged { commit } => {
                    self.retarget(&pull).await?;
                    self.delete_branch(&pull.branch, head).await?;
                    return Ok(commit.clone());
                }
                // GitHub closes what lost its branch.
                PullState::Closed if !self.has_branch(&pull.branch).await? => {
                    return Err(Error::BranchGone {
                        branch: pull.branch.clone(),
                    });
                }
                _ => pull.stands_at(head)?,
            }
            if json["mergeable"] == Value::Bool(false) {
                return Err(self.conflict(&pull).await?);
            }
            if self.by_the_rules(wanted).await? == Rules::Merged {
                continue;
            }
            let answer = self.put_merge(wanted, Some(&pull)).await?;
            if answer.status == 200 {
                continue;
            }
            // 405 without a reason while GitHub is still computing whether it
            // merges; 409 when the head moved. The next look tells them apart.
            let no = answer.no_merge(number.to_string());
            let reason = !matches!(
                &no,
                Error::Blocked {
                    block: MergeBlock::Refused,
                    ..
                }
            );
            let again = answer.is_unclear() || matches!(answer.status, 405 | 409);
            if !again || (reason && !answer.is_unclear()) || attempt + 1 == ATTEMPTS {
                return Err(no);
            }
            // Gitea gives no reason for a conflict either; git knows.
            let conflict = self.conflict(&pull).await?;
            if matches!(&conflict, Error::Conflict { files, .. } if !files.is_empty()) {
                return Err(conflict);
            }
            jitter(attempt + 3, &self.cancel).await?;
        }
        Err(Error::outpaced(&number, ATTEMPTS))
    }

    /// A no is an error with a name.
    pub(crate) async fn merge_again(&self, wanted: &Merge) -> Result<()> {
        if self.by_the_rules(wanted).await? == Rules::Merged {
            return Ok(());
        }
        let answer = self.put_merge(wanted, None).await?;
        match answer.status {
            200 => Ok(()),
            _ => Err(answer.no_merge(wanted.number.to_string())),
        }
    }

    async fn has_branch(&self, branch: &BranchName) -> Result<bool> {
        let there = self.get(&format!("git/ref/heads/{branch}")).await?;
        Ok(there.status != 404)
    }

    async fn put_merge(&self, wanted: &Merge, pull: Option<&PullRequest>) -> Result<Answer> {
        let (title, text) = wanted.message(pull);
        let body = json!({
            "sha": wanted.head,
            "merge_method": "squash",
            "commit_title": title,
            "commit_message": self.with_trailers(&title, &text, &wanted.head).await,
        });
        let path = format!("pulls/{}/merge", wanted.number.0);
        self.send("PUT", path, body).await
    }

    /// What stands on a merged branch stands on what that was merged into, before the
    /// branch goes: GitHub closes what loses its base.
    async fn retarget(&self, merged: &PullRequest) -> Result<()> {
        let path = format!("pulls?state=open&base={}", merged.branch);
        let above = self.all(&path).await?;
        let above = above.iter().filter_map(wire::pull);
        let edit = Edit {
            base: Some(merged.base.clone()),
            ..Edit::default()
        };
        for pull in above.filter(|pull| pull.base == merged.branch) {
            self.edit(pull.number, &edit).await?;
        }
        Ok(())
    }

    /// What the commits say of who asked, signed off and helped goes into the squash.
    async fn with_trailers(&self, title: &str, text: &str, head: &CommitSha) -> String {
        let base = self.repo.default_ref();
        let kept = squash::trailers_of(&self.repo, (&base, head), Role::Lead, &self.cancel).await;
        let kept = kept.unwrap_or_else(|error| {
            tracing::warn!(%error, "the trailers of the commits are not in the squash");
            Vec::new()
        });
        let whole = with_trailers(&format!("{title}\n\n{text}"), &kept);
        let rest = whole.strip_prefix(title).unwrap_or_default();
        rest.trim().to_owned()
    }

    /// Deletes a merged branch, unless somebody has pushed to it since.
    async fn delete_branch(&self, branch: &BranchName, head: &CommitSha) -> Result<()> {
        let there = self.get(&format!("git/ref/heads/{branch}")).await?;
        if there.status == 404 || there.json()?["object"]["sha"] != head.as_str() {
            return Ok(());
        }
        let request = Request {
            method: "DELETE",
            path: format!("git/refs/heads/{branch}"),
            ..Request::default()
        };
        let answer = self.ask(request).await?;
        match answer.status {
            // 404 and 422: it is gone already. Forbidden: it may stay.
            204 | 404 | 422 => Ok(()),
            status => {
                tracing::warn!(%branch, status, "the merged branch could not be deleted");
                Ok(())
            }
        }
    }

    /// The error for a pull request that does not merge, with its files.
    async fn conflict(&self, pull: &PullRequest) -> Result<Error> {
        let files = self.conflict_files(&pull.head).await?;
        Ok(Error::Conflict {
            ours: pull.branch.to_string(),
            theirs: pull.base.to_string(),
            files,
        })
    }
}
