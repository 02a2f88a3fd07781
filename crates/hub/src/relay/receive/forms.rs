//! Modals in Slack, where a button alone would say too little: why a card is rejected,
//! how a plan is to be changed, and answers to several questions at once. A modal needs a
//! trigger that is good for three seconds; where Slack does not open it, the click counts
//! as it does on a button, so nobody is left without an answer.

use std::sync::Arc;

use butler_protocol::{
    ActionId, ChannelId, Choice, Complexity, DecisionKind, DecisionView, MessageTs, Plan,
    RequestId, UserId,
};
use butler_slack::{BlockAction, Envelope, mrkdwn};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tracing::{debug, warn};

use crate::{
    error::{Refusal, Result, Trouble},
    hub::App,
    identity::Person,
    relay::receive::{Asked, News, asks},
    store::Db,
    workspace::{
        Click, Rules, access, channels,
        decide::{
            self,
            edited::{self, PlanEdit},
        },
    },
};

/// The button below several questions.
pub(crate) const ANSWER: &str = "cb-answer";
/// What a modal of ours is called.
const CALLBACK: &str = "codebutler_form";
/// The most that Slack takes as the first text of a field, and as the words of a label.
const FIELD: usize = 2_900;
const LABEL: usize = 1_900;

/// What a modal is about; it travels with it and comes back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
enum About {
    Reject(Card),
    Plan(Card),
    Questions {
        channel: ChannelId,
        root: MessageTs,
        count: usize,
    },
}

/// A card that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Card {
    channel: ChannelId,
    message: MessageTs,
    request: RequestId,
}

impl Card {
    fn click(&self, choice: Choice) -> Click {
        let (channel, message) = (self.channel.clone(), self.message.clone());
        Click::new(channel, message, self.request.clone(), choice)
    }
}

/// Numbered questions of a message, where it asks several and nothing but them is
/// numbered.
pub(crate) fn questions(text: &str) -> Vec<String> {
    let numbered = |line: &str| {
        let (number, rest) = line.trim().split_once(['.', ')'])?;
        let plain = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        (plain && rest.starts_with(' ')).then(|| rest.trim().to_owned())
    };
    let found: Vec<String> = text.lines().filter_map(numbered).collect();
    match found.len() {
        2..=10 if found.iter().all(|one| one.contains('?')) => found,
        _ => Vec::new(),
    }
}

/// The blocks of a post that asks several questions: its words, and a button that opens
/// all of them at once.
pub(crate) fn with_button(text: &str) -> Option<Value> {
    let fits = text.chars().count() <= FIELD;
    (fits && !questions(text).is_empty()).then(|| {
        json!([
            {"type": "section", "text": {"type": "mrkdwn", "text": text}},
            {"type": "actions", "elements": [{"type": "button", "action_id": ANSWER,
                "text": plain("Answer all")}]},
        ])
    })
}

/// Opens the modal that belongs to a click, if one does. False when the click is to be
/// taken as it is.
pub(crate) async fn opened(
    news: News<'_>,
    person: &Person,
    envelope: &Envelope,
    action: &BlockAction,
) -> Result<bool> {
    let payload = &envelope.payload;
    let Some(trigger) = payload["trigger_id"].as_str() else {
        return Ok(false);
    };
    let text = payload["message"]["text"].as_str().unwrap_or_default();
    let text = text.to_owned();
    let (wanted, rules, who) = (action.clone(), news.app.rules.clone(), person.clone());
    let look = move |db: &Db| view_for(db, &rules, &who, &wanted, &text);
    let Some(view) = news.app.read(look).await? else {
        return Ok(false);
    };
    let args = json!({"trigger_id": trigger, "view": view});
    match news.relay.upstream.once("views.open", &args).await {
        Ok(_) => Ok(true),
        Err(error) => {
            debug!(%error, "a modal is not opened; the click counts as it is");
            Ok(false)
        }
    }
}

fn view_for(
    db: &Db,
    rules: &Rules,
    person: &Person,
    action: &BlockAction,
    text: &str,
) -> Result<Option<Value>> {
    if action.action_id == ANSWER {
        let asked = questions(text);
        let about = About::Questions {
            channel: action.channel.clone(),
            root: action.thread.root.clone(),
            count: asked.len(),
        };
        return Ok((!asked.is_empty()).then(|| several(&about, &asked)));
    }
    let Some(ActionId { request, choice }) = action.decision() else {
        return Ok(None);
    };
    let Some(DecisionView {
        asked,
        decided: None,
        ..
    }) = decide::on_message(db, &action.channel, &action.message)?
    else {
        return Ok(None);
    };
    let repo = channels::get(db, &action.channel)?.repo;
    // Whoever may not decide is told so by the click itself.
    if asked.request != request || access::check(db, rules, &repo, &asked, person).is_err() {
        return Ok(None);
    }
    let card = Card {
        channel: action.channel.clone(),
        message: action.message.clone(),
        request,
    };
    Ok(match (asked.kind, choice) {
        (DecisionKind::Plan, Choice::Modify) => {
            let cards = [DecisionView {
                asked,
                decided: None,
                edited: None,
            }];
            let plans = edited::open_plans(db, &repo, &cards)?;
            let about = About::Plan(card);
            plans.first().and_then(|(_, plan)| changing(&about, plan))
        }
        (DecisionKind::Plan | DecisionKind::Roadmap | DecisionKind::Learning, Choice::Reject) => {
            Some(rejecting(&About::Reject(card)))
        }
        _ => None,
    })
}

