//! A GitHub stand-in for the real `gh`: it answers on a unix socket, and git
//! reaches the scratch remote by a pretended ssh. No port, no TLS, no host but
//! this one; `gh` and git believe that they talk to github.com.
//!
//! Pull requests live in memory, branches in the scratch repository's bare
//! remote, and merges are made by git there.

use std::{
    collections::HashMap,
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Value, json};
use tokio::{net::UnixListener, task::JoinHandle};

use crate::{ScratchRepo, git, github_routes};

/// The stand-in; it stops when dropped.
#[derive(Debug)]
pub struct GitHub {
    home: PathBuf,
    state: Arc<Mutex<State>>,
    server: JoinHandle<()>,
}

/// What the stand-in knows.
#[derive(Debug)]
pub(crate) struct State {
    pub remote: PathBuf,
    pub pulls: Vec<Pull>,
    pub issues: Vec<Issue>,
    pub releases: Vec<Value>,
    pub checks: Vec<Value>,
    pub lost_answers: u32,
    pub no_merge: Option<(u16, String)>,
    pub no_answer: Option<(u16, String)>,
    pub requests: Vec<String>,
    pub writers: Vec<String>,
    pub statuses: Vec<Value>,
    pub logs: HashMap<u64, String>,
    /// Every label that there is, and those of each pull request.
    pub labels: Vec<String>,
    pub pull_labels: HashMap<usize, Vec<String>>,
    pub rules: Rules,
    next_comment: u64,
}

/// What the repository demands, and what the account that asks may step over.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    /// The account may merge whatever the rules say.
    pub admin: bool,
    /// A queue merges.
    pub queue: bool,
    /// Who waits in it.
    pub queued: Vec<usize>,
    /// There are no drafts here.
    pub no_drafts: bool,
}

/// A pull request of the stand-in.
#[derive(Debug, Clone)]
pub(crate) struct Pull {
    pub number: usize,
    pub title: String,
    pub body: String,
    pub branch: String,
    pub base: String,
    pub last_head: String,
    pub closed: bool,
    pub merge_commit: Option<String>,
    pub notes: Vec<Value>,
    pub lines: Vec<Value>,
    pub reviews: Vec<Value>,
    pub draft: bool,
    pub ended_by: String,
    pub labels: Vec<Value>,
    pub asked: Vec<String>,
    pub asked_teams: Vec<String>,
}

/// An issue of the stand-in.
#[derive(Debug, Clone)]
pub(crate) struct Issue {
    pub shown: Value,
    pub notes: Vec<Value>,
    pub labelled: Vec<Labelled>,
}

/// Somebody put a label on an issue.
#[derive(Debug, Clone)]
pub(crate) struct Labelled {
    pub id: u64,
    pub login: String,
    pub name: String,
}

/// A comment that a person leaves on the page.
#[derive(Debug, Clone, Copy)]
pub struct PersonComment<'a> {
    /// Which pull request.
    pub number: usize,
    /// Who.
    pub login: &'a str,
    /// What.
    pub body: &'a str,
}

impl GitHub {
    /// Puts a scratch repository on GitHub: its first clone's remote becomes
    /// `git@github.com:you/scratch.git`.
    ///
    /// Must be called inside a tokio runtime.
    #[must_use]
    pub fn serve(scratch: &ScratchRepo) -> Self {
        Self::begin(scratch, "github.com", |home, state| {
            let socket = home.join("gh.sock");
            let config = format!("http_unix_socket: {}\n", socket.display());
            fs::write(home.join("gh/config.yml"), config).expect("gh's config");
            let listener = UnixListener::bind(&socket).expect("a socket");
            let app = github_routes::router(state);
            tokio::spawn(async move {
                axum::serve(listener, app)
                    .await
                    .expect("the stand-in serves");
            })
        })
    }

    /// The same for any host, served by whatever `serve` starts.
    pub(crate) fn begin(
        scratch: &ScratchRepo,
        host: &str,
        serve: impl FnOnce(&Path, Arc<Mutex<State>>) -> JoinHandle<()>,
    ) -> Self {
        let home = scratch.folder().join("github-home");
        fs::create_dir_all(home.join("gh")).expect("a folder");
        pretend_ssh(&home.join("ssh"), &scratch.remote());
        let address = format!("git@{host}:you/scratch.git");
        git(scratch.root(), &["remote", "set-url", "origin", &address]);
        let state = Arc::new(Mutex::new(State {
            remote: scratch.remote(),
            pulls: Vec::new(),
            issues: Vec::new(),
            releases: Vec::new(),
            checks: Vec::new(),
            lost_answers: 0,
            no_merge: None,
            no_answer: None,
            requests: Vec::new(),
            writers: vec!["you".to_owned(), "ana".to_owned()],
            logs: HashMap::new(),
            statuses: Vec::new(),
            labels: Vec::new(),
            pull_labels: HashMap::new(),
            rules: Rules::default(),
            next_comment: 1,
        }));
        let server = serve(&home, Arc::clone(&state));
        Self {
            home,
            state,
            server,
        }
    }

