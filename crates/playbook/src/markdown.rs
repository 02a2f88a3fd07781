//! Markdown as bytes with places in it: outlines and sections.

pub(crate) mod outline;
pub(crate) mod section;
