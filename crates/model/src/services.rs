//! What an endpoint offers besides conversations, asked in one piece: images,
//! voice, and the bill of a call whose answer was lost. Same errors, same
//! retries, same key as a conversation.

use std::time::Duration;

use butler_vocab::{TokenUsage, Usd};
use jiff::Timestamp;
use reqwest::RequestBuilder;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    Endpoint, ErrorClass, ModelClient, ModelError, Refusal, Trouble,
    decimal::{count, dollars},
    lost, retry,
    retry_after::retry_after,
};

/// An image may take two minutes.
const PATIENCE: Duration = Duration::from_secs(300);
/// Ten large images in base64.
const LARGEST: u64 = 128 << 20;
/// The record of a call is not there at once; it is asked for so often.
const LOOKS: u32 = 4;

impl ModelClient {
    /// Sends what `request` makes and reads JSON, with the retries of a call.
    /// Comes with what failed attempts cost: nothing here is billed before it ends.
    pub(crate) async fn service(
        &self,
        model: &str,
        cancel: &CancellationToken,
        request: impl Fn() -> RequestBuilder,
    ) -> Result<Value, ModelError> {
        let attempt = |_| async {
            tokio::select! {
                biased;
                () = cancel.cancelled() => Err(ModelError::Cancelled { spent: Usd::ZERO }),
                answer = once(model, &self.config().endpoint, request().timeout(PATIENCE)) => answer,
            }
        };
        let (answer, _) = retry::run(&self.config().retry, cancel, attempt).await?;
        Ok(answer)
    }

    /// What a service's answer says it cost: the bill, else its tokens by price.
    pub(crate) fn service_cost(&self, model: &str, usage: Option<&Value>) -> Option<Usd> {
        let usage = usage?;
        if let Some(billed) = usage.get("cost").and_then(dollars) {
            return Some(billed);
        }
        let tokens = TokenUsage {
            input: count(usage.get("input_tokens"))?,
            output: count(usage.get("output_tokens")).unwrap_or(0),
            ..TokenUsage::default()
        };
        let upper = &self.config().upper_price;
        Some(self.prices().cost(model, &tokens, None, upper))
    }

    /// What a call cost whose connection died before the bill came, by the id
    /// that the provider gave it. Nothing when the provider keeps no such record,
    /// or does not have it yet: the worst case stays booked then. Only
    /// OpenRouter has these; ask in the background, it takes its time.
    ///
    /// # Errors
    /// As a call, except that a record which is not there is no error.
    pub async fn generation_cost(
        &self,
        id: &str,
        cancel: &CancellationToken,
    ) -> Result<Option<Usd>, ModelError> {
        if self.config().endpoint.kind != crate::EndpointKind::Openrouter {
            return Ok(None);
        }
        let mut url = self.config().endpoint.url("generation");
        url.query_pairs_mut().append_pair("id", id);
        for look in 0..LOOKS {
            if look > 0 {
                let wait = Duration::from_secs(1 << look);
                tokio::select! {
                    () = cancel.cancelled() => return Err(ModelError::Cancelled { spent: Usd::ZERO }),
                    () = self.config().retry.pace.sleep(wait) => {}
                }
            }
            let request = self.http().get(url.clone()).timeout(PATIENCE);
            match once("generation", &self.config().endpoint, request).await {
                Ok(record) => {
                    let data = record.get("data").unwrap_or(&record);
                    return Ok(data.get("total_cost").and_then(dollars));
                }
                Err(error) if error.class() == ErrorClass::Rejected => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

async fn once(
    model: &str,
    endpoint: &Endpoint,
    request: RequestBuilder,
) -> Result<Value, ModelError> {
    let lost = |error| lost::lost(model, endpoint, error);
    let malformed = |detail: String| ErrorClass::Malformed.with(Trouble::new(model, detail));
    let mut response = request.send().await.map_err(lost)?;
    let status = response.status();
    let wait = retry_after(response.headers(), Timestamp::now());
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.map_err(lost)? {
        body.extend_from_slice(&bytes);
        if body.len() as u64 > LARGEST {
            return Err(malformed("the answer is longer than 128 MiB".to_owned()));
        }
    }
    if !status.is_success() {
        let refusal = Refusal {
            status: Some(status.as_u16()),
            retry_after: wait,
            body: String::from_utf8_lossy(&body).into_owned(),
        };
        return Err(lost::refused(model, endpoint, &refusal));
    }
    serde_json::from_slice(&body).map_err(|error| malformed(error.to_string()))
}
