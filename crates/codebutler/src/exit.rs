//! The exit codes, as documented in `docs/exit-codes.md`.

use std::process::ExitCode;

use butler_protocol::Ending;

use crate::error::Kind;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It did what was asked.
    Done = 0,
    /// A fault of the program or of the machine.
    Internal = 1,
    /// The command line could not be understood; clap's own code.
    Usage = 2,
    /// A configuration file has problems.
    Configuration = 3,
    /// It cannot be done like this, here or now.
    User = 4,
    /// It ran, and what it looked at is not in order.
    Findings = 5,
    /// `exec`, `chat`: all turns are used, the task is not done.
    TurnsUsed = 6,
    /// `exec`, `chat`: the cap does not pay for another call.
    OutOfMoney = 7,
    /// `exec`, `chat`: it went in circles.
    Stuck = 8,
    /// `exec`, `chat`: the model did not answer, or refused.
    ModelFailed = 9,
    /// `status`: nothing runs.
    NothingRuns = 10,
    /// A process that a service keeps wants to be started anew.
    ComeBack = 75,
    /// `exec`: a signal interrupted it; it can be taken up again.
    Interrupted = 130,
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
        self as u8
    }

    /// How a role's work came to its end; a person may stop it.
    pub(crate) const fn of(ending: &Ending) -> Self {
        match ending {
            Ending::Done | Ending::PassedOn | Ending::Stopped => Exit::Done,
            Ending::TurnLimit => Exit::TurnsUsed,
            Ending::OutOfMoney => Exit::OutOfMoney,
            Ending::Stuck => Exit::Stuck,
            Ending::Failed { .. } => Exit::ModelFailed,
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
