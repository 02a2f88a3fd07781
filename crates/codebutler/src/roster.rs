//! The configured model ids against what an endpoint has: which are misspelt,
//! unknown or about to go, and what an agent should know of its own before its
//! first call: price, window, length of an answer.

use std::{path::PathBuf, time::Duration};

use butler_agent::Rules;
use butler_config::Settings;
use butler_model::{ClientConfig, EndpointKind, ModelClient, ModelInfo, Resolved, resolve};
use butler_protocol::Role;
use butler_turn::Models;
use jiff::{Timestamp, civil::Date};
use tracing::{error, info, warn};

/// A list younger than this is not asked for again.
const AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// No agent waits longer for a list before it begins to work.
const PATIENCE: Duration = Duration::from_secs(5);

/// Something about a configured id that people should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remark {
    /// The key that names the id.
    pub key: String,
    /// What is the matter.
    pub what: String,
    /// What to do about it.
    pub fix: String,
    /// Calls with this id will fail.
    pub fatal: bool,
    /// The endpoint's list does not have it.
    pub missing: bool,
}

/// Compares ids, each with its key, with an endpoint's list.
pub(crate) fn compare(
    models: &[ModelInfo],
    ids: &[(String, String)],
    kind: EndpointKind,
    today: Date,
) -> Vec<Remark> {
    let judge = |(key, id): &(String, String)| {
        let remark = |what: String, fix: String, fatal: bool| Remark {
            key: key.clone(),
            what,
            fix,
            fatal,
            missing: false,
        };
        match resolve(models, id) {
            Resolved::Exact(model) | Resolved::Respelt(model)
                if model.expires_soon(today).is_some() =>
            {
                let day = model.expires_soon(today)?;
                let what = format!("{id} goes away on {day}");
                Some(remark(what, format!("choose another one for {key}"), false))
            }
            Resolved::Exact(_) => None,
            Resolved::Respelt(model) => {
                let what = format!("{id} is called {} here", model.id);
                Some(remark(what, format!("write {} in {key}", model.id), false))
            }
            Resolved::Unknown { nearest } => {
                let what = format!("{id} is not in the endpoint's list");
                let few: Vec<&str> = models.iter().map(|model| model.id.as_str()).collect();
                let fix = match nearest.as_slice() {
                    [] if few.len() <= 8 => format!("it has {}", few.join(", ")),
                    [] => "`codebutler model list` shows what it has".to_owned(),
                    near => format!("did you mean {}?", near.join(", ")),
                };
                // A local server answers under any name with the model it has.
                let fatal = kind != EndpointKind::Generic;
                Some(Remark {
                    missing: true,
                    ..remark(what, fix, fatal)
                })
            }
        }
    };
    ids.iter().filter_map(judge).collect()
}

/// Where the list of a role's endpoint is kept.
pub(crate) fn kept(settings: &Settings, role: Role) -> PathBuf {
    let endpoint = settings.machine.endpoint_for(role);
    let name = endpoint.map_or_else(|| "main".to_owned(), |(name, _)| name);
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    settings.home.join("models").join(format!("{plain}.json"))
}

/// Looks a role's models up before it works with them: says what is wrong with
/// them, fits prices, window and answer length, and takes a way out away that leads
/// nowhere. An endpoint without a list, or one that is away, holds nobody up;
/// whether there was a list.
pub(crate) async fn fit(
    settings: &Settings,
    role: Role,
    client_config: &mut ClientConfig,
    rules: &mut Rules,
) -> bool {
    let Ok(client) = ModelClient::new(client_config.clone()) else {
        return false;
    };
    let path = kept(settings, role);
    let asking = client.models_kept(&path, Timestamp::now(), AGE);
    let models = match tokio::time::timeout(PATIENCE, asking).await {
        Ok(Ok(catalog)) => catalog.models,
        Ok(Err(error)) => {
            warn!(%error, "the models could not be compared with the endpoint's list");
            return false;
        }
        Err(_) => {
            warn!("the endpoint's model list did not come in time");
            return false;
        }
    };
    let ids = settings.repo.models.ids(role);
    let kind = client_config.endpoint.kind;
    for remark in compare(&models, &ids, kind, today()) {
        let Remark { key, what, fix, .. } = &remark;
        if remark.fatal {
            error!("{key}: {what}; {fix}");
        } else {
            warn!("{key}: {what}; {fix}");
        }
    }
    learn(&models, client_config);
    let shipped = butler_config::Models::default().of(role).fallback;
    if let Some(remark) = drop_fallback(&models, role, &mut rules.models.chain) {
        // Nobody here wrote the shipped one down: there is nothing to correct.
        if settings.repo.models.of(role).fallback != shipped {
            rules.remarks.push(remark);
        }
    }
    apply(&models, &mut rules.models.chain);
    let seeing = rules.models.seeing.take();
    rules.models.seeing = seeing.and_then(|id| match resolve(&models, &id) {
        Resolved::Exact(model) | Resolved::Respelt(model) => Some(model.id.clone()),
        Resolved::Unknown { .. } => None,
    });
    true
}

