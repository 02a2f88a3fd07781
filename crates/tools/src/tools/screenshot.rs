//! Screenshot: how a page of the worktree looks, as a picture. It is kept with the
//! thread's files, so that it can be posted, and shown to a model that sees.

use std::{path::Path, time::Duration};

use butler_policy::Permit;
use butler_protocol::{Tier, ToolOutcome};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Told, blocking};
use crate::{
    Attached, Tool, ToolContext,
    content::picture,
    context::READY_PATIENCE,
    run::camera::{self, Shot},
};

const WIDTH: u32 = 1280;
const HEIGHT: u32 = 800;
const MOST_WIDTH: u32 = 2560;
const MOST_HEIGHT: u32 = 4000;
const SMALLEST: u32 = 200;

#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    /// A file from the root, or with serve an address as http://127.0.0.1:8000/.
    page: String,
    /// The command that serves the page, until the picture is taken.
    serve: Option<String>,
    /// Default 1280; a phone has 390.
    #[schemars(range(min = 200))]
    width: Option<u32>,
    /// Default 800.
    #[schemars(range(min = 200))]
    height: Option<u32>,
}

impl Input {
    fn shot(self) -> Shot {
        let serve = self.serve.map(|serve| serve.trim().to_owned());
        Shot {
            page: self.page.trim().to_owned(),
            serve: serve.filter(|serve| !serve.is_empty()),
            width: self.width.unwrap_or(WIDTH).clamp(SMALLEST, MOST_WIDTH),
            height: self.height.unwrap_or(HEIGHT).clamp(SMALLEST, MOST_HEIGHT),
        }
    }
}

/// The tool.
pub struct Screenshot;

const DESCRIPTION: &str = "
Takes a picture of a page with a real browser, in the sandbox and without network, and shows it to
you. For what people see, once it is built; not to read code (Read). Pages that are files need no
server. The path of the picture can be given to SendMessage.
Example: {\"page\": \"site/index.html\", \"width\": 390}";

impl Tool for Screenshot {
    crate::tools::introduce!("Screenshot", WriteLocal, Rerunnable);

    fn tier_of(&self, input: &Value) -> Tier {
        match input["serve"].as_str() {
            Some(serve) if !serve.trim().is_empty() => Tier::WriteLocal,
            _ => Tier::Read,
        }
    }

    fn deadline(&self, _input: &Value) -> Duration {
        Duration::from_secs(150) + READY_PATIENCE
    }
}

impl Screenshot {
    async fn work(&self, permit: &Permit, input: Input, context: &ToolContext) -> Told {
        let shot = input.shot();
        // Only what is run may need what the preparation makes.
        if shot.serve.is_some() {
            context.ready().await?;
        }
        let bytes = camera::take(context, permit, &shot).await?;
        let folder = context.workplace().surroundings().attached.clone();
        let call = permit.call().to_string();
        blocking(move || {
            let Some(Ok(picture)) = picture::look(&bytes) else {
                return Err("failed: the browser made no picture".into());
            };
            let kept = folder.map(|folder| keep(&folder, &call, &shot.file_name(), &bytes));
            let place = match kept {
                Some(Ok(path)) => format!("; kept as {path}"),
                Some(Err(error)) => format!("; it could not be kept: {error}"),
                None => String::new(),
            };
            let text = format!("{}: {}{place}", shot.title(), picture.line());
            Ok(ToolOutcome::ok(text).showing(picture.image(&bytes)))
        })
        .await
    }
}

fn keep(folder: &Path, call: &str, name: &str, bytes: &[u8]) -> std::io::Result<String> {
    let root = folder.parent().unwrap_or(folder).to_owned();
    let thread = folder.file_name().unwrap_or_default().to_string_lossy();
    let path = Attached::of(root, &thread).keep(call, name, bytes)?;
    Ok(path.display().to_string())
}

impl Shot {
    /// The picture that a call of the tool asked for.
    pub fn of_call(arguments: &Value) -> Option<Self> {
        Some(Input::deserialize(arguments).ok()?.shot())
    }
}
