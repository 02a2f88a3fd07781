//! Develop: the PM's way to have the whole roadmap built. What would be started is
//! made by code from the roadmap on the default branch: items, order, places, budget.
//! A person sees what it would cost before anything begins, and starts it or not.

use std::{collections::BTreeSet, time::Duration};

use butler_playbook::{Item, Roadmap, Status};
use butler_protocol::{
    Complexity, DevelopItem, DevelopSubject, PullStatus, Remark, RequestId, RunView, Sha256Hex,
    Subject, Usd,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::{Answer, CallContext, ChatTool, OrFailed, SLOW, decide, refuse};
use crate::{
    decide::{cards::NewCard, roadmap},
    develop::orders::is_open,
    upkeep::history::{self, Estimate},
};

pub(crate) struct Develop;

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Numbers of the items; left out: all that can be built.
    #[serde(default)]
    items: Vec<u32>,
    /// How many at the same time.
    #[serde(default)]
    at_once: Option<u32>,
    /// In whole dollars, for all of it.
    #[serde(default)]
    budget: Option<u32>,
    /// Only if the person wants it: after so many minutes an open question counts as
    /// answered as suggested.
    #[serde(default)]
    answer_after_minutes: Option<u32>,
}

impl ChatTool for Develop {
    type Input = Input;

    const NAME: &'static str = "Develop";
    const DEADLINE: Duration = SLOW;

    const TOLD: &'static str = "Shows the person which items of the roadmap would be built, in which order and at \
             what price, and sleeps until they start it or not. Then the runtime opens a thread \
             for each; you need not. Without arguments it is all that can be built. Example: \
             {\"items\": [3, 4], \"at_once\": 2, \"budget\": 10}";

    async fn act(context: &CallContext<'_>, input: Input) -> Answer {
        let roadmap = roadmap::now(context).await;
        let roadmap = roadmap.or_failed("the roadmap could not be read")?;
        let control = &context.poster.control;
        let runs = control.runs().await;
        let runs = runs.or_failed("the runs so far could not be read")?;
        if let Some(open) = runs.iter().find(|run| is_open(run)) {
            return refuse(format!(
                "refused: a run is under way in the thread {}; `stop` there ends it",
                open.thread.short()
            ));
        }
        let chosen = Chosen::of(&roadmap, &input.items, &begun(&runs))
            .or_else(|problems| refuse(problems.join("; ")))?;
        let past = control.plans().await;
        let past = past.or_failed("what earlier threads cost could not be read")?;
        let limits = context.agent.rules().limits.clone();
        let most = u32::try_from(limits.threads_at_once)
            .unwrap_or(u32::MAX)
            .max(1);
        let asked = input
            .budget
            .map(|dollars| Usd::from_cents(i64::from(dollars) * 100));
        // A tenth is left for the thread of the run itself.
        let most_of = |budget: Usd| Usd::from_nanos(budget.nanos() / 10 * 9);
        let cap = asked.map_or(limits.thread_cap, |budget| {
            most_of(budget).min(limits.thread_cap)
        });
        let items: Vec<DevelopItem> = chosen
            .items
            .iter()
            .map(|item| started(item, &roadmap, cap))
            .collect();
        let whole: Usd = items.iter().map(|item| item.cap).sum();
        let subject = DevelopSubject {
            at_once: input.at_once.unwrap_or(most).clamp(1, most),
            budget: asked.unwrap_or(whole + cap.min(TALK)),
            answer_after_minutes: input.answer_after_minutes,
            items,
        };
        let estimate = history::estimate_in(&context.with_past(past), Complexity::Medium);
        let remarks = remarks(&subject, &chosen, estimate);
        let subject = Subject::Develop(Box::new(subject));
        let card = NewCard::new(RequestId::of(context.id()), subject).with(remarks);
        decide(context, card, "the run is waiting for a person to start it").await
    }
}

/// What the thread of a run itself may cost beside its items, unless a budget is asked for.
const TALK: Usd = Usd::from_cents(100);

/// Items of earlier runs that have a thread of their own and are not done.
fn begun(runs: &[RunView]) -> BTreeSet<u32> {
    let items = runs.iter().flat_map(|run| &run.items);
    let open = items.filter(|item| {
        !matches!(
            item.pull,
            Some((_, PullStatus::Merged | PullStatus::Closed))
        )
    });
    open.map(|item| item.number).collect()
}

fn started(item: &Item, roadmap: &Roadmap, cap: Usd) -> DevelopItem {
    DevelopItem {
        number: item.number,
        title: item.title.clone(),
        depends_on: item.depends_on.clone(),
        criteria: item.criteria.clone(),
        sha256: Sha256Hex::of(roadmap.words_of(item.number).unwrap_or_default()),
        cap,
    }
}

/// What would be built, in the order in which it could begin.
struct Chosen {
    items: Vec<Item>,
    /// The numbers that could begin together, wave after wave.
    waves: Vec<Vec<u32>>,
    /// What is not part of it, and why.
    left_out: Vec<String>,
}

