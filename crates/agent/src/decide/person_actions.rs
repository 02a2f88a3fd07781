//! What a person can always do: have the merge put before them again, hold it,
//! try it again, put the thread away, bring files back. Carried out by the runtime; no model is asked.

use std::sync::Arc;

use butler_policy::Duty;
use butler_protocol::{
    CallId, MergeSubject, PersonAct, PrNumber, Remark, RequestId, Role, Subject,
};
use butler_repo::{Error, PullRequest, Undo, knowledge_branch, short_of, tree_of, without_marks};
use tracing::warn;

use crate::{
    AgentError, ThreadContext,
    decide::{blocked_merge, cards::NewCard, evidence, from_forge, remember},
    listen::intake::Ack,
    thread::{context::request_nth, driver::Done, worker::Beside},
    tools::research,
    upkeep::{garbage, pull_page},
};

/// What somebody asked for.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// What.
    pub what: PersonAct,
    /// By whom.
    pub name: String,
    /// The message or press: the same one is answered once.
    pub key: String,
    /// What they said, where that matters.
    pub words: String,
}

const BUTTON: &str = "cb-act-";

/// The buttons under a refused merge.
pub(crate) fn way_on() -> Vec<(String, &'static str)> {
    let buttons = [
        (PersonAct::TryAgain, "Try again"),
        (PersonAct::Hold, "Hold"),
        // Closing is decided on the card, as merging is.
        (PersonAct::Merge, "Close"),
    ];
    let button = |(act, label): (PersonAct, _)| (format!("{BUTTON}{act}"), label);
    buttons.map(button).to_vec()
}

/// The button under something from the forge that waits for a word.
pub(crate) fn take_up(number: usize, label: &str) -> Vec<(String, &str)> {
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    vec![(format!("{BUTTON}{}", PersonAct::TakeUp(number)), label)]
}

/// What a press asks for.
pub(crate) fn pressed(action: &str) -> Option<PersonAct> {
    action.strip_prefix(BUTTON)?.parse().ok()
}

/// Does it. What the forge or git cannot do is said, not tried for ever.
pub(crate) async fn carry_out(context: ThreadContext, asked: Asked, ack: Option<Ack>) -> Done {
    let outcome = match asked.what {
        PersonAct::Merge => put_up(&context, &asked).await,
        PersonAct::Hold => hold(&context, &asked).await,
        PersonAct::TryAgain => try_again(&context, &asked).await,
        PersonAct::Archive => {
            garbage::archive(
                &Arc::clone(&context.agent),
                &context.thread,
                &asked.key,
                &asked.name,
            )
            .await
        }
        PersonAct::Remember => remember::put_up(&context, &asked).await,
        PersonAct::Undo(number) => undo(&context, &asked, number).await,
        PersonAct::TakeUp(number) => taken_up(&context, &asked, number).await,
    };
    match outcome {
        Ok(()) => Done::Beside(Beside::Acted(ack)),
        Err(AgentError::Repo(error)) if !matches!(error, Error::Cancelled { .. }) => {
            warn!(%error, what = %asked.what, "a person's word could not be carried out");
            let text = "That did not work just now: git or the forge does not answer as it should. The log says more; say it again in a moment.";
            match say(&context, &asked, "failed", text).await {
                Ok(()) => Done::Beside(Beside::Acted(ack)),
                Err(error) => Done::Failed(error),
            }
        }
        Err(error) => Done::Failed(error),
    }
}

/// A fresh merge card for the pull request as it is now, with all its evidence.
async fn put_up(context: &ThreadContext, asked: &Asked) -> Result<(), AgentError> {
    let Some(pull) = open_pull(context).await? else {
        let text = "There is no open pull request in this thread any more, so there is nothing to merge or close.";
        return say(context, asked, "nothing", text).await;
    };
    let request = request_nth(&CallId::new(format!("act-{}", asked.key)), 0);
    let remark = Remark::runtime("Asked for by", &asked.name);
    post_card(context, &pull, request, remark).await
}

async fn post_card(
    context: &ThreadContext,
    pull: &PullRequest,
    request: RequestId,
    remark: Remark,
) -> Result<(), AgentError> {
    pull_page::ready(context, pull).await;
    let subject = subject(context, pull).await?;
    let idem = context.idem_for(&request, "act");
    let card = NewCard::new(request, Subject::Merge(Box::new(subject))).with([remark]);
    context.put_up(idem, card).await?;
    Ok(())
}

/// What the Researcher kept in a thread without code is put before people by
/// itself, once for each state of it; with code it is merged along.
pub(crate) async fn put_up_findings(context: &ThreadContext) -> Result<(), AgentError> {
    if context.agent.repo.find(&context.thread).await?.is_some() {
        return Ok(());
    }
    let Some(pull) = open_pull(context).await? else {
        return Ok(());
    };
    let request = request_nth(&CallId::new(format!("found-{}", pull.head)), 0);
    if context.facts().cards.asked.contains_key(&request) {
        return Ok(());
    }
    let remark = Remark::runtime("Kept by", Role::Researcher.title());
    post_card(context, &pull, request, remark).await
}

