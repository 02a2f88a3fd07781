//! Where a provider wants to be told what to cache.
//!
//! Three marks of the four that are allowed: the prompt (with the tools, which
//! come before it), the end of what the previous request had, and the end of
//! this one. The first two are read, the last is written.

use serde_json::{Map, Value, json};

use super::settle::Kind;
use crate::{CacheLife, EndpointKind, ModelRequest};

/// Families whose providers cache only what is marked, or honour marks.
const MARKED_FAMILIES: [&str; 6] = [
    "anthropic/",
    "google/gemini",
    "qwen/",
    "z-ai/glm",
    "minimax/",
    "claude",
];

/// Which messages carry a mark.
pub(super) struct Marks {
    places: Vec<usize>,
    control: Option<Value>,
}

/// The marks of a request; nothing where content must stay a plain string.
pub(super) fn marks(request: &ModelRequest, kind: EndpointKind, lines: &[Kind]) -> Option<Marks> {
    if kind != EndpointKind::Openrouter || !is_marked_family(&request.model) {
        return None;
    }
    let control = match request.cache {
        // Parts all the same: a later request of this conversation may be marked.
        CacheLife::Off => None,
        CacheLife::Short => Some(json!({"type": "ephemeral"})),
        CacheLife::Long => Some(json!({"type": "ephemeral", "ttl": "1h"})),
    };
    Some(Marks {
        places: places(lines),
        control,
    })
}

fn is_marked_family(model: &str) -> bool {
    let model = model.trim_start_matches('~');
    MARKED_FAMILIES
        .iter()
        .any(|family| model.starts_with(family))
}

/// The prompt, the last input before the last answer, and the last input.
fn places(lines: &[Kind]) -> Vec<usize> {
    let last = |lines: &[Kind], kind| lines.iter().rposition(|line| *line == kind);
    let last_answer = last(lines, Kind::Answer).unwrap_or(0);
    let prompt = (lines.first() == Some(&Kind::Prompt)).then_some(0);
    let before = last(&lines[..last_answer], Kind::Input);
    let newest = last(lines, Kind::Input);
    let mut places: Vec<usize> = [prompt, before, newest].into_iter().flatten().collect();
    places.dedup();
    places
}

impl Marks {
    /// No marks, in a dialect that could have some.
    pub(super) fn none() -> Self {
        Self {
            places: Vec::new(),
            control: None,
        }
    }

    /// Where there are marks, in order.
    pub(super) fn places(&self) -> &[usize] {
        if self.control.is_some() {
            &self.places
        } else {
            &[]
        }
    }

    /// Marks the last part of a message, where the provider reads it.
    pub(super) fn mark(&self, part: &mut Map<String, Value>, place: usize) {
        if let Some(control) = &self.control
            && self.places.contains(&place)
        {
            part.insert("cache_control".into(), control.clone());
        }
    }
}
