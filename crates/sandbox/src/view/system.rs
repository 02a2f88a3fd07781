//! What every command sees of the host, read-only: the system's programs and
//! libraries, the harmless part of `/etc`, and the toolchains. Found once.
//!
//! An allow-list, because "everything but the secrets" fails with the first
//! secret nobody listed. Not here on purpose: `/run` and `/var` (sockets), `/sys`,
//! `/home` and `/root`, `/opt` and `/srv` beyond toolchains.

use std::{fs, path::Path};

use crate::view::{Step, toolchain};

const FOLDERS: [&str; 9] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
];

/// What programs look up below `/etc`. No folder that also holds private keys.
const ETC: [&str; 40] = [
    "alpine-release",
    "alternatives",
    "arch-release",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "fedora-release",
    "fonts",
    "group",
    "host.conf",
    "hosts",
    "inputrc",
    "java",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "lsb-release",
    "magic",
    "mime.types",
    "networks",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
    "pki/ca-trust/extracted",
    "pki/tls/certs",
    "pki/tls/cert.pem",
    "pki/tls/openssl.cnf",
    "protocols",
    "python3",
    "redhat-release",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
];

/// The steps that every view starts with.
pub(crate) fn base() -> Vec<Step> {
    let mut steps = Vec::new();
    for folder in FOLDERS {
        show(&mut steps, Path::new(folder));
    }
    let etc = Path::new("/etc");
    for name in ETC {
        show(&mut steps, &etc.join(name));
    }
    for entry in fs::read_dir(etc).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_string_lossy().starts_with("java-") {
            show(&mut steps, &entry.path());
        }
    }
    for place in toolchain::places() {
        show(&mut steps, &place);
    }
    steps.sort_by_key(depth);
    steps
}

/// How names are looked up, for commands that may use the host's network.
pub(crate) fn resolver() -> Vec<Step> {
    let mut steps = Vec::new();
    show(&mut steps, Path::new("/etc/resolv.conf"));
    steps
}

/// Shows a path as it is: a link as a link, together with what it leads to.
fn show(steps: &mut Vec<Step>, path: &Path) {
    let Ok(found) = fs::symlink_metadata(path) else {
        return;
    };
    if found.is_symlink() {
        let (Ok(to), Ok(real)) = (fs::read_link(path), fs::canonicalize(path)) else {
            return;
        };
        let link = Step::Link {
            at: path.into(),
            to: to.into(),
        };
        // A path below another link is reached through that one.
        let reached = fs::canonicalize(path.parent().unwrap_or(path));
        if !steps.contains(&link) && reached.is_ok_and(|real| Some(&*real) == path.parent()) {
            steps.push(link);
        }
        show_real(steps, &real);
    } else if let Ok(real) = fs::canonicalize(path) {
        show_real(steps, &real);
    }
}

fn show_real(steps: &mut Vec<Step>, real: &Path) {
    let covered = steps.iter().any(|step| match step {
        Step::Show { path, .. } => real.starts_with(path.path()),
        _ => false,
    });
    if !covered && real.parent().is_some() {
        steps.push(Step::Show {
            path: real.into(),
            write: false,
        });
    }
}

fn depth(step: &Step) -> usize {
    let path = match step {
        Step::Link { at, .. } | Step::Instead { at, .. } => at,
        Step::Show { path, .. } | Step::Cover { path, .. } => path,
    };
    path.path().components().count()
}
