//! Slack's upload by a person's own token, as SDKs do it with a user's: the files are
//! theirs, and the message that brings them is as if they had written it on the page.
//! For everything else people have `/v1`.

use std::sync::Arc;

use axum::http::HeaderMap;
use butler_protocol::MessageTs;
use serde_json::{Value, json};

use super::{
    args::Args,
    files::{announced, channel_of, settled, wanted_of},
    who,
};
use crate::{
    error::{Refusal, Result, refuse},
    hub::App,
    identity::Person,
    person_api::{MessageForm, person_actions},
    workspace::files::NewFile,
};

pub(super) async fn answer(
    app: &Arc<App>,
    person: Person,
    method: &str,
    args: &Args,
    headers: &HeaderMap,
) -> Result<Value> {
    let base = who::base_of(app, headers);
    match method {
        "files.getUploadURLExternal" => announce(app, person, args, base).await,
        "files.completeUploadExternal" => complete(app, person, args, base).await,
        _ => refuse(Refusal::InvalidAuth),
    }
}

async fn announce(app: &Arc<App>, person: Person, args: &Args, base: String) -> Result<Value> {
    person_actions::only_here(app)?;
    let length = args.number("length").ok_or(Refusal::InvalidArguments)?;
    let owner = person.id.as_str();
    let file = NewFile {
        owner: owner.to_owned(),
        user: owner.to_owned(),
        name: args.need("filename", Refusal::InvalidArguments)?,
        length,
    };
    app.write(move |tx| announced(tx.db(), &file, &base)).await
}

async fn complete(app: &Arc<App>, person: Person, args: &Args, base: String) -> Result<Value> {
    person_actions::only_here(app)?;
    let wanted = wanted_of(app, args)?;
    let channel = channel_of(args);
    let thread: Option<MessageTs> = args.ts("thread_ts", Refusal::InvalidThreadTs)?;
    let text = match args.text("initial_comment").unwrap_or_default() {
        none if none.trim().is_empty() => none,
        text => person_actions::checked(&text)?,
    };
    let rules = app.rules.clone();
    let write = app.write(move |tx| {
        let owner = person.id.as_str();
        let shown = settled(tx.db(), owner, &wanted, channel.as_ref(), &base)?;
        if let Some(channel) = channel {
            let form = MessageForm {
                brought: shown.clone(),
                base,
                ..MessageForm::words(channel, thread, text.clone())
            };
            person_actions::spoken(tx, &rules, &person, form, &text)?;
        }
        Ok(json!({"files": shown}))
    });
    write.await
}
