//! A copy of a folder that others write to: all of it first, and in a second pass
//! what has changed since, which takes no time.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// What was copied, as it was then.
#[derive(Debug, Default)]
pub(super) struct Copied(BTreeMap<PathBuf, (u64, SystemTime)>);

impl Copied {
    /// Brings the copy at `to` up to what is at `from` now.
    pub(super) fn bring_up(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let mut there = BTreeMap::new();
        files(from, Path::new(""), &mut there)?;
        for (path, seen) in &there {
            if self.0.get(path) == Some(seen) {
                continue;
            }
            let place = to.join(path);
            if let Some(folder) = place.parent() {
                fs::create_dir_all(folder)?;
            }
            match fs::copy(from.join(path), &place) {
                // Packed or removed at this moment: the next pass sees what is there.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                copied => drop(copied?),
            }
        }
        for path in self.0.keys().filter(|path| !there.contains_key(*path)) {
            match fs::remove_file(to.join(path)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        self.0 = there;
        Ok(())
    }

    /// How many files there are.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }
}

fn files(
    root: &Path,
    below: &Path,
    found: &mut BTreeMap<PathBuf, (u64, SystemTime)>,
) -> io::Result<()> {
    let items = match fs::read_dir(root.join(below)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        items => items?,
    };
    for item in items {
        let item = item?;
        let path = below.join(item.file_name());
        let about = match item.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            about => about?,
        };
        if about.is_dir() {
            files(root, &path, found)?;
        } else if about.is_file() {
            found.insert(path, (about.len(), about.modified()?));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_pass_takes_what_changed_and_drops_what_went() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir_all(from.join("a")).unwrap();
        for name in ["a/kept", "a/grown", "gone"] {
            fs::write(from.join(name), name).unwrap();
        }
        let mut copied = Copied::default();
        copied.bring_up(&from, &to).unwrap();
        fs::write(from.join("a/grown"), "a/grown and more").unwrap();
        fs::remove_file(from.join("gone")).unwrap();
        fs::write(from.join("new"), "new").unwrap();
        // Not copied again: it would be as it is there.
        fs::write(to.join("a/kept"), "as it was copied").unwrap();
        copied.bring_up(&from, &to).unwrap();
        let text = |name: &str| fs::read_to_string(to.join(name)).unwrap();
        assert_eq!(text("a/kept"), "as it was copied");
        assert_eq!(text("a/grown"), "a/grown and more");
        assert_eq!(text("new"), "new");
        assert!(!to.join("gone").exists());
        assert_eq!(copied.count(), 3);
    }
}
