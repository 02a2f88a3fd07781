//! A plan that a person changed on its card, and approved like that. The changed plan
//! is a subject of its own, with its own hash: the hub draws it in the card's place,
//! and the decision is about exactly it. What the agent had asked stays in the record.

use butler_policy::Redactor;
use butler_protocol::{
    CardBody, CardTag, Complexity, Decision, DecisionKind, DecisionView, Plan, PlanStep, Remark,
    RequestId, Subject, Usd,
};
use serde::Deserialize;

use super::{Click, Rules, body_of, decide_in, view};
use crate::{
    budget,
    error::{Refusal, Result, When, refuse},
    identity::Person,
    store::{Db, Tx, params},
    workspace::{access, card, channels, message},
};

/// The most that a list of a plan holds, and the most that one of its entries does.
const MOST: usize = 60;
const LONGEST: usize = 2_000;

/// Remarks of the agent that a change can make untrue.
const BUILT_BY: &str = "Built by";
const MAY_COST: &str = "The thread may cost at most";

/// What a person wants otherwise. Every list is whole.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct PlanEdit {
    pub(crate) steps: Vec<String>,
    #[serde(default)]
    pub(crate) criteria: Vec<String>,
    #[serde(default)]
    pub(crate) files: Vec<String>,
    /// How hard it is; the model follows from it, unless one is named.
    pub(crate) complexity: Complexity,
    /// What the thread may cost, in dollars.
    pub(crate) cap: Option<Usd>,
    /// Who builds it: a name of the pool, or a model.
    pub(crate) model: Option<String>,
}

impl PlanEdit {
    /// The plan with these changes. A step whose words stay keeps its place in the code.
    pub(crate) fn apply(&self, plan: &Plan) -> Result<Plan> {
        let steps = lines(&self.steps)?;
        Refusal::NoText.when(steps.is_empty())?;
        let place = |text: &str| {
            let known = plan.steps.iter().find(|step| step.text == text);
            known.and_then(|step| step.place.clone())
        };
        Ok(Plan {
            steps: steps
                .into_iter()
                .map(|text| PlanStep {
                    place: place(&text),
                    text,
                })
                .collect(),
            criteria: lines(&self.criteria)?,
            files: lines(&self.files)?,
            complexity: self.complexity,
            cap: self.cap.or(plan.cap),
            model: self.model.clone().or_else(|| plan.model.clone()),
            ..plan.clone()
        })
    }
}

fn lines(given: &[String]) -> Result<Vec<String>> {
    let kept = given.iter().map(|line| line.trim());
    let kept: Vec<String> = kept
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect();
    Refusal::MsgTooLong.when(kept.len() > MOST || kept.iter().any(|line| line.len() > LONGEST))?;
    Ok(kept)
}

/// The plans that wait on cards of a thread.
pub(crate) fn open_plans(
    db: &Db,
    repo: &str,
    cards: &[DecisionView],
) -> Result<Vec<(RequestId, Plan)>> {
    let mut found = Vec::new();
    for card in cards {
        if card.decided.is_some() || card.asked.kind != DecisionKind::Plan {
            continue;
        }
        if let Some(CardBody {
            subject: Subject::Plan(plan),
            ..
        }) = body_of(db, repo, &card.asked.request)?
        {
            found.push((card.asked.request.clone(), *plan));
        }
    }
    Ok(found)
}

/// Approves a plan as a person changed it.
pub(crate) fn approve(
    tx: &mut Tx<'_>,
    (rules, redactor): (&Rules, &Redactor),
    person: &Person,
    click: &Click,
    edit: &PlanEdit,
) -> Result<Decision> {
    let repo = channels::get(tx.db(), &click.channel)?.repo;
    let Some(DecisionView { asked, decided, .. }) = view(tx.db(), &repo, &click.action.request)?
    else {
        return refuse(Refusal::UnknownRequest);
    };
    access::check(tx.db(), rules, &repo, &asked, person)?;
    Refusal::AlreadyDecided.when(decided.is_some())?;
    let body = body_of(tx.db(), &repo, &asked.request)?.ok_or(Refusal::InvalidCard)?;
    let Subject::Plan(plan) = &body.subject else {
        return refuse(Refusal::InvalidChoice);
    };
    let changed = edit.apply(plan)?;
    if changed != **plan {
        put_in_place(
            tx,
            redactor,
            click,
            (&repo, &asked.request),
            changed,
            body,
            person,
        )?;
    }
    if let Some(cap) = edit.cap {
        budget::set_thread(tx.db(), &asked.thread, &rules.caps, cap)?;
    }
    decide_in(tx, rules, person, click, None)
}

