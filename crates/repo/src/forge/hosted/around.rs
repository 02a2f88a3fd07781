//! What stands around a pull request: whether it is a draft, its labels, and who is asked
//! to review it.

use std::collections::BTreeSet;

use butler_protocol::PrNumber;
use serde_json::{Value, json};

use super::{
    super::{Reviewers, owners},
    ATTEMPTS, HostedForge, Way,
    look::{data, graph},
};
use crate::{Error, Result, refs::push::jitter};

const READY: &str = "mutation($id: ID!) { markPullRequestReadyForReview(input: \
    {pullRequestId: $id}) { pullRequest { isDraft } } }";

impl HostedForge {
    pub(crate) async fn ready(&self, number: PrNumber) -> Result<()> {
        for attempt in 0..ATTEMPTS {
            let (pull, json) = self.one(number).await?;
            if !pull.draft {
                return Ok(());
            }
            if !matches!(self.way, Way::Gh) {
                let ready = json!({ "draft": false });
                return self.patch(number, &ready).await.map(drop);
            }
            let variables = json!({ "id": json["node_id"] });
            let answer = self.ask(graph(READY, &variables)).await?;
            if !answer.is_unclear() {
                return data(&answer).map(drop);
            }
            jitter(attempt, &self.cancel).await?;
        }
        Err(Error::outpaced(&number, ATTEMPTS))
    }

    pub(crate) async fn label(&self, number: PrNumber, labels: &[String]) -> Result<()> {
        // Only on GitHub a pull request is always an issue of the same number.
        let kind = match self.way {
            Way::Gh => "issues",
            Way::GitLab(_) | Way::Gitea(..) => "pulls",
        };
        let path = format!("{kind}/{}/labels", number.0);
        let body = json!({ "labels": labels });
        let answer = self.insist("POST", &path, &body, &number).await?;
        answer
            .or_missing(Error::NoPull { number })?
            .json()
            .map(drop)
    }

    pub(crate) async fn owners(&self, files: &[String]) -> Result<Reviewers> {
        // Where each looks, in its order.
        let places = match self.way {
            Way::Gh => [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"],
            Way::GitLab(_) => ["CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"],
            // It asks them by itself, by patterns of another kind.
            Way::Gitea(..) => return Ok(Reviewers::default()),
        };
        owners::of_files(
            &self.repo,
            &places,
            &self.address.owner,
            files,
            &self.cancel,
        )
        .await
    }

    /// Whom the forge does not know makes it refuse all of them, so that each is asked for
    /// alone then.
    pub(crate) async fn ask_reviews(&self, number: PrNumber, reviewers: &Reviewers) -> Result<()> {
        let wanted = self.not_asked_yet(number, reviewers).await?;
        if wanted == Reviewers::default() || self.asked(number, &wanted).await? {
            return Ok(());
        }
        let people = wanted.people.iter().map(|one| Reviewers {
            people: vec![one.clone()],
            ..Reviewers::default()
        });
        let teams = wanted.teams.iter().map(|one| Reviewers {
            teams: vec![one.clone()],
            ..Reviewers::default()
        });
        for one in people.chain(teams) {
            if !self.asked(number, &one).await? {
                tracing::info!(?one, %number, "the forge does not take these as reviewers");
            }
        }
        Ok(())
    }

    /// Whether the forge took them.
    async fn asked(&self, number: PrNumber, wanted: &Reviewers) -> Result<bool> {
        let path = format!("pulls/{}/requested_reviewers", number.0);
        let body = json!({"reviewers": wanted.people, "team_reviewers": wanted.teams});
        let answer = self.insist("POST", &path, &body, &number).await?;
        match answer.status {
            200 | 201 => Ok(true),
            // Not one of those who may review here, or it is their own.
            403 | 404 | 422 if !answer.is_limit() => Ok(false),
            _ => Err(answer.refusal()),
        }
    }

    /// Without those who were asked, have reviewed, or wrote it.
    async fn not_asked_yet(&self, number: PrNumber, reviewers: &Reviewers) -> Result<Reviewers> {
        let (_, pull) = self.one(number).await?;
        let reviews = format!("pulls/{}/reviews", number.0);
        let reviews = self.all(&reviews).await?;
        let low = |value: &Value| Some(value.as_str()?.to_lowercase());
        let all = |list: &Value, key: &str| -> BTreeSet<String> {
            let items = list.as_array().into_iter().flatten();
            items.filter_map(|item| low(&item[key])).collect()
        };
        let mut people = all(&pull["requested_reviewers"], "login");
        people.extend(low(&pull["user"]["login"]));
        people.extend(reviews.iter().filter_map(|one| low(&one["user"]["login"])));
        let teams = all(&pull["requested_teams"], "slug");
        let left = |wanted: &[String], known: &BTreeSet<String>| {
            let new = wanted
                .iter()
                .filter(|one| !known.contains(&one.to_lowercase()));
            new.cloned().collect()
        };
        Ok(Reviewers {
            people: left(&reviewers.people, &people),
            teams: left(&reviewers.teams, &teams),
        })
    }
}
