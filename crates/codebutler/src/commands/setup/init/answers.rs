//! What `init` decides before anything is written. An answer comes from a flag, from
//! the environment, from the person, or is the default, in this order; each one is
//! tried at once. In a repository that has its file only a flag changes it.

use std::path::Path;

use butler_config::{EndpointKind, FOLDER, Machine, Models};
use butler_model::ModelInfo;
use butler_protocol::Role;
use serde_json::{Value, json};

use crate::commands::setup::init::{
    Args,
    chat::{self, Chat},
    checks::{self, Commands},
    detect::Detected,
    endpoint::Place,
    models::{self, Choice},
    provider::{self, Chosen, Provider},
};
use crate::{
    CliError, Paint, Ui,
    model_check::{self, Health},
    process, roles, wiring,
};

/// What was decided before anything is written.
#[derive(Debug)]
pub(crate) struct Answers {
    chat: Chat,
    /// What the repo runs; where it has its file, what flags named.
    commands: Commands,
    new_repo: bool,
    place: Place,
    /// Which model these roles ask.
    models: Vec<(Vec<Role>, String)>,
    /// What is still to be done.
    open: Vec<String>,
}

/// Where it all happens, and whether somebody can be asked.
pub(crate) struct Around<'a> {
    pub root: &'a Path,
    pub home: &'a Path,
    pub machine: &'a Machine,
    pub asks: bool,
    pub ui: &'a Ui,
}

impl Answers {
    /// Collects them.
    pub(crate) fn collect(args: &Args, around: &Around<'_>) -> Result<Self, CliError> {
        let Around {
            root,
            machine,
            asks,
            ui,
            ..
        } = *around;
        if !args.yes && !asks {
            return Err(CliError::user("there is no terminal to ask questions on")
                .hint("run `codebutler init --yes`, with flags for what should differ from the defaults"));
        }
        // A repo that has its file keeps it, so the questions about it are answered.
        let new_repo = !root.join(FOLDER).join("config.json").exists();
        let chat = chat::choose(args, root, machine, new_repo, asks, ui)?;
        let chosen = choose_place(args, around)?;
        let (models, mut open) = choose_models(args, around, &chosen, new_repo)?;
        open.extend(chosen.open);
        let commands = match new_repo {
            true => {
                let place = checks::Place {
                    root,
                    home: around.home,
                    machine,
                };
                checks::choose(args, &Detected::of(root), &place, asks, ui)?
            }
            false => Commands {
                checks: args.checks.clone(),
                ..Commands::default()
            },
        };
        Ok(Self {
            chat,
            commands,
            new_repo,
            place: chosen.place,
            models,
            open,
        })
    }

    /// Keys to set in the machine config.
    pub(crate) fn machine_keys(&self) -> Vec<(Vec<String>, Value)> {
        let mut keys = self.place.keys();
        if let Some(slack) = &self.chat.slack {
            let tokens = [("botToken", &slack.bot), ("appToken", &slack.app)];
            keys.extend(tokens.map(|(key, token)| {
                let path = ["slack", key].map(str::to_owned);
                (path.to_vec(), json!(token.expose()))
            }));
        }
        keys
    }

    /// Keys to set in the repo's file, which has these models so far.
    pub(crate) fn repo_keys(&self, before: &Models) -> Vec<(Vec<String>, Value)> {
        let path = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let mut keys = Vec::new();
        if let Some(channel) = &self.chat.channel {
            keys.push((path(&["slack", "channelName"]), json!(channel)));
        }
        if let Some(id) = &self.chat.channel_id {
            keys.push((path(&["slack", "channelID"]), json!(id)));
        }
        if self.new_repo {
            // Also without any, so that the person sees where they go.
            keys.push((path(&["checks"]), json!({})));
        }
        for (name, command) in &self.commands.checks {
            keys.push((path(&["checks", name]), json!(command)));
        }
        if self.new_repo {
            keys.push((path(&["prepare"]), json!(self.commands.prepare)));
        }
        for (roles, name) in &self.models {
            keys.extend(models::keys(roles, name, before));
        }
        keys
    }

    /// What was decided, with the key that changes it.
    pub(crate) fn summary(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        lines.extend(
            self.chat
                .channel
                .clone()
                .map(|name| ("slack.channelName", name)),
        );
        match self.commands.checks.as_slice() {
            [] if self.new_repo => lines.push((
                "checks",
                "none found; add commands that tell whether the code is good".to_owned(),
            )),
            [] => {}
            checks => lines.push(("checks", joined(checks))),
        }
        if self.new_repo {
            let prepare = match self.commands.prepare.as_slice() {
                [] => "nothing that a fresh worktree would need was found".to_owned(),
                commands => commands.join("; "),
            };
            lines.push(("prepare", prepare));
        }
        for (roles, name) in &self.models {
            let whose = match roles.len() == Role::ALL.len() {
                true => "all roles".to_owned(),
                false => roles::words(roles),
            };
            lines.push(("models", format!("{name} for {whose}")));
        }
        lines.push(("models (machine)", self.place.summary()));
        lines.push(("slack (machine)", self.talk().to_owned()));
        lines
    }

    /// What could not be decided, and what to do about it.
    pub(crate) fn open(&self) -> impl Iterator<Item = &String> {
        self.open.iter().chain(&self.commands.open)
    }

