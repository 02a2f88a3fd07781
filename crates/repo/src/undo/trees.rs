//! The files of the last save as git's trees, so that the next save writes only the
//! files that changed and the folders above them.

use std::{collections::BTreeMap, io, os::unix::ffi::OsStrExt, path::Path};

use super::{
    beneath::{Beneath, Content},
    files::Change,
    is_gits,
    store::{Id, Store, hex, of_hex},
    stream::COMMITTER,
};
use crate::{Error, Result, git::Output};

/// What is known of the last save, and where the next one goes.
#[derive(Debug)]
pub(super) struct Trees {
    store: Store,
    root: Folder,
}

#[derive(Debug, Default)]
struct Folder {
    entries: BTreeMap<Vec<u8>, Entry>,
    /// Nothing when something in it changed since it was written.
    id: Option<Id>,
}

#[derive(Debug)]
enum Entry {
    File { mode: &'static str, id: Id },
    Folder(Folder),
}

/// What a commit says besides its files.
pub(super) struct About {
    pub(super) name: String,
    pub(super) message: String,
    pub(super) parent: String,
    pub(super) at: i64,
}

impl Trees {
    /// From `ls-tree -r -z`: `<mode> <kind> <object>\t<path>`. Nothing when there is
    /// anything else than files and links in it.
    pub(super) fn read(store: Store, listed: &Output) -> Option<Self> {
        let mut root = Folder::default();
        for line in listed.fields() {
            let tab = line.iter().position(|byte| *byte == b'\t')?;
            let about = std::str::from_utf8(&line[..tab]).ok()?;
            let mut words = about.split(' ');
            let mode = ["100644", "100755", "120000"]
                .into_iter()
                .find(|mode| words.clone().next() == Some(*mode))?;
            let id = of_hex(words.nth(2)?)?;
            root.set(&line[tab + 1..], mode, id);
        }
        Some(Self { store, root })
    }

    /// Writes what changed and a commit of all.
    pub(super) fn save(&mut self, files: &Path, changes: &[Change], about: &About) -> Result<Id> {
        let beneath = Beneath::of(files).map_err(Error::file(files))?;
        for change in changes {
            match change {
                Change::Gone(path) if !is_gits(path) => {
                    self.root.remove(path.as_os_str().as_bytes());
                }
                Change::There(path) if !is_gits(path) => self.take(files, &beneath, path)?,
                _ => {}
            }
        }
        let here = || Error::file(&about.name);
        let tree = self.root.write(&self.store).map_err(here())?;
        let About {
            name,
            message,
            parent,
            at,
        } = about;
        let author = COMMITTER.replacen("committer", "author", 1);
        let text = format!(
            "tree {}\nparent {parent}\n{author} {at} +0000\n{COMMITTER} {at} +0000\n\n{message}",
            hex(&tree)
        );
        let commit = self.store.put("commit", text.as_bytes()).map_err(here())?;
        self.store.name(name, &commit).map_err(here())?;
        Ok(commit)
    }

    fn take(&mut self, files: &Path, beneath: &Beneath, path: &Path) -> Result<()> {
        let kept = match beneath.read(path) {
            Ok((mode, Content::Bytes(bytes))) => {
                self.store.put("blob", &bytes).map(|id| (mode, id))
            }
            Ok((mode, Content::Large { file, length })) => {
                self.store.put_large(file, length).map(|id| (mode, id))
            }
            // Gone between two looks: what was saved of it before stays.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => Err(error),
        };
        let (mode, id) = kept.map_err(Error::file(files.join(path)))?;
        self.root.set(path.as_os_str().as_bytes(), mode, id);
        Ok(())
    }
}

impl Folder {
    fn set(&mut self, path: &[u8], mode: &'static str, id: Id) {
        self.id = None;
        let Some(slash) = path.iter().position(|byte| *byte == b'/') else {
            self.entries.insert(path.to_vec(), Entry::File { mode, id });
            return;
        };
        let (name, rest) = (&path[..slash], &path[slash + 1..]);
        let entry = self.entries.entry(name.to_vec());
        let entry = entry.or_insert_with(|| Entry::Folder(Self::default()));
        if matches!(entry, Entry::File { .. }) {
            *entry = Entry::Folder(Self::default());
        }
        if let Entry::Folder(folder) = entry {
            folder.set(rest, mode, id);
        }
    }

    /// A folder that is empty then is none: git keeps no such thing.
    fn remove(&mut self, path: &[u8]) {
        self.id = None;
        let Some(slash) = path.iter().position(|byte| *byte == b'/') else {
            if matches!(self.entries.get(path), Some(Entry::File { .. })) {
                self.entries.remove(path);
            }
            return;
        };
        let name = &path[..slash];
        if let Some(Entry::Folder(folder)) = self.entries.get_mut(name) {
            folder.remove(&path[slash + 1..]);
            if folder.entries.is_empty() {
                self.entries.remove(name);
            }
        }
    }

    fn write(&mut self, store: &Store) -> io::Result<Id> {
        if let Some(id) = self.id {
            return Ok(id);
        }
        let mut lines = Vec::with_capacity(self.entries.len());
        for (name, entry) in &mut self.entries {
            // Git sorts a folder as if its name ended with a slash.
            let (mode, id, order) = match entry {
                Entry::File { mode, id } => (*mode, *id, name.clone()),
                Entry::Folder(folder) => {
                    let order = [name.as_slice(), b"/"].concat();
                    ("40000", folder.write(store)?, order)
                }
            };
            let line = [mode.as_bytes(), b" ", name, b"\0", id.as_slice()].concat();
            lines.push((order, line));
        }
        lines.sort();
        let content: Vec<u8> = lines.into_iter().flat_map(|(_, line)| line).collect();
        let id = store.put("tree", &content)?;
        self.id = Some(id);
        Ok(id)
    }
}
