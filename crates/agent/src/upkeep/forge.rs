//! What is kept up with the forge: the looks at open pull requests and at issues, the pause
//! between them, and what others see of a pull request there and at the hub.

pub(crate) mod issue_watch;
pub(crate) mod pull_news;
pub(crate) mod pull_page;
pub(crate) mod pull_watch;
pub(crate) mod wake;
