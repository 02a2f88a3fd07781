//! The terminal: results go to the output, everything else to the error stream.
//! Colours appear only on a terminal that wants them (`NO_COLOR` is obeyed), and
//! questions are asked only where somebody can answer.
//!
//! Whatever is said here may quote a model, a tool, a repository or an endpoint.
//! So nothing in a text can steer the terminal: colours are marks of our own
//! ([`paint`](crate::paint)), and every other control is written out.

pub(crate) mod paint;
pub(crate) mod roles;

use std::{
    fmt::Display,
    io::{self, IsTerminal, Write},
};

use butler_protocol::{visible, visible_json};
use serde::Serialize;

use crate::{CliError, Exit};

/// The one way in which commands talk to the person.
#[derive(Debug)]
pub(crate) struct Ui {
    interactive: bool,
}

impl Ui {
    /// Looks at what the process is connected to.
    pub(crate) fn new() -> Self {
        Self {
            interactive: io::stdin().is_terminal() && io::stderr().is_terminal(),
        }
    }

    /// A line of the result.
    pub(crate) fn line(&self, text: impl Display) -> io::Result<()> {
        writeln!(
            anstream::stdout().lock(),
            "{}",
            paint::shown(&text.to_string())
        )
    }

    /// The last line of the result.
    pub(crate) fn done(&self, text: impl Display) -> Result<Exit, CliError> {
        self.line(text)?;
        Ok(Exit::Done)
    }

    /// The whole result in one line, for programs.
    pub(crate) fn done_json(&self, value: impl Serialize) -> Result<Exit, CliError> {
        self.json(value)?;
        Ok(Exit::Done)
    }

    /// The result so far, in place of what was shown of it before; where that cannot be
    /// taken away it stands below.
    pub(crate) fn redrawn(&self, text: &str) -> io::Result<()> {
        let mut out = anstream::stdout().lock();
        if io::stdout().is_terminal() {
            // To the corner, and away with what is there.
            out.write_all(b"\x1b[H\x1b[2J")?;
        }
        writeln!(out, "{}", paint::shown(text))?;
        out.flush()
    }

    /// A value of the result in one line, for programs.
    pub(crate) fn json(&self, value: impl Serialize) -> io::Result<()> {
        self.written(&serde_json::to_string(&value)?)
    }

    /// The same over several lines.
    pub(crate) fn json_in_lines(&self, value: impl Serialize) -> io::Result<()> {
        self.written(&serde_json::to_string_pretty(&value)?)
    }

    /// The result as it is, for files and pipes; a terminal gets what can be seen of it.
    pub(crate) fn raw(&self, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if out.is_terminal() {
            out.write_all(visible(&String::from_utf8_lossy(bytes)).as_bytes())?;
        } else {
            out.write_all(bytes)?;
        }
        out.flush()
    }

    /// A line beside the result. If it cannot be said there is nobody to tell.
    pub(crate) fn note(&self, text: impl Display) {
        let _ = note(&text.to_string());
    }

    /// Whether somebody is there to answer.
    pub(crate) fn can_ask(&self) -> bool {
        self.interactive
    }

    fn written(&self, json: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{}", visible_json(json))?;
        out.flush()
    }
}

/// A line on the error stream, for those who have no [`Ui`].
pub(crate) fn note(text: &str) -> io::Result<()> {
    writeln!(anstream::stderr().lock(), "{}", paint::shown(text))
}
