use butler_protocol::Tier;

use super::{FAMILIES, Row, Table, parse, row::Action, table};
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

fn rows(table: &Table) -> impl Iterator<Item = &Row> {
    let programs = table.programs.iter();
    programs.map(|program| table.read(program))
}

/// All that is wrong, in names, lists and rows.
fn problems(table: &Table) -> Vec<&str> {
    let in_rows = rows(table).filter_map(|row| row.problem);
    table.problem().into_iter().chain(in_rows).collect()
}

#[test]
fn the_files_are_whole() {
    assert_eq!(problems(table()), Vec::<&str>::new());
    let count = table().programs.len();
    assert!(count > 250, "{count}");
}

/// Whatever it is called with, and as a script of a language too.
#[test]
fn a_row_with_a_mistake_asks_about_everything() {
    let broken = parse::table(&[("x", "program a\nlooks\nmay x\n")]);
    let row = broken.row("a").unwrap();
    let [line] = row.lines.as_slice() else {
        panic!("{row:?}");
    };
    assert!(matches!(line.action, Action::Finds(Tier::Destructive)));
    assert!(line.when.is_empty() && row.script);
}

#[test]
fn every_example_of_every_row_holds() {
    let examples = || rows(table()).flat_map(|row| &row.examples);
    assert!(examples().count() > 600, "{}", examples().count());
    let wrong = examples().filter(|example| asks(example.command) != example.asks);
    let wrong: Vec<_> = wrong.map(|example| example.command).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What asks shows one command that does, and unless it always asks, one that does not.
#[test]
fn a_row_shows_what_it_does_by_examples() {
    let mut silent: Vec<&str> = Vec::new();
    for program in &table().programs {
        let row = table().read(program);
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
            silent.extend(program.names.first());
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
        assert_eq!(problems(&parse::table(&[("x", text)])), [problem], "{text}");
    }
    let fine = parse::table(&[("x", "# note\n\nprogram a b*\nasks x|y*: it breaks\n")]);
    assert_eq!(problems(&fine), Vec::<&str>::new());
    assert!(fine.row("a").is_some() && fine.row("bc").is_some() && fine.row("c").is_none());
}

#[test]
fn the_row_in_the_guide_can_be_read() {
    let guide = include_str!("../../../../../CONTRIBUTING.md");
    let mut blocks = guide.split("```\n");
    let row = blocks.find(|block| block.starts_with("program ")).unwrap();
    let read = parse::table(&[("guide", row)]);
    assert_eq!(problems(&read), Vec::<&str>::new());
    assert_eq!(rows(&read).next().unwrap().examples.len(), 2);
}
