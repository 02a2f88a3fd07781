//! Texts, blocks, code and diffs to HTML.

pub(crate) mod attached;
pub(crate) mod blocks;
pub(crate) mod chart;
pub(crate) mod code;
pub(crate) mod comment;
pub(crate) mod diff;
pub(crate) mod diff_table;
pub(crate) mod elements;
pub(crate) mod emoji;
pub(crate) mod file_tree;
pub(crate) mod message;
pub(crate) mod plan;
pub(crate) mod rich;
pub(crate) mod sign;
pub(crate) mod text;

pub(crate) use attached::FileTexts;
pub(crate) use message::Scene;
pub(crate) use text::Names;
