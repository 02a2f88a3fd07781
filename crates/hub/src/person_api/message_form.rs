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
    hub::App,
    person_api::{MessageForm, person_actions::Upload},
    web_api::{file_transfer, who},
    workspace::files::SIZE_LIMIT,
};

/// Text and files of one message together.
pub(crate) const BODY_LIMIT: usize = SIZE_LIMIT as usize + 1024 * 1024;

#[derive(Debug, Default, Deserialize)]
struct Fields {
    channel: Option<String>,
    #[serde(default)]
    text: String,
    thread_ts: Option<String>,
    #[serde(default)]
    only_words: bool,
    #[serde(skip)]
    uploads: Vec<Upload>,
}

/// A longer text in a form was pasted, not typed: it becomes a file. Scripts, which send
/// JSON, attach what they want attached.
pub(crate) const TYPED: usize = 8_000;

/// How much of a pasted text stays in the message.
const BEGINNING: usize = 600;

impl Fields {
    /// Makes a file of a text that is too long to have been typed; its beginning stays.
    fn attach_pasted(&mut self) {
        if self.text.len() <= TYPED {
            return;
        }
        let beginning = &self.text[..self.text.floor_char_boundary(BEGINNING)];
        let beginning = beginning
            .rsplit_once('\n')
            .map_or(beginning, |(whole, _)| whole);
        let lines = self.text.lines().count();
        let short = format!("{beginning}\n… ({lines} lines, all of them attached as pasted.txt)");
        let whole = std::mem::replace(&mut self.text, short);
        self.uploads.push(Upload {
            name: "pasted.txt".to_owned(),
            bytes: whole.into_bytes(),
        });
    }
}

/// Reads a message; `place` is the channel when the address already names it.
pub(crate) async fn read(
    app: &App,
    request: Request,
    place: Option<ChannelId>,
) -> Result<MessageForm, Refused> {
    let request = file_transfer::refuse_larger(request, BODY_LIMIT).await?;
    let base = who::base_of(app, request.headers());
    let kind = header_text(&request, header::CONTENT_TYPE);
    let mut fields = if kind.starts_with("multipart/form-data") {
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
    // Browsers send line ends as CR LF.
    fields.text = fields.text.replace("\r\n", "\n");
    if !kind.starts_with("application/json") {
        fields.attach_pasted();
    }
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
        text: fields.text,
        uploads: fields.uploads,
        brought: Vec::new(),
        only_words: fields.only_words,
        base,
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
        "only_words" => fields.only_words = value == "true",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pasted_log_of_any_length_becomes_a_file() {
        let said = |text: String| {
            let mut fields = Fields {
                text,
                ..Fields::default()
            };
            fields.attach_pasted();
            fields
        };
        let typed = said("a few words\n".repeat(10));
        assert!(typed.uploads.is_empty() && typed.text.ends_with("words\n"));
        let log = "why is this?\n".to_owned() + &"größer als gedacht\n".repeat(4_000);
        let pasted = said(log.clone());
        assert_eq!(pasted.uploads[0].bytes, log.as_bytes(), "nothing is lost");
        assert!(pasted.text.starts_with("why is this?\ngrößer"));
        assert!(
            pasted
                .text
                .ends_with("(4001 lines, all of them attached as pasted.txt)")
        );
        assert!(pasted.text.len() < 700);
        // One line without any end, and no place to cut it at.
        assert!(said("ü".repeat(5_000)).text.starts_with("üüü"));
    }
}
