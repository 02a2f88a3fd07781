//! What happens on Gitea. It has no request for several pull requests and their checks, so
//! the list, newest change first, is read as far back as the last time; and the checks of a
//! head are asked for until they have ended. A quiet minute is one request.

use std::collections::BTreeMap;

use butler_protocol::{CommitSha, PrNumber};
use serde_json::{Value, json};

use super::{SIZE, lines, pull, statuses};
use crate::{
    Repo, Result,
    commits::squash,
    forge::{
        dialect::{rollup, said},
        hosted::PAGES,
        http::Link,
    },
};

/// So often a head without any check is asked for one before it counts as having none.
const PATIENCE: u32 = 3;
/// Each so many rounds one head whose checks had ended is asked again, instead of the list.
const AGAIN: u32 = 10;

/// What was seen by the last look.
#[derive(Debug, Default)]
pub(in crate::forge) struct Watch {
    rounds: u32,
    /// The newest change that the list showed.
    newest: String,
    /// How each stood.
    rows: BTreeMap<u64, Row>,
    heads: BTreeMap<String, Head>,
}

#[derive(Debug)]
struct Row {
    head: String,
    open: bool,
    shown: String,
}

#[derive(Debug, Default)]
struct Head {
    asked: u32,
    checks: String,
    ended: bool,
}

impl Head {
    const fn is_settled(&self) -> bool {
        self.ended && (self.asked >= PATIENCE || !self.checks.is_empty())
    }
}

/// How these stand, by number: the same text means that nothing moved.
pub(in crate::forge) async fn moves(
    http: Link<'_>,
    watch: &mut Watch,
    watched: &[PrNumber],
) -> Result<Vec<(PrNumber, String)>> {
    watch.rounds = watch.rounds.wrapping_add(1);
    let numbers: Vec<u64> = watched.iter().map(|number| number.0).collect();
    watch.rows.retain(|number, _| numbers.contains(number));
    let all_known = numbers.iter().all(|number| watch.rows.contains_key(number));
    let settled = watch
        .open_heads()
        .filter(|head| watch.is_settled(head))
        .cloned();
    let settled: Vec<String> = settled.collect();
    let again = watch.rounds.is_multiple_of(AGAIN) && all_known && !settled.is_empty();
    if again {
        let turn = (watch.rounds / AGAIN) as usize % settled.len();
        ask(http, watch, &settled[turn]).await?;
    } else {
        read(http, watch, &numbers).await?;
    }
    let open: Vec<String> = watch.open_heads().cloned().collect();
    watch.heads.retain(|head, _| open.contains(head));
    for head in open {
        if !watch.is_settled(&head) {
            ask(http, watch, &head).await?;
        }
    }
    let text = |number: &PrNumber| {
        let row = watch.rows.get(&number.0)?;
        let checks = watch.heads.get(&row.head).map(|head| head.checks.as_str());
        Some(format!("{} {}", row.shown, checks.unwrap_or_default()))
    };
    let all = watched
        .iter()
        .map(|number| (*number, text(number).unwrap_or_default()));
    Ok(all.collect())
}

impl Watch {
    fn open_heads(&self) -> impl Iterator<Item = &String> {
        self.rows
            .values()
            .filter(|row| row.open)
            .map(|row| &row.head)
    }

    fn is_settled(&self, head: &str) -> bool {
        self.heads.get(head).is_some_and(Head::is_settled)
    }
}

/// Reads the list as far back as it was seen before; all of it while one is not known.
async fn read(http: Link<'_>, watch: &mut Watch, numbers: &[u64]) -> Result<()> {
    let mut newest = String::new();
    for page in 1..=PAGES {
        let path = format!("pulls?state=all&sort=recentupdate&{SIZE}&page={page}");
        let answer = http.get(&path).await?;
        let json = answer.json()?;
        let rows = json.as_array().map(Vec::as_slice).unwrap_or_default();
        let changed = |row: Option<&Value>| {
            let at = row.and_then(|row| row["updated_at"].as_str());
            at.unwrap_or_default().to_owned()
        };
        if page == 1 {
            newest = changed(rows.first());
        }
        for row in rows {
            let number = row["number"].as_u64().unwrap_or_default();
            if numbers.contains(&number) {
                watch.rows.insert(number, seen(row));
            }
        }
        let known = numbers.iter().all(|number| watch.rows.contains_key(number));
        let reached = changed(rows.last()) < watch.newest;
        if answer.more != Some(true) || (known && reached) {
            break;
        }
    }
    watch.newest = newest;
    Ok(())
}

fn seen(row: &Value) -> Row {
    let head = row["head"]["sha"].as_str().unwrap_or_default();
    let moving = [
        "state",
        "title",
        "mergeable",
        "merged",
        "updated_at",
        "comments",
        "review_comments",
    ];
    let moving: Vec<String> = moving.iter().map(|name| row[*name].to_string()).collect();
    Row {
        head: head.to_owned(),
        open: row["state"] == "open",
        shown: format!("{head} {}", moving.join(" ")),
    }
}

