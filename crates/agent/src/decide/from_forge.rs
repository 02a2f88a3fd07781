//! What the team does about what others did on the forge. It stands in the log before
//! any of it is told, and each post has the key of its place there: told once, however
//! often the process ends in between.

use butler_policy::Duty;
use butler_protocol::{
    CallId, Choice, DecisionKind, HandOver, MergeSubject, PrNumber, PullEvent, PullStatus,
    Reviewed, Role, TreeHash, UserId, fault,
};
use butler_repo::{Merge, without_marks};
use butler_turn::{Doing, Order, ThreadFold};

use crate::{
    AgentError, ThreadContext,
    decide::{merge, outcomes, person_actions},
    tell::{forge_text, render},
    thread::{context::request_nth, driver::Done, worker::Beside},
    upkeep::pull_news,
};

/// So often the Coder tries to make the checks green before a person is asked.
const ATTEMPTS: usize = 2;

/// What is to be done about the news, each with its place among all of them.
#[derive(Debug, Default, PartialEq, Eq)]
struct Plan {
    /// The Coder sees to it.
    work: Vec<PullEvent>,
    /// People are told.
    say: Vec<PullEvent>,
    /// A stranger wrote it: shown, and nobody acts on it without a word.
    strangers: Vec<(usize, PullEvent)>,
    /// The Coder tried often enough.
    stuck: Vec<(usize, PullEvent)>,
    /// It was merged or closed.
    end: Option<(usize, PullEvent)>,
}

impl Plan {
    fn of(fold: &ThreadFold) -> Self {
        let (pulls, mut plan) = (&fold.pulls, Self::default());
        for (number, one) in pulls.news.iter().enumerate().skip(pulls.told) {
            let one = one.clone();
            match &one {
                PullEvent::Merged { .. } | PullEvent::Closed { .. } => {
                    plan.end = Some((number, one));
                }
                PullEvent::Said(said) if !said.may_write => plan.strangers.push((number, one)),
                _ if pulls.is_over() => plan.say.push(one),
                PullEvent::Said(said) if said.review == Some(Reviewed::Approved) => {
                    plan.say.push(one);
                }
                PullEvent::CheckFailed(red) if red.on_base => plan.say.push(one),
                PullEvent::CheckFailed(red) if pulls.attempt(&red.head) > ATTEMPTS => {
                    plan.stuck.push((number, one));
                }
                PullEvent::Said(_)
                | PullEvent::CheckFailed(_)
                | PullEvent::Pushed { .. }
                | PullEvent::Conflict { .. } => plan.work.push(one),
                PullEvent::CheckRecovered { .. }
                | PullEvent::Draft { .. }
                | PullEvent::Reopened => plan.say.push(one),
            }
        }
        plan
    }
}

/// Tells what was not told yet, and sets in motion what follows from it.
pub(crate) async fn tell(context: ThreadContext) -> Done {
    let fold = context.facts();
    let count = fold.pulls.untold().len();
    fault("agent.before-forge-news");
    let told = carry_out(&context, &fold).await;
    fault("agent.after-forge-news");
    match told {
        Ok(()) => Done::Beside(Beside::PullTold(u32::try_from(count).unwrap_or(u32::MAX))),
        Err(error) => Done::Failed(error),
    }
}

