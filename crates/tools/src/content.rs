//! What files hold, as text or pictures that a model can read, and its caps.

pub(crate) mod clip;
pub(crate) mod diff;
pub(crate) mod kind;
pub(crate) mod notebook;
pub(crate) mod outside;
pub(crate) mod pdf;
pub(crate) mod picture;
pub(crate) mod text;
