//! The exit codes, as documented in `docs/exit-codes.md`.

use std::process::ExitCode;

use crate::error::Kind;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It did what was asked.
    Done,
    /// A fault of the program or of the machine.
    Internal,
    /// The command line could not be understood; clap's own code.
    Usage,
    /// A configuration file has problems.
    Configuration,
    /// It cannot be done like this, here or now.
    User,
    /// It ran, and what it looked at is not in order.
    Findings,
    /// `exec`, `chat`: all turns are used, the task is not done.
    TurnsUsed,
    /// `exec`, `chat`: the cap does not pay for another call.
    OutOfMoney,
    /// `exec`, `chat`: it went in circles.
    Stuck,
    /// `exec`, `chat`: the model did not answer, or refused.
    ModelFailed,
    /// `status`: nothing runs.
    NothingRuns,
    /// A process that a service keeps wants to be started anew.
    ComeBack,
    /// `exec`: a signal interrupted it; it can be taken up again.
    Interrupted,
}

impl Exit {
    /// Every exit with its code, for the documentation's test.
    #[cfg(test)]
    pub const ALL: [Exit; 13] = [
        Exit::Done,
        Exit::Internal,
        Exit::Usage,
        Exit::Configuration,
        Exit::User,
        Exit::Findings,
        Exit::TurnsUsed,
        Exit::OutOfMoney,
        Exit::Stuck,
        Exit::ModelFailed,
        Exit::NothingRuns,
        Exit::ComeBack,
        Exit::Interrupted,
    ];

    /// The code that scripts see.
    pub const fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Internal => 1,
            Exit::Usage => 2,
            Exit::Configuration => 3,
            Exit::User => 4,
            Exit::Findings => 5,
            Exit::TurnsUsed => 6,
            Exit::OutOfMoney => 7,
            Exit::Stuck => 8,
            Exit::ModelFailed => 9,
            Exit::NothingRuns => 10,
            Exit::ComeBack => 75,
            Exit::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

impl From<Kind> for Exit {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::User => Exit::User,
            Kind::Configuration => Exit::Configuration,
            Kind::Internal => Exit::Internal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exit_code_is_documented() {
        let page = include_str!("../../../docs/exit-codes.md");
        for exit in Exit::ALL {
            let row = format!("| {} |", exit.code());
            assert!(
                page.contains(&row),
                "{exit:?} is missing in docs/exit-codes.md"
            );
        }
    }
}
