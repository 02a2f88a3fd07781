//! What one machine knows and no repository may say: tokens, model endpoints
//! with their keys, where the hub is, who may approve, and what a person on
//! this machine has agreed to.

pub(crate) mod joined;
pub(crate) mod operation;
pub(crate) mod search;

use std::{collections::BTreeMap, net::SocketAddr};

use butler_protocol::{Role, Secret, Standing, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::{
    joined::JoinedHub,
    operation::{HubLimits, HubRetention},
    search::MachineSearch,
};
use crate::mcp::MachineMcp;

/// The machine's own settings, `~/.codebutler/config.json`; private to its owner.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Machine {
    /// Slack tokens. Without them the built-in workspace is used.
    pub slack: SlackTokens,
    /// Short form of an `openrouter` endpoint: just its key.
    pub openrouter: KeyOnly,
    /// Short form of an `openai` endpoint: just its key.
    pub openai: KeyOnly,
    /// Where models answer.
    pub models: MachineModels,
    /// The hub of this machine.
    pub hub: HubAddress,
    /// User ids of the people who may decide everything, and alone may decide about destructive commands and merges, besides those who were given the right (`people`, `codebutler invite`). Empty: everybody whom the repo's team listens to.
    #[schemars(with = "Vec<String>")]
    pub approvers: Vec<UserId>,
    /// What people may do, by user id of Slack, id of a user group (`S…`), or `*` for everybody else: `guest` may ask, `approver` may also approve, `maintainer` also merge, `admin` also administer. When somebody is named here, whoever is not may only ask. People of the built-in workspace are invited with their rights (`codebutler invite`).
    pub people: BTreeMap<String, Standing>,
    /// Upper bounds for every repo on this machine, whatever its own limits say.
    pub ceilings: Ceilings,
    /// Forges by host, as in `gitlab.example.org`: what answers there, and the token that is sent there and nowhere else. GitHub needs none, its `gh` has one.
    pub forges: BTreeMap<String, ForgeAt>,
    /// MCP servers of this machine, and secrets for those of its repos.
    pub mcp: MachineMcp,
    /// Where the Researcher searches the web.
    pub search: MachineSearch,
    /// Certificates and the like for networks that need them.
    pub network: MachineNetwork,
    /// Hubs on other machines that repos of this one have joined, by the folder of the repo; written by `codebutler init --join`.
    pub joined: BTreeMap<String, JoinedHub>,
    /// What a person on this machine has agreed to; written by `codebutler policy accept`.
    pub consents: Consents,
}

/// The two tokens of a Slack app.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct SlackTokens {
    /// The bot token, `xoxb-…`.
    #[schemars(with = "Option<String>", extend("x-secret" = true, "pattern" = "^xoxb-"))]
    pub bot_token: Option<Secret>,
    /// The app-level token for Socket Mode, `xapp-…`.
    #[schemars(with = "Option<String>", extend("x-secret" = true, "pattern" = "^xapp-"))]
    pub app_token: Option<Secret>,
    /// Where Slack answers, when it is not `https://slack.com/`; for GovSlack.
    #[schemars(extend("format" = "uri"))]
    pub api_url: Option<String>,
}

/// A provider of which only the key is of interest.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyOnly {
    /// The API key; it is sent to this provider's host only.
    #[schemars(with = "Option<String>", extend("x-secret" = true))]
    pub api_key: Option<Secret>,
}

/// Model endpoints of this machine.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct MachineModels {
    /// Endpoints by a name of your choice.
    pub endpoints: BTreeMap<String, Endpoint>,
    /// The endpoint for roles that no endpoint names. Needed only with several endpoints.
    pub default: Option<String>,
}

/// One place where models answer, with the key that is sent there and nowhere else.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Endpoint {
    /// Which dialect it speaks.
    #[serde(default)]
    pub kind: EndpointKind,
    /// Its address up to and including `/v1` or the like.
    #[schemars(extend("format" = "uri"))]
    pub base_url: String,
    /// The key, when it needs one.
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("x-secret" = true))]
    pub api_key: Option<Secret>,
    /// Further headers of every request, for company gateways.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>", extend("x-secret" = true))]
    pub headers: BTreeMap<String, Secret>,
    /// The roles whose models are asked here. Empty: those that nobody else claims.
    #[serde(default)]
    pub roles: Vec<Role>,
    /// What its models cost when neither the answer nor the endpoint's list says it. Unset: a
    /// deliberately high bound, so that a cap stays a cap; nothing for a server on this machine.
    #[serde(default)]
    pub price: Option<EndpointPrice>,
    /// The window of its models in tokens, when the endpoint's list does not say it.
    #[serde(default)]
    #[schemars(range(min = 2048))]
    pub window: Option<u64>,
}

