//! The jail attacks itself before it is trusted.

/// What the self-test tried and what came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SelfTest {
    /// One entry per attempt.
    pub probes: Vec<Probe>,
}

impl SelfTest {
    /// Whether everything that must be refused was, and at least something was tried.
    #[must_use]
    pub fn holds(&self) -> bool {
        !self.probes.is_empty() && self.probes.iter().all(|probe| probe.refused)
    }
}

/// One attempt to get out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// As in `read a secret outside`.
    pub name: &'static str,
    /// Whether the walls held.
    pub refused: bool,
    /// What was seen.
    pub detail: String,
}
