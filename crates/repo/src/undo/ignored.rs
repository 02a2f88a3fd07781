//! What git ignores, folder by folder.
//!
//! The rules are files that commands may write, so they are read as all other files are:
//! through no link, and only where they are small regular files. A pipe of that name would
//! hold us for ever, and a link to an endless device would fill the memory.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::beneath::Beneath;
use crate::Git;

/// The rules of a repository, each folder's read when it is first asked about.
pub(super) struct Ignored {
    top: PathBuf,
    files: Option<Beneath>,
    /// The rules that are in no file of the folder.
    exclude: Gitignore,
    folders: Mutex<HashMap<PathBuf, Option<Arc<Rules>>>>,
}

/// The rules of one folder, and of those above it.
struct Rules {
    above: Option<Arc<Rules>>,
    own: Gitignore,
}

impl Ignored {
    /// Those that hold below `root`.
    pub(super) fn of(root: &Path) -> Self {
        // An empty folder of that name keeps nothing: the sandbox may have put it there.
        let has_git = |folder: &&Path| {
            let git = folder.join(".git");
            git.is_file() || git.join("HEAD").exists()
        };
        let top = root.ancestors().find(has_git).unwrap_or(root);
        let exclude = Git::at(top).common_dir().ok();
        let exclude = exclude.and_then(|common| fs::read(common.join("info/exclude")).ok());
        Self {
            top: top.to_owned(),
            files: Beneath::of(top).ok(),
            exclude: rules(top, &exclude.unwrap_or_default()),
            folders: Mutex::default(),
        }
    }

    /// Whether git ignores what lies at this place below the root.
    pub(super) fn has(&self, full: &Path, is_folder: bool) -> bool {
        let mut here = full.parent().and_then(|folder| self.folder(folder));
        while let Some(rules) = here {
            let matched = rules.own.matched(full, is_folder);
            if !matched.is_none() {
                return matched.is_ignore();
            }
            here = rules.above.clone();
        }
        self.exclude.matched(full, is_folder).is_ignore()
    }

    fn folder(&self, folder: &Path) -> Option<Arc<Rules>> {
        let way = folder.strip_prefix(&self.top).ok()?;
        let folders = || self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = folders().get(folder) {
            return known.clone();
        }
        // A repository in the repository goes by its own rules.
        let apart = folder != self.top && fs::symlink_metadata(folder.join(".git")).is_ok();
        let above = folder.parent().filter(|_| !apart);
        let above = above.and_then(|above| self.folder(above));
        let file = way.join(".gitignore");
        let text = self.files.as_ref().and_then(|files| files.small(&file));
        let own = rules(folder, &text.unwrap_or_default());
        let found = match own.is_empty() {
            true => above,
            false => Some(Arc::new(Rules { above, own })),
        };
        folders().insert(folder.to_owned(), found.clone());
        found
    }
}

fn rules(folder: &Path, text: &[u8]) -> Gitignore {
    let mut builder = GitignoreBuilder::new(folder);
    for line in String::from_utf8_lossy(text).lines() {
        // A line that is no pattern says nothing; the others still count.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
