//! Pictures from words, and from pictures. OpenRouter's image models speak chat; OpenAI and
//! what speaks like it (also Stable Diffusion on one's own machine) have an interface of
//! their own. Each is asked once: a silent repeat is paid twice.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use butler_protocol::{TokenUsage, Usd};
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{EndpointKind, ErrorClass, ModelClient, ModelError, Trouble, catalog, http::transport};

/// Drawing is slow, and a busy server puts it into a queue.
const PATIENCE: Duration = Duration::from_secs(240);
/// Between two looks at a queue.
const LOOK: Duration = Duration::from_secs(2);
/// No picture for a page is larger.
const LARGEST: usize = 25 << 20;

/// What is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Drawing<'a> {
    pub model: &'a str,
    /// What is wanted.
    pub prompt: &'a str,
    /// As in `1024x1024`; nothing leaves it to the model.
    pub size: Option<&'a str>,
    /// The pictures that it is made from: name and bytes, PNG, JPEG or WebP.
    pub from: &'a [(String, Vec<u8>)],
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    pub bytes: Vec<u8>,
    /// What the endpoint charged, when it says that.
    pub billed: Option<Usd>,
    /// Tokens, where it counts them.
    pub usage: TokenUsage,
}

impl ModelClient {
    /// Draws; `cancel` ends it at once.
    /// Errors: as for a call, without retries.
    pub async fn draw(
        &self,
        drawing: Drawing<'_>,
        cancel: &CancellationToken,
    ) -> Result<Drawn, ModelError> {
        let drawn = tokio::time::timeout(PATIENCE, self.drawn(drawing));
        tokio::select! {
            () = cancel.cancelled() => Err(ModelError::Cancelled { spent: Usd::ZERO }),
            drawn = drawn => drawn.unwrap_or_else(|_| {
                let said = "no picture within four minutes";
                Err(ErrorClass::Timeout.with(Trouble::new(drawing.model, said)))
            }),
        }
    }

    async fn drawn(&self, drawing: Drawing<'_>) -> Result<Drawn, ModelError> {
        let config = self.config();
        let request = match config.endpoint.kind {
            EndpointKind::Openrouter => self.asked_in_chat(drawing),
            _ if drawing.from.is_empty() => {
                let mut body = json!({"model": drawing.model, "prompt": drawing.prompt, "n": 1});
                if let Some(size) = drawing.size {
                    body["size"] = json!(size);
                }
                let url = config.endpoint.url("images/generations");
                self.http().post(url).json(&body)
            }
            _ => {
                let url = config.endpoint.url("images/edits");
                self.http().post(url).multipart(form(drawing)?)
            }
        };
        let request = request.timeout(PATIENCE);
        let answer = catalog::answer(request, config, drawing.model).await?;
        let answer = self.waited(drawing.model, answer).await?;
        if let Some(said) = refused(&answer) {
            return Err(ErrorClass::Rejected.with(Trouble::new(drawing.model, said)));
        }
        let bytes = self.picture(drawing.model, &answer).await?;
        let usage = &answer["usage"];
        let count = |keys: [&str; 2]| keys.iter().find_map(|key| usage[*key].as_u64());
        Ok(Drawn {
            bytes,
            billed: usage["cost"].as_f64().map(Usd::from_dollars),
            usage: TokenUsage {
                input: count(["input_tokens", "prompt_tokens"]).unwrap_or(0),
                output: count(["output_tokens", "completion_tokens"]).unwrap_or(0),
                ..TokenUsage::default()
            },
        })
    }

    /// Image models of OpenRouter answer in chat, with a picture beside their words.
    fn asked_in_chat(&self, drawing: Drawing<'_>) -> reqwest::RequestBuilder {
        let size = drawing.size.map(|size| format!("\n\nSize: {size} pixels."));
        let text = format!("{}{}", drawing.prompt, size.unwrap_or_default());
        let mut content = vec![json!({"type": "text", "text": text})];
        content.extend(drawing.from.iter().map(|(name, bytes)| {
            let url = format!(
                "data:{};base64,{}",
                media_type(name),
                STANDARD.encode(bytes)
            );
            json!({"type": "image_url", "image_url": {"url": url}})
        }));
        let body = json!({"model": drawing.model, "modalities": ["image", "text"],
            "messages": [{"role": "user", "content": content}]});
        self.http()
            .post(self.config().endpoint.url("chat/completions"))
            .json(&body)
    }

