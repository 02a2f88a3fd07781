//! The interactive elements of Block Kit as form fields. A message is one form:
//! pressing a button sends the state of all its fields, so everything works
//! without script. Names hold block and action id, never a position: a card
//! that changed under the reader's hand must not take a click for another one.

use maud::{Markup, html};
use serde_json::{Value, json};

use crate::page::render::{Names, text};

/// Where an element stands: its block's id, and whether using it is told at once.
pub(crate) struct Spot<'a> {
    pub(crate) block: &'a str,
    pub(crate) dispatches: bool,
    /// The message, to make ids of fields unique on the page.
    pub(crate) message: &'a str,
}

/// The name of an element in the form.
pub(crate) fn key(block: &str, action: &str) -> String {
    json!([block, action]).to_string()
}

pub(crate) fn plain(text: &Value) -> &str {
    text["text"].as_str().unwrap_or_default()
}

/// The items of a list; none where there is none.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[][..], Vec::as_slice)
}

/// Draws an element; `label` names it for screen readers where it has no text.
pub(crate) fn element(element: &Value, spot: &Spot<'_>, label: &str, names: &Names) -> Markup {
    let action = element["action_id"].as_str().unwrap_or_default();
    let name = key(spot.block, action);
    let hint = element["placeholder"]
        .is_object()
        .then(|| plain(&element["placeholder"]));
    let label = hint.filter(|_| label.is_empty()).unwrap_or(label);
    let dispatch = spot.dispatches.then_some(name.as_str());
    let field = Field {
        name: &name,
        label,
        hint,
        dispatch,
        id: field_id(spot, action),
    };
    match element["type"].as_str().unwrap_or_default() {
        "button" => button(element, &name),
        "checkboxes" => choices(element, &field, "checkbox", &element["initial_options"]),
        "radio_buttons" => choices(
            element,
            &field,
            "radio",
            &json!([element["initial_option"]]),
        ),
        "static_select" => select(element, &field, false),
        "multi_static_select" => select(element, &field, true),
        "overflow" => overflow(element, &field),
        "users_select" => people(&field, names),
        "datepicker" => input(&field, "date", &element["initial_date"]),
        "timepicker" => input(&field, "time", &element["initial_time"]),
        "number_input" => input(&field, "number", &element["initial_value"]),
        "email_text_input" => input(&field, "email", &element["initial_value"]),
        "url_text_input" => input(&field, "url", &element["initial_value"]),
        "plain_text_input" if element["multiline"] == true => html! {
            textarea id=(field.id) name=(name) rows="3" placeholder=[hint] aria-label=[named(label)]
                data-dispatch=[dispatch] { (element["initial_value"].as_str().unwrap_or_default()) }
            (apply(&field))
        },
        "plain_text_input" => input(&field, "text", &element["initial_value"]),
        "image" => html! {
            (text::link(element["image_url"].as_str().unwrap_or_default(),
                element["alt_text"].as_str().unwrap_or("image"), names))
        },
        _ => html! {},
    }
}

/// What all fields share.
struct Field<'a> {
    name: &'a str,
    label: &'a str,
    hint: Option<&'a str>,
    /// Set when a change is told at once.
    dispatch: Option<&'a str>,
    id: String,
}

/// An id from the message and the names, without characters of theirs.
pub(crate) fn field_id(spot: &Spot<'_>, action: &str) -> String {
    let hash =
        butler_protocol::Sha256Hex::of(format!("{}\n{}\n{action}", spot.message, spot.block));
    format!("f{}", &hash.as_str()[..12])
}

fn named(label: &str) -> Option<&str> {
    (!label.is_empty()).then_some(label)
}

/// Without script a change needs a button to be told.
fn apply(field: &Field<'_>) -> Markup {
    html! {
        @if let Some(dispatch) = field.dispatch {
            noscript { button type="submit" name="press" value=(dispatch) { "Apply" } }
        }
    }
}

fn button(element: &Value, name: &str) -> Markup {
    let style = match element["style"].as_str() {
        Some("primary") => "primary",
        Some("danger") => "danger",
        _ => "usual",
    };
    let question = &element["confirm"];
    let question = question.is_object().then(|| {
        format!(
            "{}\n{}",
            plain(&question["title"]),
            plain(&question["text"])
        )
    });
    let web = element["url"].as_str().filter(|url| text::is_web(url));
    html! {
        @if let Some(url) = web {
            a.button.(style) href=(url) rel="noopener noreferrer nofollow" target="_blank" {
                (plain(&element["text"]))
            }
        } @else {
            button class=(style) type="submit" name="press" value=(name)
                data-action=[element["action_id"].as_str()] data-confirm=[question]
                aria-label=[element["accessibility_label"].as_str()]
            { (plain(&element["text"])) }
        }
    }
}

fn input(field: &Field<'_>, kind: &str, initial: &Value) -> Markup {
    html! {
        input id=(field.id) type=(kind) name=(field.name) placeholder=[field.hint]
            value=[initial.as_str()] step=[(kind == "number").then_some("any")]
            aria-label=[named(field.label)] data-dispatch=[field.dispatch];
        (apply(field))
    }
}

/// Checkboxes and radio buttons, each with its description.
fn choices(element: &Value, field: &Field<'_>, kind: &str, initial: &Value) -> Markup {
    let chosen = |option: &Value| {
        list(initial)
            .iter()
            .any(|one| one["value"] == option["value"])
    };
    html! {
        div.choices role="group" aria-label=[named(field.label)] {
            @for option in list(&element["options"]) {
                label.choice {
                    input type=(kind) name=(field.name) data-dispatch=[field.dispatch]
                        value=(option["value"].as_str().unwrap_or_default()) checked[chosen(option)];
                    span {
                        (text::inline(plain(&option["text"]), &Names::default(), 0))
                        @if option["description"].is_object() {
                            small { (plain(&option["description"])) }
                        }
                    }
                }
            }
            (apply(field))
        }
    }
}

fn select(element: &Value, field: &Field<'_>, many: bool) -> Markup {
    let initial = if many {
        element["initial_options"].clone()
    } else {
        json!([element["initial_option"]])
    };
    let chosen = |option: &Value| {
        list(&initial)
            .iter()
            .any(|one| one["value"] == option["value"])
    };
    let option = |option: &Value| {
        html! {
            option value=(option["value"].as_str().unwrap_or_default()) selected[chosen(option)] {
                (plain(&option["text"]))
            }
        }
    };
    html! {
        select id=(field.id) name=(field.name) multiple[many] data-dispatch=[field.dispatch]
            aria-label=[named(field.label)]
        {
            @if !many { option value="" { (field.hint.unwrap_or("Choose…")) } }
            @for one in list(&element["options"]) { (option(one)) }
            @for group in list(&element["option_groups"]) {
                optgroup label=(plain(&group["label"])) {
                    @for one in list(&group["options"]) { (option(one)) }
                }
            }
        }
        (apply(field))
    }
}

fn overflow(element: &Value, field: &Field<'_>) -> Markup {
    let hinted = Field {
        hint: Some("More…"),
        label: "More",
        id: field.id.clone(),
        ..*field
    };
    select(element, &hinted, false)
}

fn people(field: &Field<'_>, names: &Names) -> Markup {
    let mut all: Vec<_> = names.iter().collect();
    all.sort_by_key(|(_, name)| name.as_str());
    html! {
        select id=(field.id) name=(field.name) data-dispatch=[field.dispatch]
            aria-label=[named(field.label)]
        {
            option value="" { (field.hint.unwrap_or("Choose a person…")) }
            @for (id, name) in all { option value=(id) { (name) } }
        }
        (apply(field))
    }
}
