//! GitLab, Gitea and Forgejo, as stand-ins made from their documentation, pass the suite of
//! every forge.

use std::sync::Arc;

use butler_protocol::{MergeBlock, PrNumber, Secret};
use butler_repo::{
    Author, Error, Forge, ForgeHost, ForgeHosts, ForgeKind, Git, IssueNumber, Place, Repo,
    Reviewers, Settings, Worktree, block_of,
};
use butler_testkit::{Flavour, Hosted, PersonComment, ScratchRepo};

use crate::{
    forge_suite::{self, life, refusals, remark},
    support::*,
    tracking,
};

const ALL: [Flavour; 3] = [Flavour::GitLab, Flavour::Gitea, Flavour::Forgejo];

struct Stage {
    scratch: ScratchRepo,
    hosted: Hosted,
    forge: Forge,
    worktree: Worktree,
}

impl Stage {
    fn lent(&self) -> forge_suite::Stage<'_> {
        forge_suite::Stage {
            scratch: &self.scratch,
            github: &self.hosted,
            forge: &self.forge,
            worktree: &self.worktree,
        }
    }
}

fn hosts(hosted: &Hosted, token: Option<String>) -> ForgeHosts {
    let kind = match hosted.kind() {
        "gitlab" => ForgeKind::GitLab,
        _ => ForgeKind::Gitea,
    };
    ForgeHosts {
        hosts: vec![ForgeHost {
            host: Hosted::HOST.to_owned(),
            kind,
            url: Some(hosted.url()),
            token: token.map(Secret::new),
        }],
        ca_file: None,
    }
}

async fn open_there(scratch: &ScratchRepo, hosted: &Hosted) -> Repo {
    let settings = Settings::from_variables(hosted.variables());
    let git = Git::with(scratch.root(), Arc::new(settings));
    Repo::open_with(git).await.unwrap()
}

