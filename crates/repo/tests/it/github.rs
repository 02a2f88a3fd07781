//! The real `gh` against the GitHub stand-in passes the suite of every forge.

use std::sync::Arc;

use butler_protocol::{MergeBlock, PrNumber};
use butler_repo::{
    Edit, Error, Forge, ForgeHosts, Git, Merge, Place, Repo, Reviewers, Settings, Worktree,
    block_of, news, with_block,
};
use butler_testkit::{GitHub, PersonComment, ScratchRepo};

use crate::{
    forge_suite::{self, life, refusals},
    support::*,
};

struct Stage {
    scratch: ScratchRepo,
    github: GitHub,
    forge: Forge,
    worktree: Worktree,
}

impl Stage {
    fn lent(&self) -> forge_suite::Stage<'_> {
        forge_suite::Stage {
            scratch: &self.scratch,
            github: &self.github,
            forge: &self.forge,
            worktree: &self.worktree,
        }
    }
}

/// Whether the real gh is here. In CI it must be; elsewhere its tests say that
/// they did not run.
#[expect(
    clippy::print_stdout,
    reason = "a skipped test must not look like a passed one"
)]
pub(crate) fn has_gh() -> bool {
    let found = std::process::Command::new("gh")
        .arg("--version")
        .output()
        .is_ok();
    let needed = ["CI", "CODEBUTLER_REQUIRE_GH"];
    let needed = needed.iter().any(|name| std::env::var_os(name).is_some());
    assert!(found || !needed, "gh is required here: cargo xtask setup");
    if !found {
        println!("SKIPPED: no gh here; `cargo xtask setup` installs it");
    }
    found
}

