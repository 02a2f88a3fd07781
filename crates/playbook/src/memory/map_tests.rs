//! Maps are read as they are written, name what can be looked up, and change
//! nothing but their own section.

use butler_protocol::MapChange;
use proptest::prelude::*;

use super::*;

fn map() -> ProjectMap {
    let mut map = ProjectMap {
        at: "1a2b3c4d5e6f".into(),
        ..ProjectMap::default()
    };
    let place = |path: &str, what: &str| (path.to_owned(), what.to_owned());
    map.take(
        &[
            place(
                "src/list.rs:12",
                "reads notes with `read_notes()`, see\n docs/format.md",
            ),
            place("./tests/", "all tests"),
        ],
        &[
            "run `sh tests/run.sh --all`; the store is `Store::open`, not `JSON` or e.g. Node.js"
                .into(),
        ],
    );
    map
}

#[test]
fn what_a_role_found_is_written_in_one_form_and_read_back() {
    let text = map().render();
    let expected = "Seen at `1a2b3c4d5e6f`.\n\n- `src/list.rs`: reads notes with `read_notes()`, see docs/format.md\n- `tests`: all tests\n\nGood to know:\n\n- run `sh tests/run.sh --all`; the store is `Store::open`, not `JSON` or e.g. Node.js";
    assert_eq!(text, expected);
    assert_eq!(ProjectMap::parse(&text), map());
}

#[test]
fn what_it_names_can_be_looked_up() {
    let paths: Vec<String> = map().paths().into_iter().collect();
    let expected = ["docs/format.md", "src/list.rs", "tests", "tests/run.sh"];
    assert_eq!(paths, expected);
    let symbols: Vec<String> = map().symbols().into_iter().collect();
    assert_eq!(symbols, ["open", "read_notes"]);
    // A method is no file, however short its name.
    let mut map = ProjectMap::default();
    let facts = ["`parser.error` and `childProcess.spawn` in `cli.py`, not in `bin/run.x`".into()];
    map.take(&[], &facts);
    let paths: Vec<String> = map.paths().into_iter().collect();
    assert_eq!(paths, ["bin/run.x", "cli.py"]);
}

#[test]
fn only_what_was_looked_at_again_changes_and_peoples_lines_stay() {
    let mut old = ProjectMap::parse(&format!("Ask ana about this part.\n\n{}", map().render()));
    let place = |path: &str, what: &str| (path.to_owned(), what.to_owned());
    old.take(
        &[
            place("tests", ""),
            place("web", "the page"),
            place("gone", ""),
        ],
        &[],
    );
    let text = old.render();
    assert!(
        text.contains("\n\nAsk ana about this part.\n\n- `src/list.rs`"),
        "{text}"
    );
    assert!(
        text.contains("- `web`: the page") && !text.contains("- `tests`"),
        "{text}"
    );
    assert!(text.contains("Good to know:"), "{text}");
}

#[test]
fn a_map_that_changed_meanwhile_is_not_overwritten() {
    let text = "# Coder\n\n## Project Map\n\n## Learnings\n\n### A\n";
    let once = with_map(text, "", "new").unwrap();
    assert_eq!(
        once,
        "# Coder\n\n## Project Map\n\nnew\n\n## Learnings\n\n### A\n"
    );
    assert_eq!(with_map(&once, "", "new").as_deref(), Some(once.as_str()));
    assert_eq!(with_map(&once, "", "other"), None);
    assert_eq!(with_map(text, "", "x\n## Learnings\ny"), None);
    let bare = with_map("# X\n\n## Archived Learnings\n", "", "new").unwrap();
    assert_eq!(
        bare,
        "# X\n\n## Project Map\n\nnew\n\n## Archived Learnings\n"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// Whatever a file holds around it, a map comes and goes and the rest stays.
    #[test]
    fn everything_around_a_map_stays(
        head in "[a-z #\n`-]{0,30}",
        tail in "[a-z \n-]{0,30}",
        maps in prop::collection::vec("[a-z`:.\n -]{1,40}", 1..4),
    ) {
        let text = format!("{head}\n\n## Project Map\n\n## Learnings\n{tail}\n");
        prop_assume!(section(&text, 2, HEADING).is_some() && map_in(&text).is_empty());
        let (mut file, mut before) = (text.clone(), String::new());
        for after in maps {
            let after = after.trim().to_owned();
            let change = MapChange { file: "x.md".into(), diff: all_lines(&before, &after) };
            prop_assert_eq!(&change.before(), &before);
            prop_assert_eq!(&change.after(), &after);
            let Some(next) = with_map(&file, &change.before(), &change.after()) else { continue };
            prop_assert_eq!(map_in(&next), after.clone());
            let rest = next.split("## Learnings\n").last();
            prop_assert_eq!(rest, text.split("## Learnings\n").last());
            prop_assert!(next.starts_with(&head));
            (file, before) = (next, after);
        }
    }
}
