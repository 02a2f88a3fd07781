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
mod intent;
mod markdown;
mod memory;
mod problem;
mod prompt;
#[cfg(test)]
mod properties_kept_tests;
#[cfg(test)]
mod properties_tests;
mod research;
mod roadmap;
mod shortcut;
mod skills;
mod update;
mod workflow;

pub use book::Playbook;
pub use builtin::{
    BuiltinFile, builtin_file, builtin_files, builtin_skills, builtin_workflows, role_file,
};
pub use check::validate;
pub(crate) use intent::MenuItem;
pub use intent::{Intent, intent, menu};
pub(crate) use memory::Entry;
pub use memory::learning::Learning;
pub use memory::map::{ProjectMap, all_lines, map_in, with_map};
pub use memory::prune::{Evidence, Pruning, ThreadUse, idle_threads, learnings_in};
pub use memory::worth::{ThreadStory, Worth};
pub use memory::{FILE_BUDGET_TOKENS, Memory, MemoryError};
pub use problem::Problem;
pub use prompt::{Extras, Profile, RepoRules, Sources, prompt, prompt_with};
pub use shortcut::{ONE_ITEM, Shortcut};

pub(crate) use markdown::outline::one_line;
pub(crate) use markdown::section::without_section;
pub use memory::route::Topic;
pub use prompt::overview::{Layout, Overview};
pub use prompt::small::SMALL_TOKENS;
pub use prompt::tokens::tokens;
pub use research::Research;
pub use research::note::ResearchNote;
pub use roadmap::Roadmap;
pub use roadmap::item::{Item, Status};
pub(crate) use skills::folder::parse_skill_folder;
pub use skills::grown::{Built, Grown};
pub use skills::skill::{Skill, parse_skill, render_skill};
pub use skills::template::Captures;
pub use skills::trigger::Trigger;
pub use skills::validate::validate_skills;
pub(crate) use skills::validate::{Skills, read_skills};
pub use update::{Conflict, Take, diff, update};
pub use workflow::{Workflow, parse_workflows};
