//! Typed configuration, and what is wrong with it.
//!
//! Four files: the machine's own (`~/.codebutler/config.json`, private) and three
//! in the repo's `.codebutler/` (`config.json`, `policy.json`, `mcp.json`). They are JSON with
//! comments. [`Settings::load`] reads all of them and either gives typed values
//! with every default filled in, or [`Problems`]: all of them at once, each with
//! file, line, key and remedy, none with a value from a file.
//!
//! Four rules live here because they are about who may say what. Only the
//! machine config names hosts, keys and approvers, so that a cloned repo cannot
//! redirect a key. Only there `${NAME}` is filled from the environment. What a
//! repo's files loosen, spend or run has no effect until a person on this machine
//! agreed to exactly that ([`Ask`]). And a private file that others can read is
//! refused.
//!
//! This crate reads files and the environment it is handed. It calls nobody:
//! whether a key works is for `doctor` to find out.

#[macro_use]
mod settings;

mod consent;
mod cross;
mod endpoints;
mod file;
mod limits;
mod load;
mod lookup;
mod machine;
mod mcp;
mod models;
mod policy;
mod reference;
mod repo;
mod schema;
mod shown;

pub use consent::agree::{agree, write_private};
pub use consent::{Ask, hash_of};
pub use file::edit::{Change, edit};
pub use file::format::address_problem;
pub use file::problem::{Problem, Problems};
pub use limits::Limits;
pub use load::{RepoFiles, Settings};
pub use lookup::{
    FOLDER, HOME_VARIABLE, bare_repository, machine_folder, repository_root, set_up_root,
};
pub use machine::joined::{JoinedHub, JoinedRole};
pub use machine::search::SearchEngineKind;
pub use machine::{Endpoint, EndpointKind, EndpointPrice, ForgeAt, ForgeIs, Machine, SlackTokens};
pub use mcp::McpEntry;
pub use models::{Models, PmModels, Profile};
pub use policy::{Knowledge, McpApproval, Undoable};
pub use reference::reference;
pub use repo::{Check, JournalPlace, Language, RespondTo};
pub use schema::{SchemaName, schema};
pub use shown::{Origin, Shown, shown};
