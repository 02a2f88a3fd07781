//! One attempt: send, listen, judge. Every wait ends at once when the caller
//! cancels, and has a deadline: for the first byte, between two pieces, and for
//! the whole answer.

use std::time::Duration;

use butler_protocol::{ModelReply, Usd};
use bytes::Bytes;
use jiff::Timestamp;
use reqwest::{Response, header::CONTENT_TYPE};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{
    ClientConfig, ErrorClass, EventReader, Gather, Heard, ModelError, ModelRequest, OnText,
    PriceBook, Refusal, Trouble,
    http::{retry_after::retry_after, undelivered},
    read_reply, reply,
};

/// No answer of a model is longer than this.
const LARGEST_ANSWER: u64 = 32 << 20;
/// More of an error than anybody reads.
const LARGEST_ERROR: usize = 64 << 10;

/// What all attempts of one call share.
pub(crate) struct Call<'a> {
    pub(crate) http: &'a reqwest::Client,
    pub(crate) config: &'a ClientConfig,
    pub(crate) prices: &'a PriceBook,
    pub(crate) url: Url,
    pub(crate) body: Bytes,
    pub(crate) request: &'a ModelRequest,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) on_text: Option<OnText<'a>>,
}

impl Call<'_> {
    /// Sends the request once.
    pub(crate) async fn attempt(&self, number: u32) -> Result<ModelReply, ModelError> {
        if number > 0 {
            self.hear(Heard::Again);
        }
        let mut listener = Listener {
            call: self,
            deadline: Instant::now() + self.config.whole,
            gather: Gather::default(),
            received: 0,
        };
        let result = listener.listen().await;
        let size = listener.gather.size();
        match result {
            Ok(()) => {
                let raw = listener.gather.finish();
                let upper = &self.config.upper_price;
                let reply = read_reply(raw, self.request, self.prices, upper);
                reply.map_err(|error| self.scrub(error))
            }
            // Many providers go on, and charge, when we hang up.
            Err(error @ ModelError::Cancelled { .. }) => Err(error.and_spent(self.guess(size))),
            Err(error) if size > 0 => Err(self.scrub(error.and_spent(self.guess(size)))),
            Err(error) => Err(self.scrub(error)),
        }
    }

    fn hear(&self, heard: Heard<'_>) {
        if let Some(on_text) = self.on_text {
            on_text(heard);
        }
    }

    /// What an attempt without a bill may have cost.
    fn guess(&self, output_bytes: u64) -> Usd {
        let usage = reply::estimate(self.request, output_bytes);
        let upper = &self.config.upper_price;
        self.prices.cost(&self.request.model, &usage, None, upper)
    }

    /// A server may repeat our key in its error text.
    fn scrub(&self, mut error: ModelError) -> ModelError {
        if let Some(key) = &self.config.endpoint.key
            && let Some(trouble) = error.trouble_mut()
            && !key.expose().is_empty()
        {
            trouble.detail = trouble.detail.replace(key.expose(), "[key]");
        }
        error
    }

    fn trouble(&self, class: ErrorClass, detail: impl Into<String>) -> ModelError {
        class.with(Trouble::new(&self.request.model, detail))
    }
}

/// Listens to one answer.
struct Listener<'a> {
    call: &'a Call<'a>,
    deadline: Instant,
    gather: Gather,
    received: u64,
}

