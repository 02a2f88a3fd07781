//! What every forge promises, each step twice.

use butler_protocol::{CommitSha, PrNumber, PullEvent, Reviewed, Role};
use butler_repo::{
    Author, Edit, Error, Forge, Merge, NewComment, Place, PullState, Repo, Reviewers, Worktree,
    news,
};
use butler_testkit::{GitHub, PersonComment, ScratchRepo, git};

use crate::support::*;

pub(crate) fn remark(key: &str, place: Option<Place>) -> NewComment {
    NewComment {
        author: Author::Role(Role::Reviewer),
        body: "Looks right.".into(),
        place,
        key: key.into(),
    }
}

/// The whole life of a pull request, on any forge. `merges` is how many merge commits its
/// squash takes there.
pub(crate) async fn life(scratch: &ScratchRepo, forge: &Forge, worktree: &Worktree, merges: &str) {
    let early = forge.create(&pull(&worktree.branch), &go()).await;
    assert!(early.is_ok(), "the branch is pushed at creation: {early:?}");
    let number = early.unwrap().number;
    deliver(worktree, "hello.txt", "hello\n").await;
    let opened = forge.create(&pull(&worktree.branch), &go()).await.unwrap();
    let head = worktree.head().await.unwrap();
    assert_eq!((opened.number, &opened.head), (number, &head));
    assert_eq!(
        (opened.title.as_str(), opened.base.as_str()),
        ("Add a greeting", "main")
    );
    let found = forge.find(&worktree.branch, &go()).await.unwrap().unwrap();
    assert_eq!(found.number, number);
    assert_eq!(
        forge
            .find(&"codebutler/none-abcdef".parse_branch(), &go())
            .await
            .unwrap(),
        None
    );

    let edit = Edit {
        body: Some("Better words.".into()),
        ..Edit::default()
    };
    for _ in 0..2 {
        let edited = forge.edit(number, &edit, &go()).await.unwrap();
        assert_eq!(
            (edited.title.as_str(), edited.body.as_str()),
            ("Add a greeting", "Better words.")
        );
    }
    for _ in 0..2 {
        around(forge, number).await;
    }
    let line = Place {
        path: "hello.txt".into(),
        line: 1,
    };
    for _ in 0..2 {
        forge
            .comment(number, &remark("summary", None), &go())
            .await
            .unwrap();
        forge
            .comment(number, &remark("line", Some(line.clone())), &go())
            .await
            .unwrap();
    }
    let viewed = forge.view(number, &go()).await.unwrap();
    assert_eq!(viewed.comments.len(), 2, "{:?}", viewed.comments);
    assert!(
        viewed
            .comments
            .iter()
            .all(|c| c.author == Author::Role(Role::Reviewer) && c.body == "Looks right.")
    );
    assert!(
        viewed
            .comments
            .iter()
            .any(|c| c.place.as_ref() == Some(&line))
    );
    assert!(forge.diff(number, &go()).await.unwrap().contains("+hello"));
    assert_eq!(forge.list(true, &go()).await.unwrap().len(), 1);

    merge(scratch, forge, (number, &head), worktree, merges).await;
    let late = forge.create(&pull(&worktree.branch), &go()).await.unwrap();
    assert_eq!(
        late.number, number,
        "a repeated create finds the merged one"
    );
    let refused = forge.close(number, &go()).await;
    assert!(matches!(refused, Err(Error::NotOpen { .. })), "{refused:?}");
    assert!(forge.list(true, &go()).await.unwrap().is_empty());
    assert_eq!(forge.list(false, &go()).await.unwrap().len(), 1);
    let missing = forge.view(PrNumber(999), &go()).await;
    assert!(matches!(missing, Err(Error::NoPull { .. })), "{missing:?}");
}

/// What stands around it; a forge that has none of it takes the word all the same.
async fn around(forge: &Forge, number: PrNumber) {
    forge.ready(number, &go()).await.unwrap();
    assert!(!forge.view(number, &go()).await.unwrap().draft);
    let labels = ["codebutler".to_owned()];
    forge.label(number, &labels, &go()).await.unwrap();
    let reviewers = Reviewers {
        people: vec!["ana".into(), "nobody-at-all".into()],
        teams: vec!["core".into()],
    };
    forge.ask_reviews(number, &reviewers, &go()).await.unwrap();
}

