//! Whether the configured models would answer: the endpoints' keys and lists, and
//! with `--probe` whether each model is up to the work. Asking for a list is free.

use std::{collections::BTreeMap, time::Duration};

use butler_config::{Models, Settings};
use butler_model::{
    EndpointKind, ModelClient, ModelError, ModelInfo, ModelRequest, ToolFitness, WindowFitness,
};
use butler_protocol::{ModelMessage, Role};
use tokio_util::sync::CancellationToken;

use crate::commands::setup::doctor::{Finding, Place};
use crate::{
    model_check::{self, Health},
    process, roles, roster, wiring,
};

const LISTED: &str = "models";
const FITNESS: &str = "model fitness";
/// A server on this machine says by then whether it knows a name.
const PATIENCE: Duration = Duration::from_secs(20);
/// What prompt, tools and a few results need, and the same for `profile: small`.
const WINDOW: u64 = 12_000;
const SMALL_WINDOW: u64 = 4_000;
/// More names than this do not help anybody to choose in a line.
const SHOWN: usize = 8;

pub(crate) fn examine(place: &Place) -> Vec<Finding> {
    let settings = place.settings.as_ref();
    let found = settings.and_then(|settings| process::wait_for(look(settings, place.probe)).ok());
    found.unwrap_or_default()
}

async fn look(settings: &Settings, probe: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, roles, health) in model_check::of_machine(&settings.machine).await {
        let models = match health {
            Health::Lists(models) => models,
            Health::Unlisted(why) => {
                findings.push(Finding::warning(
                    LISTED,
                    format!("the ids could not be compared with the list of {name}: {why}"),
                    "`codebutler model ping` asks a model for an answer instead",
                ));
                continue;
            }
            Health::Unusable(fault) => {
                let what = format!("{name} cannot be used: {}", fault.what);
                findings.push(Finding::failed(LISTED, what, fault.fix));
                continue;
            }
        };
        let config = wiring::client_config(&settings.machine, &settings.home, roles[0]);
        let Ok(Ok(client)) = config.map(ModelClient::new) else {
            continue;
        };
        let asked = Asked {
            name: &name,
            roles: &roles,
            client: &client,
            models: &models,
        };
        findings.extend(asked.compared(settings).await);
        if probe {
            findings.extend(fitness(settings, &roles, &client).await);
        }
    }
    findings
}

/// An endpoint that has told what it has.
struct Asked<'a> {
    name: &'a str,
    roles: &'a [Role],
    client: &'a ModelClient,
    models: &'a [ModelInfo],
}

impl Asked<'_> {
    /// The configured ids against the list. Of the shipped ones, which nobody chose,
    /// only those count that a role begins with.
    async fn compared(&self, settings: &Settings) -> Vec<Finding> {
        let shipped = Models::default();
        let kind = self.client.config().endpoint.kind;
        let (mut findings, mut unchosen, mut known) = (Vec::new(), Vec::new(), 0);
        // Asked once: it answers to any name or to none but its own.
        let mut answers = None;
        for role in self.roles {
            let ids = settings.repo.models.ids(*role);
            let begins_with = settings.repo.models.of(*role).model;
            let shipped = shipped.ids(*role);
            known += ids.len();
            for remark in roster::compare(self.models, &ids, kind, roster::today()) {
                let id = ids.iter().find(|(key, _)| *key == remark.key);
                let Some(id) = id else { continue };
                let nobodys = shipped.contains(id);
                if remark.missing && nobodys && id.1 != begins_with {
                    known -= 1;
                    continue;
                }
                if remark.missing && answers.is_none() {
                    answers = Some(self.answers_to(&id.1).await);
                }
                if remark.missing && answers == Some(true) {
                    let what = format!(
                        "{}: {} is not what {} calls it, which answers all the same",
                        remark.key, id.1, self.name
                    );
                    findings.push(Finding::warning(LISTED, what, remark.fix));
                } else if remark.missing && nobodys && kind != EndpointKind::Openrouter {
                    unchosen.push(*role);
                } else {
                    let what = format!("{}: {}", remark.key, remark.what);
                    let fatal = remark.fatal || remark.missing;
                    findings.push(match fatal {
                        true => Finding::failed(LISTED, what, remark.fix),
                        false => Finding::warning(LISTED, what, remark.fix),
                    });
                }
            }
        }
        findings.extend(self.nobody_chose(&unchosen));
        if findings.is_empty() {
            let what = format!("all {known} configured ids are known to {}", self.name);
            findings.push(Finding::ok(LISTED, what));
        }
        findings
    }

    /// One line for all roles that have no model of this endpoint.
    fn nobody_chose(&self, roles: &[Role]) -> Option<Finding> {
        if roles.is_empty() {
            return None;
        }
        let whose = match roles.len() == self.roles.len() {
            true => "nobody has chosen a model of it yet".to_owned(),
            false => format!(
                "nobody has chosen a model of it for {}",
                roles::words(roles)
            ),
        };
        let names: Vec<&str> = self.models.iter().map(|model| model.id.as_str()).collect();
        let more = if names.len() > SHOWN { ", …" } else { "" };
        let few = names[..names.len().min(SHOWN)].join(", ");
        Some(Finding::failed(
            LISTED,
            format!("{}: {whose}; it has {few}{more}", self.name),
            "`codebutler init --model NAME` gives every role this one",
        ))
    }

    /// Some servers on this machine answer under any name with the model that they
    /// have. Asking costs nothing there, so it is tried.
    async fn answers_to(&self, model: &str) -> bool {
        let endpoint = &self.client.config().endpoint;
        if endpoint.kind != EndpointKind::Generic || !endpoint.is_loopback() {
            return false;
        }
        let question = ModelMessage::User {
            text: "Say pong.".to_owned(),
            images: Vec::new(),
        };
        let mut request = ModelRequest::new(model, vec![question]);
        request.max_tokens = 16;
        let cancel = CancellationToken::new();
        let asking = self.client.complete(&request, &cancel, None);
        matches!(tokio::time::timeout(PATIENCE, asking).await, Ok(Ok(_)))
    }
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
