//! What was said in a thread, whole.

use serde_json::Value;

use crate::team::says;

/// Every message, in order.
pub(crate) fn texts(thread: &Value) -> Vec<String> {
    let messages = thread["messages"].as_array().into_iter().flatten();
    let texts = messages.map(|message| message["text"].as_str().unwrap_or_default());
    texts.map(str::to_owned).collect()
}

/// Where something was said first.
#[track_caller]
pub(crate) fn place(thread: &Value, words: &str) -> usize {
    let all = texts(thread);
    let at = all.iter().position(|text| text.contains(words));
    at.unwrap_or_else(|| panic!("“{words}” was not said in {all:#?}"))
}

/// Whether the thread was merged and reported.
pub(crate) fn ended(thread: &Value) -> bool {
    says(thread, "What it took")
}