async fn merge(
    scratch: &ScratchRepo,
    forge: &Forge,
    (number, head): (PrNumber, &CommitSha),
    worktree: &Worktree,
    merges: &str,
) {
    let wrong = CommitSha::new("1".repeat(40));
    let moved = forge.merge(&Merge::of(number, &wrong), &go()).await;
    assert!(matches!(moved, Err(Error::HeadMoved { .. })), "{moved:?}");
    assert!(scratch.remote_file("main", "hello.txt").is_none());
    scratch.push_to_main("meanwhile.txt", "meanwhile");
    let first = forge.merge(&Merge::of(number, head), &go()).await.unwrap();
    assert_eq!(
        forge.merge(&Merge::of(number, head), &go()).await.unwrap(),
        first
    );
    assert_eq!(scratch.remote_git(&["rev-parse", "main"]), first.as_str());
    assert_eq!(
        scratch.remote_file("main", "hello.txt").as_deref(),
        Some("hello\n")
    );
    assert!(scratch.remote_file("main", "meanwhile.txt").is_some());
    assert_eq!(
        scratch.remote_git(&["rev-list", "--count", "--merges", "main"]),
        merges
    );
    let kept = scratch.remote_git(&["rev-list", "main"]);
    assert!(
        !kept.contains(head.as_str()),
        "a squash leaves the branch's commits out"
    );
    assert!(
        !scratch
            .remote_branches()
            .contains(&worktree.branch.to_string())
    );
    let merged = forge.view(number, &go()).await.unwrap();
    assert_eq!(merged.state, PullState::Merged { commit: first });
    assert_eq!(&merged.head, head);
}

/// A conflict and a closed pull request, on any forge.
pub(crate) async fn refusals(scratch: &ScratchRepo, forge: &Forge, worktree: &Worktree) {
    deliver(worktree, "README.md", "ours\n").await;
    let opened = forge.create(&pull(&worktree.branch), &go()).await.unwrap();
    scratch.push_to_main("README.md", "theirs\n");
    let before = scratch.remote_git(&["rev-parse", "main"]);
    let outcome = forge
        .merge(&Merge::of(opened.number, &opened.head), &go())
        .await;
    assert!(
        matches!(outcome, Err(Error::Conflict { .. })),
        "{outcome:?}"
    );
    assert_eq!(scratch.remote_git(&["rev-parse", "main"]), before);
    for _ in 0..2 {
        let closed = forge.close(opened.number, &go()).await.unwrap();
        assert_eq!(closed.state, PullState::Closed);
    }
    let outcome = forge
        .merge(&Merge::of(opened.number, &opened.head), &go())
        .await;
    assert!(matches!(outcome, Err(Error::NotOpen { .. })), "{outcome:?}");
    assert!(
        scratch
            .remote_branches()
            .contains(&worktree.branch.to_string())
    );
}

/// A hosted forge with somebody at its other end.
pub(crate) struct Stage<'a> {
    pub scratch: &'a ScratchRepo,
    pub github: &'a GitHub,
    pub forge: &'a Forge,
    pub worktree: &'a Worktree,
}

/// A lost answer never makes a second one. `opens` and `merges` are how requests for that
/// look there.
pub(crate) async fn lost_answers(stage: &Stage<'_>, (opens, merges): ((&str, &str), (&str, &str))) {
    let Stage {
        github,
        forge,
        worktree,
        scratch,
    } = stage;
    deliver(worktree, "hello.txt", "hello\n").await;
    github.lose_answers(1);
    let opened = forge.create(&pull(&worktree.branch), &go()).await.unwrap();
    assert_eq!(opened.number.0, 1);
    assert_eq!(github.count(opens.0, opens.1), 1);
    github.lose_answers(1);
    forge
        .comment(opened.number, &remark("once", None), &go())
        .await
        .unwrap();
    assert_eq!(
        forge
            .view(opened.number, &go())
            .await
            .unwrap()
            .comments
            .len(),
        1
    );
    github.lose_answers(2);
    let edit = Edit {
        title: Some("New".into()),
        ..Edit::default()
    };
    assert_eq!(
        forge.edit(opened.number, &edit, &go()).await.unwrap().title,
        "New"
    );
    github.lose_answers(1);
    let merged = forge
        .merge(&Merge::of(opened.number, &opened.head), &go())
        .await
        .unwrap();
    assert_eq!(scratch.remote_git(&["rev-parse", "main"]), merged.as_str());
    assert_eq!(github.count(merges.0, merges.1), 1);
    assert!(
        !scratch
            .remote_branches()
            .contains(&worktree.branch.to_string())
    );
}

