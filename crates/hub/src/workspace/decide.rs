//! Decisions: what was asked, and what a person decided. Only the hub writes
//! them, only from a person's own hand, and only once.

pub(crate) mod edited;

use std::{collections::BTreeMap, sync::Arc};

use butler_protocol::{
    ActionId, CardBody, ChannelId, Choice, Decision, DecisionKind, DecisionRequest, DecisionView,
    MessageTs, Plan, RequestId, Right, Role, StampKind, Standing, ThreadId, UserId, fault,
};
use butler_slack::EnvelopeKind;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    access, channels, message,
    pressed::{self, Pressed, Target},
    runs,
};
use crate::{
    agent_api,
    budget::{
        self, Caps,
        limits::{Limits, Pace},
        operators,
    },
    error::{Refusal, Result, When},
    identity::{Person, audit},
    log::{self, Happening},
    store::{Db, Params, Row, Tx, params, sql},
    workspace::card,
};

/// A click (or its equal in words) on an element of a message.
#[derive(Debug, Clone)]
pub(crate) struct Click {
    pub(crate) channel: ChannelId,
    pub(crate) message: MessageTs,
    pub(crate) action: ActionId,
}

impl Click {
    pub(crate) fn new(
        channel: ChannelId,
        message: MessageTs,
        request: RequestId,
        choice: Choice,
    ) -> Self {
        Self {
            channel,
            message,
            action: ActionId { request, choice },
        }
    }

    /// What a person would press on a card.
    pub(crate) fn on(asked: &DecisionRequest, choice: Choice) -> Self {
        let (channel, request) = (asked.thread.channel.clone(), asked.request.clone());
        Self::new(channel, asked.message.clone(), request, choice)
    }
}

/// What deciding needs to know of the workspace.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    /// Who may decide about what cannot be undone; empty means whoever may ask.
    pub(crate) approvers: Vec<UserId>,
    /// The rights of people and groups, by Slack's ids; `*` is everybody else.
    pub(crate) people: BTreeMap<String, Standing>,
    pub(crate) caps: Caps,
    /// What an operator allows besides, and how often people have spoken.
    pub(crate) limits: Limits,
    pub(crate) pace: Arc<Pace<UserId>>,
    /// How agents reach us, for the `response_url` of a click.
    pub(crate) base: String,
    /// Whether the cards stand in Slack.
    pub(crate) in_slack: bool,
}

/// Writes a person's decision down and tells every agent of the channel.
pub(crate) fn decide(
    tx: &mut Tx<'_>,
    rules: &Rules,
    person: &Person,
    click: &Click,
) -> Result<Decision> {
    decide_in(tx, rules, person, click, None)
}

/// The same; `run` is the one by whose start it is decided, where no person clicked.
pub(crate) fn decide_in(
    tx: &mut Tx<'_>,
    rules: &Rules,
    person: &Person,
    click: &Click,
    run: Option<&RequestId>,
) -> Result<Decision> {
    let repo = channels::get(tx.db(), &click.channel)?.repo;
    let view = view(tx.db(), &repo, &click.action.request)?.ok_or(Refusal::UnknownRequest)?;
    let asked = view.asked;
    Refusal::NotTheCard
        .when(asked.thread.channel != click.channel || asked.message != click.message)?;
    Refusal::InvalidChoice.when(!asked.kind.choices().contains(&click.action.choice))?;
    access::check(tx.db(), rules, &repo, &asked, person)?;
    Refusal::OperatorsBudget.when(
        click.action.choice == Choice::Raise
            && operators::is_about(tx.db(), &asked.thread)?
            && access::may(tx.db(), rules, person, Right::Administer).is_err(),
    )?;
    Refusal::AlreadyDecided.when(view.decided.is_some())?;
    let decision = Decision {
        request: asked.request,
        kind: asked.kind,
        sha256: view.edited.map_or(asked.sha256, |plan| plan.sha256()),
        thread: asked.thread,
        choice: click.action.choice,
        person: person.id.clone(),
        name: person.name.clone(),
        run: run.cloned(),
        message: asked.message,
        at_ms: tx.db().now_ms(),
    };
    fault("hub.before-decision");
    tx.db().execute(
        "UPDATE cards SET choice = ?3, person = ?4, decided_ms = ?5, run = ?6
             WHERE repo = ?1 AND request = ?2 AND choice IS NULL",
        params![
            repo,
            decision.request,
            decision.choice,
            person.id,
            decision.at_ms,
            run
        ],
    )?;
    audit::decided(tx.db(), person, &decision)?;
    fault("hub.after-decision");
    runs::started(tx, &repo, &decision)?;
    if decision.choice == Choice::Raise {
        budget::raise(tx.db(), &decision.thread, &rules.caps, &rules.limits)?;
    }
    tell(tx, rules, person, &decision, asked.from)?;
    if rules.in_slack {
        tx.db().execute(
            "INSERT OR IGNORE INTO redraws (channel, message) VALUES (?1, ?2)",
            params![click.channel, decision.message],
        )?;
    } else {
        redraw(tx, &decision, &person.name)?;
    }
    Ok(decision)
}