    /// A server that answers with its queue is asked again until the picture is there.
    async fn waited(&self, model: &str, mut answer: Value) -> Result<Value, ModelError> {
        let queued = |answer: &Value| {
            let state = answer["status"].as_str().unwrap_or_default();
            matches!(state, "queued" | "pending" | "in_progress" | "processing")
        };
        while queued(&answer) {
            let Some(id) = answer["id"].as_str().map(plain_id) else {
                let said = "it queued the picture and did not say under which name";
                return Err(ErrorClass::Malformed.with(Trouble::new(model, said)));
            };
            tokio::time::sleep(LOOK).await;
            let url = self
                .config()
                .endpoint
                .url(&format!("images/generations/{id}"));
            let request = self.http().get(url).timeout(PATIENCE);
            answer = catalog::answer(request, self.config(), model).await?;
        }
        Ok(answer)
    }

    /// The bytes, which stand in the answer or where it points to.
    async fn picture(&self, model: &str, answer: &Value) -> Result<Vec<u8>, ModelError> {
        let bad = |said: &str| ErrorClass::Malformed.with(Trouble::new(model, said));
        let image = &answer["data"][0];
        let place = image["url"].as_str();
        let place = place.or_else(|| {
            answer
                .pointer("/choices/0/message/images/0/image_url/url")?
                .as_str()
        });
        let inside = image["b64_json"].as_str().or_else(|| {
            let (_, data) = place?.strip_prefix("data:")?.split_once(";base64,")?;
            Some(data)
        });
        if let Some(text) = inside {
            let bytes = STANDARD.decode(text.trim());
            return bytes.map_err(|_| bad("a picture that is not base64"));
        }
        let place = place.ok_or_else(|| bad("an answer without a picture"))?;
        let url = Url::parse(place).ok().filter(|url| self.may_fetch(url));
        let url = url.ok_or_else(|| bad("a picture at an address that is not fetched"))?;
        let http = transport::bare(self.config())?;
        let request = http.get(url).timeout(PATIENCE);
        let lost = |_| bad("the picture could not be fetched from where the answer points");
        let mut response = request.send().await.map_err(lost)?;
        if !response.status().is_success() {
            return Err(bad("the picture is not where the answer points"));
        }
        let mut bytes = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(lost)? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > LARGEST {
                return Err(bad("a picture above 25 MB"));
            }
        }
        Ok(bytes)
    }

    /// The endpoint's own host, or a named one over TLS: a wrong answer must not make us
    /// read this machine's neighbours.
    fn may_fetch(&self, url: &Url) -> bool {
        let own = self.config().endpoint.url("images");
        let same = (own.scheme(), own.host(), own.port()) == (url.scheme(), url.host(), url.port());
        same || (url.scheme() == "https" && url.domain().is_some_and(|name| name.contains('.')))
    }
}

/// A 200 can be a failure.
fn refused(answer: &Value) -> Option<String> {
    let error = [&answer["error"], &answer["choices"][0]["error"]];
    let error = error.into_iter().find(|error| !error.is_null())?;
    let said = error["message"].as_str().or_else(|| error.as_str());
    Some(said.unwrap_or("it refused without a reason").to_owned())
}

fn plain_id(id: &str) -> String {
    let plain = |c: &char| c.is_ascii_alphanumeric() || "-_".contains(*c);
    id.chars().filter(plain).collect()
}

fn form(drawing: Drawing<'_>) -> Result<Form, ModelError> {
    let bad = |error: reqwest::Error| {
        ErrorClass::Rejected.with(Trouble::new(drawing.model, error.to_string()))
    };
    let mut form = Form::new()
        .text("model", drawing.model.to_owned())
        .text("prompt", drawing.prompt.to_owned());
    if let Some(size) = drawing.size {
        form = form.text("size", size.to_owned());
    }
    let field = if drawing.from.len() == 1 {
        "image"
    } else {
        "image[]"
    };
    for (name, bytes) in drawing.from {
        let part = Part::bytes(bytes.clone()).file_name(name.clone());
        form = form.part(field, part.mime_str(media_type(name)).map_err(bad)?);
    }
    Ok(form)
}

fn media_type(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map_or("", |(_, end)| end);
    match ending.to_ascii_lowercase().as_str() {
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        _ => "image/png",
    }
}
