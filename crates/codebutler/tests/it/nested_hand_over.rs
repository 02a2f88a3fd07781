//! Repositories inside the worktree, planted by preparation and by a command, each with
//! programs for git to run: through preparation, hand-over and review none of them runs
//! with the person's rights.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use butler_testkit::git;
use serde_json::{Value, json};

use crate::team::{Team, says};

/// Makes a repository for each way in which git can be talked into running a program,
/// with names that the outer one does not have.
fn plant(trap: &Path) -> String {
    let trap = trap.display();
    format!(
        "set -e
mkdir -p node_modules
echo yes > node_modules/installed
for way in clean process fsmonitor hook alias; do
  inner=$1-$way
  [ ! -e $inner ] || continue
  mkdir $inner
  cd $inner
  git init --quiet -b main .
  echo x > x.txt
  git -c user.name=ana -c user.email=ana@example.org add .
  git -c user.name=ana -c user.email=ana@example.org commit --quiet -m inner
  echo '* filter=other' > .gitattributes
  case $way in
    clean) git config filter.other.clean '{trap}' ;;
    process) git config filter.other.process '{trap}' ;;
    fsmonitor) git config core.fsmonitor '{trap}' ;;
    alias) git config alias.status '!{trap}' ;;
    hook)
      mkdir -p .git/hooks
      printf '#!/bin/sh\nexec {trap}\n' > .git/hooks/post-index-change
      chmod +x .git/hooks/post-index-change ;;
  esac
  echo y >> x.txt
  cd ..
done
"
    )
}

fn set_up(config: &mut Value) {
    config["prepare"] = json!(["sh plant.sh by-preparation"]);
    config["checks"] = json!({"test": "cat node_modules/installed && sh plant.sh by-checks"});
}

fn folders(team: &Team) -> Vec<PathBuf> {
    let branches = fs::read_dir(team.scratch.root().join(".codebutler/branches")).unwrap();
    branches.flatten().map(|one| one.path()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nested_repositories_run_nothing_from_preparation_to_review() {
    let scenario = include_str!("scenarios/nested.yaml");
    let mut marks = None;
    let team = Team::start_prepared(scenario, set_up, |root| {
        let folder = root.parent().unwrap();
        let (trap, sprung) = (folder.join("trap.sh"), folder.join("sprung"));
        let text = format!(
            "#!/bin/sh\necho \"$0 $*\" >> '{}'\ntimeout 2 cat\n",
            sprung.display()
        );
        fs::write(&trap, text).unwrap();
        fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(root.join("plant.sh"), plant(&trap)).unwrap();
        git(root, &["add", "plant.sh"]);
        git(root, &["commit", "--quiet", "--message", "plant"]);
        git(root, &["push", "--quiet", "origin", "HEAD:main"]);
        marks = Some(sprung);
    })
    .await;
    let sprung = marks.unwrap();
    let root = team.say("add a file").await;
    team.press(&root, "approve").await;
    team.until(&root, "the verdict", |thread| {
        says(thread, "The file says too little")
    })
    .await;
    let ran = || fs::read_to_string(&sprung).unwrap_or_default();
    assert_eq!(ran(), "", "programs of nested repositories ran");
    // They are there, and would run.
    let names = ["preparation", "coder", "checks"].map(|who| format!("by-{who}-fsmonitor"));
    let folders = folders(&team);
    let planted = folders
        .iter()
        .flat_map(|one| names.iter().map(|name| one.join(name)));
    let planted: Vec<_> = planted
        .filter(|inner| inner.join(".git").is_dir())
        .collect();
    assert!(planted.len() >= 2, "{planted:?}");
    for inner in planted {
        let _ = fs::remove_file(&sprung);
        let mut status = Command::new("git");
        status.args(["status", "--short"]).current_dir(&inner);
        status.output().unwrap();
        assert_ne!(ran(), "", "{} is no trap", inner.display());
    }
}
