//! Who may do what. The same rule for every kind of card and every way to answer
//! one: button, thumb, words, page, script, Slack. Who may not is told so.

use butler_protocol::{
    DecisionKind, DecisionRequest, DecisionView, Right, Role, Standing, ThreadId, UserId,
};
use serde::Deserialize;

use super::{
    decide::Rules,
    ephemeral,
    message::{Author, Draft},
};
use crate::{
    error::{Refusal, Result, Trouble, When, refuse},
    identity::{Person, people},
    store::{Db, Tx, params},
    workspace::decide,
};

/// How far a person's rights go: what the machine's config says of them, or the
/// invitation, or a group, or what is said of everybody else. Nothing when nobody
/// said anything about anybody.
pub(crate) fn standing(db: &Db, rules: &Rules, person: &Person) -> Result<Option<Standing>> {
    if !rules.in_slack && people::is_owner(&person.id) {
        return Ok(Some(Standing::Admin));
    }
    let given = match rules.people.get(person.id.as_str()) {
        Some(standing) => Some(*standing),
        None => match people::standing(db, &person.id)? {
            None => of_groups(db, rules, &person.id)?,
            invited => invited,
        },
    };
    let others = rules.people.get("*").copied();
    let unnamed = (!rules.people.is_empty()).then_some(Standing::Guest);
    let standing = given.or(others).or(unnamed);
    let approves = rules.approvers.contains(&person.id);
    Ok(standing.max(approves.then_some(Standing::Maintainer)))
}

/// The most that a group gives its members.
fn of_groups(db: &Db, rules: &Rules, user: &UserId) -> Result<Option<Standing>> {
    let names: Vec<String> = db.rows("SELECT name FROM group_members WHERE user = ?1", [user])?;
    let given = names.iter().filter_map(|name| rules.people.get(name));
    Ok(given.max().copied())
}

/// Refuses who has not this right. Where nobody said anything about people, everybody
/// may do everything but administer.
pub(crate) fn may(db: &Db, rules: &Rules, person: &Person, right: Right) -> Result<()> {
    let allowed = match standing(db, rules, person)? {
        Some(standing) => standing.may(right),
        None => right < Right::Administer,
    };
    match (allowed, right) {
        (true, _) => Ok(()),
        (false, Right::Administer) => refuse(Refusal::NoRight),
        (false, _) => refuse(Refusal::NotAnApprover),
    }
}

/// The most that a person may do.
pub(crate) fn highest(db: &Db, rules: &Rules, person: &Person) -> Result<Right> {
    for right in [Right::Administer, Right::Merge, Right::Approve] {
        match may(db, rules, person, right) {
            Ok(()) => return Ok(right),
            Err(Trouble::Refused(_)) => {}
            Err(trouble) => return Err(trouble),
        }
    }
    Ok(Right::Ask)
}

/// Refuses who may not decide about this card. Who was given the right decides.
/// Of the others, where nobody was given anything, approvers decide everything;
/// commands, merges and runs, which may merge, nobody else, where there are approvers.
/// The rest is for the people whom the repo's team listens to.
pub(crate) fn check(
    db: &Db,
    rules: &Rules,
    repo: &str,
    asked: &DecisionRequest,
    person: &Person,
) -> Result<()> {
    let approvers = &rules.approvers;
    // Who owns the machine may have left the deciding to others, on purpose.
    let left_to_others = !approvers.is_empty() && people::is_owner(&person.id);
    let standing = standing(db, rules, person)?.filter(|_| !left_to_others);
    if approvers.contains(&person.id) {
        return Ok(());
    }
    if let Some(standing) = standing {
        if standing.may(asked.kind.right()) {
            return Ok(());
        }
        return refuse(Refusal::NotAnApprover);
    }
    let grave = matches!(
        asked.kind,
        DecisionKind::Command | DecisionKind::Merge | DecisionKind::Develop
    );
    Refusal::NotAnApprover.when(grave && !approvers.is_empty())?;
    let allowed = allowed(db, repo, asked)?;
    let everybody = allowed.is_empty() && approvers.is_empty();
    if everybody || allowed.contains(&person.id) {
        return Ok(());
    }
    refuse(Refusal::NotAllowed)
}

/// The cards about which a person may decide.
pub(crate) fn decidable(
    db: &Db,
    rules: &Rules,
    repo: &str,
    cards: &[DecisionView],
    person: &Person,
) -> Result<Vec<DecisionView>> {
    let mut found = Vec::new();
    for card in cards {
        match check(db, rules, repo, &card.asked, person) {
            Ok(()) => found.push(card.clone()),
            Err(Trouble::Refused(_)) => {}
            Err(trouble) => return Err(trouble),
        }
    }
    Ok(found)
}

/// The people whom the team listens to, as the agent said with its card.
fn allowed(db: &Db, repo: &str, asked: &DecisionRequest) -> Result<Vec<UserId>> {
    // Cards of earlier releases hold their subject in another form.
    #[derive(Deserialize)]
    struct Listened {
        #[serde(default)]
        allowed: Vec<UserId>,
    }
    match decide::bytes_of(db, repo, &asked.request)? {
        Some(bytes) => Ok(serde_json::from_slice::<Listened>(&bytes)?.allowed),
        None => Ok(Vec::new()),
    }
}

/// Says to one person, in the thread, that what they did does not count.
pub(crate) fn tell(
    tx: &mut Tx<'_>,
    rules: &Rules,
    person: &Person,
    (thread, asked_by): (&ThreadId, Role),
    refusal: Refusal,
) -> Result<()> {
    let words = refusal.did_not_count();
    if rules.in_slack {
        return whisper(tx.db(), thread, person, words);
    }
    let author = Author::role(asked_by, asked_by.user_name());
    let mut draft = Draft::new(thread.channel.clone(), Some(thread.root.clone()), author);
    draft.text = words.to_owned();
    ephemeral::keep(tx, &person.id, &draft).map(drop)
}

/// Leaves words for one person to be said in Slack.
pub(crate) fn whisper(db: &Db, thread: &ThreadId, person: &Person, words: &str) -> Result<()> {
    let sql = "INSERT INTO whispers (channel, root, user, words) VALUES (?1, ?2, ?3, ?4)";
    db.run(sql, params![thread, person.id, words])
}
