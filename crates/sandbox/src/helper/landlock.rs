//! Landlock: behind the namespaces a second layer that says "write only here"
//! once more, and where there are no namespaces the wall itself.

use std::{
    os::fd::{AsFd, BorrowedFd},
    path::Path,
    sync::LazyLock,
};

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, Scope,
};

use super::{Doing, Failed, sys};

/// The version whose file rights the fallback insists on: before it, files could
/// be truncated anywhere.
const NEEDED: ABI = ABI::V3;
const STEP: &str = "restrict file access";
/// The version that keeps signals and abstract sockets inside.
const SCOPES: i32 = 6;

/// Whether abstract Unix sockets of the host are out of reach.
pub(super) fn scopes_abstract_sockets() -> bool {
    sys::landlock_version() >= SCOPES
}

/// Rules that a process can take on.
pub(super) struct Rules(RulesetCreated);

impl Rules {
    /// The layer behind the namespaces: what is not meant to be written is not
    /// written, even if a mount came out wrong. Folders and files are given open: the
    /// rules are about what they are, wherever they are mounted. Nothing where the kernel has none.
    pub(super) fn second_layer<'a>(
        root: impl AsFd,
        writable: impl Iterator<Item = BorrowedFd<'a>>,
    ) -> Result<Option<Self>, Failed> {
        static VERSION: LazyLock<i32> = LazyLock::new(sys::landlock_version);
        if *VERSION < 3 {
            return Ok(None);
        }
        let looks = AccessFs::from_read(NEEDED);
        let mut rules = ruleset()?
            .add_rule(PathBeneath::new(root, looks))
            .doing(STEP)?;
        for place in writable {
            let rule = PathBeneath::new(place, AccessFs::from_all(NEEDED));
            rules = rules.add_rule(rule).doing(STEP)?;
        }
        Ok(Some(Self(rules)))
    }

    /// Takes them on, for good.
    pub(super) fn keep(self) -> Result<(), Failed> {
        self.0.restrict_self().doing(STEP)?;
        Ok(())
    }
}

/// Reads and runs only below `read`, writes only below `write`.
pub(super) fn restrict(read: &[&Path], write: &[&Path]) -> Result<(), Failed> {
    let mut rules = ruleset()?;
    let (looks, all) = (AccessFs::from_read(NEEDED), AccessFs::from_all(NEEDED));
    for (paths, access) in [(read, looks), (write, all)] {
        for path in paths {
            // What does not exist needs no right.
            let Ok(file) = PathFd::new(path) else {
                continue;
            };
            rules = rules.add_rule(PathBeneath::new(file, access)).doing(STEP)?;
        }
    }
    Rules(rules).keep()
}

/// No rules yet, so nothing is allowed. Where a rule is for a file, the rights that are
/// for folders only are left out of it.
fn ruleset() -> Result<RulesetCreated, Failed> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))
        .doing(STEP)?
        .set_compatibility(CompatLevel::BestEffort)
        .scope(Scope::from_all(ABI::V6))
        .doing(STEP)?
        .create()
        .doing(STEP)
}
