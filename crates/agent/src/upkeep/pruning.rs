//! Which learnings should go, by what this repo and its threads show. The Lead
//! reads it and proposes; a person decides each one by itself.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    path::{Component, Path},
};

use butler_playbook::{Evidence, Memory, ThreadUse, Worth, idle_threads, learnings_in, role_file};
use butler_protocol::{Change, Proposal, Record, Role, ThreadId};
use butler_repo::Git;
use butler_slack::SlackError;
use serde_json::Value;

use crate::{
    agent::Agent,
    decide::knowledge,
    tell::thread_logs,
    upkeep::stories::{Trials, story},
};

/// Older threads say little about how the team works now.
const MOST_THREADS: usize = 100;

/// What the evidence speaks against, in the files of a worktree.
pub(crate) async fn proposals(root: &Path, agent: &Agent) -> Result<Vec<Proposal>, SlackError> {
    let tracked = tracked(root).await;
    let idle = idle_threads(&uses(agent).await?);
    let tried = tried(agent).await?;
    Ok(speaks_against(root, &tracked, &idle, &tried))
}

fn speaks_against(
    root: &Path,
    tracked: &Tracked,
    idle: &BTreeMap<String, u32>,
    tried: &BTreeMap<String, Worth>,
) -> Vec<Proposal> {
    let exists = |path: &str| tracked.has(path) || !inside(path) || root.join(path).exists();
    let global = memory(root, "global.md");
    let mut found = Vec::new();
    for file in files() {
        let Some(own) = memory(root, file) else {
            continue;
        };
        let evidence = Evidence {
            exists: &exists,
            idle,
            tried,
            global: global.as_ref().filter(|_| file != "global.md"),
        };
        found.extend(own.prunings(&evidence).into_iter().map(|one| Proposal {
            file: file.to_owned(),
            change: Change::Pruning {
                title: one.title,
                reason: one.reason,
                fate: one.fate,
            },
        }));
    }
    found
}

/// The files that keep learnings. One that the repo lacks has none.
fn files() -> impl Iterator<Item = &'static str> {
    let roles = Role::ALL.into_iter().map(|role| role_file(role).name);
    std::iter::once("global.md").chain(roles)
}

/// The learnings of a file of the repo.
pub(crate) fn memory(root: &Path, file: &str) -> Option<Memory> {
    let text = knowledge::read(root, &format!(".codebutler/{file}"))?;
    Some(Memory::parse(file, text))
}

/// The names of the files that git knows, whole and without their folders: a
/// learning that says `list.rs` is about `src/list.rs` as well.
struct Tracked(HashSet<String>);

impl Tracked {
    fn has(&self, path: &str) -> bool {
        self.0.contains(path)
    }
}

async fn tracked(root: &Path) -> Tracked {
    let listed = Git::at(root).call(["ls-files", "-z"]).finish().await;
    let mut names = HashSet::new();
    for path in listed.iter().flat_map(|output| output.fields()) {
        let path = String::from_utf8_lossy(path).into_owned();
        names.extend(path.rsplit('/').next().map(str::to_owned));
        names.insert(path);
    }
    Tracked(names)
}

/// What lies elsewhere is not ours to call gone.
fn inside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// How the learnings fared, thread by thread, the oldest first. Only a look
/// back can say that one helped, so threads without one do not count.
async fn uses(agent: &Agent) -> Result<Vec<ThreadUse>, SlackError> {
    let control = &agent.poster.control;
    let plans = control.plans().await?;
    let threads: BTreeSet<&ThreadId> = plans.iter().map(|one| &one.thread).collect();
    let old = threads.len().saturating_sub(MOST_THREADS);
    let mut found = Vec::new();
    for thread in threads.into_iter().skip(old) {
        let lines = control.logs(thread, &["prompt", "assistant"]).await?;
        found.extend(used(lines.into_iter().map(|line| line.entry.record)));
    }
    Ok(found)
}

/// What the trials of this machine showed, by id. Only threads since a trial began
/// count: before, nothing but chance did not decide who had it.
async fn tried(agent: &Agent) -> Result<BTreeMap<String, Worth>, SlackError> {
    let trials = Trials::read(&agent.threads());
    if trials.0.is_empty() {
        return Ok(BTreeMap::new());
    }
    let plans = agent.poster.control.plans().await?;
    let threads: BTreeSet<&ThreadId> = plans.iter().map(|one| &one.thread).collect();
    let old = threads.len().saturating_sub(MOST_THREADS);
    let mut stories = Vec::new();
    for thread in threads.into_iter().skip(old) {
        let logs = thread_logs::of_thread(agent, thread).await?.into_iter();
        let logs: Vec<_> = logs.map(|log| (log.role, log.entries)).collect();
        stories.extend(story(&logs));
    }
    let worth = |(id, since): (String, i64)| {
        let fair = stories.iter().filter(|story| story.began_ms >= since);
        let fair: Vec<_> = fair.cloned().collect();
        let worth = Worth::of(&id, &fair);
        (id, worth)
    };
    Ok(trials.0.into_iter().map(worth).collect())
}

