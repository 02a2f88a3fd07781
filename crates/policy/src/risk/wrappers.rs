//! Commands that run another command given to them as words or as a string.
//! The wrapper is peeled and what is inside is judged.

mod boxes;
mod each;
mod fetch;
mod known;
mod strings;

use butler_protocol::Tier;

use known::{FETCHERS, FETCHING, PLAIN, SUBCOMMANDS};

use super::{
    analyzer::Analyzer,
    args::Args,
    place::resolve,
    simple::Call,
    state::{Output, State, Stdin},
    text::Text,
};

impl Analyzer<'_> {
    /// Peels a wrapper and judges the inside; nothing if it is none.
    pub(super) fn wrapper(&mut self, call: &Call<'_>, state: &mut State) -> Option<Output> {
        let args = call.args;
        match call.name {
            "command" if args.short('v') || args.short('V') => return Some(Output::Unknown),
            "env" => return Some(self.env(args, state, call.stdin)),
            "xargs" | "gxargs" => return Some(self.xargs(args, state, call.stdin)),
            "parallel" => return Some(self.parallel(args, state, call.stdin)),
            "find" | "gfind" => return Some(self.find_files(args, state)),
            "fd" | "fdfind" => return Some(self.fd(args, state)),
            "script" => {
                return Some(self.string_flag(
                    args,
                    &["-c", "--command", "-qc", "-qec", "-ec"],
                    state,
                ));
            }
            "flock" if args.has("-c") || args.has("--command") => {
                return Some(self.string_flag(args, &["-c", "--command"], state));
            }
            "watch"
            | "hyperfine"
            | "concurrently"
            | "npm-run-all"
            | "entr"
            | "watchexec"
            | "wait-on"
            | "start-server-and-test" => return Some(self.strings(call, state)),
            "gdb" | "lldb" => {
                let given = args.values(&["-ex", "--eval-command", "-eval-command", "-o", "-iex"]);
                if given.iter().any(debugger_runs) {
                    self.ask("the debugger runs a command", false);
                }
            }
            "nodemon" => return Some(self.string_flag(args, &["-x", "--exec"], state)),
            "nix-shell" => {
                let flags = ["--run", "--command", "-c"];
                return Some(self.string_flag(args, &flags, state));
            }
            "nix" => {
                // All that follows is the command.
                let at = args
                    .iter()
                    .position(|w| matches!(w.as_str(), "-c" | "--command"))?;
                return Some(self.peeled(&args.0[at + 1..], state, call.stdin));
            }
            "tmux" | "screen" => return Some(self.strings(call, state)),
            "npx" if !own_flags(args).values(&["-c", "--call"]).is_empty() => {
                return Some(self.string_flag(own_flags(args), &["-c", "--call"], state));
            }
            "npm" if matches!(args.get(0), Some("exec" | "x")) => {
                let flags = own_flags(Args(&args.0[1..]));
                self.string_flag(flags, &["-c", "--call"], state);
            }
            "ssh" | "mosh" | "autossh" => return Some(self.ssh(args, state, call.stdin)),
            _ => {}
        }
        if let Some(output) = self.boxed(call, state) {
            return Some(output);
        }
        if let Some(wrapper) = PLAIN.iter().find(|plain| plain.names.contains(&call.name)) {
            let inner = peel(args.0, wrapper.with_value, wrapper.positions);
            if FETCHERS.contains(&call.name) {
                self.fetched(call.name, args, inner);
            }
            return Some(self.peeled(inner, state, call.stdin));
        }
        let takes = [
            "-C",
            "--cwd",
            "--prefix",
            "--filter",
            "-F",
            "--workspace",
            "-w",
        ];
        // pnpm's `-w` takes nothing.
        let takes = &takes[..takes.len() - usize::from(call.name == "pnpm")];
        let (name, rest) = args.subcommand(takes)?;
        let runs = SUBCOMMANDS
            .iter()
            .any(|(program, names)| *program == call.name && names.contains(&name));
        if !runs {
            return None;
        }
        let positions = usize::from(
            matches!(
                (call.name, name),
                ("direnv" | "aws-vault" | "chamber", "exec")
                    | ("rustup" | "volta", "run")
                    | ("npm", "explore")
            ) && rest.get(0) != Some("--"),
        );
        let inner = peel(
            rest.0,
            &[
                "-n",
                "--name",
                "-p",
                "--python",
                "--with",
                "--package",
                "--env-file",
                "-e",
                "--extra",
                "--group",
                "--from",
                "-o",
                "-f",
            ],
            positions,
        );
        if FETCHING.contains(&(call.name, name)) {
            self.fetched(call.name, rest, inner);
        }
        Some(self.peeled(inner, state, call.stdin))
    }

    /// What stands inside a wrapper.
    fn peeled(&mut self, inner: &[Text], state: &mut State, stdin: &Stdin) -> Output {
        self.find(Tier::Read, "", false);
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
    pub(super) fn nested(&mut self, argv: &[Text], state: &mut State, stdin: &Stdin) -> Output {
        self.deeper(|analyzer| analyzer.argv(argv, state, stdin))
    }

    fn set_for(&mut self, word: &Text, state: &State) {
        if let Some((name, value)) = word.text.split_once('=') {
            let value = Text {
                text: value.to_owned(),
                ..word.clone()
            };
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
            match text {
                "--split-string" => {
                    return self.env_string(
                        args.0.get(index),
                        &args.0[(index + 1).min(args.0.len())..],
                        &mut own,
                        stdin,
                    );
                }
                _ if split.as_ref().is_some_and(|text| text.text.is_empty()) => {
                    return self.env_string(
                        args.0.get(index),
                        &args.0[(index + 1).min(args.0.len())..],
                        &mut own,
                        stdin,
                    );
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
        let command = format!("env {} {}", text.text, more.join(" "));
        self.inner(
            &command,
            text.exact && rest.iter().all(|word| word.exact),
            state,
            stdin,
        )
    }
}

/// Whether a command of a debugger leaves it.
fn debugger_runs(command: &Text) -> bool {
    let text = command.text.trim_start();
    text.starts_with('!')
        || [
            "shell",
            "python",
            "py ",
            "pipe",
            "script",
            "platform shell",
            "make",
        ]
        .iter()
        .any(|start| text.starts_with(start))
}

/// The flags before the command that a wrapper runs.
fn own_flags(args: Args<'_>) -> Args<'_> {
    let takes = ["-c", "--call", "-p", "--package", "-w", "--workspace"];
    let inner = peel(args.0, &takes, 0);
    Args(&args.0[..args.0.len() - inner.len()])
}

/// What stands behind the `S` of `-S`, `-iS`, `-vS…`.
fn split_flag(word: &Text) -> Option<Text> {
    let letters = word.text.strip_prefix('-')?;
    let (before, rest) = letters.split_once('S')?;
    before.chars().all(|c| "iv0".contains(c)).then(|| Text {
        text: rest.to_owned(),
        ..word.clone()
    })
}

/// A word as a shell reads it back.
pub(super) fn quoted(word: &Text) -> String {
    format!("'{}'", word.text.replace('\'', "'\\''"))
}

/// The words behind a wrapper's own flags and positions.
fn peel<'t>(words: &'t [Text], with_value: &[&str], positions: usize) -> &'t [Text] {
    let (mut index, mut left) = (0, positions);
    while let Some(word) = words.get(index) {
        let text = word.as_str();
        if text == "--" && left == 0 {
            return &words[index + 1..];
        }
        if with_value.contains(&text) {
            index += 2;
        } else if text.starts_with('-') && text.len() > 1 {
            index += 1;
        } else if left > 0 {
            left -= 1;
            index += 1;
        } else {
            break;
        }
    }
    words.get(index..).unwrap_or_default()
}

pub(super) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}
