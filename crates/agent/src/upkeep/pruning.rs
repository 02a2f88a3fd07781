//! Which learnings should go, by what this repo and its threads show. The Lead
//! reads it and proposes; a person decides each one by itself.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    path::{Component, Path},
    sync::Arc,
};

use butler_playbook::{
    Evidence, Memory, ThreadStory, ThreadUse, Worth, idle_threads, learnings_in, role_file,
};
use butler_protocol::{Change, LearningFigures, Proposal, Record, Role, ThreadId};
use butler_repo::Git;
use butler_slack::SlackError;
use tokio_util::sync::CancellationToken;

use crate::{
    Agent, AgentError, OrWarn,
    decide::knowledge,
    upkeep::{digests::Digest, stories::praised, trials::Trials},
};

/// The page rests on so many: it is told after every merge.
const MOST_SHOWN: usize = 40;

/// What the evidence speaks against, in the files of a worktree.
pub(crate) async fn proposals(root: &Path, agent: &Agent) -> Result<Vec<Proposal>, SlackError> {
    let tracked = tracked(root).await;
    let digests = digests(agent).await?;
    let idle = idle_threads(&uses(&digests));
    let tried = shown_by(&Trials::read(&agent.threads()), &stories(&digests));
    Ok(speaks_against(
        root,
        &on_disk(root),
        &tracked,
        (&idle, &tried),
    ))
}

fn speaks_against(
    root: &Path,
    files: &[MemoryFile],
    tracked: &Tracked,
    (idle, tried): (&BTreeMap<String, u32>, &BTreeMap<String, Worth>),
) -> Vec<Proposal> {
    let exists = |path: &str| tracked.has(path) || !inside(path) || root.join(path).exists();
    let mut all = files.iter();
    let global = all.find_map(|one| (one.name == SHARED).then_some(&one.memory));
    let mut found = Vec::new();
    for MemoryFile { name, memory, .. } in files {
        let evidence = Evidence {
            exists: &exists,
            idle,
            tried,
            global: global.filter(|_| *name != SHARED),
        };
        found.extend(memory.prunings(&evidence).into_iter().map(|one| Proposal {
            file: (*name).to_owned(),
            change: Change::Pruning {
                title: one.title,
                reason: one.reason,
                fate: one.fate,
            },
        }));
    }
    found
}

/// A file that keeps learnings.
pub struct MemoryFile {
    name: &'static str,
    /// Whose it is; nobody's is for all.
    role: Option<Role>,
    memory: Memory,
}

const SHARED: &str = "global.md";

/// The files that keep learnings. One that cannot be read has none.
fn files(read: impl Fn(&str) -> Option<Memory>) -> Vec<MemoryFile> {
    let roles = Role::ALL.into_iter();
    let roles = roles.map(|role| (role_file(role).name, Some(role)));
    let all = std::iter::once((SHARED, None)).chain(roles);
    let found = all.filter_map(|(name, role)| {
        let memory = read(name)?;
        Some(MemoryFile { name, role, memory })
    });
    found.collect()
}

