//! What stands on a card, before it has a form: labels that are the hub's own,
//! and under each the words of a subject, made visible and otherwise untouched.

use butler_slack::rich;
use serde_json::Value;

/// Slack takes no empty text, so nothing is a sign too.
fn shown(text: &str) -> String {
    match text {
        "" => "\\u{}".to_owned(),
        text => super::verbatim::verbatim(text),
    }
}

/// One thing on a card.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    /// The hub's word for it.
    pub(super) label: String,
    pub(super) form: Form,
}

/// How a thing is shown. Every string in it has passed [`shown`].
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Form {
    /// Beside its label.
    Row(String),
    /// Below its label, in paragraphs.
    Prose(String),
    /// Below its label, as code.
    Code(String),
    /// Below its label, one by one; each with the place it is about, if it has one.
    List(bool, Vec<(String, Option<String>)>),
}

impl Part {
    pub(super) fn row(label: &str, text: &str) -> Self {
        Self::new(label, Form::Row(shown(text)))
    }

    pub(super) fn prose(label: &str, text: &str) -> Self {
        Self::new(label, Form::Prose(shown(text)))
    }

    pub(super) fn code(label: &str, text: &str) -> Self {
        Self::new(label, Form::Code(shown(text)))
    }

    pub(super) fn list<'a>(
        label: &str,
        ordered: bool,
        items: impl Iterator<Item = (&'a str, Option<&'a str>)>,
    ) -> Self {
        let items = items.map(|(text, place)| (shown(text), place.map(shown)));
        Self::new(label, Form::List(ordered, items.collect()))
    }

    fn new(label: &str, form: Form) -> Self {
        Self {
            label: label.to_owned(),
            form,
        }
    }

    pub(super) fn is_empty_list(&self) -> bool {
        matches!(&self.form, Form::List(_, items) if items.is_empty())
    }

    /// What it takes of a message, in characters.
    pub(super) fn size(&self) -> usize {
        let length = |text: &str| text.chars().count();
        let inside = match &self.form {
            Form::Row(text) | Form::Prose(text) | Form::Code(text) => length(text),
            Form::List(_, items) => {
                let places = items.iter().filter_map(|(_, place)| place.as_deref());
                let texts = items.iter().map(|(text, _)| text.as_str());
                texts.chain(places).map(|text| length(text) + 1).sum()
            }
        };
        inside + length(&self.label) + 2
    }

    /// As elements of a `rich_text` block.
    pub(super) fn elements(&self) -> Vec<Value> {
        let label = || rich::section(&[rich::bold(&self.label)]);
        match &self.form {
            Form::Row(text) => {
                let beside = rich::bold(&format!("{}: ", self.label));
                vec![rich::section(&[beside, rich::text(text)])]
            }
            Form::Prose(text) => vec![label(), rich::section(&[rich::text(text)])],
            Form::Code(text) => vec![label(), rich::preformatted(text)],
            Form::List(ordered, items) => {
                let items = items.iter().map(|(text, place)| {
                    let mut item = vec![rich::text(text)];
                    if let Some(place) = place {
                        item.extend([rich::text(" "), rich::code(place)]);
                    }
                    item
                });
                vec![label(), rich::list(*ordered, &items.collect::<Vec<_>>())]
            }
        }
    }
}
