//! What is counted as it happens: per role, model, tool, method and repo, from the start
//! of the hub on. Nothing is read from the store for it, so that a scrape costs the same
//! on the first day and after years.
//!
//! A name from outside cannot fill the memory: each counter has a bound on its series,
//! and what comes after that is counted under `other`.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use butler_protocol::{CallId, Ending, Entry, Record, visible_line};

use super::exposition::{Kind, Page};

/// Series of one counter, and characters of one of its names.
const SERIES: usize = 2_000;
const LETTERS: usize = 80;
/// Tool calls whose end has not come yet.
const CALLS: usize = 4_096;

/// One counter: its name, what it says, and which names its series go by.
struct Family {
    name: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
}

/// Each of them, and all: also what was not counted yet has a name.
macro_rules! families {
    ($($family:ident = $name:literal [$($label:literal),+] $help:literal;)+) => {
        $(const $family: Family = Family { name: $name, help: $help, labels: &[$($label),+] };)+
        const FAMILIES: &[Family] = &[$($family),+];
    };
}
families! {
    MODEL_CALLS = "codebutler_model_calls_total" ["repo", "role", "model"]
        "Model calls that were settled";
    MODEL_COST = "codebutler_model_cost_dollars_total" ["repo", "role", "model"]
        "What model calls have cost";
    MODEL_TOKENS = "codebutler_model_tokens_total" ["repo", "role", "model", "kind"]
        "Tokens as the provider counted them; cached ones are part of the input";
    TOOL_CALLS = "codebutler_tool_calls_total" ["repo", "role", "tool", "outcome"]
        "Tool calls that are over";
    ACTIVATIONS = "codebutler_activations_total" ["repo", "role", "ending"]
        "Stretches of work that are over, by how they ended";
    API_CALLS = "codebutler_api_calls_total" ["method", "outcome"] "Calls of the Web API";
    API_SECONDS = "codebutler_api_seconds_total" ["method"] "Time that calls of the Web API took";
    REFUSALS = "codebutler_budget_refusals_total" ["repo", "limit"]
        "What a budget or a limit did not allow";
}

type Series = BTreeMap<Vec<String>, f64>;

#[derive(Default)]
struct Counted {
    families: HashMap<&'static str, Series>,
    /// Which tool a call is of, until its result comes.
    running: HashMap<CallId, String>,
    order: VecDeque<CallId>,
}

/// All counters of a hub.
#[derive(Default)]
pub(crate) struct Counters(Mutex<Counted>);

impl Counters {
    fn counted(&self) -> MutexGuard<'_, Counted> {
        // Sums only; a panic in between loses one step of one of them.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts what an agent's log says is over. Each line is to come once.
    pub(crate) fn records(&self, repo: &str, role: &str, entries: &[Entry]) {
        let mut counted = self.counted();
        for entry in entries {
            counted.record(repo, role, &entry.record);
        }
    }

    /// Counts a call of the Web API. `method` is one that exists.
    pub(crate) fn api_call(&self, method: &str, ok: bool, took: Duration) {
        let mut counted = self.counted();
        let outcome = if ok { "ok" } else { "refused" };
        counted.add(&API_CALLS, &[method, outcome], 1.0);
        counted.add(&API_SECONDS, &[method], took.as_secs_f64());
    }

    /// What was refused since the hub began: repo, limit, how often.
    pub(crate) fn refusals(&self) -> Vec<(String, String, u64)> {
        let counted = self.counted();
        let series = counted.families.get(REFUSALS.name).into_iter().flatten();
        let rows = series.filter_map(|(names, times)| match names.as_slice() {
            [repo, limit] => Some((repo.clone(), limit.clone(), *times as u64)),
            _ => None,
        });
        rows.collect()
    }

    /// Counts what a budget or a limit did not allow.
    pub(crate) fn refused(&self, repo: &str, limit: &str) {
        self.counted().add(&REFUSALS, &[repo, limit], 1.0);
    }

    /// Writes all of them down.
    pub(super) fn render(&self, page: &mut Page) {
        let counted = self.counted();
        for family in FAMILIES {
            page.family(family.name, Kind::Counter, family.help);
            for (names, value) in counted.families.get(family.name).into_iter().flatten() {
                let names = names.iter().map(String::as_str);
                let labels: Vec<_> = family.labels.iter().copied().zip(names).collect();
                page.sample(family.name, &labels, *value);
            }
        }
    }
}

impl Counted {
    fn record(&mut self, repo: &str, role: &str, record: &Record) {
        match record {
            Record::Settled {
                cost, usage, model, ..
            } => {
                self.add(&MODEL_CALLS, &[repo, role, model], 1.0);
                self.add(&MODEL_COST, &[repo, role, model], cost.dollars());
                for (kind, tokens) in [
                    ("input", usage.input),
                    ("cached", usage.cached_input),
                    ("output", usage.output),
                ] {
                    let names = [repo, role, model, kind];
                    self.add(&MODEL_TOKENS, &names, tokens as f64);
                }
            }
            Record::ToolIntent { call, tool, .. } => self.begins(call, tool),
            Record::ToolResult { call, outcome } => {
                let tool = self.running.remove(call);
                let outcome = if outcome.ok { "ok" } else { "failed" };
                // A call that was refused before it began has no other line.
                let tool = tool.as_deref().unwrap_or("none");
                self.add(&TOOL_CALLS, &[repo, role, tool, outcome], 1.0);
            }
            Record::ActivationEnded { ending, .. } => {
                self.add(&ACTIVATIONS, &[repo, role, word(ending)], 1.0);
            }
            _ => {}
        }
    }

    fn begins(&mut self, call: &CallId, tool: &str) {
        if self.running.insert(call.clone(), tool.to_owned()).is_none() {
            self.order.push_back(call.clone());
        }
        if self.order.len() > CALLS
            && let Some(oldest) = self.order.pop_front()
        {
            self.running.remove(&oldest);
        }
    }

    fn add(&mut self, family: &Family, names: &[&str], step: f64) {
        let plain = |name: &&str| visible_line(name).chars().take(LETTERS).collect();
        let mut key: Vec<String> = names.iter().map(plain).collect();
        let series = self.families.entry(family.name).or_default();
        if series.len() >= SERIES && !series.contains_key(&key) {
            key = vec!["other".to_owned(); names.len()];
        }
        *series.entry(key).or_default() += step;
    }
}

fn word(ending: &Ending) -> &'static str {
    match ending {
        Ending::Done => "done",
        Ending::PassedOn => "passed_on",
        Ending::Stopped => "stopped",
        Ending::TurnLimit => "turn_limit",
        Ending::OutOfMoney => "out_of_money",
        Ending::Stuck => "stuck",
        Ending::Failed { .. } => "failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_outside_cannot_make_more_series_than_there_may_be() {
        let counters = Counters::default();
        for number in 0..SERIES + 50 {
            counters.refused("app", &format!("limit {number}"));
        }
        let mut page = Page::default();
        counters.render(&mut page);
        let text = page.text();
        let series = text.matches("codebutler_budget_refusals_total{").count();
        assert_eq!(series, SERIES + 1);
        assert!(
            text.contains(r#"{repo="other",limit="other"} 50"#),
            "{text}"
        );
    }
}
