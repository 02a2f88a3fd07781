//! GenerateImage and EditImage: a picture by the repository's image model, paid like any
//! other call, posted in the thread and put before a person with Accept, Change and
//! Discard. It is kept with the thread's files before it is settled: paid once.

use std::time::Duration;

use butler_model::{Drawing, ModelClient};
use butler_policy::Permit;
use butler_protocol::{
    CallId, Idem, Image, PictureSubject, RequestId, Reservation, ReserveId, Sha256Hex, Subject,
    TokenUsage, ToolOutcome, ToolSpec, Usd,
};
use butler_tools::{ToolContext, picture_type};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ChatTool, decide, failed, spec};
use crate::{
    AgentError, Images,
    decide::cards::NewCard,
    thread::{
        context::ThreadContext,
        side_call::{set_aside, settle},
        worker::attached,
    },
};

/// Longer than the client waits.
const DEADLINE: Duration = Duration::from_secs(300);
/// Endpoints take no more pictures at once.
const MOST_FROM: usize = 16;

pub(crate) struct GenerateImage(pub ThreadContext);
pub(crate) struct EditImage(pub ThreadContext);

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Generate {
    /// What it shows, in which style, on what ground.
    prompt: String,
    /// Its file name, as empty-list.png.
    name: String,
    /// As 1024x1024 or 1536x1024.
    #[serde(default)]
    size: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Edit {
    /// What becomes different, and what stays.
    prompt: String,
    /// The file name of the result.
    name: String,
    /// Paths of the pictures that it is made from.
    from: Vec<String>,
}

impl ChatTool for GenerateImage {
    type Input = Generate;

    const NAME: &'static str = "GenerateImage";
    const DEADLINE: Duration = DEADLINE;

    fn told() -> ToolSpec {
        spec::<Generate>(
            Self::NAME,
            "Makes a picture, which costs money, shows it in the thread with Accept, Change and \
             Discard, and sleeps until a person chose. For an asset that no drawing in code can \
             be; icons and layouts are better as SVG or CSS. Accepted ones are kept in git. \
             Example: {\"prompt\": \"an empty tray, flat, two greys on white\", \"name\": \
             \"empty-list.png\", \"size\": \"1024x1024\"}",
        )
    }

    async fn act(&self, permit: &Permit, input: Generate, _context: &ToolContext) -> ToolOutcome {
        let wanted = Wanted {
            prompt: input.prompt,
            name: input.name,
            size: input.size.filter(|size| !size.trim().is_empty()),
            from: Vec::new(),
        };
        make(&self.0, permit.call(), wanted).await
    }
}

impl ChatTool for EditImage {
    type Input = Edit;

    const NAME: &'static str = "EditImage";
    const DEADLINE: Duration = DEADLINE;

    fn told() -> ToolSpec {
        spec::<Edit>(
            Self::NAME,
            "Makes a picture from others, as GenerateImage does from words alone. Example: \
             {\"prompt\": \"the same tray, blue instead of grey\", \"name\": \"empty-list.png\", \
             \"from\": [\".codebutler/artist/assets/empty-list.png\"]}",
        )
    }

    async fn act(&self, permit: &Permit, input: Edit, tool_context: &ToolContext) -> ToolOutcome {
        if input.from.is_empty() || input.from.len() > MOST_FROM {
            return ToolOutcome::error(format!(
                "`from` is missing: 1 to {MOST_FROM} pictures; without one use GenerateImage"
            ));
        }
        let mut from = Vec::new();
        for path in &input.from {
            match tool_context.outgoing(None, path) {
                Ok(file) if picture_type(&file.1).is_some() => from.push(file),
                Ok(_) => return ToolOutcome::error(format!("failed: `{path}` is no picture")),
                Err(why) => return ToolOutcome::error(format!("failed: {why}")),
            }
        }
        let wanted = Wanted {
            prompt: input.prompt,
            name: input.name,
            size: None,
            from,
        };
        make(&self.0, permit.call(), wanted).await
    }
}

struct Wanted {
    prompt: String,
    name: String,
    size: Option<String>,
    from: Vec<(String, Vec<u8>)>,
}

/// A picture that was paid.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Made {
    picture: Image,
    cost: Usd,
    usage: TokenUsage,
}

async fn make(context: &ThreadContext, call: &CallId, wanted: Wanted) -> ToolOutcome {
    let rules = context.agent.rules();
    let Some(images) = &rules.models.images else {
        return ToolOutcome::error(
            "failed: no model makes pictures here (`models.artist.imageModel` in \
             `.codebutler/config.json`); describe it, or draw it as SVG",
        );
    };
    if wanted.prompt.trim().is_empty() {
        return ToolOutcome::error("`prompt` is missing: what the picture shows");
    }
    let made = match paid(context, call, images, &wanted).await {
        Ok(Ok(made)) => made,
        Ok(Err(problem)) => return ToolOutcome::error(format!("failed: {problem}")),
        Err(error) => return failed("the picture could not be made", &error),
    };
    match show(context, call, images, wanted, made).await {
        Ok(outcome) => outcome,
        Err(error) => failed("the picture was not posted", &error),
    }
}

