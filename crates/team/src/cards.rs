//! Decision cards: posted once, bound to a message and a hash, written down.

use butler_slack::{SlackError, blocks};
use butler_vocab::{CardTag, DecisionKind, Idem, Record, RequestId, Sha256Hex, fault};
use serde_json::{Value, json};

use crate::seat::Seat;

/// What a card asks.
pub struct NewCard<'a> {
    /// Its id.
    pub request: RequestId,
    /// What is being decided.
    pub kind: DecisionKind,
    /// Its heading.
    pub title: &'a str,
    /// What people read, in Markdown.
    pub body: &'a str,
    /// The small print.
    pub context: &'a str,
    /// The hash of exactly what would happen.
    pub sha256: Sha256Hex,
    /// The thing itself, as it will be needed when it is decided: an object.
    pub subject: Value,
}

/// Posts a card. The record must be in the log before anything else happens;
/// the same key posts the same card.
pub async fn post(seat: &Seat, idem: Idem, new: NewCard<'_>) -> Result<Record, SlackError> {
    let card = blocks::card(new.kind, &new.request, new.title, new.body, new.context);
    let tag = CardTag {
        request: new.request.clone(),
        kind: new.kind,
        sha256: new.sha256.clone(),
    };
    let line = &seat.line;
    fault("team.before-card");
    let posted = line.ask(&seat.thread, idem, card, tag).await?;
    fault("team.after-card");
    let mut subject = new.subject;
    // The card is replaced by what came of it; this is where it stands.
    subject["message"] = json!(posted.ts);
    Ok(Record::DecisionAsked {
        request: new.request,
        kind: new.kind,
        sha256: new.sha256,
        subject,
    })
}
