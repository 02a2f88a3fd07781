//! `codebutler init`: sets up a repository, and once the machine.
//!
//! First everything is looked at and decided, then every file is written to a
//! temporary neighbour, and only when all of that worked are they moved into
//! place. So a folder that cannot be written stays as it was. What is there
//! already is kept unless a flag asks for something else, so running it again is
//! safe.

mod answers;
pub(crate) mod ask;
mod chat;
mod checks;
mod detect;
mod endpoint;
mod learn;
mod models;
mod provider;
mod seed;
mod stage;
mod trying;

use std::{
    env,
    path::{Path, PathBuf},
};

use butler_config::{
    Ask, FOLDER, JoinedHub, Machine, RepoFiles, Settings, agree, machine_folder, repository_root,
};
use butler_tls::Trust;

pub(crate) use ask::stopped;
pub(crate) use stage::{Access, Staged};

use crate::commands::{
    inspect::policy,
    run::up,
    services::start,
    setup::{
        doctor::{Finding, Level, files, forge, git},
        init::{
            answers::{Answers, Around},
            provider::Provider,
        },
    },
};
use crate::{
    CliError, Exit, Paint, Ui, address, cli,
    commands::{environment, git_will_do, no_repository},
    error::show_problems,
    hub_access::{address::JoinLink, joining},
    process, roles,
    wiring::forge_hosts,
};

/// Set up this repository, and this machine once
///
/// Asks three questions: where you talk to the team, who has the models, which
/// checks there are; or none with --yes. Every answer is tried at once, and one that
/// does not work is asked for again. Keeps what is there already, so it can be run
/// again: then it changes only what a flag asks for, or what does not work any more.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// Take the defaults and ask nothing; agrees to trying the guessed commands in the sandbox, installs with the network
    #[arg(long, short)]
    yes: bool,
    /// Name of the channel [default: codebutler-<repository>]
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// Who has the models; its key is taken from the usual variable, as in OPENAI_API_KEY
    #[arg(
        long,
        value_name = "NAME",
        value_enum,
        ignore_case = true,
        conflicts_with = "model_url"
    )]
    provider: Option<Provider>,
    /// Address of an OpenAI-compatible model endpoint [default: OpenRouter]
    #[arg(long, value_name = "URL")]
    model_url: Option<String>,
    /// Environment variable that holds the endpoint's key [default for OpenRouter: OPENROUTER_API_KEY]
    #[arg(long, value_name = "NAME")]
    model_key_env: Option<String>,
    /// The model that every role asks [default: the only one that an endpoint other than OpenRouter lists]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Connect real Slack by SLACK_BOT_TOKEN and SLACK_APP_TOKEN, or ask
    #[arg(long)]
    slack: bool,
    /// Join the hub on another machine, by a link that was printed there
    #[arg(long, value_name = "LINK", conflicts_with_all = ["slack", "channel"])]
    join: Option<String>,
    /// Take everything untried: key, address, model, guessed commands
    #[arg(long)]
    untried: bool,
    /// A check as NAME=COMMAND, instead of the detected ones or beside those of the file; may be repeated
    #[arg(long = "check", value_name = "NAME=COMMAND", value_parser = detect::named_check)]
    checks: Vec<(String, String)>,
}

impl Args {
    /// Joins a hub, and asks nothing.
    pub(crate) fn joining(link: String) -> Self {
        Self {
            yes: true,
            channel: None,
            provider: None,
            model_url: None,
            model_key_env: None,
            model: None,
            slack: false,
            join: Some(link),
            untried: false,
            checks: Vec::new(),
        }
    }

    /// The same, with questions or without.
    pub(crate) fn asking(&self, ask: bool) -> Self {
        Self {
            yes: !ask,
            ..self.clone()
        }
    }

    /// Whether a flag asks for something that is to be written.
    pub(crate) fn names_something(&self) -> bool {
        let named = [
            &self.channel,
            &self.model_url,
            &self.model_key_env,
            &self.model,
        ];
        let listed =
            self.slack || self.join.is_some() || self.provider.is_some() || !self.checks.is_empty();
        listed || named.iter().any(|flag| flag.is_some())
    }
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let exit = set_up(args, ui)?;
    if exit == Exit::Done && !args.yes && args.join.is_none() && ui.can_ask() {
        return offer(ui);
    }
    Ok(exit)
}

/// Writes what was answered.
pub(crate) fn set_up(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    git_will_do()?;
    let here = env::current_dir()?;
    let root = repository_root(&here).ok_or_else(|| {
        let (what, fix) = no_repository(&here);
        CliError::user(what).hint(fix)
    })?;
    let home = machine_folder(&environment).ok_or_else(|| {
        CliError::user("the home folder is not known").hint("set HOME or CODEBUTLER_HOME")
    })?;
    // Before anything is asked or tried: no answer could mend these.
    let has_config = home.join("config.json").exists();
    if let Some(closed) = files::not_writable(&home).filter(|_| !has_config) {
        let what = format!("{} cannot be written", closed.display());
        return Err(CliError::user(what).hint(files::OPEN_IT));
    }
    if let Some(url) = &args.model_url {
        address::check("--model-url", url)?;
    }
    let (machine, _) = Settings::machine(&environment)?;
    let link = match &args.join {
        Some(text) => Some(found(text, &machine)?),
        None => None,
    };
    let before = asks_of(&root);
    let answers = Answers::collect(
        args,
        &Around {
            root: &root,
            home: &home,
            machine: &machine,
            asks: !args.yes && ui.can_ask(),
            ui,
        },
    )?;

    let mut staged = Staged::new();
    seed::repository(&root, &answers, &mut staged)?;
    // Last: a code works once, and what can fail has been tried.
    let joined = match link {
        Some(link) => Some(process::run_on_one_thread(async |_| {
            joining::exchange(&link).await
        })?),
        None => None,
    };
    seed::machine(&home, &root, &answers, joined.as_ref(), &mut staged)?;
    let written = staged.persist()?;

    report(&root, &written, &answers, ui)?;
    let exit = check_result(&root, &before, args.yes, ui)?;
    match &joined {
        Some(joined) => joined_to(joined, ui)?,
        None => go_on(ui)?,
    }
    Ok(exit)
}

