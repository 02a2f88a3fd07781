//! A reader of bash text, made for judging and not for running.
//!
//! It keeps what a judgement needs: every simple command at every depth, words
//! with their quoting, redirections, here-documents, substitutions. It is
//! strict where being wrong would hide a command (an unfinished quote is an
//! error) and lenient where bash itself would only complain. It reads in linear
//! time, copies no text it does not need, and gives up at a fixed depth.
//!
//! The grammar is checked against tree-sitter-bash and `bash -n` in the tests:
//! see `tests/it/grammar.rs`.

mod commands;
mod compound;
mod cursor;
mod heredoc;
mod words;

use std::{cell::OnceCell, rc::Rc};

pub(crate) use commands::as_assignment;
pub(crate) use cursor::Unreadable;

/// Compound commands and substitutions may nest so deep.
const MAX_DEPTH: usize = 32;

/// A command of any shape.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    /// Words, assignments, redirections.
    Simple(Simple),
    /// Stages that feed each other.
    Pipeline(Vec<Node>),
    /// `… &` and `coproc …`: runs beside the rest.
    Background(Box<Node>),
    /// `{ …; }`, `( … )`, loops and branches.
    Block(Block),
    /// `f() …`: runs when called.
    Function(Function),
}

/// A simple command.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Simple {
    pub assignments: Vec<Assignment>,
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
    /// As it was written.
    pub source: String,
}

/// A compound command.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Block {
    pub kind: BlockKind,
    /// The list of a loop, the subject and patterns of a case, the operands of
    /// a test or of arithmetic: expanded, not run.
    pub words: Vec<Word>,
    /// Bodies in order; branches and bodies of loops are alike here.
    pub bodies: Vec<Vec<Node>>,
    pub redirects: Vec<Redirect>,
}

/// What a compound command does with its bodies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BlockKind {
    /// `{ …; }`: all of it, here.
    Group,
    /// `( … )`: all of it, elsewhere.
    Subshell,
    /// `if`, `case`, `while`: some of them, perhaps often.
    Branches,
    /// `for name in …`; without a list the positional parameters.
    Each { name: String, listed: bool },
    /// `[[ … ]]` and `(( … ))`: nothing runs but substitutions.
    Test,
}

/// A function definition.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Function {
    pub name: String,
    pub body: Rc<Node>,
}

/// `name=value`, `name+=value`, `name=( … )`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Assignment {
    pub name: String,
    pub append: bool,
    pub value: Word,
    /// Whether the value is a list of words.
    pub array: bool,
    /// What stands in `name[ … ]=value`.
    pub subscript: Option<Word>,
}

/// A word before expansion.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Word {
    pub parts: Vec<Part>,
}

/// A piece of a word.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part {
    /// Unquoted text: globs, braces and tildes count.
    Plain(String),
    /// Text from quotes or escapes: only itself.
    Quoted(String),
    /// `$name`, `${name…}`.
    Variable(Variable),
    /// `$( … )` or backticks.
    Command { nodes: Vec<Node>, quoted: bool },
    /// `<( … )` and `>( … )`.
    Process { nodes: Vec<Node>, reads: bool },
    /// `$(( … ))`: a number; substitutions inside are kept.
    Number(Vec<Part>),
    /// The words of `name=( … )`.
    Array(Vec<Word>),
}

/// A parameter expansion.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Variable {
    pub name: String,
    pub quoted: bool,
    /// What stands in `${name[ … ]}`.
    pub subscript: Option<Word>,
    /// `:-`, `%`, `/`, …; empty for none; `!` for indirection, `#` for length.
    pub operator: String,
    /// What follows the operator.
    pub operand: Vec<Part>,
}

/// A redirection.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Redirect {
    pub operator: &'static str,
    pub target: Target,
}

/// What a redirection is tied to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Target {
    /// A file, a descriptor, or the text of `<<<`.
    Word(Word),
    /// A here-document, filled in when its body has been read.
    Document(Rc<OnceCell<Word>>),
}

/// Reads a whole text.
pub(crate) fn parse(text: &str) -> Result<Vec<Node>, Unreadable> {
    parse_at_depth(text, 0)
}

/// Reads a text as it stands inside double quotes: only its expansions count.
pub(crate) fn parse_document(text: &str) -> Result<Word, Unreadable> {
    let chars: Vec<char> = text.chars().collect();
    let parts = cursor::Parser::new(&chars, 0).document_parts()?;
    Ok(Word { parts })
}

fn parse_at_depth(text: &str, depth: usize) -> Result<Vec<Node>, Unreadable> {
    let chars: Vec<char> = text.chars().collect();
    cursor::Parser::new(&chars, depth).script()
}

#[cfg(test)]
#[path = "shell_tests.rs"]
mod tests;
