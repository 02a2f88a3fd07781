//! Named places where a test may kill the process.
//!
//! A crate writes `fault("crate.before-step")` before and `after-` behind each
//! step that it persists; [`FAULT_POINTS`](crate::FAULT_POINTS) says what each
//! name means. Nothing happens there unless the binary installed a hook, which
//! it does in debug builds when one of the two variables is set.

pub(crate) mod points;

use std::sync::OnceLock;

/// `[process/]name[:count][!]`: die at the count-th passage (the first by
/// default) of the named process (`hub`, or a role), or of any; with `!` panic
/// there instead.
pub const FAULT_VARIABLE: &str = "CODEBUTLER_FAULT";

/// A file that gets a line for every point that a process passes. Once it says
/// that a process was killed, nobody is killed any more: what is started again
/// in its place lives.
pub const FAULT_LOG_VARIABLE: &str = "CODEBUTLER_FAULT_LOG";

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
    /// `hub`, a role, or nothing for every process.
    pub process: Option<String>,
    /// As in `journal.before-append`.
    pub name: String,
    pub passage: u32,
    /// Panic instead of dying.
    pub panics: bool,
}

impl FaultPoint {
    /// Reads the value of [`FAULT_VARIABLE`].
    pub fn parse(value: &str) -> Option<Self> {
        let plain = value.strip_suffix('!');
        let panics = plain.is_some();
        let value = plain.unwrap_or(value);
        let (process, rest) = match value.split_once('/') {
            Some((process, rest)) => (Some(process), rest),
            None => (None, value),
        };
        let (name, passage) = match rest.rsplit_once(':') {
            Some((name, count)) => (name, count.parse().ok()?),
            None => (rest, 1),
        };
        let named = !name.is_empty() && process != Some("");
        (named && passage > 0).then(|| Self {
            process: process.map(str::to_owned),
            name: name.to_owned(),
            passage,
            panics,
        })
    }

    /// Whether it is armed in this process.
    pub fn concerns(&self, process: &str) -> bool {
        self.process
            .as_deref()
            .is_none_or(|wanted| wanted == process)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_has_a_name_a_passage_and_perhaps_a_process() {
        let point = |process: Option<&str>, name: &str, passage| {
            Some(FaultPoint {
                process: process.map(str::to_owned),
                name: name.into(),
                passage,
                panics: false,
            })
        };
        assert_eq!(FaultPoint::parse("a.b"), point(None, "a.b", 1));
        assert_eq!(FaultPoint::parse("a.b:3"), point(None, "a.b", 3));
        assert_eq!(FaultPoint::parse("hub/a.b:3"), point(Some("hub"), "a.b", 3));
        for bad in ["", ":1", "a:0", "a:x", "/a", "hub/", "hub/:2"] {
            assert_eq!(FaultPoint::parse(bad), None, "{bad}");
        }
        assert!(FaultPoint::parse("a.b:2!").unwrap().panics);
        let of_hub = FaultPoint::parse("hub/a.b").unwrap();
        assert!(of_hub.concerns("hub") && !of_hub.concerns("coder"));
        assert!(FaultPoint::parse("a.b").unwrap().concerns("coder"));
    }
}
