//! The time line in groups, one for each stretch of work of a role, with what stays after a
//! filter. Pure.

use std::collections::HashMap;

use butler_protocol::{Ending, Role, Usd};

use crate::views::{Moment, What};

/// What a reader wants to see.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) role: Option<Role>,
    pub(crate) show: Show,
}

/// Which kind of steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Show {
    #[default]
    All,
    Tools,
    Decisions,
    Cost,
}

impl Show {
    pub(crate) const ALL: [Self; 4] = [Self::All, Self::Tools, Self::Decisions, Self::Cost];

    /// As addresses say it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::All => "",
            Self::Tools => "tools",
            Self::Decisions => "decisions",
            Self::Cost => "cost",
        }
    }

    /// As people read it.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::All => "everything",
            Self::Tools => "tools and checks",
            Self::Decisions => "decisions",
            Self::Cost => "what cost money",
        }
    }
}

impl Filter {
    /// What an address asks for; a word that nobody knows asks for nothing.
    pub(crate) fn read(role: Option<&str>, show: Option<&str>) -> Self {
        let known = |word: &str| Show::ALL.into_iter().find(|show| show.word() == word);
        Self {
            role: role.and_then(|role| role.parse().ok()),
            show: show.and_then(known).unwrap_or_default(),
        }
    }

    /// The same as an address says it.
    pub(crate) fn query(self) -> String {
        let role = self.role.map(|role| format!("role={role}"));
        let show = (self.show != Show::All).then(|| format!("show={}", self.show.word()));
        let both: Vec<String> = role.into_iter().chain(show).collect();
        both.join("&")
    }

    fn keeps(self, moment: &Moment) -> bool {
        let role = self.role.is_none_or(|role| moment.role == Some(role));
        role && match self.show {
            Show::All => true,
            Show::Tools => matches!(moment.what, What::Tool { .. } | What::Checked { .. }),
            Show::Decisions => matches!(moment.what, What::Asked { .. } | What::Decided { .. }),
            Show::Cost => matches!(moment.what, What::Turn { cost: Some(_), .. }),
        }
    }
}

/// A step and its name in addresses, which later steps do not change.
pub(crate) struct Step<'a> {
    pub(crate) id: String,
    pub(crate) moment: &'a Moment,
    /// From when to when it took.
    pub(crate) from_ms: i64,
    pub(crate) to_ms: i64,
}

/// A stretch of work of a role.
pub(crate) struct Work<'a> {
    pub(crate) role: Role,
    pub(crate) activation: Option<u32>,
    pub(crate) from_ms: i64,
    pub(crate) to_ms: i64,
    pub(crate) cost: Usd,
    pub(crate) ending: Option<&'a Ending>,
    pub(crate) steps: Vec<Step<'a>>,
}

/// What stands on the line.
pub(crate) enum Part<'a> {
    Said(Step<'a>),
    Work(Work<'a>),
}

/// Groups what happened, in the order of its beginnings.
pub(crate) fn group(moments: &[Moment], filter: Filter) -> Vec<Part<'_>> {
    let mut parts: Vec<Part<'_>> = Vec::new();
    let mut open: HashMap<Role, usize> = HashMap::new();
    let mut ids: HashMap<String, u32> = HashMap::new();
    for moment in moments {
        let step = Step {
            id: name(moment, &mut ids),
            moment,
            from_ms: moment.at_ms,
            to_ms: moment.at_ms + took(moment),
        };
        let Some(role) = moment.role else {
            parts.push(Part::Said(step));
            continue;
        };
        let current = open.get(&role).and_then(|at| match parts.get_mut(*at) {
            Some(Part::Work(work)) => Some((*at, work.activation)),
            _ => None,
        });
        let begins = matches!(moment.what, What::Started { .. });
        let at = match current {
            // What came before the beginning belongs to it.
            Some((at, activation)) if !begins || activation.is_none() => at,
            _ => {
                parts.push(Part::Work(Work::new(role, moment.at_ms)));
                parts.len() - 1
            }
        };
        open.insert(role, at);
        if let Some(Part::Work(work)) = parts.get_mut(at) {
            work.add(step);
        }
        if matches!(moment.what, What::Ended { .. }) {
            open.remove(&role);
        }
    }
    for part in &mut parts {
        if let Part::Work(work) = part {
            work.steps.retain(|step| filter.keeps(step.moment));
        }
    }
    parts.retain(|part| match part {
        Part::Said(step) => filter.keeps(step.moment),
        Part::Work(work) => !work.steps.is_empty(),
    });
    parts
}

