//! Wrappers whose own words are odd: architectures, sandboxes, loaders, and
//! programs that watch files.

use butler_protocol::Tier;

use super::super::{
    analyzer::Analyzer,
    args::Args,
    simple::Call,
    state::{Output, State, Stdin},
    text::Text,
};
use super::peel;

/// Flags of bwrap that take nothing, besides `--unshare-…`.
const BWRAP_BARE: [&str; 8] = [
    "--share-net",
    "--die-with-parent",
    "--new-session",
    "--clearenv",
    "--as-pid-1",
    "--disable-userns",
    "--assert-userns-disabled",
    "--proc-none",
];

/// Flags of bwrap that take two words.
const BWRAP_PAIRS: [&str; 13] = [
    "--bind",
    "--bind-try",
    "--dev-bind",
    "--dev-bind-try",
    "--ro-bind",
    "--ro-bind-try",
    "--symlink",
    "--setenv",
    "--chmod",
    "--file",
    "--bind-data",
    "--ro-bind-data",
    "--bind-fd",
];

impl Analyzer<'_> {
    /// Judges one of them; nothing if it is none.
    pub(super) fn boxed(&mut self, call: &Call<'_>, state: &mut State) -> Option<Output> {
        let args = call.args;
        let inner = match call.name {
            "setarch" => {
                let inner = peel(args.0, &[], 0);
                // The architecture may be left out.
                match inner.first() {
                    Some(word) if is_architecture(&word.text) => peel(&inner[1..], &[], 0),
                    _ => inner,
                }
            }
            "bwrap" => bwrap(args.0),
            "guix" if args.any(&["shell", "environment"]) => {
                let at = args.iter().position(|word| word.text == "--")?;
                &args.0[at + 1..]
            }
            "nsenter" => {
                self.ask("it works in another process's place", false);
                return Some(Output::Unknown);
            }
            "cargo" => return self.cargo_watch(args, state),
            "sg" | "scl" => {
                self.find(Tier::WriteLocal, "it runs a command", false);
                if let Some(text) = args.0.last() {
                    self.inner(&text.text, text.exact, &mut state.clone(), call.stdin);
                }
                return Some(Output::Unknown);
            }
            "capsh" => {
                let at = args.iter().position(|word| word.text == "--")?;
                let words = std::iter::once(Text::exact("bash"));
                let words: Vec<Text> = words.chain(args.0[at + 1..].iter().cloned()).collect();
                return Some(self.nested(&words, state, call.stdin));
            }
            "pssh" | "parallel-ssh" | "pdsh" | "clush" | "dsh" | "mpssh" => {
                self.ask("it runs a command on many machines", true);
                return Some(Output::Unknown);
            }
            name if is_loader(name) => {
                if args.any(&["--list", "--verify", "--version", "--help"]) {
                    return Some(Output::Unknown);
                }
                let takes = ["--library-path", "--preload", "--argv0", "--audit"];
                peel(args.0, &takes, 0)
            }
            _ => return None,
        };
        Some(self.peeled(inner, state, call.stdin))
    }

    /// `cargo watch -s 'text'`, `-x 'test --all'`, `-- words`.
    fn cargo_watch(&mut self, args: Args<'_>, state: &mut State) -> Option<Output> {
        let (_, rest) = args.subcommand(&[]).filter(|(name, _)| *name == "watch")?;
        self.find(Tier::WriteLocal, "it runs a command", false);
        for text in rest.values(&["-s", "--shell"]) {
            self.inner(&text.text, text.exact, &mut state.clone(), &Stdin::None);
        }
        for text in rest.values(&["-x", "--exec"]) {
            let command = format!("cargo {}", text.text);
            self.inner(&command, text.exact, &mut state.clone(), &Stdin::None);
        }
        if let Some(at) = rest.iter().position(|word| word.text == "--") {
            self.nested(&rest.0[at + 1..], &mut state.clone(), &Stdin::None);
        }
        Some(Output::Unknown)
    }
}

fn is_architecture(word: &str) -> bool {
    let starts = [
        "x86", "i386", "i486", "i586", "i686", "arm", "aarch64", "linux", "uname26",
    ];
    let more = [
        "ppc", "powerpc", "s390", "sparc", "mips", "riscv", "ia64", "parisc", "alpha",
    ];
    starts
        .iter()
        .chain(&more)
        .any(|start| word.starts_with(start))
}

/// `ld-linux-x86-64.so.2 program`
fn is_loader(name: &str) -> bool {
    name.starts_with("ld-linux") || name.starts_with("ld-musl") || name.starts_with("ld.so")
}

fn bwrap(words: &[Text]) -> &[Text] {
    let mut index = 0;
    while let Some(word) = words.get(index) {
        let text = word.as_str();
        index += match text {
            "--" => return &words[index + 1..],
            _ if BWRAP_BARE.contains(&text) || text.starts_with("--unshare-") => 1,
            _ if BWRAP_PAIRS.contains(&text) => 3,
            _ if text.starts_with('-') => 2,
            _ => break,
        };
    }
    words.get(index..).unwrap_or_default()
}
