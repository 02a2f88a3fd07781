//! The files that a command may read: their hashes are part of what a person
//! approves, so that nothing it runs can change between the click and the run.
//!
//! All files that git does not ignore count, whatever the command names: a script
//! is found by a pattern, sourced by another one, or written with odd characters.
//! Of ignored ones, which are too many, every word that is one, and what build tools
//! read without being told. One file too many only means that its change asks again.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::Read,
    path::Path,
};

use butler_protocol::{Sha256Hex, ToolCall};
use rustix::fs::{Mode, OFlags};
use tokio_util::sync::CancellationToken;

use crate::{
    Inside, Surroundings, Workplace,
    walk::{Found, Team, walk},
};

/// Larger files are not scripts.
const CAP: u64 = 4 * 1024 * 1024;

/// More words than this are not looked at.
const WORDS: usize = 256;

/// Folders that are looked into besides the root.
const FOLDERS: usize = 8;

/// What programs read without being told.
const IMPLIED: &[(&[&str], &[&str])] = &[
    (&["make", "gmake"], &["Makefile", "makefile", "GNUmakefile"]),
    (&["npm", "npx", "yarn", "pnpm", "bun"], &["package.json"]),
    (&["just"], &["justfile", "Justfile"]),
    (
        &["cargo"],
        &["Cargo.toml", "build.rs", ".cargo/config.toml"],
    ),
    (&["rake"], &["Rakefile"]),
    (
        &["gradle", "gradlew"],
        &["build.gradle", "build.gradle.kts"],
    ),
    (&["task"], &["Taskfile.yml"]),
];

/// What a Bash call is approved with: the whole tree, and the files it names.
pub(crate) fn bound_to(call: &ToolCall, root: &str) -> Vec<(String, Sha256Hex)> {
    let mut bound = named_in(call, root);
    bound.extend(tree(root).map(|sha256| (".".to_owned(), sha256)));
    bound
}

/// A hash of the names and contents of all files that no rule ignores.
fn tree(root: &str) -> Option<Sha256Hex> {
    let place = Workplace::open(Path::new(root), Vec::new(), Surroundings::default()).ok()?;
    let threads = walk(
        &place,
        &Inside::root(),
        Team::Shown,
        &CancellationToken::new(),
        Vec::new,
        |lines, found| lines.push(format!("{} {}\n", content(found), found.path)),
    );
    let mut lines: Vec<String> = threads.ok()?.into_iter().flatten().collect();
    lines.sort();
    Some(Sha256Hex::of(lines.concat()))
}

/// The hash of a file; of one that cannot be read, that it cannot.
fn content(found: &Found<'_>) -> String {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(found.folder, found.name, flags, Mode::empty());
    let Ok(fd) = opened else {
        return "unreadable".to_owned();
    };
    let mode = rustix::fs::fstat(&fd).map_or(0, |about| about.st_mode & 0o111);
    let mut bytes = Vec::new();
    match File::from(fd).read_to_end(&mut bytes) {
        Ok(_) => format!("{mode:o} {}", Sha256Hex::of(bytes)),
        Err(_) => "unreadable".to_owned(),
    }
}

/// The files named by the command of a call, with the hashes of their content.
fn named_in(call: &ToolCall, root: &str) -> Vec<(String, Sha256Hex)> {
    let Some(command) = butler_policy::command_of(call) else {
        return Vec::new();
    };
    let Ok(place) = Workplace::open(Path::new(root), Vec::new(), Surroundings::default()) else {
        return Vec::new();
    };
    let words: BTreeSet<&str> = words(command).collect();
    let folders = folders(&place, &words);
    let mut named = BTreeMap::new();
    for word in words {
        let program = word.rsplit('/').next().unwrap_or(word);
        let implied = IMPLIED
            .iter()
            .filter(|(programs, _)| programs.contains(&program))
            .flat_map(|(_, files)| files.iter().copied());
        for path in implied.chain([word]) {
            for folder in &folders {
                if let Some((path, sha256)) = hash(&place, folder, path) {
                    named.insert(path, sha256);
                }
            }
        }
    }
    named.into_iter().collect()
}

/// The root, and the folders that the command names: it may go there first.
fn folders(place: &Workplace, words: &BTreeSet<&str>) -> Vec<Inside> {
    let mut folders = vec![Inside::root()];
    let named = words
        .iter()
        .filter_map(|word| place.locate(word).ok())
        .filter(|path| !path.is_root() && place.open_folder(path).is_ok());
    folders.extend(named.take(FOLDERS));
    folders
}

fn hash(place: &Workplace, folder: &Inside, path: &str) -> Option<(String, Sha256Hex)> {
    let inside = if folder.is_root() || path.starts_with('/') {
        place.locate(path).ok()?
    } else {
        place.locate(folder.join(path).as_str()).ok()?
    };
    let opened = place.open_file(&inside).ok()?;
    let bytes = opened.read(CAP, "").ok()?;
    Some((inside.as_str().to_owned(), Sha256Hex::of(bytes)))
}

/// Everything between white space, quotes and shell signs, and what stands
/// between quotes as a whole: a name may have spaces.
fn words(command: &str) -> impl Iterator<Item = &str> {
    let single = command.split('\'').skip(1).step_by(2);
    let double = command.split('"').skip(1).step_by(2);
    command
        .split(|c: char| c.is_whitespace() || "'\"`;&|<>(){}$=,:".contains(c))
        .chain(single)
        .chain(double)
        .filter(|word| !word.is_empty())
        .take(WORDS)
}

#[cfg(test)]
mod tests {
    use butler_protocol::CallId;
    use serde_json::json;

    use super::*;

    #[test]
    fn named_and_implied_files_are_hashed() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("scripts")).unwrap();
        std::fs::write(root.path().join("scripts/deploy.sh"), "echo one").unwrap();
        std::fs::write(root.path().join("Makefile"), "all:").unwrap();
        let named = |command: &str| {
            let call = ToolCall {
                id: CallId::new("c"),
                name: "Bash".into(),
                arguments: json!({"command": command}),
                problem: None,
            };
            named_in(&call, root.path().to_str().unwrap())
                .into_iter()
                .map(|(path, _)| path)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            named("bash -c './scripts/deploy.sh --now'"),
            ["scripts/deploy.sh"]
        );
        assert_eq!(named("FOO=1 make deploy"), ["Makefile"]);
        std::fs::write(root.path().join("scripts/two words"), "x").unwrap();
        assert_eq!(
            named("cd scripts && sh deploy.sh"),
            ["scripts/deploy.sh"],
            "a command may go somewhere first"
        );
        assert_eq!(named("sh './scripts/two words'"), ["scripts/two words"]);
        assert_eq!(named("cat ../x /etc/passwd missing"), [""; 0]);
        let before = named_in_hash(root.path());
        std::fs::write(root.path().join("scripts/deploy.sh"), "echo two").unwrap();
        assert_ne!(before, named_in_hash(root.path()));
    }

    fn named_in_hash(root: &Path) -> Vec<(String, Sha256Hex)> {
        let call = ToolCall {
            id: CallId::new("c"),
            name: "Bash".into(),
            arguments: json!({"command": "sh scripts/deploy.sh"}),
            problem: None,
        };
        named_in(&call, root.to_str().unwrap())
    }
}
