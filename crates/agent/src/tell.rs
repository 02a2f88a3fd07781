//! What people and other roles read: posts, renderings, reports, journals.

pub(crate) mod bill;
pub(crate) mod change;
pub(crate) mod checklist;
pub(crate) mod forge_text;
pub(crate) mod hub_updates;
pub(crate) mod joining;
pub(crate) mod kept_views;
pub(crate) mod offers;
pub(crate) mod plan_changes;
pub(crate) mod poster;
pub(crate) mod render;
pub(crate) mod report;
pub(crate) mod thread_journal;
pub(crate) mod thread_logs;
pub(crate) mod thread_page;
pub(crate) mod thread_status;
