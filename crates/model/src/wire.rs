//! The chat-completions wire.
//!
//! [`body`] is a pure function from a request to JSON. It promises a stable
//! prefix: everything that does not change within a conversation stands before
//! `messages`, messages stand last, and a message once written is written the
//! same way again. So each request is the previous one plus what was appended,
//! which is what providers' prompt caches reward (cache markers aside, which
//! move by design).
//!
//! [`Chat`] reads such a request back, for servers that play a model.

mod body;
mod cache;
mod chat;
mod kept;
mod reasoning;
mod settle;

pub use body::body;
pub use chat::{Chat, ChatError};
pub use kept::Kept;
pub use reasoning::keep_reasoning;
pub use settle::{ABANDONED, Line, settle};