fn plain(text: &str) -> Value {
    json!({"type": "plain_text", "text": text})
}

fn modal(about: &About, title: &str, submit: &str, blocks: &[Value]) -> Value {
    let about = serde_json::to_string(about).unwrap_or_default();
    json!({"type": "modal", "callback_id": CALLBACK, "private_metadata": about,
        "title": plain(title), "submit": plain(submit), "close": plain("Cancel"),
        "blocks": blocks})
}

/// A field of several lines; `name` is both its block and its action.
fn field(name: &str, label: &str, initial: &str, optional: bool) -> Value {
    let mut element = json!({"type": "plain_text_input", "action_id": name, "multiline": true});
    if !initial.is_empty() {
        element["initial_value"] = json!(initial);
    }
    json!({"type": "input", "block_id": name, "optional": optional, "label": plain(label),
        "element": element})
}

fn rejecting(about: &About) -> Value {
    let why = field("why", "Why? The team reads it in the thread.", "", true);
    modal(about, "Reject", "Reject", &[why])
}

fn several(about: &About, asked: &[String]) -> Value {
    let fields = asked.iter().enumerate().map(|(number, question)| {
        let label: String = mrkdwn::plain(question).chars().take(LABEL).collect();
        field(&format!("q{number}"), &label, "", true)
    });
    modal(about, "Answer all", "Send", &fields.collect::<Vec<_>>())
}

/// The plan as fields; none where one of its lists is too long for a field.
fn changing(about: &About, plan: &Plan) -> Option<Value> {
    let steps: Vec<&str> = plan.steps.iter().map(|step| step.text.as_str()).collect();
    let lists = [
        ("steps", "Steps, one per line", steps.join("\n"), false),
        (
            "criteria",
            "Done when, one per line",
            plan.criteria.join("\n"),
            true,
        ),
        ("files", "Files, one per line", plan.files.join("\n"), true),
    ];
    if lists
        .iter()
        .any(|(_, _, text, _)| text.chars().count() > FIELD)
    {
        return None;
    }
    let mut blocks: Vec<Value> = lists
        .iter()
        .map(|(name, label, text, optional)| field(name, label, text, *optional))
        .collect();
    let option = |complexity: Complexity| {
        let word = serde_json::to_value(complexity).unwrap_or_default();
        json!({"text": plain(word.as_str().unwrap_or_default()), "value": word})
    };
    let all = [Complexity::Simple, Complexity::Medium, Complexity::Complex];
    blocks.push(json!({"type": "input", "block_id": "complexity",
        "label": plain("Complexity"), "element": {"type": "static_select",
            "action_id": "complexity", "options": all.map(option),
            "initial_option": option(plan.complexity)}}));
    let words = "Or say what should be otherwise; then the plan is made again";
    blocks.push(field("words", words, "", true));
    Some(modal(
        about,
        "Change the plan",
        "Approve like this",
        &blocks,
    ))
}

/// What somebody filled in.
struct Filled<'a>(&'a Value);

impl Filled<'_> {
    fn text(&self, name: &str) -> String {
        let value = &self.0[name][name]["value"];
        value.as_str().unwrap_or_default().trim().to_owned()
    }

    fn lines(&self, name: &str) -> Vec<String> {
        self.text(name).lines().map(str::to_owned).collect()
    }

    fn complexity(&self) -> Option<Complexity> {
        let chosen = &self.0["complexity"]["complexity"]["selected_option"]["value"];
        Complexity::deserialize(chosen).ok()
    }
}