async fn ask(http: Link<'_>, watch: &mut Watch, head: &str) -> Result<()> {
    let all = statuses(http, head).await?;
    let checks = all
        .iter()
        .map(|one| format!("{}={} ", one["context"], one["state"]));
    let known = watch.heads.entry(head.to_owned()).or_default();
    known.asked += 1;
    known.ended = all.iter().all(|one| one["state"] != "pending");
    known.checks = checks.collect();
    Ok(())
}

/// These with everything that was said, in the fields of GitHub's GraphQL interface.
pub(in crate::forge) async fn words(
    http: Link<'_>,
    repo: &Repo,
    numbers: &[PrNumber],
) -> Result<Value> {
    let base = checks(http, repo.default_branch().as_str()).await?;
    let mut found = json!({ "defaultBranchRef": { "target": base } });
    for number in numbers {
        let answer = http.get(&format!("pulls/{}", number.0)).await?;
        if answer.status == 404 {
            continue;
        }
        let json = answer.json()?;
        let mut node = one(http, &pull(&json)).await?;
        node["mergeable"] = json!(mergeable(http, repo, &json).await?);
        found[format!("p{}", number.0)] = node;
    }
    Ok(found)
}

/// Gitea's no has many reasons; whether the two go together git itself can say.
async fn mergeable(http: Link<'_>, repo: &Repo, json: &Value) -> Result<&'static str> {
    if json["mergeable"] == json!(true) {
        return Ok("MERGEABLE");
    }
    let head = json["head"]["sha"].as_str().unwrap_or_default();
    if json["state"] != "open" || head.is_empty() {
        return Ok("UNKNOWN");
    }
    repo.fetch(http.cancel).await?;
    if repo.resolve(CommitSha::new(head).as_str()).await?.is_none() {
        return Ok("UNKNOWN");
    }
    let files = squash::conflicts(repo, &repo.default_ref(), head, http.cancel).await?;
    Ok(if files.is_empty() {
        "UNKNOWN"
    } else {
        "CONFLICTING"
    })
}

async fn one(http: Link<'_>, json: &Value) -> Result<Value> {
    let me = http.me("login").await?;
    let number = json["number"].to_string();
    let head = json["head"]["sha"].as_str().unwrap_or_default();
    let mut commit = checks(http, head).await?;
    let made = http.found(&format!("git/commits/{head}")).await?;
    commit["committer"] = made["commit"]["committer"].clone();
    let said = |note: &Value| said(note, &note["user"]["login"], me);
    let notes = http.all(&format!("issues/{number}/comments"), SIZE).await?;
    let notes: Vec<Value> = notes.iter().map(said).collect();
    let threads = lines(http, &number).await?;
    let threads = threads.iter().map(|(_, line)| {
        json!({
            "isOutdated": false,
            "path": line["path"],
            "line": line["line"],
            "originalLine": line["original_line"],
            "comments": { "nodes": [said(line)] },
        })
    });
    let threads: Vec<Value> = threads.collect();
    let reviews = http.all(&format!("pulls/{number}/reviews"), SIZE).await?;
    let reviews = reviews
        .iter()
        .filter(|review| review["dismissed"] != json!(true));
    let reviews = reviews.map(|review| {
        let mut node = said(review);
        node["state"] = match review["state"].as_str() {
            Some("REQUEST_CHANGES") => json!("CHANGES_REQUESTED"),
            Some("REQUEST_REVIEW") => json!("PENDING"),
            _ => review["state"].clone(),
        };
        node
    });
    let reviews: Vec<Value> = reviews.collect();
    let merged = json["merged"] == json!(true);
    let open = json["state"] == "open";
    let closer = if merged || open {
        Value::Null
    } else {
        closer(http, &number).await?
    };
    Ok(json!({
        "number": json["number"],
        "state": if merged { "MERGED" } else if open { "OPEN" } else { "CLOSED" },
        "headRefName": json["head"]["ref"],
        "headRefOid": json["head"]["sha"],
        "isDraft": json["draft"],
        "mergeStateStatus": if json["mergeable"] == json!(true) { "CLEAN" } else { "UNKNOWN" },
        "mergeCommit": { "oid": json["merge_commit_sha"] },
        "mergedBy": { "login": json["merged_by"]["login"] },
        "timelineItems": { "nodes": [{ "actor": { "login": closer } }] },
        "comments": { "nodes": notes },
        "reviews": { "nodes": reviews },
        "reviewThreads": { "nodes": threads },
        "commits": { "nodes": [{ "commit": commit }] },
    }))
}

/// Who closed it last.
async fn closer(http: Link<'_>, number: &str) -> Result<Value> {
    let all = http.all(&format!("issues/{number}/timeline"), SIZE).await?;
    let closed = all.iter().rfind(|event| event["type"] == "close");
    Ok(closed.map_or(Value::Null, |event| event["user"]["login"].clone()))
}

async fn checks(http: Link<'_>, sha: &str) -> Result<Value> {
    let all = statuses(http, sha).await?;
    Ok(rollup(&all, |one| {
        json!({
            "__typename": "StatusContext",
            "context": one["context"],
            "state": one["state"],
            "description": one["description"],
            "targetUrl": one["target_url"],
        })
    }))
}
