//! Grep and Glob.

use butler_protocol::Role;
use serde_json::json;

use crate::fixture::Fixture;

fn sample() -> Fixture {
    let fixture = Fixture::new();
    fixture.write(".gitignore", "target/\n*.log\n!keep.log\n/only-root\n");
    fixture.write("src/main.rs", "fn main() {\n    start();\n}\n");
    fixture.write("src/deep/.gitignore", "generated.rs\n");
    fixture.write("src/deep/generated.rs", "start();\n");
    fixture.write("src/deep/hand.rs", "// calls start();\nfn other() {}\n");
    fixture.write("target/out.rs", "start();\n");
    fixture.write("a.log", "start();\n");
    fixture.write("keep.log", "start();\n");
    fixture.write("only-root", "start();\n");
    fixture.write("src/only-root", "start();\n");
    fixture.write(".github/ci.yml", "run: start();\n");
    fixture.write(".git/HEAD", "start();\n");
    fixture.write(".codebutler/threads/x/plan.md", "start();\n");
    fixture.write("bin.dat", b"start();\n\0\0");
    fixture
}

#[tokio::test]
async fn grep_honours_ignore_files_and_skips_binary() {
    let fixture = sample();
    let found = fixture.call("Grep", json!({"pattern": r"start\(\)"})).await;
    assert_eq!(
        found.text,
        "5 matching lines in 5 files\n.github/ci.yml\n1:run: start();\nkeep.log\n1:start();\nsrc/deep/hand.rs\n1:// calls start();\nsrc/main.rs\n2:    start();\nsrc/only-root\n1:start();\n"
    );
    let named = fixture
        .call("Grep", json!({"pattern": "start", "path": "target"}))
        .await;
    assert!(named.text.contains("target/out.rs"), "{}", named.text);
    let below = fixture
        .call("Grep", json!({"pattern": "start", "path": "src/deep"}))
        .await;
    assert!(!below.text.contains("generated"), "{}", below.text);
    let file = fixture
        .call("Grep", json!({"pattern": "start", "path": "a.log"}))
        .await;
    assert!(file.text.contains("a.log\n1:start();"), "{}", file.text);
    std::os::unix::fs::symlink("src", fixture.root.join("short")).unwrap();
    for (tool, arguments) in [
        (
            "Grep",
            json!({"pattern": "other", "path": "short", "glob": "deep/*.rs"}),
        ),
        ("Glob", json!({"pattern": "deep/*nd.rs", "path": "short"})),
        ("Glob", json!({"pattern": "d*/h[a]nd.rs", "path": "short/"})),
        ("Grep", json!({"pattern": "other", "path": ""})),
    ] {
        let found = fixture.call(tool, arguments).await;
        assert!(
            found.text.contains("src/deep/hand.rs"),
            "{tool}: {}",
            found.text
        );
    }
    let missing = fixture
        .call("Grep", json!({"pattern": "x", "path": "scr"}))
        .await;
    assert!(
        missing.text.contains("did you mean src?"),
        "{}",
        missing.text
    );
}

#[tokio::test]
async fn grep_shows_context_files_and_counts() {
    let fixture = sample();
    let context = fixture
        .call(
            "Grep",
            json!({"pattern": "start", "glob": "src/*.rs", "context": 1}),
        )
        .await;
    assert!(
        context
            .text
            .contains("src/main.rs\n1-fn main() {\n2:    start();\n3-}\n"),
        "{}",
        context.text
    );
    let files = fixture
        .call(
            "Grep",
            json!({"pattern": "start", "glob": "*.rs", "mode": "files"}),
        )
        .await;
    assert_eq!(files.text, "2 files match\nsrc/deep/hand.rs\nsrc/main.rs\n");
    let count = fixture
        .call(
            "Grep",
            json!({"pattern": "n", "glob": "*.rs", "mode": "count"}),
        )
        .await;
    assert!(
        count.text.contains("src/deep/hand.rs: 1\n"),
        "{}",
        count.text
    );
    let lines = fixture
        .call("Grep", json!({"pattern": r"main\(\) \{\n\s+start"}))
        .await;
    assert!(
        lines.text.contains("1:fn main() {\n2:    start();"),
        "{}",
        lines.text
    );
    let nothing = fixture
        .call("Grep", json!({"pattern": "absent_word"}))
        .await;
    assert!(
        nothing.ok && nothing.text.starts_with("no line matches"),
        "{}",
        nothing.text
    );
    let plain = fixture.call("Grep", json!({"pattern": "start("})).await;
    assert!(
        plain.text.contains("src/main.rs"),
        "a broken pattern is taken as text: {}",
        plain.text
    );
}

#[tokio::test]
async fn caps_say_how_to_see_the_rest() {
    let fixture = Fixture::new();
    fixture.write("many.txt", "hit\n".repeat(500));
    let found = fixture
        .call("Grep", json!({"pattern": "hit", "limit": 3}))
        .await;
    assert_eq!(
        found.text,
        "500 matching lines in 1 files\nmany.txt\n1:hit\n2:hit\n3:hit\n[497 more matching lines: narrow `pattern`, `path` or `glob`, or raise `limit`]"
    );
    for n in 0..20 {
        fixture.write(&format!("d/{n:02}.txt"), "");
    }
    let listed = fixture
        .call("Glob", json!({"pattern": "d/*", "limit": 2}))
        .await;
    assert_eq!(
        listed.text,
        "20 files\nd/00.txt\nd/01.txt\n[18 more: narrow `pattern` or `path`, or raise `limit`]"
    );
}