/// A way out to a model that the endpoint does not have is none: what is wrong
/// with it, when it was taken away.
fn drop_fallback(models: &[ModelInfo], role: Role, chain: &mut Models) -> Option<String> {
    let id = chain.fallback.as_ref()?;
    let Resolved::Unknown { nearest } = resolve(models, id) else {
        return None;
    };
    if models.is_empty() {
        return None;
    }
    let instead = match nearest.as_slice() {
        [] => "`codebutler model list` shows what it has.".to_owned(),
        near => format!("did you mean `{}`?", near.join("`, `")),
    };
    let remark = format!(
        "The endpoint has no model `{id}`, which `models.{role}.fallbackModel` names; {instead} Until that is changed I work without a fallback model."
    );
    chain.fallback = None;
    Some(remark)
}

/// The present day, in UTC.
pub(crate) fn today() -> Date {
    Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date()
}

fn learn(models: &[ModelInfo], client: &mut ClientConfig) {
    for model in models {
        if let Some(price) = &model.price {
            client.prices.list(&model.id, price.clone());
        }
        if model.vision == Some(false) {
            client.blind.insert(model.id.clone());
        }
    }
}

fn apply(models: &[ModelInfo], chosen: &mut Models) {
    let mut window = None;
    let names = std::iter::once(&mut chosen.usual)
        .chain(&mut chosen.fallback)
        .chain(&mut chosen.stronger);
    for id in names {
        let (Resolved::Exact(model) | Resolved::Respelt(model)) = resolve(models, id) else {
            continue;
        };
        if matches!(resolve(models, id), Resolved::Respelt(_)) {
            info!(configured = %id, asked = %model.id, "the model is asked under its own name");
            id.clone_from(&model.id);
        }
        // One conversation must fit whoever answers it.
        window = [window, model.context].into_iter().flatten().min();
        if let Some(most) = model.max_output {
            let most = u32::try_from(most).unwrap_or(u32::MAX);
            chosen.max_tokens = chosen.max_tokens.min(most);
        }
    }
    if let Some(window) = window {
        chosen.window_tokens = window;
        let quarter = u32::try_from(window / 4).unwrap_or(u32::MAX);
        chosen.max_tokens = chosen.max_tokens.min(quarter.max(256));
    }
}

#[cfg(test)]
mod tests {
    use butler_model::read_models;
    use serde_json::json;

    use super::*;

    fn models() -> Vec<ModelInfo> {
        read_models(&json!({"data": [
            {"id": "anthropic/claude-opus-4.6", "context_length": 200_000},
            {"id": "anthropic/claude-sonnet-5", "context_length": 1_000_000},
            {"id": "openai/gpt-4o-mini", "expiration_date": "2026-12-01"},
        ]}))
    }

    fn remarks(id: &str, kind: EndpointKind) -> Vec<Remark> {
        let ids = [("models.lead.model".to_owned(), id.to_owned())];
        compare(&models(), &ids, kind, "2026-11-15".parse().unwrap())
    }

    #[test]
    fn an_unknown_id_is_named_with_the_nearest_and_one_that_is_there_is_not() {
        assert_eq!(
            remarks("anthropic/claude-sonnet-5", EndpointKind::Openrouter),
            []
        );
        let unknown = remarks("anthropic/claude-sonet-5", EndpointKind::Openrouter);
        assert!(unknown[0].fatal && unknown[0].key == "models.lead.model");
        assert!(
            unknown[0].fix.contains("anthropic/claude-sonnet-5"),
            "{unknown:?}"
        );
        let local = remarks("anything", EndpointKind::Generic);
        assert!(
            !local[0].fatal && local[0].fix.starts_with("it has "),
            "{local:?}"
        );
    }

    #[test]
    fn a_respelt_id_and_one_that_goes_away_are_warnings() {
        let respelt = remarks("anthropic/claude-opus-4-6", EndpointKind::Openrouter);
        assert!(!respelt[0].fatal && respelt[0].what.contains("claude-opus-4.6"));
        let going = remarks("openai/gpt-4o-mini", EndpointKind::Openrouter);
        assert!(
            !going[0].fatal && going[0].what.contains("2026-12-01"),
            "{going:?}"
        );
    }
}
