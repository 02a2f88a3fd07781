//! Skills: reusable commands that a team keeps as Markdown files.

pub(crate) mod folder;
pub(crate) mod grown;
pub(crate) mod skill;
pub(crate) mod template;
pub(crate) mod trigger;
pub(crate) mod validate;
