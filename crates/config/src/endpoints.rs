//! Which endpoint answers for a role. The short forms `openrouter` and `openai`
//! become endpoints like any other; a written endpoint of that name wins.

use std::collections::BTreeMap;

use butler_protocol::{Role, Secret};

use crate::machine::{Endpoint, EndpointKind, Machine};

const OPENROUTER: &str = "https://openrouter.ai/api/v1";
const OPENAI: &str = "https://api.openai.com/v1";

impl Machine {
    /// All endpoints of this machine by name. A key without a character is none:
    /// a variable that is not set, or a question that was answered with Enter.
    pub fn endpoints(&self) -> BTreeMap<String, Endpoint> {
        let mut all = self.models.endpoints.clone();
        let short = [
            (
                "openrouter",
                EndpointKind::OpenRouter,
                OPENROUTER,
                &self.openrouter.api_key,
            ),
            ("openai", EndpointKind::OpenAi, OPENAI, &self.openai.api_key),
        ];
        for (name, kind, base_url, api_key) in short {
            if let Some(key) = api_key.as_ref().filter(is_written) {
                all.entry(name.to_owned()).or_insert_with(|| Endpoint {
                    kind,
                    base_url: base_url.to_owned(),
                    api_key: Some(key.clone()),
                    headers: BTreeMap::new(),
                    price: None,
                    window: None,
                    roles: Vec::new(),
                });
            }
        }
        for endpoint in all.values_mut() {
            endpoint.api_key = endpoint.api_key.take().filter(|key| is_written(&key));
        }
        all
    }

    /// The endpoint that answers for a role: the one that names it, else the
    /// default, else OpenRouter, else the only one left.
    pub fn endpoint_for(&self, role: Role) -> Option<(String, Endpoint)> {
        let all = self.endpoints();
        let named = all.iter().find(|(_, one)| one.roles.contains(&role));
        let by_name = |name: &str| all.get_key_value(name);
        let free = || {
            let mut free = all.iter().filter(|(_, one)| one.roles.is_empty());
            free.next().filter(|_| free.next().is_none())
        };
        let chosen = named
            .or_else(|| by_name(self.models.default.as_deref()?))
            .or_else(|| by_name("openrouter"))
            .or_else(free)?;
        Some((chosen.0.clone(), chosen.1.clone()))
    }

    /// The endpoint for images and voice: the one called `openai`, else one of that kind.
    pub fn media_endpoint(&self) -> Option<(String, Endpoint)> {
        let mut all = self.endpoints();
        let name = all.keys().find(|name| *name == "openai");
        let kind = all.iter().find(|(_, one)| one.kind == EndpointKind::OpenAi);
        let name = name.or(kind.map(|(name, _)| name))?.clone();
        let endpoint = all.remove(&name)?;
        Some((name, endpoint))
    }

    /// Every secret of this machine, for the redactor.
    pub fn secrets(&self) -> Vec<Secret> {
        let single = [&self.slack.bot_token, &self.slack.app_token];
        let mut secrets: Vec<Secret> = single.into_iter().flatten().cloned().collect();
        for endpoint in self.endpoints().into_values() {
            secrets.extend(endpoint.api_key);
            secrets.extend(endpoint.headers.into_values());
        }
        secrets.extend(self.forges.values().filter_map(|forge| forge.token.clone()));
        secrets.extend(self.mcp.secrets());
        secrets.extend(self.search.api_key.clone());
        secrets.extend(self.hub.webhook.clone());
        secrets.extend(self.hub.database.clone());
        let joined = self.joined.values().flat_map(|hub| &hub.tokens);
        secrets.extend(joined.flat_map(|one| [one.bot.clone(), one.app.clone()]));
        secrets
    }
}

fn is_written(key: &&Secret) -> bool {
    !key.expose().trim().is_empty()
}
