//! `codebutler schema`: the JSON Schemas of the files people write, for editors.

use butler_config::{SchemaName, schema};
use clap::{ValueEnum, builder::PossibleValue};

use crate::{CliError, Exit, Ui};

/// Print the JSON Schema of a configuration file
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which file
    name: Name,
}

#[derive(Debug, Clone)]
struct Name(SchemaName);

impl ValueEnum for Name {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [Name; 3] = [
            Name(SchemaName::Machine),
            Name(SchemaName::Repo),
            Name(SchemaName::Policy),
        ];
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.as_str()).help(self.0.file()))
    }
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    ui.json_in_lines(schema(args.name.0))?;
    Ok(Exit::Done)
}
