//! The look back in its whole form: at most three points that went well and three of
//! friction, one change of the process and one of a prompt, a skill and a guardrail
//! where there is one. Each says how grave it is, what it cost, where it belongs and by
//! what one sees it; what it names of the thread is looked up. Pure.

use std::{collections::BTreeSet, fmt::Write};

use butler_protocol::{Change, MessageTs, Proposal, Role, Severity};
use schemars::JsonSchema;
use serde::Deserialize;

// What a point is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Well,
    Friction,
    Process,
    Prompt,
    Skill,
    Guardrail,
}

const KINDS: [(Kind, &str, &str, usize); 6] = [
    (Kind::Well, "well", "Went well", 3),
    (Kind::Friction, "friction", "Friction", 3),
    (Kind::Process, "process", "Process", 1),
    (Kind::Prompt, "prompt", "Prompt", 1),
    (Kind::Skill, "skill", "Skill", 1),
    (Kind::Guardrail, "guardrail", "Guardrail", 1),
];

// One point.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct Point {
    pub(super) kind: Kind,
    pub(super) what: String,
    severity: Severity,
    /// What it cost or spared.
    #[serde(default)]
    impact: String,
    /// File and section, as `coder.md#Rules`.
    #[serde(default)]
    place: String,
    /// `message 4` of the transcript, `F1`, or a figure of usage.
    #[serde(default)]
    evidence: String,
    /// process, prompt, skill: the passage that changes; empty adds.
    #[serde(default)]
    old: String,
    /// What stands there then. guardrail: the check command, policy line or lint.
    #[serde(default)]
    new: String,
}

impl Point {
    /// With every text as this makes it.
    pub(super) fn map(mut self, clean: impl Fn(&str) -> String) -> Self {
        for text in [
            &mut self.what,
            &mut self.impact,
            &mut self.place,
            &mut self.evidence,
            &mut self.old,
            &mut self.new,
        ] {
            *text = clean(text);
        }
        self
    }

    fn file(&self) -> &str {
        let file = self.place.split(['#', '§']).next().unwrap_or_default();
        file.trim().trim_start_matches(".codebutler/")
    }

    fn section(&self) -> Option<&str> {
        let (_, section) = self.place.split_once(['#', '§'])?;
        let section = section.trim().trim_start_matches('#').trim();
        (!section.is_empty()).then_some(section)
    }

    fn changes(&self) -> bool {
        matches!(self.kind, Kind::Process | Kind::Prompt | Kind::Skill)
    }
}

/// What a thread has that a point can name.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Its messages, as the transcript numbers them.
    pub(super) messages: Vec<MessageTs>,
    /// Ids of the findings.
    pub(super) findings: BTreeSet<String>,
    /// Every number of its bill, rounds and receipts.
    pub(super) figures: BTreeSet<String>,
}

/// Something of the thread that a text names.
#[derive(Debug, PartialEq, Eq)]
enum Named {
    Message(usize),
    Finding(String),
    Figure(String),
}

/// The numbers of a text, `12,000` as one.
pub(super) fn numbers(text: &str) -> Vec<String> {
    let mut plain = String::new();
    let letters: Vec<char> = text.chars().collect();
    for (at, letter) in letters.iter().enumerate() {
        let digit = |at: Option<usize>| {
            let letter = at.and_then(|at| letters.get(at));
            letter.is_some_and(char::is_ascii_digit)
        };
        let between = digit(at.checked_sub(1)) && digit(Some(at + 1));
        if !(matches!(letter, ',' | '\u{202f}') && between) {
            plain.push(*letter);
        }
    }
    let words = plain.split(|letter: char| !letter.is_ascii_alphanumeric());
    let figures = words.filter(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit()));
    figures.map(str::to_owned).collect()
}

