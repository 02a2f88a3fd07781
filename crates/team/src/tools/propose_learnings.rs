//! ProposeLearnings: what the team should remember, one card each. A person
//! accepts or rejects every one by itself; the runtime writes what was accepted,
//! and exactly that, when the thread is merged. Nothing waits for these cards.

use butler_policy::Permit;
use butler_toolbox::{Desk, Tool};
use butler_vocab::{
    CallId, Confidence, CrashClass, DecisionKind, Role, Tier, ToolOutcome, ToolSpec,
};
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{failed, spec};
use crate::{
    cards::{self, NewCard},
    knowledge,
    learned::{Change, Proposal},
    matter::Matter,
    office::today,
    seat::{Seat, request_nth},
};

/// More than this nobody reads on a phone.
const MOST: usize = 8;

const NAME: &str = "ProposeLearnings";

pub struct ProposeLearnings(pub Seat);

#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    /// Rules worth keeping.
    #[serde(default)]
    learnings: Vec<LearningInput>,
    /// Corrections of project maps, workflows, skills or role texts.
    #[serde(default)]
    changes: Vec<ChangeInput>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct LearningInput {
    /// Where it is needed: global.md, workflows.md, or the file of a role that took part.
    file: String,
    /// A few words that name it.
    title: String,
    /// The situation it is for.
    when: String,
    /// What to do then.
    rule: String,
    /// The case it was learned from, with its place in the thread.
    example: String,
    /// high, medium or low.
    confidence: Confidence,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ChangeInput {
    /// The file below .codebutler/.
    file: String,
    /// The exact passage that is not true any more; empty adds to the end.
    #[serde(default)]
    old: String,
    /// What stands there instead.
    new: String,
    /// Why, in one line.
    why: String,
}

/// What a model is told.
pub fn told() -> ToolSpec {
    spec::<Input>(
        NAME,
        "Puts what the team should remember before the person, one card each with Accept and \
         Reject. Use it after the look back and before ProposeMerge, for rules that would have \
         changed this thread and will come again, and for project maps or workflow steps that \
         it made untrue. It does not wait: go on with ProposeMerge. What is accepted is \
         written by the runtime with the merge. Example: {\"learnings\": [{\"file\": \
         \"coder.md\", \"title\": \"Name every caller\", \"when\": \"a flag is planned\", \
         \"rule\": \"list the callers in the plan\", \"example\": \"F1: import.sh:12\", \
         \"confidence\": \"medium\"}], \"changes\": []}",
    )
}

impl Tool for ProposeLearnings {
    fn name(&self) -> &'static str {
        NAME
    }

    fn spec(&self) -> ToolSpec {
        told()
    }

    fn tier(&self) -> Tier {
        Tier::WriteVisible
    }

    fn crash(&self) -> CrashClass {
        CrashClass::Checkable
    }

    fn run<'a>(
        &'a self,
        permit: &'a Permit,
        input: &'a Value,
        desk: &'a Desk,
    ) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            let input: Input = match Input::deserialize(input) {
                Ok(input) => input,
                Err(error) => return ToolOutcome::error(format!("bad input: {error}")),
            };
            match proposals(&self.0, input, desk) {
                Ok(proposals) => propose(&self.0, permit.call(), &proposals).await,
                Err(problem) => ToolOutcome::error(problem),
            }
        })
    }

    /// Every card has a key of its own: posting again finds what was posted.
    fn recover<'a>(
        &'a self,
        permit: &'a Permit,
        input: &'a Value,
        _trace: Option<&'a Value>,
        desk: &'a Desk,
    ) -> BoxFuture<'a, ToolOutcome> {
        self.run(permit, input, desk)
    }
}

fn proposals(seat: &Seat, input: Input, desk: &Desk) -> Result<Vec<Proposal>, String> {
    let source = format!("thread-{}, {}", seat.thread.root, today());
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
    let all: Vec<Proposal> = learnings.chain(changes).collect();
    if all.is_empty() || all.len() > MOST {
        return Err(format!(
            "give between 1 and {MOST} learnings and changes; with nothing to keep, go on with ProposeMerge"
        ));
    }
    for proposal in &all {
        proposal.check()?;
        took_part(seat, &proposal.file)?;
        let root = desk.workplace().root();
        let before = knowledge::read(root, &proposal.path()).unwrap_or_else(|| {
            butler_playbook::builtin_file(&proposal.file)
                .map_or("", |file| file.text)
                .to_owned()
        });
        proposal
            .apply(&before)
            .map_err(|reason| format!("{}: {reason}", proposal.title()))?;
    }
    Ok(all)
}

/// A role that took no part gets nothing.
fn took_part(seat: &Seat, file: &str) -> Result<(), String> {
    let Some(role) = file
        .strip_suffix(".md")
        .and_then(|name| name.parse::<Role>().ok())
    else {
        return Ok(());
    };
    let known = Matter::known(&seat.office.threads(), role).unwrap_or_default();
    if known.iter().any(|matter| matter.thread == seat.thread) {
        return Ok(());
    }
    Err(format!(
        "the {} took no part in this thread, so {file} learns nothing from it",
        role.title()
    ))
}

async fn propose(seat: &Seat, call: &CallId, proposals: &[Proposal]) -> ToolOutcome {
    for (number, proposal) in (0..).zip(proposals) {
        let body = proposal.render();
        let request = request_nth(call, number);
        let idem = seat.idem_for(&request, "learning");
        let card = NewCard {
            request,
            kind: DecisionKind::Learning,
            title: "Remember this?",
            body: &body,
            context: "",
            sha256: proposal.sha256(),
            subject: json!({"learning": proposal}),
        };
        match cards::post(seat, idem, card).await {
            Ok(record) => seat.write(record),
            Err(error) => return failed("a card was not posted", &error),
        }
    }
    ToolOutcome::ok(format!(
        "{} cards are before the person, who decides each by itself; go on with ProposeMerge",
        proposals.len()
    ))
}
