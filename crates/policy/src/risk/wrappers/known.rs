//! The wrappers that need no reading of their own, as tables.

/// How a plain wrapper is written: `name [flags] [positions] command…`.
pub(super) struct Plain {
    pub(super) names: &'static [&'static str],
    /// Flags that take the next word.
    pub(super) with_value: &'static [&'static str],
    /// Words of its own before the command.
    pub(super) positions: usize,
}

pub(super) const PLAIN: &[Plain] = &[
    plain(&["command", "builtin"], &[], 0),
    plain(&["exec"], &["-a"], 0),
    plain(
        &[
            "nohup",
            "setsid",
            "unbuffer",
            "fakeroot",
            "catchsegv",
            "caffeinate",
            "rlwrap",
            "linux32",
            "linux64",
            "time-it",
            "torsocks",
            "tsocks",
            "torify",
            "ssh-agent",
            "retry",
            "catatonit",
            "systemd-inhibit",
            "gnome-session-inhibit",
        ],
        &[],
        0,
    ),
    plain(
        &["numactl"],
        &[
            "-N",
            "-m",
            "-C",
            "-p",
            "-i",
            "--cpunodebind",
            "--membind",
            "--physcpubind",
        ],
        0,
    ),
    plain(&["faketime"], &[], 1),
    plain(&["proxychains", "proxychains4"], &["-f"], 0),
    plain(&["sshpass"], &["-p", "-f", "-d", "-P"], 0),
    plain(
        &["daemonize"],
        &["-a", "-c", "-e", "-E", "-o", "-p", "-l", "-u"],
        0,
    ),
    plain(&["reflex"], &["-r", "-R", "-g", "-G", "-d", "-c"], 0),
    plain(&["nice"], &["-n", "--adjustment"], 0),
    plain(
        &["ionice"],
        &["-c", "-n", "-p", "--class", "--classdata"],
        0,
    ),
    plain(
        &["stdbuf"],
        &["-i", "-o", "-e", "--input", "--output", "--error"],
        0,
    ),
    plain(
        &["timeout", "gtimeout"],
        &["-k", "-s", "--kill-after", "--signal"],
        1,
    ),
    plain(&["time", "gtime"], &["-f", "-o", "--format", "--output"], 0),
    plain(&["chrt", "taskset"], &["-p"], 1),
    plain(
        &["strace", "ltrace"],
        &[
            "-o", "-e", "-p", "-s", "-E", "-u", "-a", "-O", "-S", "-P", "-X", "-b",
        ],
        0,
    ),
    plain(&["valgrind", "heaptrack", "rr"], &[], 0),
    plain(
        &[
            "unshare", "firejail", "proot", "setpriv", "prlimit", "cpulimit",
        ],
        &["-t", "-S", "-G", "-R", "-w", "-l"],
        0,
    ),
    plain(&["chroot"], &["--userspec", "--groups"], 1),
    plain(
        &["flock"],
        &["-w", "-E", "--timeout", "--wait", "--conflict-exit-code"],
        1,
    ),
    plain(&["busybox", "toybox"], &[], 0),
    plain(&["watch"], &["-n", "--interval"], 0),
    plain(
        &[
            "cross-env",
            "cross-env-shell",
            "env-cmd",
            "dotenv",
            "chronic",
            "sem",
            "ts-lock",
            "softlimit",
            "chpst",
            "entr",
        ],
        &["-e", "-f"],
        0,
    ),
    plain(
        &FETCHERS,
        &[
            "-p",
            "--package",
            "--from",
            "--with",
            "-c",
            "--call",
            "--python",
            "--prefix",
            "-w",
            "--workspace",
        ],
        0,
    ),
    plain(
        &[
            "xvfb-run",
            "dbus-run-session",
            "gdb",
            "lldb",
            "winpty",
            "arch",
            "doppler-run",
            "tini",
            "dumb-init",
        ],
        &[
            "-n",
            "-s",
            "-a",
            "-x",
            "-ex",
            "-iex",
            "-o",
            "--eval-command",
        ],
        0,
    ),
    plain(&["direnv-exec"], &[], 1),
    plain(&["shx"], &[], 0),
];

const fn plain(
    names: &'static [&'static str],
    with_value: &'static [&'static str],
    positions: usize,
) -> Plain {
    Plain {
        names,
        with_value,
        positions,
    }
}

/// May fetch what they run.
pub(super) const FETCHERS: [&str; 4] = ["npx", "bunx", "pnpx", "uvx"];

/// The same by a subcommand.
pub(super) const FETCHING: [(&str, &str); 6] = [
    ("pipx", "run"),
    ("npm", "exec"),
    ("npm", "x"),
    ("bun", "x"),
    ("pnpm", "dlx"),
    ("yarn", "dlx"),
];

/// `program subcommand command…`.
pub(super) const SUBCOMMANDS: &[(&str, &[&str])] = &[
    ("poetry", &["run"]),
    ("uv", &["run"]),
    ("pipenv", &["run"]),
    ("pdm", &["run"]),
    ("rye", &["run"]),
    ("hatch", &["run"]),
    ("pipx", &["run"]),
    ("conda", &["run"]),
    ("mamba", &["run"]),
    ("bundle", &["exec"]),
    ("npm", &["exec", "x", "explore"]),
    ("pnpm", &["exec", "dlx"]),
    ("yarn", &["exec", "dlx"]),
    ("bun", &["x"]),
    ("mise", &["exec", "x"]),
    ("asdf", &["exec"]),
    ("rbenv", &["exec"]),
    ("pyenv", &["exec"]),
    ("nodenv", &["exec"]),
    ("direnv", &["exec"]),
    ("rustup", &["run"]),
    ("opam", &["exec"]),
    ("doppler", &["run"]),
    ("op", &["run"]),
    ("perf", &["stat", "record", "trace"]),
    ("lerna", &["exec"]),
    ("stack", &["exec"]),
    ("cabal", &["exec"]),
    ("volta", &["run"]),
    ("fnm", &["exec"]),
    ("dotenvx", &["run"]),
    ("infisical", &["run"]),
    ("foreman", &["run"]),
    ("honcho", &["run"]),
    ("teller", &["run"]),
    ("envchain", &["run"]),
    ("devbox", &["run"]),
    ("pixi", &["run", "exec"]),
    ("podman", &["unshare"]),
    ("aws-vault", &["exec"]),
    ("chamber", &["exec"]),
];
