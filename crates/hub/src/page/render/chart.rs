//! Charts drawn on the server as SVG: bars with their figures as text, so that
//! they need no script, print well, and read out well. Colours are classes.

use butler_protocol::Usd;
use maud::{Markup, html};

/// A bar of a chart.
pub(crate) struct Bar<'a> {
    pub(crate) label: &'a str,
    pub(crate) cost: Usd,
    /// How many calls it was.
    pub(crate) calls: i64,
    pub(crate) link: Option<String>,
    /// A colour of the stylesheet.
    pub(crate) class: &'a str,
}

/// A bill: what it was for, its share as a bar, how often, and what it cost.
pub(crate) fn rows(what: &str, bars: &[Bar<'_>]) -> Markup {
    let most = most(bars);
    html! {
        table.bill {
            thead { tr { th scope="col" { (what) } th scope="col" { span.hidden { "Share" } } th scope="col" { "Calls" } th scope="col" { "Cost" } } }
            tbody {
                @for bar in bars {
                    tr {
                        th scope="row" {
                            @match &bar.link {
                                Some(link) => { a href=(link) { (bar.label) } }
                                None => (bar.label),
                            }
                        }
                        td.share {
                            svg viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true" {
                                rect.track width="1000" height="10" rx="5" {}
                                rect.(bar.class) width=(share(bar.cost, most, 1000)) height="10" rx="5" {}
                            }
                        }
                        td.figure { (bar.calls) }
                        td.figure { (bar.cost) }
                    }
                }
            }
        }
    }
}

/// What the longest bar stands for.
fn most(bars: &[Bar<'_>]) -> i64 {
    let costs = bars.iter().map(|bar| bar.cost.nanos());
    costs.max().unwrap_or(0).max(1)
}

/// How much of `room` a figure takes; what is not nothing is visible.
fn share(cost: Usd, most: i64, room: i64) -> i64 {
    let nanos = i128::from(cost.nanos().max(0));
    let width = nanos * i128::from(room) / i128::from(most.max(1));
    let width = i64::try_from(width).unwrap_or(room).min(room);
    if nanos > 0 { width.max(4) } else { 0 }
}

const WIDTH: i64 = 720;
const HEIGHT: i64 = 160;

/// Columns over time, each with its figure for those who ask.
pub(crate) fn columns(bars: &[Bar<'_>], title: &str) -> Markup {
    let most = most(bars);
    let count = i64::try_from(bars.len()).unwrap_or(1).max(1);
    let step = (WIDTH / count).min(64);
    html! {
        figure.chart {
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT + 24) } preserveAspectRatio="xMinYMax meet" role="img" aria-label=(title) {
                line.axis x1="0" y1=(HEIGHT) x2=(WIDTH) y2=(HEIGHT) {}
                @for (index, bar) in (0_i64..).zip(bars) {
                    @let height = share(bar.cost, most, HEIGHT - 22);
                    rect.column x=(index * step + step / 8) y=(HEIGHT - height) width=(step * 3 / 4)
                        height=(height) rx="3" { title { (bar.label) ": " (bar.cost) ", calls: " (bar.calls) } }
                    @if count <= 12 {
                        text x=(index * step + step / 2) y=(HEIGHT - height - 6) { (bar.cost) }
                    }
                    @if count <= 12 || index % (count / 6).max(1) == 0 {
                        text x=(index * step + step / 2) y=(HEIGHT + 16) { (bar.label.get(5..).unwrap_or(bar.label)) }
                    }
                }
            }
            figcaption.soft { (title) }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::page::render::chart::*;

    #[test]
    fn bars_are_as_long_as_their_share_and_never_invisible() {
        let most = Usd::from_cents(200).nanos();
        assert_eq!(share(Usd::from_cents(200), most, 1000), 1000);
        assert_eq!(share(Usd::from_cents(50), most, 1000), 250);
        assert_eq!(share(Usd::from_nanos(1), most, 1000), 4);
        assert_eq!(share(Usd::ZERO, most, 1000), 0);
        assert_eq!(share(Usd::from_nanos(i64::MAX), i64::MAX, 1000), 1000);
    }

    #[test]
    fn labels_are_escaped_and_figures_are_text() {
        let bar = Bar {
            label: "<b>",
            cost: Usd::from_cents(7),
            calls: 2,
            link: None,
            class: "coder",
        };
        let html = rows("Role", &[bar]).into_string();
        assert!(
            html.contains("&lt;b&gt;") && html.contains("$0.07"),
            "{html}"
        );
        let bar = Bar {
            label: "2026-11-15",
            cost: Usd::ZERO,
            calls: 0,
            link: None,
            class: "",
        };
        assert!(columns(&[bar], "Per day").into_string().contains(">11-15<"));
        assert!(columns(&[], "Per day").into_string().contains("figure"));
    }
}
