//! What the watch says is enough to look at is enough: whatever happens to the files,
//! looking only there finds what looking at everything finds.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, thread::sleep, time::Duration};

use proptest::prelude::*;

use super::*;

const NAMES: [&str; 7] = [
    "a.txt",
    "b.txt",
    "src/c.txt",
    "src/deep/d.txt",
    "src/new/e.txt",
    "build/made.txt",
    ".gitignore",
];

#[derive(Debug, Clone)]
enum Act {
    Write(usize, u8),
    Append(usize),
    Remove(usize),
    Rename(usize, usize),
    Link(usize, usize),
    HardLink(usize, usize),
    Executable(usize),
    RemoveFolder(usize),
    Save,
}

fn act() -> impl Strategy<Value = Act> {
    let name = 0..NAMES.len();
    prop_oneof![
        4 => (name.clone(), any::<u8>()).prop_map(|(at, byte)| Act::Write(at, byte)),
        2 => name.clone().prop_map(Act::Append),
        2 => name.clone().prop_map(Act::Remove),
        2 => (name.clone(), name.clone()).prop_map(|(from, to)| Act::Rename(from, to)),
        1 => (name.clone(), name.clone()).prop_map(|(from, to)| Act::Link(from, to)),
        1 => (name.clone(), name.clone()).prop_map(|(from, to)| Act::HardLink(from, to)),
        1 => name.clone().prop_map(Act::Executable),
        1 => name.prop_map(Act::RemoveFolder),
        4 => Just(Act::Save),
    ]
}

/// Does it as far as it can be done.
fn perform(root: &Path, act: &Act) {
    let at = |name: usize| root.join(NAMES[name]);
    let with_folder = |path: &Path| fs::create_dir_all(path.parent().unwrap());
    let _ = match *act {
        Act::Write(name, byte) => with_folder(&at(name)).and_then(|()| {
            let rule = if byte % 2 == 0 { "build/\n" } else { "b.txt\n" };
            fs::write(
                at(name),
                if NAMES[name] == ".gitignore" {
                    rule.into()
                } else {
                    vec![byte; 9]
                },
            )
        }),
        Act::Append(name) => {
            let file = fs::OpenOptions::new().append(true).open(at(name));
            file.and_then(|mut file| std::io::Write::write_all(&mut file, b"more"))
        }
        Act::Remove(name) => fs::remove_file(at(name)),
        Act::Rename(from, to) => with_folder(&at(to)).and_then(|()| fs::rename(at(from), at(to))),
        Act::Link(from, to) => std::os::unix::fs::symlink(at(from), at(to)),
        Act::HardLink(from, to) => fs::hard_link(at(from), at(to)),
        Act::Executable(name) => fs::set_permissions(at(name), fs::Permissions::from_mode(0o755)),
        Act::RemoveFolder(name) => match Path::new(NAMES[name]).parent() {
            Some(folder) if folder != Path::new("") => fs::remove_dir_all(root.join(folder)),
            _ => Ok(()),
        },
        Act::Save => Ok(()),
    };
}

fn seen(files: &Files) -> Vec<(&OsString, Stamp)> {
    files
        .found
        .iter()
        .map(|file| (&file.path, file.stamp))
        .collect()
}

/// What somebody who only follows the changes believes to be there.
fn follow(known: &mut std::collections::BTreeSet<PathBuf>, changes: Vec<Change>) {
    for change in changes {
        match change {
            Change::There(path) => known.insert(path),
            Change::Gone(path) => known.remove(&path),
        };
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn looking_where_something_happened_finds_what_looking_everywhere_finds(
        acts in prop::collection::vec(act(), 1..24)
    ) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in [0, 2, 3, 5] {
            perform(root, &Act::Write(name, 1));
        }
        fs::write(root.join(".gitignore"), "build/\n").unwrap();
        let tracked = [OsString::from("build/made.txt")];
        sleep(FRESH * 2);
        let mut files = Files::below(root, &tracked);
        prop_assume!(files.watch.is_some());
        let mut known = std::collections::BTreeSet::new();
        follow(&mut known, files.since(None));
        for act in acts.iter().chain([&Act::Save]) {
            perform(root, act);
            // A second name that goes before anybody looked is what no watch tells.
            if !matches!(act, Act::Save | Act::HardLink(..)) {
                continue;
            }
            // Long enough ago that no file is uncertain only because it is young.
            sleep(FRESH + Duration::from_millis(10));
            let changes = files.changed(root).unwrap_or_else(|| {
                let now = Files::below(root, &tracked);
                let changes = now.since(Some(&files));
                files = now;
                changes
            });
            follow(&mut known, changes);
            let all = Files::below(root, &tracked);
            prop_assert_eq!(seen(&files), seen(&all));
            let there: Vec<_> = all.found.iter().map(|file| Path::new(&file.path)).collect();
            prop_assert_eq!(known.iter().map(PathBuf::as_path).collect::<Vec<_>>(), there);
        }
    }
}

#[test]
fn a_file_that_changes_under_another_name_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::write(root.join(".gitignore"), "build/\n").unwrap();
    fs::write(root.join("kept.txt"), "as it was").unwrap();
    fs::create_dir(root.join("build")).unwrap();
    fs::hard_link(root.join("kept.txt"), root.join("build/other.txt")).unwrap();
    sleep(FRESH * 2);
    let mut files = Files::below(root, &[]);
    assert_eq!(files.changed(root), Some(Vec::new()));
    fs::write(root.join("build/other.txt"), "changed").unwrap();
    let changed = files.changed(root);
    assert_eq!(changed, Some(vec![Change::There("kept.txt".into())]));
}
