use butler_protocol::Tier;

use super::{FAMILIES, parse, row::Action, table};
use crate::{Overrides, RiskContext, assess};

fn asks(command: &str) -> bool {
    let overrides = Overrides::default();
    let ctx = RiskContext {
        cwd: "/work/repo",
        root: "/work/repo",
        home: "/home/you",
        overrides: &overrides,
    };
    assess(command, &ctx).tier == Tier::Destructive
}

#[test]
fn the_files_are_whole() {
    assert_eq!(table().problems, Vec::<String>::new());
    assert!(table().rows.len() > 250, "{}", table().rows.len());
}

#[test]
fn every_example_of_every_row_holds() {
    let examples = || table().rows.iter().flat_map(|row| &row.examples);
    assert!(examples().count() > 600, "{}", examples().count());
    let wrong = examples().filter(|example| asks(example.command) != example.asks);
    let wrong: Vec<_> = wrong.map(|example| example.command).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What asks shows one command that does, and unless it always asks, one that does not.
#[test]
fn a_row_shows_what_it_does_by_examples() {
    let mut silent: Vec<&str> = Vec::new();
    for row in &table().rows {
        let asking =
            |action: &Action| matches!(action, Action::Finds(Tier::Destructive) | Action::Undoable);
        let asks = row.lines.iter().any(|line| asking(&line.action));
        let mut first = row
            .lines
            .iter()
            .take_while(|line| !matches!(line.action, Action::Looks));
        let always = first.any(|line| line.when.is_empty() && asking(&line.action));
        let shown = |asks| row.examples.iter().any(|example| example.asks == asks);
        if asks && !shown(true) || !always && !shown(false) {
            silent.extend(row.names.first());
        }
    }
    // Its lines are those of `git-subcommand`.
    assert_eq!(silent, ["git"]);
}

#[test]
fn all_code_is_called_by_the_table() {
    let text: String = FAMILIES.iter().map(|(_, text)| *text).collect();
    for name in super::super::code::names() {
        let line = format!("\ncode {name}\n");
        assert!(text.contains(&line), "no row says `code {name}`");
    }
}

#[test]
fn what_is_wrong_in_a_file_is_named_with_its_line() {
    for (text, problem) in [
        ("looks x", "x.txt:1: a line before the first program"),
        ("program a\nprogram b a", "x.txt:2: `a` has a row already"),
        ("program a\nmay x", "x.txt:2: `may` is no word of the table"),
        ("program a\nasks x", "x.txt:2: it gives no reason"),
        ("program a\nlooks @none", "x.txt:2: there is no list `none`"),
        ("program a\ncode none", "x.txt:2: there is no code `none`"),
        ("program a\nlooks few:x", "x.txt:2: `x` is no number"),
        ("program a\nlooks value:-x", "x.txt:2: a value needs `=`"),
        (
            "program a\nruns behind",
            "x.txt:2: `behind` says not where the command stands",
        ),
        (
            "words a x\nwords a y",
            "x.txt:2: the list `a` is there twice",
        ),
    ] {
        assert_eq!(
            parse::table(&[("x", text)]).problem(),
            Some(problem),
            "{text}"
        );
    }
    let fine = parse::table(&[("x", "# note\n\nprogram a b*\nasks x|y*: it breaks\n")]);
    assert_eq!(fine.problem(), None);
    assert!(fine.row("a").is_some() && fine.row("bc").is_some() && fine.row("c").is_none());
}

#[test]
fn the_row_in_the_guide_can_be_read() {
    let guide = include_str!("../../../../../CONTRIBUTING.md");
    let mut blocks = guide.split("```\n");
    let row = blocks.find(|block| block.starts_with("program ")).unwrap();
    let read = parse::table(&[("guide", row)]);
    assert_eq!(read.problem(), None);
    assert_eq!(read.rows[0].examples.len(), 2);
}
