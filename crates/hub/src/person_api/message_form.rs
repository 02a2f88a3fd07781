//! Reads what a person says from JSON, from a plain form, or from a form with
//! files, so that scripts and browsers without script say it the same way.

use axum::{
    body::to_bytes,
    extract::{FromRequest, Multipart, Request},
    http::{HeaderName, header},
};
use butler_protocol::{ChannelId, MessageTs};
use serde::Deserialize;
use url::form_urlencoded;

use crate::{
    error::{Refusal, Refused},
    person_api::person_actions::{MessageForm, Upload},
    workspace::files::SIZE_LIMIT,
};

/// Text and files of one message together.
pub(crate) const BODY_LIMIT: usize = SIZE_LIMIT as usize + 1024 * 1024;

#[derive(Debug, Default, Deserialize)]
struct Fields {
    #[serde(default)]
    channel: Option<String>,
    #[serde(default)]
    text: String,
    #[serde(default)]
    thread_ts: Option<String>,
    #[serde(skip)]
    uploads: Vec<Upload>,
}

/// Reads a message; `place` is the channel when the address already names it.
pub(crate) async fn read(
    request: Request,
    place: Option<ChannelId>,
) -> Result<MessageForm, Refused> {
    let host = header_text(&request, header::HOST);
    let kind = header_text(&request, header::CONTENT_TYPE);
    let fields = if kind.starts_with("multipart/form-data") {
        from_multipart(request).await?
    } else {
        let body = to_bytes(request.into_body(), BODY_LIMIT)
            .await
            .map_err(|_| Refused(Refusal::MsgTooLong))?;
        if kind.starts_with("application/json") {
            serde_json::from_slice(&body).map_err(|_| Refused(Refusal::InvalidJson))?
        } else {
            from_form(&body)
        }
    };
    let thread: Option<MessageTs> = fields
        .thread_ts
        .filter(|ts| !ts.is_empty())
        .map(|ts| ts.parse().map_err(|_| Refused(Refusal::ThreadNotFound)))
        .transpose()?;
    Ok(MessageForm {
        channel: place
            .or_else(|| fields.channel.map(ChannelId::new))
            .ok_or(Refused(Refusal::ChannelNotFound))?,
        thread,
        // Browsers send line ends as CR LF.
        text: fields.text.replace("\r\n", "\n"),
        uploads: fields.uploads,
        base: format!("http://{host}"),
    })
}

fn header_text(request: &Request, name: HeaderName) -> String {
    let value = request.headers().get(name);
    value
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .to_owned()
}

fn from_form(body: &[u8]) -> Fields {
    let mut fields = Fields::default();
    for (name, value) in form_urlencoded::parse(body) {
        set(&mut fields, &name, value.into_owned());
    }
    fields
}

fn set(fields: &mut Fields, name: &str, value: String) {
    match name {
        "channel" => fields.channel = Some(value),
        "text" => fields.text = value,
        "thread_ts" => fields.thread_ts = Some(value),
        _ => {}
    }
}

async fn from_multipart(request: Request) -> Result<Fields, Refused> {
    let mut fields = Fields::default();
    let mut form = Multipart::from_request(request, &())
        .await
        .map_err(|_| Refused(Refusal::InvalidFormData))?;
    while let Some(field) = form
        .next_field()
        .await
        .map_err(|_| Refused(Refusal::InvalidFormData))?
    {
        let name = field.name().unwrap_or_default().to_owned();
        let file = field.file_name().map(str::to_owned);
        let bytes = field
            .bytes()
            .await
            .map_err(|_| Refused(Refusal::FileUploadSizeRestricted))?;
        match file {
            // A browser sends an empty part when no file was chosen.
            Some(file) if file.is_empty() || bytes.is_empty() => {}
            Some(file) => fields.uploads.push(Upload {
                name: file,
                bytes: bytes.to_vec(),
            }),
            None => set(
                &mut fields,
                &name,
                String::from_utf8_lossy(&bytes).into_owned(),
            ),
        }
    }
    Ok(fields)
}