    fn talk(&self) -> &'static str {
        match &self.chat.slack {
            Some(_) => "connected",
            None => "as it was; without tokens the built-in workspace is used",
        }
    }
}

/// Where the models answer. What flags and environment say is tried too: a key that
/// is refused is not written, a server that is away is told.
fn choose_place(args: &Args, around: &Around<'_>) -> Result<Chosen, CliError> {
    let Around {
        machine, asks, ui, ..
    } = *around;
    let chosen = |place, models, open| Chosen {
        place,
        models,
        open,
    };
    let given = match Place::given(args, machine)? {
        None if asks => return provider::asked(machine, ui),
        None => Provider::Openrouter.found_key().map(Place::OpenRouter),
        given => given,
    };
    let Some(place) = given else {
        return Ok(chosen(Place::Later, None, None));
    };
    if args.untried {
        return Ok(chosen(place, None, None));
    }
    if let (Place::Known, true) = (&place, asks) {
        // What is stored and does not work can be replaced.
        return match stored_fault(around)? {
            Some(what) => {
                ui.note(format_args!("{} {what}", "✗".red()));
                provider::asked(machine, ui)
            }
            None => Ok(chosen(place, None, None)),
        };
    }
    Ok(match provider::tried(&place, machine)? {
        Some(Health::Lists(models)) => chosen(place, Some(models), None),
        Some(Health::Unusable(fault)) if fault.key && place.has_key() => {
            if asks {
                ui.note(format_args!("{} {}", "✗".red(), fault.what));
                return provider::asked(machine, ui);
            }
            return Err(CliError::user(fault.what).hint("nothing was written; --untried keeps it"));
        }
        Some(Health::Unusable(fault)) => {
            let open = provider::unchecked(&fault);
            chosen(place, None, Some(open))
        }
        Some(Health::Unlisted(_)) | None => chosen(place, None, None),
    })
}

/// What is wrong with the endpoints that the machine has, if no call would be answered.
fn stored_fault(around: &Around<'_>) -> Result<Option<String>, CliError> {
    let machine = around.machine.clone();
    process::run(async move |_| {
        for (_, _, health) in model_check::of_machine(&machine).await {
            if let Health::Unusable(fault) = health {
                return Ok(Some(fault.what));
            }
        }
        Ok(None)
    })
}

/// Models by the roles that ask them, and what is still open.
type ChosenModels = (Vec<(Vec<Role>, String)>, Vec<String>);

/// OpenRouter has the default models; every other endpoint is asked for its own
/// when it is new, or when the repository is.
fn choose_models(
    args: &Args,
    around: &Around<'_>,
    chosen: &Chosen,
    new_repo: bool,
) -> Result<ChosenModels, CliError> {
    let Around {
        machine, asks, ui, ..
    } = *around;
    let everybody = Role::ALL.to_vec();
    if let Some(name) = &args.model {
        let listed = match &chosen.models {
            None if !args.untried => listed_by_machine(around, &chosen.place)?,
            models => models.clone(),
        };
        let kind = chosen.place.kind(machine);
        let (name, open) = models::checked(name, listed.as_deref(), kind, asks, ui)?;
        return Ok((vec![(everybody, name)], open.into_iter().collect()));
    }
    let mut asked: Vec<(Vec<Role>, String, Option<Vec<ModelInfo>>)> = Vec::new();
    match &chosen.place {
        place @ Place::Other(_) if place.kind(machine) != EndpointKind::OpenRouter => {
            let known = chosen.models.clone();
            asked.push((everybody, place.summary(), known));
        }
        Place::Known | Place::Rekeyed(..) if new_repo => {
            for (name, (endpoint, roles)) in wiring::roles_by_endpoint(machine) {
                if endpoint.kind != EndpointKind::OpenRouter {
                    let config = wiring::client_of(machine, &name, &endpoint)?;
                    let health =
                        process::run(async move |_| Ok(model_check::examine(config).await))?;
                    let known = match health {
                        Health::Lists(models) => Some(models),
                        _ => None,
                    };
                    asked.push((roles, endpoint.base_url.clone(), known));
                }
            }
        }
        _ => {}
    }
    let (mut models, mut open) = (Vec::new(), Vec::new());
    for (roles, address, known) in asked {
        match models::choose(&address, known.as_deref(), asks)? {
            Choice::Named(name) => models.push((roles, name)),
            // Why it lists none was said with the address.
            Choice::Open(_) if chosen.open.is_some() => {
                open.push("then name a model: `codebutler init --model NAME`".to_owned());
            }
            Choice::Open(what) => open.push(what),
        }
    }
    Ok((models, open))
}

/// The models of the endpoint that the machine has already.
fn listed_by_machine(
    around: &Around<'_>,
    place: &Place,
) -> Result<Option<Vec<ModelInfo>>, CliError> {
    if !matches!(place, Place::Known) {
        return Ok(None);
    }
    let machine = around.machine.clone();
    process::run(async move |_| {
        let all = model_check::of_machine(&machine).await;
        Ok(all.into_iter().find_map(|(_, _, health)| match health {
            Health::Lists(models) => Some(models),
            _ => None,
        }))
    })
}

fn joined(checks: &[(String, String)]) -> String {
    let checks = checks
        .iter()
        .map(|(name, command)| format!("{name} = {command}"));
    checks.collect::<Vec<_>>().join("; ")
}