impl<'a> Work<'a> {
    fn new(role: Role, from_ms: i64) -> Self {
        Self {
            role,
            activation: None,
            from_ms,
            to_ms: from_ms,
            cost: Usd::ZERO,
            ending: None,
            steps: Vec::new(),
        }
    }

    fn add(&mut self, mut step: Step<'a>) {
        match &step.moment.what {
            What::Started { activation } => self.activation = Some(*activation),
            What::Ended { ending, .. } => self.ending = Some(ending),
            What::Turn { cost, .. } => {
                self.cost += cost.unwrap_or(Usd::ZERO);
                // A model answers for as long as nothing else was done.
                step.from_ms = self.to_ms.min(step.to_ms);
            }
            _ => {}
        }
        self.to_ms = self.to_ms.max(step.to_ms);
        self.steps.push(step);
    }
}

fn took(moment: &Moment) -> i64 {
    match moment.what {
        What::Tool { took_ms, .. } => took_ms.unwrap_or(0).max(0),
        _ => 0,
    }
}

/// By time and role, and a number where two are the same.
fn name(moment: &Moment, ids: &mut HashMap<String, u32>) -> String {
    let who = moment.role.map_or("said", Role::as_str);
    let name = format!("t{}-{who}", moment.at_ms);
    let count = ids.entry(name.clone()).or_default();
    *count += 1;
    match *count {
        1 => name,
        count => format!("{name}-{count}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn moment(at_ms: i64, role: Option<Role>, what: What) -> Moment {
        Moment { at_ms, role, what }
    }

    fn turn(at_ms: i64, role: Role, cents: i64) -> Moment {
        let what = What::Turn {
            turn: 1,
            model: "m".into(),
            text: None,
            calls: 0,
            input_tokens: 1,
            output_tokens: 1,
            cost: Some(Usd::from_cents(cents)),
        };
        moment(at_ms, Some(role), what)
    }

    fn story() -> Vec<Moment> {
        let said = What::Message { message: json!({}) };
        let started = |activation| What::Started { activation };
        let ended = |activation| What::Ended {
            activation,
            ending: Ending::Done,
        };
        let told = What::Told {
            by: "pm".into(),
            text: "build it".into(),
        };
        vec![
            moment(1, None, said),
            moment(2, Some(Role::Coder), told),
            moment(3, Some(Role::Coder), started(1)),
            moment(4, Some(Role::Pm), started(1)),
            turn(50, Role::Coder, 2),
            turn(50, Role::Coder, 3),
            moment(60, Some(Role::Coder), ended(1)),
            moment(70, Some(Role::Coder), started(2)),
            turn(90, Role::Pm, 1),
        ]
    }

    fn groups(filter: Filter) -> Vec<(Role, Option<u32>, usize)> {
        let all = story();
        let parts = group(&all, filter);
        let works = parts.iter().filter_map(|part| match part {
            Part::Work(work) => Some((work.role, work.activation, work.steps.len())),
            Part::Said(_) => None,
        });
        works.collect()
    }

    #[test]
    fn a_stretch_of_work_is_one_group_even_between_others() {
        let all = groups(Filter::default());
        assert_eq!(
            all,
            [
                (Role::Coder, Some(1), 5),
                (Role::Pm, Some(1), 2),
                (Role::Coder, Some(2), 1)
            ]
        );
    }

    #[test]
    fn a_group_says_what_it_cost_and_took_and_its_steps_have_names_of_their_own() {
        let all = story();
        let parts = group(&all, Filter::default());
        let Some(Part::Work(work)) = parts.get(1) else {
            panic!("the Coder is second");
        };
        assert_eq!(work.cost, Usd::from_cents(5));
        assert_eq!((work.from_ms, work.to_ms), (2, 60));
        assert_eq!(
            work.steps[2].from_ms, 3,
            "the model took its time since the start"
        );
        let ids: Vec<&str> = work.steps.iter().map(|step| step.id.as_str()).collect();
        assert_eq!(
            ids,
            [
                "t2-coder",
                "t3-coder",
                "t50-coder",
                "t50-coder-2",
                "t60-coder"
            ]
        );
    }

    #[test]
    fn a_filter_keeps_what_it_names() {
        let read = Filter::read;
        assert_eq!(groups(read(Some("pm"), None)), [(Role::Pm, Some(1), 2)]);
        assert_eq!(
            groups(read(Some("coder"), Some("cost"))),
            [(Role::Coder, Some(1), 2)]
        );
        assert!(groups(read(None, Some("tools"))).is_empty());
        assert_eq!(read(Some("nobody"), Some("odd")), Filter::default());
        assert_eq!(read(Some("pm"), Some("cost")).query(), "role=pm&show=cost");
    }
}
