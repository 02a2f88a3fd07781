//! Refusals outside Slack's own API: a status and a name.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::json;

use crate::error::Trouble;

/// `{"ok": false, "error": "…"}` with a status that fits.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
}

impl Refusal {
    pub(crate) const fn new(status: StatusCode, code: &'static str) -> Self {
        Self { status, code }
    }
}

impl From<Trouble> for Refusal {
    fn from(trouble: Trouble) -> Self {
        let code = trouble.code();
        let status = match code {
            "internal_error" => StatusCode::INTERNAL_SERVER_ERROR,
            // Clients of the control API take 409 for "stale epoch" and nothing else.
            "stale_epoch" | "already_decided" => StatusCode::CONFLICT,
            "service_unavailable" => StatusCode::SERVICE_UNAVAILABLE,
            "invalid_auth" | "not_authed" => StatusCode::UNAUTHORIZED,
            "not_an_approver" | "not_allowed" | "use_slack" => StatusCode::FORBIDDEN,
            "channel_not_found"
            | "message_not_found"
            | "thread_not_found"
            | "unknown_request"
            | "unknown_body"
            | "unknown_reservation"
            | "file_not_found" => StatusCode::NOT_FOUND,
            _ => StatusCode::BAD_REQUEST,
        };
        Self { status, code }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = json!({"ok": false, "error": self.code});
        (self.status, Json(body)).into_response()
    }
}