async fn carry_out(context: &ThreadContext, fold: &ThreadFold) -> Result<(), AgentError> {
    let Some(seen) = &fold.pulls.seen else {
        return Ok(());
    };
    let (pr, first) = (seen.number, fold.pulls.told);
    let mut plan = Plan::of(fold);
    let stopped = !plan.work.is_empty() && is_stopped(context).await?;
    if stopped {
        plan.say.append(&mut plan.work);
    }
    if !plan.say.is_empty() {
        let mut lines: Vec<String> = plan
            .say
            .iter()
            .map(|one| forge_text::line(pr, one))
            .collect();
        if stopped {
            let coder = Role::Coder.mention();
            lines.push(format!(
                "Work in this thread is stopped, so nobody sees to it. Say `{coder} go on` if somebody should."
            ));
        }
        say(context, &format!("said-{first}"), &lines.join("\n\n")).await?;
    }
    if plan.say.contains(&PullEvent::Reopened) {
        pull_news::reopened(context, pr).await;
    }
    if !plan.work.is_empty() {
        hand_over(context, pr, plan.work, false, &format!("work-{first}")).await?;
    }
    for (number, one) in &plan.strangers {
        show(context, pr, *number, one).await?;
    }
    for (number, one) in &plan.stuck {
        ask(context, pr, *number, one).await?;
    }
    match plan.end {
        Some((number, PullEvent::Merged { commit, by })) => {
            let (order, subject) = ended(context, pr, number).await?;
            let text = format!(
                "{by} merged {pr} on the forge as `{}`.",
                render::short_sha(commit.as_str())
            );
            // Finds that it is merged, and takes the branch away that they may have left.
            let forge = &context.agent.forge;
            let merged = Merge::of(pr, &subject.head);
            forge.merge(&merged, &context.cancel).await?;
            // What was accepted here is not in what they merged.
            merge::finish(context, &order, &subject, (&commit, Vec::new()), &text).await
        }
        Some((number, PullEvent::Closed { by })) => {
            let (order, subject) = ended(context, pr, number).await?;
            pull_news::ended(context, &subject, PullStatus::Closed).await;
            let text = format!(
                "{by} closed {pr} on the forge without merging it. What was built stays on its branch; open it there again, and I take it up."
            );
            say(context, &format!("closed-{number}"), &text).await?;
            outcomes::collect(context, &order).await
        }
        _ => Ok(()),
    }
}

/// The pull request as a card would show it, and what would be ordered on one.
async fn ended(
    context: &ThreadContext,
    pr: PrNumber,
    number: usize,
) -> Result<(Order, MergeSubject), AgentError> {
    let view = context.agent.forge.view(pr, &context.cancel).await?;
    let call = CallId::new(format!("forge-{pr}-{number}"));
    let order = Order {
        request: request_nth(&call, 0),
        kind: DecisionKind::Merge,
        choice: Choice::Close,
        // It was nobody of this workspace.
        person: UserId::new(""),
    };
    let subject = MergeSubject {
        pr,
        head: view.head,
        tree: TreeHash::new(""),
        title: view.title,
        description: without_marks(&view.body),
        writer: context.role(),
        evidence: Vec::new(),
        research: None,
        knowledge: false,
    };
    Ok((order, subject))
}

/// Whether a person stopped the one who would have to see to it.
async fn is_stopped(context: &ThreadContext) -> Result<bool, AgentError> {
    let logs = context.logs().await?;
    let mut builders = logs.iter().filter(|log| Duty::Build.is_of(log.role));
    Ok(builders.any(|log| log.fold.doing == Some(Doing::Stopped)))
}

async fn hand_over(
    context: &ThreadContext,
    pr: PrNumber,
    news: Vec<PullEvent>,
    outside: bool,
    what: &str,
) -> Result<(), AgentError> {
    let body = HandOver::FromForge { pr, news, outside };
    context.hand_over(key(context, what), &body).await?;
    Ok(())
}

/// A stranger's words: people read them, models do not.
async fn show(
    context: &ThreadContext,
    pr: PrNumber,
    number: usize,
    one: &PullEvent,
) -> Result<(), AgentError> {
    let text = format!(
        "{}\n\n_Whoever wrote this may not push to the repository, so nobody here acts on it until one of you says so._",
        forge_text::line(pr, one)
    );
    let idem = forge_text::outside_key(&context.thread.short(), number);
    let buttons = person_actions::take_up(number, "Let the Coder see to it");
    let poster = &context.poster;
    poster.offer(&context.thread, idem, &text, &buttons).await?;
    Ok(())
}

