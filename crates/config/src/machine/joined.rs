//! A hub on another machine, for which this one runs agents.

use butler_protocol::{Role, Secret};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a repo of this machine needs to work for a hub elsewhere; written by
/// `codebutler init --join`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JoinedHub {
    /// Where the hub is.
    #[schemars(extend("format" = "uri"))]
    pub url: String,
    /// The SHA-256 of the hub's certificate, when it made its own. Unset: it has one of an authority that this machine trusts (`network.caFile`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    pub fingerprint: Option<String>,
    /// What the hub calls this machine; `codebutler hub revoke` takes it.
    pub machine: String,
    /// The repo's name there.
    pub repo: String,
    /// The repo's channel there.
    pub channel: String,
    /// The roles that this machine was given, with its own tokens of the hub.
    #[schemars(extend("x-secret" = true))]
    pub tokens: Vec<JoinedRole>,
}

/// A role, and what the hub knows it by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JoinedRole {
    /// Which.
    pub role: Role,
    /// For calls.
    #[schemars(with = "String", extend("x-secret" = true))]
    #[serde(serialize_with = "exposed")]
    pub bot: Secret,
    /// For the socket.
    #[schemars(with = "String", extend("x-secret" = true))]
    #[serde(serialize_with = "exposed")]
    pub app: Secret,
}

/// For the private file that it is kept in.
fn exposed<S: serde::Serializer>(secret: &Secret, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose())
}

impl JoinedHub {
    /// The roles that this machine was given.
    pub fn roles(&self) -> Vec<Role> {
        self.tokens.iter().map(|one| one.role).collect()
    }
}