/// The open pull request of the thread: its code, or else what it learned.
async fn open_pull(context: &ThreadContext) -> Result<Option<PullRequest>, AgentError> {
    let short = context.thread.short();
    let mut pulls = context.agent.forge.list(true, &context.cancel).await?;
    pulls.retain(|pull| short_of(&pull.branch) == Some(short.as_str()));
    let knowledge = knowledge_branch(&context.thread);
    pulls.sort_by_key(|pull| pull.branch == knowledge);
    Ok(pulls.into_iter().next())
}

async fn subject(context: &ThreadContext, pull: &PullRequest) -> Result<MergeSubject, AgentError> {
    let knowledge = pull.branch == knowledge_branch(&context.thread);
    let verdict = context.facts().review.verdict.clone();
    let verdict = verdict.filter(|(_, pr)| *pr == pull.number);
    let said = described(context, pull.number);
    let (title, description, writer) =
        said.unwrap_or_else(|| (pull.title.clone(), without_marks(&pull.body), Role::Coder));
    // Fetched here: the evidence looks at commits.
    let evidence = if knowledge {
        evidence::of_knowledge(context, pull).await
    } else {
        evidence::of_pull(context, pull, verdict.as_ref().map(|(verdict, _)| verdict)).await
    };
    Ok(MergeSubject {
        pr: pull.number,
        tree: tree_of(context.agent.repo.git(), pull.head.as_str()).await?,
        head: pull.head.clone(),
        title,
        description,
        writer,
        evidence,
        research: if knowledge {
            None
        } else {
            research(context).await
        },
        knowledge,
    })
}

/// What the Lead wrote about this pull request on an earlier card.
fn described(context: &ThreadContext, pr: PrNumber) -> Option<(String, String, Role)> {
    let facts = context.facts();
    let mut subjects = facts
        .cards
        .asked
        .values()
        .filter_map(|asked| match &asked.subject {
            Subject::Merge(merge) if merge.pr == pr && Duty::Remember.is_of(merge.writer) => {
                Some(merge)
            }
            _ => None,
        });
    let said = subjects.next()?;
    Some((said.title.clone(), said.description.clone(), said.writer))
}

/// What came from the forge goes to the Coder, because a person says so.
async fn taken_up(context: &ThreadContext, asked: &Asked, number: u32) -> Result<(), AgentError> {
    if from_forge::take_up(context, number).await? {
        return Ok(());
    }
    let text = "I do not know any more what that was about; nothing was done.";
    say(context, asked, "unknown", text).await
}

async fn hold(context: &ThreadContext, asked: &Asked) -> Result<(), AgentError> {
    let text = format!(
        "Nothing is merged, as {} asked; the pull request stays open. Say `merge` to get its card again.",
        asked.name
    );
    say(context, asked, "held", &text).await
}

async fn try_again(context: &ThreadContext, asked: &Asked) -> Result<(), AgentError> {
    let refused = context.facts().cards.refused.clone();
    match refused {
        Some(refused) => blocked_merge::again(context, &refused).await,
        None => {
            say(
                context,
                asked,
                "no-merge",
                "No merge is waiting here; say `merge` to get the merge card.",
            )
            .await
        }
    }
}

/// Brings the files of the worktree back, once nobody works in it.
async fn undo(context: &ThreadContext, asked: &Asked, number: u32) -> Result<(), AgentError> {
    let worktree = context.agent.repo.find(&context.thread).await?;
    let Some(worktree) = worktree else {
        let text = "This thread has no files of its own right now, so there is nothing to undo.";
        return say(context, asked, "no-files", text).await;
    };
    let _alone = worktree.lock().await?;
    let Some(undo) = Undo::of(&worktree.path, worktree.short()) else {
        let text = "Git keeps no history of this thread's files, so nothing was saved.";
        return say(context, asked, "no-history", text).await;
    };
    let name = format!("{}/{number}", worktree.short());
    let saved = undo.list(&context.cancel).await?;
    let Some(wanted) = saved.iter().find(|one| one.name == name) else {
        let text = format!("Nothing is saved here as {number} (any more); nothing was changed.");
        return say(context, asked, "not-saved", &text).await;
    };
    let restored = undo.restore(wanted, &context.cancel).await?;
    let text = format!(
        "The files are as they were {}: {} written, {} removed, as {} asked. What was there is \
         saved too, as {}.",
        wanted.why, restored.written, restored.removed, asked.name, restored.before
    );
    say(context, asked, "undone", &text).await
}

async fn say(
    context: &ThreadContext,
    asked: &Asked,
    what: &str,
    text: &str,
) -> Result<(), AgentError> {
    let key = context.key(format_args!("{what}-{}", asked.key));
    context.say(key, text).await?;
    Ok(())
}
