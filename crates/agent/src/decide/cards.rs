//! Decision cards: posted once, bound to a message and a hash, written down. The
//! hub draws them; what is sent is what would happen and what is known about it.

use butler_protocol::{
    CardBody, CardTag, Idem, Record, Remark, RequestId, Sha256Hex, Subject, Then, ToolCall,
    ToolOutcome, Waiting, fault,
};
use butler_slack::SlackError;

use crate::{
    ThreadContext,
    develop::unattended,
    tell::{joining, render},
};

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

impl NewCard {
    /// About this, and nothing besides.
    pub(crate) fn new(request: RequestId, subject: Subject) -> Self {
        Self {
            request,
            subject,
            remarks: Vec::new(),
            learnings: Vec::new(),
        }
    }

    /// With this beside it.
    pub(crate) fn with(mut self, remarks: impl IntoIterator<Item = Remark>) -> Self {
        self.remarks.extend(remarks);
        self
    }
}

/// Done so far; the activation sleeps until this comes.
pub(crate) fn park(said: impl Into<String>, waiting: Waiting) -> ToolOutcome {
    ToolOutcome::ok(said).then(Then::Park { waiting })
}

/// More of a reason would push what is decided off the screen.
const REASON: usize = 600;

/// Why the model wants this call: what it wrote beside it, or into it.
pub(crate) fn why(beside: Option<&str>, call: &ToolCall) -> Option<Remark> {
    let fields = ["description", "reason", "explanation", "why"];
    let inside = fields
        .iter()
        .filter_map(|field| call.arguments[*field].as_str());
    let mut said = inside.chain(beside).map(str::trim);
    let said = said.find(|text| !text.is_empty())?;
    Some(Remark::model("Why", render::cut(said, REASON)))
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
    let messages = poster.web.replies(&context.thread).await?;
    let mut people = joining::people(&messages);
    let started = unattended::started(context, &messages).await?;
    // Who started the run started its items, without a word in their threads.
    people.extend(started.iter().map(|(_, run)| run.person.clone()));
    people.dedup();
    let body = CardBody {
        unattended: unattended::holds(context, started.as_ref(), &new.subject).await,
        subject: new.subject.clone(),
        remarks: new.remarks,
        people,
        allowed: context.agent.rules().access.allowed.clone(),
        language: context.agent.rules().reply_language.clone(),
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

#[cfg(test)]
mod tests {
    use butler_protocol::{CallId, Voice};
    use serde_json::{Value, json};

    use super::*;

    fn bash(arguments: Value) -> ToolCall {
        ToolCall {
            id: CallId::new("c1"),
            name: "Bash".to_owned(),
            arguments,
            problem: None,
        }
    }

    #[test]
    fn a_command_card_has_the_models_reason() {
        let bare = bash(json!({"command": "rm -rf build"}));
        let told = bash(json!({"command": "rm -rf build", "description": " It is stale. "}));
        for (beside, call, reason) in [
            (
                Some("I clear the old build."),
                &bare,
                Some("I clear the old build."),
            ),
            (Some("I clear the old build."), &told, Some("It is stale.")),
            (None, &told, Some("It is stale.")),
            (Some("  "), &bare, None),
            (None, &bare, None),
        ] {
            let remark = why(beside, call);
            assert!(
                remark
                    .iter()
                    .all(|remark| remark.by == Voice::Model && remark.label == "Why")
            );
            assert_eq!(remark.map(|remark| remark.text).as_deref(), reason);
        }
        let long = why(Some(&"é".repeat(5000)), &bare).unwrap().text;
        assert!(long.chars().count() == REASON + 1 && long.ends_with('…'));
    }
}
