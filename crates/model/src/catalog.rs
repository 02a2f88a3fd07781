//! Which models an endpoint has, with window and price.
//!
//! Lists differ: OpenRouter gives prices as decimal strings per token,
//! llama.cpp hides the window in `meta.n_ctx`, vLLM calls it `max_model_len`,
//! OpenAI gives names only. What is missing stays unknown.

pub(crate) mod decimal;
pub(crate) mod file;
pub(crate) mod names;
pub(crate) mod price;
pub(crate) mod probe;
pub(crate) mod resolve;

use std::time::Duration;

use butler_protocol::{Price, Usd};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    ClientConfig, EndpointKind, ErrorClass, ListPrice, ModelError, Refusal, Trouble,
    catalog::decimal::{count, dollars, per_million},
    http::{retry_after::retry_after, undelivered},
};

/// One model of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// The id to ask for.
    pub id: String,
    /// The name the provider answers under, when it differs.
    pub canonical: Option<String>,
    /// The window in tokens, the smallest that the list admits to.
    pub context: Option<u64>,
    /// The most tokens of one answer.
    pub max_output: Option<u64>,
    pub price: Option<ListPrice>,
    /// Whether it takes tools, when the list says so.
    pub tools: Option<bool>,
    /// Whether it can see, when the list says so.
    pub vision: Option<bool>,
    /// The day it goes away, `YYYY-MM-DD`.
    pub expires: Option<String>,
}

const PATIENCE: Duration = Duration::from_secs(30);

/// Asks an endpoint for its models.
pub(crate) async fn fetch(
    http: &reqwest::Client,
    config: &ClientConfig,
) -> Result<Vec<ModelInfo>, ModelError> {
    let name = format!("the model list of {}", config.endpoint.host());
    let answer = get(http, config, "models", &name).await?;
    Ok(read_models(&answer))
}

/// Asks whether the endpoint takes our key, without spending anything. OpenRouter
/// shows its list to everybody, so it is asked about the key itself; elsewhere the
/// list is asked for.
pub(crate) async fn check_key(
    http: &reqwest::Client,
    config: &ClientConfig,
) -> Result<(), ModelError> {
    if config.endpoint.kind != EndpointKind::Openrouter {
        return fetch(http, config).await.map(drop);
    }
    let name = config.endpoint.host();
    get(http, config, "key", &name).await.map(drop)
}

async fn get(
    http: &reqwest::Client,
    config: &ClientConfig,
    method: &str,
    name: &str,
) -> Result<Value, ModelError> {
    let request = http.get(config.endpoint.url(method)).timeout(PATIENCE);
    answer(request, config, name).await
}

/// Asks once and reads the answer as JSON; `name` is what a failure is about.
pub(crate) async fn answer(
    request: reqwest::RequestBuilder,
    config: &ClientConfig,
    name: &str,
) -> Result<Value, ModelError> {
    let lost = |error| undelivered::lost(name, &config.endpoint, error);
    let response = request.send().await.map_err(lost)?;
    let status = response.status();
    let wait = retry_after(response.headers(), Timestamp::now());
    let body = response.text().await.map_err(lost)?;
    // A gateway in trouble may say so in HTML; anybody else who does is no model server.
    if is_page(&body) && !status.is_server_error() {
        let said = format!("{} answers with a web page", config.endpoint.address());
        return Err(ErrorClass::Malformed.with(Trouble::new(name, said)));
    }
    if !status.is_success() {
        let refusal = Refusal {
            status: Some(status.as_u16()),
            retry_after: wait,
            body,
        };
        return Err(undelivered::refused(name, &config.endpoint, &refusal));
    }
    serde_json::from_str(&body)
        .map_err(|error| ErrorClass::Malformed.with(Trouble::new(name, error.to_string())))
}

fn is_page(body: &str) -> bool {
    let start: String = body.trim_start().chars().take(15).collect();
    let start = start.to_ascii_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html")
}

/// Reads an endpoint's answer to `GET /models`; entries without an id are left out.
pub fn read_models(answer: &Value) -> Vec<ModelInfo> {
    let list = answer.get("data").unwrap_or(answer);
    let entries = list.as_array().map(Vec::as_slice).unwrap_or_default();
    entries.iter().filter_map(read_model).collect()
}

fn read_model(entry: &Value) -> Option<ModelInfo> {
    let id = entry.get("id")?.as_str()?.to_owned();
    let number = |pointer: &str| count(entry.pointer(pointer));
    let word = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    let lists = |pointer: &str, wanted: &str| {
        let words = entry.pointer(pointer)?.as_array()?;
        Some(words.iter().any(|word| word == wanted))
    };
    let context = [
        "/context_length",
        "/top_provider/context_length",
        "/meta/n_ctx",
        "/max_model_len",
    ]
    .into_iter()
    .filter_map(number)
    .filter(|tokens| *tokens > 0)
    .min();
    Some(ModelInfo {
        canonical: word("canonical_slug").filter(|slug| *slug != id),
        context,
        max_output: number("/top_provider/max_completion_tokens"),
        price: entry.get("pricing").and_then(read_price),
        tools: lists("/supported_parameters", "tools"),
        vision: lists("/architecture/input_modalities", "image"),
        expires: word("expiration_date").or_else(|| word("shutdown_date")),
        id,
    })
}

fn read_price(pricing: &Value) -> Option<ListPrice> {
    let base = price_over(pricing, None)?;
    let overrides = pricing.get("overrides").and_then(Value::as_array);
    let longer = overrides.into_iter().flatten().filter_map(|entry| {
        let from = entry.get("min_prompt_tokens")?.as_u64()?;
        Some((from, price_over(entry, Some(base))?))
    });
    let mut longer: Vec<(u64, Price)> = longer.collect();
    longer.sort_by_key(|(from, _)| *from);
    let per_request = pricing.get("request").and_then(dollars);
    Some(ListPrice {
        base,
        per_request: per_request.unwrap_or(Usd::ZERO),
        longer,
    })
}

/// Reads the four rates; what is missing comes from `base`, else cached input
/// costs what input costs. A negative price means that nobody knows.
fn price_over(pricing: &Value, base: Option<Price>) -> Option<Price> {
    let input = field(pricing, "prompt").or(base.map(|b| b.input))?;
    let output = field(pricing, "completion").or(base.map(|b| b.output))?;
    let cached_input = field(pricing, "input_cache_read").or(base.map(|b| b.cached_input));
    let cache_write = field(pricing, "input_cache_write").or(base.map(|b| b.cache_write));
    Some(Price {
        input,
        output,
        cached_input: cached_input.unwrap_or(input),
        cache_write: cache_write.unwrap_or(input),
    })
}

fn field(pricing: &Value, key: &str) -> Option<Usd> {
    per_million(pricing.get(key)?)
}
