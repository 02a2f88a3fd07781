//! The lists of words are whole, and a card can be read back from them.

use std::{collections::HashSet, fs, path::Path};

use butler_protocol::{Choice, DecisionKind};

use super::*;

/// English for what a card says in Spanish.
pub(crate) fn back(shown: &str) -> String {
    if let Some(name) = shown.strip_prefix("Argumento ") {
        return format!("Argument {name}");
    }
    let (words, json) = match shown.strip_suffix(" (JSON)") {
        Some(words) => (words, " (JSON)"),
        None => (shown, ""),
    };
    let english = SPANISH.iter().find(|(_, spanish)| **spanish == words);
    format!("{}{json}", english.map_or(words, |(english, _)| english))
}

/// The texts in quotes that follow one of these in a source.
fn quoted_after(source: &str, heads: &[&str]) -> HashSet<String> {
    let mut found = HashSet::new();
    for head in heads {
        for after in source.split(head).skip(1) {
            let after = after.trim_start();
            let text = after
                .strip_prefix('"')
                .and_then(|text| text.split('"').next());
            found.extend(text.map(str::to_owned));
        }
    }
    found
}

/// Every text of ours in a source, whoever draws it.
fn said_in(file: &Path, heads: &[&str], found: &mut HashSet<String>) {
    if file.is_dir() {
        for inside in fs::read_dir(file).unwrap().flatten() {
            said_in(&inside.path(), heads, found);
        }
    } else if file.extension().is_some_and(|end| end == "rs") {
        let source = fs::read_to_string(file).unwrap();
        let product = source.split("#[cfg(test)]").next().unwrap();
        found.extend(quoted_after(product, heads));
    }
}

#[test]
fn every_word_on_a_card_has_its_translation() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut said = HashSet::new();
    let drawn = [
        "Part::row(",
        "Part::prose(",
        "Part::code(",
        "Part::list(",
        " list(",
        "anything(",
        "words.say(",
        "words.fill(",
        "=> \"",
    ];
    said_in(
        &here.join("src/workspace/card/layout.rs"),
        &drawn,
        &mut said,
    );
    let ours = ["words.say(", "words.fill(", "Part::row("];
    said_in(&here.join("src/workspace/card.rs"), &ours, &mut said);
    let remarks = ["Remark::runtime(", "Remark::model("];
    said_in(&here.join("../agent/src"), &remarks, &mut said);
    for kind in [
        DecisionKind::Plan,
        DecisionKind::Command,
        DecisionKind::Learning,
        DecisionKind::Merge,
        DecisionKind::Cap,
    ] {
        let both = |choice: &Choice| [choice.label().to_owned(), choice.past().to_owned()];
        said.extend(kind.choices().iter().flat_map(both));
    }
    assert!(said.len() > 70, "{said:?}");
    let missing: Vec<_> = said
        .iter()
        .filter(|text| !SPANISH.contains_key(text.as_str()))
        .collect();
    assert!(missing.is_empty(), "not in words/es.txt: {missing:?}");
}

#[test]
fn a_list_is_in_order() {
    let list = include_str!("../../../words/es.txt");
    let lines = list
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    assert_eq!(lines.count(), pairs(list).count(), "each line is a pair");
    assert_eq!(pairs(list).count(), SPANISH.len(), "none is there twice");
    let spanish: HashSet<_> = SPANISH.values().collect();
    assert_eq!(
        spanish.len(),
        SPANISH.len(),
        "two mean the same: no way back"
    );
    for (english, spanish) in SPANISH.iter() {
        let places = |text: &str| -> HashSet<String> {
            let opened = text.split('{').skip(1);
            opened
                .filter_map(|part| Some(part.split_once('}')?.0.to_owned()))
                .collect()
        };
        assert_eq!(places(english), places(spanish), "{english}");
        assert!(
            !spanish.contains(':'),
            "{spanish}: a label ends with its colon"
        );
    }
}

#[test]
fn a_language_has_many_names() {
    for name in ["Spanish", "es", "es-AR", "Español", "castellano"] {
        assert_eq!(Words::of(Some(name)), Words::Spanish, "{name}");
    }
    for name in [
        None,
        Some("auto"),
        Some("English"),
        Some("Estonian"),
        Some(""),
    ] {
        assert_eq!(Words::of(name), Words::English, "{name:?}");
    }
    assert_eq!(
        Words::Spanish.fill(
            "{what} by {who}",
            &[("what", "Aprobado"), ("who", "{what}")]
        ),
        "Aprobado por {what}"
    );
}
