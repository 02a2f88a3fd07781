//! Markdown that teaches: what each role is told, and how its prompt is put
//! together. Text in, text out; the same sources give the same bytes, so that a
//! provider's prompt cache keeps hitting.
//!
//! Not here: who may do what (that is `policy`), and anything about one
//! scenario or one model.

mod builtin;
mod prompt;
mod section;

pub use builtin::{BuiltinFile, builtin_files, role_file};
pub use prompt::{RepoRules, Sources, prompt};
pub use section::without_section;
