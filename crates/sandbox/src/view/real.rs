//! Paths without links on the way, as far as they exist, found with one look at
//! the disk each: what is hidden lies close by, and is looked up for every
//! command.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use crate::view::looks::{Kind, Looks};

/// What was found, for as long as one view is planned.
#[derive(Debug, Default)]
pub(crate) struct Reals(BTreeMap<PathBuf, PathBuf>);

impl Reals {
    /// `path`, absolute and without dots, as it is on disk.
    pub(crate) fn of(&mut self, path: &Path, looks: &mut Looks) -> PathBuf {
        if let Some(known) = self.0.get(path) {
            return known.clone();
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return path.to_owned();
        };
        let is_link = looks.kind(path).is_ok_and(|kind| kind == Kind::Link);
        let target = is_link.then(|| looks.real(path).ok()).flatten();
        let real = target.unwrap_or_else(|| self.of(parent, looks).join(name));
        self.0.insert(path.to_owned(), real.clone());
        real
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn links_on_the_way_are_followed_and_what_is_missing_stays() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("real/deep")).unwrap();
        fs::write(root.join("real/file"), "").unwrap();
        symlink("real", root.join("link")).unwrap();
        symlink(root.join("real/deep"), root.join("real/back")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        let (mut reals, mut looks) = (Reals::default(), Looks::default());
        let mut check = |path: &str, real: &str| {
            let found = reals.of(&root.join(path), &mut looks);
            assert_eq!(found, root.join(real), "{path}");
        };
        check("real/file", "real/file");
        check("link", "real");
        check("link/file", "real/file");
        check("link/deep/missing/more", "real/deep/missing/more");
        check("link/back/x", "real/deep/x");
        check("dangling/x", "dangling/x");
        check("missing/x", "missing/x");
        assert_eq!(reals.of(Path::new("/"), &mut looks), Path::new("/"));
    }
}
