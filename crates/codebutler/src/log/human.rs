//! A line as people read it: time, level, who and where, the sentence, the facts.

use crate::Paint;
use butler_protocol::{LogLevel, LogLine, ThreadId, visible_line};
use serde_json::Value;

/// `12:30:05 WARN  coder 5dy2wy turn 3 Bash: the message key=value`. Colours
/// are taken out where nobody sees them.
pub(crate) fn render(line: &LogLine) -> String {
    let seconds = line.at_ms.div_euclid(1000).rem_euclid(86_400);
    let clock = format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    );
    let level = line.level.as_str().to_uppercase();
    let level = match line.level {
        LogLevel::Error => format!("{level:<5}").red().to_string(),
        LogLevel::Warn => format!("{level:<5}").yellow().to_string(),
        _ => format!("{level:<5}").dimmed().to_string(),
    };
    let mut place = vec![line.process.clone()];
    // The hub speaks about each of them.
    let role = line.role.map(|role| role.to_string());
    place.extend(role.filter(|role| *role != line.process));
    place.extend(line.thread.as_deref().map(short));
    place.extend(line.turn.map(|turn| format!("turn {turn}")));
    place.extend(line.tool.clone());
    let mut text = format!(
        "{} {level} {}: {}",
        clock.dimmed(),
        place.join(" ").dimmed(),
        one_line(&line.message)
    );
    for (name, value) in &line.fields {
        let value = match value {
            Value::String(text) => one_line(text),
            other => other.to_string(),
        };
        text.push_str(&format!(" {}{value}", format!("{name}=").dimmed()));
    }
    text
}

/// A thread goes by the one name that every command prints and takes.
fn short(thread: &str) -> String {
    let known = ThreadId::from_dir_name(thread).or_else(|_| thread.parse());
    known.map_or_else(|_| thread.to_owned(), |thread: ThreadId| thread.short())
}

/// Text from outside must not pretend to be further lines, or steer a terminal.
fn one_line(text: &str) -> String {
    visible_line(&text.replace('\n', "⏎")).into_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use butler_protocol::Role;
    use serde_json::json;

    use super::*;
    use crate::ui::paint;

    #[test]
    fn a_line_says_when_who_where_what_and_stays_one_line() {
        let line = LogLine {
            at_ms: 45_005_000,
            level: LogLevel::Warn,
            process: "coder".into(),
            role: Some(Role::Coder),
            thread: Some("C1-1700000000-000100".into()),
            turn: Some(3),
            tool: Some("Bash".into()),
            message: "it failed\nERROR hub: forged \u{1b}[2J".into(),
            fields: BTreeMap::from([("duration_ms".to_owned(), json!(12))]),
        };
        let plain = paint::plain(&render(&line));
        assert_eq!(
            plain,
            "12:30:05 WARN  coder 4hi3bm turn 3 Bash: it failed⏎ERROR hub: forged \\u{1b}[2J duration_ms=12"
        );
    }
}
