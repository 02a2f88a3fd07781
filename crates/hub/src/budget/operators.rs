//! Budgets that an operator sets besides those of a repository: of a repository in a month,
//! of a person in a day and in a month.

use butler_protocol::{BudgetRefusal, ThreadId, Usd, UserId};

use super::{Budget, limits::Limits, raised, refused_by, sum};
use crate::{error::Result, store::Db};

/// The operator's budgets, by the names that a refusal has (`BudgetRefusal::is_operators`).
const MONTH: &str = "month of this repository";
const PERSON_DAY: &str = "day of this person";
const PERSON_MONTH: &str = "month of this person";

/// What one of them holds before anybody adds to it.
pub(super) fn cap_of(name: &str, limits: &Limits) -> Option<Usd> {
    match name {
        MONTH => limits.repo_month,
        PERSON_DAY => limits.person_day,
        PERSON_MONTH => limits.person_month,
        _ => None,
    }
}

/// What an operator allows, besides what the repo does.
pub(super) fn budgets(
    db: &Db,
    repo: &str,
    person: Option<&UserId>,
    day: &str,
    limits: &Limits,
) -> Result<Vec<Budget>> {
    let month = day.get(..7).unwrap_or(day);
    let mut found = Vec::new();
    if let Some(cap) = limits.repo_month {
        found.push(Budget {
            cap: cap + raised(db, MONTH, &format!("{repo}/{month}"))?,
            name: MONTH,
            owner: format!("{repo}/{month}"),
            used: spent_by_repo(db, repo, month)?,
        });
    }
    let Some(person) = person else {
        return Ok(found);
    };
    let caps = [
        (PERSON_DAY, day, limits.person_day),
        (PERSON_MONTH, month, limits.person_month),
    ];
    for (name, since, cap) in caps {
        let Some(cap) = cap else { continue };
        let owner = format!("{since}/{person}");
        found.push(Budget {
            cap: cap + raised(db, name, &owner)?,
            name,
            owner,
            used: spent_by_person(db, person.as_str(), since)?,
        });
    }
    Ok(found)
}

/// What a repo has spent in a month, as in `2026-03`.
fn spent_by_repo(db: &Db, repo: &str, month: &str) -> Result<Usd> {
    sum(
        db,
        "SELECT sum(coalesce(cost, amount)) FROM reservations
         WHERE repo = ?1 AND day >= ?2 AND day <= ?3",
        &[repo, month, &end_of(month)],
    )
}

/// What a person has spent on a day or in a month, in all repos.
fn spent_by_person(db: &Db, person: &str, since: &str) -> Result<Usd> {
    sum(
        db,
        "SELECT sum(coalesce(cost, amount)) FROM reservations
         WHERE person = ?1 AND day >= ?2 AND day <= ?3",
        &[person, since, &end_of(since)],
    )
}

/// Behind every day of a month, and behind a day itself.
fn end_of(since: &str) -> String {
    format!("{since}~")
}

/// Whether the budget that a Raise in this thread is about is the operator's.
pub(crate) fn is_about(db: &Db, thread: &ThreadId) -> Result<bool> {
    let refused = refused_by(db, thread)?.map(|(budget, _)| BudgetRefusal {
        budget,
        ..BudgetRefusal::default()
    });
    Ok(refused.is_some_and(|refused| refused.is_operators()))
}
