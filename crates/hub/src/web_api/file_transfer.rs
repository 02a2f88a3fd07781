//! Where file bytes come in and go out: the upload address, which carries its
//! own key, and `url_private`, which wants a token or a session. What is too large is
//! let run by and kept nowhere; what goes out runs nothing.

use std::sync::Arc;

use axum::{
    Router,
    body::to_bytes,
    extract::{DefaultBodyLimit, FromRequest, Multipart, Path, Query, Request, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures_util::StreamExt;
use serde::Deserialize;

use crate::{
    error::{Refusal, Refused, Result, Trouble},
    hub::App,
    identity::{Identity, tokens},
    person_api::guard,
    relay, web_api,
    workspace::{
        files::{self, File, SIZE_LIMIT},
        gate,
    },
};

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/upload/{id}", post(upload))
        .route("/files/{id}", get(download))
        .layer(DefaultBodyLimit::max(LIMIT))
}

#[derive(Deserialize)]
struct Key {
    #[serde(default)]
    key: String,
}

/// Python's SDK sends raw bytes under a form's label, Node's sends multipart:
/// the bytes are taken as they are unless it really is multipart.
async fn upload(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Query(key): Query<Key>,
    request: Request,
) -> Result<String, Refused> {
    // A stranger's bytes are not even taken in.
    let (file, shown) = (id.clone(), key.key.clone());
    app.read(move |db| files::awaits(db, &file, &shown)).await?;
    let bytes = body_of(request).await?;
    let bytes = without_secrets(&app, bytes);
    let length = bytes.len();
    app.write(move |tx| files::fill(tx.db(), &id, &key.key, &bytes))
        .await?;
    Ok(format!("OK - {length}"))
}

const LIMIT: usize = SIZE_LIMIT as usize;

/// More than this is not even let run by: the connection ends.
const PATIENCE: usize = 512 * 1024 * 1024;

/// Refuses a body that says itself that it is larger than `limit`. It is let run by: a
/// browser that is still sending would not read the answer.
pub(crate) async fn refuse_larger(request: Request, limit: usize) -> Result<Request, Refused> {
    let said = request.headers().get(header::CONTENT_LENGTH);
    let said = said.and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if said.is_none_or(|length| length <= limit) {
        return Ok(request);
    }
    let mut passed = 0;
    let mut body = request.into_body().into_data_stream();
    while let Some(Ok(bytes)) = body.next().await {
        passed += bytes.len();
        if passed > PATIENCE {
            break;
        }
    }
    Err(Refused(Refusal::FileUploadSizeRestricted))
}

async fn body_of(request: Request) -> Result<Vec<u8>, Refused> {
    let too_big = || Refused(Refusal::FileUploadSizeRestricted);
    // A form has a few lines around the file.
    let request = refuse_larger(request, LIMIT + 4096).await?;
    let kind = request
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if !kind.starts_with("multipart/form-data") {
        let bytes = to_bytes(request.into_body(), LIMIT).await;
        return Ok(bytes.map_err(|_| too_big())?.to_vec());
    }
    let bad = || Refused(Refusal::InvalidFormData);
    let mut form = Multipart::from_request(request, &())
        .await
        .map_err(|_| bad())?;
    while let Some(field) = form.next_field().await.map_err(|_| bad())? {
        if field.file_name().is_some() || matches!(field.name(), Some("body" | "file")) {
            return Ok(field.bytes().await.map_err(|_| too_big())?.to_vec());
        }
    }
    Err(bad())
}

/// Text files pass the gate like any other text.
pub(crate) fn without_secrets(app: &App, bytes: Vec<u8>) -> Vec<u8> {
    gate::clean_file(&app.redactor, bytes)
}

#[derive(Deserialize)]
struct How {
    download: Option<String>,
}

async fn download(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Query(how): Query<How>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let reader = reader_of(&app, &headers).await?;
    let (file, bytes) = fetched(&app, reader, id).await?;
    let range = headers
        .get(header::RANGE)
        .and_then(|value| value.to_str().ok());
    Ok(served(&file, bytes, how.download.is_some(), range))
}

/// A file for somebody who may read it, with its bytes.
pub(crate) async fn fetched(app: &Arc<App>, reader: Reader, id: String) -> Result<(File, Vec<u8>)> {
    if let Some(relay) = &app.relay {
        let who = match &reader {
            Reader::Agent(agent) => Some(agent),
            Reader::Person(_) => None,
        };
        if let Some(found) = relay::download(app, relay, who, &id).await? {
            return Ok(found);
        }
    }
    app.read(move |db| {
        let file = files::get(db, &id)?;
        let allowed = match (&reader, &file.channel) {
            (Reader::Person(_), Some(_)) => true,
            (Reader::Person(user), None) => file.owner == *user,
            (Reader::Agent(agent), _) if file.owner == agent.repo => true,
            (Reader::Agent(agent), Some(channel)) => agent.may_use(db, channel).is_ok(),
            (Reader::Agent(_), None) => false,
        };
        if !allowed {
            return Err(Trouble::Refused(Refusal::FileNotFound));
        }
        let bytes = files::bytes(db, &file.id)?;
        Ok((file, bytes))
    })
    .await
}

/// Nothing of a file runs or loads anything.
const SHUT: &str = "default-src 'none'; sandbox";

/// Not every browser's own reader of documents works in a `sandbox`. It runs apart from the
/// page, so that a document has nothing of ours.
const READER: &str = "default-src 'none'; frame-ancestors 'none'";

/// Pictures, sounds and documents are shown in place; all others can only be saved.
fn served(file: &File, bytes: Vec<u8>, save: bool, range: Option<&str>) -> Response {
    let document = file.mimetype == "application/pdf";
    let in_place = (files::is_shown_in_place(file.mimetype) || document) && !save;
    let name: String = file
        .name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "._-".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect();
    let way = if in_place { "inline" } else { "attachment" };
    let policy = if in_place && document { READER } else { SHUT };
    let headers = [
        (header::CONTENT_TYPE, file.mimetype.to_owned()),
        (
            header::CONTENT_DISPOSITION,
            format!("{way}; filename=\"{name}\""),
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (header::CONTENT_SECURITY_POLICY, policy.to_owned()),
        (header::ACCEPT_RANGES, "bytes".to_owned()),
    ];
    match range.and_then(|range| part_of(range, bytes.len())) {
        Some((from, to)) => {
            let part = format!("bytes {from}-{}/{}", to - 1, bytes.len());
            let part = [(header::CONTENT_RANGE, part)];
            let bytes = bytes[from..to].to_vec();
            (StatusCode::PARTIAL_CONTENT, headers, part, bytes).into_response()
        }
        None => (headers, bytes).into_response(),
    }
}

/// The part that a player asks for; phones play nothing without. All where it asks for
/// none, or for what there is not.
fn part_of(range: &str, length: usize) -> Option<(usize, usize)> {
    let (from, to) = range.strip_prefix("bytes=")?.split_once('-')?;
    let (from, to) = match (from.trim(), to.trim()) {
        ("", last) => (length.checked_sub(last.parse().ok()?)?, length),
        (from, "") => (from.parse().ok()?, length),
        (from, to) => {
            let end = to.parse::<usize>().ok()?.checked_add(1)?;
            (from.parse().ok()?, end.min(length))
        }
    };
    (from < to).then_some((from, to))
}

/// Who asks for a file.
pub(crate) enum Reader {
    Person(String),
    Agent(crate::identity::Agent),
}

async fn reader_of(app: &App, headers: &HeaderMap) -> Result<Reader, Refused> {
    let stranger = Refused(Refusal::NotAuthed);
    if let Some(token) = web_api::bearer(headers) {
        return match app.identify(&token).await? {
            Some(Identity::Bot(agent)) => Ok(Reader::Agent(agent)),
            Some(Identity::Person(person)) => Ok(Reader::Person(person.id.as_str().to_owned())),
            _ => Err(stranger),
        };
    }
    let Some(session) = guard::cookie(headers) else {
        return Err(stranger);
    };
    let host = guard::host_of(headers);
    let person = app
        .read(move |db| tokens::of_session(db, &session, &host))
        .await?;
    match person {
        Some(person) => Ok(Reader::Person(person.id.as_str().to_owned())),
        None => Err(stranger),
    }
}

#[cfg(test)]
mod tests {
    use super::part_of;

    #[test]
    fn players_ask_for_parts() {
        for (range, part) in [
            ("bytes=0-", Some((0, 100))),
            ("bytes=10-19", Some((10, 20))),
            ("bytes=90-400", Some((90, 100))),
            ("bytes=-5", Some((95, 100))),
            ("bytes=100-", None),
            ("bytes=-200", None),
            ("bytes=20-10", None),
            ("bytes=0-1,4-5", None),
            ("lines=1-2", None),
            ("bytes=x-18446744073709551615", None),
        ] {
            assert_eq!(part_of(range, 100), part, "{range}");
        }
    }
}
