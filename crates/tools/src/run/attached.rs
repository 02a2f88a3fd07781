//! Files that people attached to a thread, where file tools and commands can read them.
//! The workspace has the originals: what is here can be deleted and is brought again.
//!
//! Nothing here is writable for a command or may be run. A name is made of what
//! a person called the file and of its id, so that two `log.txt` are two files.

use std::{
    fs, io,
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// Longer names are cut in the middle; their ending stays.
const NAME: usize = 60;

/// The attached files of one thread.
#[derive(Debug, Clone)]
pub struct Attached {
    root: PathBuf,
    folder: PathBuf,
}

impl Attached {
    /// Those of a thread, by its short name, in the folder for all threads.
    pub fn of(root: PathBuf, thread: &str) -> Self {
        let folder = root.join(thread);
        Self { root, folder }
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where a file would be.
    pub fn path(&self, id: &str, name: &str) -> PathBuf {
        self.folder.join(format!("{}-{}", plain(id), plain(name)))
    }

    /// Keeps a file, whole or not at all.
    /// Fails when it cannot be written.
    pub fn keep(&self, id: &str, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        fs::create_dir_all(&self.folder)?;
        // No change contains it, whatever the repo's own `.gitignore` says.
        fs::write(self.root.join(".gitignore"), "*\n")?;
        let path = self.path(id, name);
        let half = self
            .folder
            .join(format!(".{}.{}", plain(id), std::process::id()));
        // Left by a process with our number that died in the middle.
        let _ = fs::remove_file(&half);
        let mut opened = fs::OpenOptions::new();
        let mut file = opened
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&half)?;
        io::Write::write_all(&mut file, bytes)?;
        file.set_permissions(fs::Permissions::from_mode(0o400))?;
        fs::rename(&half, &path)?;
        Ok(path)
    }

    /// Deletes them all; they are brought again when somebody needs them.
    /// Fails when they cannot be deleted.
    pub fn forget(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// A name without anything that a shell, a path or an eye could stumble over.
fn plain(name: &str) -> String {
    let kept = |c: char| c.is_alphanumeric() || "._-".contains(c);
    let plain: String = name
        .chars()
        .map(|c| if kept(c) { c } else { '_' })
        .collect();
    let letters: Vec<char> = plain.trim_start_matches(['.', '-']).chars().collect();
    match letters.len() {
        0 => "file".to_owned(),
        few if few <= NAME => letters.iter().collect(),
        many => letters[..NAME / 2]
            .iter()
            .chain(&letters[many - NAME / 2..])
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_become_plain_ones_beneath_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let attached = Attached::of(dir.path().join("attached"), "abc234");
        for (name, expected) in [
            ("error.log", "F1-error.log"),
            ("../../etc/passwd", "F1-_.._etc_passwd"),
            (".bashrc", "F1-bashrc"),
            ("--exclude=x", "F1-exclude_x"),
            ("a b\n$(rm -rf ~).png", "F1-a_b___rm_-rf___.png"),
            ("", "F1-file"),
            ("größe 名.csv", "F1-größe_名.csv"),
        ] {
            let path = attached.keep("F1", name, b"x").unwrap();
            assert_eq!(path, attached.folder().join(expected), "{name}");
            assert_eq!(fs::read(&path).unwrap(), b"x");
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o377, 0, "{mode:o}: nobody may run or change it");
        }
        let long = attached.path("F2", &format!("{}.tar.gz", "n".repeat(300)));
        let name = long.file_name().unwrap().to_str().unwrap();
        assert!(name.len() < 80 && name.ends_with(".tar.gz"), "{name}");
        // The same file twice is one file; nothing half written stays.
        attached.keep("F1", "error.log", b"whole").unwrap();
        let kept = fs::read(attached.path("F1", "error.log")).unwrap();
        assert_eq!(kept, b"whole");
        let names = fs::read_dir(attached.folder()).unwrap();
        let hidden = names.filter(|one| {
            let name = one.as_ref().unwrap().file_name();
            name.to_string_lossy().starts_with('.')
        });
        assert_eq!(hidden.count(), 0);
        attached.forget().unwrap();
        attached.forget().unwrap();
        assert!(!attached.folder().exists());
    }
}