async fn stage(flavour: Flavour) -> Stage {
    let cancel = go();
    let scratch = ScratchRepo::new();
    let hosted = Hosted::serve(&scratch, flavour);
    let repo = open_there(&scratch, &hosted).await;
    let hosts = hosts(&hosted, Some(Hosted::token()));
    let forge = Forge::of(&repo, &hosts).await.unwrap();
    let worktree = repo.create(&thread(1), "Greet", &cancel).await.unwrap();
    Stage {
        scratch,
        hosted,
        forge,
        worktree,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn gitlab_gitea_and_forgejo_live_a_whole_life() {
    for flavour in ALL {
        let stage = stage(flavour).await;
        // A new project of GitLab makes a merge commit of the squash.
        let (merges, squash) = match flavour {
            Flavour::GitLab => ("1", "main^2"),
            _ => ("0", "main"),
        };
        life(&stage.scratch, &stage.forge, &stage.worktree, merges).await;
        let message = ["log", "-1", "--format=%B", squash];
        let message = stage.scratch.remote_git(&message);
        assert!(
            message.starts_with("Add a greeting (#1)\n\nBetter words."),
            "{flavour:?}: {message}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn they_refuse_what_they_must() {
    for flavour in ALL {
        let stage = stage(flavour).await;
        refusals(&stage.scratch, &stage.forge, &stage.worktree).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_never_makes_a_second_one() {
    for flavour in ALL {
        let stage = stage(flavour).await;
        let requests = match flavour {
            Flavour::GitLab => (("POST", "/merge_requests"), ("PUT", "/merge")),
            _ => (("POST", "/pulls"), ("POST", "/merge")),
        };
        forge_suite::lost_answers(&stage.lent(), requests).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_do_is_news() {
    for flavour in ALL {
        let stage = stage(flavour).await;
        // A status of Gitea does not say which job it is of.
        let has_logs = flavour == Flavour::GitLab;
        forge_suite::what_others_do_is_news(&stage.lent(), has_logs).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn they_keep_issues_and_releases() {
    for flavour in ALL {
        let Stage {
            scratch,
            hosted,
            forge,
            ..
        } = &stage(flavour).await;
        tracking::life(forge, scratch, &|| {}).await;
        let there = hosted.complain("ana", "Slow", "It is slow.");
        let count = if flavour == Flavour::GitLab { 100 } else { 0 };
        let seen = forge
            .issue(IssueNumber(there - count), &go())
            .await
            .unwrap();
        assert_eq!(seen.author, Author::Person("ana".into()));
        assert_eq!(seen.key, None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_makes_no_second_issue_comment_or_release() {
    for flavour in ALL {
        let stage = stage(flavour).await;
        let lose = || stage.hosted.lose_answers(1);
        tracking::life(&stage.forge, &stage.scratch, &lose).await;
        assert_eq!(stage.hosted.kept(), (2, 1), "{flavour:?}");
    }
}

/// A draft is one until it is said to be ready; it has its labels, and who reviews is asked
/// once, also where one of them is not known there.
#[tokio::test(flavor = "multi_thread")]
async fn a_draft_has_labels_and_reviewers() {
    for flavour in ALL {
        let Stage {
            scratch,
            hosted,
            forge,
            worktree,
        } = &stage(flavour).await;
        deliver(worktree, "hello.txt", "hello\n").await;
        let mut new = pull(&worktree.branch);
        new.draft = true;
        let opened = forge.create(&new, &go()).await.unwrap();
        assert!(opened.draft, "{flavour:?}");
        let wanted = butler_repo::Merge::of(opened.number, &opened.head);
        let refused = forge.merge(&wanted, &go()).await.unwrap_err();
        assert_eq!(block_of(&refused).0, MergeBlock::Draft, "{refused}");
        scratch.push_to_main("CODEOWNERS", "* @ana\n");
        worktree.repo().fetch(&go()).await.unwrap();
        let files = ["hello.txt".to_owned()];
        let owners = forge.owners(&files, &go()).await.unwrap().people;
        // Gitea asks them by itself.
        let asks = if flavour == Flavour::GitLab { 1 } else { 0 };
        assert_eq!(owners.len(), asks, "{flavour:?}");
        let reviewers = Reviewers {
            people: ["ana", "you", "nobody"].map(str::to_owned).into(),
            teams: vec!["core".into()],
        };
        let labels = ["codebutler".to_owned(), "bug".to_owned()];
        hosted.lose_answers(1);
        for _ in 0..2 {
            forge.ready(opened.number, &go()).await.unwrap();
            forge.label(opened.number, &labels, &go()).await.unwrap();
            forge
                .ask_reviews(opened.number, &reviewers, &go())
                .await
                .unwrap();
        }
        let (draft, has, asked) = hosted.around(1);
        assert!(!draft, "{flavour:?}");
        assert_eq!(has, labels, "{flavour:?}");
        assert_eq!(asked, ["ana"], "{flavour:?}: each once");
        let now = forge.view(opened.number, &go()).await.unwrap();
        assert_eq!((now.title, now.draft), (new.title, false), "{flavour:?}");
    }
}

/// Who assigned an issue by a label is known, and what changed is found by its time.
#[tokio::test(flavor = "multi_thread")]
async fn who_labelled_an_issue_is_known() {
    for flavour in ALL {
        let Stage { hosted, forge, .. } = &stage(flavour).await;
        let kept = hosted.complain("ben", "Slow", "It is slow.");
        let other = hosted.complain("ben", "Slower", "It is slower.");
        let count = if flavour == Flavour::GitLab { 100 } else { 0 };
        let number = IssueNumber(kept - count);
        let by = async || forge.labelled(number, "butler", &go()).await.unwrap();
        assert_eq!(by().await, None);
        hosted.label_issue(kept, "ana", "other");
        hosted.label_issue(kept, "ana", "butler");
        let (who, _) = by().await.unwrap();
        assert_eq!(who, "ana", "{flavour:?}");
        let all = forge.issues_since(0, &go()).await.unwrap();
        assert_eq!(all.len(), 2, "{flavour:?}");
        let newest = all.iter().map(|issue| issue.changed).max().unwrap();
        let moved = forge.issues_since(newest, &go()).await.unwrap();
        assert_eq!(moved.len(), 1, "{flavour:?}");
        assert_eq!(moved[0].number, number, "{flavour:?}");
        hosted.say_on_issue(other, "ana", "@butler please");
        let moved = forge.issues_since(newest + 1, &go()).await.unwrap();
        assert_eq!(moved[0].number.0, other - count, "{flavour:?}");
    }
}

/// What a person or a rule has to do first has a name on every forge.
#[tokio::test(flavor = "multi_thread")]
async fn every_no_has_a_name() {
    let gitlab = [
        ("not_approved", MergeBlock::ReviewMissing),
        ("ci_must_pass", MergeBlock::CheckFailed),
        ("ci_still_running", MergeBlock::CheckPending),
        ("need_rebase", MergeBlock::Refused),
    ];
    let gitea = [
        ("Does not have enough approvals", MergeBlock::ReviewMissing),
        (
            "Not all required status checks successful",
            MergeBlock::CheckPending,
        ),
        ("User not allowed to merge PR", MergeBlock::Forbidden),
        (
            "merge strategy is not allowed or is invalid",
            MergeBlock::MethodNotAllowed,
        ),
    ];
    for (flavour, table) in [(Flavour::GitLab, gitlab), (Flavour::Gitea, gitea)] {
        let Stage {
            hosted,
            forge,
            worktree,
            ..
        } = &stage(flavour).await;
        deliver(worktree, "hello.txt", "hello\n").await;
        let opened = forge.create(&pull(&worktree.branch), &go()).await.unwrap();
        for (why, block) in table {
            hosted.refuse_merges(Some((405, why)));
            let no = forge
                .merge(&butler_repo::Merge::of(opened.number, &opened.head), &go())
                .await;
            assert_eq!(block_of(&no.unwrap_err()).0, block, "{flavour:?}: {why}");
        }
        hosted.refuse_all(Some((429, "Retry later")));
        let no = forge.list(true, &go()).await.unwrap_err();
        assert_eq!(block_of(&no).0, MergeBlock::RateLimited, "{no}");
        hosted.refuse_all(None);
        hosted.refuse_merges(None);
        let wrong = Place {
            path: "nowhere.txt".into(),
            line: 1,
        };
        let odd = remark("odd", Some(wrong));
        let said = forge.comment(opened.number, &odd, &go()).await.unwrap();
        // Gitea takes any line; what GitLab refuses is said of the whole.
        let of_the_whole = said.place.is_none() && said.body.contains("`nowhere.txt:1`");
        assert_eq!(of_the_whole, flavour == Flavour::GitLab, "{said:?}");
    }
}

/// Fifty threads with open pull requests cost one request when nothing happens.
#[tokio::test(flavor = "multi_thread")]
async fn fifty_pull_requests_are_one_request() {
    for flavour in ALL {
        let Stage { hosted, forge, .. } = &stage(flavour).await;
        hosted.open_many(50);
        let all: Vec<PrNumber> = (1..=50).map(PrNumber).collect();
        // Until it is known that they have no checks.
        for _ in 0..4 {
            forge.glance(&all, &go()).await.unwrap();
        }
        let first = forge.glance(&all, &go()).await.unwrap().unwrap();
        for _ in 0..30 {
            let before = hosted.requests();
            assert_eq!(forge.glance(&all, &go()).await.unwrap().unwrap(), first);
            assert_eq!(hosted.requests(), before + 1, "{flavour:?}");
        }
        hosted.say(PersonComment {
            number: 7,
            login: "ana",
            body: "Why?",
        });
        let mut later = forge.glance(&all, &go()).await.unwrap().unwrap();
        if later == first {
            // It was the turn of a head's checks.
            later = forge.glance(&all, &go()).await.unwrap().unwrap();
        }
        let moved = all.iter().filter(|one| first[*one] != later[*one]);
        assert_eq!(moved.collect::<Vec<_>>(), [&PrNumber(7)], "{flavour:?}");
        assert_eq!(forge.look(&all, &go()).await.unwrap().len(), 50);
    }
}

/// A check that comes late to one of fifty is found too, if not at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_check_is_found_on_gitea() {
    let Stage {
        hosted,
        forge,
        worktree,
        ..
    } = &stage(Flavour::Gitea).await;
    deliver(worktree, "hello.txt", "hello\n").await;
    let opened = forge.create(&pull(&worktree.branch), &go()).await.unwrap();
    let one = [opened.number];
    let mut first = None;
    for _ in 0..5 {
        first = forge.glance(&one, &go()).await.unwrap();
    }
    hosted.check(opened.head.as_str(), "test", "failure");
    let mut rounds = 0;
    while forge.glance(&one, &go()).await.unwrap() == first {
        rounds += 1;
        assert!(rounds < 20, "a red check is never seen");
    }
}

/// A token goes to its own host, as this machine's config says where that is; a remote that
/// merely looks like it gets nothing, and none is taken for a plain repository in silence.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_bound_to_its_host_and_a_strange_host_is_refused() {
    let scratch = ScratchRepo::new();
    let hosted = Hosted::serve(&scratch, Flavour::GitLab);
    let known = hosts(&hosted, Some(Hosted::token()));
    let at = |url: &str| {
        butler_testkit::git(scratch.root(), &["remote", "set-url", "origin", url]);
    };
    for url in [
        "git@forge.example.invalid.evil.invalid:you/scratch.git",
        "https://forge.example.invalid@evil.invalid/you/scratch.git",
        "git@strange.invalid:you/scratch.git",
        "https://git.strange.invalid/you/scratch",
        "ssh://-oProxyCommand=evil/you/scratch",
    ] {
        at(url);
        let repo = open_there(&scratch, &hosted).await;
        let refused = Forge::of(&repo, &known).await;
        let Err(error @ Error::UnknownForge { .. }) = refused else {
            panic!("{url}: {refused:?}");
        };
        let said = error.to_string();
        assert!(
            said.contains("\"forges\"") && said.contains("gitlab"),
            "{said}"
        );
    }
    assert_eq!(hosted.requests(), 0);
    // Said to be git alone, it is the remote itself.
    at("git@strange.invalid:you/scratch.git");
    let repo = open_there(&scratch, &hosted).await;
    let mut plain = known.clone();
    plain.hosts.push(ForgeHost {
        host: "strange.invalid".into(),
        kind: ForgeKind::Plain,
        url: None,
        token: None,
    });
    assert!(!Forge::of(&repo, &plain).await.unwrap().is_hosted());
    // Without a token the remedy is named.
    at(&format!("git@{}:you/scratch.git", Hosted::HOST));
    let repo = open_there(&scratch, &hosted).await;
    let forge = Forge::of(&repo, &hosts(&hosted, None)).await.unwrap();
    let error = forge.list(true, &go()).await.unwrap_err();
    assert_eq!(block_of(&error).0, MergeBlock::LoggedOut);
    assert!(
        error
            .to_string()
            .contains("forges.forge.example.invalid.token"),
        "{error}"
    );
}

/// ssh knows the host by another name.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_of_the_ssh_config_leads_to_the_forge_behind_it() {
    let scratch = ScratchRepo::new();
    let hosted = Hosted::serve(&scratch, Flavour::GitLab);
    let tools = scratch.folder().join("tools");
    std::fs::create_dir(&tools).unwrap();
    let ssh = tools.join("ssh");
    let text = "#!/bin/sh\n[ \"$1 $2 $3\" = '-G -- work' ] && echo 'user git' && \
                echo 'hostname forge.example.invalid'\n";
    std::fs::write(&ssh, text).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&ssh, mode).unwrap();
    let address = "git@work:you/scratch.git";
    butler_testkit::git(scratch.root(), &["remote", "set-url", "origin", address]);
    let mut variables = hosted.variables();
    let path = std::env::var_os("PATH").unwrap();
    let all = std::iter::once(tools).chain(std::env::split_paths(&path));
    variables.retain(|(name, _)| name != "PATH");
    variables.push(("PATH".into(), std::env::join_paths(all).unwrap()));
    let git = Git::with(
        scratch.root(),
        Arc::new(Settings::from_variables(variables)),
    );
    let repo = Repo::open_with(git).await.unwrap();
    let forge = Forge::of(&repo, &hosts(&hosted, Some(Hosted::token())))
        .await
        .unwrap();
    assert!(forge.is_hosted());
    assert_eq!(forge.list(true, &go()).await.unwrap(), []);
}
