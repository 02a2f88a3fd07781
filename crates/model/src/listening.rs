//! Recordings to text, at the transcription endpoint beside chat. It is asked once: a
//! silent repeat is paid twice.

use butler_protocol::{TokenUsage, Usd};
use reqwest::multipart::{Form, Part};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{ErrorClass, ModelClient, ModelError, Trouble, catalog};

/// Endpoints take no more.
const LARGEST: usize = 25 << 20;

/// A recording that somebody spoke.
#[derive(Debug, Clone, Copy)]
pub struct Recording<'a> {
    /// Who writes it down.
    pub model: &'a str,
    /// How names of such files end. Endpoints go by that, and are told nothing else of
    /// the name that somebody gave it.
    pub ending: &'a str,
    pub bytes: &'a [u8],
}

/// What was said in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcript {
    pub text: String,
    /// What the endpoint charged, when it says that.
    pub billed: Option<Usd>,
    /// Tokens, where it counts them.
    pub usage: TokenUsage,
    /// Its length, where it counts that.
    pub seconds: Option<f64>,
}

impl ModelClient {
    /// Writes a recording down; `cancel` ends it at once.
    /// Errors: as for a call, without retries; a recording above 25 MB is not sent.
    pub async fn transcribe(
        &self,
        recording: Recording<'_>,
        cancel: &CancellationToken,
    ) -> Result<Transcript, ModelError> {
        let model = recording.model;
        let rejected = |what: String| ErrorClass::Rejected.with(Trouble::new(model, what));
        if recording.bytes.len() > LARGEST {
            return Err(rejected("it takes recordings up to 25 MB".to_owned()));
        }
        let file = Part::bytes(recording.bytes.to_vec())
            .file_name(format!("note.{}", recording.ending))
            .mime_str(media_type(recording.ending))
            .map_err(|error| rejected(error.to_string()))?;
        let form = Form::new()
            .part("file", file)
            .text("model", model.to_owned())
            .text("response_format", "json");
        let url = self.config().endpoint.url("audio/transcriptions");
        let patience = self.config().first_byte;
        let request = self.http().post(url).multipart(form).timeout(patience);
        let asking = catalog::answer(request, self.config(), model);
        let answer = tokio::select! {
            () = cancel.cancelled() => return Err(ModelError::Cancelled { spent: Usd::ZERO }),
            answer = asking => answer?,
        };
        read(&answer).ok_or_else(|| {
            ErrorClass::Malformed.with(Trouble::new(model, "an answer without a text"))
        })
    }
}

fn read(answer: &Value) -> Option<Transcript> {
    let usage = &answer["usage"];
    let count = |key: &str| usage[key].as_u64().unwrap_or(0);
    Some(Transcript {
        text: answer["text"].as_str()?.trim().to_owned(),
        billed: usage["cost"].as_f64().map(Usd::from_dollars),
        usage: TokenUsage {
            input: count("input_tokens"),
            output: count("output_tokens"),
            ..TokenUsage::default()
        },
        seconds: usage["seconds"].as_f64(),
    })
}

/// Endpoints go by the ending; the type is a courtesy.
fn media_type(ending: &str) -> &'static str {
    match ending {
        "wav" => "audio/wav",
        "mp3" => "audio/mpeg",
        "m4a" => "audio/mp4",
        "ogg" => "audio/ogg",
        "flac" => "audio/flac",
        "webm" => "audio/webm",
        _ => "application/octet-stream",
    }
}
