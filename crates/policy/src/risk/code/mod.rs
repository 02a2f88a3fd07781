//! What no line of the table can say: programs whose words have to be followed.
//! Each file knows one kind of them; the table calls the functions by name.

mod archives;
mod builds;
mod cmake;
mod consoles;
mod databases;
mod each;
mod files;
mod forge;
mod git;
mod git_config;
mod network;
mod packages;
mod printing;
mod strings;
mod text_tools;
mod wrappers;

// What all of it is written with.
use butler_protocol::Tier;

use super::{
    analyzer::Analyzer,
    args::{Args, basename},
    bodies::{self, awk, sed, sql},
    place::{self, Place, resolve},
    simple::Call,
    state::{Made, Output, State, Stdin},
    table::{Code, table},
    text::{Text, UNKNOWN},
};

pub(super) use builds::script_name;
pub(super) use git_config::executes;

const ALL: [&[(&str, Code)]; 15] = [
    archives::CODE,
    builds::CODE,
    cmake::CODE,
    consoles::CODE,
    databases::CODE,
    each::CODE,
    files::CODE,
    forge::CODE,
    git::CODE,
    network::CODE,
    packages::CODE,
    printing::CODE,
    strings::CODE,
    text_tools::CODE,
    wrappers::CODE,
];

/// The code that the table calls so.
pub(super) fn named(name: &str) -> Option<Code> {
    let mut all = ALL.into_iter().flatten();
    all.find(|(known, _)| *known == name).map(|(_, code)| *code)
}

/// What all of it is called.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    ALL.into_iter().flatten().map(|(name, _)| *name)
}