/// As they are in a working copy.
#[must_use]
pub fn on_disk(root: &Path) -> Vec<MemoryFile> {
    files(|name| memory(root, name))
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

/// What the last threads with a plan say, the oldest first.
async fn digests(agent: &Agent) -> Result<Vec<(ThreadId, Digest)>, SlackError> {
    let plans = agent.poster.control.plans().await?;
    agent.digests.last(agent, &plans).await
}

/// How the learnings fared, thread by thread. Only a look back can say that one
/// helped, so threads without one do not count.
fn uses(digests: &[(ThreadId, Digest)]) -> Vec<ThreadUse> {
    let used = digests.iter().filter_map(|(_, one)| one.used.clone());
    used.collect()
}

fn stories(digests: &[(ThreadId, Digest)]) -> Vec<(ThreadId, ThreadStory)> {
    let told = digests.iter();
    told.filter_map(|(thread, one)| Some((thread.clone(), one.story.clone()?)))
        .collect()
}

/// What trials showed. Only threads that drew a side count: of the others something
/// else than chance decided who had it.
fn shown_by(trials: &Trials, stories: &[(ThreadId, ThreadStory)]) -> BTreeMap<String, Worth> {
    let worth = |id: &String| {
        let fair = stories.iter().filter(|(one, _)| trials.counts(id, one));
        let fair: Vec<ThreadStory> = fair.map(|(_, story)| story.clone()).collect();
        (id.clone(), Worth::of(id, &fair))
    };
    trials.ids().map(worth).collect()
}

/// What the team has learned, and what is known of each, from threads and files alone.
/// Threads of the oldest first.
pub async fn figures(
    root: &Path,
    files: &[MemoryFile],
    threads: &[(ThreadId, Digest)],
    trials: &Trials,
) -> Vec<LearningFigures> {
    let stories = stories(threads);
    let idle = idle_threads(&uses(threads));
    let tried = shown_by(trials, &stories);
    let against = speaks_against(root, files, &tracked(root).await, (&idle, &tried));
    let mut found = Vec::new();
    for file in files {
        for entry in file.memory.live() {
            let fair = stories.iter().filter(|(thread, story)| {
                let there = file.role.is_none_or(|role| story.roles.contains(&role));
                there && trials.counts(&entry.id, thread)
            });
            let fair: Vec<ThreadStory> = fair.map(|(_, story)| story.clone()).collect();
            let worth = Worth::of(&entry.id, &fair);
            let title = &entry.learning.title;
            let goes = against.iter().find_map(|one| match &one.change {
                Change::Pruning {
                    title: goes,
                    reason,
                    ..
                } if goes == title && one.file == file.name => Some(reason.clone()),
                _ => None,
            });
            found.push(LearningFigures {
                id: entry.id.clone(),
                file: file.name.to_owned(),
                title: title.clone(),
                source: entry.learning.source.clone(),
                trial: trials.has(&entry.id),
                said: worth.in_words(),
                with: worth.with,
                without: worth.without,
                helped: worth.helped,
                trouble: worth.trouble,
                cost: worth.cost,
                against: goes,
            });
        }
    }
    found
}

/// Tells the hub at the start and after every merge, for the page. Nobody waits for it.
pub(crate) async fn keep_told(agent: Arc<Agent>, life: CancellationToken) {
    loop {
        tell(&agent, &life).await;
        tokio::select! {
            () = life.cancelled() => return,
            () = agent.digests.merged.notified() => {}
        }
    }
}

async fn tell(agent: &Agent, cancel: &CancellationToken) {
    let told = async {
        let threads = digests(agent).await?;
        let old = threads.len().saturating_sub(MOST_SHOWN);
        let threads = &threads[old..];
        let names: Vec<&str> = files(|name| Some(Memory::parse(name, "")))
            .iter()
            .map(|file| file.name)
            .collect();
        let (_, texts) = agent.repo.memory_files(&names, cancel).await?;
        let known: BTreeMap<&str, String> = names
            .iter()
            .copied()
            .zip(texts)
            .filter_map(|(name, text)| Some((name, text?)))
            .collect();
        let files = files(|name| Some(Memory::parse(name, known.get(name)?.as_str())));
        let trials = Trials::read(&agent.threads());
        let figures = figures(agent.repo.root(), &files, threads, &trials).await;
        agent.poster.control.tell_memory(&figures).await?;
        Ok::<_, AgentError>(())
    };
    told.await
        .or_warn("the page does not show what the learnings are worth now");
}

pub(crate) fn used<'a>(records: impl Iterator<Item = &'a Record>) -> Option<ThreadUse> {
    let mut given = BTreeSet::new();
    let mut praise: Option<String> = None;
    for record in records {
        match record {
            Record::Prompt { text, .. } => {
                given.extend(learnings_in(text).into_iter().map(|(_, title)| title));
            }
            Record::Assistant { calls, .. } => {
                let looks = |name: &str| name == "ProposeMerge" || name == "ProposeLearnings";
                if calls.iter().any(|call| looks(&call.name)) {
                    praise.get_or_insert_default().push_str(&praised(calls));
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
        used(std::iter::once(&prompt).chain(&look_back))
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
            let files = on_disk(scratch.root());
            speaks_against(
                scratch.root(),
                &files,
                &tracked,
                (&idle_threads(uses), &BTreeMap::new()),
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