#[tokio::test]
async fn glob_lists_sorted_and_knows_its_wildcards() {
    let fixture = sample();
    fixture.write("src/ünï\n.rs", "");
    for (pattern, expected) in [
        (
            "*.rs",
            "3 files\nsrc/deep/hand.rs\nsrc/main.rs\nsrc/ünï\n.rs\n",
        ),
        ("src/*.rs", "2 files\nsrc/main.rs\nsrc/ünï\n.rs\n"),
        (
            "**/deep/*",
            "2 files\nsrc/deep/.gitignore\nsrc/deep/hand.rs\n",
        ),
        ("./src/main.rs", "1 files\nsrc/main.rs\n"),
        ("{keep,none}.log", "1 files\nkeep.log\n"),
    ] {
        let found = fixture.call("Glob", json!({"pattern": pattern})).await;
        assert_eq!(found.text, expected, "{pattern}");
    }
    let below = fixture
        .call("Glob", json!({"pattern": "deep/*.rs", "path": "src"}))
        .await;
    assert_eq!(below.text, "1 files\nsrc/deep/hand.rs\n");
    let absolute = format!("{}/src/*.rs", fixture.root.display());
    assert!(fixture.call("Glob", json!({"pattern": absolute})).await.ok);
    for pattern in ["../*", "/etc/*", "a/../../*"] {
        let refused = fixture.call("Glob", json!({"pattern": pattern})).await;
        assert!(
            !refused.ok && refused.text.contains("outside"),
            "{pattern}: {}",
            refused.text
        );
    }
    let broken = fixture.call("Glob", json!({"pattern": "src/[a"})).await;
    assert!(
        broken.text.contains("check its brackets"),
        "{}",
        broken.text
    );
}

#[tokio::test]
async fn a_wide_folder_is_searched_whole() {
    let fixture = Fixture::new();
    for n in 0..1500 {
        fixture.write(&format!("wide/{n}.txt"), format!("number {n}\n"));
    }
    let found = fixture
        .call(
            "Grep",
            json!({"pattern": "number", "mode": "files", "limit": 1}),
        )
        .await;
    assert!(found.text.starts_with("1500 files match"), "{}", found.text);
    let listed = fixture
        .call("Glob", json!({"pattern": "wide/*", "limit": 1}))
        .await;
    assert!(listed.text.starts_with("1500 files"), "{}", listed.text);
}

#[tokio::test]
async fn the_teams_own_folder_is_found_only_by_whoever_names_it() {
    let fixture = sample();
    fixture.write(".codebutler/pm.md", "start();\n");
    fixture.write("docs/.codebutler/old.md", "start();\n");
    for (tool, arguments) in [
        ("Grep", json!({"pattern": "start"})),
        ("Grep", json!({"pattern": "start", "glob": "*.md"})),
        ("Glob", json!({"pattern": "**/*.md"})),
        ("Glob", json!({"pattern": "*"})),
    ] {
        let found = fixture.call(tool, arguments.clone()).await.text;
        assert!(!found.contains(".codebutler/pm.md"), "{arguments}: {found}");
        // Only the one at the top is the team's.
        assert!(
            found.contains("docs/.codebutler/old.md"),
            "{arguments}: {found}"
        );
    }
    for (tool, arguments) in [
        ("Grep", json!({"pattern": "start", "path": ".codebutler"})),
        (
            "Grep",
            json!({"pattern": "start", "path": ".codebutler/pm.md"}),
        ),
        (
            "Grep",
            json!({"pattern": "start", "glob": ".codebutler/*.md"}),
        ),
        ("Glob", json!({"pattern": "*.md", "path": ".codebutler"})),
        ("Glob", json!({"pattern": ".codebutler/**"})),
    ] {
        let found = fixture.call(tool, arguments.clone()).await.text;
        assert!(found.contains(".codebutler/pm.md"), "{arguments}: {found}");
        assert!(!found.contains("threads/x"), "{arguments}: {found}");
    }
}

/// The Researcher looks first whether it was answered before; in a repository without
/// research that is an answer, not a mistake.
#[tokio::test]
async fn a_folder_of_research_that_is_not_there_yet_is_empty() {
    let fixture = Fixture::new();
    for (tool, arguments) in [
        (
            "Glob",
            json!({"pattern": "*", "path": ".codebutler/research"}),
        ),
        (
            "Glob",
            json!({"pattern": "*.md", "path": ".codebutler/research/"}),
        ),
        (
            "Grep",
            json!({"pattern": "local", "path": ".codebutler/research"}),
        ),
    ] {
        let found = fixture
            .call_as(Role::Researcher, tool, arguments.clone())
            .await;
        assert!(
            found.ok && found.text.contains("nothing is kept yet"),
            "{}",
            found.text
        );
        let coder = fixture.call_as(Role::Coder, tool, arguments).await;
        assert!(
            !coder.ok && coder.text.contains("does not exist"),
            "{}",
            coder.text
        );
    }
    let elsewhere = json!({"pattern": "*", "path": "src"});
    assert!(
        !fixture
            .call_as(Role::Researcher, "Glob", elsewhere)
            .await
            .ok
    );
}
