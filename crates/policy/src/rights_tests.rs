//! The whole matrix, written out a second time in the shape of the design page,
//! so that a slip in the table is a red test.

use butler_protocol::Role;

use super::*;

/// Tool, then pm, coder, reviewer, researcher, artist, lead: `y` yes, `s` scoped, `-` no.
const MATRIX: &[(&str, &str)] = &[
    ("Read", "yyysyy"),
    ("Grep", "yyysyy"),
    ("Glob", "yyysyy"),
    ("GitLog", "yyy-yy"),
    ("GitDiff", "yyy-yy"),
    ("GitStatus", "yyy-yy"),
    ("GHStatus", "yyy-yy"),
    ("WebFetch", "---y--"),
    ("Write", "-s--ss"),
    ("Edit", "-s--ss"),
    ("Bash", "-ss---"),
    ("RunChecks", "-ys---"),
    ("GHComment", "y-y--y"),
    ("GHIssue", "y-y--y"),
    ("GHRelease", "y-----"),
    ("Start", "y-----"),
    ("SendMessage", "yyyyyy"),
    ("AskUser", "yyyyyy"),
    ("HandOver", "yyyyyy"),
    ("ProposePlan", "y-----"),
    ("ProposeLearnings", "-----y"),
    ("ProposeMerge", "-----y"),
    ("Research", "yyy-yy"),
    ("SaveResearch", "---y--"),
    ("ReadThread", "s-s--y"),
    ("ListThreads", "yyy-yy"),
    ("ReadMemory", "yyy-yy"),
    ("Checklist", "-y----"),
    ("mcp__files__write", "------"),
    ("bash", "------"),
    ("Bash ", "------"),
    ("", "------"),
    ("Eval", "------"),
    ("GHMergePR", "------"),
];

#[test]
fn the_table_is_the_whole_of_it() {
    for (tool, row) in MATRIX {
        for (role, letter) in Role::ALL.into_iter().zip(row.chars()) {
            let found = match right(role, tool) {
                Right::Yes => 'y',
                Right::Scoped(_) => 's',
                Right::No => '-',
            };
            assert_eq!(found, letter, "{role} {tool}");
        }
    }
}

#[test]
fn what_is_offered_is_allowed_and_at_most_twelve() {
    for role in Role::ALL {
        let tools = default_tools(role);
        assert!(tools.len() <= 12, "{role} has {}", tools.len());
        for tool in tools {
            assert_ne!(right(role, tool), Right::No, "{role} {tool}");
        }
    }
}

fn check(scope: Scope, path: &str, expected: bool) {
    assert_eq!(scope.allows(path), expected, "{scope:?} {path}");
}

#[test]
fn paths_by_scope() {
    check(Scope::Worktree, "src/main.rs", true);
    check(Scope::Worktree, ".codebutler/skills/release.md", true);
    check(Scope::Worktree, ".codebutler/policy.json", false);
    check(Scope::Worktree, ".CodeButler/Policy.json", false);
    check(Scope::Worktree, ".codebutler/coder.md", false);
    check(Scope::Worktree, ".git/hooks/pre-commit", false);
    check(Scope::Worktree, ".GIT/config", false);
    check(Scope::Worktree, "vendor/lib/.git", false);
    check(Scope::Worktree, "a/../b", false);
    check(Scope::Worktree, "/etc/passwd", false);
    check(Scope::Worktree, "", false);
    check(Scope::Research, ".codebutler/research/tls.md", true);
    check(Scope::Research, "src/main.rs", false);
    check(Scope::Artist, ".codebutler/artist/logo.svg", true);
    check(Scope::Artist, "src/logo.svg", false);
    check(Scope::Memory, ".codebutler/coder.md", true);
    check(Scope::Memory, ".codebutler/journals/2026.md", true);
    check(Scope::Memory, ".codebutler/mcp.json", false);
    check(Scope::Memory, ".codebutler/config.json", false);
    check(Scope::Memory, "README.md", false);
}

#[test]
fn a_small_model_has_at_most_eight_of_the_usual_tools() {
    for role in Role::ALL {
        let small = small_tools(role);
        assert!((1..=8).contains(&small.len()), "{role}: {}", small.len());
        let usual = default_tools(role);
        assert!(small.len() < usual.len(), "{role}");
        assert!(small.iter().all(|tool| usual.contains(tool)), "{role}");
        assert!(small.contains(&"HandOver"), "{role} must pass its work on");
    }
}
