//! The commands around the playbook: skills, prompts, roadmap, role files, and
//! what `validate` says about all of them.

use crate::scratch::{Scratch, git};

fn set_up() -> Scratch {
    let scratch = Scratch::new();
    let run = scratch.run(&["init", "--yes"]);
    assert_eq!(run.code, 0, "{run:?}");
    scratch
}

fn commit(scratch: &Scratch) {
    git(&scratch.root(), &["add", "--all"]);
    git(&scratch.root(), &["commit", "--quiet", "--message", "x"]);
}

const DEPLOY: &str = "# deploy\n\nDeploy the project.\n\n## Trigger\ndeploy, deploy to {environment}\n\n## Agent\ncoder\n\n## Prompt\nDeploy to {{environment | default: \"staging\"}}.\n";

#[test]
fn skills_are_listed_shown_and_tried() {
    let scratch = set_up();
    scratch.write(".codebutler/skills/deploy.md", DEPLOY);
    scratch.write(".codebutler/skills/broken.md", "# broken\n");
    scratch.write(
        ".claude/skills/pdf/SKILL.md",
        "---\nname: pdf\ndescription: Fill forms.\n---\nDo it.\n",
    );
    let list = scratch.run(&["skill", "list"]);
    assert_eq!(list.code, 0, "{list:?}");
    assert!(
        list.out
            .contains("deploy         coder       Deploy the project."),
        "{}",
        list.out
    );
    assert!(
        list.out.contains("say: deploy, deploy to {environment}"),
        "{}",
        list.out
    );
    assert!(list.out.contains("pdf "), "{}", list.out);
    assert!(
        list.err
            .contains(".codebutler/skills/broken.md:1: missing ## Agent section"),
        "{}",
        list.err
    );
    let as_json: serde_json::Value =
        serde_json::from_str(&scratch.run(&["skill", "list", "--json"]).out).unwrap();
    assert_eq!(as_json.as_array().unwrap().len(), 13);

    let show = scratch.run(&["skill", "show", "deploy"]);
    assert_eq!(
        show.out,
        "Deploy to {{environment | default: \"staging\"}}.\n"
    );
    let tried = scratch.run(&["skill", "run", "deploy", "environment=EU West", "--dry-run"]);
    assert_eq!(tried.out, "Deploy to EU West.\n", "{tried:?}");
    assert!(tried.err.contains("\"deploy to EU West\""), "{tried:?}");

    for (args, why) in [
        (
            &["skill", "show", "nothing"][..],
            "there is no skill \"nothing\"",
        ),
        (&["skill", "show", "broken"], "codebutler validate"),
        (
            &["skill", "run", "deploy", "x=y", "--dry-run"],
            "no trigger of deploy takes these values",
        ),
        (
            &[
                "skill",
                "run",
                "deploy",
                "environment=a. Then b",
                "--dry-run",
            ],
            "would not start deploy",
        ),
        (&["skill", "run", "deploy"], "no hub runs on this machine"),
    ] {
        let run = scratch.run(args);
        assert_eq!(run.code, 4, "{args:?}: {run:?}");
        assert!(run.err.contains(why), "{args:?}: {run:?}");
    }
}

#[test]
fn a_prompt_is_printed_as_the_role_gets_it_from_disk_or_from_the_default_branch() {
    let scratch = set_up();
    commit(&scratch);
    let full = scratch.run(&["prompt", "coder"]);
    assert!(full.out.starts_with("# Coder\n"), "{full:?}");
    let said = full.err.trim();
    assert!(
        said.starts_with("about ") && said.contains(" tokens"),
        "{said}"
    );
    let small = scratch.run(&["prompt", "coder", "--profile", "small"]);
    assert!(small.out.len() < full.out.len(), "{small:?}");

    scratch.write(".codebutler/coder.md", "# Coder\n\nOnly on disk.\n");
    scratch.write("AGENTS.md", "Use tabs.\n");
    let disk = scratch.run(&["prompt", "coder"]).out;
    assert!(
        disk.contains("Only on disk.") && disk.contains("Use tabs."),
        "{disk}"
    );
    let committed = scratch.run(&["prompt", "coder", "--committed"]).out;
    assert_eq!(committed, full.out);
    assert_eq!(scratch.run(&["prompt", "boss"]).code, 2);
}