/// A modal of ours was sent: false when it is somebody else's.
pub(crate) async fn sent(news: News<'_>, payload: &Value) -> Result<bool> {
    let view = &payload["view"];
    let about = view["private_metadata"].as_str().unwrap_or_default();
    let about = serde_json::from_str::<About>(about);
    let (Ok(about), true) = (about, view["callback_id"] == CALLBACK) else {
        return Ok(false);
    };
    let user = UserId::new(payload["user"]["id"].as_str().unwrap_or_default());
    let person = news.person(&user).await?;
    let filled = Filled(&view["state"]["values"]);
    let (channel, message, outcome) = match about {
        About::Questions {
            channel,
            root,
            count,
        } => {
            let answers = (0..count).map(|number| (number + 1, filled.text(&format!("q{number}"))));
            let answers: Vec<String> = answers
                .filter(|(_, answer)| !answer.is_empty())
                .map(|(number, answer)| format!("{number}. {answer}"))
                .collect();
            (channel, root, Ok(answers.join("\n")))
        }
        About::Reject(card) => {
            let click = card.click(Choice::Reject);
            let decided = take(news.app, &person, click, None).await?;
            (
                card.channel,
                card.message,
                decided.map(|()| filled.text("why")),
            )
        }
        About::Plan(card) => {
            let words = filled.text("words");
            let choice = match words.is_empty() {
                true => Choice::Approve,
                false => Choice::Modify,
            };
            let edit = filled.complexity().filter(|_| words.is_empty());
            let edit = edit.map(|complexity| PlanEdit {
                steps: filled.lines("steps"),
                criteria: filled.lines("criteria"),
                files: filled.lines("files"),
                complexity,
                cap: None,
                model: None,
            });
            let decided = take(news.app, &person, card.click(choice), edit).await?;
            (card.channel, card.message, decided.map(|()| words))
        }
    };
    finish(news, person, (channel, message), outcome).await?;
    Ok(true)
}

/// Decides, once: a second telling of the same finds its own decision.
async fn take(
    app: &Arc<App>,
    person: &Person,
    click: Click,
    edit: Option<PlanEdit>,
) -> Result<Result<(), Refusal>> {
    let (rules, redactor, person) = (app.rules.clone(), app.redactor.clone(), person.clone());
    let decided = app.write_as_owner(move |tx| {
        let known = decide::on_message(tx.db(), &click.channel, &click.message)?;
        let before = known.and_then(|view| view.decided);
        if before.is_some_and(|one| one.person == person.id && one.choice == click.action.choice) {
            return Ok(());
        }
        match &edit {
            Some(edit) => edited::approve(tx, (&rules, &redactor), &person, &click, edit).map(drop),
            None => decide::decide(tx, &rules, &person, &click).map(drop),
        }
    });
    match decided.await {
        Ok(()) => Ok(Ok(())),
        Err(Trouble::Refused(refusal)) => Ok(Err(refusal)),
        Err(trouble) => Err(trouble),
    }
}

/// The words that came with it stand in the thread as that person's, or they are told
/// why it did not count.
async fn finish(
    news: News<'_>,
    person: Person,
    (channel, message): (ChannelId, MessageTs),
    outcome: Result<String, Refusal>,
) -> Result<()> {
    let (place, at) = (channel.clone(), message.clone());
    let look = move |db: &Db| crate::workspace::message::root_of(db, &place, &at);
    let root = news.app.read(look).await.unwrap_or(message);
    match outcome {
        Ok(words) if words.is_empty() => {}
        Ok(words) => {
            let asked = Asked::new(person, channel, Some(root.to_string()), words);
            asks::ask(news, asked).await?;
        }
        Err(refusal) => {
            let args = json!({"channel": channel, "thread_ts": root, "user": person.id,
                "text": refusal.did_not_count()});
            let told = news.relay.upstream.once("chat.postEphemeral", &args);
            if let Err(error) = told.await {
                warn!(%error, "somebody is not told why their form did not count");
            }
        }
    }
    news.done().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_questions_are_known_and_nothing_else_is() {
        let two = "Before I plan:\n1. Should it print []? I would.\n2. Which name?";
        assert_eq!(
            questions(two),
            ["Should it print []? I would.", "Which name?"]
        );
        assert!(with_button(two).is_some());
        for text in [
            "1. Which name?",
            "1. read the file\n2. print it",
            "1. Which name?\n2. print it",
            "Is it 1.5 or 2.5?\nOr 3.0?",
            "",
        ] {
            assert!(questions(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_plan_that_fits_no_field_is_not_changed_in_one() {
        let about = About::Plan(Card {
            channel: ChannelId::new("C1"),
            message: "1700000000.000100".parse().unwrap(),
            request: RequestId::new("p1"),
        });
        let mut plan: Plan = serde_json::from_str(
            r#"{"title":"t","summary":"s","steps":[{"text":"one"}],"criteria":[],"files":[],
                "complexity":"simple"}"#,
        )
        .unwrap();
        let view = changing(&about, &plan).unwrap();
        crate::web_api::blocks::each_fits(view["blocks"].as_array().unwrap(), "/view/blocks")
            .unwrap();
        plan.steps[0].text = "x".repeat(FIELD + 1);
        assert!(changing(&about, &plan).is_none());
    }
}
