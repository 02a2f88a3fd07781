//! What people read and see of a pull request where it lives: its text, kept up to date in
//! a block that leaves their own words alone, its labels, whether it is a draft, and who
//! is asked to review it. The text is for reading; nothing depends on any of this, so what
//! the forge does not take is logged and the work goes on.

use std::fmt::Write;

use butler_protocol::{Picture, PullEvent, Receipt};
use butler_repo::{Edit, PullRequest, with_block};
use butler_turn::ThreadFold;
use tracing::warn;

use crate::{
    AgentError, ThreadContext,
    listen::issue,
    tell::{bill::Bill, forge_text, render, thread_logs::RoleLog, thread_page},
};

/// What stands in our block: what was done, what was approved and decided, how the checks
/// went, who worked on it, what it cost, where it was talked about.
pub(crate) async fn text(
    context: &ThreadContext,
    said: &str,
    receipt: Option<&Receipt>,
    pictures: Option<&[Picture]>,
) -> Result<String, AgentError> {
    let logs = context.logs().await?;
    let thread = context.poster.address(&context.thread).await;
    let thread = thread.unwrap_or_else(|| context.thread.to_string());
    let mut text = render(said, &logs, receipt, &thread);
    let mut kept = logs.iter().map(|log| log.fold.surface.pictures.as_slice());
    let kept = kept.rfind(|kept| !kept.is_empty());
    if let Some(one) = pictures.or(kept).and_then(|all| all.last()) {
        let channel = &context.thread.channel;
        let place = context.poster.address_of(channel, &one.message).await;
        let place = place.unwrap_or_else(|| format!("message {} of the thread", one.message));
        let _ = write!(text, "\n\n**How it looks, before and after:** {place}");
    }
    Ok(context.agent.clean(&forge_text::quiet(&text)))
}

fn render(said: &str, logs: &[RoleLog], receipt: Option<&Receipt>, thread: &str) -> String {
    let mut text = said.trim().to_owned();
    let plan = logs.iter().find_map(|log| log.fold.plan());
    if let Some((_, plan)) = plan {
        let _ = writeln!(text, "\n\n**Approved plan:** {}\n", plan.summary.trim());
        for one in &plan.criteria {
            let _ = write!(text, "\n- {one}");
        }
    }
    let decisions = thread_page::decisions(logs);
    if !decisions.is_empty() {
        let _ = write!(text, "\n\n**Decided by people:** {}", decisions.join("; "));
    }
    let checks = render::checks_line(receipt).replace("• ", "- ");
    let _ = write!(text, "\n\n{checks}");
    let _ = write!(text, "\n\n**Who worked on it:** {}", people(logs));
    let cost = Bill::of(logs).total().or_unknown();
    let _ = write!(text, "\n\n**Cost so far:** {cost}\n\nThread: {thread}");
    text.push_str(&issue::closing(&issue::of_logs(logs)));
    text
}

/// Who asked, and which roles have worked.
fn people(logs: &[RoleLog]) -> String {
    let asked = logs.iter().find_map(|log| log.fold.request.as_ref());
    let asked = asked.map(|request| format!("asked for by {}", request.name));
    let worked = logs.iter().filter(|log| !log.fold.bill.shares.is_empty());
    let mut roles: Vec<&str> = worked.map(|log| log.role.title()).collect();
    roles.dedup();
    let roles = (!roles.is_empty()).then(|| roles.join(", "));
    asked
        .into_iter()
        .chain(roles)
        .collect::<Vec<_>>()
        .join("; ")
}

/// Brings our block up to date; the title too, if one is given.
pub(crate) async fn update(
    context: &ThreadContext,
    pull: &PullRequest,
    title: Option<&str>,
    text: &str,
) {
    let body = with_block(&pull.body, text);
    let edit = Edit {
        title: title
            .filter(|title| *title != pull.title)
            .map(str::to_owned),
        body: (body != pull.body).then_some(body),
        base: None,
    };
    if edit.title.is_none() && edit.body.is_none() {
        return;
    }
    if let Err(error) = context
        .agent
        .forge
        .edit(pull.number, &edit, &context.cancel)
        .await
    {
        warn!(%error, pr = %pull.number, "the text of the pull request is not up to date");
    }
}

/// The labels that the repository's settings name.
pub(crate) async fn label(context: &ThreadContext, pull: &PullRequest) {
    let labels = context.agent.rules().labels.clone();
    if labels.is_empty() {
        return;
    }
    let put = context
        .agent
        .forge
        .label(pull.number, &labels, &context.cancel);
    if let Err(error) = put.await {
        warn!(%error, pr = %pull.number, "the pull request has no labels");
    }
}

/// It waits for people now: no draft any more, unless one of them made it one, and the
/// owners of what it changes are asked to review it.
pub(crate) async fn ready(context: &ThreadContext, pull: &PullRequest) {
    if !context.agent.forge.is_hosted() || made_a_draft(&context.facts()) {
        return;
    }
    let done = async {
        let agent = &context.agent;
        agent.forge.ready(pull.number, &context.cancel).await?;
        let files = context.files_at(&pull.head).await?;
        let owners = agent.forge.owners(&files, &context.cancel).await?;
        agent
            .forge
            .ask_reviews(pull.number, &owners, &context.cancel)
            .await
    };
    if let Err(error) = done.await {
        warn!(%error, pr = %pull.number, "the pull request could not be made ready for people");
    }
}

/// Whether somebody else made it a draft last.
pub(crate) fn made_a_draft(fold: &ThreadFold) -> bool {
    let last = fold.pulls.news.iter().rev().find_map(|one| match one {
        PullEvent::Draft { is } => Some(*is),
        _ => None,
    });
    last == Some(true)
}

#[cfg(test)]
mod tests {
    use butler_protocol::{Entry, Record, ReserveId, Role, TokenUsage, Usd};

    use super::*;

    #[test]
    fn it_says_who_worked_on_it_and_what_it_cost() {
        let log = |role, cents| {
            let record = Record::Settled {
                reserve: ReserveId::new("r"),
                cost: Usd::from_cents(cents),
                usage: TokenUsage::default(),
                model: "m".into(),
            };
            let entry = Entry {
                seq: 1,
                epoch: 1,
                at_ms: 0,
                record,
            };
            RoleLog::new(role, vec![entry])
        };
        let logs = [log(Role::Pm, 3), log(Role::Coder, 4)];
        let text = render("It greets. ", &logs, None, "https://x.invalid/t");
        assert_eq!(
            text,
            "It greets.\n\nChecks: **unverified**, no run of the checks for exactly this tree.\
             \n\n**Who worked on it:** PM, Coder\n\n**Cost so far:** $0.0700\n\n\
             Thread: https://x.invalid/t"
        );
    }
}
