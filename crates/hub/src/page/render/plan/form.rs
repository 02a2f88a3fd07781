//! A plan that waits, as a form: what a person changes here is what they approve.

use butler_protocol::{ChannelId, Complexity, MessageTs, Plan, RequestId};
use maud::{Markup, html};

/// The form below a card's buttons; folded until somebody wants it.
pub(crate) fn form(
    channel: &ChannelId,
    (ts, root): (&MessageTs, &MessageTs),
    (request, plan): (&RequestId, &Plan),
    pool: &[String],
) -> Markup {
    let steps: Vec<&str> = plan.steps.iter().map(|step| step.text.as_str()).collect();
    let list = |name: &str, label: &str, lines: &[&str]| {
        html! {
            label for={ (name) "-" (request) } { (label) }
            textarea id={ (name) "-" (request) } name=(name) rows=((lines.len() + 1).min(12)) { (lines.join("\n")) }
        }
    };
    let of = |all: &[String]| -> Vec<String> { all.to_vec() };
    let (criteria, files) = (of(&plan.criteria), of(&plan.files));
    let criteria: Vec<&str> = criteria.iter().map(String::as_str).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    html! {
        details.edit-plan #{ "edit-" (request) } {
            summary { "Change it here" }
            form data-quiet method="post" action={ "/c/" (channel) "/plan" } {
                input type="hidden" name="ts" value=(ts);
                input type="hidden" name="root" value=(root);
                input type="hidden" name="request" value=(request);
                (list("steps", "Steps, one per line", &steps))
                (list("criteria", "Done when, one per line", &criteria))
                (list("files", "Files, one per line", &files))
                div.line {
                    label { "Complexity "
                        select name="complexity" {
                            @for (word, one) in [("simple", Complexity::Simple), ("medium", Complexity::Medium), ("complex", Complexity::Complex)] {
                                option value=(word) selected[one == plan.complexity] { (word) }
                            }
                        }
                    }
                    @if !pool.is_empty() {
                        label { "Model "
                            select name="model" {
                                option value="" { "as the complexity says" }
                                @for name in pool { option selected[plan.model.as_ref() == Some(name)] { (name) } }
                            }
                        }
                    }
                    label { "May cost, in dollars "
                        input name="cap" inputmode="decimal" pattern="[0-9]*[.]?[0-9]{0,2}" placeholder="as configured" size="12";
                    }
                }
                p { button.primary type="submit" { "Approve it like this" } }
            }
        }
    }
}
