//! Commands that show what is there: logs, models, prompts, rules, schemas.

pub(crate) mod jsonl;
pub(crate) mod logs;
pub(crate) mod model;
pub(crate) mod policy;
pub(crate) mod prompt;
pub(crate) mod redact;
pub(crate) mod rehearsal;
pub(crate) mod schema;
pub(crate) mod tool;
pub(crate) mod validate;
