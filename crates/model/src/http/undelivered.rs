//! Failures that are about the endpoint and not about the model: nobody answers
//! there, or it wants a key that it was not given. They name the address and
//! what to look at, because the model's name says neither.

use std::error::Error;

use crate::{Endpoint, ErrorClass, ModelError, Refusal, Trouble, classify};

/// A request that brought no answer, or only a part of one.
pub(crate) fn lost(model: &str, endpoint: &Endpoint, error: reqwest::Error) -> ModelError {
    let connecting = error.is_connect();
    let error = error.without_url();
    let mut causes = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(inner) = cause {
        causes.push(inner.to_string());
        cause = inner.source();
    }
    if !connecting {
        return ErrorClass::Timeout.with(Trouble::new(model, causes.join(": ")));
    }
    // What lies around the last cause is about our own layers.
    let why = causes.pop().unwrap_or_default();
    let (address, from) = (endpoint.address(), &endpoint.address_from);
    let detail =
        format!("{address}: {why}; is the server running and reachable, and is {from} right?");
    ModelError::Unreachable(Trouble::new(model, detail))
}

/// An answer that is an error.
pub(crate) fn refused(model: &str, endpoint: &Endpoint, refusal: &Refusal) -> ModelError {
    let mut headers = endpoint.headers.iter();
    let brought_one = endpoint.key.is_some()
        || headers.any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    match classify(model, refusal) {
        ModelError::Auth(mut trouble) if !brought_one => {
            let (address, from) = (endpoint.address(), &endpoint.key_from);
            trouble.detail = format!("{address} wants one ({}); {from} gives it", trouble.detail);
            ModelError::NoKey(trouble)
        }
        error => error,
    }
}
