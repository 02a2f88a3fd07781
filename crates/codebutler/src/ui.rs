//! The terminal: results go to the output, everything else to the error stream.
//! Colours appear only on a terminal that wants them (`NO_COLOR` is obeyed), and
//! questions are asked only where somebody can answer.

use std::{
    fmt::Display,
    io::{self, IsTerminal, Write},
};

/// The one way in which commands talk to the person.
#[derive(Debug)]
pub struct Ui {
    interactive: bool,
}

impl Ui {
    /// Looks at what the process is connected to.
    pub fn new() -> Self {
        Self {
            interactive: io::stdin().is_terminal() && io::stderr().is_terminal(),
        }
    }

    /// A line of the result.
    pub fn line(&self, text: impl Display) -> io::Result<()> {
        writeln!(anstream::stdout().lock(), "{text}")
    }

    /// The result as it is, for files and pipes.
    pub fn raw(&self, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()
    }

    /// A line beside the result. If it cannot be said there is nobody to tell.
    pub fn note(&self, text: impl Display) {
        let _ = writeln!(anstream::stderr().lock(), "{text}");
    }

    /// Whether somebody is there to answer.
    pub fn can_ask(&self) -> bool {
        self.interactive
    }
}
