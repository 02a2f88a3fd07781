//! Plays a kernel that has less: a program that is started from here, and whatever it
//! starts, finds no namespaces, or no Landlock either. For trying on one machine what
//! CodeButler does on another: `codebutler __sandbox weaker namespaces codebutler doctor`.
//! It only ever takes away.

use std::{collections::BTreeMap, ffi::OsString, os::unix::process::CommandExt, process::Command};

use libc::c_long;

use super::{Failed, filter, filter::program::Fate};

/// What a kernel before 5.13 does not know.
const LANDLOCK: [c_long; 3] = [
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
];

/// Becomes the program that the words name behind what is missing; returns only when
/// that cannot be.
pub(super) fn play(mut words: impl Iterator<Item = OsString>) -> Failed {
    let step = "play a weaker kernel";
    let missing = words.next().unwrap_or_default();
    let mut fates = BTreeMap::new();
    filter::refuse_namespaces(&mut fates);
    match missing.to_str() {
        Some("namespaces") => {}
        Some("everything") => {
            let numbers = LANDLOCK.iter().filter_map(|call| u32::try_from(*call).ok());
            fates.extend(numbers.map(|call| (call, Fate::Unknown)));
        }
        _ => return Failed::new(step, "say `namespaces` or `everything`, then a program"),
    }
    if let Err(failed) = filter::of(&fates).and_then(|program| program.install()) {
        return failed;
    }
    let Some(program) = words.next() else {
        return Failed::new(step, "no program is named");
    };
    let error = Command::new(program).args(words).exec();
    Failed::new(step, error.to_string())
}
