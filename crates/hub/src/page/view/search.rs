//! What a search found, best first.

use maud::{Markup, html};

use crate::{
    page::{Around, Here, Live, layout, view::thread},
    views::search::Hit,
};

/// The whole page.
pub(crate) fn page(query: &str, hits: &[Hit], around: &Around) -> Markup {
    let content = html! {
        header.top { h1 { "Search" } p.soft { "Threads, messages, files and changes" } }
        div.page {
            form.find role="search" method="get" action="/search" {
                input type="search" name="q" value=(query) aria-label="Words to search for";
                button.primary type="submit" { "Search" }
            }
            @if !query.trim().is_empty() { (found(query, hits)) }
        }
    };
    layout::page("Search", Here::Search, around, &Live::default(), &content)
}

fn found(query: &str, hits: &[Hit]) -> Markup {
    html! {
        @if hits.is_empty() {
            div.empty { h2 { "Nothing found" } p { "No message, file or change has all of: " strong { (query) } } }
        } @else {
            ol.hits {
                @for hit in hits {
                    li {
                        p {
                            a href=(address(hit)) { (hit.title) }
                            @if let Some(number) = hit.pull { " " span.chip { "#" (number) } }
                            " " span.soft { "# " (hit.channel) }
                        }
                        p.soft { (hit.excerpt) }
                    }
                }
            }
        }
    }
}

fn address(hit: &Hit) -> String {
    match &hit.message {
        Some(ts) => format!("{}#m{ts}", thread::address(&hit.thread, "")),
        None => thread::address(&hit.thread, "/changes"),
    }
}
