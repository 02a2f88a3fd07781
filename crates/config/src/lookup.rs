//! Where the files are: the machine's folder, the repository's root, and the
//! folder above a starting point that has a `.codebutler/`.
//!
//! Read from disk, without running git: every command does this first, and a
//! process costs more than the rest of the start-up together.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::file::variables::Environment;

/// The folder's name, in a home and in a repo.
pub const FOLDER: &str = ".codebutler";

/// Moves the machine's folder elsewhere.
pub const HOME_VARIABLE: &str = "CODEBUTLER_HOME";

/// The machine's folder: `CODEBUTLER_HOME`, else `.codebutler` in the home folder.
pub fn machine_folder(env: Environment<'_>) -> Option<PathBuf> {
    let set = |name| env(name).filter(|value: &String| !value.is_empty());
    match set(HOME_VARIABLE) {
        // Agents run in other folders than the command that started them.
        Some(folder) => std::path::absolute(folder).ok(),
        None => set("HOME").map(|home| Path::new(&home).join(FOLDER)),
    }
}

/// The root of the repository around `start`. Of a linked worktree it is the
/// main one's, because threads and branches live there; a submodule is a
/// repository of its own.
pub fn repository_root(start: &Path) -> Option<PathBuf> {
    let start = fs::canonicalize(start).ok()?;
    let top = start.ancestors().find(|dir| dir.join(".git").exists())?;
    Some(main_worktree(top).unwrap_or_else(|| top.to_owned()))
}

/// The bare repository around `start`: git's own files, and none to work on.
pub fn bare_repository(start: &Path) -> Option<PathBuf> {
    let start = fs::canonicalize(start).ok()?;
    let is_bare = |dir: &&Path| {
        dir.join("HEAD").is_file() && dir.join("objects").is_dir() && dir.join("refs").is_dir()
    };
    start.ancestors().find(is_bare).map(Path::to_owned)
}

/// What commands that are only tried leave in the folder: `init` tries checks before
/// it writes anything.
const OF_A_TRIAL: [&str; 2] = ["branches", "cache"];

/// The nearest folder at or above `start` that is set up, but not beyond the
/// repository. A folder where checks were tried and nothing was written does not count,
/// nor does the machine's own, although it lies above most repositories under the same
/// name.
pub fn set_up_root(start: &Path, machine: Option<&Path>) -> Option<PathBuf> {
    let start = fs::canonicalize(start).ok()?;
    let machine = machine.and_then(|folder| fs::canonicalize(folder).ok());
    let is_set_up = |dir: &Path| {
        fs::canonicalize(dir.join(FOLDER))
            .is_ok_and(|folder| folder.is_dir() && !only_tried(&folder) && Some(folder) != machine)
    };
    for dir in start.ancestors() {
        if dir.join(".git").exists() {
            let root = main_worktree(dir).unwrap_or_else(|| dir.to_owned());
            return is_set_up(&root).then_some(root);
        }
        // A folder named .codebutler is a part of what is set up, not the root of it.
        if dir.file_name().is_none_or(|name| name != FOLDER) && is_set_up(dir) {
            return Some(dir.to_owned());
        }
    }
    None
}

/// Whether there is something in it, and nothing but what a trial left.
fn only_tried(folder: &Path) -> bool {
    let entries: Vec<_> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .collect();
    let of_a_trial =
        |entry: &fs::DirEntry| OF_A_TRIAL.iter().any(|name| entry.file_name() == *name);
    !entries.is_empty() && entries.iter().all(of_a_trial)
}

