//! The tree of a commit: what a project map may name, and what has changed since one
//! was made.

use std::{collections::BTreeSet, fmt::Write};

use butler_playbook::{ProjectMap, map_in, role_file};
use butler_protocol::{CommitSha, Role};
use butler_repo::{Error, Repo};
use tokio_util::sync::CancellationToken;

/// A listing longer than this is shortened to folders.
const MOST_LISTED: usize = 150;
/// The team's own files are no part of what it gets to know.
const OURS: &str = ".codebutler/";

/// The files of one commit.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: BTreeSet<String>,
    folders: BTreeSet<String>,
    /// Files without their folders: a map that says `list.rs` means `src/list.rs`.
    names: BTreeSet<String>,
}

impl Tree {
    pub(crate) async fn at(repo: &Repo, commit: &CommitSha) -> Result<Self, Error> {
        let listed = repo
            .git()
            .call(["ls-tree", "-r", "-z", "--name-only", "--full-tree"])
            .args(["--end-of-options", commit.as_str()])
            .finish()
            .await?;
        let paths = listed.fields().map(|path| String::from_utf8_lossy(path));
        Ok(Self::of(paths.map(|path| path.into_owned())))
    }

    fn of(paths: impl Iterator<Item = String>) -> Self {
        let mut tree = Self::default();
        for path in paths {
            let mut at = path.as_str();
            while let Some((folder, _)) = at.rsplit_once('/') {
                tree.folders.insert(folder.to_owned());
                at = folder;
            }
            tree.names
                .extend(path.rsplit('/').next().map(str::to_owned));
            tree.files.insert(path);
        }
        tree
    }

    fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        path == "." || self.files.contains(path) || self.folders.contains(path)
    }

    /// Of these paths, those that are not there.
    pub(crate) fn lacks(&self, paths: &BTreeSet<String>) -> Vec<String> {
        let gone = |path: &&String| !self.has(path) && !self.names.contains(path.as_str());
        paths.iter().filter(gone).cloned().collect()
    }

    /// Everything that a map names and the commit does not have: places must be whole
    /// paths, words may say a file's name alone, and names of code must occur.
    pub(crate) async fn lacking(
        &self,
        repo: &Repo,
        commit: &CommitSha,
        map: &ProjectMap,
    ) -> Result<Vec<String>, Error> {
        let places = map.places.iter().map(|(path, _)| path.clone());
        let mut lacking: BTreeSet<String> = places.filter(|path| !self.has(path)).collect();
        lacking.extend(self.lacks(&map.paths()));
        let symbols = map.symbols();
        if !symbols.is_empty() {
            let mut call = repo.git().call(["grep", "-h", "-o", "-w", "-I", "-F"]);
            for symbol in &symbols {
                call = call.args(["-e", symbol]);
            }
            // Nothing found is an answer too.
            let found = call.accept(&[0, 1]).arg(commit.as_str()).finish().await?;
            let text = String::from_utf8_lossy(&found.stdout).into_owned();
            let found: BTreeSet<&str> = text.lines().map(str::trim).collect();
            let missing = symbols.iter().filter(|name| !found.contains(name.as_str()));
            lacking.extend(missing.cloned());
        }
        Ok(lacking.into_iter().collect())
    }

    /// Folders of the root that no map names, and nothing of which one names.
    fn unnamed_tops(&self, named: &BTreeSet<String>) -> Vec<String> {
        let tops = self.folders.iter().filter(|folder| {
            let hidden = folder.starts_with('.');
            let inside = |path: &String| path == *folder || below(path, folder);
            !folder.contains('/') && !hidden && !named.iter().any(inside)
        });
        tops.cloned().collect()
    }

    /// What lies where, short enough to be read.
    pub(crate) fn listing(&self) -> String {
        let files: Vec<&String> = self
            .files
            .iter()
            .filter(|path| !path.starts_with(OURS))
            .collect();
        if files.len() <= MOST_LISTED {
            let files: Vec<&str> = files.iter().map(|path| path.as_str()).collect();
            return format!("All files:\n{}", files.join("\n"));
        }
        let mut text = format!("{} files. In the root and by folder:\n", files.len());
        for path in files.iter().filter(|path| !path.contains('/')) {
            let _ = writeln!(text, "{path}");
        }
        let folders = self.folders.iter().filter(|folder| {
            folder.matches('/').count() < 2 && !format!("{folder}/").starts_with(OURS)
        });
        for folder in folders.take(MOST_LISTED) {
            let inside = files.iter().filter(|path| below(path, folder)).count();
            let _ = writeln!(text, "{folder}/ ({inside} files)");
        }
        text
    }
}

