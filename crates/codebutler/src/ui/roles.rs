//! Roles in a row, for people.

use butler_protocol::Role;

/// As on the command line: `pm, coder`.
pub(crate) fn words(roles: &[Role]) -> String {
    roles
        .iter()
        .map(|role| role.as_str())
        .collect::<Vec<_>>()
        .join(", ")
}

/// As people call them: `PM, Coder`.
pub(crate) fn titles(roles: &[Role]) -> String {
    roles
        .iter()
        .map(|role| role.title())
        .collect::<Vec<_>>()
        .join(", ")
}
