//! A greeting that whoever set the workspace up may leave beside its store:
//! one line on every channel page, and requests that a click sends.

use std::{fs, path::Path};

use butler_protocol::ChannelId;
use maud::{Markup, html};
use serde::Deserialize;

/// `welcome.json` in the hub's folder.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Welcome {
    /// What everybody should know.
    banner: String,
    /// What one could ask for.
    requests: Vec<String>,
    /// A demo's hub is not where `codebutler link` looks for one.
    demo: bool,
}

impl Welcome {
    /// Nothing when there is no such file, or it cannot be read.
    pub(crate) fn read(folder: &Path) -> Self {
        let text = fs::read_to_string(folder.join("welcome.json")).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Where a code for the page comes from.
    pub(crate) fn source_of_codes(&self) -> Markup {
        html! {
            @if self.demo { "the link in the demo's terminal" }
            @else { code { "codebutler link" } }
        }
    }

    /// How to get in when a code was used.
    pub(crate) fn another_code(&self) -> Markup {
        html! {
            @if self.demo { "End the demo with Ctrl-C and start it again for another." }
            @else { code { "codebutler link" } " gives another." }
        }
    }

    pub(crate) fn banner(&self) -> Markup {
        html! { @if !self.banner.is_empty() { p.banner role="note" { (self.banner) } } }
    }

    /// Each a form of its own, so that it works without scripts.
    pub(crate) fn requests(&self, channel: &ChannelId) -> Markup {
        html! {
            @if !self.requests.is_empty() {
                section.requests aria-label="What you could ask for" {
                    p { "Try one of these:" }
                    @for request in &self.requests {
                        form method="post" action={ "/c/" (channel) "/say" } enctype="multipart/form-data" {
                            input type="hidden" name="text" value=(request);
                            button type="submit" { (request) }
                        }
                    }
                }
            }
        }
    }
}