    /// The environment in which git and gh talk to the stand-in.
    #[must_use]
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        let home: &Path = &self.home;
        let mut all: Vec<(OsString, OsString)> = std::env::vars_os()
            .filter(|(name, _)| name == "PATH" || name == "TMPDIR")
            .collect();
        all.extend([
            ("HOME".into(), home.into()),
            ("XDG_CONFIG_HOME".into(), home.into()),
            ("XDG_CACHE_HOME".into(), home.join("cache").into()),
            ("XDG_STATE_HOME".into(), home.join("state").into()),
            ("GH_CONFIG_DIR".into(), home.join("gh").into()),
            ("GH_TOKEN".into(), "not-a-token".into()),
            ("GIT_SSH_COMMAND".into(), home.join("ssh").into()),
        ]);
        all
    }

    /// The next so many changing requests are carried out, and their answers
    /// are lost on the way: the caller sees a bad gateway.
    pub fn lose_answers(&self, count: u32) {
        self.state().lost_answers = count;
    }

    /// Merges are refused with this status and reason, until told otherwise.
    pub fn refuse_merges(&self, no: Option<(u16, &str)>) {
        self.state().no_merge = no.map(|(status, why)| (status, why.to_owned()));
    }

    /// Every request is, as when nobody is logged in or too much was asked.
    pub fn refuse_all(&self, no: Option<(u16, &str)>) {
        self.state().no_answer = no.map(|(status, why)| (status, why.to_owned()));
    }

    /// The account that asks may step over every rule; GitHub lets it.
    pub fn be_admin(&self) {
        self.state().rules.admin = true;
    }

    /// A merge queue merges here.
    pub fn use_queue(&self) {
        self.state().rules.queue = true;
    }

    /// Who waits in the queue.
    #[must_use]
    pub fn queued(&self) -> Vec<usize> {
        self.state().rules.queued.clone()
    }

    /// The queue comes to an end with all that wait in it: merged, or put out.
    pub fn run_queue(&self, green: bool) {
        let mut state = self.state();
        for number in std::mem::take(&mut state.rules.queued) {
            if green {
                let title = state.pulls[number - 1].title.clone();
                state.squash(number, &title).expect("it merges");
            }
        }
    }

    /// This repository has no drafts.
    pub fn without_drafts(&self) {
        self.state().rules.no_drafts = true;
    }

    /// Whether it is a draft, its labels, and who was asked to review it.
    #[must_use]
    pub fn around(&self, number: usize) -> (bool, Vec<String>, Vec<String>) {
        let state = self.state();
        let pull = &state.pulls[number - 1];
        let name = |label: &Value| label["name"].as_str().unwrap_or_default().to_owned();
        let asked = pull.asked.iter().chain(&pull.asked_teams);
        (
            pull.draft,
            pull.labels
                .iter()
                .map(name)
                .chain(state.labels_of(number))
                .collect(),
            asked.cloned().collect(),
        )
    }

    /// A person writes the description of a pull request anew.
    pub fn describe(&self, number: usize, body: &str) {
        body.clone_into(&mut self.state().pulls[number - 1].body);
    }

    /// A person closes a pull request on the page, or opens it again.
    pub fn close(&self, number: usize, closed: bool) {
        let mut state = self.state();
        let head = state.tip(&state.pulls[number - 1].branch);
        let pull = &mut state.pulls[number - 1];
        pull.last_head = head.unwrap_or_else(|| pull.last_head.clone());
        pull.closed = closed;
        "ana".clone_into(&mut pull.ended_by);
    }

    /// A person merges it on the page.
    pub fn merge(&self, number: usize, login: &str) -> String {
        let mut state = self.state();
        let made = state.squash(number, "merged by hand").expect("it merges");
        login.clone_into(&mut state.pulls[number - 1].ended_by);
        made
    }

    /// A person makes it a draft, or says that it is ready.
    pub fn draft(&self, number: usize, draft: bool) {
        self.state().pulls[number - 1].draft = draft;
    }

    /// A person pushes a file to its branch.
    pub fn push_to(&self, number: usize, path: &str, content: &str, name: &str) -> String {
        let (remote, branch) = {
            let state = self.state();
            (state.remote.clone(), state.pulls[number - 1].branch.clone())
        };
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path();
        let remote = remote.display().to_string();
        git(
            at,
            &["clone", "--quiet", "--branch", &branch, &remote, "clone"],
        );
        let at = &at.join("clone");
        fs::write(at.join(path), content).expect("a file");
        git(at, &["add", "--all"]);
        let committed = std::process::Command::new("git")
            .current_dir(at)
            .args(["commit", "--quiet", "--message", "by hand"])
            .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|key| (key, name)))
            .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|key| (key, "p@x.invalid")))
            .status();
        assert!(committed.expect("git runs").success());
        git(at, &["push", "--quiet", "origin", &branch]);
        git(at, &["rev-parse", "HEAD"]).trim().to_owned()
    }

    /// Where the branch of a pull request stands.
    #[must_use]
    pub fn head(&self, number: usize) -> String {
        let state = self.state();
        state
            .tip(&state.pulls[number - 1].branch)
            .expect("a branch")
    }

    /// A person comments on a line; the number of the comment.
    pub fn say_at(&self, comment: PersonComment<'_>, path: &str, line: u64) -> u64 {
        let mut state = self.state();
        let id = state.comment_id();
        let mut note = note(id, comment.login, comment.body);
        note["path"] = json!(path);
        note["line"] = json!(line);
        note["was"] = json!(state.line(comment.number, path, line));
        state.pulls[comment.number - 1].lines.push(note);
        id
    }

    /// The line of a comment is gone.
    pub fn outdate(&self, number: usize, id: u64) {
        let mut state = self.state();
        let lines = state.pulls[number - 1].lines.iter_mut();
        for line in lines.filter(|line| line["id"] == id) {
            line["outdated"] = json!(true);
        }
    }

    /// A person reviews: `APPROVED`, `CHANGES_REQUESTED` or `COMMENTED`.
    pub fn review(&self, comment: PersonComment<'_>, state_word: &str) {
        let mut state = self.state();
        let id = state.comment_id();
        let mut note = note(id, comment.login, comment.body);
        note["state"] = json!(state_word);
        state.pulls[comment.number - 1].reviews.push(note);
    }

    /// What was answered to a comment on a line.
    #[must_use]
    pub fn answers(&self, number: usize, id: u64) -> Vec<String> {
        let state = self.state();
        let lines = state.pulls[number - 1].lines.iter();
        let of_it = lines.filter(|line| line["in_reply_to_id"] == id);
        let text = |line: &Value| line["body"].as_str().unwrap_or_default().to_owned();
        of_it.map(text).collect()
    }

    /// A check of a commit ends, and leaves this log.
    pub fn check_with_log(&self, head: &str, name: &str, conclusion: &str, log: &str) {
        self.check(head, name, conclusion);
        let mut state = self.state();
        let id = state.checks.last().and_then(|run| run["id"].as_u64());
        state.logs.insert(id.expect("a check"), log.to_owned());
    }

    /// What was said of commits: the state and the words.
    #[must_use]
    pub fn statuses(&self) -> Vec<String> {
        let state = self.state();
        let text = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
        let said = state.statuses.iter();
        said.map(|one| format!("{} {}", text(one, "state"), text(one, "description")))
            .collect()
    }

    /// The description of a pull request.
    #[must_use]
    pub fn body(&self, number: usize) -> String {
        self.state().pulls[number - 1].body.clone()
    }

    /// Opens so many pull requests at once, from branches that all stand at `main`.
    pub fn open_many(&self, count: usize) {
        let mut state = self.state();
        let head = state.tip("main").expect("main");
        for number in state.pulls.len() + 1..=count {
            let branch = format!("codebutler/many-{number}");
            state.try_git(&["update-ref", &format!("refs/heads/{branch}"), &head]);
            let mut pull = state.fresh(&branch, head.clone());
            (pull.number, pull.title) = (number, branch);
            state.pulls.push(pull);
        }
    }

    /// How many requests came in so far, of any kind.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.state().requests.len()
    }

    /// A person deletes a branch on the page; GitHub closes what lost its branch.
    pub fn delete_branch_of(&self, number: usize) {
        let mut state = self.state();
        let branch = state.pulls[number - 1].branch.clone();
        let head = state.tip(&branch);
        state.try_git(&["update-ref", "-d", &format!("refs/heads/{branch}")]);
        let pull = &mut state.pulls[number - 1];
        pull.last_head = head.unwrap_or_else(|| pull.last_head.clone());
        pull.closed = true;
    }

    /// A person comments on the page.
    pub fn say(&self, comment: PersonComment<'_>) {
        let mut state = self.state();
        let id = state.comment_id();
        let note = note(id, comment.login, comment.body);
        state.pulls[comment.number - 1].notes.push(note);
    }

    /// A check of a commit ends.
    pub fn check(&self, head: &str, name: &str, conclusion: &str) {
        let mut state = self.state();
        let id = 1000 + state.checks.len();
        let run = json!({"id": id, "name": name, "head_sha": head, "conclusion": conclusion});
        state.checks.push(run);
    }

    /// How many comments a pull request has.
    #[must_use]
    pub fn comments(&self, number: usize) -> usize {
        let state = self.state();
        let pull = &state.pulls[number - 1];
        pull.notes.len() + pull.lines.len()
    }

    /// What the notes on a pull request say.
    #[must_use]
    pub fn notes(&self, number: usize) -> Vec<String> {
        let state = self.state();
        let notes = state.pulls[number - 1].notes.iter();
        let text = |note: &Value| note["body"].as_str().unwrap_or_default().to_owned();
        notes.map(text).collect()
    }

    /// How often a request with this method and path ending came in.
    #[must_use]
    pub fn count(&self, method: &str, ending: &str) -> usize {
        let fits = |r: &&String| r.starts_with(method) && r.ends_with(ending);
        self.state().requests.iter().filter(fits).count()
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Drop for GitHub {
    fn drop(&mut self) {
        self.server.abort();
    }
}

pub(crate) fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// A pull request that was just opened.
    pub(crate) fn fresh(&self, branch: &str, head: String) -> Pull {
        Pull {
            number: self.pulls.len() + 1,
            title: String::new(),
            body: String::new(),
            branch: branch.to_owned(),
            base: "main".to_owned(),
            last_head: head,
            closed: false,
            merge_commit: None,
            notes: Vec::new(),
            lines: Vec::new(),
            reviews: Vec::new(),
            draft: false,
            ended_by: String::new(),
            labels: Vec::new(),
            asked: Vec::new(),
            asked_teams: Vec::new(),
        }
    }

    /// Puts labels, with commas between, on a pull request.
    pub(crate) fn label(&mut self, number: usize, names: &str) {
        let there = self.pull_labels.entry(number).or_default();
        for name in names.split(',').filter(|name| !name.is_empty()) {
            if !there.iter().any(|known| known == name) {
                there.push(name.to_owned());
            }
        }
    }

    pub(crate) fn labels_of(&self, number: usize) -> Vec<String> {
        self.pull_labels.get(&number).cloned().unwrap_or_default()
    }

    pub(crate) fn comment_id(&mut self) -> u64 {
        self.next_comment += 1;
        self.next_comment - 1
    }

    /// Runs git on the bare remote; nothing when it fails.
    pub(crate) fn try_git(&self, args: &[&str]) -> Option<String> {
        let output = std::process::Command::new("git")
            .arg("--git-dir")
            .arg(&self.remote)
            .args([
                "-c",
                "user.name=GitHub",
                "-c",
                "user.email=noreply@github.invalid",
            ])
            .args(args)
            .output()
            .expect("git runs");
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(text)
    }

    pub(crate) fn tip(&self, branch: &str) -> Option<String> {
        self.try_git(&[
            "rev-parse",
            "--verify",
            "--quiet",
            &format!("refs/heads/{branch}"),
        ])
    }

    /// A line of a file as the branch of a pull request has it.
    fn line(&self, number: usize, path: &str, line: u64) -> Option<String> {
        let branch = &self.pulls.get(number.wrapping_sub(1))?.branch;
        let text = self.try_git(&["cat-file", "blob", &format!("{branch}:{path}")])?;
        let at = usize::try_from(line).ok()?.checked_sub(1)?;
        text.lines().nth(at).map(str::to_owned)
    }

    /// Whether the line of a comment has changed since, which is what GitHub calls outdated.
    pub(crate) fn is_outdated(&self, pull: &Pull, comment: &Value) -> bool {
        let place = comment["path"].as_str().zip(comment["line"].as_u64());
        let now = place.and_then(|(path, line)| self.line(pull.number, path, line));
        comment["outdated"] == json!(true)
            || comment["was"].is_string() && comment["was"] != json!(now)
    }

    /// Squashes a pull request onto its base, if it goes.
    pub(crate) fn squash(&mut self, number: usize, message: &str) -> Option<String> {
        let mut pull = self.pulls.get(number.wrapping_sub(1)).cloned()?;
        let (head, base) = (self.tip(&pull.branch)?, self.tip(&pull.base)?);
        let tree = self.try_git(&["merge-tree", "--write-tree", &base, &head])?;
        let made = self.try_git(&["commit-tree", &tree, "-p", &base, "-m", message])?;
        let target = format!("refs/heads/{}", pull.base);
        self.try_git(&["update-ref", &target, &made, &base])?;
        pull.last_head = head;
        pull.closed = true;
        pull.merge_commit = Some(made.clone());
        "you".clone_into(&mut pull.ended_by);
        self.pulls[number - 1] = pull;
        Some(made)
    }

    /// Whether and why it could not be merged, in GitHub's word.
    pub(crate) fn merge_state(&self, pull: &Pull) -> &'static str {
        let shown = self.shown(pull);
        let head = &shown["head"]["sha"];
        let red = |run: &&Value| run["head_sha"] == *head && run["conclusion"] != "success";
        match shown["mergeable"].as_bool() {
            _ if pull.draft => "DRAFT",
            None => "UNKNOWN",
            Some(false) => "DIRTY",
            Some(true) if self.no_merge.is_some() || self.rules.queue => "BLOCKED",
            Some(true) if self.checks.iter().any(|run| red(&run)) => "UNSTABLE",
            Some(true) => "CLEAN",
        }
    }

    /// Whether the difference of a pull request shows a line, as GitHub wants it to.
    pub(crate) fn shows(&self, number: usize, path: &Value, line: &Value) -> bool {
        let (Some(path), Some(line)) = (path.as_str(), line.as_u64()) else {
            return false;
        };
        let Some(pull) = self.pulls.get(number.wrapping_sub(1)) else {
            return false;
        };
        let range = format!("{}...{}", pull.base, pull.branch);
        let diff = self.try_git(&["diff", "--no-color", &range, "--", path]);
        let diff = diff.unwrap_or_default();
        let hunks = diff.lines().filter_map(|line| line.strip_prefix("@@ -"));
        let mut ranges = hunks.filter_map(|hunk| {
            let new = hunk.split('+').nth(1)?.split(' ').next()?;
            let (from, count) = new.split_once(',').unwrap_or((new, "1"));
            Some((from.parse::<u64>().ok()?, count.parse::<u64>().ok()?))
        });
        ranges.any(|(from, count)| line >= from && line < from + count)
    }

    /// A pull request as GitHub writes it.
    pub(crate) fn shown(&self, pull: &Pull) -> Value {
        let open = !pull.closed;
        let head = open.then(|| self.tip(&pull.branch)).flatten();
        let head = head.unwrap_or_else(|| pull.last_head.clone());
        let merges = || {
            self.try_git(&["merge-tree", "--write-tree", &pull.base, &head])
                .is_some()
        };
        json!({
            "number": pull.number,
            "title": pull.title,
            "body": pull.body,
            "state": if open { "open" } else { "closed" },
            "head": { "ref": pull.branch, "sha": head },
            "base": { "ref": pull.base },
            "merged": pull.merge_commit.is_some(),
            "merged_at": pull.merge_commit.as_ref().map(|_| "2026-01-02T03:04:05Z"),
            "merge_commit_sha": pull.merge_commit,
            "mergeable": if open { json!(merges()) } else { Value::Null },
            "draft": pull.draft,
            "node_id": format!("PR_{}", pull.number),
            "user": { "login": "you" },
            "requested_reviewers": pull.asked.iter().map(|login| json!({ "login": login }))
                .collect::<Vec<_>>(),
            "requested_teams": pull.asked_teams.iter().map(|slug| json!({ "slug": slug }))
                .collect::<Vec<_>>(),
            "labels": pull.labels,
            "html_url": format!("https://github.com/you/scratch/pull/{}", pull.number),
        })
    }
}

/// A comment as GitHub writes it.
pub(crate) fn note(id: u64, login: &str, body: &str) -> Value {
    json!({
        "id": id,
        "body": body,
        "user": { "login": login },
        "created_at": moment(id),
    })
}

/// When what has this number was said.
pub(crate) fn moment(id: u64) -> String {
    format!("2026-01-02T03:{:02}:{:02}Z", id / 60 % 60, id % 60)
}

/// git calls this as ssh; whatever host it wants, it gets the scratch remote.
fn pretend_ssh(script: &Path, remote: &Path) {
    let remote = remote.display();
    let text = format!(
        "#!/bin/sh\nfor last; do :; done\ncase \"$last\" in\n\
         git-upload-pack*) exec git upload-pack '{remote}' ;;\n\
         git-receive-pack*) exec git receive-pack '{remote}' ;;\nesac\nexit 1\n"
    );
    fs::write(script, text).expect("the script");
    fs::set_permissions(script, PermissionsExt::from_mode(0o755)).expect("its mode");
}