fn below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// How the project maps differ from the tree, in one line; nothing while they fit, or
/// where nobody has made one.
pub(crate) async fn drift(
    repo: &Repo,
    cancel: &CancellationToken,
) -> Result<Option<String>, Error> {
    let roles = Role::ALL.into_iter().map(|role| role_file(role).name);
    let names: Vec<&str> = std::iter::once("global.md").chain(roles).collect();
    let (head, texts) = repo.memory_files(&names, cancel).await?;
    let maps: Vec<ProjectMap> = texts
        .into_iter()
        .map(|text| ProjectMap::parse(&map_in(&text.unwrap_or_default())))
        .filter(|map| !map.at.is_empty())
        .collect();
    if maps.is_empty() {
        return Ok(None);
    }
    let mut seen = Vec::new();
    let commits: BTreeSet<&str> = maps.iter().map(|map| map.at.as_str()).collect();
    for at in commits {
        if let Some(commit) = known_commit(repo, at).await? {
            seen.push(Tree::at(repo, &commit).await?);
        }
    }
    Ok(drifted(&Tree::at(repo, &head).await?, &maps, &seen))
}

/// `seen` is what was there when the maps were made: a folder that nobody found worth
/// naming then is not new.
fn drifted(tree: &Tree, maps: &[ProjectMap], seen: &[Tree]) -> Option<String> {
    let named: BTreeSet<String> = maps.iter().flat_map(ProjectMap::paths).collect();
    let mark = |path: String| format!("`{path}`");
    let gone: Vec<String> = tree.lacks(&named).into_iter().map(mark).collect();
    let is_new =
        |top: &String| !seen.is_empty() && !seen.iter().any(|old| old.folders.contains(top));
    let new = tree.unnamed_tops(&named).into_iter().filter(is_new);
    let new: Vec<String> = new.map(mark).collect();
    let mut parts = Vec::new();
    if !gone.is_empty() {
        parts.push(format!("they name {}, gone", gone.join(", ")));
    }
    if !new.is_empty() {
        parts.push(format!("none names {}", new.join(", ")));
    }
    (!parts.is_empty()).then(|| {
        format!(
            "The project maps do not fit the code any more: {}. Say `re-learn` in a new thread to bring them up to date.",
            parts.join("; ")
        )
    })
}

/// The commit that a map was made at, where this clone still has it.
async fn known_commit(repo: &Repo, at: &str) -> Result<Option<CommitSha>, Error> {
    let hex = (7..=40).contains(&at.len()) && at.bytes().all(|b| b.is_ascii_hexdigit());
    match hex {
        true => repo.resolve(&format!("{at}^{{commit}}")).await,
        false => Ok(None),
    }
}

/// What differs between two commits, apart from the team's own files.
#[derive(Debug)]
pub(crate) struct Changed {
    from: String,
    /// `A`, `M` or `D`, and the path.
    files: Vec<(char, String)>,
}

impl Changed {
    /// Nothing when the older commit is not known any more.
    pub(crate) async fn between(
        repo: &Repo,
        from: &str,
        to: &CommitSha,
    ) -> Result<Option<Self>, Error> {
        let Some(known) = known_commit(repo, from).await? else {
            return Ok(None);
        };
        let listed = repo
            .git()
            .call(["diff", "--name-status", "-z", "--no-renames"])
            .args(["--end-of-options", known.as_str(), to.as_str()])
            .finish()
            .await?;
        let mut fields = listed.fields();
        let mut files = Vec::new();
        while let (Some(status), Some(path)) = (fields.next(), fields.next()) {
            let path = String::from_utf8_lossy(path).into_owned();
            let status = status.first().map_or('M', |byte| char::from(*byte));
            if !path.starts_with(OURS) {
                files.push((status, path));
            }
        }
        let from = known.as_str().to_owned();
        Ok(Some(Self { from, files }))
    }

