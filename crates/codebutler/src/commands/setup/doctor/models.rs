//! The models of the roles: are the configured ids in the endpoint's list, and,
//! with `--probe`, are the models fit for the work? The probe asks each of them
//! to call a tool and to find a word at the beginning of a long prompt, because
//! some servers ignore tools and some cut a prompt without a word.

use std::{collections::BTreeMap, time::Duration};

use butler_config::Settings;
use butler_model::{ErrorClass, ModelClient, ModelError, ModelInfo, ToolFitness, WindowFitness};
use butler_protocol::Role;
use tokio_util::sync::CancellationToken;

use crate::commands::setup::doctor::{Finding, Place};
use crate::{commands::environment, roster, wiring};

const LISTED: &str = "models";
const FITNESS: &str = "model fitness";
/// Longer than any list takes.
const PATIENCE: Duration = Duration::from_secs(15);
/// What prompt, tools and a few results need, and the same for `profile: small`.
const WINDOW: u64 = 12_000;
const SMALL_WINDOW: u64 = 4_000;

pub(crate) fn examine(place: &Place) -> Vec<Finding> {
    let settings = place
        .set_up
        .as_ref()
        .and_then(|root| Settings::load(root, &environment).ok());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match (settings, runtime) {
        (Some(settings), Ok(runtime)) => runtime.block_on(look(&settings, place.probe)),
        // What is wrong with the settings is said elsewhere.
        _ => Vec::new(),
    }
}

async fn look(settings: &Settings, probe: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, (_, roles)) in wiring::roles_by_endpoint(&settings.machine) {
        let config = wiring::client_config(&settings.machine, &settings.home, roles[0]);
        let client = match config.map(ModelClient::new) {
            Ok(Ok(client)) => client,
            Ok(Err(error)) => {
                findings.push(unusable(&name, &error.to_string()));
                continue;
            }
            Err(_) => {
                findings.push(unusable(&name, "its baseUrl is no address"));
                continue;
            }
        };
        findings.extend(listed(settings, &name, &roles, &client).await);
        if probe {
            findings.extend(fitness(settings, &roles, &client).await);
        }
    }
    findings
}

async fn listed(
    settings: &Settings,
    name: &str,
    roles: &[Role],
    client: &ModelClient,
) -> Vec<Finding> {
    let models = match tokio::time::timeout(PATIENCE, client.models()).await {
        Ok(Ok(models)) => models,
        Ok(Err(error)) => return vec![without_list(name, &error)],
        Err(_) => return vec![unusable(name, "it does not answer")],
    };
    let ids: Vec<(String, String)> = roles
        .iter()
        .flat_map(|role| settings.repo.models.ids(*role))
        .collect();
    compared(name, &models, &ids, client)
}

fn compared(
    name: &str,
    models: &[ModelInfo],
    ids: &[(String, String)],
    client: &ModelClient,
) -> Vec<Finding> {
    let kind = client.config().endpoint.kind;
    let remarks = roster::compare(models, ids, kind, roster::today());
    if remarks.is_empty() {
        let what = format!("all {} configured ids are known to {name}", ids.len());
        return vec![Finding::ok(LISTED, what)];
    }
    let remarks = remarks.into_iter().map(|remark| {
        let what = format!("{}: {}", remark.key, remark.what);
        if remark.fatal {
            Finding::failed(LISTED, what, remark.fix)
        } else {
            Finding::warning(LISTED, what, remark.fix)
        }
    });
    remarks.collect()
}

/// No list, but perhaps models: only what would fail a request for an answer too
/// is a failure.
fn without_list(name: &str, error: &ModelError) -> Finding {
    match error.class() {
        ErrorClass::Timeout
        | ErrorClass::Auth
        | ErrorClass::Forbidden
        | ErrorClass::NoCredit
        | ErrorClass::Setup => unusable(name, &error.to_string()),
        _ => Finding::warning(
            LISTED,
            format!("the ids could not be compared with the list of {name}: {error}"),
            "`codebutler model ping` asks a model for an answer instead",
        ),
    }
}

fn unusable(name: &str, problem: &str) -> Finding {
    Finding::failed(
        LISTED,
        format!("{name} cannot be used: {problem}"),
        "start the server, or correct its baseUrl or apiKey in ~/.codebutler/config.json",
    )
}

