//! The way to a server at an address. Whatever comes is bounded before it is
//! understood, as over the pipe to a program: a body that has no end would else be
//! read until the memory is full. What goes wrong is remembered and ends the talk.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{StreamExt, stream::BoxStream};
use reqwest::{
    RequestBuilder, Response, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue},
};
use rmcp::{
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::streamable_http_client::{
        SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    },
};
use sse_stream::{Sse, SseStream};

use crate::link::Fault;

/// What one answer may have, with everything that is said before it.
const ANSWER_BYTES: usize = 32 << 20;
/// Lines of events within a minute; an event has two to four.
const LINES: usize = 40_000;
const MINUTE: Duration = Duration::from_secs(60);
/// What is told of an answer that is no message.
const SHOWN: usize = 300;
const SESSION: &str = "mcp-session-id";
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

type Error = StreamableHttpError<reqwest::Error>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// A client whose answers end.
#[derive(Clone)]
pub(crate) struct Bounded {
    pub(crate) client: reqwest::Client,
    pub(crate) fault: Fault,
}

impl Bounded {
    /// Remembers why the talk is over.
    fn broken(&self, why: String) -> Error {
        self.fault.set(why.clone());
        Error::UnexpectedServerResponse(Cow::Owned(why))
    }

    /// After a fault nothing more is said.
    fn whole(&self) -> Result<(), Error> {
        match self.fault.get() {
            Some(why) => Err(Error::UnexpectedServerResponse(Cow::Owned(why))),
            None => Ok(()),
        }
    }

    /// The body, if it is not too long.
    async fn body(&self, response: Response) -> Result<Vec<u8>, Error> {
        let mut body = Vec::new();
        let mut chunks = response.bytes_stream();
        while let Some(chunk) = chunks.next().await {
            body.extend_from_slice(&chunk.map_err(Error::Client)?);
            if body.len() > ANSWER_BYTES {
                return Err(self.broken(too_much()));
            }
        }
        Ok(body)
    }

    /// Events until there are too many of them within a minute, or too many bytes.
    fn events(&self, response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
        let (fault, mut flow) = (self.fault.clone(), Flow::default());
        let bytes = response.bytes_stream().map(move |chunk| {
            let chunk = chunk.map_err(std::io::Error::other)?;
            match flow.take(&chunk, Instant::now()) {
                None => Ok(chunk),
                Some(why) => {
                    fault.set(why.clone());
                    Err(std::io::Error::other(why))
                }
            }
        });
        SseStream::from_bytes_stream(bytes).boxed()
    }
}

/// What came on one connection in the last minute.
#[derive(Default)]
struct Flow {
    since: Option<Instant>,
    bytes: usize,
    lines: usize,
}

impl Flow {
    /// Why this is too much, if it is.
    fn take(&mut self, chunk: &[u8], now: Instant) -> Option<String> {
        let since = *self.since.get_or_insert(now);
        if now.duration_since(since) > MINUTE {
            *self = Self {
                since: Some(now),
                ..Self::default()
            };
        }
        self.bytes += chunk.len();
        self.lines += chunk.iter().filter(|byte| **byte == b'\n').count();
        match self {
            Self { bytes, .. } if *bytes > ANSWER_BYTES => Some(too_much()),
            Self { lines, .. } if *lines > LINES => {
                Some("it flooded the talk with what nobody asked for".to_owned())
            }
            _ => None,
        }
    }
}

fn too_much() -> String {
    format!("it sent an answer of more than {} MiB", ANSWER_BYTES >> 20)
}

fn with(mut request: RequestBuilder, headers: Headers, session: Option<&str>) -> RequestBuilder {
    for (name, value) in headers {
        request = request.header(name, value);
    }
    match session {
        Some(session) => request.header(SESSION, session),
        None => request,
    }
}

fn is_of(response: &Response, kind: &str) -> bool {
    let header = response.headers().get(CONTENT_TYPE);
    header.is_some_and(|header| header.as_bytes().starts_with(kind.as_bytes()))
}

/// The beginning of what is no message, for whoever looks for the reason.
fn shown(status: StatusCode, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let text: String = text.chars().take(SHOWN).collect();
    format!("it answered {status}: {text}")
}

impl StreamableHttpClient for Bounded {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Error> {
        self.whole()?;
        let request = self.client.post(uri.as_ref());
        let request = request.header(ACCEPT, format!("{EVENTS}, {JSON}"));
        let request = with(request, custom_headers, session_id.as_deref());
        let response = request.json(&message).send().await.map_err(Error::Client)?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && session_id.is_some() {
            return Err(Error::SessionExpired);
        }
        let session = response.headers().get(SESSION);
        let session = session.and_then(|id| Some(id.to_str().ok()?.to_owned()));
        if status.is_success() && is_of(&response, EVENTS) {
            let events = self.events(response);
            return Ok(StreamableHttpPostResponse::Sse(events, session));
        }
        let awaited = matches!(message, ClientJsonRpcMessage::Request(_));
        let refuses = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        let is_json = is_of(&response, JSON) && !refuses;
        let body = self.body(response).await?;
        let read = serde_json::from_slice::<ServerJsonRpcMessage>(&body);
        match read.ok().filter(|_| is_json) {
            Some(answer) => Ok(StreamableHttpPostResponse::Json(answer, session)),
            None if status.is_success() && !awaited => Ok(StreamableHttpPostResponse::Accepted),
            None => Err(self.broken(shown(status, &body))),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), Error> {
        let request = self.client.delete(uri.as_ref());
        let request = with(request, custom_headers, Some(&session_id));
        request.send().await.map_err(Error::Client)?;
        Ok(())
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Error> {
        self.whole()?;
        let mut request = self.client.get(uri.as_ref()).header(ACCEPT, EVENTS);
        if let Some(last) = last_event_id {
            request = request.header("last-event-id", last);
        }
        let request = with(request, custom_headers, session_id.as_deref());
        let response = request.send().await.map_err(Error::Client)?;
        if !response.status().is_success() || !is_of(&response, EVENTS) {
            return Err(Error::ServerDoesNotSupportSse);
        }
        Ok(self.events(response))
    }
}
