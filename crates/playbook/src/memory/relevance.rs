//! Which learnings a prompt gives whole when there are too many for it: those
//! that share the most words with the task. The rest are named by title, so
//! that the agent knows there is more to read.

use std::collections::BTreeSet;

use butler_protocol::Confidence;

use crate::{
    Learning, Memory,
    markdown::outline::{content_end, section, splice},
    tokens,
};

/// Learnings beyond this are chosen by relevance.
pub(crate) const LEARNINGS_TOKENS: usize = 2_000;

/// Cuts the learnings of the files to what they may take together; each file
/// gets its share of the room.
pub(crate) fn choose(files: [&mut String; 2], task: &str) {
    let costs = files.each_ref().map(|file| cost(file));
    let total: usize = costs.iter().sum();
    if total <= LEARNINGS_TOKENS {
        return;
    }
    let wanted = words(task);
    for (file, cost) in files.into_iter().zip(costs) {
        *file = cut(file, &wanted, LEARNINGS_TOKENS * cost / total);
    }
}

fn cost(text: &str) -> usize {
    Memory::parse("", text)
        .live()
        .map(|entry| entry.tokens)
        .sum()
}

fn cut(text: &str, wanted: &BTreeSet<String>, room: usize) -> String {
    let memory = Memory::parse("", text);
    let mut ranked: Vec<_> = memory.live().collect();
    ranked.sort_by_key(|entry| {
        let shared = words(&said(&entry.learning)).intersection(wanted).count();
        let sure = entry.learning.confidence == Confidence::High;
        std::cmp::Reverse((shared, sure))
    });
    let mut left = room;
    let mut dropped = Vec::new();
    for entry in ranked {
        match left.checked_sub(entry.tokens) {
            Some(rest) => left = rest,
            None => dropped.push(entry.learning.title.as_str()),
        }
    }
    let mut shorter = memory.clone();
    for title in &dropped {
        // Two of one title: the first goes twice, which is as good.
        shorter = shorter.remove(title).unwrap_or(shorter);
    }
    let mut titles = String::new();
    for entry in memory
        .live()
        .filter(|entry| dropped.contains(&entry.learning.title.as_str()))
    {
        let line = format!("\n- {}", entry.learning.title);
        if tokens(&titles) + tokens(&line) > LEARNINGS_TOKENS / 2 {
            titles.push_str("\n- and more");
            break;
        }
        titles.push_str(&line);
    }
    let text = shorter.text();
    let Some(found) = section(text, 2, "Learnings").filter(|_| !titles.is_empty()) else {
        return text.to_owned();
    };
    let at = content_end(text, &found.range);
    splice(
        text,
        at..at,
        &format!("\n### More learnings, by title\n{titles}\n"),
    )
}

fn said(learning: &Learning) -> String {
    format!("{} {} {}", learning.title, learning.when, learning.rule)
}

/// Words and names of files, in lower case; short ones say nothing.
pub(crate) fn words(text: &str) -> BTreeSet<String> {
    text.split(|other: char| !other.is_alphanumeric() && !matches!(other, '_' | '.'))
        .map(|word| word.trim_matches('.').to_lowercase())
        .filter(|word| word.chars().count() > 3)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(count: usize) -> String {
        let mut text = "# Coder\n\n## Learnings\n".to_owned();
        for index in 0..count {
            let learning = Learning {
                title: format!("Lesson {index}"),
                when: format!("changing module{index}.rs"),
                rule: "mind the order of things in it ".repeat(8),
                example: "thread-1".into(),
                confidence: Confidence::Medium,
                source: "thread-1, 2026-01-01".into(),
            };
            text.push_str(&format!("\n{}\n", learning.render()));
        }
        text.push_str("\n## Project Map\nkept\n");
        text
    }

    #[test]
    fn few_learnings_stay_as_they_are() {
        let (mut role, mut global) = (file(3), String::new());
        choose([&mut role, &mut global], "anything");
        assert_eq!(role, file(3));
    }

    #[test]
    fn of_many_the_relevant_stay_and_the_others_are_named() {
        let (mut role, mut global) = (file(40), file(3));
        choose([&mut role, &mut global], "please change src/module33.rs");
        assert!(role.contains("### Lesson 33\n"));
        assert!(role.contains("\n- Lesson 39\n"));
        assert!(!role.contains("### Lesson 39\n"));
        assert!(role.ends_with("\n## Project Map\nkept\n"));
        let whole: usize = [&role, &global]
            .into_iter()
            .flat_map(|file| {
                Memory::parse("", file.as_str())
                    .live()
                    .cloned()
                    .collect::<Vec<_>>()
            })
            .filter(|entry| entry.learning.title.starts_with("Lesson"))
            .map(|entry| entry.tokens)
            .sum();
        assert!((1_000..=LEARNINGS_TOKENS).contains(&whole), "{whole}");
        assert!(tokens(&role) < 2 * LEARNINGS_TOKENS);
    }
}
