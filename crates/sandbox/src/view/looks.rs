//! The looks at the disk that a view was planned by, each with what was seen.
//! While all of them would see the same again, the view is still right and need
//! not be planned anew: looking is cheap, planning is not.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::view::placeholder;

/// What is at a path, without following a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing, or one of our own placeholders for nothing.
    Missing,
    Link,
    Folder,
    Other,
}

/// What was looked at.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    kinds: Vec<(PathBuf, Kind)>,
    reals: Vec<(PathBuf, Option<PathBuf>)>,
    /// Somewhere we could not look, so nobody can say what would be seen again.
    unsure: bool,
}

impl Looks {
    /// What is at `path`.
    pub(crate) fn kind(&mut self, path: &Path) -> io::Result<Kind> {
        let seen = kind(path);
        match &seen {
            Ok(kind) => self.kinds.push((path.to_owned(), *kind)),
            Err(_) => self.unsure = true,
        }
        seen
    }

    /// `path` without links and dots.
    pub(crate) fn real(&mut self, path: &Path) -> io::Result<PathBuf> {
        let real = fs::canonicalize(path);
        let seen = real.as_ref().ok().cloned();
        self.reals.push((path.to_owned(), seen));
        real
    }

    /// Whether every look would see the same now.
    pub(crate) fn hold(&self) -> bool {
        !self.unsure
            && self.kinds.iter().all(|(path, seen)| {
                let now = kind(path);
                now.is_ok_and(|now| now == *seen)
            })
            && self.reals.iter().all(|(path, seen)| {
                let now = fs::canonicalize(path);
                now.ok() == *seen
            })
    }
}

fn kind(path: &Path) -> io::Result<Kind> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Kind::Missing),
        Err(error) => return Err(error),
    };
    Ok(if found.is_symlink() {
        Kind::Link
    } else if !found.is_dir() {
        Kind::Other
    } else if placeholder::is(path, &found) {
        Kind::Missing
    } else {
        Kind::Folder
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::view::placeholder::Placeholder;

    #[test]
    fn what_would_be_seen_again_holds_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("folder")).unwrap();
        fs::write(at("file"), "").unwrap();
        symlink("folder", at("link")).unwrap();
        let look = || {
            let mut looks = Looks::default();
            let names = ["folder", "file", "link", "missing"];
            let kinds = names.map(|name| looks.kind(&at(name)).unwrap());
            assert_eq!(
                kinds,
                [Kind::Folder, Kind::Other, Kind::Link, Kind::Missing]
            );
            looks.real(&at("link")).unwrap();
            looks.real(&at("nowhere")).unwrap_err();
            looks
        };
        let looks = look();
        assert!(looks.hold());
        fs::write(at("file"), "other content").unwrap();
        fs::write(at("folder/new"), "").unwrap();
        assert!(looks.hold());
        let placeholder = Placeholder::take(&at("missing")).unwrap();
        assert!(looks.hold(), "it stands for nothing");
        drop(placeholder);
        let changes: [(&str, &dyn Fn()); 4] = [
            ("a file appears", &|| fs::write(at("missing"), "").unwrap()),
            ("a link leads elsewhere", &|| {
                fs::remove_file(at("link")).unwrap();
                symlink("file", at("link")).unwrap();
            }),
            ("a file becomes a folder", &|| {
                fs::remove_file(at("file")).unwrap();
                fs::create_dir(at("file")).unwrap();
            }),
            ("a path begins to lead somewhere", &|| {
                fs::create_dir(at("nowhere")).unwrap();
            }),
        ];
        for (what, change) in changes {
            let looks = Looks {
                kinds: look_at(&["folder", "file", "link", "missing"].map(at)),
                reals: ["link", "nowhere"]
                    .map(|name| (at(name), fs::canonicalize(at(name)).ok()))
                    .into(),
                unsure: false,
            };
            assert!(looks.hold());
            change();
            assert!(!looks.hold(), "{what}");
        }
    }

    fn look_at(paths: &[PathBuf]) -> Vec<(PathBuf, Kind)> {
        let kinds = paths.iter().map(|path| (path.clone(), kind(path).unwrap()));
        kinds.collect()
    }

    #[test]
    fn where_we_could_not_look_nothing_holds() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        let mut looks = Looks::default();
        looks.kind(&folder.path().join("file/below")).unwrap_err();
        assert!(!looks.hold());
    }
}
