//! One message as people read it: who, when, what, what came along, and how
//! others took it.

use butler_protocol::{
    ChannelId, Choice, DecisionKind, DecisionView, MessageTs, Plan, RequestId, Right, Role,
};
use jiff::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    identity::{BOT_NAME, Person},
    page::{
        Around,
        render::{
            FileTexts, Names,
            attached::attached,
            blocks::{self, Place},
            elements::list,
            emoji, plan,
            sign::sign,
            text,
        },
    },
};

/// What a message needs to know of its surroundings.
pub(crate) struct Scene<'a> {
    pub(crate) channel: &'a ChannelId,
    pub(crate) names: &'a Names,
    pub(crate) decisions: &'a [DecisionView],
    /// Cards that whoever looks may decide about.
    pub(crate) decidable: &'a [RequestId],
    /// How far the rights of whoever looks go.
    pub(crate) highest: Right,
    /// Who looks.
    pub(crate) me: &'a Person,
    /// Plans that wait on cards.
    pub(crate) plans: &'a [(RequestId, Plan)],
    pub(crate) files: &'a FileTexts,
    /// Names of models that can build them.
    pub(crate) pool: &'a [String],
    /// The channel shows threads; their buttons are inside.
    pub(crate) in_channel: bool,
    /// Whether people act on the page; with Slack behind the hub they act there.
    pub(crate) here: bool,
}

impl<'a> Scene<'a> {
    /// Messages of a channel, without cards that whoever looks could decide about.
    pub(in crate::page) fn new(
        channel: &'a ChannelId,
        names: &'a Names,
        files: &'a FileTexts,
        around: &'a Around,
    ) -> Self {
        Self {
            channel,
            names,
            decisions: &[],
            decidable: &[],
            highest: Right::Ask,
            me: &around.person,
            plans: &[],
            files,
            pool: &[],
            in_channel: false,
            here: around.slack.is_none(),
        }
    }
}

/// A message.
pub(crate) fn card(message: &Value, scene: &Scene<'_>) -> Markup {
    let Ok(ts) = MessageTs::deserialize(&message["ts"]) else {
        return html! {};
    };
    let root = MessageTs::deserialize(&message["thread_ts"]).unwrap_or_else(|_| ts.clone());
    let asked = scene.decisions.iter().find(|view| view.asked.message == ts);
    let may = asked.is_none_or(|view| scene.decidable.contains(&view.asked.request));
    let waits = asked.is_none_or(|view| view.decided.is_none());
    let place = Place {
        channel: scene.channel,
        ts: &ts,
        root: &root,
        open: scene.here && !scene.in_channel && waits && may,
        highest: scene.highest,
    };
    let role = role_of(message);
    let ephemeral = message["is_ephemeral"] == true;
    let state = asked.map_or("plain", |view| match &view.decided {
        Some(decided) => match look_of(decided.choice).0 {
            "yes" => "decided",
            _ => "decided not",
        },
        None => "waiting",
    });
    // What a command destroys is gone.
    let grave = asked.is_some_and(|view| view.asked.kind == DecisionKind::Command);
    html! {
        article.message.card[asked.is_some()].grave[grave].ephemeral[ephemeral].(state)
            #{ "m" (ts) } tabindex="-1" aria-label={ (author(message, scene.names)) ", " (clock(&ts)) }
        {
            (avatar(message, role, scene.names))
            div.body {
                (head(message, &ts, role, asked.is_some(), scene.names))
                @if message["blocks"].is_array() {
                    (blocks::render(&message["blocks"], &place, scene.names))
                } @else {
                    (text::render(message["text"].as_str().unwrap_or_default(), scene.names))
                }
                (attachments(message, scene.names))
                (attached(message, scene.files, scene.names))
                @if let Some(view) = asked {
                    @if place.open && let Some((request, plan)) = scene.plans.iter().find(|(id, _)| *id == view.asked.request) {
                        (plan::form::form(scene.channel, (&ts, &root), (request, plan), scene.pool))
                    }
                    @if view.asked.kind == DecisionKind::Merge && !scene.in_channel {
                        p.leads { a href={ "/c/" (scene.channel) "/" (root) "/changes" } { "Review the changes" } }
                    }
                    (verdict(view, may || scene.in_channel, scene.names))
                }
                @if ephemeral {
                    (dismiss(scene.channel, &ts, &root))
                } @else if scene.here {
                    (reactions(message, &place, scene.me))
                } @else {
                    (reactions_read(message))
                }
            }
        }
    }
}