#[test]
fn the_roadmap_is_a_graph_or_json_and_a_circle_is_a_finding() {
    let scratch = set_up();
    let empty = scratch.run(&["roadmap"]);
    assert!(
        empty.code == 0 && empty.err.contains("no items"),
        "{empty:?}"
    );
    let text =
        "## 1. Auth\n- Status: done\n## 2. API\n- Depends on: 1\n## 3. UI\n- Depends on: 2\n";
    scratch.write(".codebutler/roadmap.md", text);
    let graph = scratch.run(&["roadmap"]);
    assert_eq!(
        graph.out,
        "✔ 1. Auth, done\n└─ ● 2. API, ready\n   └─ ○ 3. UI, waiting on 2\n"
    );
    let run = scratch.run(&["roadmap", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(json["items"][1]["ready"], true);
    assert_eq!(json["items"][2]["waitingOn"], serde_json::json!([2]));

    scratch.write(
        ".codebutler/roadmap.md",
        &format!("{text}## 4. X\n- Depends on: 4\n"),
    );
    let circle = scratch.run(&["roadmap"]);
    assert_eq!(circle.code, 5, "{circle:?}");
    assert!(
        circle
            .err
            .contains(".codebutler/roadmap.md:7: item 4 depends on itself"),
        "{circle:?}"
    );
}

#[test]
fn validate_looks_at_every_kind_of_playbook_file_with_file_and_line() {
    let scratch = set_up();
    let sound = scratch.run(&["validate"]);
    assert_eq!(sound.code, 0, "{sound:?}");
    scratch.write(
        ".codebutler/skills/deploy.md",
        &DEPLOY.replace("coder", "builder"),
    );
    scratch.write(
        ".codebutler/skills/release-it.md",
        &DEPLOY.replace("# deploy", "# release-it"),
    );
    scratch.write(".codebutler/workflows.md", "# W\n\n## a\nx\n\n## a\n");
    scratch.write(".codebutler/roadmap.md", "## 1. A\n- Depends on: 9\n");
    scratch.write(".codebutler/research/x.md", "# X\n");
    scratch.write(".agents/skills/pdf/SKILL.md", "# pdf\n");
    let old = scratch.read(".codebutler/coder.md");
    scratch.write(
        ".codebutler/coder.md",
        &old.replace("## Learnings\n", "## Learnings\n\n### A\n- **Rule:** x\n"),
    );
    let run = scratch.run(&["validate"]);
    assert_eq!(run.code, 5, "{run:?}");
    for line in [
        ".codebutler/skills/deploy.md:9: agent \"builder\" is not a valid role (pm, coder, reviewer, researcher, artist, lead)",
        ".codebutler/skills/deploy.md and .codebutler/skills/release-it.md:6: duplicate trigger \"deploy\"",
        ".codebutler/workflows.md:6: workflow \"a\" is there twice",
        ".codebutler/roadmap.md:1: item 1 depends on 9, which does not exist",
        ".codebutler/research/x.md:1: missing ## Sources section",
        ".agents/skills/pdf/SKILL.md:1: missing front matter",
        ": learning \"A\" has no **When:**",
    ] {
        assert!(run.err.contains(line), "{line} is missing in:\n{}", run.err);
    }
    // A broken configuration hides nothing of it.
    scratch.write(".codebutler/config.json", "{\"journal\": 1}");
    let both = scratch.run(&["validate"]);
    assert_eq!(both.code, 3, "{both:?}");
    assert!(
        both.err.contains("release-it.md:6") && both.err.contains("journal"),
        "{both:?}"
    );
}

#[test]
fn role_files_take_what_a_release_changed_and_keep_what_the_team_changed() {
    let scratch = set_up();
    let nothing = scratch.run(&["roles", "diff"]);
    assert!(nothing.code == 0 && nothing.out.is_empty(), "{nothing:?}");
    // As if an older release had been seeded: one rule less, another word.
    let shipped = scratch.read(".codebutler/coder.md");
    let rule = shipped
        .lines()
        .find(|line| line.starts_with("- Leave nothing behind"))
        .unwrap();
    let old = shipped.replace(&format!("{rule}\n"), "");
    let mut base: serde_json::Value =
        serde_json::from_str(&scratch.read(".codebutler/shipped.json")).unwrap();
    base["coder.md"] = old.clone().into();
    scratch.write(".codebutler/shipped.json", &base.to_string());
    let ours = old.replace("# Coder\n\n", "# Coder\n\nSpeak softly.\n\n");
    scratch.write(".codebutler/coder.md", &ours);

    let diff = scratch.run(&["roles", "diff", "coder.md"]);
    assert!(diff.out.contains(&format!("\n+{rule}")), "{}", diff.out);
    assert!(!diff.out.contains("-Speak softly."), "{}", diff.out);
    assert_eq!(
        scratch.read(".codebutler/coder.md"),
        ours,
        "a diff writes nothing"
    );
    let update = scratch.run(&["roles", "update"]);
    assert_eq!(
        (update.code, update.out.as_str()),
        (0, ".codebutler/coder.md\n"),
        "{update:?}"
    );
    let updated = scratch.read(".codebutler/coder.md");
    assert!(
        updated.contains("Speak softly.") && updated.contains(rule),
        "{updated}"
    );
    let again = scratch.run(&["roles", "update"]);
    assert!(
        again.code == 0 && again.err.contains("up to date"),
        "{again:?}"
    );
}

#[test]
fn an_edit_of_the_team_is_never_overwritten_without_a_flag() {
    let scratch = set_up();
    let shipped = scratch.read(".codebutler/lead.md");
    let line = shipped
        .lines()
        .find(|line| line.starts_with("- A person merges."))
        .unwrap();
    let ours = shipped.replace(line, "- Everybody merges.");
    let old = shipped.replace(line, "- Nobody merges.");
    let mut base: serde_json::Value =
        serde_json::from_str(&scratch.read(".codebutler/shipped.json")).unwrap();
    base["lead.md"] = old.into();
    scratch.write(".codebutler/shipped.json", &base.to_string());
    scratch.write(".codebutler/lead.md", &ours);

    let refused = scratch.run(&["roles", "update"]);
    assert_eq!(refused.code, 5, "{refused:?}");
    assert!(
        refused.err.contains("lead.md:") && refused.err.contains("--theirs"),
        "{refused:?}"
    );
    assert_eq!(scratch.read(".codebutler/lead.md"), ours);
    let shown = scratch.run(&["roles", "diff"]);
    assert!(
        shown
            .out
            .contains("-- Everybody merges.\n+- A person merges."),
        "{}",
        shown.out
    );

    let dry = scratch.run(&["roles", "update", "--theirs", "--dry-run"]);
    assert_eq!((dry.code, dry.out.as_str()), (0, ".codebutler/lead.md\n"));
    assert_eq!(scratch.read(".codebutler/lead.md"), ours);
    assert_eq!(scratch.run(&["roles", "update", "--theirs"]).code, 0);
    assert_eq!(scratch.read(".codebutler/lead.md"), shipped);
}

#[test]
fn without_a_base_sections_that_differ_are_asked_about() {
    let scratch = set_up();
    std::fs::remove_file(scratch.root().join(".codebutler/shipped.json")).unwrap();
    let shipped = scratch.read(".codebutler/artist.md");
    let ours = shipped.replace("## Rules\n", "## Rules\n\n- Only circles.\n") + "\n### Mine\n";
    scratch.write(".codebutler/artist.md", &ours);
    std::fs::remove_file(scratch.root().join(".codebutler/pm.md")).unwrap();
    let refused = scratch.run(&["roles", "update"]);
    assert_eq!(refused.code, 5, "{refused:?}");
    assert_eq!(scratch.read(".codebutler/artist.md"), ours);
    assert_eq!(scratch.run(&["roles", "update", "--ours"]).code, 0);
    assert_eq!(scratch.read(".codebutler/artist.md"), ours);
    assert!(
        !scratch.root().join(".codebutler/pm.md").exists(),
        "what was thrown out stays out"
    );
    let unknown = scratch.run(&["roles", "diff", "boss.md"]);
    assert!(
        unknown.code == 4 && unknown.err.contains("boss.md is not shipped"),
        "{unknown:?}"
    );
}
