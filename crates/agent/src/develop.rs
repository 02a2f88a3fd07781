//! Developing the roadmap: a thread per item, several at once, each merged before
//! what depends on it begins. Code does it, no model. The PM's process looks at each
//! run again and again: what the hub keeps of it, what the logs of its threads say and
//! what stands on the default branch go into one pure function ([`next`]), and the
//! steps that come out are carried out under keys that make a repeat harmless. Nothing
//! is remembered here: killed anywhere and started again, the same steps come out.

pub(crate) mod answers;
pub(crate) mod item;
pub(crate) mod message;
pub(crate) mod next;
pub(crate) mod orders;
pub(crate) mod runner;
pub(crate) mod stacking;
pub(crate) mod standing;
pub(crate) mod unattended;