    /// The changed paths that a map is about: files it names, what came or went in a
    /// folder it names, and what is gone. Whoever keeps the whole in view gets new
    /// files besides that nothing it names covers.
    pub(crate) fn touching(&self, named: &BTreeSet<String>, whole: bool) -> Vec<String> {
        let own = self.files.iter().filter(|(status, path)| {
            let covered = named.iter().any(|one| below(path, one));
            let is_new = *status == 'A';
            named.contains(path) || (covered && *status != 'M') || (whole && is_new && !covered)
        });
        own.map(|(status, path)| format!("{status} {path}"))
            .collect()
    }

    /// The changes of these paths, cut where they become long.
    pub(crate) async fn diff(
        &self,
        repo: &Repo,
        own: &[String],
        to: &CommitSha,
        most: usize,
    ) -> Result<String, Error> {
        let paths = own.iter().filter_map(|line| line.get(2..));
        let mut call = repo.git().call(["diff", "--no-color", "--no-ext-diff"]);
        call = call.args([self.from.as_str(), to.as_str(), "--"]);
        for path in paths {
            call = call.arg(format!(":(literal){path}"));
        }
        if own.is_empty() {
            return Ok(String::new());
        }
        let text = call.finish().await?;
        let text = String::from_utf8_lossy(&text.stdout).into_owned();
        let mut shown: String = text.chars().take(most).collect();
        if shown.len() < text.len() {
            shown.push_str("\n… cut here: `Read` the files for the rest");
        }
        Ok(format!("```\n{shown}\n```"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(paths: &[&str]) -> Tree {
        Tree::of(paths.iter().map(|path| (*path).to_owned()))
    }

    fn set(paths: &[&str]) -> BTreeSet<String> {
        paths.iter().map(|path| (*path).to_owned()).collect()
    }

    #[test]
    fn what_is_gone_and_what_is_new_is_found() {
        let tree = tree(&["src/a/b.rs", "web/x.css", "README.md", ".github/ci.yml"]);
        let named = set(&["src/a", "b.rs", "src/c.rs"]);
        assert_eq!(tree.lacks(&named), ["src/c.rs"]);
        assert_eq!(tree.unnamed_tops(&named), ["web"]);
        assert!(tree.listing().contains("src/a/b.rs\nweb/x.css"));
        let map = |place: &str| ProjectMap::parse(&format!("- `{place}`: x"));
        let seen = [super::Tree::of(["src/a/b.rs".to_owned()].into_iter())];
        let said = drifted(&tree, &[map("src/c.rs"), map("src/a")], &seen).unwrap();
        assert!(
            said.contains("name `src/c.rs`, gone; none names `web`"),
            "{said}"
        );
        assert_eq!(drifted(&tree, &[map("web"), map("src")], &seen), None);
        // It was there before, and nobody found it worth naming.
        let seen = [super::Tree::of(["web/y.css".to_owned()].into_iter())];
        assert_eq!(drifted(&tree, &[map("src/a")], &seen), None);
        assert_eq!(drifted(&tree, &[map("src/a")], &[]), None);
        let many: Vec<String> = (0..400)
            .map(|n| format!("deep/{}/f{n}.rs", n % 3))
            .collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let listing = super::Tree::of(many.iter().map(|path| (*path).to_owned())).listing();
        assert!(
            listing.contains("400 files") && listing.contains("deep/0/ (134 files)"),
            "{listing}"
        );
        assert!(listing.len() < 300, "{listing}");
    }

    #[test]
    fn only_whoever_names_it_hears_of_a_change() {
        let changed = Changed {
            from: String::new(),
            files: [
                ('M', "src/a.rs"),
                ('A', "src/new.rs"),
                ('D', "web/old.css"),
                ('A', "top.md"),
            ]
            .map(|(status, path)| (status, path.to_owned()))
            .into(),
        };
        assert_eq!(changed.touching(&set(&["src/a.rs"]), false), ["M src/a.rs"]);
        assert_eq!(changed.touching(&set(&["src"]), false), ["A src/new.rs"]);
        assert_eq!(
            changed.touching(&set(&["docs"]), false),
            Vec::<String>::new()
        );
        assert_eq!(
            changed.touching(&set(&["web"]), true),
            ["A src/new.rs", "D web/old.css", "A top.md"]
        );
    }
}
