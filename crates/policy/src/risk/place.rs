//! Where a path lies. Decided on text alone: links that the text itself made
//! are followed, others are the sandbox's business.

use super::{analyzer::Analyzer, state::State, table::table, text::Text};

/// What a write to a path means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// In the worktree or the temp folder.
    Inside(String),
    /// A device that swallows or prints, as `/dev/null`.
    Device,
    /// Inside, but git's own or the team's rules.
    Protected(String),
    /// Anywhere else, or not known.
    Outside(String),
}

const TEMP: [&str; 2] = ["/tmp", "/var/tmp"];

const DEVICES: &str =
    "/dev/null /dev/stdin /dev/stdout /dev/stderr /dev/tty /dev/full /dev/zero /dev/fd";

impl Analyzer<'_> {
    /// Where a written path lies.
    pub(super) fn place(&self, path: &Text, state: &State) -> Place {
        if !path.placed {
            return Place::Outside(path.text.clone());
        }
        let Some(full) = resolve(&path.text, state) else {
            return Place::Outside(path.text.clone());
        };
        if DEVICES.split(' ').any(|device| is_beneath(&full, device)) {
            return Place::Device;
        }
        if state.remote || !self.is_inside(&full) {
            return Place::Outside(full);
        }
        if self.is_protected_path(&full) {
            return Place::Protected(full);
        }
        Place::Inside(full)
    }

    /// Whether losing what is there costs no work: it is made again, or it is in the
    /// command's own temp folder, which is empty when it starts.
    pub(super) fn is_worth_nothing(&self, path: &Text, state: &State) -> bool {
        let Place::Inside(full) = self.place(path, state) else {
            return false;
        };
        if let Some(below) = full.strip_prefix(self.ctx.root) {
            return below.split('/').any(is_made_again);
        }
        let temp = TEMP.iter().find_map(|temp| full.strip_prefix(temp));
        temp.is_some_and(|below| below.len() > 1)
    }

    /// Whether a resolved folder is in the writable area.
    pub(super) fn is_inside(&self, full: &str) -> bool {
        is_beneath(full, self.ctx.root) || TEMP.iter().any(|temp| is_beneath(full, temp))
    }

    /// Git's own files and the three files that say what agents may do.
    fn is_protected_path(&self, full: &str) -> bool {
        let relative = full.strip_prefix(self.ctx.root).unwrap_or(full);
        let lower = relative.to_lowercase();
        let mut parts = lower.split('/').filter(|part| !part.is_empty());
        if parts.any(|part| part == ".git") {
            return true;
        }
        matches!(
            lower.trim_start_matches('/'),
            ".codebutler/config.json" | ".codebutler/policy.json" | ".codebutler/mcp.json"
        )
    }
}

/// Whether a name, or a pattern for names, stands for what a build, a test or an
/// install makes again. Where a repository keeps its own work under such a name, it
/// is saved before the command runs, like everything that git does not ignore.
pub(super) fn is_made_again(name: &str) -> bool {
    !name.contains('/') && table().has("made-again", name)
}

/// The absolute path, `.` and `..` resolved, links of this text followed.
pub(super) fn resolve(path: &str, state: &State) -> Option<String> {
    if path.is_empty() || path.contains('\0') {
        return None;
    }
    let base = if path.starts_with('/') {
        String::new()
    } else {
        state.cwd.clone()?
    };
    let mut full = normal(&format!("{base}/{path}"));
    for _ in 0..8 {
        let link = state.links.iter().find(|(from, _)| is_beneath(&full, from));
        let Some((from, target)) = link else { break };
        full = normal(&format!("{target}{}", &full[from.len()..]));
    }
    Some(full)
}

pub(super) fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Whether `path` is `folder` or lies in it; both normal.
pub(super) fn is_beneath(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
