//! Landlock: behind the namespaces a second layer that says "write only here"
//! once more, and where there are no namespaces the wall itself.

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, Scope,
};

use super::{Doing, Failed, sys};

/// The version whose file rights the fallback insists on: before it, files could
/// be truncated anywhere.
const NEEDED: ABI = ABI::V3;
/// The version that keeps signals and abstract sockets inside.
const SCOPES: i32 = 6;

/// Whether abstract Unix sockets of the host are out of reach.
pub(super) fn scopes_abstract_sockets() -> bool {
    sys::landlock_version() >= SCOPES
}

/// The layer behind the namespaces: what is not meant to be written is not
/// written, even if a mount came out wrong.
pub(super) fn second_layer<'a>(writable: impl Iterator<Item = &'a Path>) -> Result<(), Failed> {
    if sys::landlock_version() < 3 {
        return Ok(());
    }
    let write: Vec<&Path> = writable
        .chain([Path::new("/tmp"), Path::new("/dev")])
        .collect();
    restrict(&[Path::new("/")], &write)
}

/// Reads and runs only below `read`, writes only below `write`.
pub(super) fn restrict(read: &[&Path], write: &[&Path]) -> Result<(), Failed> {
    let step = "restrict file access";
    let all = AccessFs::from_all(NEEDED);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(all)
        .doing(step)?
        .set_compatibility(CompatLevel::BestEffort)
        .scope(Scope::from_all(ABI::V6))
        .doing(step)?
        .create()
        .doing(step)?;
    let looks = AccessFs::from_read(NEEDED);
    for (paths, access) in [(read, looks), (write, all)] {
        for path in paths {
            // What does not exist needs no right.
            let Ok(file) = PathFd::new(path) else {
                continue;
            };
            let access = if path.is_dir() {
                access
            } else {
                access & AccessFs::from_file(NEEDED)
            };
            ruleset = ruleset
                .add_rule(PathBeneath::new(file, access))
                .doing(step)?;
        }
    }
    ruleset.restrict_self().doing(step)?;
    Ok(())
}
