//! Issues and releases: one suite for all forges, each step twice, and with the
//! answers lost on the way.

use std::sync::Arc;

use butler_protocol::{CommitSha, Role};
use butler_repo::{
    Author, Error, Forge, ForgeHosts, Git, IssueNumber, NewComment, NewIssue, NewRelease, Repo,
    Settings,
};
use butler_testkit::{GitHub, ScratchRepo, git};

use crate::{github::has_gh, support::*};

fn complaint(key: &str) -> NewIssue {
    NewIssue {
        author: Author::Role(Role::Pm),
        title: "It greets nobody".into(),
        body: "Steps:\n\n1. start it".into(),
        labels: vec!["bug".into(), "api".into()],
        key: key.into(),
    }
}

fn answer(key: &str) -> NewComment {
    NewComment {
        author: Author::Role(Role::Lead),
        body: "Will be in the next release.".into(),
        place: None,
        key: key.into(),
    }
}

fn release(commit: &str) -> NewRelease {
    NewRelease {
        tag: "v1.0.0".into(),
        title: "First".into(),
        notes: "- greets\n\n- leaves".into(),
        commit: CommitSha::new(commit),
    }
}

/// `before` is called before each step, and may make it harder.
pub(crate) async fn life(tracker: &Forge, scratch: &ScratchRepo, before: &dyn Fn()) {
    let twice = [(), ()];
    let mut number = IssueNumber(0);
    for () in twice {
        before();
        let opened = tracker.open_issue(&complaint("one"), &go()).await.unwrap();
        assert_eq!(
            (opened.title.as_str(), opened.open),
            ("It greets nobody", true)
        );
        assert_eq!(opened.body, "Steps:\n\n1. start it");
        assert_eq!(opened.labels, ["api", "bug"]);
        assert_eq!(opened.author, Author::Role(Role::Pm));
        number = opened.number;
    }
    before();
    let other = tracker.open_issue(&complaint("two"), &go()).await.unwrap();
    assert_ne!(other.number, number);
    for () in twice {
        before();
        tracker
            .comment_issue(number, &answer("said"), &go())
            .await
            .unwrap();
        before();
        let labels = ["bug".to_owned(), "later".to_owned()];
        let labelled = tracker.label_issue(number, &labels, &go()).await.unwrap();
        assert_eq!(labelled.labels, ["api", "bug", "later"]);
    }
    let viewed = tracker.issue(number, &go()).await.unwrap();
    assert_eq!(viewed.comments.len(), 1, "{:?}", viewed.comments);
    assert_eq!(viewed.comments[0].body, "Will be in the next release.");
    assert_eq!(tracker.issues(true, &go()).await.unwrap().len(), 2);
    for () in twice {
        before();
        assert!(!tracker.close_issue(number, &go()).await.unwrap().open);
    }
    let open = tracker.issues(true, &go()).await.unwrap();
    assert_eq!(
        open.iter().map(|i| i.number).collect::<Vec<_>>(),
        [other.number]
    );
    assert_eq!(tracker.issues(false, &go()).await.unwrap().len(), 2);
    let missing = tracker.issue(IssueNumber(9999), &go()).await;
    assert!(matches!(missing, Err(Error::NoIssue { .. })), "{missing:?}");
    releases(tracker, scratch, before).await;
}