/// Reads a link, and asks the hub who it is.
fn found(text: &str, machine: &Machine) -> Result<JoinLink, CliError> {
    let mut link = JoinLink::read(text)?;
    if link.hub.trust == Trust::Usual {
        link.hub.trust = Trust::with_file(machine.network.ca_file.as_ref().map(PathBuf::from));
    }
    process::run_on_one_thread(async |_| joining::greet(&link.hub).await)?;
    Ok(link)
}

fn joined_to(joined: &JoinedHub, ui: &Ui) -> Result<(), CliError> {
    ui.line(format_args!(
        "\njoined   {} as {}: {} of {}",
        joined.url,
        joined.machine,
        roles::words(&joined.roles()),
        joined.repo
    ))?;
    ui.line(format_args!(
        "Next: {} runs them here.",
        "codebutler worker".bold()
    ))?;
    Ok(())
}

/// Goes on at once, if the person wants to.
fn offer(ui: &Ui) -> Result<Exit, CliError> {
    let (machine, _) = Settings::machine(&environment)?;
    if machine.models.endpoints.is_empty() && machine.openrouter.api_key.is_none() {
        return Ok(Exit::Done);
    }
    if let Some(root) = repository_root(&env::current_dir()?) {
        learn::offer(&root, ui)?;
    }
    let choices = [
        "not now",
        "here, until Ctrl-C",
        "as services, which survive a reboot",
    ];
    let choices = choices.map(str::to_owned);
    match ask::one_of("Start the team?", "its page opens", &choices, 0) {
        Ok(1) => up::run(&up::Args::default(), ui),
        Ok(2) => start::run(&start::Args::of(&[]), ui),
        // Whoever leaves here has set everything up.
        Ok(_) | Err(_) => Ok(Exit::Done),
    }
}

/// The one command that comes next.
fn go_on(ui: &Ui) -> Result<(), CliError> {
    ui.line(format_args!(
        "\nNext: {} starts the team and opens its page.",
        "codebutler up".bold()
    ))?;
    if cli::command().find_subcommand("start").is_some() {
        ui.line("      `codebutler start` runs it as services that survive a reboot.")?;
    }
    Ok(())
}

fn report(
    root: &Path,
    written: &stage::Written,
    answers: &Answers,
    ui: &Ui,
) -> Result<(), CliError> {
    for path in &written.made {
        ui.line(format_args!("wrote    {}", path.display()))?;
    }
    for path in &written.kept {
        ui.line(format_args!("kept     {}", path.display()))?;
    }
    for what in answers.open() {
        ui.note(format_args!("{} {what}", "warning:".yellow().bold()));
    }
    // Said here already: the next command would end with it.
    if let Some(fix) = git::remote(root).fix {
        ui.note(format_args!(
            "{} there is no remote; {fix}",
            "warning:".yellow().bold()
        ));
    }
    if written.made.is_empty() {
        ui.line(format_args!(
            "{} is already set up; nothing was changed",
            root.display()
        ))?;
        return Ok(());
    }
    ui.line("")?;
    for (key, value) in answers.summary() {
        ui.line(format_args!("{key:20} {value}"))?;
    }
    ui.line(format_args!(
        "\nChange any of this in {}; `codebutler doctor` says what is still missing.",
        root.join(FOLDER).join("config.json").display()
    ))?;
    ui.line(format_args!(
        "Commit and push {FOLDER}/: once its settings are on the default branch, the team follows them."
    ))?;
    Ok(())
}

/// What the repo's files ask for as they are now; nothing when they cannot be read,
/// which is told when they are checked.
fn asks_of(root: &Path) -> Vec<Ask> {
    let files = RepoFiles::on_disk(root).ok();
    let settings = files.and_then(|files| Settings::load_from(root, &files, &environment).ok());
    settings.map(|settings| settings.asks).unwrap_or_default()
}

/// What a person had written before may have problems of its own, and what came
/// with a clone needs their word. What was just written for them, from their
/// answers or the shown guesses, has it.
fn check_result(root: &Path, before: &[Ask], yes: bool, ui: &Ui) -> Result<Exit, CliError> {
    let settings = Settings::load(root, &environment)?;
    let known = |ask: &Ask| before.iter().any(|old| old.sha256 == ask.sha256);
    let (found, mut granted): (Vec<_>, Vec<_>) = settings.waiting().into_iter().partition(known);
    if !found.is_empty() && !yes && ui.can_ask() {
        ui.note("\nThis repository's files ask for more than is shipped:");
        if policy::asks_person(&found, ui)? {
            granted.extend(found);
        }
    }
    if !granted.is_empty() {
        agree(&settings.home, root, &granted).map_err(CliError::internal)?;
        ui.note("agreed to on this machine:");
        policy::tell(&granted, ui);
    }
    let settings = Settings::load(root, &environment)?;
    show_problems(&settings.notices, ui);
    let found = forge::forge(root, &forge_hosts(&settings.machine));
    if let Some(Finding { what, fix, .. }) = found.filter(|one| one.level == Level::Failed) {
        let fix = fix.unwrap_or_default();
        ui.note(format_args!("forge: {what}; {fix}"));
    }
    Ok(Exit::Done)
}