impl Listener<'_> {
    async fn listen(&mut self) -> Result<(), ModelError> {
        let call = self.call;
        let request = call.http.post(call.url.clone()).body(call.body.clone());
        let send = request.header(CONTENT_TYPE, "application/json").send();
        let first_byte = call.config.first_byte;
        let response = self.wait(send, first_byte, "for an answer").await?;
        let mut response = response.map_err(|error| self.lost(error))?;
        let status = response.status();
        if !status.is_success() {
            let refusal = self.refusal(&mut response).await?;
            let (model, endpoint) = (&call.request.model, &call.config.endpoint);
            return Err(undelivered::refused(model, endpoint, &refusal));
        }
        let kind = response.headers().get(CONTENT_TYPE);
        let streams = kind
            .and_then(|kind| kind.to_str().ok())
            .is_some_and(|kind| kind.starts_with("text/event-stream"));
        if streams {
            self.stream(&mut response).await
        } else {
            self.buffered(&mut response).await
        }
    }

    async fn stream(&mut self, response: &mut Response) -> Result<(), ModelError> {
        let mut reader = EventReader::default();
        while let Some(bytes) = self.next(response).await? {
            for data in reader.push(&bytes) {
                self.event(&data)?;
            }
        }
        if let Some(rest) = reader.finish() {
            // Half a chunk at the end is a lost connection, judged below.
            let _ = self.event(&rest);
        }
        if self.gather.ended() {
            return Ok(());
        }
        let detail = "the stream ended in the middle";
        Err(self.call.trouble(ErrorClass::Timeout, detail))
    }

    fn event(&mut self, data: &str) -> Result<(), ModelError> {
        let text = self.gather.event(data).map_err(|error| {
            let detail = format!("a piece of the stream is not JSON: {error}");
            self.call.trouble(ErrorClass::Malformed, detail)
        })?;
        if !text.is_empty() {
            self.call.hear(Heard::Text(&text));
        }
        Ok(())
    }

    async fn buffered(&mut self, response: &mut Response) -> Result<(), ModelError> {
        let mut body = Vec::new();
        while let Some(bytes) = self.next(response).await? {
            body.extend_from_slice(&bytes);
        }
        let text = String::from_utf8_lossy(&body);
        // Blank lines come first while the model works.
        self.event(text.trim())
    }

    async fn refusal(&mut self, response: &mut Response) -> Result<Refusal, ModelError> {
        let status = response.status().as_u16();
        let wait = retry_after(response.headers(), Timestamp::now());
        let mut body = Vec::new();
        while body.len() < LARGEST_ERROR {
            match self.next(response).await {
                Ok(Some(bytes)) => body.extend_from_slice(&bytes),
                Err(cancelled @ ModelError::Cancelled { .. }) => return Err(cancelled),
                // The status alone says enough.
                Ok(None) | Err(_) => break,
            }
        }
        body.truncate(LARGEST_ERROR);
        Ok(Refusal {
            status: Some(status),
            retry_after: wait,
            body: String::from_utf8_lossy(&body).into_owned(),
        })
    }

    /// The next bytes of the answer.
    async fn next(&mut self, response: &mut Response) -> Result<Option<Bytes>, ModelError> {
        let (limit, what) = if self.received == 0 {
            (self.call.config.first_byte, "for the first byte")
        } else {
            (self.call.config.idle, "for the next piece")
        };
        let chunk = self.wait(response.chunk(), limit, what).await?;
        let chunk = chunk.map_err(|error| self.lost(error))?;
        self.received += chunk.as_ref().map_or(0, |bytes| bytes.len() as u64);
        if self.received > LARGEST_ANSWER {
            let detail = "the answer is longer than 32 MiB";
            return Err(self.call.trouble(ErrorClass::Malformed, detail));
        }
        Ok(chunk)
    }

    async fn wait<T>(
        &self,
        work: impl Future<Output = T>,
        limit: Duration,
        what: &str,
    ) -> Result<T, ModelError> {
        let until = (Instant::now() + limit).min(self.deadline);
        tokio::select! {
            biased;
            () = self.call.cancel.cancelled() => Err(ModelError::Cancelled { spent: Usd::ZERO }),
            done = work => Ok(done),
            () = tokio::time::sleep_until(until) => {
                let detail = format!("waited {} s {what}", limit.as_secs_f32());
                Err(self.call.trouble(ErrorClass::Timeout, detail))
            }
        }
    }

    fn lost(&self, error: reqwest::Error) -> ModelError {
        undelivered::lost(&self.call.request.model, &self.call.config.endpoint, error)
    }
}