/// The decided form of a card: its buttons go, the verdict stays.
pub(crate) fn redraw(tx: &mut Tx<'_>, decision: &Decision, person: &str) -> Result<()> {
    let channel = &decision.thread.channel;
    let Some(old) = message::find(tx.db(), channel, &decision.message)? else {
        return Ok(());
    };
    let (blocks, text) = card::decided(&old.body, decision.choice, &decision.by(person));
    let edit_ts = tx.next_ts().to_string();
    let body = message::edited(old.body.clone(), &text, Some(blocks), None, &edit_ts);
    message::redraw(tx, channel, &old, &body)
}

/// Whether a card stands on a message, open or decided.
pub(crate) fn is_card(db: &Db, channel: &ChannelId, message: &MessageTs) -> Result<bool> {
    Ok(on_message(db, channel, message)?.is_some())
}

fn tell(
    tx: &mut Tx<'_>,
    rules: &Rules,
    person: &Person,
    decision: &Decision,
    asked_by: Role,
) -> Result<()> {
    let action = ActionId {
        request: decision.request.clone(),
        choice: decision.choice,
    };
    let element = json!({"type": "button", "action_id": action.to_string(),
        "block_id": format!("cb:{}", decision.request), "value": decision.request,
        "text": {"type": "plain_text", "text": decision.choice.label()}});
    let thread = decision.thread.clone();
    let what = Pressed {
        target: Target::find(tx.db(), &thread.channel, &decision.message, person)?,
        ts: &decision.message,
        element,
        state: None,
    };
    let payload = pressed::block_actions(tx, rules, person, what)?;
    let decided = Happening {
        to: vec![asked_by],
        stamp: StampKind::Decision,
        reference: Some(decision.request.as_str().to_owned()),
        kind: EnvelopeKind::Interactive,
        ..Happening::new(thread, None, payload)
    };
    log::append(tx, decided)?;
    Ok(())
}

/// The open card that stands on a message, if one does.
pub(crate) fn open_card(
    db: &Db,
    channel: &ChannelId,
    message: &MessageTs,
) -> Result<Option<(RequestId, DecisionKind)>> {
    let view = on_message(db, channel, message)?;
    let open = view.filter(|view| view.decided.is_none());
    Ok(open.map(|view| (view.asked.request, view.asked.kind)))
}

/// What an agent sent for a card; nothing for cards of earlier releases, which hold their
/// subject in another form.
pub(crate) fn body_of(db: &Db, repo: &str, request: &RequestId) -> Result<Option<CardBody>> {
    let bytes = bytes_of(db, repo, request)?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

/// The same as it was sent.
pub(super) fn bytes_of(db: &Db, repo: &str, request: &RequestId) -> Result<Option<Vec<u8>>> {
    let sql = "SELECT body FROM card_bodies WHERE repo = ?1 AND request = ?2";
    let hash: Option<String> = db.first(sql, params![repo, request])?;
    hash.map(|hash| agent_api::body(db, repo, &hash))
        .transpose()
}

/// What was asked and decided under a request.
pub(crate) fn view(db: &Db, repo: &str, request: &RequestId) -> Result<Option<DecisionView>> {
    Ok(views(
        db,
        "WHERE repo = ?1 AND request = ?2",
        params![repo, request],
    )?
    .pop())
}

/// The card that stands on a message, and what was decided about it.
pub(crate) fn on_message(
    db: &Db,
    channel: &ChannelId,
    message: &MessageTs,
) -> Result<Option<DecisionView>> {
    let which = "WHERE channel = ?1 AND message = ?2";
    Ok(views(db, which, params![channel, message])?.pop())
}

/// Cards of all repos, newest first; open ones only, or all.
pub(crate) fn list(db: &Db, open_only: bool) -> Result<Vec<DecisionView>> {
    let which = "WHERE NOT ?1 OR choice IS NULL ORDER BY asked_ms DESC LIMIT 500";
    views(db, which, [open_only])
}

/// Open cards of all repos that still ask something: a newer card of its kind in the
/// thread has taken the place of an older one, except for commands and learnings.
pub(crate) fn waiting(db: &Db) -> Result<Vec<DecisionView>> {
    let which = "c WHERE choice IS NULL AND (kind IN ('command', 'learning')
         OR NOT EXISTS (SELECT 1 FROM cards n WHERE n.channel = c.channel AND n.root = c.root
           AND n.kind = c.kind AND n.asked_ms > c.asked_ms))
         ORDER BY asked_ms LIMIT 500";
    views(db, which, [])
}

/// Cards of one thread, oldest first.
pub(crate) fn of_thread(db: &Db, thread: &ThreadId) -> Result<Vec<DecisionView>> {
    let which = "WHERE channel = ?1 AND root = ?2 ORDER BY asked_ms, request";
    views(db, which, [thread])
}

