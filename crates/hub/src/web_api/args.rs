//! Arguments in every form that SDKs send them: form, JSON, multipart, query;
//! nested values as JSON or as JSON in a string; booleans as `true` or `1`.

use axum::{
    body::to_bytes,
    extract::{FromRequest, Multipart, Request},
    http::header::CONTENT_TYPE,
};
use butler_protocol::{ChannelId, MessageTs};
use serde_json::{Map, Value};
use url::form_urlencoded;

use crate::error::{Refusal, Result, Trouble, refuse};

/// The most that a call may bring; files have their own route.
const BODY_LIMIT: usize = 4 * 1024 * 1024;

/// The arguments of a call.
#[derive(Debug, Default)]
pub(crate) struct Args(Map<String, Value>);

impl Args {
    pub(crate) async fn read(request: Request) -> Result<Self> {
        let mut args = Map::new();
        if let Some(query) = request.uri().query() {
            add_form(&mut args, query.as_bytes());
        }
        let kind = request
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .to_ascii_lowercase();
        if kind.starts_with("multipart/form-data") {
            add_multipart(&mut args, request).await?;
            return Ok(Self(args));
        }
        let body = to_bytes(request.into_body(), BODY_LIMIT)
            .await
            .map_err(|_| Refusal::InvalidPostType)?;
        if kind.starts_with("application/json") {
            if !body.is_empty() {
                match serde_json::from_slice(&body) {
                    Ok(Value::Object(fields)) => args.extend(fields),
                    _ => return refuse(Refusal::InvalidJson),
                }
            }
        } else {
            add_form(&mut args, &body);
        }
        Ok(Self(args))
    }

    /// Arguments that were kept as JSON.
    pub(crate) fn of(kept: &str) -> Self {
        Self(serde_json::from_str(kept).unwrap_or_default())
    }

    /// Everything but the token, for `api.test`.
    pub(crate) fn all(&self) -> Value {
        let mut all = self.0.clone();
        all.remove("token");
        Value::Object(all)
    }

    /// A text, also when it came as a number; empty counts as absent.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        match self.0.get(name)? {
            Value::String(text) if text.is_empty() => None,
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(yes) => Some(yes.to_string()),
            _ => None,
        }
    }

    /// Puts an argument in the place of another.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.0.insert(name.to_owned(), Value::from(value));
    }

    /// A text that must be there; else Slack's name for its absence.
    pub(crate) fn need(&self, name: &str, missing: Refusal) -> Result<String> {
        self.text(name).ok_or(Trouble::Refused(missing))
    }

    pub(crate) fn channel(&self) -> Result<ChannelId> {
        Ok(ChannelId::new(
            self.need("channel", Refusal::ChannelNotFound)?,
        ))
    }

    /// A timestamp that may be absent.
    pub(crate) fn ts(&self, name: &str, bad: Refusal) -> Result<Option<MessageTs>> {
        self.text(name)
            .map(|text| text.parse().map_err(|_| Trouble::Refused(bad)))
            .transpose()
    }

    /// A timestamp that must be there.
    pub(crate) fn need_ts(&self, name: &str, bad: Refusal, missing: Refusal) -> Result<MessageTs> {
        self.ts(name, bad)?.ok_or(Trouble::Refused(missing))
    }

    /// The message that a call is about.
    pub(crate) fn message(&self) -> Result<MessageTs> {
        self.need_ts("ts", Refusal::MessageNotFound, Refusal::MessageNotFound)
    }

    /// The same where it is called `timestamp`.
    pub(crate) fn item(&self) -> Result<MessageTs> {
        let missing = Refusal::NoItemSpecified;
        self.need_ts("timestamp", Refusal::BadTimestamp, missing)
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        matches!(self.text(name).as_deref(), Some("true" | "1" | "True"))
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// A nested value, sent as JSON or as text that holds JSON.
    pub(crate) fn json(&self, name: &str, bad: Refusal) -> Result<Option<Value>> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
            Some(Value::String(text)) => serde_json::from_str(text)
                .map(Some)
                .map_err(|_| Trouble::Refused(bad)),
            Some(nested) => Ok(Some(nested.clone())),
        }
    }

    /// How many are wanted, within Slack's bounds.
    pub(crate) fn limit(&self, default: usize) -> usize {
        self.number("limit")
            .and_then(|limit| usize::try_from(limit).ok())
            .filter(|limit| *limit > 0)
            .unwrap_or(default)
            .min(999)
    }
}

fn add_form(args: &mut Map<String, Value>, form: &[u8]) {
    for (name, value) in form_urlencoded::parse(form) {
        args.insert(name.into_owned(), Value::String(value.into_owned()));
    }
}

async fn add_multipart(args: &mut Map<String, Value>, request: Request) -> Result<()> {
    let bad = || Trouble::Refused(Refusal::InvalidFormData);
    let mut form = Multipart::from_request(request, &())
        .await
        .map_err(|_| bad())?;
    while let Some(field) = form.next_field().await.map_err(|_| bad())? {
        let name = field.name().unwrap_or_default().to_owned();
        let text = field.text().await.map_err(|_| bad())?;
        args.insert(name, Value::String(text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use serde_json::json;

    use super::*;

    async fn read(kind: &str, body: &'static str) -> Args {
        let request = Request::builder()
            .uri("/api/x?limit=5")
            .method("POST")
            .header(CONTENT_TYPE, kind)
            .body(Body::from(body))
            .unwrap();
        Args::read(request).await.unwrap()
    }

    #[tokio::test]
    async fn all_forms_mean_the_same() {
        let form = "application/x-www-form-urlencoded";
        let args = read(
            form,
            "channel=C1&blocks=%5B1%5D&flag=1&thread_ts=1700000000.000100",
        )
        .await;
        let same = read(
            "application/json; charset=utf-8",
            r#"{"channel":"C1","blocks":[1],"flag":true,"thread_ts":"1700000000.000100"}"#,
        )
        .await;
        let multipart = read(
            "multipart/form-data; boundary=x",
            "--x\r\nContent-Disposition: form-data; name=\"channel\"\r\n\r\nC1\r\n\
             --x\r\nContent-Disposition: form-data; name=\"blocks\"\r\n\r\n[1]\r\n\
             --x\r\nContent-Disposition: form-data; name=\"flag\"\r\n\r\ntrue\r\n\
             --x\r\nContent-Disposition: form-data; name=\"thread_ts\"\r\n\r\n1700000000.000100\r\n--x--\r\n",
        )
        .await;
        for args in [args, same, multipart] {
            assert_eq!(args.channel().unwrap().as_str(), "C1");
            assert_eq!(
                args.json("blocks", Refusal::InvalidBlocks).unwrap(),
                Some(json!([1]))
            );
            assert!(args.flag("flag"));
            assert!(
                args.ts("thread_ts", Refusal::InvalidThreadTs)
                    .unwrap()
                    .is_some()
            );
            assert_eq!(args.limit(100), 5);
            assert_eq!(args.text("absent"), None);
        }
    }
}
