//! The line that takes a session up again: everything that this run was told on
//! its command line and that the next one needs as well, ready to be pasted.

use butler_protocol::Usd;

use crate::Exit;
use crate::commands::run::exec::{Args, WINDOW};

impl Args {
    /// The command that goes on with a session after this ending. It names the
    /// variable of a key, never the key; the role is kept by the session. `clean`
    /// takes out what a person may have typed into a command.
    pub(crate) fn again(
        &self,
        session: &str,
        exit: Exit,
        cap: Usd,
        clean: impl Fn(&str) -> String,
    ) -> String {
        let mut words = vec![
            "codebutler".to_owned(),
            "exec".to_owned(),
            format!("--resume={session}"),
        ];
        let mut flag = |name: &str, value: Option<String>| {
            words.extend(value.map(|value| format!("--{name}={value}")));
        };
        // The address of a server in one's own network counts as a secret elsewhere,
        // and here it is what the line is for. Only a query may hold a key.
        let url = |url: &String| match url.contains('?') {
            true => clean(url),
            false => url.clone(),
        };
        flag("model-url", self.model_url.as_ref().map(url));
        flag("model", self.model.clone());
        flag("key-env", self.key_env.clone());
        flag("price", self.price.map(|price| price.to_string()));
        flag(
            "window",
            (self.window != WINDOW).then(|| self.window.to_string()),
        );
        flag("max-turns", self.max_turns.map(|turns| turns.to_string()));
        match exit {
            // The same cap would end it at once.
            Exit::OutOfMoney => flag("cap", Some((cap.dollars() * 2.0).to_string())),
            _ => flag("cap", self.cap.map(|cap| cap.to_string())),
        }
        for command in &self.allow {
            flag("allow", Some(clean(command)));
        }
        let words: Vec<_> = words.iter().map(|word| quoted(word)).collect();
        words.join(" ")
    }
}

/// One word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:@%+,".contains(c);
    if word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use crate::commands::run::exec::again::*;

    #[test]
    fn what_a_shell_would_read_as_more_than_a_word_is_quoted() {
        for (word, expected) in [
            ("--model=qwen3:8b", "--model=qwen3:8b"),
            ("--allow=rm -rf x", "'--allow=rm -rf x'"),
            ("it's $HOME", r"'it'\''s $HOME'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