/// What a million tokens cost.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EndpointPrice {
    /// A million tokens sent, in US dollars.
    #[schemars(range(min = 0.0))]
    pub input: f64,
    /// A million tokens answered, in US dollars.
    #[schemars(range(min = 0.0))]
    pub output: f64,
}

/// The dialects of the chat-completions API that we know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EndpointKind {
    /// OpenRouter: prices, routing and cache fields of its own.
    OpenRouter,
    /// OpenAI itself.
    OpenAi,
    /// Anything else that is compatible: Ollama, vLLM, llama.cpp, LiteLLM, a gateway.
    #[default]
    Generic,
}

/// A forge: where pull requests of the repos on its host live.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForgeAt {
    /// What answers there.
    pub kind: ForgeIs,
    /// Where it answers, when it is not `https://` and the host.
    #[serde(default)]
    #[schemars(extend("format" = "uri"))]
    pub url: Option<String>,
    /// The token of the account that the team works as there.
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("x-secret" = true))]
    pub token: Option<Secret>,
}

/// The kinds of forges that we know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ForgeIs {
    /// GitHub Enterprise, through `gh`.
    GitHub,
    /// GitLab.
    GitLab,
    /// Gitea or Forgejo.
    Gitea,
    /// Git alone: the team keeps its pull requests on the remote itself, and its merges go straight to the default branch.
    Plain,
}

settings! {
    /// Where the hub listens, and how people reach its page.
    #[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
    pub struct HubAddress {
        /// Address and port on which `codebutler up` and `codebutler hub` listen.
        #[schemars(with = "String", extend("format" = "socket-address"))]
        pub listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 7878)),
        /// Encrypts everything: `self`, and the hub makes a certificate once, which others trust by its fingerprint; or the PEM file of a certificate, with those between it and its authority. With it the hub may listen where other machines reach it.
        pub tls: Option<String>,
        /// The PEM file with the private key of the certificate that `hub.tls` names.
        pub tls_key: Option<String>,
        /// The page's address as people reach it, behind a proxy or a tunnel: links begin with it, and
        /// the hub answers to its name.
        #[schemars(extend("format" = "uri"))]
        pub public_url: Option<String>,
        /// An address that is told what newly waits for somebody, as an incoming webhook of Slack, Mattermost or Discord (`/slack`) takes it: `{"text": …}`. Whoever knows the address can write there, so it is kept like a key.
        #[schemars(with = "Option<String>", extend("x-secret" = true, "format" = "webhook"))]
        pub webhook: Option<Secret>,
        /// A collector that takes traces of threads as OTLP over HTTP in JSON, as in `http://127.0.0.1:4318/v1/traces`: who worked how long on what, with which model and tool. No words of people, models or tools are in them.
        #[schemars(with = "Option<String>", extend("x-secret" = true, "format" = "webhook"))]
        pub traces: Option<Secret>,
        /// The secret of webhooks, where the forge can reach the hub: `POST /webhooks/<channel id>` with
        /// it has the team look at the forge at once.
        #[schemars(with = "Option<String>", extend("x-secret" = true))]
        pub forge_secret: Option<Secret>,
        /// A PostgreSQL database for the hub's store, `postgres://user:password@host/name`, in place of a
        /// file: several hubs with the same address are one workspace. `schema=` behind a question mark
        /// names the schema; `codebutler hub migrate` moves a workspace there. Across a network
        /// `sslmode=verify-full` has to be written there, which takes `network.caFile`, or `sslmode=disable`.
        #[schemars(with = "Option<String>", extend("x-secret" = true))]
        pub database: Option<Secret>,
        /// What reads `/metrics` as a bearer token. Unset: whoever reaches a hub that listens to this
        /// machine only and has no `publicUrl`, and nobody else.
        #[schemars(with = "Option<String>", extend("x-secret" = true))]
        pub metrics_token: Option<Secret>,
        /// How long the hub keeps things as they are.
        pub retention: HubRetention,
        /// What each repository, person and token may use.
        pub limits: HubLimits,
    }
}

/// Upper bounds that no repository can raise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Ceilings {
    /// No thread may cost more, in US dollars.
    #[schemars(range(min = 0))]
    pub max_cost_per_thread: Option<f64>,
    /// No repo may cost more in a day, in US dollars.
    #[schemars(range(min = 0))]
    pub max_cost_per_day: Option<f64>,
}

/// What this machine's network needs.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct MachineNetwork {
    /// A PEM file with further certificate authorities.
    pub ca_file: Option<String>,
}

/// What a person on this machine has agreed to, each bound to a repo and a hash.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Consents {
    /// What repos loosen, spend or run.
    pub policy: Vec<Consent>,
}

/// One thing that was agreed to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Consent {
    /// The root folder of the repo.
    pub repo: String,
    /// The hash of exactly what was shown.
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    pub sha256: String,
}
