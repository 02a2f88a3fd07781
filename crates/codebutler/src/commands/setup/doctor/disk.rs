//! Free space on the disks that the team writes to.

use std::path::Path;

use crate::commands::setup::doctor::{Finding, Place};

const GIB: u64 = 1 << 30;

pub(crate) fn examine(place: &Place) -> Vec<Finding> {
    let folder = place.repository.as_deref().unwrap_or(&place.here);
    let mut findings = vec![space("disk", folder)];
    // The machine's folder may not be there yet; then its parent's disk counts.
    let home = place.home.as_deref();
    let existing = home.and_then(|home| home.ancestors().find(|dir| dir.exists()));
    findings.extend(existing.map(|dir| space("disk of the machine folder", dir)));
    findings
}

fn space(name: &'static str, folder: &Path) -> Finding {
    match rustix::fs::statvfs(folder) {
        Ok(disk) => judge(name, disk.f_bavail.saturating_mul(disk.f_frsize)),
        Err(error) => Finding::warning(
            name,
            format!("free space is not known: {error}"),
            format!("check the disk of {}", folder.display()),
        ),
    }
}

fn judge(name: &'static str, free: u64) -> Finding {
    let figure = format!("{:.1} GB free", free as f64 / GIB as f64);
    if free < GIB / 4 {
        Finding::failed(
            name,
            figure,
            "free some space: worktrees and builds need some GB",
        )
    } else if free < 5 * GIB {
        Finding::warning(name, figure, "worktrees and builds need some GB")
    } else {
        Finding::ok(name, figure)
    }
}

#[cfg(test)]
mod tests {
    use crate::commands::setup::doctor::Level;
    use crate::commands::setup::doctor::disk::*;

    #[test]
    fn little_space_is_a_warning_and_none_a_failure() {
        for (free, level) in [
            (100 * GIB, Level::Ok),
            (2 * GIB, Level::Warning),
            (GIB / 100, Level::Failed),
        ] {
            assert_eq!(judge("disk", free).level, level);
        }
    }
}
