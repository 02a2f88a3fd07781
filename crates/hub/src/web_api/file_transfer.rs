//! Where file bytes come in and go out: the upload address, which carries its
//! own key, and `url_private`, which wants a token or a session.

use std::sync::Arc;

use axum::{
    Router,
    body::to_bytes,
    extract::{DefaultBodyLimit, FromRequest, Multipart, Path, Query, Request, State},
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde::Deserialize;

use crate::{
    error::{Refusal, Refused, Trouble},
    hub::app::App,
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
    app.store
        .read(move |db| files::awaits(db, &file, &shown))
        .await?;
    let bytes = body_of(request).await?;
    let bytes = without_secrets(&app, bytes);
    let length = bytes.len();
    app.store
        .write(move |tx| files::fill(tx.db(), &id, &key.key, &bytes))
        .await?;
    Ok(format!("OK - {length}"))
}

const LIMIT: usize = SIZE_LIMIT as usize;

async fn body_of(request: Request) -> Result<Vec<u8>, Refused> {
    let too_big = || Refused(Refusal::FileUploadSizeRestricted);
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
    match String::from_utf8(bytes) {
        Ok(mut text) => {
            gate::clean_text(&app.redactor, &mut text);
            text.into_bytes()
        }
        Err(binary) => binary.into_bytes(),
    }
}

#[derive(Deserialize)]
struct How {
    #[serde(default)]
    download: Option<String>,
}

async fn download(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Query(how): Query<How>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let reader = reader_of(&app, &headers).await?;
    if let Some(relay) = &app.relay {
        let who = match &reader {
            Reader::Agent(agent) => Some(agent),
            Reader::Person(_) => None,
        };
        if let Some((file, bytes)) = relay::download(&app, relay, who, &id).await? {
            return Ok(served(&file, bytes, how.download.is_some()));
        }
    }
    let (file, bytes) = app
        .store
        .read(move |db| {
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
        .await?;
    Ok(served(&file, bytes, how.download.is_some()))
}

/// Only a few kinds are shown in place; all others can only be saved.
fn served(file: &File, bytes: Vec<u8>, save: bool) -> Response {
    let in_place = files::is_shown_in_place(file.mimetype) && !save;
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
    let headers = [
        (header::CONTENT_TYPE, file.mimetype.to_owned()),
        (
            header::CONTENT_DISPOSITION,
            format!("{way}; filename=\"{name}\""),
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; sandbox".to_owned(),
        ),
    ];
    (headers, bytes).into_response()
}

enum Reader {
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
        .store
        .read(move |db| tokens::of_session(db, &session, &host))
        .await?;
    match person {
        Some(person) => Ok(Reader::Person(person.id.as_str().to_owned())),
        None => Err(stranger),
    }
}
