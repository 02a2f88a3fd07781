//! Decision cards: posted once, bound to a message and a hash, written down. The
//! hub draws them; what is sent is what would happen and what is known about it.

use butler_protocol::{
    CardBody, CardTag, DecisionKind, Idem, Record, Remark, RequestId, Subject, fault,
};
use butler_slack::SlackError;
use serde_json::{Value, json};

use crate::thread::context::Seat;

/// What a card asks.
pub struct NewCard {
    /// Its id.
    pub request: RequestId,
    /// What is being decided.
    pub kind: DecisionKind,
    /// Exactly what would happen.
    pub subject: Subject,
    /// What people should know about it.
    pub remarks: Vec<Remark>,
    /// The thing itself, as it will be needed when it is decided: an object.
    pub kept: Value,
}

/// Posts a card. The record must be in the log before anything else happens;
/// the same key posts the same card.
pub async fn post(seat: &Seat, idem: Idem, new: NewCard) -> Result<Record, SlackError> {
    let line = &seat.line;
    let sha256 = new.subject.sha256();
    let body = CardBody {
        subject: new.subject,
        remarks: new.remarks,
        people: line.people(&seat.thread).await?,
        allowed: seat.office.config.allowed.clone(),
    };
    fault("agent.before-card");
    let bytes = serde_json::to_vec(&body).unwrap_or_default();
    let tag = CardTag {
        request: new.request.clone(),
        kind: new.kind,
        sha256: sha256.clone(),
        body: Some(line.control.put_body(&bytes).await?),
    };
    let posted = line.ask(&seat.thread, idem, tag).await?;
    fault("agent.after-card");
    let mut subject = new.kept;
    // Where the card stands.
    subject["message"] = json!(posted.ts);
    Ok(Record::DecisionAsked {
        request: new.request,
        kind: new.kind,
        sha256,
        subject,
    })
}