fn named(text: &str) -> Vec<Named> {
    let mut found = Vec::new();
    let mut words = text
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .peekable();
    while let Some(word) = words.next() {
        let next = words.peek().and_then(|next| next.parse().ok());
        match (word.to_lowercase().as_str(), next) {
            ("message" | "messages", Some(number)) => found.push(Named::Message(number)),
            (lower, _) => {
                let digits = lower.strip_prefix('f').unwrap_or_default();
                if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
                    found.push(Named::Finding(word.to_uppercase()));
                }
            }
        }
    }
    found.extend(numbers(text).into_iter().map(Named::Figure));
    found
}

/// Everything that is wrong with the points, each with its number among its kind.
pub(super) fn problems(points: &[Point], known: &Known) -> Vec<String> {
    let mut wrong = Vec::new();
    for (kind, word, _, most) in KINDS {
        let own: Vec<&Point> = points.iter().filter(|point| point.kind == kind).collect();
        if own.len() > most {
            wrong.push(format!(
                "{word}: {} are too many, {most} at most",
                own.len()
            ));
        }
        for (number, point) in (1..).zip(own) {
            let found = wrong_with(point, known).into_iter();
            wrong.extend(found.map(|what| format!("{word} {number}: {what}")));
        }
    }
    wrong
}

fn wrong_with(point: &Point, known: &Known) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, text) in [
        ("what", &point.what),
        ("impact", &point.impact),
        ("place", &point.place),
    ] {
        if text.trim().is_empty() {
            wrong.push(format!("`{name}` is missing"));
        }
    }
    wrong.extend(unseen(&point.evidence, known));
    let (file, role) = (point.file(), |name: &str| {
        Role::ALL.iter().any(|role| name == format!("{role}.md"))
    });
    let fits = match point.kind {
        Kind::Process => file == "workflows.md" || file.starts_with("skills/"),
        Kind::Prompt => file == "global.md" || role(file) || file.starts_with("skills/"),
        Kind::Skill => file.starts_with("skills/") && file.ends_with(".md"),
        _ => true,
    };
    if !fits && !point.place.trim().is_empty() {
        wrong.push(format!(
            "`place` is `{file}`, and it changes workflows.md (process), a role's file (prompt) or one under skills/"
        ));
    }
    if (point.changes() || point.kind == Kind::Guardrail) && point.new.trim().is_empty() {
        wrong.push("`new` is missing: the text as it should be".to_owned());
    }
    wrong
}

/// Why a text is no evidence.
fn unseen(text: &str, known: &Known) -> Option<String> {
    let all = named(text);
    let strange = all.iter().find_map(|one| match one {
        Named::Message(number) if *number == 0 || *number > known.messages.len() => {
            Some(format!("there is no message {number}"))
        }
        Named::Finding(id) if !known.findings.contains(id) => {
            Some(format!("there is no finding {id}"))
        }
        _ => None,
    });
    let seen = |one: &Named| match one {
        Named::Message(_) | Named::Finding(_) => true,
        Named::Figure(figure) => known.figures.contains(figure),
    };
    strange.or_else(|| {
        (!all.iter().any(seen)).then(|| {
            "`evidence` names nothing of this thread: a message (`message 4`, its number in ReadThread(what: transcript)), a finding (`F1`), or a figure of ReadThread(what: usage)".to_owned()
        })
    })
}

/// The changes among them, as cards have them. What one without a text lacks is said
/// with the point.
pub(super) fn proposals(points: &[Point]) -> Vec<Proposal> {
    let whole = |point: &&Point| point.changes() && !point.new.trim().is_empty();
    let changes = points.iter().filter(whole);
    let proposal = |point: &Point| Proposal {
        file: point.file().to_owned(),
        change: Change::Passage {
            old: point.old.clone(),
            new: point.new.clone(),
            why: format!(
                "{} ({} severity; {}; {})",
                point.what.trim(),
                severity(point.severity),
                point.impact.trim(),
                point.evidence.trim()
            ),
        },
    };
    changes.map(proposal).collect()
}

