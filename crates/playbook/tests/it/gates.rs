//! No text tells a role to do what a gate forbids it. Gates hold anyway; but a
//! role that is told to run into one wastes turns and asks people for nothing.

use butler_playbook::{builtin_file, builtin_skills, role_file};
use butler_policy::{Overrides, Right, RiskContext, assess, right};
use butler_protocol::{Role, Tier};

use crate::spans;

/// Words that ask for what only the runtime or a person does, with the gate.
const GATED: [(&str, &[&str]); 6] = [
    (
        "commits, branches and pull requests are the runtime's",
        &[
            "git commit",
            "git push",
            "git merge",
            "git rebase",
            "git checkout",
            "git switch",
            "gh pr",
            "gh release",
            "push the branch",
            "push your",
            "open the pull request",
            "open a pull request",
            "create the branch",
            "create a branch",
            "make a branch",
            "create a worktree",
            "commit your",
            "commit the",
            "commit and push",
        ],
    ),
    (
        "only a person approves",
        &[
            "approve the plan",
            "approve your",
            "approve the command",
            "approve the merge",
            "approve it yourself",
            "press approve",
            "accept the learning",
            "accept your",
        ],
    ),
    (
        "only the runtime draws buttons",
        &[
            "show a button",
            "with buttons",
            "buttons for",
            "block kit",
            "action_id",
        ],
    ),
    (
        "a person merges",
        &[
            "merge the pull request",
            "merge the branch",
            "merge it",
            "merge when",
        ],
    ),
    (
        "no role writes the rules",
        &["config.json", "policy.json", "mcp.json"],
    ),
    (
        "checks, tests and the sandbox are not gone around",
        &[
            "--no-verify",
            "--force",
            "sudo ",
            "skip the check",
            "skip the test",
            "ignore the check",
            "disable the",
            "npm install",
            "pip install",
            "apt-get",
            "curl ",
            "without approval",
            "without asking",
        ],
    ),
];

/// A sentence that forbids something, or tells who else does it.
const FORBIDS: [&str; 12] = [
    "never",
    " not ",
    "n't ",
    " no ",
    "nobody",
    "nothing",
    "cannot",
    "instead of",
    "the runtime",
    "are made by",
    "a person",
    "person:",
];

/// What a text asks a role to do against a gate.
fn against(role: Role, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for sentence in spans::sentences(text) {
        let words = format!(" {} ", sentence.to_lowercase());
        let forbids = FORBIDS.iter().any(|word| words.contains(word));
        for (gate, asks) in GATED {
            if !forbids && asks.iter().any(|ask| words.contains(ask)) {
                found.push(format!("{gate}: {sentence}"));
            }
        }
        found.extend(out_of_reach(role, sentence));
        found.extend(destructive(sentence));
    }
    found
}

/// A place that a sentence names for Write or Edit must be one the role may write.
fn out_of_reach(role: Role, sentence: &str) -> Option<String> {
    let tools = spans::tools(sentence);
    let tool = tools
        .iter()
        .find(|tool| matches!(tool.as_str(), "Write" | "Edit"))?;
    let place = spans::files(sentence)
        .into_iter()
        .find(|path| path.starts_with(".codebutler/"))?;
    let file = if place.ends_with('/') {
        format!("{place}note.md")
    } else {
        place.to_owned()
    };
    let allowed = match right(role, tool) {
        Right::No => false,
        Right::Yes => true,
        Right::Scoped(scope) => scope.allows(&file),
    };
    (!allowed).then(|| format!("{role} may not {tool} {place}: {sentence}"))
}

/// A command that a text shows must not be one that waits for a person.
fn destructive(sentence: &str) -> Option<String> {
    let overrides = Overrides::default();
    let context = RiskContext {
        cwd: "/work",
        root: "/work",
        home: "/home/you",
        overrides: &overrides,
    };
    let shown = spans::code(sentence).into_iter().find(|span| {
        let command =
            span.contains(' ') && span.starts_with(|first: char| first.is_ascii_lowercase());
        command && assess(span, &context).tier == Tier::Destructive
    })?;
    Some(format!("{shown} needs an approval: {sentence}"))
}

#[test]
fn no_shipped_text_tells_a_role_to_run_into_a_gate() {
    let mut found = Vec::new();
    for role in Role::ALL {
        found.extend(against(role, role_file(role).text));
    }
    for name in ["global.md", "workflows.md"] {
        let text = builtin_file(name).unwrap().text;
        found.extend(against(Role::Pm, text));
    }
    for skill in builtin_skills() {
        found.extend(against(skill.agent, skill.prompt.text()));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_lint_sees_what_it_is_for() {
    for (role, text) in [
        (
            Role::Coder,
            "When the tests pass, run `git commit -am done`.",
        ),
        (Role::Coder, "Open the pull request with a short title."),
        (Role::Coder, "If the hook fails use --no-verify."),
        (Role::Coder, "Clean up with `rm -rf src` first."),
        (
            Role::Coder,
            "`Write` what you learned to `.codebutler/coder.md`.",
        ),
        (Role::Pm, "Approve the plan when it is small."),
        (Role::Pm, "Show a button for each answer."),
        (Role::Pm, "`Write` the item into `.codebutler/roadmap.md`."),
        (Role::Lead, "Merge it when the review is clean."),
        (
            Role::Lead,
            "`Edit` `.codebutler/policy.json` when a rule is in the way.",
        ),
        (
            Role::Artist,
            "`Write` the styles to `.codebutler/skills/x.md`.",
        ),
    ] {
        assert!(!against(role, text).is_empty(), "{text}");
    }
    for (role, text) in [
        (Role::Coder, "Never use --no-verify."),
        (
            Role::Coder,
            "Commits, pushes and the pull request are made by the hand-over, not by you.",
        ),
        (Role::Coder, "`Bash` for `cargo test -p core`."),
        (Role::Lead, "The runtime merges it after a click."),
        (
            Role::Lead,
            "`Edit` for `.codebutler/workflows.md`, after a yes.",
        ),
        (
            Role::Artist,
            "`Write` sketches under `.codebutler/artist/`.",
        ),
    ] {
        assert_eq!(against(role, text), Vec::<String>::new(), "{text}");
    }
}
