//! ProposeLearnings: what the team should remember, one card each. A person
//! accepts or rejects every one by itself; the runtime writes what was accepted,
//! and exactly that, when the thread is merged. Nothing waits for these cards.

use std::{collections::BTreeMap, path::Path};

use butler_playbook::Topic;
use butler_protocol::{
    Change, Confidence, DecisionKind, Fate, Proposal, Record, Remark, Role, Subject, ToolOutcome,
};
use butler_slack::SlackError;
use butler_turn::ThreadFold;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::look_back::{self, Known, Point};
use crate::tools::{Answer, CallContext, ChatTool, OrFailed, refuse};
use crate::{
    decide::{cards::NewCard, knowledge, learnings},
    tell::{bill::Bill, joining, render},
    thread::context::{ThreadContext, request_nth},
    upkeep::pruning,
};

/// More than this nobody reads on a phone.
const MOST: usize = 8;

pub(crate) struct ProposeLearnings;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// After friction: three `well`, three `friction`, one of each other kind at most.
    #[serde(default)]
    look_back: Vec<Point>,
    /// Rules worth keeping.
    #[serde(default)]
    learnings: Vec<LearningInput>,
    /// Corrections of maps, workflows, skills, role texts or the roadmap.
    #[serde(default)]
    changes: Vec<ChangeInput>,
    /// Learnings that should go.
    #[serde(default)]
    prune: Vec<PruneInput>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct PruneInput {
    file: String,
    title: String,
    /// Unless ReadThread(what: memory) says it.
    #[serde(default)]
    why: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct LearningInput {
    /// global.md, workflows.md, or the file of the role that needs it.
    file: String,
    title: String,
    when: String,
    rule: String,
    example: String,
    /// high: stated by a person, or seen often; low: a guess.
    confidence: Confidence,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ChangeInput {
    file: String,
    /// The exact passage that is not true any more; empty adds.
    #[serde(default)]
    old: String,
    new: String,
    why: String,
}

impl ChatTool for ProposeLearnings {
    type Input = Input;

    const NAME: &'static str = "ProposeLearnings";
    const TOLD: &'static str = "Posts the look back, and shows the person what the team should remember, one card \
             each with Accept and Reject: rules that would have changed this thread and will come \
             again, passages that it made untrue, and with `prune` learnings that should go. It \
             does not wait, and its answer says how to go on. Example: {\"prune\": [{\"file\": \
             \"coder.md\", \"title\": \"Be quick\"}]}";

    async fn act(context: &CallContext<'_>, input: Input) -> Answer {
        let root = context.tools.workplace().root();
        let against = pruning::proposals(root, &context.agent)
            .await
            .or_failed("how the learnings fared could not be read")?;
        let look_back = looks_back(&context.facts());
        let logs = context.logs().await;
        let took_part = match logs.or_failed("who took part could not be read")? {
            _ if !look_back => Role::ALL.to_vec(),
            logs => logs.iter().map(|log| log.role).collect(),
        };
        let known = known(context, &input.look_back)
            .await
            .or_failed("the thread could not be read")?;
        let points = cleaned(context, &input.look_back);
        let mut wrong = look_back::problems(&points, &known);
        let proposals = proposals(context, input, root, (&against, &took_part), &mut wrong);
        if !wrong.is_empty() {
            return refuse(format!("refused:\n- {}", wrong.join("\n- ")));
        }
        let told = tell(context, &points, &known).await;
        told.or_failed("the look back was not posted")?;
        propose(context, &proposals, &against).await
    }

    /// A point as `friction: two rounds` too.
    fn item(field: &str, given: Value) -> Value {
        match (field, given) {
            ("look_back", Value::String(text)) => {
                let (kind, what) = text.split_once(": ").unwrap_or(("friction", &text));
                serde_json::json!({"kind": kind.trim().to_lowercase(), "what": what})
            }
            (_, given) => given,
        }
    }
}

/// What the points can name; nothing is read where there are none.
async fn known(context: &ThreadContext, points: &[Point]) -> Result<Known, SlackError> {
    if points.is_empty() {
        return Ok(Known::default());
    }
    let messages = context.poster.web.replies(&context.thread).await?;
    let logs = context.logs().await?;
    let mut figures = Bill::of(&logs).lines().join(" ");
    let mut known = Known::default();
    for log in &logs {
        let review = &log.fold.review;
        let verdict = review.verdict.iter().flat_map(|(one, _)| &one.findings);
        let findings = review.findings.iter().chain(verdict);
        known.findings.extend(findings.map(|one| one.id.clone()));
        figures.push_str(&format!(" {}", review.rounds));
        let receipts = log.entries.iter().filter_map(|entry| match &entry.record {
            Record::Checked { receipt } => Some(render::checks_line(Some(receipt))),
            _ => None,
        });
        figures.extend(receipts.map(|line| format!(" {line}")));
    }
    known.figures = look_back::numbers(&figures).into_iter().collect();
    let said = messages.into_iter().filter(|one| !joining::is_outside(one));
    known.messages = said.map(|one| one.ts).collect();
    Ok(known)
}

/// The points as they may leave this machine.
fn cleaned(context: &ThreadContext, points: &[Point]) -> Vec<Point> {
    let clean = |point: &Point| point.clone().map(|text| context.agent.clean(text));
    points.iter().map(clean).collect()
}

/// Posts the look back, once.
async fn tell(
    context: &CallContext<'_>,
    points: &[Point],
    known: &Known,
) -> Result<(), SlackError> {
    if points.is_empty() {
        return Ok(());
    }
    let mut links = Vec::new();
    for ts in &known.messages {
        links.push(context.poster.permalink(&context.thread.channel, ts).await);
    }
    let link = |number: usize| links.get(number.checked_sub(1)?)?.clone();
    let text = look_back::render(points, link);
    let idem = context.idem_for(&request_nth(context.id(), 0), "look-back");
    context.say(idem, &text).await?;
    Ok(())
}

/// Whether the thread's own work is what is learned from. Without a review there is
/// none to look back on, and a person who speaks to this role, or has another one
/// pass it on, says what they want remembered, and for whom.
fn looks_back(facts: &ThreadFold) -> bool {
    facts.review.verdict.is_some() && facts.request.is_none() && !facts.review.asked_since
}

fn proposals(
    context: &ThreadContext,
    input: Input,
    root: &Path,
    (against, took_part): (&[Proposal], &[Role]),
    wrong: &mut Vec<String>,
) -> Vec<Proposal> {
    let source = format!("thread-{}, {}", context.thread.root, context.agent.today());
    let learnings = input.learnings.into_iter().map(|one| Proposal {
        file: one.file,
        change: Change::Learning {
            title: one.title,
            when: one.when,
            rule: one.rule,
            example: one.example,
            confidence: one.confidence,
            source: source.clone(),
        },
    });
    let changes = input.changes.into_iter().map(|one| Proposal {
        file: one.file,
        change: Change::Passage {
            old: one.old,
            new: one.new,
            why: one.why,
        },
    });
    let mut all: Vec<Proposal> = learnings.chain(changes).collect();
    for proposal in &mut all {
        match routed(&proposal.file, took_part) {
            Ok(file) => proposal.file = file,
            Err(problem) => wrong.push(problem),
        }
    }
    all.extend(look_back::proposals(&input.look_back));
    for one in &input.prune {
        match pruned(one, root, against) {
            Ok(proposal) => all.push(proposal),
            Err(problem) => wrong.push(problem),
        }
    }
    if (all.is_empty() && input.look_back.is_empty()) || all.len() > MOST {
        wrong.push(format!(
            "give between 1 and {MOST} learnings and changes; with nothing to keep, go on without"
        ));
    }
    wrong.extend(sound(root, &all));
    all
}

/// What would be wrong with the files once all of it is written.
fn sound(root: &Path, proposals: &[Proposal]) -> Vec<String> {
    let mut files: BTreeMap<&str, (String, String)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for proposal in proposals {
        let name = proposal.file.as_str();
        if let Err(problem) = learnings::check(proposal) {
            wrong.push(problem);
            continue;
        }
        let (_, text) = files.entry(name).or_insert_with(|| {
            let shipped = || butler_playbook::builtin_file(name).map_or("", |file| file.text);
            let there = knowledge::read(root, &proposal.path());
            let before = there.unwrap_or_else(|| shipped().to_owned());
            (before.clone(), before)
        });
        match learnings::apply(proposal, text) {
            Ok(changed) => *text = changed,
            Err(reason) => wrong.push(format!("{}: {reason}", proposal.title())),
        }
    }
    for (name, (before, after)) in files {
        let found = learnings::made_worse(name, &before, &after).into_iter();
        wrong.extend(found.map(|what| format!("{name} would not be sound: {what}")));
    }
    wrong
}

/// The file for what it is about: `coding` and `coder.md` are the same place. A
/// role that took no part gets nothing.
fn routed(file: &str, took_part: &[Role]) -> Result<String, String> {
    let name = file.trim();
    let word = name.strip_suffix(".md").unwrap_or(name);
    match Topic::read(word) {
        Some(topic) => topic
            .file(took_part)
            .map(str::to_owned)
            .map_err(|error| error.to_string()),
        None => Ok(name.to_owned()),
    }
}

/// A learning that goes, for the reason that the evidence gives; what the Lead
/// alone holds against it sends it to the archive, where it can be found again.
fn pruned(input: &PruneInput, root: &Path, against: &[Proposal]) -> Result<Proposal, String> {
    let same = |one: &&Proposal| {
        let found = matches!(&one.change, Change::Pruning { title, .. } if *title == input.title);
        found && one.file == input.file
    };
    if let Some(known) = against.iter().find(same) {
        return Ok(known.clone());
    }
    let memory = pruning::memory(root, &input.file);
    let live = memory.is_some_and(|memory| {
        let mut titles = memory.live().map(|entry| entry.learning.title.clone());
        titles.any(|title| title == input.title)
    });
    if !live {
        return Err(format!(
            "there is no learning \"{}\" in {}",
            input.title, input.file
        ));
    }
    if input.why.trim().is_empty() {
        return Err(format!(
            "`why` is missing: nothing in the tree or the threads speaks against \"{}\"",
            input.title
        ));
    }
    Ok(Proposal {
        file: input.file.clone(),
        change: Change::Pruning {
            title: input.title.clone(),
            reason: input.why.trim().trim_end_matches('.').to_owned(),
            fate: Fate::Archive,
        },
    })
}

/// Puts proposals before the person, a numbered card each.
async fn put_up(context: &CallContext<'_>, proposals: &[Proposal]) -> Result<(), SlackError> {
    let own: Vec<_> = (0..)
        .zip(proposals)
        .map(|(number, _)| request_nth(context.id(), number))
        .collect();
    let earlier = {
        let facts = context.facts();
        let asked = facts.cards.asked.iter();
        let earlier = asked.filter(|(request, asked)| {
            asked.kind() == DecisionKind::Learning && !own.contains(request)
        });
        earlier.count()
    };
    for ((number, proposal), request) in (earlier + 1..).zip(proposals).zip(own) {
        let idem = context.idem_for(&request, "learning");
        let subject = Subject::Learning(Box::new(proposal.clone()));
        // By which words can pick it: `remove 3`.
        let number = Remark::runtime("Number", number.to_string());
        let card = NewCard::new(request, subject).with([number]);
        context.put_up(idem, card).await?;
    }
    Ok(())
}

/// What the evidence speaks against goes before the person: getting to know the code
/// again is the time to let old rules go. How many cards there are now.
pub(super) async fn let_go(context: &CallContext<'_>, root: &Path) -> Result<usize, ToolOutcome> {
    let up = async {
        let mut against = pruning::proposals(root, &context.agent).await?;
        against.truncate(MOST);
        put_up(context, &against).await?;
        Ok::<_, SlackError>(against.len())
    };
    up.await.or_failed("what should go was not put up")
}

async fn propose(
    context: &CallContext<'_>,
    proposals: &[Proposal],
    against: &[Proposal],
) -> Answer {
    let up = put_up(context, proposals).await;
    up.or_failed("a card was not posted")?;
    let left: Vec<_> = against
        .iter()
        .filter(|one| !proposals.contains(one))
        .collect();
    let next = match context.facts().review.verdict {
        Some(_) => "go on with ProposeMerge",
        None => "there is no pull request here, so you are done: what they accept is written",
    };
    let cards = match proposals.len() {
        0 => "the look back is posted".to_owned(),
        1 => "one card is waiting for the person, who decides it".to_owned(),
        many => format!("{many} cards are waiting for the person, who decides each one"),
    };
    Ok(ToolOutcome::ok(format!(
        "{cards}; {next}{}",
        could_go(&left)
    )))
}

/// Pruning is part of every look back, so what was not proposed is named.
fn could_go(left: &[&Proposal]) -> String {
    let mut text = String::new();
    for one in left.iter().take(MOST) {
        if let Change::Pruning { title, reason, .. } = &one.change {
            text.push_str(&format!("\n- {}: \"{title}\": {reason}", one.file));
        }
    }
    if text.is_empty() {
        return text;
    }
    format!(
        ".\nThe evidence speaks against these as well; propose them to the person with `prune`, unless you know better:{text}"
    )
}

#[cfg(test)]
mod tests {
    use butler_protocol::Entry;

    use super::*;

    #[test]
    fn a_topic_finds_its_file_and_a_role_that_took_no_part_gets_nothing() {
        let here = [Role::Pm, Role::Coder];
        for (said, file) in [
            ("coding", "coder.md"),
            ("coder.md", "coder.md"),
            ("shared", "global.md"),
            ("process", "workflows.md"),
            ("skills/release.md", "skills/release.md"),
            ("JOURNEY.md", "JOURNEY.md"),
        ] {
            assert_eq!(routed(said, &here).as_deref(), Ok(file), "{said}");
        }
        let refused = routed("artist.md", &here).unwrap_err();
        assert!(refused.contains("the Artist took no part"), "{refused}");
    }

    #[test]
    fn a_look_back_is_of_the_thread_and_what_a_person_wants_remembered_is_not() {
        let line = |record: serde_json::Value| -> Entry {
            let record = serde_json::from_value(record).unwrap();
            Entry {
                seq: 1,
                epoch: 1,
                at_ms: 1,
                record,
            }
        };
        let received = |body: serde_json::Value| {
            line(serde_json::json!({"t": "received", "event": "E1", "hand_over": body}))
        };
        let verdict = received(serde_json::json!({
            "kind": "verdict", "pr": 1, "verdict": {
                "head": "a".repeat(40), "tree": "b".repeat(40), "approved": true, "round": 1,
                "summary": "x",
            },
        }));
        let question = serde_json::json!({"kind": "question", "to": "lead", "text": "remember it"});
        let passed_on = received(question);
        let said = line(serde_json::json!({
            "t": "user", "event": "E2", "ts": null, "text": "remember it for the Artist",
            "speaker": {"who": "person", "user": "U1", "name": "ana"},
        }));
        let check = |log: &[&Entry], expected: bool, why: &str| {
            let log: Vec<Entry> = log.iter().map(|one| (*one).clone()).collect();
            assert_eq!(looks_back(&ThreadFold::of(&log)), expected, "{why}");
        };
        check(&[], false, "nothing was reviewed");
        check(&[&verdict], true, "the thread's own work");
        check(&[&verdict, &said], false, "a person says it");
        check(
            &[&verdict, &passed_on],
            false,
            "the PM passes on what a person said",
        );
        check(&[&passed_on, &verdict], true, "that was before the work");
    }

    #[test]
    fn only_a_learning_that_is_there_goes_and_only_for_a_reason() {
        let root = tempfile::tempdir().unwrap();
        let text = "# Coder\n\n## Learnings\n\n### Be quick\n- **When:** now\n- **Rule:** quick\n- **Example:** t\n- **Confidence:** low\n- **Source:** t\n";
        knowledge::write(root.path(), ".codebutler/coder.md", text).unwrap();
        let ask = |title: &str, why: &str, against: &[Proposal]| {
            let input = PruneInput {
                file: "coder.md".into(),
                title: title.into(),
                why: why.into(),
            };
            pruned(&input, root.path(), against)
        };
        assert!(
            ask("Be slow", "no", &[])
                .unwrap_err()
                .contains("no learning")
        );
        assert!(ask("Be quick", " ", &[]).unwrap_err().contains("`why`"));
        let own = ask("Be quick", "it misled the Coder.", &[]).unwrap();
        assert!(
            matches!(own.change, Change::Pruning { reason, .. } if reason == "it misled the Coder")
        );
        let known = Proposal {
            file: "coder.md".into(),
            change: Change::Pruning {
                title: "Be quick".into(),
                reason: "said to everybody".into(),
                fate: Fate::Remove,
            },
        };
        let found = ask("Be quick", "another", std::slice::from_ref(&known)).unwrap();
        assert_eq!(found, known, "the evidence has the word");
        assert!(could_go(&[&known]).contains("coder.md: \"Be quick\": said to everybody"));
        assert_eq!(could_go(&[]), "");
    }
}