/// What people read; `link` leads to a message.
pub(super) fn render(points: &[Point], link: impl Fn(usize) -> Option<String>) -> String {
    let mut text = "**Look back**".to_owned();
    for (kind, _, title, _) in KINDS {
        let own: Vec<&Point> = points.iter().filter(|point| point.kind == kind).collect();
        if own.is_empty() {
            continue;
        }
        let _ = write!(text, "\n\n**{title}**");
        for point in own {
            let section = point.section();
            let section = section.map_or_else(String::new, |section| format!(" § {section}"));
            let _ = write!(
                text,
                "\n- {} ({}; {}) · `{}`{section} · {}",
                point.what.trim(),
                severity(point.severity),
                point.impact.trim(),
                point.file(),
                point.evidence.trim()
            );
            for one in named(&point.evidence) {
                if let Named::Message(number) = one
                    && let Some(link) = link(number)
                {
                    let _ = write!(text, " ([message {number}]({link}))");
                }
            }
            if kind == Kind::Guardrail {
                let _ = write!(text, "\n  `{}`", point.new.trim().replace('`', "'"));
            }
        }
    }
    text
}

const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Low => "low",
        Severity::Medium => "medium",
        Severity::High => "high",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn known() -> Known {
        Known {
            messages: vec![
                "1700000000.000100".parse().unwrap(),
                "1700000000.000200".parse().unwrap(),
            ],
            findings: ["F1".to_owned()].into(),
            figures: numbers("Coder · m · $0.42 in 12 calls (12000 tokens in)")
                .into_iter()
                .collect(),
        }
    }

    fn point(kind: &str, place: &str, evidence: &str) -> Point {
        serde_json::from_value(
            json!({"kind": kind, "what": "two rounds", "severity": "medium",
            "impact": "one round more", "place": place, "evidence": evidence,
            "new": "2. PM: name every caller."}),
        )
        .unwrap()
    }

    #[test]
    fn everything_that_is_wrong_is_said_at_once() {
        let known = known();
        let good = [
            point("well", "notes.sh", "message 2"),
            point("friction", "coder.md#Rules", "F1, round 2"),
            point("process", "workflows.md#implement", "12,000 tokens"),
            point("prompt", ".codebutler/coder.md § Rules", "12 calls"),
            point("skill", "skills/release.md", "messages 1"),
            point("guardrail", "policy.json", "f1"),
        ];
        assert_eq!(problems(&good, &known), Vec::<String>::new());
        let made = proposals(&good);
        let files: Vec<&str> = made.iter().map(|one| one.file.as_str()).collect();
        assert_eq!(files, ["workflows.md", "coder.md", "skills/release.md"]);
        let said = render(&good, |number| Some(format!("https://x/{number}")));
        for part in [
            "**Went well**\n- two rounds (medium; one round more) · `notes.sh` · message 2 ([message 2](https://x/2))",
            "**Friction**\n- two rounds (medium; one round more) · `coder.md` § Rules · F1, round 2",
            "**Guardrail**",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }

        let mut empty = point("friction", "", "it took long");
        empty.impact.clear();
        let mut bare = point("process", "src/main.rs", "message 9");
        bare.new.clear();
        let many = [
            point("prompt", "coder.md", "F7"),
            point("prompt", "coder.md", "F1"),
            empty,
            bare,
        ];
        let wrong = problems(&many, &known).join("\n");
        for part in [
            "prompt: 2 are too many, 1 at most",
            "prompt 1: there is no finding F7",
            "friction 1: `impact` is missing",
            "friction 1: `place` is missing",
            "friction 1: `evidence` names nothing of this thread",
            "process 1: there is no message 9",
            "process 1: `place` is `src/main.rs`",
            "process 1: `new` is missing",
        ] {
            assert!(wrong.contains(part), "{part}: {wrong}");
        }
    }
}
