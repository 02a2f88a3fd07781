//! What a preparation depends on: its commands, the files that say what has to be
//! installed, the programs that install it, and the submodules. When one of them
//! is another one, so is what a folder needs; when none is, what was made for one
//! folder serves the next.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use butler_protocol::Sha256Hex;
use butler_repo::{Git, Submodule};
use butler_tools::Workplace;
use tokio_util::sync::CancellationToken;

use crate::AgentError;

/// Files that say what has to be installed, wherever in the tree they lie.
const MANIFESTS: &[&str] = &[
    ".gitmodules",
    ".node-version",
    ".npmrc",
    ".nvmrc",
    ".pnpmfile.cjs",
    ".python-version",
    ".tool-versions",
    ".yarnrc",
    ".yarnrc.yml",
    "Cargo.lock",
    "Cargo.toml",
    "Gemfile",
    "Gemfile.lock",
    "Package.resolved",
    "Package.swift",
    "Pipfile",
    "Pipfile.lock",
    "Podfile",
    "Podfile.lock",
    "bun.lock",
    "bun.lockb",
    "composer.json",
    "composer.lock",
    "go.mod",
    "go.sum",
    "go.work",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "package.json",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "poetry.lock",
    "pyproject.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
    "setup.cfg",
    "setup.py",
    "uv.lock",
    "uv.toml",
    "yarn.lock",
];

/// A larger one says nothing that its neighbours do not.
const LARGEST: u64 = 32 << 20;

/// Builds of Python packages that put compiled code beside the installed: a
/// change of the code would not be in it.
const COMPILING: &[&str] = &[
    "maturin",
    "scikit",
    "mesonpy",
    "setuptools-rust",
    "cffi",
    "ython",
];

/// What one folder needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Needs {
    /// The same for folders that need the same.
    pub hash: Sha256Hex,
    /// Whether what is installed holds a copy of the repo's own code, so that it
    /// serves only the same commit.
    pub code: bool,
}

/// Looks at a folder.
pub(crate) async fn needs(
    commands: &[String],
    place: &Workplace,
    git: &Git,
    submodules: &[Submodule],
    cancel: &CancellationToken,
) -> Result<Needs, AgentError> {
    // One that is not in git yet counts too, unless an installer may have written it.
    let fresh = MANIFESTS.iter().filter(|name| !is_lock(name));
    let mut names: Vec<String> = fresh.map(|name| (*name).to_owned()).collect();
    let listed = git
        .call(["ls-files", "-z", "--"])
        .args(MANIFESTS.iter().map(|name| format!(":(glob)**/{name}")))
        .arg(":(glob)**/*requirements*.txt")
        .arg(":(glob)**/requirements/*.txt")
        .run(cancel)
        .await?;
    names.extend(
        listed
            .fields()
            .map(|path| String::from_utf8_lossy(path).into_owned()),
    );
    names.extend(named(commands, git, cancel).await?);
    let mut files = BTreeMap::new();
    let mut code = commands.iter().any(|command| installs_code(command));
    for name in names {
        let Some(bytes) = read(place, &name) else {
            continue;
        };
        if name.ends_with("pyproject.toml") || name.ends_with("setup.py") {
            let text = String::from_utf8_lossy(&bytes);
            code |= COMPILING.iter().any(|word| text.contains(word));
        }
        files.insert(name, Sha256Hex::of(&bytes));
    }
    let programs: BTreeMap<String, Option<Stamp>> = commands
        .iter()
        .flat_map(|command| programs(command))
        .map(|program| {
            let stamp = stamp(&program);
            (program, stamp)
        })
        .collect();
    let submodules: Vec<_> = submodules
        .iter()
        .map(|one| (&one.path, &one.commit))
        .collect();
    let all = serde_json::json!([commands, files, programs, submodules]);
    Ok(Needs {
        hash: Sha256Hex::of(all.to_string()),
        code,
    })
}

/// The files that commands name. Only in git they count: the preparation itself makes
/// others, as `.venv/bin/pip`.
async fn named(
    commands: &[String],
    git: &Git,
    cancel: &CancellationToken,
) -> Result<Vec<String>, AgentError> {
    let mut names: Vec<String> = commands.iter().flat_map(|one| named_files(one)).collect();
    if names.is_empty() {
        return Ok(names);
    }
    let literal = names.iter().map(|name| format!(":(literal){name}"));
    let listed = git.call(["ls-files", "-z", "--"]).args(literal);
    let listed = listed.run(cancel).await?;
    // Of a folder all that is in it is listed.
    names.retain(|name| listed.fields().any(|path| path == name.as_bytes()));
    Ok(names)
}

/// Whether an installer writes this file.
pub(crate) fn is_lock(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    MANIFESTS.contains(&name)
        && (name.ends_with(".lock")
            || [
                "lock.json",
                "lock.yaml",
                "lockb",
                "shrinkwrap.json",
                ".sum",
                ".resolved",
            ]
            .iter()
            .any(|end| name.ends_with(end)))
}

/// By way of the workplace: no link leads out of the folder, no pipe holds us.
fn read(place: &Workplace, name: &str) -> Option<Vec<u8>> {
    let opened = place.open_file(&place.locate(name).ok()?).ok()?;
    opened.read(LARGEST, "").ok()
}

