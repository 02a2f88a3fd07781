//! Named places where a test may kill the process.
//!
//! A room writes `fault("journal.before-append")` before and after each step
//! that it persists. Nothing happens there unless the binary installed a hook,
//! which it does in debug builds when [`FAULT_VARIABLE`] is set.

use std::sync::OnceLock;

/// `name` or `name:count`: die at the count-th passage (the first by default).
pub const FAULT_VARIABLE: &str = "CODEBUTLER_FAULT";

static HOOK: OnceLock<fn(&'static str)> = OnceLock::new();

/// Installs what happens at fault points; the first call wins.
pub fn on_fault(hook: fn(&'static str)) {
    let _ = HOOK.set(hook);
}

/// Passes the fault point `name`. Compiled to nothing without debug assertions.
#[inline]
pub fn fault(name: &'static str) {
    if cfg!(debug_assertions)
        && let Some(hook) = HOOK.get()
    {
        hook(name);
    }
}

/// An armed fault point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultPoint {
    /// As in `journal.before-append`.
    pub name: String,
    /// At which passage.
    pub passage: u32,
}

impl FaultPoint {
    /// Reads the value of [`FAULT_VARIABLE`].
    #[must_use]
    pub fn parse(value: &str) -> Option<Self> {
        let (name, passage) = match value.rsplit_once(':') {
            Some((name, count)) => (name, count.parse().ok()?),
            None => (value, 1),
        };
        (!name.is_empty() && passage > 0).then(|| Self {
            name: name.to_owned(),
            passage,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_has_a_name_and_a_passage() {
        let point = |name: &str, passage| {
            Some(FaultPoint {
                name: name.into(),
                passage,
            })
        };
        assert_eq!(FaultPoint::parse("a.b"), point("a.b", 1));
        assert_eq!(FaultPoint::parse("a.b:3"), point("a.b", 3));
        for bad in ["", ":1", "a:0", "a:x"] {
            assert_eq!(FaultPoint::parse(bad), None, "{bad}");
        }
    }
}