/// Draws the changed plan where the card stands, and keeps it beside what was asked.
fn put_in_place(
    tx: &mut Tx<'_>,
    redactor: &Redactor,
    click: &Click,
    (repo, request): (&str, &RequestId),
    plan: Plan,
    body: CardBody,
    person: &Person,
) -> Result<()> {
    let kept = serde_json::to_string(&plan)?;
    let mut remarks = body.remarks;
    // What the agent said of model and money was about the plan before.
    if let Subject::Plan(before) = &body.subject {
        let built = (&before.model, before.complexity) != (&plan.model, plan.complexity);
        let capped = before.cap != plan.cap;
        let stale = |label: &str| built && label == BUILT_BY || capped && label == MAY_COST;
        remarks.retain(|remark| !stale(&remark.label));
    }
    remarks.push(Remark::runtime("Changed by", &person.name));
    let body = CardBody {
        subject: Subject::Plan(Box::new(plan)),
        remarks,
        ..body
    };
    let tag = CardTag {
        request: request.clone(),
        kind: DecisionKind::Plan,
        sha256: body.subject.sha256(),
        body: None,
    };
    let drawn = card::draw(redactor, &tag, &body)?;
    if drawn.attached.is_some() {
        // What is decided about must stand on the card, whole.
        return refuse(Refusal::MsgTooLong);
    }
    let old =
        message::find(tx.db(), &click.channel, &click.message)?.ok_or(Refusal::MessageNotFound)?;
    let edit_ts = tx.next_ts().to_string();
    let fresh = message::edited(
        old.body.clone(),
        &drawn.text,
        Some(drawn.blocks),
        None,
        &edit_ts,
    );
    message::redraw(tx, &click.channel, &old, &fresh)?;
    tx.db().run(
        "UPDATE cards SET edited = ?3 WHERE repo = ?1 AND request = ?2",
        params![repo, request, kept],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        serde_json::from_str(
            r#"{"title":"t","summary":"s","steps":[{"text":"one","place":"a.rs:3"},{"text":"two"}],
                "criteria":["works"],"files":["a.rs"],"complexity":"simple"}"#,
        )
        .unwrap()
    }

    fn edit(steps: &[&str]) -> PlanEdit {
        PlanEdit {
            steps: steps.iter().map(|&step| step.to_owned()).collect(),
            criteria: vec!["works".into()],
            files: vec!["a.rs".into()],
            complexity: Complexity::Simple,
            cap: None,
            model: None,
        }
    }

    #[test]
    fn what_is_not_changed_is_the_same_plan_and_any_change_another() {
        let plan = plan();
        let same = edit(&[" one ", "", "two"]).apply(&plan).unwrap();
        assert_eq!(same.sha256(), plan.sha256());
        let other = edit(&["two", "one"]).apply(&plan).unwrap();
        assert_ne!(other.sha256(), plan.sha256());
        assert_eq!(other.steps[1].place.as_deref(), Some("a.rs:3"));
        let harder = PlanEdit {
            complexity: Complexity::Complex,
            ..edit(&["one", "two"])
        };
        assert_ne!(harder.apply(&plan).unwrap().sha256(), plan.sha256());
        let dearer = PlanEdit {
            cap: Some(Usd::from_cents(250)),
            ..edit(&["one", "two"])
        };
        assert_ne!(dearer.apply(&plan).unwrap().sha256(), plan.sha256());
        let named = PlanEdit {
            model: Some("strong".into()),
            ..edit(&["one", "two"])
        };
        assert_ne!(named.apply(&plan).unwrap().sha256(), plan.sha256());
        assert!(edit(&[" "]).apply(&plan).is_err());
        assert!(edit(&[&"x".repeat(LONGEST + 1)]).apply(&plan).is_err());
        assert!(edit(&vec!["x"; MOST + 1]).apply(&plan).is_err());
    }
}