/// Nothing when this machine has no `gh` and need not have it.
async fn stage() -> Option<Stage> {
    if !has_gh() {
        return None;
    }
    let scratch = ScratchRepo::new();
    let github = GitHub::serve(&scratch);
    let settings = Settings::from_variables(github.variables());
    let git = Git::with(scratch.root(), Arc::new(settings));
    let repo = Repo::open_with(git).await.unwrap();
    let forge = Forge::of(&repo, &ForgeHosts::default()).await.unwrap();
    let worktree = repo.create(&thread(1), "Greet", &go()).await.unwrap();
    Some(Stage {
        scratch,
        github,
        forge,
        worktree,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn github_lives_a_whole_life() {
    let Some(stage) = stage().await else { return };
    life(&stage.scratch, &stage.forge, &stage.worktree, "0").await;
    let message = stage
        .scratch
        .remote_git(&["log", "-1", "--format=%B", "main"]);
    assert!(
        message.starts_with("Add a greeting (#1)\n\nBetter words."),
        "{message}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn github_moves_what_stood_on_a_merged_branch() {
    let Some(stage) = stage().await else { return };
    let repo = stage.worktree.repo();
    crate::stacking::life(&stage.scratch, &stage.forge, repo).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn github_refuses_what_it_must() {
    let Some(stage) = stage().await else { return };
    refusals(&stage.scratch, &stage.forge, &stage.worktree).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_never_makes_a_second_one() {
    let Some(stage) = stage().await else { return };
    forge_suite::lost_answers(&stage.lent(), (("POST", "/pulls"), ("PUT", "/merge"))).await;
}

/// A draft is one until it is said to be ready; who reviews is asked once, and whom GitHub
/// does not know keeps nobody else from being asked.
#[tokio::test(flavor = "multi_thread")]
async fn a_draft_has_labels_and_reviewers() {
    let Some(stage) = stage().await else { return };
    let Stage {
        github,
        forge,
        worktree,
        scratch,
    } = &stage;
    deliver(worktree, "hello.txt", "hello\n").await;
    let mut new = pull(&worktree.branch);
    new.draft = true;
    let opened = forge.create(&new, &go()).await.unwrap();
    assert!(opened.draft);
    let wanted = Merge::of(opened.number, &opened.head);
    let refused = forge.merge(&wanted, &go()).await.unwrap_err();
    let (block, _) = block_of(&refused);
    assert_eq!(block, MergeBlock::Draft);
    assert_eq!(github.count("PUT", "/merge"), 0);
    github.review(
        PersonComment {
            number: 1,
            login: "ben",
            body: "",
        },
        "APPROVED",
    );
    let labels = ["codebutler".to_owned(), "bug".to_owned()];
    let owners = "* @you\nhello.txt @ana @you/core\n";
    scratch.push_to_main(".github/CODEOWNERS", owners);
    let files = ["hello.txt".to_owned()];
    worktree.repo().fetch(&go()).await.unwrap();
    let owners = forge.owners(&files, &go()).await.unwrap();
    assert_eq!(
        (owners.people, owners.teams),
        (vec!["ana".into()], vec!["core".into()])
    );
    let reviewers = Reviewers {
        people: ["ana", "you", "ben", "nobody"].map(str::to_owned).into(),
        teams: vec!["core".into()],
    };
    github.lose_answers(1);
    for _ in 0..2 {
        forge.ready(opened.number, &go()).await.unwrap();
        forge.label(opened.number, &labels, &go()).await.unwrap();
        forge
            .ask_reviews(opened.number, &reviewers, &go())
            .await
            .unwrap();
    }
    let (draft, has, asked) = github.around(1);
    assert!(!draft);
    assert_eq!(has, labels);
    assert_eq!(asked, ["ana", "core"], "each once");

    // Without drafts it is simply open; a line that the change does not show is named.
    github.close(1, true);
    deliver(worktree, "hello.txt", "hello again\n").await;
    github.without_drafts();
    let open = forge.create(&new, &go()).await.unwrap();
    assert_eq!((open.number.0, open.draft), (2, false));
    let far = Place {
        path: "README.md".into(),
        line: 999,
    };
    for _ in 0..2 {
        let far = forge_suite::remark("far", Some(far.clone()));
        let said = forge.comment(open.number, &far, &go()).await.unwrap();
        assert_eq!(said.body, "`README.md:999`: Looks right.");
    }
    assert_eq!(github.comments(2), 1);
}

/// The rules of a protected branch hold for us too, also where our account could step
/// over them; a queue takes it, and merges it.
#[tokio::test(flavor = "multi_thread")]
async fn no_rule_is_stepped_over_and_a_queue_is_waited_for() {
    let Some(stage) = stage().await else { return };
    let Stage {
        github,
        forge,
        worktree,
        scratch,
    } = &stage;
    write(worktree, "hello.txt", "hello\n");
    let trailers = [
        ("Requested-by".to_owned(), "ana".to_owned()),
        ("Signed-off-by".to_owned(), "ben <ben@x.invalid>".to_owned()),
    ];
    worktree
        .commit_all(butler_protocol::Role::Coder, "hello", &trailers, &go())
        .await
        .unwrap();
    worktree.push(&go()).await.unwrap();
    let opened = forge.create(&pull(&worktree.branch), &go()).await.unwrap();
    let mut wanted = Merge::of(opened.number, &opened.head).saying("Greet", "As decided.");
    let block = |result: Result<(), Error>| block_of(&result.unwrap_err()).0;
    let main = scratch.remote_git(&["rev-parse", "main"]);
    github.be_admin();
    github.refuse_merges(Some((405, "At least 1 approving review is required.")));
    let refused = forge.merge(&wanted, &go()).await.map(drop);
    assert_eq!(block(refused), MergeBlock::ReviewMissing);
    let refused = forge.merge_again(&wanted, &go()).await;
    assert_eq!(block(refused), MergeBlock::ReviewMissing);
    assert_eq!(scratch.remote_git(&["rev-parse", "main"]), main);
    github.refuse_merges(None);
    github.use_queue();
    for _ in 0..2 {
        let queued = forge.merge(&wanted, &go()).await.map(drop);
        assert_eq!(block(queued), MergeBlock::Queued);
        assert_eq!(github.queued(), [1]);
    }
    wanted.queued = true;
    assert_eq!(
        block(forge.merge_again(&wanted, &go()).await),
        MergeBlock::Queued
    );
    github.run_queue(false);
    let put_out = forge.merge_again(&wanted, &go()).await;
    assert_eq!(block(put_out), MergeBlock::LeftQueue);
    assert_eq!(
        github.queued(),
        [0; 0],
        "a person decides whether it goes back"
    );
    wanted.queued = false;
    assert_eq!(
        block(forge.merge_again(&wanted, &go()).await),
        MergeBlock::Queued
    );
    github.run_queue(true);
    forge.merge_again(&wanted, &go()).await.unwrap();
    let merged = forge.merge(&wanted, &go()).await.unwrap();
    assert_eq!(scratch.remote_git(&["rev-parse", "main"]), merged.as_str());
    assert_eq!(github.count("PUT", "/merge"), 0, "the queue merged");
    assert!(
        !scratch
            .remote_branches()
            .contains(&worktree.branch.to_string())
    );
}

/// A gh that is not there any more says so by name, and what happened meanwhile is news
/// once it is back.
#[tokio::test(flavor = "multi_thread")]
async fn a_gh_that_vanishes_loses_nothing() {
    let Some(stage) = stage().await else { return };
    let (github, worktree) = (&stage.github, &stage.worktree);
    deliver(worktree, "hello.txt", "hello\n").await;
    let programs = stage.scratch.folder().join("programs");
    std::fs::create_dir_all(&programs).unwrap();
    let real = |name: &str| {
        let path = std::env::var_os("PATH").unwrap();
        let mut found = std::env::split_paths(&path).map(|folder| folder.join(name));
        found.find(|file| file.exists()).unwrap()
    };
    let put = |name: &str| {
        std::os::unix::fs::symlink(real(name), programs.join(name)).unwrap();
    };
    ["git", "gh", "sh"].into_iter().for_each(put);
    let mut variables = github.variables();
    variables.retain(|(name, _)| name != "PATH");
    variables.push(("PATH".into(), programs.clone().into()));
    let settings = Arc::new(Settings::from_variables(variables));
    let git = Git::with(stage.scratch.root(), settings);
    let repo = Repo::open_with(git).await.unwrap();
    let forge = Forge::of(&repo, &ForgeHosts::default()).await.unwrap();
    let opened = forge.create(&pull(&worktree.branch), &go()).await.unwrap();
    let one = [opened.number];
    let first = forge.look(&one, &go()).await.unwrap().remove(0);
    let (seen, _) = news(None, &first);
    std::fs::remove_file(programs.join("gh")).unwrap();
    let wanted = Merge::of(opened.number, &opened.head);
    for error in [
        forge.glance(&one, &go()).await.map(drop).unwrap_err(),
        forge.merge(&wanted, &go()).await.map(drop).unwrap_err(),
    ] {
        assert_eq!(block_of(&error).0, MergeBlock::LoggedOut, "{error}");
    }
    github.say(PersonComment {
        number: 1,
        login: "ana",
        body: "Why?",
    });
    put("gh");
    let now = forge.look(&one, &go()).await.unwrap().remove(0);
    assert_eq!(news(Some(&seen), &now).1.len(), 1);
    forge.merge(&wanted, &go()).await.unwrap();
    assert_eq!(github.count("PUT", "/merge"), 1);
}

/// Who asked for it, signed it off and worked on it stands in the squash too.
#[tokio::test(flavor = "multi_thread")]
async fn a_squash_keeps_who_asked_and_who_helped() {
    let Some(stage) = stage().await else { return };
    write(&stage.worktree, "hello.txt", "hello\n");
    let trailers = [
        ("Requested-by".to_owned(), "ana".to_owned()),
        ("Signed-off-by".to_owned(), "ben <ben@x.invalid>".to_owned()),
        ("CodeButler-Call".to_owned(), "c1".to_owned()),
    ];
    let role = butler_protocol::Role::Coder;
    let worktree = &stage.worktree;
    worktree
        .commit_all(role, "hello", &trailers, &go())
        .await
        .unwrap();
    stage.worktree.push(&go()).await.unwrap();
    let new = pull(&stage.worktree.branch);
    let opened = stage.forge.create(&new, &go()).await.unwrap();
    let edit = Edit {
        body: Some(with_block("By hand.", "kept by the team")),
        ..Edit::default()
    };
    stage.forge.edit(opened.number, &edit, &go()).await.unwrap();
    let wanted = Merge::of(opened.number, &opened.head);
    stage.forge.merge(&wanted, &go()).await.unwrap();
    let log = ["log", "-1", "--format=%B", "main"];
    assert_eq!(
        stage.scratch.remote_git(&log),
        "Add a greeting (#1)\n\nBy hand.\n\nkept by the team\n\nRequested-by: ana\n\
         Signed-off-by: ben <ben@x.invalid>\n\
         Co-authored-by: CodeButler coder <coder@codebutler.invalid>"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_do_is_news() {
    let Some(stage) = stage().await else { return };
    forge_suite::what_others_do_is_news(&stage.lent(), true).await;
}

/// Fifty threads with open pull requests cost one request when nothing happens, and one
/// more when something did.
#[tokio::test(flavor = "multi_thread")]
async fn fifty_pull_requests_are_one_request() {
    let Some(stage) = stage().await else { return };
    let Stage { github, forge, .. } = &stage;
    github.open_many(50);
    let all: Vec<PrNumber> = (1..=50).map(PrNumber).collect();
    let before = github.requests();
    let first = forge.glance(&all, &go()).await.unwrap().unwrap();
    assert_eq!((first.len(), github.requests()), (50, before + 1));
    assert_eq!(forge.glance(&all, &go()).await.unwrap().unwrap(), first);
    github.say(PersonComment {
        number: 7,
        login: "ana",
        body: "Why?",
    });
    let later = forge.glance(&all, &go()).await.unwrap().unwrap();
    let moved: Vec<&PrNumber> = all
        .iter()
        .filter(|one| first[*one] != later[*one])
        .collect();
    assert_eq!(moved, [&PrNumber(7)]);
    let before = github.requests();
    let seen = forge.look(&all, &go()).await.unwrap();
    assert_eq!((seen.len(), github.requests()), (50, before + 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_at_all_is_an_error_with_the_command() {
    let Some(stage) = stage().await else { return };
    let Stage { github, forge, .. } = stage;
    drop(github);
    std::fs::remove_file(stage.scratch.folder().join("github-home/gh.sock")).unwrap();
    let error = forge.list(true, &go()).await.unwrap_err();
    assert!(
        matches!(&error, Error::Failed { command, .. } if command.starts_with("gh api")),
        "{error}"
    );
}

/// gh holds the person's token. A gh that looks around where it is started, as most of
/// its commands do, finds no repository: nothing that a command of an agent could have
/// put into a config or an attributes file is run by it.
#[tokio::test(flavor = "multi_thread")]
async fn gh_never_runs_where_a_command_could_have_written_a_config() {
    let Some(stage) = stage().await else { return };
    let folder = stage.scratch.folder();
    let (ran, seen) = (folder.join("hostile-ran"), folder.join("seen"));
    let program = folder.join("hostile.sh");
    script(&program, &format!("touch '{}'", ran.display()));
    for (root, config) in [
        (
            stage.scratch.root(),
            stage.scratch.root().join(".git/config"),
        ),
        (
            &stage.worktree.path,
            stage.scratch.root().join(".git/config"),
        ),
    ] {
        let program = program.display();
        let hostile = format!(
            "\n[core]\n\tfsmonitor = {program}\n\tsshCommand = {program}\n\tpager = {program}\n\
             [credential]\n\thelper = !{program}\n[filter \"x\"]\n\tclean = {program}\n\
             [remote \"origin\"]\n\tgh-resolved = evil/evil\n"
        );
        let before = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, before + &hostile).unwrap();
        std::fs::write(root.join(".gitattributes"), "* filter=x\n").unwrap();
    }
    // The real gh, behind one that does first what gh's other commands do.
    let tools = folder.join("tools");
    std::fs::create_dir(&tools).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let real = std::env::split_paths(&path).map(|dir| dir.join("gh"));
    let real = real.into_iter().find(|gh| gh.exists()).unwrap();
    script(
        &tools.join("gh"),
        &format!(
            "{{ pwd; echo \"$GH_REPO\"; git status; git add -A; git remote -v; git fetch; }} \
             >>'{}' 2>&1 </dev/null\nexec '{}' \"$@\"",
            seen.display(),
            real.display()
        ),
    );
    let mut variables = stage.github.variables();
    let first = std::env::join_paths(std::iter::once(tools).chain(std::env::split_paths(&path)));
    variables.retain(|(name, _)| name != "PATH");
    variables.push(("PATH".into(), first.unwrap()));
    variables.push(("GH_REPO".into(), "evil/evil".into()));
    let git = Git::with(
        &stage.worktree.path,
        Arc::new(Settings::from_variables(variables)),
    );
    let repo = Repo::open_with(git).await.unwrap();
    let forge = Forge::of(&repo, &ForgeHosts::default()).await.unwrap();
    forge.list(true, &go()).await.unwrap();
    let seen = std::fs::read_to_string(seen).unwrap();
    let mut lines = seen.lines();
    assert_eq!(lines.next(), Some("/"), "{seen}");
    assert!(lines.next().unwrap().starts_with("github.com/"), "{seen}");
    assert!(seen.contains("not a git repository"), "{seen}");
    assert!(!ran.exists(), "{seen}");
}

fn script(path: &std::path::Path, body: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, format!("#!/bin/sh\n{body}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