/// The picture, from an earlier try where it was paid then.
async fn paid(
    context: &ThreadContext,
    call: &CallId,
    images: &Images,
    wanted: &Wanted,
) -> Result<Result<Made, String>, AgentError> {
    let short = context.thread.short();
    let id = ReserveId::new(format!("{short}-{}-picture-{call}", context.role()));
    let folder = attached::folder_of(&context.agent, &short);
    let (kept, name) = (call.to_string(), "made.json");
    let known = tokio::fs::read(folder.path(&kept, name)).await;
    if let Some(made) = known
        .ok()
        .and_then(|made| serde_json::from_slice::<Made>(&made).ok())
    {
        let paid = (made.cost, made.usage, images.model.clone());
        context.write(settle(context, id, paid).await?);
        return Ok(Ok(made));
    }
    let worst = Reservation {
        id: id.clone(),
        thread: context.thread.clone(),
        person: None,
        amount: images.worst_case(),
        heard: context.poster.heard,
    };
    if let Err(reason) = set_aside(&context.poster, &worst).await? {
        return Ok(Err(reason));
    }
    let (made, cost, usage) = match drawn(images, wanted).await {
        Ok(made) => {
            let (cost, usage) = (made.cost, made.usage);
            (Ok(made), cost, usage)
        }
        Err((problem, cost)) => (Err(problem), cost, TokenUsage::default()),
    };
    if let Ok(made) = &made {
        let bytes = serde_json::to_vec(made).unwrap_or_default();
        let keeping = move || folder.keep(&kept, name, &bytes);
        if let Ok(Err(error)) = tokio::task::spawn_blocking(keeping).await {
            tracing::warn!(%error, "a picture could not be kept; it is paid again after a crash");
        }
    }
    let paid = (cost, usage, images.model.clone());
    context.write(settle(context, id, paid).await?);
    Ok(made)
}

async fn drawn(images: &Images, wanted: &Wanted) -> Result<Made, (String, Usd)> {
    let told = |problem: String| (problem, Usd::ZERO);
    let client = ModelClient::new(images.client.clone()).map_err(|e| told(e.to_string()))?;
    let drawing = Drawing {
        model: &images.model,
        prompt: wanted.prompt.trim(),
        size: wanted.size.as_deref(),
        from: &wanted.from,
    };
    let cancel = tokio_util::sync::CancellationToken::new();
    let drawn = client.draw(drawing, &cancel).await;
    let drawn = drawn.map_err(|error| (error.to_string(), error.spent()))?;
    let cost = images.cost(drawn.billed, &drawn.usage);
    let Some(kind) = picture_type(&drawn.bytes) else {
        return Err((
            "what came is no whole PNG, JPEG or WebP picture".to_owned(),
            cost,
        ));
    };
    Ok(Made {
        picture: Image::new(kind, &drawn.bytes),
        cost,
        usage: drawn.usage,
    })
}

/// In the thread, and before a person.
async fn show(
    context: &ThreadContext,
    call: &CallId,
    images: &Images,
    wanted: Wanted,
    made: Made,
) -> Result<ToolOutcome, AgentError> {
    let name = file_name(&wanted.name, &made.picture.media_type);
    let bytes = made.picture.bytes().unwrap_or_default();
    let sha256 = Sha256Hex::of(&bytes);
    let idem = Idem::new(format!("{}-picture", context.idem(call)));
    let text = format!("`{name}`, made by `{}`, {}", images.model, made.cost);
    let files = vec![(name.clone(), bytes)];
    let poster = &context.poster;
    let (_, ids) = poster
        .show(&context.thread, idem, &text, Vec::new(), files)
        .await?;
    let subject = PictureSubject {
        name,
        prompt: wanted.prompt.trim().to_owned(),
        made_from: wanted.from.into_iter().map(|(name, _)| name).collect(),
        model: images.model.clone(),
        cost: made.cost,
        file: ids.into_iter().next().unwrap_or_default(),
        sha256,
    };
    let card = NewCard {
        request: RequestId::of(call),
        subject: Subject::Picture(Box::new(subject)),
        remarks: Vec::new(),
        learnings: Vec::new(),
    };
    let said = "the picture is in the thread and waits for a person; you see it below";
    let outcome = decide(context, call, card, said).await;
    Ok(outcome.showing(made.picture))
}

/// Plain letters, and the ending that its bytes have.
fn file_name(wanted: &str, media_type: &str) -> String {
    let stem = wanted.rsplit_once('.').map_or(wanted, |(stem, _)| stem);
    let plain = stem.to_lowercase();
    let plain = plain.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let plain: String = plain.trim_matches('-').chars().take(60).collect();
    let ending = match media_type {
        "image/jpeg" => "jpg",
        "image/webp" => "webp",
        _ => "png",
    };
    match plain.is_empty() {
        true => format!("picture.{ending}"),
        false => format!("{plain}.{ending}"),
    }
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn a_name_stays_in_its_folder() {
        assert_eq!(file_name("Empty List.PNG", "image/png"), "empty-list.png");
        assert_eq!(file_name("../../etc/x.sh", "image/jpeg"), "etc-x.jpg");
        assert_eq!(file_name("...", "image/webp"), "picture.webp");
    }
}
