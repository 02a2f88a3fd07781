//! Pictures of before and after, taken by the runtime when a change is handed over: of
//! every page that its builder has looked at, posted side by side. Nothing depends on
//! them but the Artist's look, so what cannot be taken is logged and left out.

use crate::tools::failed;
use butler_protocol::{Picture, RefusedFor, ToolOutcome};
use butler_tools::{Shot, before_and_after};
use butler_turn::Surface;

use crate::decide::surface;
use crate::tools::CallContext;

/// More pages show nothing more.
const MOST: usize = 4;

/// Takes and posts them. The same hand-over posts them once.
///
/// # Errors
/// When it was designed how it looks, and nobody has looked.
pub(super) async fn take(
    context: &CallContext<'_>,
    known: &Surface,
) -> Result<Vec<Picture>, ToolOutcome> {
    if surface::is_unseen(known) {
        return Err(ToolOutcome::refused(
            RefusedFor::Unseen,
            "refused: this was designed, and nobody has seen it yet. Take a Screenshot of each page that it changes, wide and narrow, mend what is not as designed, then hand over. If there is nothing to see, hand over again",
        ));
    }
    // Where commands ask first, nothing runs by itself.
    if context.permit.unconfined() {
        return Ok(Vec::new());
    }
    let mut shots: Vec<Shot> = known.shots.iter().rev().filter_map(Shot::of_call).collect();
    shots.truncate(MOST);
    let (mut files, mut lines) = (Vec::new(), Vec::new());
    for (number, shot) in (1..).zip(shots.iter().rev()) {
        match before_and_after(context.tools, context.permit, shot).await {
            Ok(taken) => {
                let what = if taken.had_before {
                    "before and after"
                } else {
                    "new"
                };
                lines.push(format!("{number}. {} ({what})", shot.title()));
                files.push((
                    format!("{number}-{}.png", name(shot, taken.had_before)),
                    taken.picture,
                ));
            }
            Err(problem) => tracing::warn!(problem, page = shot.page, "no picture"),
        }
    }
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<String> = files.iter().map(|(name, _)| name.clone()).collect();
    let text = format!("How it looks:\n\n{}", lines.join("\n"));
    let idem = context.idem(context.id());
    let idem = butler_protocol::Idem::new(format!("{idem}-pictures"));
    let poster = &context.poster;
    match poster
        .show(&context.thread, idem, &text, Vec::new(), files)
        .await
    {
        Ok((posted, ids)) => Ok(ids
            .into_iter()
            .zip(names)
            .map(|(id, name)| Picture {
                id,
                name,
                message: posted.ts.clone(),
            })
            .collect()),
        Err(error) => Err(failed("the pictures were not posted", &error)),
    }
}

fn name(shot: &Shot, had_before: bool) -> String {
    let tail = shot.page.split("://").last().unwrap_or_default();
    let plain = tail.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let what = if had_before { "before-after" } else { "new" };
    format!("{}-{}-{what}", plain.trim_matches('-'), shot.width)
}