/// For the top of a linked worktree, the top of the main one.
fn main_worktree(top: &Path) -> Option<PathBuf> {
    let pointer = fs::read_to_string(top.join(".git")).ok()?;
    let git_dir = top.join(pointer.strip_prefix("gitdir:")?.trim());
    // Only linked worktrees have this file; submodules and separate git folders do not.
    let common = fs::read_to_string(git_dir.join("commondir")).ok()?;
    let common = fs::canonicalize(git_dir.join(common.trim())).ok()?;
    if common.file_name().is_some_and(|name| name == ".git") {
        return common.parent().map(Path::to_owned);
    }
    // A submodule's git folder says where its files are.
    let config = fs::read_to_string(common.join("config")).ok()?;
    let files = config.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "worktree").then(|| value.trim().to_owned())
    })?;
    fs::canonicalize(common.join(files)).ok()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(dir: &Path, args: &[&str]) {
        let out = Command::new("git")
            .args(["-c", "user.name=you", "-c", "user.email=you@example.org"])
            .args([
                "-c",
                "protocol.file.allow=always",
                "-c",
                "init.defaultBranch=main",
            ])
            .args(args)
            .current_dir(dir)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(out.status.success(), "{args:?}: {out:?}");
    }

    fn repo(dir: &Path) {
        fs::create_dir_all(dir.join("src/deep")).unwrap();
        git(dir, &["init", "-q"]);
        git(dir, &["commit", "-q", "--allow-empty", "-m", "first"]);
    }

    fn scratch() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(dir.path()).unwrap();
        (dir, path)
    }

    #[test]
    fn the_folder_is_found_from_below_and_not_beyond_the_repository() {
        let (_keep, dir) = scratch();
        let outer = dir.join("outer");
        repo(&outer);
        fs::create_dir_all(outer.join(".codebutler/threads/one")).unwrap();
        for start in ["", "src/deep", ".codebutler/threads/one"] {
            assert_eq!(
                set_up_root(&outer.join(start), None),
                Some(outer.clone()),
                "{start}"
            );
        }
        let inner = outer.join("vendor/inner");
        repo(&inner);
        assert_eq!(set_up_root(&inner.join("src"), None), None);
        assert_eq!(repository_root(&inner.join("src")), Some(inner));
        assert_eq!(repository_root(&dir), None);
    }

    #[test]
    fn the_machines_own_folder_does_not_make_the_home_a_project() {
        let (_keep, home) = scratch();
        fs::create_dir_all(home.join(".codebutler")).unwrap();
        fs::create_dir_all(home.join("project")).unwrap();
        let machine = home.join(".codebutler");
        assert_eq!(set_up_root(&home.join("project"), Some(&machine)), None);
        assert_eq!(set_up_root(&home.join("project"), None), Some(home.clone()));
    }

    #[test]
    fn a_folder_where_checks_were_only_tried_is_not_set_up() {
        let (_keep, dir) = scratch();
        repo(&dir);
        fs::create_dir_all(dir.join(".codebutler/cache/npm")).unwrap();
        fs::create_dir_all(dir.join(".codebutler/branches")).unwrap();
        assert_eq!(set_up_root(&dir, None), None);
        fs::write(dir.join(".codebutler/pm.md"), "# PM").unwrap();
        assert_eq!(set_up_root(&dir, None), Some(dir));
    }

    #[test]
    fn a_linked_worktree_belongs_to_its_main_one() {
        let (_keep, dir) = scratch();
        let main = dir.join("main");
        repo(&main);
        fs::create_dir_all(main.join(".codebutler/branches")).unwrap();
        fs::write(main.join(".codebutler/config.json"), "{}").unwrap();
        git(&main, &["worktree", "add", "-q", ".codebutler/branches/x"]);
        git(&main, &["worktree", "add", "-q", "../elsewhere"]);
        for top in [main.join(".codebutler/branches/x"), dir.join("elsewhere")] {
            fs::create_dir_all(top.join("src")).unwrap();
            assert_eq!(repository_root(&top.join("src")), Some(main.clone()));
            assert_eq!(set_up_root(&top.join("src"), None), Some(main.clone()));
        }
    }

    #[test]
    fn a_submodule_is_its_own_repository_also_through_a_worktree() {
        let (_keep, dir) = scratch();
        let (library, app) = (dir.join("library"), dir.join("app"));
        repo(&library);
        repo(&app);
        git(&app, &["submodule", "add", "-q", "../library", "lib"]);
        fs::create_dir_all(app.join(".codebutler")).unwrap();
        let lib = app.join("lib");
        assert_eq!(repository_root(&lib), Some(lib.clone()));
        assert_eq!(set_up_root(&lib, None), None);
        git(&lib, &["worktree", "add", "-q", "../../lib-two"]);
        assert_eq!(repository_root(&dir.join("lib-two")), Some(lib));
    }

    #[test]
    fn a_worktree_of_a_bare_repository_stands_for_itself() {
        let (_keep, dir) = scratch();
        repo(&dir.join("source"));
        git(&dir, &["clone", "-q", "--bare", "source", "bare.git"]);
        git(&dir.join("bare.git"), &["worktree", "add", "-q", "../work"]);
        assert_eq!(repository_root(&dir.join("work")), Some(dir.join("work")));
        let bare = dir.join("bare.git");
        assert_eq!(repository_root(&bare), None);
        assert_eq!(bare_repository(&bare.join("refs")), Some(bare));
        assert_eq!(bare_repository(&dir.join("work")), None);
    }

    #[test]
    fn the_machine_folder_comes_from_the_environment() {
        let env = |home: Option<&str>, own: Option<&str>| {
            let (home, own) = (home.map(str::to_owned), own.map(str::to_owned));
            machine_folder(&move |name: &str| match name {
                "HOME" => home.clone(),
                HOME_VARIABLE => own.clone(),
                _ => None,
            })
        };
        assert_eq!(env(Some("/h"), None), Some("/h/.codebutler".into()));
        assert_eq!(env(Some("/h"), Some("")), Some("/h/.codebutler".into()));
        assert_eq!(env(Some("/h"), Some("/own")), Some("/own".into()));
        assert!(env(None, Some("own")).unwrap().is_absolute());
        assert_eq!(env(None, None), None);
    }
}
