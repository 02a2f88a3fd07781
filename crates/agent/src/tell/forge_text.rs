//! What people and the Coder read of what happened on the forge. Pure. Words of others
//! are quoted line by line, so that they never look like ours.

use std::fmt::Write;

use butler_protocol::{Idem, MergeBlock, PrNumber, PullEvent, RedCheck, Reviewed, Said};
use butler_repo::{Error, block_of};

use crate::tell::render::{self, short_sha};

/// One line for people about something that nobody has to do anything about.
pub(crate) fn line(pr: PrNumber, one: &PullEvent) -> String {
    match one {
        PullEvent::Said(said) => spoken(pr, said),
        PullEvent::CheckFailed(red) if red.on_base => format!(
            "The check `{}` is red on {pr}, and it is red on the default branch too: this change did not break it, so nobody works on it here.",
            red.name
        ),
        PullEvent::CheckFailed(red) => failed(pr, red),
        PullEvent::CheckRecovered { name, head } => format!(
            "The check `{name}` is green on {pr} again, at `{}`.",
            short_sha(head.as_str())
        ),
        PullEvent::Pushed { head, by } => {
            format!(
                "{by} pushed `{}` to the branch of {pr}.",
                short_sha(head.as_str())
            )
        }
        PullEvent::Conflict { .. } => {
            format!("{pr} does not go together with the default branch any more.")
        }
        PullEvent::Draft { is: true } => format!("{pr} was made a draft."),
        PullEvent::Draft { is: false } => format!("{pr} is no draft any more."),
        PullEvent::Merged { commit, by } => {
            format!("{by} merged {pr} as `{}`.", short_sha(commit.as_str()))
        }
        PullEvent::Closed { by } => format!("{by} closed {pr} without merging it."),
        PullEvent::Reopened => {
            format!("{pr} was opened again. Say `merge` to get its card.")
        }
    }
}

/// Why the forge did not do something, for people: its own words where it has some, and
/// never a command line of ours.
pub(crate) fn why(error: &Error) -> String {
    match error {
        Error::Refused { reason, .. } => reason.clone(),
        Error::Failed { .. } | Error::Start { .. } | Error::Unreachable { .. } => {
            trouble(block_of(error).0).to_owned()
        }
        Error::Blocked { block, said, .. } => match block {
            MergeBlock::RateLimited | MergeBlock::LoggedOut => trouble(*block).to_owned(),
            _ => said.clone(),
        },
        other => other.to_string(),
    }
}

/// What a person reads of a forge that gives no answer.
pub(crate) const fn trouble(block: MergeBlock) -> &'static str {
    match block {
        MergeBlock::RateLimited => "the forge takes no more requests from us for a while",
        MergeBlock::LoggedOut => {
            "`gh` cannot be started or nobody is logged in with it any more. Run `gh auth login` on the machine of the team"
        }
        MergeBlock::Forbidden => "the account that is logged in there may not read them",
        _ => "the forge does not answer",
    }
}

/// Who said what, with their words below it.
fn spoken(pr: PrNumber, said: &Said) -> String {
    let did = match said.review {
        Some(Reviewed::Approved) => "approved",
        Some(Reviewed::ChangesRequested) => "asks for changes on",
        None => "commented on",
    };
    let place = said.place.as_ref();
    let place = place.map_or_else(String::new, |place| format!(" at `{place}`"));
    let gone = if said.outdated {
        " (that line is gone since)"
    } else {
        ""
    };
    let head = format!("{} {did} {pr}{place}{gone}", said.by);
    if said.text.is_empty() {
        return format!("{head}.");
    }
    format!("{head}:\n\n{}", render::quote(&said.text))
}

fn failed(pr: PrNumber, red: &RedCheck) -> String {
    let url = red.url.as_ref();
    let url = url.map_or_else(String::new, |url| format!(" ({url})"));
    let head = format!(
        "The check `{}` is red on {pr} at `{}`{url}",
        red.name,
        short_sha(red.head.as_str())
    );
    if red.log.is_empty() {
        return format!("{head}; it left no log that I can read.");
    }
    // A fence inside would end ours.
    let log = red.log.replace("```", "'''");
    format!("{head}:\n\n```\n{log}\n```")
}

/// What the Coder is to see to.
pub(crate) fn work(pr: PrNumber, news: &[PullEvent]) -> String {
    if let [PullEvent::Conflict { files }] = news {
        return render::conflict(&pr.to_string(), files, &[]);
    }
    let mut text = format!("this came from the forge for {pr}, see to it:\n");
    for one in news {
        let item = match one {
            PullEvent::Said(said) => format!("[{}] {}", said.id, spoken(pr, said)),
            PullEvent::Pushed { .. } => format!(
                "{} It is in your worktree when you begin: read it, keep it, and let the checks run on all of it.",
                line(pr, one)
            ),
            PullEvent::Conflict { files } => render::conflict(&pr.to_string(), files, &[]),
            other => line(pr, other),
        };
        let _ = write!(text, "\n- {}\n", item.replace('\n', "\n  "));
    }
    text.push_str("\nThen hand over for review again.");
    let asked = |one: &PullEvent| matches!(one, PullEvent::Said(_));
    if news.iter().any(asked) {
        text.push_str(
            " In `answers` say for each comment, by the id in brackets, what you did about it or why not: the runtime puts it below the comment.",
        );
    }
    text
}

