//! Decision cards: posted once, bound to a message and a hash, written down. The
//! hub draws them; what is sent is what would happen and what is known about it.

use butler_protocol::{
    CardBody, CardTag, DecisionKind, Idem, Record, Remark, RequestId, Subject, fault,
};
use butler_slack::SlackError;
use serde_json::{Value, json};

use crate::thread::context::ThreadContext;

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
pub async fn post(context: &ThreadContext, idem: Idem, new: NewCard) -> Result<Record, SlackError> {
    let poster = &context.poster;
    let sha256 = new.subject.sha256();
    let body = CardBody {
        subject: new.subject,
        remarks: new.remarks,
        people: poster.people(&context.thread).await?,
        allowed: context.agent.rules().access.allowed.clone(),
    };
    fault("agent.before-card");
    let bytes = serde_json::to_vec(&body).unwrap_or_default();
    let tag = CardTag {
        request: new.request.clone(),
        kind: new.kind,
        sha256: sha256.clone(),
        body: Some(poster.control.put_body(&bytes).await?),
    };
    let posted = poster.ask(&context.thread, idem, tag).await?;
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
