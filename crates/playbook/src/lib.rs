//! Markdown that teaches: what each role is told, and how its prompt is put
//! together. Text in, text out; the same sources give the same bytes, so that a
//! provider's prompt cache keeps hitting.
//!
//! [`Playbook`] is the whole of it for one repo at one commit: prompts, intents,
//! skills, workflows, roadmap, research, and what is wrong with any of them.
//!
//! Files that people also edit (skills, workflows, learnings, research, the
//! roadmap) are read tolerantly, and problems name file and line. A change is a
//! splice into the text as it was: what is not part of the change stays, to the
//! byte.
//!
//! Not here: who may do what (that is `policy`), and anything about one
//! scenario or one model.

mod book;
mod builtin;
mod check;
mod errand;
mod intent;
mod learning;
mod memory;
mod outline;
mod problem;
mod prompt;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod properties_kept;
mod prune;
mod relevance;
mod research;
mod research_note;
mod roadmap;
mod roadmap_edit;
mod roadmap_graph;
mod roadmap_item;
mod route;
mod section;
mod skill;
mod skill_folder;
mod small;
mod template;
mod tokens;
mod trigger;
mod update;
mod validate;
mod workflow;

pub use book::Playbook;
pub use builtin::{
    BuiltinFile, builtin_file, builtin_files, builtin_skills, builtin_workflows, role_file,
};
pub use check::validate;
pub use errand::Errand;
pub(crate) use intent::MenuItem;
pub use intent::{Intent, intent, menu};
pub use learning::Learning;
pub(crate) use memory::Entry;
pub use memory::{FILE_BUDGET_TOKENS, Memory, MemoryError};
pub use problem::Problem;
pub use prompt::{Extras, Profile, RepoRules, Sources, prompt, prompt_with, skill_index};
pub use prune::{Evidence, Fate, Pruning, ThreadUse, idle_threads, learnings_in};

pub use research::Research;
pub use research_note::ResearchNote;
pub use roadmap::Roadmap;
pub use roadmap_item::{Item, Status};
pub use route::Topic;
pub(crate) use section::without_section;
pub use skill::{Skill, parse_skill, render_skill};
pub(crate) use skill_folder::parse_skill_folder;
pub use small::SMALL_TOKENS;
pub use template::Captures;
pub use tokens::tokens;
pub use trigger::Trigger;
pub use update::{Conflict, Take, diff, update};
pub use validate::validate_skills;
pub(crate) use validate::{Skills, read_skills};
pub use workflow::{Workflow, parse_workflows};
