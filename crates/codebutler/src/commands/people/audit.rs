//! `codebutler audit`: who asked, decided, merged and invited, in a chain of hashes.

use std::{fs, path::PathBuf};

use butler_hub::{AuditLine, verify_audit};
use butler_protocol::count_of;

use super::{refused, store};
use crate::{CliError, Exit, Ui};

/// Export or verify who asked, approved and merged what
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Write all of it, one JSON object per line
    Export,
    /// Check that no line was changed, added or taken out
    Verify {
        /// An export; without it the hub's own store
        file: Option<PathBuf>,
        /// A hash that an earlier check named: it must still be there
        #[arg(long, value_name = "HASH")]
        head: Option<String>,
    },
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    match &args.what {
        What::Export => {
            for line in store()?.1.audit().map_err(refused)? {
                ui.json(line)?;
            }
        }
        What::Verify { file, head } => {
            let lines = match file {
                Some(file) => read(file)?,
                None => own()?,
            };
            let last = verify_audit(&lines).map_err(CliError::user)?;
            if let Some(head) = head.as_ref().filter(|head| !has(&lines, head)) {
                let error = format!("no line has the hash {head}: lines after it, or it, are gone");
                return Err(CliError::user(error));
            }
            let count = count_of(lines.len(), "line");
            ui.line(format_args!(
                "{count}, none changed; the last has the hash {last}"
            ))?;
        }
    }
    Ok(Exit::Done)
}

fn has(lines: &[AuditLine], hash: &str) -> bool {
    lines.iter().any(|line| line.hash == hash)
}

/// The store's own lines, and whether its cards say the same.
fn own() -> Result<Vec<AuditLine>, CliError> {
    let mut tokens = store()?.1;
    if let Some(card) = tokens.contradicts_audit().map_err(refused)? {
        let error = format!("the store says otherwise about the card {card} than the audit");
        return Err(CliError::user(error));
    }
    tokens.audit().map_err(refused)
}

fn read(file: &PathBuf) -> Result<Vec<AuditLine>, CliError> {
    let name = file.display();
    let text =
        fs::read_to_string(file).map_err(|error| CliError::user(format!("{name}: {error}")))?;
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    let read = lines.map(|(number, line)| {
        serde_json::from_str(line)
            .map_err(|error| CliError::user(format!("{name}:{}: {error}", number + 1)))
    });
    read.collect()
}
