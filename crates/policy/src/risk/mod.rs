//! How far a shell command reaches.
//!
//! The text is parsed; every simple command in it is expanded as far as that is
//! possible without running anything, its wrappers are peeled, and what is left
//! is judged by the row of its program. The verdict is the worst of all
//! findings; nothing that looks harmless ends the search. What cannot be read,
//! is too long, or hides its command word asks.
//!
//! | file | what |
//! | --- | --- |
//! | `analyzer` | lists, pipelines, branches, functions |
//! | `simple` | one simple command: assignments, redirections, dispatch |
//! | `expand`, `text`, `state` | words to texts, and what is known on the way |
//! | `variables`, `arithmetic` | what variables hold, texts that are expanded twice |
//! | `place` | where a path lies |
//! | `builtins`, `shells` | what the shell does itself, shells and languages |
//! | `programs` | program texts in files of the command line's own |
//! | `table/` | programs as data, and the engine that reads a command by its row |
//! | `code/` | what no row can say |
//! | `overrides` | what the policy in force judges otherwise |
//! | `bodies/` | small languages inside arguments: awk, sed, SQL, scripts |

mod analyzer;
mod args;
mod arithmetic;
mod bodies;
mod builtins;
mod code;
mod expand;
mod overrides;
mod place;
mod programs;
mod shells;
mod simple;
mod state;
mod table;
mod text;
mod variables;

use butler_protocol::Tier;

use crate::{Overrides, shell};
use analyzer::Analyzer;
use state::State;

/// Longer commands are not read; a script belongs in a file.
const MAX_BYTES: usize = 256 * 1024;

/// What a command is judged against. All paths are absolute.
#[derive(Debug, Clone, Copy)]
pub struct RiskContext<'a> {
    pub cwd: &'a str,
    pub root: &'a str,
    /// What `~` and `$HOME` mean to the command.
    pub home: &'a str,
    /// What the policy in force changes.
    pub overrides: &'a Overrides,
}

/// The verdict about a command: the worst of its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assessment {
    pub tier: Tier,
    pub reason: String,
    /// The part that caused it, as it was written.
    pub part: Option<String>,
    /// The line of the table that decided, with the place where it stands; nothing
    /// where code did.
    pub row: Option<String>,
    /// Whether it needs the network, whatever its tier: it has none without an approval.
    pub network: bool,
    /// The first part that needs the network, as it was written.
    pub network_part: Option<String>,
    /// Whether it pushes from the worktree, which nothing in the sandbox can do.
    pub pushes: bool,
    /// Whether it asks only for what happens to files of the worktree, which are
    /// saved before and can be brought back.
    pub undoable: bool,
}

impl Assessment {
    fn new(tier: Tier, reason: impl Into<String>) -> Self {
        Self {
            tier,
            reason: reason.into(),
            part: None,
            row: None,
            network: false,
            network_part: None,
            pushes: false,
            undoable: true,
        }
    }
}

/// Judges a command. Pure and linear in the length of the text.
pub fn assess(command: &str, ctx: &RiskContext<'_>) -> Assessment {
    let unreadable = |reason: String| Assessment {
        undoable: false,
        ..Assessment::new(Tier::Destructive, reason)
    };
    if command.len() > MAX_BYTES {
        return unreadable(format!("it is longer than {} KiB", MAX_BYTES / 1024));
    }
    if let Some(odd) = command.chars().find(|c| is_odd(*c)) {
        return unreadable(format!("it contains the control character {odd:?}"));
    }
    if let Some(problem) = table::table().problem() {
        return unreadable(format!("the table of programs is broken: {problem}"));
    }
    let nodes = match shell::parse(command) {
        Ok(nodes) => nodes,
        Err(problem) => return unreadable(format!("it cannot be read: {problem}")),
    };
    let mut analyzer = Analyzer::new(*ctx);
    let mut state = State::new(ctx);
    analyzer.nodes(&nodes, &mut state, &state::Stdin::None);
    analyzer.finish(&mut state)
}

/// Whether a list of the table has a word.
pub(crate) fn is_listed(list: &str, word: &str) -> bool {
    table::table().has(list, word)
}

/// Characters that no honest command has and that terminals and shells treat
/// in ways of their own.
fn is_odd(c: char) -> bool {
    c == '\0' || c == '\u{1b}' || c == '\u{8}' || c == '\u{7f}'
}
