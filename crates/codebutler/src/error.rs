//! What went wrong, for the person at the terminal: what, where, what to do.
//!
//! Three kinds, because they ask for three different things: do it differently
//! (user), correct a file (configuration), look into the machine or report a
//! bug (internal).

use std::{fmt::Display, io};

use butler_config::{Problem, Problems};
use butler_hub::HubError;

use crate::{Paint, Ui};

/// Whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The person asked for something that cannot be done like this.
    User,
    /// A file must be corrected first.
    Configuration,
    /// The machine or the program failed.
    Internal,
}

/// An error with what to do about it.
#[derive(Debug)]
pub(crate) struct CliError {
    kind: Kind,
    cause: anyhow::Error,
    problems: Vec<Problem>,
    hints: Vec<String>,
}

impl CliError {
    /// The person asked for something that cannot be done like this.
    pub(crate) fn user(what: impl Display) -> Self {
        Self::new(Kind::User, anyhow::anyhow!("{what}"))
    }

    /// The same from an error that somebody up the line may look for.
    pub(crate) fn because(cause: impl Into<anyhow::Error>) -> Self {
        Self::new(Kind::User, cause.into())
    }

    /// The error that this is about, if it is one of these.
    pub(crate) fn cause<T: std::error::Error + Send + Sync + 'static>(&self) -> Option<&T> {
        self.cause.downcast_ref()
    }

    /// The machine or the program failed.
    pub(crate) fn internal(cause: impl Into<anyhow::Error>) -> Self {
        Self::new(Kind::Internal, cause.into())
    }

    fn new(kind: Kind, cause: anyhow::Error) -> Self {
        Self {
            kind,
            cause,
            problems: Vec::new(),
            hints: Vec::new(),
        }
    }

    /// Adds what to do about it.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// What a hub's own error knows to do about it.
    pub(crate) fn remedy(&self) -> Option<&'static str> {
        self.cause::<HubError>().and_then(HubError::remedy)
    }

    /// The same in one line, for answers that programs read.
    pub(crate) fn plain(&self) -> String {
        let mut text = format!("{:#}", self.cause);
        for problem in &self.problems {
            let Problem {
                file, key, what, ..
            } = problem;
            let key = if key.is_empty() {
                String::new()
            } else {
                format!("{key}: ")
            };
            text.push_str(&format!("; {}: {key}{what}", file.display()));
        }
        text
    }

    /// The same with what to do about it.
    pub(crate) fn plain_with_hints(&self) -> String {
        let said = std::iter::once(self.plain()).chain(self.hints.iter().cloned());
        said.collect::<Vec<_>>().join("; ")
    }

    /// Whose turn it is.
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// Says it on the error stream. A reader that went away is no error to speak of.
    pub(crate) fn show(&self, ui: &Ui) {
        if self.is_broken_pipe() {
            return;
        }
        let mut causes = self.cause.chain();
        if let Some(first) = causes.next() {
            ui.note(format_args!("{} {first}", "error:".red().bold()));
        }
        for cause in causes {
            ui.note(format_args!("  caused by: {cause}"));
        }
        show_problems(&self.problems, ui);
        let remedy = self.remedy();
        for hint in self.hints.iter().map(String::as_str).chain(remedy) {
            ui.note(format_args!("{} {hint}", "hint:".cyan()));
        }
    }

    fn is_broken_pipe(&self) -> bool {
        let error = self.cause.downcast_ref::<io::Error>();
        error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// Shows problems in two lines each: where and what, then the remedy.
pub(crate) fn show_problems(problems: &[Problem], ui: &Ui) {
    for problem in problems {
        let place = match problem.line {
            Some(line) => format!("{}:{line}", problem.file.display()),
            None => problem.file.display().to_string(),
        };
        let key = match problem.key.as_str() {
            "" => String::new(),
            key => format!("{}: ", key.bold()),
        };
        ui.note(format_args!("  {place}: {key}{}", problem.what));
        ui.note(format_args!("    {}", problem.remedy.dimmed()));
    }
}

impl From<Problems> for CliError {
    fn from(problems: Problems) -> Self {
        let count = problems.0.len();
        let plural = if count == 1 { "" } else { "s" };
        let cause = anyhow::anyhow!("{count} problem{plural} in the configuration");
        Self {
            problems: problems.0,
            ..Self::new(Kind::Configuration, cause)
        }
    }
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        Self::internal(error)
    }
}

impl From<anyhow::Error> for CliError {
    fn from(error: anyhow::Error) -> Self {
        Self::new(Kind::Internal, error)
    }
}
