//! What people see of a change, and when the Artist is asked about it. Files say whether
//! there is a surface; the log says whether there are a design and pictures. No prompt
//! decides any of this.

pub(crate) mod designs;
pub(crate) mod pictures;

use butler_protocol::{Complexity, Plan};
use butler_tools::has_browser;
use butler_turn::Surface;

use crate::ThreadContext;

/// How often the Artist may send a change back before the review begins.
const LOOKS: u32 = 2;

/// Files that end like this are drawn for people.
const DRAWN: [&str; 18] = [
    "html", "htm", "css", "scss", "sass", "less", "jsx", "tsx", "vue", "svelte", "astro", "hbs",
    "ejs", "pug", "erb", "jinja", "svg", "qml",
];

/// Whether people will see one of these files.
pub(crate) fn has_surface(files: &[String]) -> bool {
    let drawn = |file: &String| {
        let ending = file.rsplit_once('.').map(|(_, ending)| ending);
        ending.is_some_and(|ending| DRAWN.contains(&ending.to_ascii_lowercase().as_str()))
    };
    files.iter().any(drawn)
}

/// Whether a plan ought to have a design first. A simple one is not worth the ceremony.
pub(crate) fn wants_design(plan: &Plan) -> bool {
    plan.design.is_none() && plan.complexity != Complexity::Simple && has_surface(&plan.files)
}

/// Whether pictures are worth a tool in this thread.
pub(crate) fn is_visible(surface: &Surface) -> bool {
    surface.design.is_some() || has_surface(&surface.files)
}

/// Whether a change is handed over that was designed and that nobody has looked at, where
/// somebody could.
pub(crate) fn is_unseen(surface: &Surface) -> bool {
    surface.design.is_some() && surface.shots.is_empty() && surface.unseen == 0 && has_browser()
}

/// Whether the Artist looks before the Reviewer reads: there is something to compare, and
/// whoever looks can see.
pub(crate) fn wants_look(context: &ThreadContext, surface: &Surface, pictures: usize) -> bool {
    let rules = context.agent.rules();
    let sees = |model: &String| context.agent.model.sees(model);
    let sees = rules.models.seeing.as_ref().is_none_or(sees);
    surface.design.is_some() && pictures > 0 && surface.looks < LOOKS && sees
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_surface_is_what_is_drawn() {
        let files = |names: &[&str]| {
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>()
        };
        assert!(has_surface(&files(&["src/a.rs", "site/Index.HTML"])));
        assert!(!has_surface(&files(&["src/html.rs", "README.md", "css"])));
    }
}