/// Everything that others can do to a pull request is seen, by one request when nothing
/// happened. `has_logs`: whether the log of a check can be had there.
pub(crate) async fn what_others_do_is_news(stage: &Stage<'_>, has_logs: bool) {
    let Stage {
        github,
        forge,
        worktree,
        ..
    } = stage;
    deliver(worktree, "hello.txt", "hello\n").await;
    let opened = forge.create(&pull(&worktree.branch), &go()).await.unwrap();
    let one = [opened.number];
    let standing = forge.glance(&one, &go()).await.unwrap().unwrap();
    let first = forge.look(&one, &go()).await.unwrap().remove(0);
    let (seen, none) = news(None, &first);
    assert_eq!(none, []);
    forge
        .comment(opened.number, &remark("ours", None), &go())
        .await
        .unwrap();
    let person = |login, body| PersonComment {
        number: 1,
        login,
        body,
    };
    github.say(person("ana", "Why?"));
    let line = github.say_at(person("ben", "Here?"), "hello.txt", 1);
    github.review(person("ana", ""), "CHANGES_REQUESTED");
    let log = "2026-01-02T03:04:05.1234567Z not ok 1 - greets\n";
    github.check_with_log(opened.head.as_str(), "test", "failure", log);
    github.check(opened.head.as_str(), "lint", "success");
    let main = stage.scratch.remote_git(&["rev-parse", "main"]);
    github.check(&main, "test", "failure");
    let moved = forge.glance(&one, &go()).await.unwrap().unwrap();
    assert_ne!(moved, standing);
    let before = github.requests();
    assert_eq!(forge.glance(&one, &go()).await.unwrap().unwrap(), moved);
    assert_eq!(github.requests(), before + 1);
    let now = forge.look(&one, &go()).await.unwrap().remove(0);
    let (seen, told) = news(Some(&seen), &now);
    let [
        PullEvent::Said(note),
        PullEvent::Said(review),
        PullEvent::Said(at),
        PullEvent::CheckFailed(red),
    ] = told.as_slice()
    else {
        panic!("{told:?}");
    };
    assert_eq!((note.by.as_str(), note.text.as_str()), ("ana", "Why?"));
    assert_eq!(review.review, Some(Reviewed::ChangesRequested));
    assert_eq!(at.place.as_deref(), Some("hello.txt:1"));
    assert!(red.on_base && red.name == "test");
    let job = now
        .checks
        .iter()
        .find_map(|check| check.job.filter(|_| check.name == "test"));
    assert_eq!(job.is_some(), has_logs);
    if let Some(job) = job {
        let why = forge.check_log(job, &go()).await.unwrap();
        assert_eq!(why, "not ok 1 - greets");
    }
    assert!(forge.may_write("ana", &go()).await.unwrap());
    assert!(!forge.may_write("ben", &go()).await.unwrap());
    for _ in 0..2 {
        let answer = remark("answer", None);
        let answered = forge
            .reply(opened.number, &at.id, &answer, &go())
            .await
            .unwrap();
        assert_eq!(answered.place.unwrap().path, "hello.txt");
    }
    assert_eq!(
        github.answers(1, line).len(),
        1,
        "answered once, where it stands"
    );
    let theirs = github.push_to(1, "hello.txt", "hello there\n", "ana");
    github.close(1, true);
    let now = forge.look(&one, &go()).await.unwrap().remove(0);
    let (_, told) = news(Some(&seen), &now);
    let [
        PullEvent::Pushed { by, .. },
        PullEvent::Closed { by: closer },
    ] = told.as_slice()
    else {
        panic!("{told:?}");
    };
    assert_eq!((by.as_str(), closer.as_str()), ("ana", "ana"));
    assert_eq!(github.head(1), theirs);
}

trait ParseBranch {
    fn parse_branch(&self) -> butler_protocol::BranchName;
}

impl ParseBranch for str {
    fn parse_branch(&self) -> butler_protocol::BranchName {
        butler_protocol::BranchName::new(self)
    }
}

