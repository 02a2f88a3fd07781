//! The review of a change: its page, and what people send from there. Every form works
//! without script: it answers with the page that it changed.

use std::sync::Arc;

use axum::{
    Form, Router,
    extract::{Path, Query},
    response::Redirect,
    routing::{get, post},
};
use butler_protocol::{ChannelId, DecisionKind, MessageTs, ThreadId};
use serde::Deserialize;

use super::{
    Shown, Turned,
    render::diff,
    view::{
        changes::{self, ChangesView, Look},
        overviews::place,
        thread::address,
    },
    visit::{Visit, with_twin},
};
use crate::{
    error::{Refusal, Result, Trouble},
    hub::App,
    person_api::{
        MessageForm,
        person_actions::{self, thread_actions},
    },
    store::Db,
    views::{
        Side, needs, overview, pulls,
        review::{self, Lines, NewComment},
        timeline,
    },
    workspace::{access, decide, message, read},
};

type Thread = Path<(ChannelId, MessageTs)>;
type Sent = Result<Redirect, Turned>;

pub(super) fn routes() -> Router<Arc<App>> {
    with_twin(Router::new(), ("/c/{channel}/{ts}/changes", get(page)))
        .route("/c/{channel}/{ts}/review/comment", post(comment))
        .route("/c/{channel}/{ts}/review/drop", post(drop_draft))
        .route("/c/{channel}/{ts}/review/send", post(send))
        .route("/c/{channel}/{ts}/review/viewed", post(viewed))
}

async fn gather(
    visit: &Visit,
    (channel, ts): (ChannelId, MessageTs),
    look: Look,
) -> Result<ChangesView> {
    let (channel, thread) = place(&visit.app, channel, ts).await?;
    let reader = visit.reader();
    let store = &visit.app.store;
    store
        .read(move |db| {
            let decisions = decide::of_thread(db, &thread)?;
            let merges =
                |one: &&butler_protocol::DecisionView| one.asked.kind == DecisionKind::Merge;
            let mut cards = Vec::new();
            for one in decisions.iter().filter(merges) {
                if let Some(found) = message::find(db, &thread.channel, &one.asked.message)? {
                    cards.push(read::shown(db, &thread.channel, found, true)?);
                }
            }
            let (rules, person) = reader.who();
            let decidable = access::decidable(db, rules, &channel.repo, &decisions, person)?;
            let words = thread_actions::possible(db, &thread, &decisions)?;
            let records = overview::records(db, &thread)?;
            Ok(ChangesView {
                pull: pulls::of_thread(db, &thread)?,
                moments: timeline::tell(&[], &records),
                can: thread_actions::allowed(db, rules, person, &thread, words)?,
                highest: access::highest(db, rules, person)?,
                decidable: decidable.into_iter().map(|one| one.asked.request).collect(),
                comments: review::comments(db, &thread, &person.id)?,
                viewed: review::viewed(db, &thread, &person.id)?,
                title: needs::title(db, &thread)?,
                names: reader.names(db)?,
                around: reader.around(db, Some(&channel.repo))?,
                decisions,
                cards,
                channel,
                thread,
                look,
            })
        })
        .await
}

async fn page(visit: Visit, Path(at): Thread, Query(look): Query<Look>) -> Shown {
    let view = gather(&visit, at, look).await?;
    visit.draw(&view, changes::page, changes::parts)
}

/// The page again, as it was looked at. Only a query is taken from the form: it must
/// not lead anywhere else.
fn again(thread: &ThreadId, back: &str, anchor: &str) -> Redirect {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '?' | '&' | '=');
    let kept = back.starts_with('?') && back.chars().all(plain);
    let query = if kept { back } else { "" };
    Redirect::to(&format!("{}{query}{anchor}", address(thread, "/changes")))
}

/// What somebody says about lines.
#[derive(Deserialize)]
struct CommentForm {
    path: String,
    side: String,
    first: u32,
    last: u32,
    #[serde(default)]
    text: String,
    suggestion: Option<String>,
    #[serde(default)]
    back: String,
}