async fn releases(tracker: &Forge, scratch: &ScratchRepo, before: &dyn Fn()) {
    let first = scratch.remote_git(&["rev-parse", "main"]);
    for _ in 0..2 {
        before();
        let made = tracker.publish(&release(&first), &go()).await.unwrap();
        assert_eq!(
            (made.title.as_str(), made.notes.as_str()),
            ("First", "- greets\n\n- leaves")
        );
        assert_eq!(made.commit.as_str(), first);
    }
    assert_eq!(scratch.remote_git(&["rev-parse", "v1.0.0^{commit}"]), first);
    assert_eq!(tracker.releases(&go()).await.unwrap().len(), 1);
    git(
        scratch.root(),
        &["commit", "--quiet", "--allow-empty", "--message", "later"],
    );
    let later = git(scratch.root(), &["rev-parse", "HEAD"]);
    let moved = tracker.publish(&release(later.trim()), &go()).await;
    assert!(
        matches!(moved, Err(Error::Refused { .. })),
        "tags are not moved: {moved:?}"
    );
    assert_eq!(scratch.remote_git(&["rev-parse", "v1.0.0^{commit}"]), first);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_remote_itself_keeps_issues_and_releases() {
    let scratch = ScratchRepo::new();
    let repo = Repo::open(scratch.root()).await.unwrap();
    let tracker = Forge::of(&repo, &ForgeHosts::default()).await.unwrap();
    life(&tracker, &scratch, &|| {}).await;
    // Another clone sees them too.
    let clone = scratch.clone_as("second");
    let other = Forge::local(&Repo::open(clone.root()).await.unwrap()).unwrap();
    assert_eq!(other.issues(false, &go()).await.unwrap().len(), 2);
    assert_eq!(other.releases(&go()).await.unwrap().len(), 1);
    let odd = NewRelease {
        tag: "v1..0".into(),
        ..release(&scratch.remote_git(&["rev-parse", "main"]))
    };
    assert!(matches!(
        other.publish(&odd, &go()).await,
        Err(Error::Refused { .. })
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_clones_open_issues_at_once_and_none_is_lost() {
    let scratch = ScratchRepo::new();
    let second = scratch.clone_as("second").root().to_owned();
    let mut all = Vec::new();
    for (who, root) in [("a", scratch.root().to_owned()), ("b", second)] {
        let tracker = Forge::local(&Repo::open(&root).await.unwrap()).unwrap();
        all.push(tokio::spawn(async move {
            for count in 0..4 {
                let new = complaint(&format!("{who}{count}"));
                tracker.open_issue(&new, &go()).await.unwrap();
            }
            tracker
        }));
    }
    for task in all {
        let tracker = task.await.unwrap();
        let issues = tracker.issues(false, &go()).await.unwrap();
        assert!(issues.len() >= 4);
    }
    let tracker = Forge::local(&Repo::open(scratch.root()).await.unwrap()).unwrap();
    let mut keys: Vec<_> = tracker.issues(false, &go()).await.unwrap();
    keys.sort_by(|a, b| a.key.cmp(&b.key));
    keys.dedup_by(|a, b| a.key == b.key);
    assert_eq!(keys.len(), 8);
}

async fn on_github() -> Option<(ScratchRepo, GitHub, Forge)> {
    if !has_gh() {
        return None;
    }
    let scratch = ScratchRepo::new();
    let github = GitHub::serve(&scratch);
    let settings = Settings::from_variables(github.variables());
    let git = Git::with(scratch.root(), Arc::new(settings));
    let repo = Repo::open_with(git).await.unwrap();
    let tracker = Forge::of(&repo, &ForgeHosts::default()).await.unwrap();
    Some((scratch, github, tracker))
}

#[tokio::test(flavor = "multi_thread")]
async fn github_keeps_issues_and_releases() {
    let Some((scratch, github, tracker)) = on_github().await else {
        return;
    };
    life(&tracker, &scratch, &|| {}).await;
    let theirs = IssueNumber(github.complain("ana", "Slow", "It is slow."));
    let seen = tracker.issue(theirs, &go()).await.unwrap();
    assert_eq!(
        (seen.author, seen.key),
        (Author::Person("ana".into()), None)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_makes_no_second_issue_comment_or_release() {
    let Some((scratch, github, tracker)) = on_github().await else {
        return;
    };
    life(&tracker, &scratch, &|| github.lose_answers(1)).await;
    assert_eq!(github.kept(), (2, 1));
}
