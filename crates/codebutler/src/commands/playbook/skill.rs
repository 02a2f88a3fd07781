//! `codebutler skill`: the commands a team keeps, read, tried and started.

use butler_config::Settings;
use butler_playbook::{Captures, Intent, Playbook, Skill, Trigger};
use serde_json::{Value, json};

use crate::{
    CliError, Exit, Ui,
    commands::{environment, playbook, set_up_here},
    person::Person,
    process, wiring,
};

/// List, show and start the skills of this repo
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: SkillCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SkillCommand {
    /// List the skills with what starts them
    List {
        /// As JSON, for scripts
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        from: playbook::From,
    },
    /// Show what a skill's agent is told
    Show {
        /// Its name
        name: String,
        #[command(flatten)]
        from: playbook::From,
    },
    /// Start a skill in a new thread of the running team
    Run {
        /// Its name
        name: String,
        /// Values for its parameters, as in target=src/main.rs
        #[arg(value_parser = value, value_name = "NAME=VALUE")]
        values: Vec<(String, String)>,
        /// Only show who would be told what
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        from: playbook::From,
    },
}

fn value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write it as name=value")?;
    Ok((name.to_owned(), value.to_owned()))
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let root = set_up_here()?;
    match &args.command {
        SkillCommand::List { json, from } => list(&from.read(&root)?, *json, ui),
        SkillCommand::Show { name, from } => show(&from.read(&root)?, name, ui),
        SkillCommand::Run {
            name,
            values,
            dry_run,
            from,
        } => {
            let book = from.read(&root)?;
            let skill = find(&book, name)?;
            let values: Captures = values.iter().cloned().collect();
            let words = words(&book, skill, &values)?;
            if *dry_run {
                ui.note(format_args!(
                    "{} would be told by \"{words}\":",
                    skill.agent
                ));
                let prompt = skill.resolve(&values).map_err(CliError::user)?;
                return ui.done(prompt);
            }
            start(&Settings::load(&root, &environment)?, &words, ui)
        }
    }
}

fn list(book: &Playbook, as_json: bool, ui: &Ui) -> Result<Exit, CliError> {
    let read = book.skills();
    if as_json {
        return ui.done(Value::Array(read.skills.iter().map(shown).collect()));
    }
    let width = read
        .skills
        .iter()
        .map(|skill| skill.name.len())
        .max()
        .unwrap_or(0);
    for skill in &read.skills {
        ui.line(format_args!(
            "{:width$}  {:<10}  {}",
            skill.name,
            skill.agent.as_str(),
            skill.description
        ))?;
        ui.line(format_args!(
            "{:width$}  {:<10}  say: {}",
            "",
            "",
            phrases(skill).join(", ")
        ))?;
    }
    if !read.problems.is_empty() {
        ui.note("skills that are left out:");
        playbook::show_problems(&read.problems, ui);
    }
    Ok(Exit::Done)
}

fn shown(skill: &Skill) -> Value {
    json!({
        "name": skill.name,
        "description": skill.description,
        "agent": skill.agent,
        "triggers": phrases(skill),
        "changesCode": skill.changes_code,
        "folder": skill.folder,
    })
}

fn phrases(skill: &Skill) -> Vec<&str> {
    skill.triggers.iter().map(Trigger::text).collect()
}

fn show(book: &Playbook, name: &str, ui: &Ui) -> Result<Exit, CliError> {
    let skill = find(book, name)?;
    ui.note(format_args!("{}: {}", skill.name, skill.description));
    ui.note(format_args!("agent: {}", skill.agent));
    ui.note(format_args!("say: {}", phrases(skill).join(", ")));
    if skill.changes_code {
        ui.note("changes code: said word for word it needs no plan of its own");
    }
    ui.done(skill.prompt.text())
}

fn find<'a>(book: &'a Playbook, name: &str) -> Result<&'a Skill, CliError> {
    book.skill(name).ok_or_else(|| {
        let broken = book
            .skills()
            .problems
            .iter()
            .any(|problem| problem.file.contains(name));
        let hint = if broken {
            "its file has problems: run `codebutler validate`"
        } else {
            "`codebutler skill list` shows what there is"
        };
        CliError::user(format!("there is no skill \"{name}\"")).hint(hint)
    })
}

/// The words that start a skill with these values, as a person would type them.
fn words(book: &Playbook, skill: &Skill, values: &Captures) -> Result<String, CliError> {
    let fits = |trigger: &&Trigger| {
        let mut names: Vec<_> = trigger.parameters().collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().eq(values.keys().map(String::as_str))
    };
    let Some(trigger) = skill.triggers.iter().find(fits) else {
        return Err(
            CliError::user(format!("no trigger of {} takes these values", skill.name))
                .hint(format!("it is started by: {}", phrases(skill).join(", "))),
        );
    };
    let mut words = trigger.text().to_owned();
    for (name, value) in values {
        words = words.replace(&format!("{{{name}}}"), value);
    }
    // A value can make the words mean something else, or nothing.
    match book.intent(&words) {
        Intent::Skill {
            skill: found,
            captures,
        } if found == skill && captures == *values => Ok(words),
        _ => Err(
            CliError::user(format!("\"{words}\" would not start {}", skill.name))
                .hint("values are names of a few words, without sentences or line ends"),
        ),
    }
}

/// Posts the words in the repo's channel, as the person at the page would.
fn start(settings: &Settings, words: &str, ui: &Ui) -> Result<Exit, CliError> {
    let hub = wiring::hub_url(settings)?;
    process::run(async |_| {
        let person = Person::join(settings, hub.as_str())?;
        let ts = person.say(words).await.map_err(|error| {
            error.hint("is the team up? with Slack, say the words in the channel")
        })?;
        ui.note(format_args!("said \"{words}\"; the thread is"));
        ui.done(ts)
    })
}