impl Chosen {
    /// From the roadmap; what a person should fix comes first.
    fn of(roadmap: &Roadmap, wanted: &[u32], begun: &BTreeSet<u32>) -> Result<Self, Vec<String>> {
        let problems = roadmap.problems("roadmap.md").into_iter();
        let mut problems: Vec<String> = problems.map(|problem| problem.what).collect();
        let unknown = wanted
            .iter()
            .filter(|number| roadmap.item(**number).is_none());
        problems.extend(unknown.map(|number| format!("there is no item {number}")));
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut left: Vec<&Item> = Vec::new();
        let mut left_out = Vec::new();
        for item in roadmap.items() {
            let number = item.number;
            let asked = wanted.is_empty() || wanted.contains(&number);
            match &item.status {
                Status::Done => {}
                _ if !asked => {}
                _ if begun.contains(&number) => {
                    left_out.push(format!(
                        "{number}: its thread of an earlier run is still open"
                    ));
                }
                Status::Pending => left.push(item),
                other => left_out.push(format!("{number}: {other}")),
            }
        }
        let mut done: BTreeSet<u32> = roadmap
            .items()
            .iter()
            .filter(|item| item.status == Status::Done)
            .map(|item| item.number)
            .collect();
        let (mut items, mut waves) = (Vec::new(), Vec::new());
        loop {
            let ready = |item: &&Item| item.depends_on.iter().all(|one| done.contains(one));
            let (wave, rest): (Vec<&Item>, Vec<&Item>) = left.into_iter().partition(ready);
            left = rest;
            if wave.is_empty() {
                break;
            }
            done.extend(wave.iter().map(|item| item.number));
            waves.push(wave.iter().map(|item| item.number).collect());
            items.extend(wave.into_iter().cloned());
        }
        for item in left {
            let missing = item.depends_on.iter().filter(|one| !done.contains(one));
            let missing: Vec<String> = missing.map(ToString::to_string).collect();
            left_out.push(format!(
                "{}: needs {}, not part of it",
                item.number,
                missing.join(", ")
            ));
        }
        if items.is_empty() {
            left_out.insert(0, "nothing on the roadmap can be built now".to_owned());
            return Err(left_out);
        }
        Ok(Self {
            items,
            waves,
            left_out,
        })
    }
}

/// What a person should know before they start: order and price.
fn remarks(subject: &DevelopSubject, chosen: &Chosen, each: Estimate) -> Vec<Remark> {
    let waves: Vec<String> = chosen
        .waves
        .iter()
        .map(|wave| {
            let numbers: Vec<String> = wave.iter().map(ToString::to_string).collect();
            numbers.join(", ")
        })
        .collect();
    let count = i64::try_from(subject.items.len()).unwrap_or(i64::MAX);
    let times = |one: Usd| Usd::from_nanos(one.nanos().saturating_mul(count)).rough();
    let from = match each.threads {
        0 => "by the price of the model, nothing like it was built here yet".to_owned(),
        1 => "from one merged thread".to_owned(),
        many => format!("from {many} merged threads"),
    };
    let mut remarks = vec![
        Remark::runtime("Order", waves.join(", then ")),
        Remark::runtime(
            "Likely cost",
            format!(
                "{} to {} for an item, {} to {} for all, {from}",
                each.low,
                each.high,
                times(each.low),
                times(each.high)
            ),
        ),
    ];
    if !chosen.left_out.is_empty() {
        remarks.push(Remark::runtime(
            "Not part of it",
            chosen.left_out.join("\n"),
        ));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "## 1. A\n- Status: done\n\n## 2. B\n- Depends on: 4\n\n## 3. C\n- Status: blocked (no account)\n\n## 4. D\n- Depends on: 1\n\n## 5. E\n- Depends on: 3\n\n## 6. F\n\n## 7. G\n";

    #[test]
    fn what_can_be_built_is_chosen_in_its_order() {
        let roadmap = Roadmap::parse(FILE);
        let all = Chosen::of(&roadmap, &[], &BTreeSet::from([7])).unwrap();
        assert_eq!(all.waves, [vec![4, 6], vec![2]]);
        let order: Vec<u32> = all.items.iter().map(|item| item.number).collect();
        assert_eq!(order, [4, 6, 2]);
        assert_eq!(
            all.left_out,
            [
                "3: blocked (no account)",
                "7: its thread of an earlier run is still open",
                "5: needs 3, not part of it"
            ]
        );
        let two = Chosen::of(&roadmap, &[2, 6], &BTreeSet::new()).unwrap();
        assert_eq!(two.waves, [vec![6]]);
        assert_eq!(two.left_out, ["2: needs 4, not part of it"]);
    }

    #[test]
    fn what_a_person_should_fix_comes_first() {
        let circle = Roadmap::parse("## 1. A\n- Depends on: 2\n\n## 2. B\n- Depends on: 1, 9\n");
        let problems = Chosen::of(&circle, &[5], &BTreeSet::new())
            .map(drop)
            .unwrap_err();
        let text = problems.join("; ");
        assert!(
            text.contains("wait for each other")
                && text.contains("9")
                && text.contains("no item 5"),
            "{text}"
        );
        let done = Roadmap::parse("## 1. A\n- Status: done\n");
        assert!(Chosen::of(&done, &[], &BTreeSet::new()).is_err());
    }
}