/// What people read when a stranger's words are given to the Coder: the words
/// themselves stand above, and are for nobody else.
pub(crate) fn taken_up(pr: PrNumber, news: &[PullEvent]) -> String {
    let by = news.iter().filter_map(|one| match one {
        PullEvent::Said(said) => Some(said.by.as_str()),
        _ => None,
    });
    let by: Vec<&str> = by.collect();
    format!("see to what {} wrote on {pr}.", by.join(" and "))
}

/// What we write there calls nobody by accident: names of our own roles lose their sign,
/// and any other `@name` outside of code becomes code.
pub(crate) fn quiet(text: &str) -> String {
    let text = text.replace("@codebutler", "codebutler");
    let mut quiet = String::with_capacity(text.len());
    let (mut code, mut before) = (false, ' ');
    let mut rest = text.as_str();
    while let Some(letter) = rest.chars().next() {
        let after = &rest[letter.len_utf8()..];
        let part = |one: char| one.is_ascii_alphanumeric() || "-_./".contains(one);
        let end = after.find(|one| !part(one)).unwrap_or(after.len());
        let name = after[..end].trim_end_matches(['.', '/', '-']);
        let calls = letter == '@' && !code && !before.is_alphanumeric() && !name.is_empty();
        if calls {
            let _ = write!(quiet, "`@{name}`");
            rest = &after[name.len()..];
            before = '`';
            continue;
        }
        // A run of them opens and closes code; a line that begins with three does too.
        if letter == '`' && before != '`' {
            code = !code;
        }
        quiet.push(letter);
        (before, rest) = (letter, after);
    }
    quiet
}

const OUTSIDE: &str = "forge-outside";

/// The key of a post that shows a stranger's words.
pub(crate) fn outside_key(short: &str, number: usize) -> Idem {
    Idem::new(format!("{short}-{OUTSIDE}-{number}"))
}

/// Whether a post shows a stranger's words: no model reads it.
pub(crate) fn is_outside(key: &Idem) -> bool {
    key.as_str().contains(&format!("-{OUTSIDE}-"))
}

#[cfg(test)]
mod tests {
    use butler_protocol::CommitSha;

    use super::*;

    #[test]
    fn nobody_is_called_by_accident() {
        for (text, quieter) in [
            ("@codebutler.lead settle it", "codebutler.lead settle it"),
            ("ask @ana, or @org/core.", "ask `@ana`, or `@org/core`."),
            (
                "mail you@x.invalid `@app.route` @ alone",
                "mail you@x.invalid `@app.route` @ alone",
            ),
            ("```\n@Test\n```\n@ben", "```\n@Test\n```\n`@ben`"),
            ("", ""),
        ] {
            assert_eq!(quiet(text), quieter);
        }
    }

    #[test]
    fn no_reason_shows_a_command_line() {
        let command = || "gh api --include x".to_owned();
        for (error, words) in [
            (
                Error::Failed {
                    command: command(),
                    code: 1,
                    stderr: "boom".into(),
                },
                "the forge does not answer",
            ),
            (
                Error::Start {
                    command: command(),
                    source: std::io::ErrorKind::NotFound.into(),
                },
                "gh auth login",
            ),
            (
                Error::Refused {
                    name: command(),
                    reason: "Issues are disabled (HTTP 410)".into(),
                },
                "Issues are disabled (HTTP 410)",
            ),
        ] {
            let why = why(&error);
            assert!(
                why.contains(words) && !why.contains("gh api") && !why.contains("boom"),
                "{why}"
            );
        }
    }

    #[test]
    fn words_of_others_are_quoted_and_a_log_stays_in_its_fence() {
        let said = PullEvent::Said(Said {
            id: "line-7".into(),
            by: "ana".into(),
            may_write: true,
            review: None,
            text: "two\n\n# lines".into(),
            place: Some("a.sh:3".into()),
            outdated: true,
        });
        let red = PullEvent::CheckFailed(RedCheck {
            name: "test".into(),
            head: CommitSha::new("0123456789"),
            on_base: false,
            log: "```\nnot ok".into(),
            url: None,
        });
        let text = work(PrNumber(4), &[said, red]);
        assert!(
            text.contains("- [line-7] ana commented on #4 at `a.sh:3` (that line is gone since):"),
            "{text}"
        );
        assert!(text.contains("\n  > # lines"), "{text}");
        assert!(text.contains("```\n  '''\n  not ok\n  ```"), "{text}");
        assert!(text.contains("`answers`"), "{text}");
        let both = work(
            PrNumber(4),
            &[PullEvent::Conflict {
                files: vec!["x".into()],
            }],
        );
        assert!(
            both.contains("conflicts with what was merged meanwhile, in `x`"),
            "{both}"
        );
    }
}
