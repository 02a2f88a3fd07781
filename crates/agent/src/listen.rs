//! From an envelope of the hub to mail for a thread: routing, control words, drafts, buttons.

pub(crate) mod buttons;
pub(crate) mod control_words;
pub(crate) mod draft;
pub(crate) mod drafting;
pub(crate) mod group;
pub(crate) mod intake;
pub(crate) mod issue;
pub(crate) mod pause;
pub(crate) mod process;
pub(crate) mod restart;
pub(crate) mod shortcut;
pub(crate) mod triage;
pub(crate) mod voice;
pub(crate) mod work_key;
