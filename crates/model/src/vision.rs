//! Pictures for models that cannot see, and for endpoints that refuse one: a
//! sentence stands in for them. A picture that is refused would otherwise be
//! refused again on every later turn, because the conversation keeps it.

use std::{borrow::Cow, sync::Arc};

use butler_protocol::ModelMessage;

use crate::{ErrorClass, ModelError, ModelRequest};

/// The request as a model without eyes reads it.
pub(crate) fn described<'a>(request: &'a ModelRequest, why: &str) -> Cow<'a, ModelRequest> {
    if !request.messages.iter().any(|message| has_pictures(message)) {
        return Cow::Borrowed(request);
    }
    let mut told = request.clone();
    for message in told
        .messages
        .iter_mut()
        .filter(|message| has_pictures(message))
    {
        let ModelMessage::User { text, images } = Arc::make_mut(message) else {
            continue;
        };
        let kinds: Vec<&str> = images
            .iter()
            .map(|image| image.media_type.as_str())
            .collect();
        let what = match kinds.len() {
            1 => "a picture".to_owned(),
            several => format!("{several} pictures"),
        };
        let kinds = kinds.join(", ");
        let sentence =
            format!("[not shown: {what} ({kinds}); {why}. Say so if the work depends on it.]");
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&sentence);
        images.clear();
    }
    Cow::Owned(told)
}

/// The request once more without pictures, when they were what the endpoint
/// did not like: a model that no list calls blind, or a picture it cannot read.
pub(crate) fn after_refusal(request: &ModelRequest, error: &ModelError) -> Option<ModelRequest> {
    let final_word = !matches!(
        error.class(),
        ErrorClass::Cancelled | ErrorClass::Timeout | ErrorClass::RateLimited
    );
    let detail = error.to_string().to_lowercase();
    let about_it = ["image", "vision", "multimodal", "mmproj"];
    if !final_word || !about_it.iter().any(|word| detail.contains(word)) {
        return None;
    }
    match described(request, "the endpoint refused it") {
        Cow::Owned(told) => Some(told),
        Cow::Borrowed(_) => None,
    }
}

fn has_pictures(message: &ModelMessage) -> bool {
    matches!(message, ModelMessage::User { images, .. } if !images.is_empty())
}
