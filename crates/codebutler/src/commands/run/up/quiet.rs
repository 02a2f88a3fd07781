//! What reaches the terminal of `up` while the team works: what somebody must act on,
//! once. The rest is in the logs.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use crate::supervise::LineSink;

/// Passes on what is no ordinary line of a log, and errors; each of them once, also
/// when six processes say it.
pub(crate) fn problems_only(shown: LineSink) -> LineSink {
    let told: Mutex<HashSet<String>> = Mutex::default();
    Arc::new(move |name, line| {
        if is_routine(line) {
            return;
        }
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.insert(gist(name, line)) {
            shown(name, line);
        }
    })
}

/// A line of a log that is no error: `12:30:05 INFO  …`.
fn is_routine(line: &str) -> bool {
    let time = line.get(..9).is_some_and(|time| {
        let plain = |(at, byte): (usize, u8)| match at {
            2 | 5 => byte == b':',
            8 => byte == b' ',
            _ => byte.is_ascii_digit(),
        };
        time.bytes().enumerate().all(plain)
    });
    time && !line[9..].starts_with("ERROR")
}

/// The same for every process that has the same trouble, whenever it has it.
fn gist(name: &str, line: &str) -> String {
    let line = match line.get(9..) {
        Some(rest) if rest.starts_with("ERROR") => rest,
        _ => line,
    };
    // Of several repositories each has its own: `shop coder`.
    let (repo, process) = name.rsplit_once(' ').unwrap_or(("", name));
    format!("{repo} {}", line.replace(process, "…"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_somebody_must_act_on_is_shown_and_once() {
        let said = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&said);
        let hear = problems_only(Arc::new(move |name, line| {
            kept.lock().unwrap().push(format!("{name}: {line}"));
        }));
        for role in ["pm", "coder"] {
            hear(role, "12:30:05 INFO  pm: listening");
            hear(role, "12:30:06 WARN  pm: slow");
            hear(
                role,
                &format!("12:30:0{} ERROR {role}: no model", role.len()),
            );
            hear(role, "ended (exit status: 4), starting again");
            hear(role, "hint: add one");
        }
        let expected = [
            "pm: 12:30:02 ERROR pm: no model",
            "pm: ended (exit status: 4), starting again",
            "pm: hint: add one",
        ];
        assert_eq!(*said.lock().unwrap(), expected);
    }
}
