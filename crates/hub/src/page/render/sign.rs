//! Small drawings of our own: a machine without a font for emoji shows them too.

use maud::{Markup, html};

/// A drawing of `assets/signs.svg`, in the colour of the text around it. For the eye only.
pub(crate) fn sign(name: &str) -> Markup {
    html! { svg.sign aria-hidden="true" { use href={ "/assets/signs.svg#" (name) } {} } }
}