/// The role that posted under its own name; the hub lets no other role take it.
fn role_of(message: &Value) -> Option<Role> {
    let name = message["username"].as_str()?;
    name.strip_prefix("codebutler.")?.parse().ok()
}

fn author(message: &Value, names: &Names) -> String {
    if let Some(name) = message["username"].as_str() {
        return name.to_owned();
    }
    let user = message["user"].as_str().unwrap_or(BOT_NAME);
    names.get(user).cloned().unwrap_or_else(|| user.to_owned())
}

fn avatar(message: &Value, role: Option<Role>, names: &Names) -> Markup {
    if let Some(role) = role {
        return html! { span.avatar.(role.as_str()) aria-hidden="true" { (sign(role.as_str())) } };
    }
    let icon = message["icons"]["emoji"].as_str();
    let sign = icon.and_then(|name| emoji::sign(name.trim_matches(':')));
    let name = author(message, names);
    let letter = name.chars().find(|c| c.is_alphanumeric());
    html! {
        span.avatar.person aria-hidden="true" {
            @match sign {
                Some(sign) => (sign),
                None => { @if let Some(letter) = letter { (letter.to_uppercase()) } }
            }
        }
    }
}

/// The mark "edited" tells nothing on a card: it is edited when it is decided.
fn head(
    message: &Value,
    ts: &MessageTs,
    role: Option<Role>,
    is_card: bool,
    names: &Names,
) -> Markup {
    html! {
        header {
            @if let Some(role) = role {
                strong { (role.title()) } " " span.handle { (role.user_name()) }
            } @else {
                strong { (author(message, names)) }
            }
            " " (time(ts))
            @if message["edited"].is_object() && !is_card { " " span.edited { "edited" } }
            @if message["is_ephemeral"] == true { " " span.chip { "Only visible to you" } }
        }
    }
}

/// What the hub's record says about a card.
fn verdict(view: &DecisionView, may: bool, names: &Names) -> Markup {
    let name = |id: &str| names.get(id).cloned().unwrap_or_else(|| id.to_owned());
    html! {
        @match &view.decided {
            Some(decided) => {
                @let (class, sign) = look_of(decided.choice);
                p.decided.(class) {
                    span.tick aria-hidden="true" { (sign) }
                    " " (decided.choice.past()) @if view.edited.is_some() { ", with changes," } " by " (decided.by(&name(decided.person.as_str()))) " "
                    (time_ms(decided.at_ms))
                }
            }
            None if may => { p.asked { "Waiting for a decision · " code { (view.asked.request) } } }
            None => { p.asked { "Waiting for somebody who may decide it · " code { (view.asked.request) } } }
        }
    }
}

/// Green is what goes on; what stops or waits has colours of its own.
const fn look_of(choice: Choice) -> (&'static str, &'static str) {
    match choice {
        Choice::Approve
        | Choice::Accept
        | Choice::Merge
        | Choice::Start
        | Choice::StartMerging
        | Choice::StartStacked
        | Choice::Raise => ("yes", "✓"),
        Choice::Modify | Choice::Each | Choice::Change | Choice::Hold => ("later", "…"),
        Choice::Reject | Choice::Discard | Choice::Close | Choice::Stop => ("no", "✕"),
    }
}

