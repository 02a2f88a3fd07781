//! Typed configuration, and what is wrong with it.
//!
//! Four files: the machine's own (`~/.codebutler/config.json`, private) and
//! three in the repo's `.codebutler/` (`config.json`, `policy.json`,
//! `mcp.json`). They are JSON with comments; `${NAME}` in a string is filled
//! from the environment. [`Settings::load`] reads all four and either gives
//! typed values with every default filled in, or [`Problems`]: all of them at
//! once, each with file, line, key and remedy, none with a value from a file.
//!
//! Three rules live here because they are about who may say what. Only the
//! machine's file names hosts, keys and approvers, so that a cloned repo cannot
//! redirect a key. What a repo's policy loosens has no effect until a person on
//! this machine agreed to that exact policy. And a private file that others can
//! read is refused.
//!
//! This room reads files and the environment it is handed. It calls nobody:
//! whether a key works is for `doctor` to find out.

mod agree;
mod check;
mod consent;
mod cross;
mod document;
mod edit;
mod endpoints;
mod format;
mod limits;
mod load;
mod lookup;
mod machine;
mod mcp;
mod models;
mod nearest;
mod path;
mod policy;
mod problem;
mod read;
mod reference;
mod repo;
mod schema;
mod variables;

pub use agree::{AgreeError, Agreement, agree, write_private};
pub use consent::Loosening;
pub use cross::McpOffer;
pub use edit::{Change, EditError, edit};
pub use format::address_problem;
pub use limits::{Limits, MaxTurns};
pub use load::{RepoFiles, Settings};
pub use lookup::{
    FOLDER, HOME_VARIABLE, bare_repository, machine_folder, repository_root, set_up_root,
};
pub use machine::{
    Ceilings, Consent, Consents, Endpoint, EndpointKind, EndpointPrice, HubAddress, KeyOnly,
    Machine, MachineModels, MachineNetwork, SlackTokens,
};
pub use mcp::{McpConfig, McpServer};
pub use models::{
    ArtistModels, CoderModels, LeadModel, ModelChoice, Models, PmModels, Profile, ResearcherModel,
    ReviewerModels, Transcription,
};
pub use policy::{
    BashOverrides, Knowledge, McpApproval, McpAsks, Network, Pattern, PlanGate, Redaction,
    RepoPolicy, RequireApproval, Sandbox, ToolOverrides,
};
pub use problem::{Problem, Problems};
pub use reference::reference;
pub use repo::{
    Channel, Check, Checks, JournalPlace, Language, RepoConfig, Research, RespondTo, RetentionDays,
};
pub use schema::{SchemaName, schema};
pub use variables::Environment;