/// The checks stay red: a person decides whether it goes on.
async fn ask(
    context: &ThreadContext,
    pr: PrNumber,
    number: usize,
    one: &PullEvent,
) -> Result<(), AgentError> {
    let text = format!(
        "{}\n\nThe Coder has tried {ATTEMPTS} times to make it green. What now?",
        forge_text::line(pr, one)
    );
    let idem = key(context, &format!("red-{number}"));
    let buttons = person_actions::take_up(number, "Let the Coder try again");
    context.ask_all(idem, &text, &buttons).await?;
    Ok(())
}

/// A person wants the Coder to see to one of the news.
pub(crate) async fn take_up(context: &ThreadContext, number: u32) -> Result<bool, AgentError> {
    let fold = context.facts();
    let number = usize::try_from(number).unwrap_or(usize::MAX);
    let (Some(seen), Some(one)) = (&fold.pulls.seen, fold.pulls.news.get(number)) else {
        return Ok(false);
    };
    let outside = matches!(one, PullEvent::Said(said) if !said.may_write);
    let what = format!("taken-{number}");
    hand_over(context, seen.number, vec![one.clone()], outside, &what).await?;
    Ok(true)
}

async fn say(context: &ThreadContext, what: &str, text: &str) -> Result<(), AgentError> {
    context.say(key(context, what), text).await?;
    Ok(())
}

fn key(context: &ThreadContext, what: &str) -> butler_protocol::Idem {
    context.key(format_args!("forge-{what}"))
}

#[cfg(test)]
mod tests {
    use butler_protocol::{CommitSha, Entry, PullSeen, Record, RedCheck, Said};

    use super::*;

    fn said(may_write: bool, review: Option<Reviewed>) -> PullEvent {
        PullEvent::Said(Said {
            id: "note-1".into(),
            by: "ana".into(),
            may_write,
            review,
            text: "x".into(),
            place: None,
            outdated: false,
        })
    }

    fn red(head: &str, on_base: bool) -> PullEvent {
        PullEvent::CheckFailed(RedCheck {
            name: "test".into(),
            head: CommitSha::new(head),
            on_base,
            log: String::new(),
            url: None,
        })
    }

    fn fold(steps: &[(PullStatus, Vec<PullEvent>)]) -> ThreadFold {
        let entries = steps.iter().map(|(state, news)| Entry {
            seq: 1,
            epoch: 1,
            at_ms: 0,
            record: Record::PullSeen {
                seen: Box::new(PullSeen {
                    number: PrNumber(1),
                    state: *state,
                    head: CommitSha::new("h"),
                    draft: false,
                    conflict: false,
                    said: Default::default(),
                    red: [("test".to_owned(), CommitSha::new("h"))].into(),
                }),
                news: news.clone(),
            },
        });
        ThreadFold::of(&entries.collect::<Vec<_>>())
    }

    #[test]
    fn only_who_may_write_gives_work_and_an_approval_gives_none() {
        let news = vec![
            said(true, None),
            said(false, None),
            said(true, Some(Reviewed::Approved)),
            said(true, Some(Reviewed::ChangesRequested)),
        ];
        let plan = Plan::of(&fold(&[(PullStatus::Open, news.clone())]));
        assert_eq!(plan.work, [news[0].clone(), news[3].clone()]);
        assert_eq!(plan.strangers, [(1, news[1].clone())]);
        assert_eq!(plan.say, [news[2].clone()]);
        let over = Plan::of(&fold(&[(PullStatus::Merged, news)]));
        assert_eq!(over.work, []);
    }

    #[test]
    fn red_checks_are_tried_twice_and_those_of_the_base_never() {
        let open = |news| (PullStatus::Open, news);
        let steps = [
            open(vec![red("a", false), red("a", true)]),
            open(vec![red("b", false)]),
            open(vec![red("c", false)]),
        ];
        let plan = Plan::of(&fold(&steps));
        assert_eq!(plan.work, [red("a", false), red("b", false)]);
        assert_eq!(plan.say, [red("a", true)]);
        assert_eq!(plan.stuck, [(3, red("c", false))]);
    }
}
