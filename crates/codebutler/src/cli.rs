//! The tree of commands. A command is one file under `commands/` with its
//! arguments and `run(args, ui)`; it is registered here in two places: the list of
//! all, and its group of the help page.

use std::{env, path::PathBuf, process::ExitCode};

use butler_protocol::Role;
use clap::{
    Command as Clap, CommandFactory, FromArgMatches, Parser, Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
    error::ErrorKind,
};

use crate::commands::{
    backup::{restore, save},
    inspect::{logs, model, policy, prompt, redact, rehearsal, schema, tool, validate},
    mcp,
    people::{audit, everybody, invite},
    playbook::{memory, roadmap, roles, skill},
    run::{agent, demo, exec, hub, link, serve, up, worker},
    services::{restart, start, status, stop, uninstall},
    setup::{completions, configure, doctor, init, man, slack},
    talk::{chat, cost, pr, threads, undo},
};
use crate::{CliError, Exit, Ui, log::Format};

/// Version and commit, as `--version` shows them.
pub(crate) const VERSION: &str = env!("CODEBUTLER_VERSION");

/// A software team that lives in a Slack channel
///
/// Describe what you want in a thread; the team asks, plans, builds, reviews and
/// opens a pull request. Works with Slack, or with the workspace it brings along.
#[derive(Debug, Parser)]
#[command(name = "codebutler", version = VERSION)]
#[command(arg_required_else_help = true)]
#[command(override_usage = "codebutler [OPTIONS] <COMMAND | --role <ROLE>>")]
pub(crate) struct Cli {
    /// Run one agent in the foreground
    // An id of its own: the `--role` of a command would be taken for it.
    #[arg(id = "agent", long = "role", value_name = "ROLE", value_parser = role(), ignore_case = true, hide_possible_values = true)]
    pub role: Option<Role>,

    /// Do it in this folder, as if it had been started there
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub folder: Option<PathBuf>,

    /// How log lines look on the error stream: human or json
    #[arg(
        long,
        value_name = "FORMAT",
        global = true,
        value_enum,
        default_value_t,
        env = "CODEBUTLER_LOG_FORMAT",
        hide_env_values = true,
        hide_default_value = true,
        hide_possible_values = true,
        hide_short_help = true
    )]
    pub log_format: Format,

    #[command(subcommand)]
    pub command: Option<Command>,
}

impl Cli {
    /// Runs what was chosen.
    pub(crate) fn run(self, ui: &Ui) -> Result<Exit, CliError> {
        if let Some(folder) = &self.folder {
            env::set_current_dir(folder)
                .map_err(|error| CliError::user(format!("-C {}: {error}", folder.display())))?;
        }
        match (self.command, self.role) {
            (Some(command), _) => command.run(ui),
            (None, Some(role)) => agent::run(role, ui),
            // Not let through by `parse`.
            (None, None) => Ok(Exit::Usage),
        }
    }
}

/// A command is the module of its name, with its arguments and what it does.
macro_rules! commands {
    ($($(#[$about:meta])* $name:ident($module:ident),)*) => {
        /// What can be asked of the binary
        #[derive(Debug, Subcommand)]
        pub(crate) enum Command {
            $($(#[$about])* $name($module::Args),)*
        }

        impl Command {
            /// Runs the chosen command.
            fn run(self, ui: &Ui) -> Result<Exit, CliError> {
                match self {
                    $(Command::$name(args) => $module::run(&args, ui),)*
                }
            }
        }
    };
}

commands! {
    Demo(demo),
    Up(up),
    Start(start),
    Stop(stop),
    Restart(restart),
    Status(status),
    Uninstall(uninstall),
    Backup(save),
    Restore(restore),
    Serve(serve),
    Worker(worker),
    Hub(hub),
    Link(link),
    Invite(invite),
    People(everybody),
    Audit(audit),
    Exec(exec),
    Chat(chat),
    Logs(logs),
    Init(init),
    Configure(configure),
    Doctor(doctor),
    Validate(validate),
    Slack(slack),
    #[command(alias = "thread")]
    Threads(threads),
    Cost(cost),
    Pr(pr),
    Undo(undo),
    Skill(skill),
    Roadmap(roadmap),
    Memory(memory),
    Roles(roles),
    Prompt(prompt),
    Mcp(mcp),
    Policy(policy),
    Redact(redact),
    Tool(tool),
    Model(model),
    Rehearsal(rehearsal),
    // For scripts and packages: not in the list, to be found in the docs.
    #[command(hide = true)]
    Schema(schema),
    #[command(hide = true)]
    Completions(completions),
    #[command(hide = true)]
    Man(man),
}

/// The groups of the help page, in their order.
const GROUPS: [(&str, &str); 4] = [
    (
        "Try and set up",
        "demo init configure doctor validate slack mcp",
    ),
    (
        "Run",
        "up start stop restart status uninstall backup restore serve worker hub link invite people \
         exec chat undo",
    ),
    (
        "Look",
        "threads cost pr audit logs roadmap memory skill roles prompt",
    ),
    ("Debug", "policy redact tool model rehearsal"),
];

/// Reads the command line. What clap wants to say instead of running something
/// (help, version, a mistake) is the error.
pub(crate) fn parse() -> Result<Cli, clap::Error> {
    let matches = command().try_get_matches()?;
    let cli = Cli::from_arg_matches(&matches)?;
    let mistake = match (&cli.command, cli.role) {
        (Some(_), Some(_)) => (
            ErrorKind::ArgumentConflict,
            "--role before a command runs an agent instead; a command's own --role comes after its name",
        ),
        (None, None) => (
            ErrorKind::MissingSubcommand,
            "there is no command; `codebutler --help` lists them",
        ),
        _ => return Ok(cli),
    };
    Err(command().error(mistake.0, mistake.1))
}

/// Reads a role, and lets shells complete it.
pub(crate) fn role() -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(Role::ALL.map(Role::as_str)).try_map(|word| word.parse())
}

/// Says what clap wants to say.
pub(crate) fn answer(answer: &clap::Error) -> ExitCode {
    // Help that nobody reads to the end is not a failure.
    let _ = answer.print();
    if answer.use_stderr() {
        Exit::Usage.into()
    } else {
        Exit::Done.into()
    }
}

/// The whole tree, its commands grouped.
pub(crate) fn command() -> Clap {
    let command = Cli::command();
    let groups = groups(&command);
    command.help_template(format!(
        "{{about-with-newline}}{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}\n\
             Help on a command: codebutler <command> --help\n"
    ))
}

fn groups(command: &Clap) -> String {
    let width = command.get_subcommands().map(|sub| sub.get_name().len());
    let width = width.max().unwrap_or(0);
    let mut text = String::new();
    for (title, names) in GROUPS {
        text.push_str(&format!("{title}:\n"));
        for name in names.split(' ') {
            let about = command.find_subcommand(name).and_then(Clap::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("  {name:width$}  {about}\n"));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_sound_and_every_command_stands_in_one_group() {
        command().debug_assert();
        let listed: Vec<_> = GROUPS
            .iter()
            .flat_map(|(_, names)| names.split(' '))
            .collect();
        for sub in command().get_subcommands().filter(|sub| !sub.is_hide_set()) {
            let times = listed.iter().filter(|name| **name == sub.get_name());
            assert_eq!(
                times.count(),
                1,
                "{} must stand in one group",
                sub.get_name()
            );
            assert!(sub.get_about().is_some(), "{} says nothing", sub.get_name());
        }
        for name in listed {
            assert!(
                command().find_subcommand(name).is_some(),
                "{name} does not exist"
            );
        }
    }
}
