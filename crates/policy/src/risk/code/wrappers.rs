//! Wrappers whose own words have to be read: `env`, `setarch`, `bwrap`, debuggers,
//! and what takes other rights.

use super::*;
pub(super) const CODE: &[(&str, Code)] = &[
    ("env", |analyzer, call, state| {
        Some(analyzer.env(call.args, state, call.stdin))
    }),
    ("debugger", |analyzer, call, _| {
        let flags = ["-ex", "--eval-command", "-eval-command", "-o", "-iex"];
        if call.args.values(&flags).iter().any(debugger_runs) {
            analyzer.ask("the debugger runs a command");
        }
        None
    }),
    ("setarch", |analyzer, call, state| {
        let inner = call.args.peel(&[], 0);
        // The architecture may be left out.
        let named = |word: &Text| table().has("architectures", &word.text);
        let inner = match inner.split_first() {
            Some((first, rest)) if named(first) => Args(rest).peel(&[], 0),
            _ => inner,
        };
        Some(analyzer.peeled(inner, state, call.stdin))
    }),
    ("bwrap", |analyzer, call, state| {
        Some(analyzer.peeled(bwrap(call.args.0), state, call.stdin))
    }),
    ("capsh", |analyzer, call, state| {
        let words = Args(call.args.behind("--")?).behind_program("bash");
        Some(analyzer.nested(&words, state, call.stdin))
    }),
    ("other-rights", |analyzer, call, state| {
        let inner = call.args.since_operand(call.takes());
        if !inner.is_empty() && call.name != "su" {
            analyzer.nested(inner, &mut state.clone(), &Stdin::None);
        }
        None
    }),
    ("signals", signals),
];

/// Ending one's own processes is ordinary; ending all of them is not.
fn signals(analyzer: &mut Analyzer<'_>, call: &Call<'_>, _: &mut State) -> Option<Output> {
    let args = call.args;
    let everybody = |word: &Text| matches!(word.as_str(), "-1" | "1");
    let all = match call.name {
        "kill" => args.get(0) == Some("1") || args.iter().skip(1).any(everybody),
        _ => {
            let nobody = args.operands(&["-u"]).is_empty();
            args.has("-u") || args.short('u') && args.has("-9") && nobody
        }
    };
    if all {
        analyzer.ask("it ends every process");
    }
    None
}

impl Analyzer<'_> {
    /// What stands inside a wrapper.
    pub(in super::super) fn peeled(
        &mut self,
        inner: &[Text],
        state: &mut State,
        stdin: &Stdin,
    ) -> Output {
        // Assignments before the command, as `cross-env A=1 x`.
        let start = inner.iter().position(|word| !is_assignment(&word.text));
        for word in &inner[..start.unwrap_or(inner.len())] {
            self.set_for(word, state);
        }
        match start {
            Some(start) => self.nested(&inner[start..], state, stdin),
            None => Output::Unknown,
        }
    }

    /// A command in a command: counted, so that no chain is endless.
    pub(in super::super) fn nested(
        &mut self,
        argv: &[Text],
        state: &mut State,
        stdin: &Stdin,
    ) -> Output {
        self.deeper(|analyzer| analyzer.argv(argv, state, stdin))
    }

    fn set_for(&mut self, word: &Text, state: &State) {
        if let Some((name, value)) = word.text.split_once('=') {
            let value = word.with(value);
            self.environment(name, &value, state);
        }
    }

    fn env(&mut self, args: Args<'_>, state: &mut State, stdin: &Stdin) -> Output {
        let mut index = 0;
        let mut own = state.clone();
        while let Some(word) = args.0.get(index) {
            let text = word.as_str();
            index += 1;
            let split = word.strip("--split-string=").or_else(|| split_flag(word));
            let next = split.as_ref().is_some_and(|text| text.text.is_empty());
            match text {
                _ if next || text == "--split-string" => {
                    let rest = args.0.get(index + 1..).unwrap_or_default();
                    return self.env_string(args.0.get(index), rest, &mut own, stdin);
                }
                _ if split.is_some() => {
                    return self.env_string(split.as_ref(), &args.0[index..], &mut own, stdin);
                }
                "-u" | "--unset" => index += 1,
                "-C" | "--chdir" => {
                    own.cwd = args.0.get(index).and_then(|dir| resolve(&dir.text, state));
                    index += 1;
                }
                _ if text.starts_with("--chdir=") => own.cwd = resolve(&text[8..], state),
                "--" => {}
                _ if text.starts_with('-') => {}
                // To env, whatever has an equals sign is one.
                _ if text.contains('=') => self.set_for(word, state),
                _ => return self.nested(&args.0[index - 1..], &mut own, stdin),
            }
        }
        Output::Unknown
    }

    fn env_string(
        &mut self,
        text: Option<&Text>,
        rest: &[Text],
        state: &mut State,
        stdin: &Stdin,
    ) -> Output {
        let Some(text) = text else {
            return Output::nothing();
        };
        // What follows the string is words already.
        let more: Vec<String> = rest.iter().map(quoted).collect();
        let mut command = text.with(format!("env {} {}", text.text, more.join(" ")));
        command.exact &= rest.iter().all(|word| word.exact);
        self.inner(&command, state, stdin)
    }
}

/// Whether a command of a debugger leaves it.
fn debugger_runs(command: &Text) -> bool {
    let text = command.text.trim_start().replace(' ', "␣");
    table().has("debugger-runs", &text)
}

/// What stands behind the `S` of `-S`, `-iS`, `-vS…`.
fn split_flag(word: &Text) -> Option<Text> {
    let letters = word.text.strip_prefix('-')?;
    let (before, rest) = letters.split_once('S')?;
    let flags = before.chars().all(|c| "iv0".contains(c));
    flags.then(|| word.with(rest))
}

/// A word as a shell reads it back.
pub(super) fn quoted(word: &Text) -> String {
    format!("'{}'", word.text.replace('\'', "'\\''"))
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

fn bwrap(words: &[Text]) -> &[Text] {
    let mut index = 0;
    while let Some(word) = words.get(index) {
        let text = word.as_str();
        index += match text {
            "--" => return &words[index + 1..],
            _ if table().has("bwrap-bare", text) || text.starts_with("--unshare-") => 1,
            _ if table().has("bwrap-pairs", text) => 3,
            _ if text.starts_with('-') => 2,
            _ => break,
        };
    }
    words.get(index..).unwrap_or_default()
}
