//! Decision cards: posted once, bound to a message and a hash, written down. The
//! hub draws them; what is sent is what would happen and what is known about it.

use butler_protocol::{
    CardBody, CardTag, Idem, Record, Remark, RequestId, Sha256Hex, Subject, fault,
};
use butler_slack::SlackError;

use crate::thread::context::ThreadContext;

/// What a card asks.
pub(crate) struct NewCard {
    /// Its id.
    pub(crate) request: RequestId,
    /// Exactly what would happen.
    pub(crate) subject: Subject,
    /// What people should know about it.
    pub(crate) remarks: Vec<Remark>,
    /// The accepted learnings that a merge of knowledge carries.
    pub(crate) learnings: Vec<Sha256Hex>,
}

/// Posts a card. The record must be in the log before anything else happens;
/// the same key posts the same card.
pub(crate) async fn post(
    context: &ThreadContext,
    idem: Idem,
    new: NewCard,
) -> Result<Record, SlackError> {
    let poster = &context.poster;
    let sha256 = new.subject.sha256();
    let body = CardBody {
        subject: new.subject.clone(),
        remarks: new.remarks,
        people: poster.people(&context.thread).await?,
        allowed: context.agent.rules().access.allowed.clone(),
    };
    fault("agent.before-card");
    let bytes = serde_json::to_vec(&body).unwrap_or_default();
    let tag = CardTag {
        request: new.request.clone(),
        kind: new.subject.kind(),
        sha256: sha256.clone(),
        body: Some(poster.control.put_body(&bytes).await?),
    };
    poster.ask(&context.thread, idem, tag).await?;
    fault("agent.after-card");
    Ok(Record::DecisionAsked {
        request: new.request,
        sha256,
        subject: new.subject,
        learnings: new.learnings,
    })
}
