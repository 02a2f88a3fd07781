//! Where a learning goes. Decided by what it is about, never by whoever happens
//! to propose it; a role that took no part in the thread learns nothing from it.

use butler_protocol::Role;

/// What a learning is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Topic {
    /// Architecture and conventions that all roles share.
    Shared,
    /// How the team works: steps, order, who asks whom.
    Process,
    /// How code is written here.
    Coding,
    /// One role's own craft.
    Role(Role),
}

/// Why a learning goes nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the {} took no part in this thread, so there is nothing for it to learn; give it to a role that did, or make it shared", .0.title())]
pub struct TookNoPart(pub Role);

impl Topic {
    /// The file below `.codebutler/` that keeps such learnings.
    /// Fails when it is for a role that is not among `took_part`.
    pub fn file(self, took_part: &[Role]) -> Result<&'static str, TookNoPart> {
        let role = match self {
            Topic::Shared => return Ok("global.md"),
            Topic::Process => return Ok("workflows.md"),
            Topic::Coding => Role::Coder,
            Topic::Role(role) => role,
        };
        if !took_part.contains(&role) {
            return Err(TookNoPart(role));
        }
        Ok(crate::role_file(role).name)
    }

    /// Reads `shared`, `process`, `coding` or the name of a role, as a model
    /// writes it.
    pub fn read(word: &str) -> Option<Self> {
        match word.trim().to_lowercase().as_str() {
            "shared" | "global" => Some(Topic::Shared),
            "process" | "workflow" | "workflows" => Some(Topic::Process),
            "coding" => Some(Topic::Coding),
            other => other.parse().ok().map(Topic::Role),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_topic_has_its_file() {
        let all = Role::ALL;
        for (word, file) in [
            ("shared", "global.md"),
            ("process", "workflows.md"),
            ("Coding", "coder.md"),
            ("reviewer", "reviewer.md"),
        ] {
            assert_eq!(Topic::read(word).unwrap().file(&all), Ok(file), "{word}");
        }
        assert_eq!(Topic::read("everything"), None);
    }

    #[test]
    fn a_role_that_took_no_part_learns_nothing() {
        let error = Topic::Role(Role::Artist)
            .file(&[Role::Pm, Role::Coder])
            .unwrap_err();
        assert!(
            error.to_string().starts_with("the Artist took no part"),
            "{error}"
        );
        assert!(Topic::Coding.file(&[Role::Pm]).is_err());
        assert_eq!(Topic::Process.file(&[]), Ok("workflows.md"));
    }
}