async fn local(scratch: &ScratchRepo) -> (Forge, Worktree) {
    let repo = open(scratch).await;
    let worktree = repo.create(&thread(1), "Greet", &go()).await.unwrap();
    (Forge::local(&repo).unwrap(), worktree)
}

#[tokio::test]
async fn the_local_forge_lives_a_whole_life() {
    let scratch = ScratchRepo::new();
    let (forge, worktree) = local(&scratch).await;
    life(&scratch, &forge, &worktree, "0").await;
    let message = scratch.remote_git(&["log", "-1", "--format=%B", "main"]);
    assert!(
        message.starts_with("Add a greeting (#1)\n\nBetter words.\n"),
        "{message}"
    );
    assert!(
        message.contains("Co-authored-by: CodeButler coder <coder@codebutler.invalid>"),
        "{message}"
    );
}

#[tokio::test]
async fn the_local_forge_refuses_what_it_must() {
    let scratch = ScratchRepo::new();
    let (forge, worktree) = local(&scratch).await;
    refusals(&scratch, &forge, &worktree).await;
}

#[tokio::test]
async fn only_our_own_pushed_branches_get_a_pull_request() {
    let scratch = ScratchRepo::new();
    let (forge, _) = local(&scratch).await;
    let foreign = forge.create(&pull(&"main".parse_branch()), &go()).await;
    assert!(matches!(foreign, Err(Error::NotOurs { .. })), "{foreign:?}");
    let unpushed = forge
        .create(&pull(&"codebutler/x-abcdef".parse_branch()), &go())
        .await;
    assert!(
        matches!(unpushed, Err(Error::NotPushed { .. })),
        "{unpushed:?}"
    );
}

#[tokio::test]
async fn another_clone_sees_the_pull_request() {
    let scratch = ScratchRepo::new();
    let (forge, worktree) = local(&scratch).await;
    deliver(&worktree, "a.txt", "a").await;
    let opened = forge.create(&pull(&worktree.branch), &go()).await.unwrap();
    let other = Repo::open(scratch.clone_as("other").root()).await.unwrap();
    let other = Forge::local(&other).unwrap();
    assert_eq!(other.view(opened.number, &go()).await.unwrap(), opened);
    deliver(&worktree, "a.txt", "b").await;
    let moved = other.view(opened.number, &go()).await.unwrap();
    assert_ne!(moved.head, opened.head);
    assert_eq!(other.checks(opened.number, &go()).await.unwrap(), []);
}

#[tokio::test]
async fn two_clones_that_open_and_comment_at_once_lose_nothing() {
    let scratch = ScratchRepo::new();
    let (forge, worktree) = local(&scratch).await;
    let other = Repo::open(scratch.clone_as("other").root()).await.unwrap();
    let second = other.create(&thread(2), "Second", &go()).await.unwrap();
    let other = Forge::local(&other).unwrap();
    let (wanted, wanted2, cancel) = (pull(&worktree.branch), pull(&second.branch), go());
    let (a, b, c) = tokio::join!(
        forge.create(&wanted, &cancel),
        other.create(&wanted, &cancel),
        other.create(&wanted2, &cancel),
    );
    let (a, b, c) = (a.unwrap(), b.unwrap(), c.unwrap());
    assert_eq!(a.number, b.number);
    assert_ne!(a.number, c.number);
    let (one, two) = (remark("one", None), remark("two", None));
    let (x, y) = tokio::join!(
        forge.comment(a.number, &one, &cancel),
        other.comment(a.number, &two, &cancel)
    );
    x.unwrap();
    y.unwrap();
    assert_eq!(forge.view(a.number, &go()).await.unwrap().comments.len(), 2);
}

#[tokio::test]
async fn a_remote_that_forbids_deletion_is_merged_into_all_the_same() {
    let scratch = ScratchRepo::new();
    let (forge, worktree) = local(&scratch).await;
    deliver(&worktree, "a.txt", "a").await;
    git(
        &scratch.remote(),
        &["config", "receive.denyDeletes", "true"],
    );
    let opened = forge.create(&pull(&worktree.branch), &go()).await.unwrap();
    forge
        .merge(&Merge::of(opened.number, &opened.head), &go())
        .await
        .unwrap();
    assert_eq!(scratch.remote_file("main", "a.txt").as_deref(), Some("a"));
    assert!(
        scratch
            .remote_branches()
            .contains(&worktree.branch.to_string())
    );
}
