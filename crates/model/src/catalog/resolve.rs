//! A configured model id against an endpoint's list. Ids get misspelt and
//! retired; an unknown one is an error that names the nearest, never a silent
//! substitute.

use jiff::{ToSpan, civil::Date};

use crate::{ModelInfo, catalog::names};

/// What a configured id turns out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved<'a> {
    /// In the list as written.
    Exact(&'a ModelInfo),
    /// In the list under another spelling (dashes for dots, a date at the end).
    Respelt(&'a ModelInfo),
    /// Not in the list.
    Unknown {
        /// The ids closest to it.
        nearest: Vec<&'a str>,
    },
}

/// Looks an id up.
pub fn resolve<'a>(models: &'a [ModelInfo], id: &str) -> Resolved<'a> {
    let find = |wanted: &str| models.iter().find(|model| model.id == wanted);
    if let Some(model) = find(id) {
        return Resolved::Exact(model);
    }
    // `:free`, `:nitro` and the like choose a way to the same model.
    if let Some(model) = id.rsplit_once(':').and_then(|(base, _)| find(base)) {
        return Resolved::Exact(model);
    }
    let plain = plain_spelling(id);
    let respelt = models
        .iter()
        .find(|model| plain_spelling(&model.id) == plain || model.canonical.as_deref() == Some(id));
    match respelt {
        Some(model) => Resolved::Respelt(model),
        None => {
            let known: Vec<&str> = models.iter().map(|model| model.id.as_str()).collect();
            Resolved::Unknown {
                nearest: names::nearest(id, &known, 3),
            }
        }
    }
}

/// Dots as dashes, and without a date of eight digits at the end.
fn plain_spelling(id: &str) -> String {
    let id = id.to_lowercase().replace('.', "-");
    match id.rsplit_once('-') {
        Some((base, date)) if date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit()) => {
            base.to_owned()
        }
        _ => id,
    }
}

impl ModelInfo {
    /// Whether the model goes away within 30 days of `today`, or already went.
    pub fn expires_soon(&self, today: Date) -> Option<Date> {
        let day = self.expires.as_deref()?.get(..10)?.parse::<Date>().ok()?;
        let soon = today.checked_add(30.days()).ok()?;
        (day <= soon).then_some(day)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::read_models;

    fn models() -> Vec<ModelInfo> {
        read_models(&json!({"data": [
            {"id": "anthropic/claude-opus-4.6", "canonical_slug": "anthropic/claude-4.6-opus"},
            {"id": "anthropic/claude-sonnet-4.5", "expiration_date": "2026-11-30"},
            {"id": "moonshotai/kimi-k2.6"},
            {"id": "openai/gpt-4o-mini", "expiration_date": "2027-01-14T00:00:00Z"},
        ]}))
    }

    #[test]
    fn misspelt_ids_are_found_and_unknown_ones_get_neighbours() {
        let models = models();
        let id = |resolved: Resolved<'_>| match resolved {
            Resolved::Exact(model) => format!("exact {}", model.id),
            Resolved::Respelt(model) => format!("respelt {}", model.id),
            Resolved::Unknown { nearest } => format!("unknown {}", nearest.join(" ")),
        };
        let cases = [
            ("moonshotai/kimi-k2.6", "exact moonshotai/kimi-k2.6"),
            ("moonshotai/kimi-k2.6:free", "exact moonshotai/kimi-k2.6"),
            (
                "anthropic/claude-opus-4-6",
                "respelt anthropic/claude-opus-4.6",
            ),
            (
                "anthropic/claude-4.6-opus",
                "respelt anthropic/claude-opus-4.6",
            ),
            (
                "anthropic/claude-sonnet-4-5-20250929",
                "respelt anthropic/claude-sonnet-4.5",
            ),
        ];
        for (written, expected) in cases {
            assert_eq!(id(resolve(&models, written)), expected);
        }
        let unknown = id(resolve(&models, "moonshotai/kimi-k2"));
        assert!(
            unknown.starts_with("unknown moonshotai/kimi-k2.6"),
            "{unknown}"
        );
        assert_eq!(id(resolve(&models, "x")), "unknown ");
    }

    #[test]
    fn a_model_that_goes_away_within_a_month_is_named() {
        let models = models();
        let today: Date = "2026-11-15".parse().unwrap();
        let soon: Vec<_> = models
            .iter()
            .filter_map(|m| Some((&m.id, m.expires_soon(today)?)))
            .collect();
        assert_eq!(soon.len(), 1);
        assert_eq!(soon[0].0, "anthropic/claude-sonnet-4.5");
    }
}