fn dismiss(channel: &ChannelId, ts: &MessageTs, root: &MessageTs) -> Markup {
    html! {
        form.dismiss data-quiet method="post" action={ "/c/" (channel) "/dismiss" } {
            input type="hidden" name="ts" value=(ts);
            input type="hidden" name="root" value=(root);
            button.quiet type="submit" { "Dismiss" }
        }
    }
}

/// Slack's older way to add to a message, for apps that still use it.
fn attachments(message: &Value, names: &Names) -> Markup {
    let all = list(&message["attachments"]);
    let lines = |one: &Value| -> Vec<String> {
        let said = ["pretext", "title", "text"].map(|name| one[name].as_str());
        let said: Vec<&str> = said.into_iter().flatten().collect();
        let fallback = one["fallback"].as_str().filter(|_| said.is_empty());
        said.into_iter()
            .chain(fallback)
            .map(str::to_owned)
            .collect()
    };
    html! {
        @for one in all {
            blockquote.attachment { @for line in lines(one) { (text::render(&line, names)) } }
        }
    }
}

/// The reactions of a message where nobody can add one.
fn reactions_read(message: &Value) -> Markup {
    let all = list(&message["reactions"]);
    html! {
        @if !all.is_empty() {
            div.reactions {
                @for reaction in all {
                    @let name = reaction["name"].as_str().unwrap_or_default();
                    @let count = reaction["count"].as_u64().unwrap_or(0);
                    span.pill role="img" aria-label={ (emoji::spoken(name)) ", " (count) } {
                        (emoji::shown(name)) " " (count)
                    }
                }
            }
        }
    }
}

/// One form per message: each emoji is a button that adds or takes back.
fn reactions(message: &Value, place: &Place<'_>, me: &Person) -> Markup {
    let all = list(&message["reactions"]);
    let back = if place.ts == place.root {
        place.ts
    } else {
        place.root
    };
    html! {
        form.reactions data-quiet method="post" action={ "/c/" (place.channel) "/react" } {
            input type="hidden" name="ts" value=(place.ts);
            input type="hidden" name="root" value=(back);
            @for reaction in all {
                @let name = reaction["name"].as_str().unwrap_or_default();
                @let count = reaction["count"].as_u64().unwrap_or(0);
                @let mine = reaction["users"].as_array().is_some_and(|users| {
                    users.iter().any(|user| user == me.id.as_str())
                });
                button.pill id={ "r" (place.ts) "-" (name) } type="submit" name="name" value=(name)
                    aria-pressed=(mine) aria-label={ (emoji::spoken(name)) ", " (count) }
                    title=(emoji::spoken(name))
                { span aria-hidden="true" { (emoji::shown(name)) " " (count) } }
            }
            details.react id={ "d" (place.ts) } {
                summary aria-label="Add a reaction" title="Add a reaction" { span aria-hidden="true" { "☺" } }
                div.menu {
                    @for name in emoji::QUICK {
                        button type="submit" name="name" value=(name)
                            aria-label=(emoji::spoken(name)) title=(emoji::spoken(name))
                        { (emoji::shown(name)) }
                    }
                }
            }
        }
    }
}

fn moment(ts: &MessageTs) -> Timestamp {
    let seconds = i64::try_from(ts.seconds()).unwrap_or(0);
    Timestamp::from_second(seconds).unwrap_or_default()
}

/// A time in the machine's words; the script turns it into the reader's clock.
pub(crate) fn time(ts: &MessageTs) -> Markup {
    html! { time datetime=(moment(ts)) { (clock(ts)) } }
}

/// The same from milliseconds since 1970.
pub(crate) fn time_ms(at_ms: i64) -> Markup {
    let at = Timestamp::from_millisecond(at_ms).unwrap_or_default();
    html! { time datetime=(at) { (at.strftime("%Y-%m-%d %H:%M").to_string()) } }
}

fn clock(ts: &MessageTs) -> String {
    moment(ts).strftime("%Y-%m-%d %H:%M").to_string()
}