/// Every model that a role starts with, probed once.
async fn fitness(settings: &Settings, roles: &[Role], client: &ModelClient) -> Vec<Finding> {
    let mut models: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for role in roles {
        let model = settings.repo.models.of(*role).model;
        models.entry(model).or_default().push(role.as_str());
    }
    let mut findings = Vec::new();
    for (model, roles) in models {
        let roles = roles.join(", ");
        let found = match probed(client, &model).await {
            Ok((tools, window)) => judged(&model, &roles, &tools, window),
            Err(error) => Finding::failed(
                FITNESS,
                format!("{model} for {roles}: {error}"),
                "`codebutler model ping` tries it again",
            ),
        };
        findings.push(found);
    }
    findings
}

/// The largest of our windows that the model sees whole, if any.
async fn probed(
    client: &ModelClient,
    model: &str,
) -> Result<(ToolFitness, Result<u64, WindowFitness>), ModelError> {
    let cancel = CancellationToken::new();
    // Any number will do, as long as no cache knows the word that it makes.
    let seed = u64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(7) >> 10;
    let tools = client.probe_tools(model, seed, &cancel).await?;
    let mut seen = WindowFitness::Blind;
    for tokens in [WINDOW, SMALL_WINDOW] {
        seen = client.probe_window(model, tokens, seed, &cancel).await?;
        if seen == WindowFitness::Whole {
            return Ok((tools, Ok(tokens)));
        }
    }
    Ok((tools, Err(seen)))
}

fn judged(
    model: &str,
    roles: &str,
    tools: &ToolFitness,
    window: Result<u64, WindowFitness>,
) -> Finding {
    let failed = |what: &str, fix: &str| {
        Finding::failed(FITNESS, format!("{model} for {roles}: {what}"), fix)
    };
    if !tools.calls_tools {
        let said = tools.instead.as_deref().unwrap_or("nothing");
        return failed(
            &format!("does not call tools; it said: {said}"),
            "choose a model with tool calls; llama.cpp needs --jinja, vLLM --enable-auto-tool-choice",
        );
    }
    match window {
        Err(WindowFitness::Refused) => failed(
            "refuses prompts of 4K tokens",
            "give the server a larger window (--ctx-size, num_ctx)",
        ),
        Err(_) => failed(
            "does not see the beginning of a prompt of 4K tokens",
            "give the server a larger window (--ctx-size, num_ctx): it cuts prompts silently",
        ),
        Ok(_) if !tools.gives_arguments => Finding::warning(
            FITNESS,
            format!("{model} for {roles}: calls tools, but not with the arguments it is given"),
            "set its profile to \"small\", or choose a stronger model",
        ),
        Ok(tokens) if tokens < WINDOW => Finding::warning(
            FITNESS,
            format!("{model} for {roles}: calls tools, but does not see a prompt of 12K tokens"),
            "set its profile to \"small\", or give the server a larger window (--ctx-size, num_ctx)",
        ),
        Ok(_) => Finding::ok(
            FITNESS,
            format!("{model} for {roles}: calls tools and sees 12K tokens"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use butler_protocol::Usd;

    use crate::commands::setup::doctor::Level;
    use crate::commands::setup::doctor::models::*;

    fn level(calls: bool, gives: bool, window: Result<u64, WindowFitness>) -> Level {
        let tools = ToolFitness {
            calls_tools: calls,
            gives_arguments: gives,
            instead: None,
            cost: Usd::ZERO,
        };
        judged("m", "pm", &tools, window).level
    }

    #[test]
    fn a_model_is_fit_when_it_calls_tools_and_sees_the_whole_prompt() {
        assert_eq!(level(true, true, Ok(WINDOW)), Level::Ok);
        assert_eq!(level(true, true, Ok(SMALL_WINDOW)), Level::Warning);
        assert_eq!(level(true, false, Ok(WINDOW)), Level::Warning);
        assert_eq!(level(false, false, Ok(WINDOW)), Level::Failed);
        for blind in [WindowFitness::Blind, WindowFitness::Refused] {
            assert_eq!(level(true, true, Err(blind)), Level::Failed);
        }
    }
}
