//! What the repos of this machine are called. Tokens, channel and logs of a repo
//! go by its name, which is its folder's; a second folder of that name gets a
//! number, or two teams would speak with one voice and work in each other's repo.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use serde_json::Value;

/// Who has which name.
const FILE: &str = "repos.json";

const NEWER: &str = "it was written by a newer codebutler; use the newer one";

type Names = BTreeMap<String, PathBuf>;

/// Where a repo keeps its name, beside its git state: it goes where the folder goes.
const MARK: &str = ".git/codebutler/name";

/// The name of the repo at `root`, the same every time. A repo that was moved or
/// renamed keeps its name: it has threads, and nothing is left where it was. Another one
/// that is merely called the same does not get those threads, nor does a copy.
pub(crate) fn name_of(home: &Path, root: &Path) -> io::Result<String> {
    let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    let _lock = locked(home)?;
    let mut names = read(home)?;
    let has_worked = root.join(".codebutler/threads").is_dir();
    let was = fs::read_to_string(root.join(MARK)).unwrap_or_default();
    let kept = names
        .get(&was)
        .filter(|place| has_worked && !place.exists());
    let (name, is_new) = match kept.is_some() && !names.values().any(|place| *place == root) {
        true => (was.clone(), true),
        false => choose(&names, &root, |place| !has_worked || place.exists()),
    };
    if name != was && root.join(".git").is_dir() {
        fs::create_dir_all(root.join(MARK).parent().unwrap_or(&root))?;
        fs::write(root.join(MARK), &name)?;
    }
    if is_new {
        names.insert(name.clone(), root);
        write(home, &names)?;
    }
    Ok(name)
}

/// Gives `root` the name that its threads were written under elsewhere. The folder
/// that has it on this machine comes back, if that is another one and still there.
pub(crate) fn adopt(home: &Path, name: &str, root: &Path) -> io::Result<Option<PathBuf>> {
    let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    let _lock = locked(home)?;
    let mut names = read(home)?;
    match names.get(name) {
        Some(other) if *other == root => return Ok(None),
        Some(other) if other.exists() => return Ok(Some(other.clone())),
        _ => {}
    }
    names.retain(|_, place| *place != root);
    names.insert(name.to_owned(), root);
    write(home, &names)?;
    Ok(None)
}

/// The folders that have a name.
pub(crate) fn known(home: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(read(home)?.into_values().collect())
}

/// Two processes of one team start at the same time.
fn locked(home: &Path) -> io::Result<File> {
    fs::create_dir_all(home)?;
    let lock = File::create(home.join("repos.lock"))?;
    lock.lock()?;
    Ok(lock)
}

fn read(home: &Path) -> io::Result<Names> {
    match fs::read(home.join(FILE)) {
        Ok(bytes) => {
            let names: Value = serde_json::from_slice(&bytes)?;
            // Today's form has folders only; a later one will say its number here.
            if names["version"].is_number() {
                return Err(io::Error::other(NEWER));
            }
            Ok(serde_json::from_value(names)?)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Names::new()),
        Err(error) => Err(error),
    }
}

fn write(home: &Path, names: &Names) -> io::Result<()> {
    let beside = home.join("repos.new");
    fs::write(&beside, serde_json::to_vec_pretty(names)?)?;
    fs::rename(&beside, home.join(FILE))
}

/// The name that `root` has, or the first that nobody holds; and whether that is news.
fn choose(names: &Names, root: &Path, holds: impl Fn(&Path) -> bool) -> (String, bool) {
    if let Some((name, _)) = names.iter().find(|(_, place)| *place == root) {
        return (name.clone(), false);
    }
    let plain = plain_name(root);
    let numbered = (2..).map(|number| format!("{plain}-{number}"));
    let free = std::iter::once(plain.clone())
        .chain(numbered)
        .find(|name| names.get(name).is_none_or(|place| !holds(place)));
    (free.unwrap_or(plain), true)
}

/// The folder's name, as tokens, channels and files can have it.
fn plain_name(root: &Path) -> String {
    let name = root
        .file_name()
        .map(|name| name.to_string_lossy().to_lowercase());
    let name = name.unwrap_or_default();
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let plain = plain.trim_matches('-').to_owned();
    if plain.is_empty() {
        "repo".to_owned()
    } else {
        plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_folders_never_share_a_name_and_one_keeps_its_own() {
        let scratch = tempfile::tempdir().unwrap();
        let home = scratch.path().join("home");
        let repo = |at: &str| {
            let root = scratch.path().join(at);
            fs::create_dir_all(&root).unwrap();
            root
        };
        let (first, second) = (repo("a/My App"), repo("b/my-app"));
        let name = |root: &Path| name_of(&home, root).unwrap();
        assert_eq!(name(&first), "my-app");
        assert_eq!(name(&second), "my-app-2");
        assert_eq!(name(&first), "my-app");
        assert_eq!(name(&second.join("../my-app")), "my-app-2");
        // Moved: nothing is where it was. A new one of that name is another one.
        fs::create_dir_all(first.join(".codebutler/threads")).unwrap();
        let moved = scratch.path().join("c/my-app");
        fs::create_dir_all(moved.parent().unwrap()).unwrap();
        fs::rename(&first, &moved).unwrap();
        assert_eq!(name(&repo("e/my-app")), "my-app-3");
        assert_eq!(name(&moved), "my-app");
        assert_eq!(name(&repo("d/---")), "repo");
    }

    #[test]
    fn a_folder_with_threads_keeps_its_name_under_another_one_and_a_copy_does_not_get_it() {
        let scratch = tempfile::tempdir().unwrap();
        let home = scratch.path().join("home");
        let at = |place: &str| scratch.path().join(place);
        let name = |root: &Path| name_of(&home, root).unwrap();
        for part in [".git", ".codebutler/threads"] {
            fs::create_dir_all(at("app").join(part)).unwrap();
        }
        assert_eq!(name(&at("app")), "app");
        fs::rename(at("app"), at("shop")).unwrap();
        assert_eq!(name(&at("shop")), "app");
        // A copy, while the first one is still there.
        for part in [".git/codebutler", ".codebutler/threads"] {
            fs::create_dir_all(at("copy").join(part)).unwrap();
        }
        fs::copy(at("shop").join(MARK), at("copy").join(MARK)).unwrap();
        assert_eq!(name(&at("copy")), "copy");
        assert_eq!(name(&at("shop")), "app");
    }

    #[test]
    fn names_of_a_newer_build_are_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let later = r#"{"version": 2, "repos": {"app": {"root": "/app"}}}"#;
        fs::write(home.path().join(FILE), later).unwrap();
        let refused = name_of(home.path(), home.path()).unwrap_err();
        assert!(
            refused.to_string().contains("newer codebutler"),
            "{refused}"
        );
        assert_eq!(fs::read_to_string(home.path().join(FILE)).unwrap(), later);
    }

    #[test]
    fn names_that_cannot_be_read_are_an_error_and_stay() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join(FILE), "{").unwrap();
        name_of(home.path(), Path::new("/nowhere/app")).unwrap_err();
        let kept = fs::read_to_string(home.path().join(FILE)).unwrap();
        assert_eq!(kept, "{");
    }
}
