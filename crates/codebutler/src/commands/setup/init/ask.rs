//! The ways in which `init` asks. Everything that comes from outside is made visible
//! before a prompt draws it.

use butler_protocol::{Secret, visible_line};
use inquire::{InquireError, Password, Select, Text};

use crate::CliError;

/// One of several; `first` is where the cursor stands. Its place in the list.
pub(crate) fn one_of(
    question: &str,
    help: &str,
    choices: &[String],
    first: usize,
) -> Result<usize, CliError> {
    let shown: Vec<String> = choices
        .iter()
        .map(|choice| visible_line(choice).into_owned())
        .collect();
    let (question, help) = (visible_line(question), visible_line(help));
    let mut select = Select::new(&question, shown).with_starting_cursor(first);
    if !help.is_empty() {
        select = select.with_help_message(&help);
    }
    let chosen = select.raw_prompt().map_err(stopped)?;
    Ok(chosen.index)
}

/// A line of text, which begins with what was there.
pub(crate) fn line(question: &str, before: &str) -> Result<String, CliError> {
    let question = visible_line(question);
    let before = visible_line(before);
    let answer = Text::new(&question).with_initial_value(&before).prompt();
    answer.map(|text| text.trim().to_owned()).map_err(stopped)
}

/// An address, with the form that it has while nothing is typed.
pub(crate) fn address(question: &str, before: &str) -> Result<String, CliError> {
    let before = visible_line(before);
    let asked = Text::new(question)
        .with_initial_value(&before)
        .with_placeholder("http://127.0.0.1:8000/v1");
    let answer = asked.prompt();
    answer.map(|text| text.trim().to_owned()).map_err(stopped)
}

/// A line that does not show while it is typed; nothing when it was just Enter.
pub(crate) fn secret(question: &str) -> Result<Option<Secret>, CliError> {
    let answer = Password::new(question).without_confirmation().prompt();
    let key = answer.map_err(stopped)?;
    Ok(Some(key.trim())
        .filter(|key| !key.is_empty())
        .map(Secret::new))
}

/// Somebody left in the middle.
#[derive(Debug, thiserror::Error)]
#[error("stopped; nothing was written")]
pub(crate) struct Stopped;

/// Whoever leaves in the middle has changed nothing.
pub(crate) fn stopped(error: InquireError) -> CliError {
    match error {
        InquireError::OperationCanceled | InquireError::OperationInterrupted => {
            CliError::because(Stopped)
        }
        other => CliError::internal(other),
    }
}
