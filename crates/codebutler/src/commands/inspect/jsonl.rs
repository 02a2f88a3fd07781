//! One JSON object per line in, one per line out: the form of the commands that
//! scripts keep open. Each line is answered before the next is read, so that a
//! script may wait for it. A line that cannot be understood is answered like any
//! other and never ends the run; blank lines are passed over.

use std::io::{self, BufRead};

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{CliError, Exit, Ui};

/// A line that could not be understood.
pub(crate) struct BadLine {
    /// Its `id`, as far as there is one.
    pub id: Value,
    /// What is wrong with it.
    pub problem: String,
}

/// Answers the lines of the standard input until it ends.
pub(crate) fn answer_each<Q: DeserializeOwned>(
    ui: &Ui,
    mut answer: impl FnMut(Result<Q, BadLine>) -> Value,
) -> Result<Exit, CliError> {
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        if let Some(question) = read(&line) {
            ui.json(answer(question))?;
        }
        line.clear();
    }
    Ok(Exit::Done)
}

/// Reads one line; nothing when it is blank.
pub(crate) fn read<Q: DeserializeOwned>(line: &[u8]) -> Option<Result<Q, BadLine>> {
    if line.trim_ascii().is_empty() {
        return None;
    }
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => {
            // There is one line only, and its number is always 1.
            let problem = error.to_string().replace("line 1 column", "column");
            return Some(Err(BadLine {
                id: Value::Null,
                problem: format!("not JSON: {problem}"),
            }));
        }
    };
    let id = value.get("id").cloned().unwrap_or_default();
    if !value.is_object() {
        let problem = "not a JSON object".to_owned();
        return Some(Err(BadLine { id, problem }));
    }
    Some(serde_json::from_value(value).map_err(|error| BadLine {
        id,
        problem: error.to_string(),
    }))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use crate::commands::inspect::jsonl::*;

    #[derive(Debug, Deserialize)]
    struct Question {
        text: String,
    }

    fn problem(line: &[u8]) -> (Value, String) {
        let bad = read::<Question>(line).unwrap().err().unwrap();
        (bad.id, bad.problem)
    }

    #[test]
    fn a_bad_line_keeps_its_id_and_says_what_is_wrong() {
        assert!(read::<Question>(b" \r\n").is_none());
        assert_eq!(
            read::<Question>(b"{\"text\":\"a\"}\r\n")
                .unwrap()
                .ok()
                .unwrap()
                .text,
            "a"
        );
        let (id, text) = problem(b"{\"id\":7}\n");
        assert!(id == 7 && text.contains("`text`"), "{text}");
        let (id, text) = problem(b"{\"id\":\"x\",\"text\":1}\n");
        assert!(id == "x" && text.contains("string"), "{text}");
        for line in [&b"{\"id\":1"[..], b"\xff\xfe", b"[1]", b"null"] {
            let (id, text) = problem(line);
            assert!(id.is_null() && text.starts_with("not "), "{text}");
        }
    }
}
