//! One process of a repo as a service: everything that its file says.

use std::path::{Path, PathBuf};

use butler_protocol::Role;

use crate::{
    CliError,
    process::running::{HUB, SERVICE_VARIABLE},
};

/// A process that the system keeps.
#[derive(Debug, Clone)]
pub(crate) struct Service {
    /// The repo's name, as [`crate::names`] gives it.
    pub repo: String,
    /// `hub`, or a role.
    pub process: &'static str,
    /// The binary.
    pub program: PathBuf,
    /// The repo.
    pub root: PathBuf,
    /// The machine's folder.
    pub home: PathBuf,
    /// Where programs are looked for: as it was when the service was installed.
    pub path: String,
}

impl Service {
    /// As in `codebutler.app.coder`, without the ending of a file.
    pub(crate) fn name(&self) -> String {
        name(&self.repo, self.process)
    }

    /// What the binary is told to do.
    pub(crate) fn arguments(&self) -> Vec<&'static str> {
        match self.process {
            // As `up` starts it: another repo's hub is shared while it runs.
            HUB => vec!["hub", "--stand-by"],
            role => vec!["--role", role],
        }
    }

    /// Variables for the process, besides those of the person's own file.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("PATH", self.path.clone()),
            (
                butler_config::HOME_VARIABLE,
                self.home.to_string_lossy().into_owned(),
            ),
            (SERVICE_VARIABLE, self.name()),
            // Each arena of the allocator keeps pages that an idle process does not need.
            ("MALLOC_ARENA_MAX", "1".to_owned()),
        ]
    }

    /// The person's own variables, one `NAME=value` a line.
    pub(crate) fn environment_file(&self) -> PathBuf {
        environment_file(&self.home)
    }

    /// What people read in the lists of the system.
    pub(crate) fn title(&self) -> String {
        match self.process.parse::<Role>() {
            Ok(role) => format!("CodeButler, {} of {}", role.title(), self.repo),
            Err(_) => format!("CodeButler, hub of {}", self.repo),
        }
    }

    /// Refuses what no service file can hold.
    pub(crate) fn check(&self) -> Result<(), CliError> {
        let paths = [&self.program, &self.root, &self.home].map(|path| path.to_str());
        for text in paths.into_iter().chain([Some(self.path.as_str())]) {
            let fits = text.is_some_and(|text| !text.chars().any(char::is_control));
            if !fits {
                let shown = text.unwrap_or("a path that is not UTF-8");
                return Err(CliError::user(format!(
                    "no service can be made for {}: {shown:?} has characters that its file cannot hold",
                    self.name()
                ))
                .hint(super::RUNS_HERE));
            }
        }
        Ok(())
    }
}

/// As in `codebutler.app.coder`.
pub(crate) fn name(repo: &str, process: &str) -> String {
    format!("codebutler.{repo}.{process}")
}

/// Where a person puts variables for services.
pub(crate) fn environment_file(home: &Path) -> PathBuf {
    home.join("env")
}

#[cfg(test)]
pub(crate) fn example(process: &'static str) -> Service {
    Service {
        repo: "app".to_owned(),
        process,
        program: "/opt/code butler/bin/codebutler".into(),
        root: "/home/ana/100% \"fun\"/app & more".into(),
        home: "/home/ana/.codebutler".into(),
        path: "/usr/bin:/home/ana/my tools/bin:/opt/$x".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_file_can_hold_is_refused() {
        example("coder").check().unwrap();
        let odd = Service {
            root: "/home/ana/a\nExecStart=/bin/evil".into(),
            ..example("coder")
        };
        let said = odd.check().unwrap_err().plain();
        assert!(said.contains("codebutler.app.coder"), "{said}");
    }
}
