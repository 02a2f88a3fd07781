//! Voice to text, as OpenAI's transcription endpoint takes it. The ending of
//! the file's name decides how it is read there, so it is kept.

use butler_vocab::Usd;
use reqwest::multipart::{Form, Part};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{ErrorClass, ModelClient, ModelError, Trouble};

/// What the endpoint takes at most.
const LARGEST: usize = 25 << 20;
/// What it can read.
const ENDINGS: [&str; 9] = [
    "flac", "mp3", "mp4", "mpeg", "mpga", "m4a", "ogg", "wav", "webm",
];

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Voice {
    /// The file's name; its ending says what it is.
    pub name: String,
    /// The file.
    pub bytes: Vec<u8>,
    /// As in `es`, when it is known.
    pub language: Option<String>,
}

/// What was said, in writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// The words.
    pub text: String,
    /// What it cost; counted by the minute where the endpoint counts so.
    pub cost: Usd,
}

impl ModelClient {
    /// Writes down what was said.
    ///
    /// # Errors
    /// As [`ModelClient::complete`]; a file that is too large or of a kind that
    /// nobody reads is refused before it is sent.
    pub async fn transcribe(
        &self,
        model: &str,
        voice: &Voice,
        cancel: &CancellationToken,
    ) -> Result<Transcript, ModelError> {
        if let Some(problem) = problem(voice) {
            return Err(ErrorClass::Rejected.with(Trouble::new(model, problem)));
        }
        let url = self.config().endpoint.url("audio/transcriptions");
        let answer = self
            .service(model, cancel, || {
                self.http().post(url.clone()).multipart(form(model, voice))
            })
            .await?;
        let Some(text) = answer.get("text").and_then(Value::as_str) else {
            let detail = "the answer holds no text";
            return Err(ErrorClass::Malformed.with(Trouble::new(model, detail)));
        };
        let usage = answer.get("usage");
        let by_minute = || {
            let seconds = usage?.get("seconds")?.as_f64()?;
            let minutes = (seconds / 60.0).ceil().clamp(0.0, 10_000.0) as i64;
            let nanos = self.config().voice_minute.nanos();
            Some(Usd::from_nanos(nanos.saturating_mul(minutes)))
        };
        let cost = self.service_cost(model, usage).or_else(by_minute);
        Ok(Transcript {
            text: text.trim().to_owned(),
            cost: cost.unwrap_or(Usd::ZERO),
        })
    }
}

fn problem(voice: &Voice) -> Option<String> {
    let Voice { name, bytes, .. } = voice;
    let ending = name
        .rsplit_once('.')
        .map(|(_, ending)| ending.to_lowercase());
    if bytes.len() > LARGEST {
        return Some(format!("{name} is larger than 25 MB; send it in parts"));
    }
    if !ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str())) {
        return Some(format!(
            "{name} is no voice file: use {}",
            ENDINGS.join(", ")
        ));
    }
    None
}

fn form(model: &str, voice: &Voice) -> Form {
    let file = Part::bytes(voice.bytes.clone()).file_name(voice.name.clone());
    let form = Form::new()
        .part("file", file)
        .text("model", model.to_owned())
        .text("response_format", "json");
    match &voice.language {
        Some(language) => form.text("language", language.clone()),
        None => form,
    }
}
