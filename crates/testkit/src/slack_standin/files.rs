//! Upload in three steps; sharing happens a moment after the last of them, and
//! its message is in no answer. A download without the token is a page that
//! asks to sign in, with status 200.

use std::time::Duration;

use axum::{
    body::Bytes,
    extract::{Path, Query, State as Here},
    http::{HeaderMap, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::{
    Shared,
    state::{APP, BOT, BOT_USER, File, State},
    web::{Answer, Args, no},
};

/// Between the last step and the message that shares the file.
const SHARING: Duration = Duration::from_millis(40);

impl State {
    pub(super) fn share(
        &mut self,
        user: &str,
        channel: &str,
        text: &str,
        files: &[(&str, &[u8])],
    ) -> String {
        let mut ids = Vec::new();
        for (name, bytes) in files {
            let id = self.fresh("F0");
            let file = File {
                name: (*name).to_owned(),
                user: user.to_owned(),
                bytes: bytes.to_vec(),
                key: String::new(),
                share: None,
            };
            self.files.insert(id.clone(), file);
            ids.push(id);
        }
        let shown: Vec<Value> = ids.iter().map(|id| self.shown(id)).collect();
        let message = json!({"subtype": "file_share", "user": user, "text": text,
            "files": shown});
        let ts = self.write(channel, None, message);
        for id in ids {
            self.shared_as(&id, channel, &ts);
        }
        ts
    }

    fn shared_as(&mut self, id: &str, channel: &str, ts: &str) {
        if let Some(file) = self.files.get_mut(id) {
            file.share = Some((channel.to_owned(), ts.to_owned()));
        }
    }

    fn shown(&self, id: &str) -> Value {
        let file = &self.files[id];
        let link = self.link(&format!("files-pri/{id}"));
        let shares = match &file.share {
            Some((channel, ts)) => json!({"public": {channel: [{"ts": ts}]}}),
            None => json!({}),
        };
        let ending = file.name.rsplit_once('.').map_or("text", |(_, end)| end);
        json!({"id": id, "name": file.name, "title": file.name,
            "mimetype": mimetype(ending), "filetype": ending, "size": file.bytes.len(), "user": file.user,
            "url_private": link, "url_private_download": link, "shares": shares})
    }
}

/// What Slack calls a file, by its name.
fn mimetype(ending: &str) -> &'static str {
    match ending {
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "pdf" => "application/pdf",
        "wav" => "audio/x-wav",
        "zip" => "application/zip",
        _ => "text/plain",
    }
}

pub(super) fn address(state: &mut State, args: &Args) -> Answer {
    let Some(name) = args.text("filename") else {
        return no("invalid_arguments");
    };
    let (id, key) = (state.fresh("F0"), state.key());
    let url = state.link(&format!("upload/{id}?key={key}"));
    let file = File {
        name,
        user: BOT_USER.to_owned(),
        bytes: Vec::new(),
        key,
        share: None,
    };
    state.files.insert(id.clone(), file);
    Ok(json!({"upload_url": url, "file_id": id}))
}

#[derive(serde::Deserialize)]
pub(super) struct Key {
    key: String,
}

pub(super) async fn upload(
    Here(shared): Here<Shared>,
    Path(id): Path<String>,
    Query(Key { key }): Query<Key>,
    body: Bytes,
) -> Response {
    let mut state = shared.lock();
    match state.files.get_mut(&id) {
        Some(file) if file.key == key => {
            file.bytes = body.to_vec();
            format!("OK - {}", body.len()).into_response()
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

pub(super) fn complete(shared: &Shared, state: &mut State, args: &Args) -> Answer {
    let listed = args.get("files").and_then(Value::as_array).cloned();
    let ids: Vec<String> = listed
        .iter()
        .flatten()
        .filter_map(|one| one["id"].as_str().map(str::to_owned))
        .collect();
    if ids.is_empty() || ids.iter().any(|id| !state.files.contains_key(id)) {
        return no("file_not_found");
    }
    let shown: Vec<Value> = ids.iter().map(|id| state.shown(id)).collect();
    if let Some(channel) = args.text("channel_id") {
        let mut message = json!({"subtype": "file_share", "bot_id": BOT, "app_id": APP,
            "text": args.text("initial_comment").unwrap_or_default(), "files": shown.clone()});
        match args.text("username") {
            Some(name) => message["username"] = json!(name),
            None => message["user"] = json!(BOT_USER),
        }
        let thread = args.text("thread_ts");
        let shared = shared.clone();
        tokio::spawn(async move {
            tokio::time::sleep(SHARING).await;
            let mut state = shared.lock();
            let ts = state.write(&channel, thread.as_deref(), message);
            for id in ids {
                state.shared_as(&id, &channel, &ts);
            }
        });
    }
    Ok(json!({"files": shown}))
}

pub(super) fn info(state: &State, args: &Args) -> Answer {
    let id = args.text("file").unwrap_or_default();
    if !state.files.contains_key(&id) {
        return no("file_not_found");
    }
    Ok(json!({"file": state.shown(&id)}))
}

pub(super) async fn download(
    Here(shared): Here<Shared>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let state = shared.lock();
    let wanted = format!("Bearer {}", state.bot_token);
    if headers
        .get("authorization")
        .and_then(|value| value.to_str().ok())
        != Some(&*wanted)
    {
        let page = "<!DOCTYPE html><html>Sign in</html>";
        return ([(CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response();
    }
    match state.files.get(&id) {
        Some(file) => ([(CONTENT_TYPE, "text/plain")], file.bytes.clone()).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