/// The lines that are meant, as the change has them now, and the file's number.
fn new_comment(db: &Db, thread: &ThreadId, form: &CommentForm) -> Result<(NewComment, usize)> {
    let unknown = || Trouble::Refused(Refusal::NotInChange);
    let side = Side::of_letter(&form.side).ok_or_else(unknown)?;
    let (first, last) = (form.first.min(form.last), form.first.max(form.last));
    let pull = pulls::of_thread(db, thread)?.ok_or_else(unknown)?;
    let files = diff::files(pull.diff.as_deref().unwrap_or_default());
    let index = files.iter().position(|file| file.path == form.path);
    let index = index.ok_or_else(unknown)?;
    let file = files.get(index).ok_or_else(unknown)?;
    let quote = file.quote(side, first, last).ok_or_else(unknown)?;
    let unix = |text: &str| text.replace("\r\n", "\n");
    // What was left as it is, is no suggestion.
    let suggestion = form.suggestion.as_deref().map(unix);
    let suggestion = suggestion.filter(|new| {
        side == Side::New && new.trim_end_matches('\n') != quote.trim_end_matches('\n')
    });
    let comment = NewComment {
        lines: Lines {
            path: form.path.clone(),
            side,
            first,
            last,
        },
        digest: file.digest(),
        quote,
        text: unix(&form.text),
        suggestion,
    };
    Ok((comment, index))
}

/// Keeps a comment until the review is sent.
async fn comment(
    Visit { app, person, .. }: Visit,
    Path((channel, ts)): Thread,
    Form(form): Form<CommentForm>,
) -> Sent {
    person_actions::only_here(&app)?;
    let (_, thread) = place(&app, channel, ts).await?;
    let (at, back) = (thread.clone(), form.back.clone());
    let anchor = app
        .write(move |tx| {
            let (new, file) = new_comment(tx.db(), &at, &form)?;
            review::draft(tx.db(), &at, &person.id, &new)?;
            Ok(format!("#f{file}{}{}", form.side, new.lines.last))
        })
        .await?;
    Ok(again(&thread, &back, &anchor))
}

#[derive(Deserialize)]
struct DropForm {
    id: i64,
    #[serde(default)]
    back: String,
}

async fn drop_draft(
    Visit { app, person, .. }: Visit,
    Path((channel, ts)): Thread,
    Form(form): Form<DropForm>,
) -> Sent {
    let (_, thread) = place(&app, channel, ts).await?;
    let write = app.write(move |tx| review::drop_draft(tx.db(), &person.id, form.id));
    write.await?;
    Ok(again(&thread, &form.back, ""))
}

#[derive(Deserialize)]
struct SendForm {
    #[serde(default)]
    back: String,
}

/// Says all drafts to the Coder, as one message of this person.
async fn send(
    Visit { app, person, .. }: Visit,
    Path((channel, ts)): Thread,
    Form(form): Form<SendForm>,
) -> Sent {
    person_actions::only_here(&app)?;
    let (_, thread) = place(&app, channel, ts).await?;
    let (at, rules) = (thread.clone(), app.rules.clone());
    app.write(move |tx| {
        let missing = || Trouble::Refused(Refusal::NotInChange);
        let pull = pulls::of_thread(tx.db(), &at)?.ok_or_else(missing)?;
        let head: String = pull.head.chars().take(10).collect();
        let about = format!("#{} at `{head}`", pull.number);
        let (text, numbers) = review::findings(tx.db(), &at, &person.id, &about)?;
        let text = person_actions::checked(&text)?;
        let thread = Some(at.root.clone());
        let form = MessageForm {
            // Quoted code decides nothing.
            only_words: true,
            ..MessageForm::words(at.channel.clone(), thread, text.clone())
        };
        let (ts, _) = person_actions::spoken(tx, &rules, &person, form, &text)?;
        review::sent(tx.db(), &numbers, &ts)
    })
    .await?;
    Ok(again(&thread, &form.back, ""))
}

#[derive(Deserialize)]
struct ViewedForm {
    path: String,
    /// Without it the mark goes.
    digest: Option<String>,
    #[serde(default)]
    back: String,
}

/// Marks a file as gone through.
async fn viewed(
    Visit { app, person, .. }: Visit,
    Path((channel, ts)): Thread,
    Form(form): Form<ViewedForm>,
) -> Sent {
    let (_, thread) = place(&app, channel, ts).await?;
    let at = thread.clone();
    let (path, digest) = (form.path, form.digest);
    app.write(move |tx| review::view(tx.db(), &at, &person.id, &path, digest.as_deref()))
        .await?;
    Ok(again(&thread, &form.back, ""))
}
