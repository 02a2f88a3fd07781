//! Who may decide. The same rule for every kind of card and every way to answer
//! one: button, thumb, words, page, script. Who may not is told so.

use butler_protocol::{DecisionKind, DecisionRequest, Role, ThreadId, UserId};
use rusqlite::{OptionalExtension, params};
use serde::Deserialize;

use super::{
    decide::Rules,
    ephemeral,
    message::{Author, Draft},
};
use crate::{
    agent_api,
    error::{Refusal, Trouble, refuse},
    identity::Person,
    store::{db::Db, tx::Tx},
};

/// Refuses who may not decide about this card. Approvers decide everything;
/// commands, merges and runs, which may merge, nobody else, where there are approvers. The rest is for
/// the people whom the repo's team listens to.
pub(crate) fn check(
    db: &Db,
    rules: &Rules,
    repo: &str,
    asked: &DecisionRequest,
    person: &Person,
) -> Result<(), Trouble> {
    let approvers = &rules.approvers;
    if approvers.contains(&person.id) {
        return Ok(());
    }
    let grave = matches!(
        asked.kind,
        DecisionKind::Command | DecisionKind::Merge | DecisionKind::Develop
    );
    if grave && !approvers.is_empty() {
        return refuse(Refusal::NotAnApprover);
    }
    let allowed = allowed(db, repo, asked)?;
    let everybody = allowed.is_empty() && approvers.is_empty();
    if everybody || allowed.contains(&person.id) {
        return Ok(());
    }
    refuse(Refusal::NotAllowed)
}

/// The people whom the team listens to, as the agent said with its card.
fn allowed(db: &Db, repo: &str, asked: &DecisionRequest) -> Result<Vec<UserId>, Trouble> {
    let body: Option<String> = db
        .prepare_cached("SELECT body FROM card_bodies WHERE repo = ?1 AND request = ?2")?
        .query_row(params![repo, asked.request.as_str()], |row| row.get(0))
        .optional()?;
    let Some(body) = body else {
        return Ok(Vec::new());
    };
    let bytes = agent_api::body(db, repo, &body)?;
    // Cards of earlier releases hold their subject in another form.
    #[derive(Deserialize)]
    struct Listened {
        #[serde(default)]
        allowed: Vec<UserId>,
    }
    Ok(serde_json::from_slice::<Listened>(&bytes)?.allowed)
}

/// Says to one person, in the thread, that what they did does not count.
pub(crate) fn tell(
    tx: &mut Tx<'_>,
    rules: &Rules,
    person: &Person,
    (thread, asked_by): (&ThreadId, Role),
    refusal: Refusal,
) -> Result<(), Trouble> {
    let words = refusal.did_not_count();
    if rules.in_slack {
        tx.db().execute(
            "INSERT INTO whispers (channel, root, user, words) VALUES (?1, ?2, ?3, ?4)",
            params![
                thread.channel.as_str(),
                thread.root.as_str(),
                person.id.as_str(),
                words
            ],
        )?;
        return Ok(());
    }
    let author = Author::Role {
        role: asked_by,
        username: Some(asked_by.user_name()),
        icon_emoji: None,
        icon_url: None,
    };
    let mut draft = Draft::new(thread.channel.clone(), Some(thread.root.clone()), author);
    draft.text = words.to_owned();
    ephemeral::keep(tx, &person.id, &draft).map(drop)
}
