//! What happens on GitLab. Its GraphQL interface says by one request how all merge requests
//! stand; what moved is read by REST, one after the other.

use serde_json::{Value, json};

use super::{
    discussions,
    shapes::{conclusion, pull},
    statuses,
};
use crate::{
    Error, Result,
    forge::{
        dialect::{rollup, said},
        host::Address,
        http::{Link, encoded},
    },
};
use butler_protocol::PrNumber;

/// GitLab's own limit for one page.
const AT_ONCE: usize = 100;

const MOVES: &str = "query($project: ID!, $numbers: [String!]) { project(fullPath: $project) { \
    mergeRequests(iids: $numbers, first: 100) { nodes { iid state diffHeadSha draft conflicts \
    updatedAt userNotesCount headPipeline { status updatedAt } } } } }";

/// How these stand, by number: the same value means that nothing moved.
pub(in crate::forge) async fn moves(
    http: Link<'_>,
    address: &Address,
    watched: &[PrNumber],
) -> Result<Vec<(PrNumber, String)>> {
    let mut moves = Vec::new();
    for some in watched.chunks(AT_ONCE) {
        let numbers: Vec<String> = some.iter().map(|number| number.0.to_string()).collect();
        let project = format!("{}/{}", address.owner, address.name);
        let variables = json!({ "project": project, "numbers": numbers });
        let body = json!({ "query": MOVES, "variables": variables });
        let answer = http.send("POST", "/api/graphql", &body).await?;
        let json = answer.json()?;
        let Some(nodes) = json["data"]["project"]["mergeRequests"]["nodes"].as_array() else {
            let said = json["errors"][0]["message"].as_str();
            let said = said.unwrap_or("the project is not there");
            return Err(Error::refused("the merge requests", said));
        };
        moves.extend(some.iter().map(|number| {
            let wanted = number.0.to_string();
            let node = nodes.iter().find(|node| node["iid"] == wanted.as_str());
            (*number, node.map(Value::to_string).unwrap_or_default())
        }));
    }
    Ok(moves)
}

/// These with everything that was said, in the fields of GitHub's GraphQL interface.
pub(in crate::forge) async fn words(
    http: Link<'_>,
    base: &str,
    numbers: &[PrNumber],
) -> Result<Value> {
    let path = format!("repository/branches/{}", encoded(base));
    let tip = http.get(&path).await?.json()?;
    let tip = tip["commit"]["id"].as_str().unwrap_or_default();
    let mut found = json!({ "defaultBranchRef": { "target": checks(http, tip).await? } });
    for number in numbers {
        let answer = http.get(&format!("merge_requests/{}", number.0)).await?;
        if answer.status != 404 {
            let node = one(http, &answer.json()?).await?;
            found[format!("p{}", number.0)] = node;
        }
    }
    Ok(found)
}

async fn one(http: Link<'_>, json: &Value) -> Result<Value> {
    let me = http.me("username").await?;
    let number = json["iid"].to_string();
    let shown = pull(json);
    let head = json["sha"].as_str().unwrap_or_default();
    let mut commit = checks(http, head).await?;
    let made = http.found(&format!("repository/commits/{head}")).await?;
    commit["committer"] =
        json!({ "name": made["committer_name"], "email": made["committer_email"] });
    let (mut notes, mut threads) = (Vec::new(), Vec::new());
    for (_, note) in discussions(http, &number).await? {
        let said = said(&note, &note["author"]["username"], me);
        let place = &note["position"];
        match place["new_line"].as_u64().or(place["old_line"].as_u64()) {
            None => notes.push(said),
            // GitLab moves a note along with its line for as long as there is one.
            Some(line) => threads.push(json!({
                "isOutdated": place["head_sha"] != json["sha"],
                "path": place["new_path"],
                "line": line,
                "comments": { "nodes": [said] },
            })),
        }
    }
    let merger = if json["merge_user"].is_null() {
        "merged_by"
    } else {
        "merge_user"
    };
    Ok(json!({
        "number": json["iid"],
        "state": match json["state"].as_str() {
            Some("opened") => "OPEN",
            Some("merged") => "MERGED",
            _ => "CLOSED",
        },
        "headRefName": json["source_branch"],
        "headRefOid": json["sha"],
        "isDraft": json["draft"],
        "mergeable": match shown["mergeable"].as_bool() {
            Some(true) => "MERGEABLE",
            Some(false) => "CONFLICTING",
            None => "UNKNOWN",
        },
        "mergeStateStatus": json["detailed_merge_status"].as_str().unwrap_or_default().to_uppercase(),
        "mergeCommit": { "oid": shown["merge_commit_sha"] },
        "mergedBy": { "login": json[merger]["username"] },
        "timelineItems": { "nodes": [{ "actor": { "login": json["closed_by"]["username"] } }] },
        "comments": { "nodes": notes },
        "reviews": { "nodes": reviews(http, &number).await? },
        "reviewThreads": { "nodes": threads },
        "commits": { "nodes": [{ "commit": commit }] },
    }))
}

/// Who approved, and who wants changes. GitLab keeps no more than the latest of each.
async fn reviews(http: Link<'_>, number: &str) -> Result<Vec<Value>> {
    let review = |user: &Value, state: &str, at: u64| {
        json!({
            "databaseId": user["id"].as_u64().unwrap_or_default() * 2 + at,
            "author": { "login": user["username"] },
            "body": "",
            "state": state,
        })
    };
    let path = format!("merge_requests/{number}");
    let approvals = http.get(&format!("{path}/approvals")).await?;
    let reviewers = http.get(&format!("{path}/reviewers")).await?;
    let read = |answer: &crate::forge::answer::Answer| match answer.status {
        // Older ones do not have it.
        403 | 404 => Ok(Value::Null),
        _ => answer.json(),
    };
    let (approvals, reviewers) = (read(&approvals)?, read(&reviewers)?);
    let approved = approvals["approved_by"].as_array().into_iter().flatten();
    let approved = approved.map(|one| review(&one["user"], "APPROVED", 0));
    let unhappy = reviewers.as_array().into_iter().flatten();
    let unhappy = unhappy.filter(|one| one["state"] == "requested_changes");
    let unhappy = unhappy.map(|one| review(&one["user"], "CHANGES_REQUESTED", 1));
    Ok(approved.chain(unhappy).collect())
}

async fn checks(http: Link<'_>, sha: &str) -> Result<Value> {
    let all = statuses(http, sha).await?;
    Ok(rollup(&all, |one| {
        json!({
            "__typename": "CheckRun",
            "name": one["name"],
            "conclusion": conclusion(one),
            "databaseId": one["id"],
            "detailsUrl": one["target_url"],
            "title": one["description"],
        })
    }))
}
