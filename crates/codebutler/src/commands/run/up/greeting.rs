//! The few lines with which `up` greets: where the page is, who is ready, what is
//! wrong and how to fix it, where people write, where the logs are.

use std::collections::BTreeMap;

use butler_config::{EndpointKind, Settings};
use butler_model::{ModelInfo, Resolved, resolve};
use butler_protocol::Role;

use crate::{
    Paint, Ui, hub_access,
    model_check::{Fault, Health},
    roles::titles,
};

/// What there is to say.
pub(crate) struct Greeting {
    ready: Vec<Role>,
    /// Agents that could not start; they are tried again.
    absent: Vec<Role>,
    /// Roles whose endpoint answers nobody, and why.
    mute: Vec<(Vec<Role>, Fault)>,
    chat: String,
    /// Why what people say in Slack does not arrive.
    deaf: Vec<String>,
}

impl Greeting {
    /// From who started and how the models are.
    pub(crate) fn new(
        settings: &Settings,
        absent: &[Role],
        models: &[(String, Vec<Role>, Health)],
        deaf: Vec<String>,
    ) -> Self {
        let mute = models
            .iter()
            .flat_map(|(name, roles, health)| match health {
                Health::Unusable(fault) => vec![(roles.clone(), fault.clone())],
                Health::Lists(list) => unknown(settings, name, roles, list),
                Health::Unlisted(_) => Vec::new(),
            });
        let mute: Vec<(Vec<Role>, Fault)> = mute.collect();
        let out = |role: &Role| {
            absent.contains(role) || mute.iter().any(|(roles, _)| roles.contains(role))
        };
        let channel = hub_access::repo_channel(settings).map(|channel| channel.name);
        let channel = channel.unwrap_or_default();
        Self {
            ready: Role::ALL.into_iter().filter(|role| !out(role)).collect(),
            absent: absent.to_vec(),
            deaf,
            mute,
            chat: match hub_access::relays(settings) {
                true => format!("Slack, channel #{channel}"),
                false => format!("the page, channel #{channel}; or `codebutler chat`"),
            },
        }
    }

    /// Whether nobody can work for want of a model.
    pub(crate) fn waits_for_a_model(&self) -> bool {
        self.ready.is_empty() && !self.mute.is_empty()
    }

    /// Who is at work, or that nobody can be.
    pub(crate) fn who(&self) -> String {
        if self.ready.is_empty() {
            return "the team cannot work yet: no model answers".to_owned();
        }
        if self.ready.len() == Role::ALL.len() {
            return format!("the team is at work: {}", titles(&self.ready));
        }
        let all = Role::ALL.len();
        let mut words = format!(
            "{} of {all} agents are at work: {}",
            self.ready.len(),
            titles(&self.ready)
        );
        if !self.absent.is_empty() {
            words.push_str(&format!(
                "; {} cannot start and will be tried again",
                titles(&self.absent)
            ));
        }
        words
    }

    /// Says it, the link first. Whoever reads only that line and goes away does not end
    /// the team.
    pub(crate) fn show(&self, link: &str, ui: &Ui) {
        let mut lines = vec![
            format!("open     {}", link.bold()),
            format!("team     {}", self.who()),
        ];
        for (roles, fault) in &self.mute {
            let whose = match roles.len() == Role::ALL.len() {
                true => String::new(),
                false => format!("{}: ", titles(roles)),
            };
            lines.push(format!("{} {whose}{}", "problem ".red(), fault.what));
            lines.push(format!("         {}", fault.fix));
        }
        for trouble in &self.deaf {
            lines.push(format!("{} {trouble}", "problem ".red()));
        }
        lines.push(format!("talk     {}", self.chat));
        lines.push("logs     codebutler logs -f · Ctrl-C stops everything".to_owned());
        let _ = ui.line(lines.join("\n"));
    }
}

/// Roles whose model is not there, by model. A server that has only one may answer to
/// any name with it.
fn unknown(
    settings: &Settings,
    name: &str,
    roles: &[Role],
    list: &[ModelInfo],
) -> Vec<(Vec<Role>, Fault)> {
    let kind = settings
        .machine
        .endpoint_for(roles[0])
        .map(|(_, one)| one.kind);
    if list.is_empty() || kind == Some(EndpointKind::Generic) && list.len() == 1 {
        return Vec::new();
    }
    let mut missing: BTreeMap<String, (Vec<Role>, Vec<&str>)> = BTreeMap::new();
    for role in roles {
        let id = settings.repo.models.of(*role).model;
        if let Resolved::Unknown { nearest } = resolve(list, &id) {
            missing
                .entry(id)
                .or_insert((Vec::new(), nearest))
                .0
                .push(*role);
        }
    }
    let fault = |(id, (roles, near)): (String, (Vec<Role>, Vec<&str>))| {
        let near = match near.first() {
            Some(near) => format!("did you mean {near}? "),
            None => String::new(),
        };
        let fault = Fault {
            what: format!("{name} has no model `{id}`"),
            fix: format!("{near}`codebutler init --model NAME` gives every role another one"),
            key: false,
        };
        (roles, fault)
    };
    missing.into_iter().map(fault).collect()
}
