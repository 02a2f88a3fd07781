//! What a person can always do: have the merge put before them again, hold it,
//! try it again, put the thread away. Carried out by the runtime; no model is asked.

use std::sync::Arc;

use butler_protocol::{CallId, DecisionKind, PersonAct, PrNumber, Remark, Role, Subject};
use butler_repo::{Error, PullRequest, knowledge_branch, short_of, tree_of};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::{
    TeamError,
    decide::{
        blocked_merge,
        cards::{self, NewCard},
        evidence,
    },
    listen::intake::Ack,
    thread::{
        context::{Seat, request_nth},
        effects::Done,
    },
    tools::{MergeSubject, research},
    upkeep::garbage,
};

/// What somebody asked for.
#[derive(Debug, Clone)]
pub struct Asked {
    /// What.
    pub what: PersonAct,
    /// By whom.
    pub name: String,
    /// The message or press: the same one is answered once.
    pub key: String,
}

const BUTTON: &str = "cb-act-";

/// The buttons under a refused merge.
pub fn way_on() -> Vec<(String, &'static str)> {
    let buttons = [
        (PersonAct::TryAgain, "Try again"),
        (PersonAct::Hold, "Hold"),
        // Closing is decided on the card, as merging is.
        (PersonAct::Merge, "Close"),
    ];
    let button = |(act, label): (PersonAct, _)| (format!("{BUTTON}{}", act.as_str()), label);
    buttons.map(button).to_vec()
}

/// What a press asks for.
pub fn pressed(action: &str) -> Option<PersonAct> {
    action.strip_prefix(BUTTON)?.parse().ok()
}

/// Does it. What the forge or git cannot do is said, not tried for ever.
pub async fn carry_out(
    seat: Seat,
    asked: Asked,
    ack: Option<Ack>,
    cancel: CancellationToken,
) -> Done {
    let outcome = match asked.what {
        PersonAct::Merge => put_up(&seat, &asked, &cancel).await,
        PersonAct::Hold => hold(&seat, &asked).await,
        PersonAct::TryAgain => try_again(&seat, &asked, &cancel).await,
        PersonAct::Archive => {
            garbage::archive(
                &Arc::clone(&seat.office),
                &seat.thread,
                &asked.key,
                &asked.name,
            )
            .await
        }
    };
    match outcome {
        Ok(()) => Done::Acted(ack),
        Err(TeamError::Repo(error)) if !matches!(error, Error::Cancelled { .. }) => {
            warn!(%error, what = asked.what.as_str(), "a person's word could not be carried out");
            let text = "That did not work just now: git or the forge does not answer as it should. The log says more; say it again in a moment.";
            match say(&seat, &asked, "failed", text).await {
                Ok(()) => Done::Acted(ack),
                Err(error) => Done::Failed(error),
            }
        }
        Err(error) => Done::Failed(error),
    }
}

/// A fresh merge card for the pull request as it is now, with all its evidence.
async fn put_up(seat: &Seat, asked: &Asked, cancel: &CancellationToken) -> Result<(), TeamError> {
    let Some(pull) = open_pull(seat, cancel).await? else {
        let text = "There is no open pull request in this thread any more, so there is nothing to merge or close.";
        return say(seat, asked, "nothing", text).await;
    };
    let subject = subject(seat, &pull, cancel).await?;
    let request = request_nth(&CallId::new(format!("act-{}", asked.key)), 0);
    let card = NewCard {
        request: request.clone(),
        kind: DecisionKind::Merge,
        subject: Subject::of(&subject),
        remarks: vec![Remark::runtime("Asked for by", &asked.name)],
        kept: json!({"merge": subject}),
    };
    let record = cards::post(seat, seat.idem_for(&request, "act"), card).await?;
    seat.write(record);
    Ok(())
}

/// The open pull request of the thread: its code, or else what it learned.
async fn open_pull(
    seat: &Seat,
    cancel: &CancellationToken,
) -> Result<Option<PullRequest>, TeamError> {
    let short = seat.thread.short();
    let mut pulls = seat.office.forge.list(true, cancel).await?;
    pulls.retain(|pull| short_of(&pull.branch) == Some(short.as_str()));
    let knowledge = knowledge_branch(&seat.thread);
    pulls.sort_by_key(|pull| pull.branch == knowledge);
    Ok(pulls.into_iter().next())
}

async fn subject(
    seat: &Seat,
    pull: &PullRequest,
    cancel: &CancellationToken,
) -> Result<MergeSubject, TeamError> {
    let knowledge = pull.branch == knowledge_branch(&seat.thread);
    let verdict = seat.facts().verdict.clone();
    let verdict = verdict.filter(|(_, pr)| *pr == pull.number);
    let said = described(seat, pull.number);
    let (title, description, writer) =
        said.unwrap_or_else(|| (pull.title.clone(), pull.body.clone(), Role::Coder));
    // Fetched here: the evidence looks at commits.
    let evidence = if knowledge {
        evidence::of_knowledge(seat, pull, cancel).await
    } else {
        evidence::of_pull(
            seat,
            pull,
            verdict.as_ref().map(|(verdict, _)| verdict),
            cancel,
        )
        .await
    };
    Ok(MergeSubject {
        pr: pull.number,
        tree: tree_of(seat.office.repo.git(), pull.head.as_str()).await?,
        head: pull.head.clone(),
        title,
        description,
        writer,
        evidence,
        research: if knowledge {
            None
        } else {
            research(seat, cancel).await
        },
        knowledge,
    })
}

/// What the Lead wrote about this pull request on an earlier card.
fn described(seat: &Seat, pr: PrNumber) -> Option<(String, String, Role)> {
    let facts = seat.facts();
    let subjects = facts.asked.values().filter_map(|asked| {
        serde_json::from_value::<MergeSubject>(asked.subject["merge"].clone()).ok()
    });
    let mut mine = subjects.filter(|subject| subject.pr == pr && subject.writer == Role::Lead);
    let subject = mine.next()?;
    Some((subject.title, subject.description, subject.writer))
}

async fn hold(seat: &Seat, asked: &Asked) -> Result<(), TeamError> {
    let text = format!(
        "Nothing is merged, as {} asked; the pull request stays open. `merge` puts it before you again.",
        asked.name
    );
    say(seat, asked, "held", &text).await
}

async fn try_again(
    seat: &Seat,
    asked: &Asked,
    cancel: &CancellationToken,
) -> Result<(), TeamError> {
    let refused = seat.facts().refused.clone();
    match refused {
        Some(refused) => blocked_merge::again(seat, &refused, cancel).await,
        None => {
            say(
                seat,
                asked,
                "no-merge",
                "No merge waits here; `merge` puts it before you.",
            )
            .await
        }
    }
}

async fn say(seat: &Seat, asked: &Asked, what: &str, text: &str) -> Result<(), TeamError> {
    let key = format!(
        "{}-{}-{what}-{}",
        seat.thread.short(),
        seat.role(),
        asked.key
    );
    let idem = butler_protocol::Idem::new(key);
    let line = &seat.line;
    line.say(&seat.thread, idem, text, Vec::<Role>::new())
        .await?;
    Ok(())
}
