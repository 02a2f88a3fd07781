//! The configuration files, and who else can look at the private ones.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use rustix::fs::{Access, access};

use butler_config::{Endpoint, EndpointKind, Settings};
use butler_protocol::Role;

use crate::commands::setup::doctor::{Finding, Place, Repair};
use crate::{commands::environment, roles};

pub(crate) fn examine(place: &Place) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(place.home.as_deref().and_then(private_folder));
    findings.extend(place.home.as_deref().and_then(private_file));
    match &place.set_up {
        Some(root) => findings.extend(settings(root)),
        None => findings.push(Finding::failed(
            "configuration",
            "this repository is not set up",
            "run `codebutler init`",
        )),
    }
    findings
}

/// What helps where the machine folder cannot be written.
pub(crate) const OPEN_IT: &str = "make it writable, or let CODEBUTLER_HOME name another folder";

fn private_folder(home: &Path) -> Option<Finding> {
    let name = "machine folder";
    if let Some(closed) = not_writable(home) {
        let what = format!("{} cannot be written", closed.display());
        return Some(Finding::failed(name, what, OPEN_IT));
    }
    let mode = fs::metadata(home).ok()?.permissions().mode() & 0o777;
    Some(if mode & 0o077 == 0 {
        Finding::ok(name, home.display().to_string())
    } else {
        Finding::warning(
            name,
            format!("{} is open to others (mode {mode:03o})", home.display()),
            format!("chmod 700 {}", home.display()),
        )
        .repaired_by(Repair::Mode(home.to_owned(), 0o700))
    })
}

/// The folder itself, or the one in which it would be made, where nothing can be
/// written there.
pub(crate) fn not_writable(home: &Path) -> Option<&Path> {
    let there = home.ancestors().find(|dir| dir.exists())?;
    let open = there.is_dir() && access(there, Access::WRITE_OK).is_ok();
    (!open).then_some(there)
}

/// Nobody else may read the keys; with others reading along nothing else is loaded.
fn private_file(home: &Path) -> Option<Finding> {
    let file = home.join("config.json");
    let mode = fs::metadata(&file).ok()?.permissions().mode() & 0o777;
    let what = format!("{} is open to others (mode {mode:03o})", file.display());
    let fix = format!("chmod 600 {}", file.display());
    let found = Finding::failed("machine config", what, fix);
    (mode & 0o077 != 0).then(|| found.repaired_by(Repair::Mode(file, 0o600)))
}

fn settings(root: &Path) -> Vec<Finding> {
    let settings = match Settings::load(root, &environment) {
        Ok(settings) => settings,
        Err(problems) => {
            let each = problems.0.into_iter();
            return each
                .map(|problem| {
                    let fix = problem.remedy.clone();
                    let what = problem.to_string();
                    let what = what.trim_end_matches(&*fix).trim_end_matches(". ");
                    Finding::failed("configuration", what, fix)
                })
                .collect();
        }
    };
    let mut findings = vec![Finding::ok("configuration", "sound")];
    findings.extend(
        settings
            .notices
            .iter()
            .map(|notice| Finding::warning("configuration", &notice.what, &notice.remedy)),
    );
    findings.push(endpoints(&settings));
    findings
}

fn endpoints(settings: &Settings) -> Finding {
    const NAME: &str = "model endpoint";
    const FIX: &str = "`codebutler init` asks for one; `codebutler init --model-url URL` takes the address of one";
    let machine = &settings.machine;
    let without = |role: &Role| machine.endpoint_for(*role).is_none();
    let without: Vec<Role> = Role::ALL.into_iter().filter(without).collect();
    if !without.is_empty() {
        let what = format!(
            "none for {}; agents cannot start without",
            roles::words(&without)
        );
        return Finding::failed(NAME, what, FIX);
    }
    let keyless = Role::ALL
        .into_iter()
        .filter_map(|role| machine.endpoint_for(role))
        .find(|(_, endpoint)| lacks_a_key(endpoint));
    if let Some((name, _)) = keyless {
        let fix = "put its key into a variable and run `codebutler init --model-key-env VARIABLE`";
        return Finding::failed(NAME, format!("{name} has no key"), fix);
    }
    let names: Vec<_> = machine.endpoints().into_keys().collect();
    Finding::ok(NAME, names.join(", "))
}

/// A server of one's own may need none, and a gateway may take it as a header.
fn lacks_a_key(endpoint: &Endpoint) -> bool {
    endpoint.kind != EndpointKind::Generic
        && endpoint.api_key.is_none()
        && endpoint.headers.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::setup::doctor::Level;

    #[test]
    fn a_machine_folder_that_cannot_be_made_is_named_with_its_remedy() {
        let dir = tempfile::tempdir().unwrap();
        assert!(private_folder(&dir.path().join("not/yet")).is_none());
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let found = private_folder(&file.join(".codebutler")).unwrap();
        assert_eq!(found.level, Level::Failed);
        assert!(
            found.what.contains("file cannot be written"),
            "{}",
            found.what
        );
    }
}
