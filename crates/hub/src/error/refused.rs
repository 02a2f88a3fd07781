//! Refusals outside Slack's own API: a name, and the status that fits it.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use crate::error::{Refusal, Trouble};

/// `{"ok": false, "error": "…"}` with a status that fits.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) Refusal);

impl Refused {
    pub(crate) fn status(&self) -> StatusCode {
        match self.0 {
            Refusal::InternalError => StatusCode::INTERNAL_SERVER_ERROR,
            // Clients of the control API take 409 for "stale epoch" and nothing else.
            Refusal::StaleEpoch | Refusal::AlreadyDecided => StatusCode::CONFLICT,
            Refusal::ServiceUnavailable => StatusCode::SERVICE_UNAVAILABLE,
            Refusal::RequestTimeout => StatusCode::GATEWAY_TIMEOUT,
            Refusal::InvalidAuth
            | Refusal::NotAuthed
            | Refusal::UnknownCode
            | Refusal::CodeUsed
            | Refusal::CodeExpired => StatusCode::UNAUTHORIZED,
            Refusal::ForeignHost => StatusCode::MISDIRECTED_REQUEST,
            Refusal::NotAnApprover
            | Refusal::NoRight
            | Refusal::OperatorsBudget
            | Refusal::OwnerStays
            | Refusal::NotAllowed
            | Refusal::NotAPerson
            | Refusal::ForeignOrigin
            | Refusal::UseSlack => StatusCode::FORBIDDEN,
            Refusal::ChannelNotFound
            | Refusal::UserNotFound
            | Refusal::MessageNotFound
            | Refusal::ThreadNotFound
            | Refusal::UnknownRequest
            | Refusal::UnknownBody
            | Refusal::UnknownReservation
            | Refusal::NoTestHooks
            | Refusal::FileNotFound => StatusCode::NOT_FOUND,
            Refusal::TooManyMessages
            | Refusal::TooManyOwnThreads
            | Refusal::TooManyThreads
            | Refusal::Ratelimited => StatusCode::TOO_MANY_REQUESTS,
            Refusal::StorageLimitReached => StatusCode::INSUFFICIENT_STORAGE,
            Refusal::MsgTooLong | Refusal::FileUploadSizeRestricted => {
                StatusCode::PAYLOAD_TOO_LARGE
            }
            _ => StatusCode::BAD_REQUEST,
        }
    }
}

/// What outside Slack's own API is answered.
pub(crate) type Answer = Result<Json<Value>, Refused>;

/// It was carried out, and this is what there is to say of it.
pub(crate) fn well(mut said: Value) -> Answer {
    said["ok"] = json!(true);
    Ok(Json(said))
}

/// It was carried out.
pub(crate) fn done() -> Answer {
    well(json!({}))
}

impl From<Trouble> for Refused {
    fn from(trouble: Trouble) -> Self {
        Self(trouble.refusal())
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let body = json!({"ok": false, "error": self.0.code()});
        (self.status(), Json(body)).into_response()
    }
}