/// Words of a command that look like files of the repo, as in `sh setup.sh`.
fn named_files(command: &str) -> Vec<String> {
    let mut files: Vec<String> = words(command)
        .filter(|word| word.contains(['.', '/']) && !word.starts_with(['/', '-']))
        .map(|word| word.trim_start_matches("./"))
        // Git refuses to look outside.
        .filter(|word| !word.is_empty() && !word.split('/').any(|part| part == ".."))
        .map(str::to_owned)
        .collect();
    if programs(command).iter().any(|program| program == "make") {
        files.extend(["Makefile", "makefile", "GNUmakefile"].map(str::to_owned));
    }
    files
}

/// Whether a command copies the repo's code to where packages are.
fn installs_code(command: &str) -> bool {
    simple(command).any(|one| {
        let words: Vec<&str> = words(one).collect();
        let installs = words.contains(&"install") && words.iter().any(|word| word.contains("pip"));
        let own = words
            .iter()
            .any(|word| *word == "." || word.starts_with(".[") || *word == "./");
        let linked = words
            .iter()
            .any(|word| matches!(*word, "-e" | "--editable"));
        installs && own && !linked
    })
}

/// The programs that a command starts, as far as its words show.
pub(crate) fn programs(command: &str) -> Vec<String> {
    simple(command)
        .filter_map(|one| {
            let mut words = words(one);
            let first = words.find(|word| !word.contains('='))?;
            (!first.contains('/') && first != "cd").then(|| first.to_owned())
        })
        .collect()
}

/// The commands of a line.
fn simple(command: &str) -> impl Iterator<Item = &str> {
    let parts = command.split(['\n', ';', '|', '&']);
    parts.map(str::trim).filter(|part| !part.is_empty())
}

fn words(command: &str) -> impl Iterator<Item = &str> {
    let words = command.split_whitespace();
    words.map(|word| word.trim_matches(['"', '\'', '(', ')']))
}

/// Where a program is, and which build of it.
type Stamp = (PathBuf, u64, u64);

fn stamp(program: &str) -> Option<Stamp> {
    let path = env::var_os("PATH")?;
    let found = env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(|file| is_program(file))?;
    let real = found.canonicalize().ok()?;
    let meta = fs::metadata(&real).ok()?;
    let changed = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some((real, meta.len(), changed.as_secs()))
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use butler_testkit::git;
    use butler_tools::Surroundings;

    use super::*;

    async fn of(commands: &[&str], folder: &Path) -> Needs {
        let commands: Vec<String> = commands.iter().map(|one| (*one).to_owned()).collect();
        let place = Workplace::open(folder, Vec::new(), Surroundings::default()).unwrap();
        let cancel = CancellationToken::new();
        needs(&commands, &place, &Git::at(folder), &[], &cancel)
            .await
            .unwrap()
    }

    #[tokio::test]
    async fn other_commands_manifests_and_scripts_are_other_needs_and_code_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        git(at, &["init", "--quiet"]);
        let write = |name: &str, text: &str| {
            let path = at.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            git(at, &["add", "--all"]);
        };
        write("main.js", "1");
        let first = of(&["npm ci"], at).await;
        write("main.js", "2");
        assert_eq!(of(&["npm ci"], at).await, first);
        assert_ne!(of(&["npm i"], at).await, first);
        // What `npm install` leaves behind is no reason to run it again.
        fs::write(at.join("package-lock.json"), "{}").unwrap();
        assert_eq!(of(&["npm ci"], at).await, first);
        fs::remove_file(at.join("package-lock.json")).unwrap();
        for name in [
            "package-lock.json",
            "web/package.json",
            "requirements/dev.txt",
        ] {
            let before = of(&["npm ci"], at).await;
            write(name, "{}");
            assert_ne!(of(&["npm ci"], at).await, before, "{name}");
        }
        let script = of(&["sh tools/setup.sh"], at).await;
        write("tools/setup.sh", "x");
        assert_ne!(of(&["sh tools/setup.sh"], at).await, script);
        // What the preparation makes is no reason to prepare again.
        let pip = [
            ".venv/bin/pip install -e '.[tests]'",
            "sh ../outside.sh . tools",
        ];
        let unprepared = of(&pip, at).await;
        fs::create_dir_all(at.join(".venv/bin")).unwrap();
        fs::write(at.join(".venv/bin/pip"), "x").unwrap();
        assert_eq!(of(&pip, at).await, unprepared);
        // A link out of the folder is not read.
        let outside = tempfile::NamedTempFile::new().unwrap();
        std::os::unix::fs::symlink(outside.path(), at.join("setup.py")).unwrap();
        let linked = of(&["npm ci"], at).await;
        fs::write(outside.path(), "x").unwrap();
        assert_eq!(of(&["npm ci"], at).await, linked);
    }

    #[test]
    fn the_programs_of_a_line_are_those_that_begin_its_commands() {
        for (line, expected) in [
            ("npm ci", vec!["npm"]),
            ("cd web && CI=1 pnpm install", vec!["pnpm"]),
            (
                "python3 -m venv .venv; .venv/bin/pip install x",
                vec!["python3"],
            ),
        ] {
            assert_eq!(programs(line), expected, "{line}");
        }
        assert_eq!(stamp("no-such-program-anywhere"), None);
        assert!(stamp("sh").is_some());
    }

    #[test]
    fn a_copy_of_the_code_is_told_from_a_link_to_it() {
        for copies in [
            "pip install .",
            ".venv/bin/pip install '.[test]'",
            "uv pip install .",
        ] {
            assert!(installs_code(copies), "{copies}");
        }
        for links in [
            "pip install -e .",
            "pip install -r requirements.txt",
            "npm ci",
            "uv sync",
        ] {
            assert!(!installs_code(links), "{links}");
        }
    }
}
