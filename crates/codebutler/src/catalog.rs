//! What the endpoint's own list says about the models of a role: how much they
//! hold, what they cost, and whether they are there at all. Asked once at the
//! start of an agent, kept on disk for the next one.

use std::time::Duration;

use butler_model::{ModelClient, ModelInfo, Resolved, resolve};
use butler_settings::Settings;
use butler_team::AgentConfig;
use butler_turn::Models;
use jiff::Timestamp;

/// How long a list is believed.
const AGE: Duration = Duration::from_secs(24 * 3600);
/// An endpoint that does not answer now may when it is needed; the agent starts.
const PATIENCE: Duration = Duration::from_secs(5);
/// For models of which nobody knows better.
pub const USUAL_WINDOW: u64 = 128_000;
/// The most that one answer may hold: room for a long file, and little enough
/// that its worst case does not eat the purse.
pub const LONGEST_ANSWER: u64 = 8_192;

/// Asks the endpoint of this agent for its models, and fills in what it says.
pub async fn consult(config: &mut AgentConfig, settings: &Settings) {
    let Ok(client) = ModelClient::new(config.client.clone()) else {
        // The agent itself will say what is wrong with its endpoint.
        return;
    };
    let endpoint = settings.machine.endpoint_for(config.role);
    let name = endpoint.map_or_else(String::new, |(name, _)| name);
    let file = settings.home.join("models").join(format!("{name}.json"));
    let listed = client.models_kept(&file, Timestamp::now(), AGE);
    match tokio::time::timeout(PATIENCE, listed).await {
        Ok(Ok(catalog)) => take(config, &catalog.models),
        Ok(Err(error)) => tracing::warn!(%error, "the endpoint does not list its models"),
        Err(_) => tracing::warn!("the endpoint does not answer yet; its models are not known"),
    }
}

fn take(config: &mut AgentConfig, listed: &[ModelInfo]) {
    // Some servers have no list; that says nothing about their models.
    if listed.is_empty() {
        return;
    }
    let names = [Some(&config.models.usual), config.models.fallback.as_ref()];
    let mut known = Vec::new();
    for name in names.into_iter().flatten() {
        match resolve(listed, name) {
            Resolved::Exact(model) | Resolved::Respelt(model) => known.push((name.clone(), model)),
            Resolved::Unknown { nearest } => tracing::warn!(
                role = %config.role, model = %name, nearest = nearest.join(", "),
                "the endpoint does not list this model; `codebutler model list` shows what it has"
            ),
        }
    }
    for (name, model) in &known {
        if let Some(price) = &model.price {
            config.client.prices.list(name.clone(), price.clone());
        }
    }
    fit(&mut config.models, known.iter().map(|(_, model)| *model));
}

/// The smallest of the windows counts: the fallback must be able to go on with
/// the same conversation.
fn fit<'a>(models: &mut Models, known: impl Iterator<Item = &'a ModelInfo> + Clone) {
    if let Some(window) = known.clone().filter_map(|model| model.context).min() {
        models.window_tokens = window;
    }
    let longest = known.filter_map(|model| model.max_output).min();
    let longest = longest.unwrap_or(LONGEST_ANSWER).min(LONGEST_ANSWER);
    models.max_tokens = answer_within(models.window_tokens, longest);
}

/// A quarter of a small window at most: the rest is for what the model reads.
pub fn answer_within(window: u64, longest: u64) -> u32 {
    u32::try_from(longest.min(window / 4).max(256)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn models() -> Models {
        Models {
            usual: "a".into(),
            fallback: None,
            stronger: None,
            window_tokens: USUAL_WINDOW,
            max_tokens: 8_192,
        }
    }

    fn listed(text: &str) -> Vec<ModelInfo> {
        butler_model::read_models(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn the_smallest_window_and_answer_of_the_list_count() {
        let list = listed(
            r#"{"data": [{"id": "a", "context_length": 200000},
                {"id": "b", "context_length": 32768,
                 "top_provider": {"context_length": 32768, "max_completion_tokens": 4096}}]}"#,
        );
        let mut fitted = models();
        fit(&mut fitted, list.iter());
        assert_eq!((fitted.window_tokens, fitted.max_tokens), (32_768, 4_096));
    }

    #[test]
    fn a_list_without_sizes_changes_nothing_and_a_small_window_leaves_room_to_read() {
        let mut fitted = models();
        fit(&mut fitted, listed(r#"{"data": [{"id": "a"}]}"#).iter());
        assert_eq!((fitted.window_tokens, fitted.max_tokens), (128_000, 8_192));
        assert_eq!(answer_within(8_192, LONGEST_ANSWER), 2_048);
    }
}
