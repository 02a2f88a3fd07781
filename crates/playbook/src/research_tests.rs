use super::*;

fn note(title: &str, text: &str) -> ResearchNote {
    ResearchNote {
        title: title.to_owned(),
        date: Some("2026-02-20".parse().unwrap()),
        sources: vec!["https://example.org/docs (2026-01)".to_owned()],
        text: text.to_owned(),
    }
}

fn kept(notes: &[ResearchNote]) -> Research {
    let mut research = Research::new(
        [],
        "# The team\n\n## Research Index\n\n## Archived Learnings\n",
    );
    for note in notes {
        let keep = research.keep(note);
        let mut files: Vec<_> = research
            .notes()
            .iter()
            .filter(|old| old.file != keep.file)
            .map(|old| (old.file.clone(), old.note.render()))
            .collect();
        files.push((keep.file, keep.text));
        research = Research::new(files, &keep.global);
    }
    research
}

#[test]
fn a_note_reads_back_as_it_was_written() {
    let written = note(
        "Stripe webhooks: retries",
        "Three days.\n\n## Details\n\nMore.",
    );
    let (read, problems) = ResearchNote::parse("research/x.md", &written.render());
    assert_eq!((&read, problems), (&written, vec![]));
    assert_eq!(read.render(), written.render());
    let (by_hand, problems) = ResearchNote::parse(
        "x.md",
        "# T\r\n\r\nFound on 2026-02-20.\r\nYes.\r\n\r\n## Sources\r\n\r\n* a book\r\n",
    );
    assert_eq!((by_hand.text.as_str(), problems), ("Yes.", vec![]));
    assert_eq!(by_hand.sources, ["a book"]);
}

#[test]
fn the_index_gets_one_plain_line_for_each_note() {
    let research = kept(&[
        note("Stripe webhooks", "Three days."),
        note("Node: `fetch` in\n# Everybody do this", "Since 18."),
        note("stripe webhooks", "Four days."),
    ]);
    assert_eq!(
        research.global,
        "# The team\n\n## Research Index\n\n- stripe webhooks — @.codebutler/research/stripe-webhooks.md\n- Node: fetch in Everybody do this — @.codebutler/research/node-fetch-in-everybody-do-this.md\n\n## Archived Learnings\n"
    );
    assert_eq!(research.notes().len(), 2);
    assert_eq!(research.problems("global.md"), []);
    let long = note(&"word ".repeat(50), "x").plain_title();
    assert!(long.chars().count() <= 80, "{long}");
}

#[test]
fn without_an_index_one_is_made_before_the_archive() {
    let keep = Research::new([], "# The team\r\n\r\n## Archived Learnings\r\nold\r\n")
        .keep(&note("A", "x"));
    assert_eq!(
        keep.global,
        "# The team\r\n\r\n## Research Index\r\n\r\n- A — @.codebutler/research/a.md\r\n\r\n## Archived Learnings\r\nold\r\n"
    );
}

#[test]
fn two_titles_with_one_slug_get_two_files() {
    let research = kept(&[note("C++", "x"), note("C", "y")]);
    let files: Vec<_> = research
        .notes()
        .iter()
        .map(|kept| kept.file.as_str())
        .collect();
    assert_eq!(files, ["research/c-2.md", "research/c.md"]);
}

#[test]
fn the_closest_note_is_found_first_and_none_where_none_fits() {
    let research = kept(&[
        note("Stripe webhooks", "Retries for three days."),
        note("Node fetch", "Stripe is called with it."),
    ]);
    let found = |question: &str| -> Vec<String> {
        let found = research.find(question).into_iter();
        found.map(|kept| kept.note.title.clone()).collect()
    };
    assert_eq!(
        found("how long does Stripe retry webhooks?"),
        ["Stripe webhooks", "Node fetch"]
    );
    assert_eq!(found("which fonts?"), Vec::<String>::new());
}

#[test]
fn what_is_older_than_the_limit_or_undated_is_stale() {
    let mut undated = note("Undated", "x");
    undated.date = None;
    let research = kept(&[note("Dated", "x"), undated]);
    let stale = |today: &str, days: u32| -> Vec<String> {
        let stale = research.stale(today.parse().unwrap(), days).into_iter();
        stale.map(|kept| kept.note.title.clone()).collect()
    };
    assert_eq!(stale("2026-05-21", 90), ["Undated"]);
    assert_eq!(stale("2026-05-22", 90), ["Dated", "Undated"]);
}

#[test]
fn files_and_index_are_checked_against_each_other() {
    let global =
        "## Research Index\n- A — @.codebutler/research/a.md\n- B — @.codebutler/research/b.md\n";
    let files = [
        ("research/a.md", "# A\n\nFound on yesterday. x\n"),
        (
            "research/c.md",
            "# C\nFound on 2026-01-01.\n\nText.\n\n## Sources\n- x\n",
        ),
    ]
    .map(|(path, text)| (path.to_owned(), text.to_owned()));
    let problems = Research::new(files, global).problems("global.md");
    let found: Vec<_> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "global.md:3: the research index names research/b.md, which does not exist",
            "research/a.md:1: missing ## Sources section",
            "research/a.md:3: date \"yesterday\" is not like 2026-02-20",
            "research/c.md:1: not in the research index of global.md",
        ]
    );
}

#[test]
fn a_topic_names_the_file_and_the_same_topic_replaces_it() {
    let first =
        Research::new([], "# The team\n").keep_as(&note("Is local POSIX?", "No."), "sh local");
    assert_eq!(first.file, "research/sh-local.md");
    let research = Research::new([(first.file, first.text)], &first.global);
    let again = research.keep_as(&note("Does POSIX know local?", "Still no."), "SH local");
    assert_eq!(again.file, "research/sh-local.md");
    assert_eq!(again.global.matches("@.codebutler/research/").count(), 1);
    assert!(again.global.contains("Does POSIX know local?"));
    let renamed = research.keep_as(&note("is local posix?", "No!"), "other words");
    assert_eq!(renamed.file, "research/sh-local.md", "one title, one file");
}

#[test]
fn what_is_too_old_is_listed_with_its_date_and_the_list_ends() {
    let today = "2026-05-22".parse().unwrap();
    let research = kept(&[note("Stripe webhooks", "Three days.")]);
    assert_eq!(research.to_refresh(today, 91), None);
    let listed = research.to_refresh(today, 90).unwrap();
    assert!(
        listed.contains("- Stripe webhooks (.codebutler/research/stripe-webhooks.md, 2026-02-20)"),
        "{listed}"
    );
    assert!(!listed.contains("Three days"), "only titles enter a prompt");
    let many: Vec<_> = (0..40).map(|n| note(&format!("Topic {n}"), "x")).collect();
    let listed = kept(&many).to_refresh(today, 1).unwrap();
    assert!(listed.ends_with("- and 10 more\n"), "{listed}");
}
