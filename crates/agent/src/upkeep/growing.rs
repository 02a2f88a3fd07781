//! What repeats is offered to be kept, by code and for nothing: the third request of a
//! kind as a skill, the third thread in which the same command failed as a check.

use std::collections::{BTreeMap, BTreeSet};

use butler_playbook::{Built, Grown};
use butler_protocol::{
    CallId, Change, Choice, Proposal, Record, Remark, Speaker, Subject, ThreadId, ToolCall,
};

use butler_turn::Order;

use crate::{
    AgentError, OrWarn, ThreadContext, decide::cards::NewCard, thread::context::request_nth,
    upkeep::digests::Digest,
};

/// Older threads say little about how the team works now.
const MOST_THREADS: usize = 40;
/// So many threads make a habit; who said no is asked again when it has doubled.
const HABIT: [usize; 3] = [3, 6, 12];

/// Looks back over the last threads, after a merge. Nobody's work depends on it.
pub(crate) async fn offer(context: &ThreadContext, order: &Order) {
    look(context, order)
        .await
        .or_warn("nothing was offered to be kept");
}

async fn look(context: &ThreadContext, order: &Order) -> Result<(), AgentError> {
    let control = &context.poster.control;
    let mut plans = control.plans().await?;
    plans.retain(|one| {
        one.choice == Some(Choice::Approve) && (one.merged || one.thread == context.thread)
    });
    plans.sort_by(|one, other| one.thread.root.cmp(&other.thread.root));
    let old = plans.len().saturating_sub(MOST_THREADS);
    let plans = plans.split_off(old);
    let digests = context.agent.digests.last(&context.agent, &plans).await?;
    let mut digests: BTreeMap<ThreadId, Digest> = digests.into_iter().collect();
    let (mut built, mut failed) = (Vec::new(), Vec::new());
    // This thread is the newest, whenever it began.
    let (own, others): (Vec<_>, Vec<_>) = plans
        .into_iter()
        .partition(|one| one.thread == context.thread);
    for one in others.into_iter().chain(own) {
        let Some(digest) = digests.remove(&one.thread) else {
            continue;
        };
        failed.push((one.thread, digest.failed));
        built.extend(digest.request.map(|request| Built {
            request,
            plan: one.plan,
        }));
    }
    let playbook = context.agent.playbook().await;
    if let Some(grown) = playbook.grown_skill(&built)
        && HABIT.contains(&grown.phrases.len())
    {
        skill(context, order, &grown).await?;
    }
    for command in repeated(context, &failed) {
        check(context, order, &command).await?;
    }
    Ok(())
}

/// The words with which a person opened a thread.
pub(crate) fn request<'a>(mut lines: impl Iterator<Item = &'a Record>) -> Option<String> {
    lines.find_map(|line| match line {
        Record::User {
            speaker: Speaker::Person { .. },
            text,
            ..
        } => Some(text.clone()),
        _ => None,
    })
}

async fn skill(context: &ThreadContext, order: &Order, grown: &Grown) -> Result<(), AgentError> {
    let request = request_nth(&CallId::new(format!("{}-skill", order.request)), 0);
    let phrases: Vec<String> = grown
        .phrases
        .iter()
        .map(|one| format!("\u{201c}{one}\u{201d}"))
        .collect();
    let why = format!(
        "asked for {} times; as a skill it needs no plan and no questions",
        grown.phrases.len()
    );
    let proposal = Proposal {
        file: grown.file.clone(),
        change: Change::Passage {
            old: String::new(),
            new: grown.text.trim_end().to_owned(),
            why,
        },
    };
    let idem = context.idem_for(&request, "skill");
    let tried = Remark::runtime("Tried with", phrases.join(", "));
    let card = NewCard::new(request, Subject::Learning(Box::new(proposal))).with([tried]);
    context.put_up(idem, card).await?;
    Ok(())
}

/// Commands of a shell that failed in a thread, each once.
pub(crate) fn failures<'a>(lines: impl Iterator<Item = &'a Record>) -> BTreeSet<String> {
    let mut calls: Vec<ToolCall> = Vec::new();
    let mut failed = BTreeSet::new();
    for line in lines {
        match line {
            Record::Assistant { calls: made, .. } => {
                calls.extend(made.iter().filter(|call| call.name == "Bash").cloned());
            }
            Record::ToolResult { call, outcome } => {
                let made = calls.iter().find(|made| made.id == *call);
                let command = made.and_then(|made| made.arguments["command"].as_str());
                // What is not there or was stopped says nothing about the code.
                let ended = outcome.text.strip_prefix("exit ");
                let code = ended.and_then(|ended| ended.split_whitespace().next());
                let red = matches!(code, Some("1" | "2"));
                if let Some(command) = command.filter(|_| red) {
                    failed.insert(command.split_whitespace().collect::<Vec<_>>().join(" "));
                }
            }
            _ => {}
        }
    }
    failed
}

/// Commands that failed in this thread and by now in so many that it is a habit, and
/// that no check runs.
fn repeated(context: &ThreadContext, failed: &[(ThreadId, BTreeSet<String>)]) -> Vec<String> {
    let rules = context.agent.rules();
    let checks: Vec<&str> = rules
        .checks
        .iter()
        .map(|one| one.command.as_str())
        .collect();
    let Some((_, own)) = failed.iter().find(|(thread, _)| *thread == context.thread) else {
        return Vec::new();
    };
    let habit = own.iter().filter(|command| {
        let times = failed
            .iter()
            .filter(|(_, commands)| commands.contains(*command));
        let known = checks.iter().any(|check| check.contains(command.as_str()));
        !known && is_check(command) && HABIT.contains(&times.count())
    });
    habit.take(1).cloned().collect()
}

/// A command that only looks: one word of a tool and what it looks at, no plumbing.
fn is_check(command: &str) -> bool {
    let plain = !command.contains(['|', '>', '<', ';', '&', '$', '`', '\n']);
    let first = command.split_whitespace().next().unwrap_or_default();
    let looks = !matches!(
        first,
        "grep" | "rg" | "ls" | "cat" | "test" | "git" | "cd" | "find" | "sed"
    );
    plain && looks && command.len() <= 120
}

/// Configuration is a person's to change: they get the words for it.
async fn check(context: &ThreadContext, order: &Order, command: &str) -> Result<(), AgentError> {
    let words = command.split_whitespace().take(2);
    let name: Vec<String> = words
        .map(|word| word.rsplit('/').next().unwrap_or(word))
        .map(|word| word.chars().filter(char::is_ascii_alphanumeric).collect())
        .collect();
    let quoted = command.replace('\'', "'\\''");
    let text = format!(
        "`{command}` has failed in several threads before their review, this one too. As a check nothing is handed over before it passes: `codebutler init --check {}='{quoted}'`.",
        name.join("-")
    );
    let text = context.agent.clean(&text);
    context.say_of(&order.request, "guardrail", &text).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_looks_at_the_code_becomes_a_check() {
        for command in ["shellcheck notes.sh", "npm run lint", "sh tests/style.sh"] {
            assert!(is_check(command), "{command}");
        }
        for command in [
            "grep foo notes.sh",
            "cd x && make",
            "cat a | wc -l",
            "rm -rf $HOME",
        ] {
            assert!(!is_check(command), "{command}");
        }
    }
}