fn used(records: impl Iterator<Item = Record>) -> Option<ThreadUse> {
    let mut given = BTreeSet::new();
    let mut praise: Option<String> = None;
    for record in records {
        match record {
            Record::Prompt { text, .. } => {
                given.extend(learnings_in(&text).into_iter().map(|(_, title)| title));
            }
            Record::Assistant { calls, .. } => {
                for call in calls.iter().filter(|call| call.name == "ProposeMerge") {
                    let well = call.arguments["well"].as_array().into_iter().flatten();
                    let well: Vec<_> = well.filter_map(Value::as_str).collect();
                    praise
                        .get_or_insert_default()
                        .push_str(&well.join("\n").to_lowercase());
                }
            }
            _ => {}
        }
    }
    let praise = praise?;
    let helped = given
        .iter()
        .filter(|title| praise.contains(&title.to_lowercase()));
    Some(ThreadUse {
        helped: helped.cloned().collect(),
        given: given.into_iter().collect(),
    })
}

#[cfg(test)]
mod tests {
    use butler_playbook::Learning;
    use butler_protocol::{CallId, Confidence, Fate, TokenUsage, ToolCall};
    use butler_testkit::{ScratchRepo, git};
    use serde_json::json;

    use super::*;

    fn learning(title: &str, rule: &str) -> Learning {
        Learning {
            title: title.into(),
            when: "a flag is planned".into(),
            rule: rule.into(),
            example: "thread-1".into(),
            confidence: Confidence::Low,
            source: "thread-1, 2026-01-02".into(),
        }
    }

    fn file(learnings: &[Learning]) -> String {
        let blocks: Vec<_> = learnings.iter().map(Learning::render).collect();
        format!("# Coder\n\n## Learnings\n\n{}\n", blocks.join("\n\n"))
    }

    /// What a thread says whose Coder was given these learnings, with a look back.
    fn thread(prompt: &str, well: Option<&str>) -> Option<ThreadUse> {
        let prompt = Record::Prompt {
            text: prompt.to_owned(),
            tools: Vec::new(),
        };
        let look_back = well.map(|well| Record::Assistant {
            turn: 1,
            text: None,
            calls: vec![ToolCall {
                id: CallId::new("c1"),
                name: "ProposeMerge".into(),
                arguments: json!({"well": [well]}),
                problem: None,
            }],
            reasoning: None,
            model: "m".into(),
            usage: TokenUsage::default(),
        });
        used(std::iter::once(prompt).chain(look_back))
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_is_gone_or_never_helped_is_found_and_the_rest_stays() {
        let scratch = ScratchRepo::new();
        let coder = file(&[
            learning("Gone", "look into old/away.rs first"),
            Learning {
                confidence: Confidence::High,
                ..learning("Deep", "look into only_here.rs first")
            },
            learning("Idle", "be careful"),
            learning("Helpful", "be quick"),
        ]);
        for (name, text) in [
            (".codebutler/coder.md", coder.as_str()),
            ("a/b/only_here.rs", ""),
        ] {
            let path = scratch.root().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        git(scratch.root(), &["add", "--all"]);
        let threads = (0..10).filter_map(|number| {
            let well = if number == 5 {
                "\"helpful\" saved a round"
            } else {
                "short"
            };
            thread(&coder, Some(well))
        });
        assert_eq!(
            thread(&coder, None),
            None,
            "nobody looked back, so nothing is known about what helped"
        );
        let tracked = tracked(scratch.root()).await;
        let against = |uses: &[ThreadUse]| {
            speaks_against(
                scratch.root(),
                &tracked,
                &idle_threads(uses),
                &BTreeMap::new(),
            )
        };
        let found = against(&threads.collect::<Vec<_>>());
        let short: Vec<_> = found
            .iter()
            .map(|one| match &one.change {
                Change::Pruning { title, fate, .. } => (one.file.as_str(), title.as_str(), *fate),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(
            short,
            [
                ("coder.md", "Gone", Fate::Archive),
                ("coder.md", "Idle", Fate::Archive),
            ]
        );
        let nine: Vec<ThreadUse> = (0..9)
            .filter_map(|_| thread(&coder, Some("short")))
            .collect();
        assert_eq!(against(&nine).len(), 1);
    }
}