const COLUMNS: &str = "request, kind, sha256, channel, root, message, from_role, choice, person, decided_ms, run, edited";

/// The cards that a condition chooses.
fn views(db: &Db, which: &str, keys: impl Params) -> Result<Vec<DecisionView>> {
    let sql = format!("SELECT {COLUMNS} FROM cards {which}");
    let mut statement = db.prepare_cached(&sql)?;
    let rows = statement.query_map(keys, read_row)?;
    rows.map(|row| Ok(read_view(row?)?)).collect()
}

/// A row as JSON fields, which the shared types read back.
fn read_row(row: &Row<'_>) -> sql::Result<Value> {
    let text = |at| row.get::<Option<String>>(at);
    Ok(json!({
        "request": text(0)?, "kind": text(1)?, "sha256": text(2)?,
        "thread": {"channel": text(3)?, "root": text(4)?},
        "message": text(5)?, "from": text(6)?, "choice": text(7)?, "person": text(8)?,
        "at_ms": row.get::<Option<i64>>(9)?, "run": text(10)?, "edited": text(11)?,
    }))
}

fn read_view(mut row: Value) -> Result<DecisionView, serde_json::Error> {
    let asked = DecisionRequest::deserialize(&row)?;
    let edited: Option<Box<Plan>> = match row["edited"].as_str() {
        Some(plan) => Some(serde_json::from_str(plan)?),
        None => None,
    };
    // What was changed on the card is what was decided about.
    if let Some(plan) = &edited {
        row["sha256"] = json!(plan.sha256());
    }
    let decided = if row["choice"].is_null() {
        None
    } else {
        Some(Decision::deserialize(row)?)
    };
    Ok(DecisionView {
        asked,
        decided,
        edited,
    })
}

/// What a person's words or thumb say about an open card, where that is
/// unambiguous: `approve <id>` or `reject <id>` in its thread, 👍 or 👎 on the
/// card itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thumb {
    Up,
    Down,
}

impl Thumb {
    /// What exactly these words say, and about which card.
    pub(crate) fn in_words(text: &str) -> Option<(Self, RequestId)> {
        let mut words = text.split_whitespace();
        let thumb = match words.next()?.to_ascii_lowercase().as_str() {
            "approve" => Thumb::Up,
            "reject" => Thumb::Down,
            _ => return None,
        };
        let id = words.next()?;
        let plain = (4..=12).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric());
        let whole = plain && words.next().is_none();
        whole.then(|| (thumb, RequestId::new(id.to_ascii_lowercase())))
    }

    /// What this emoji says.
    pub(crate) fn of_emoji(name: &str) -> Option<Self> {
        match name.split("::").next()? {
            "+1" | "thumbsup" => Some(Thumb::Up),
            "-1" | "thumbsdown" => Some(Thumb::Down),
            _ => None,
        }
    }

    /// What it chooses on such a card; nothing where only a button will do.
    pub(crate) const fn choice(self, kind: DecisionKind) -> Option<Choice> {
        match (self, kind) {
            (Thumb::Up, DecisionKind::Plan | DecisionKind::Command | DecisionKind::Roadmap) => {
                Some(Choice::Approve)
            }
            (Thumb::Up, DecisionKind::Learning | DecisionKind::Maps | DecisionKind::Picture) => {
                Some(Choice::Accept)
            }
            (Thumb::Down, DecisionKind::Picture) => Some(Choice::Discard),
            (
                Thumb::Down,
                DecisionKind::Plan
                | DecisionKind::Command
                | DecisionKind::Learning
                | DecisionKind::Roadmap
                | DecisionKind::Develop
                | DecisionKind::Maps,
            ) => Some(Choice::Reject),
            (Thumb::Up, DecisionKind::Develop) | (_, DecisionKind::Merge | DecisionKind::Cap) => {
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_words_decide() {
        let card = RequestId::new("k3m9qa");
        let said = |text: &str| Thumb::in_words(text);
        assert_eq!(said(" Approve K3M9QA "), Some((Thumb::Up, card.clone())));
        assert_eq!(said("reject k3m9qa"), Some((Thumb::Down, card)));
        for text in [
            "approve",
            "reject",
            "reject it now",
            "approve it now",
            "approve k3m9qa please",
            "i approve k3m9qa",
            "approve <!channel>",
        ] {
            assert_eq!(said(text), None, "{text}");
        }
        for (name, thumb) in [
            ("+1", Some(Thumb::Up)),
            ("thumbsup::skin-tone-2", Some(Thumb::Up)),
            ("-1", Some(Thumb::Down)),
            ("thumbsdown", Some(Thumb::Down)),
            ("tada", None),
        ] {
            assert_eq!(Thumb::of_emoji(name), thumb, "{name}");
        }
        assert_eq!(Thumb::Up.choice(DecisionKind::Merge), None);
        assert_eq!(Thumb::Down.choice(DecisionKind::Cap), None);
    }
}
