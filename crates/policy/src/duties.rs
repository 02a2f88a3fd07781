//! What a role is there for. Whoever would ask for a role's name asks for its duty
//! instead, so that a name decides something here and nowhere else.

use butler_protocol::Role;

/// What is done by one role for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Duty {
    /// Hears people who name nobody, answers for the team and tidies up after it.
    Front,
    /// Changes the code.
    Build,
    /// Looks at what was built.
    Review,
    /// Says what a pull request is about, and what the team learns from it.
    Remember,
}

impl Duty {
    /// Whether it is this role's.
    pub const fn is_of(self, role: Role) -> bool {
        matches!(
            (self, role),
            (Duty::Front, Role::Pm)
                | (Duty::Build, Role::Coder)
                | (Duty::Review, Role::Reviewer)
                | (Duty::Remember, Role::Lead)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duty_is_one_role_s() {
        for duty in [Duty::Front, Duty::Build, Duty::Review, Duty::Remember] {
            let roles = Role::ALL.into_iter().filter(|role| duty.is_of(*role));
            assert_eq!(roles.count(), 1, "{duty:?}");
        }
    }
}
