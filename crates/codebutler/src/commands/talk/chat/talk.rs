//! One thread, live: what is new is shown, what is typed is posted, a number
//! presses a button.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use crate::ui::paint::Paint;
use butler_config::Settings;
use butler_protocol::MessageTs;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::commands::talk::message::words;
use crate::{
    error::CliError,
    exit::Exit,
    person::{Away, Person},
    process::stdin_lines,
    ui::Ui,
};

/// Without news the thread is looked at all the same: a hub may restart.
const GLANCE: Duration = Duration::from_secs(2);
/// A team that rests this long has nothing more to say.
const REST: Duration = Duration::from_secs(1);

pub(crate) struct Talk<'a> {
    person: Person,
    thread: Option<MessageTs>,
    shown: HashSet<String>,
    /// The hub did not answer the last time.
    away: bool,
    settings: &'a Settings,
    ui: &'a Ui,
}

/// A button of an open card.
struct Button {
    message: String,
    action: String,
    label: String,
}

impl<'a> Talk<'a> {
    pub(crate) fn new(
        person: Person,
        thread: Option<MessageTs>,
        settings: &'a Settings,
        ui: &'a Ui,
    ) -> Self {
        Self {
            person,
            thread,
            shown: HashSet::new(),
            away: false,
            settings,
            ui,
        }
    }

    /// Until the person leaves.
    pub(crate) async fn converse(&mut self, cancel: &CancellationToken) -> Result<Exit, CliError> {
        let mut typed = stdin_lines();
        let mut news = self.person.news();
        if self.thread.is_none() {
            self.ui.note("a new thread: what should the team do?");
        }
        let mut unsent: Option<String> = None;
        loop {
            let looked = self.show_new().await;
            let mut here = self.heard_from(looked)?.is_some();
            if here && let Some(line) = unsent.take() {
                let said = self.say(line.trim()).await;
                if let Err(error) = &said
                    && !self.may_have_arrived(error)
                {
                    unsent = Some(line);
                }
                here = self.heard_from(said)?.is_some();
            }
            if !here && self.person.move_to_hub_of(self.settings) {
                news = self.person.news();
            }
            tokio::select! {
                () = cancel.cancelled() => return Ok(Exit::Done),
                () = news.wait() => {}
                () = tokio::time::sleep(GLANCE) => {}
                line = typed.recv(), if unsent.is_none() => match line {
                    None => return Ok(Exit::Done),
                    Some(line) => {
                        let line = String::from_utf8_lossy(&line?).into_owned();
                        unsent = Some(line).filter(|line| !line.trim().is_empty());
                    }
                },
            }
        }
    }

    /// One message in, answers out until the team is done.
    pub(crate) async fn once(
        &mut self,
        text: &str,
        seconds: u64,
        cancel: &CancellationToken,
    ) -> Result<Exit, CliError> {
        if self.thread.is_some() {
            // What was said before is not an answer.
            let before = self.view().await?;
            self.shown
                .extend(messages(&before).map(|one| ts(one).to_owned()));
        }
        let mut news = self.person.news();
        let pressed = self.say(text).await?;
        let deadline = Instant::now() + Duration::from_secs(seconds);
        let mut rests_since: Option<Instant> = None;
        // A press may be carried out without a word.
        let mut answered = pressed;
        loop {
            let looked = self.look(&mut answered).await;
            let looked = self.heard_from(looked)?;
            if looked.is_none() && self.person.move_to_hub_of(self.settings) {
                news = self.person.news();
            }
            let rests = looked.unwrap_or(false);
            let since = rests.then(|| *rests_since.get_or_insert_with(Instant::now));
            if !rests {
                rests_since = None;
            }
            if since.is_some_and(|since| since.elapsed() >= REST) {
                return Ok(Exit::Done);
            }
            if Instant::now() >= deadline {
                self.ui
                    .note("the team is still at work; `codebutler chat last` goes on");
                return Ok(Exit::Findings);
            }
            let pause = if rests { REST } else { GLANCE };
            tokio::select! {
                () = cancel.cancelled() => return Ok(Exit::Interrupted),
                () = news.wait() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Shows what is new; whether there were answers and the team rests.
    async fn look(&mut self, answered: &mut bool) -> Result<bool, CliError> {
        *answered |= self.show_new().await? > 0;
        Ok(*answered && self.team_rests().await?)
    }

    /// A hub that went away is told of once, and waited for; so is its return.
    fn heard_from<T>(&mut self, answer: Result<T, CliError>) -> Result<Option<T>, CliError> {
        match answer {
            Ok(answer) => {
                if self.away {
                    self.away = false;
                    self.ui.note("the hub is back");
                }
                Ok(Some(answer))
            }
            Err(error) if error.cause::<Away>().is_some() => {
                if !self.away {
                    self.away = true;
                    self.ui.note(format_args!(
                        "{}; waiting until it is back (Ctrl-C leaves)",
                        error.plain()
                    ));
                }
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// A line that was under way when the hub went away is not sent again:
    /// the person sees whether it is there.
    fn may_have_arrived(&self, error: &CliError) -> bool {
        let unclear = error.cause::<Away>().is_none_or(|away| away.unclear);
        if unclear && error.cause::<Away>().is_some() {
            self.ui
                .note("it went away while your line was sent; look whether it arrived before you repeat it");
        }
        unclear
    }

    /// Posts, or presses the button with this number; whether it was a press.
    async fn say(&mut self, text: &str) -> Result<bool, CliError> {
        if let (Some(thread), Ok(number)) = (&self.thread, text.parse::<usize>()) {
            let view = self.person.thread(thread).await?;
            let buttons = buttons(&view);
            if let Some(button) = number.checked_sub(1).and_then(|at| buttons.get(at)) {
                self.ui.note(format_args!("→ {}", button.label));
                self.person.click(&button.message, &button.action).await?;
                return Ok(true);
            }
        }
        let ts = match &self.thread {
            None => {
                let root = self.person.say(text).await?;
                self.thread = Some(root.clone());
                self.ui.note(format_args!("thread {root}").dimmed());
                root
            }
            Some(thread) => self.person.reply(thread, text).await?,
        };
        self.shown.insert(ts.to_string());
        Ok(false)
    }

    async fn view(&self) -> Result<Value, CliError> {
        match &self.thread {
            Some(thread) => self.person.thread(thread).await,
            None => Ok(Value::Null),
        }
    }

    /// Shows what was not shown yet; how many messages.
    async fn show_new(&mut self) -> Result<usize, CliError> {
        let view = self.view().await?;
        let buttons = buttons(&view);
        let mut count = 0;
        for message in messages(&view) {
            if !self.shown.insert(ts(message).to_owned()) {
                continue;
            }
            count += 1;
            let who = message["username"].as_str().unwrap_or("you");
            self.ui
                .line(format_args!("{}: {}", who.bold(), words(message)))?;
            for (number, button) in buttons.iter().enumerate() {
                if button.message == ts(message) {
                    self.ui
                        .line(format_args!("  [{}] {}", number + 1, button.label))?;
                }
            }
        }
        Ok(count)
    }

    /// Nobody works in the thread, and nobody has mail.
    async fn team_rests(&self) -> Result<bool, CliError> {
        let view = self.view().await?;
        let states = view["activity"].as_array().into_iter().flatten();
        let works = states.into_iter().any(|one| one["state"] == "working");
        Ok(!works && self.person.queues_empty().await?)
    }
}

fn messages(view: &Value) -> impl Iterator<Item = &Value> {
    view["messages"].as_array().into_iter().flatten()
}

fn ts(message: &Value) -> &str {
    message["ts"].as_str().unwrap_or_default()
}

/// Every button that can be pressed, in the order of the thread.
fn buttons(view: &Value) -> Vec<Button> {
    let mut found = Vec::new();
    for message in messages(view) {
        let blocks = message["blocks"].as_array().into_iter().flatten();
        let elements = blocks.filter_map(|block| block["elements"].as_array());
        for element in elements.flatten() {
            if let Some(action) = element["action_id"].as_str() {
                let label = element["text"]["text"].as_str().unwrap_or(action);
                found.push(Button {
                    message: ts(message).to_owned(),
                    action: action.to_owned(),
                    label: label.to_owned(),
                });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::commands::talk::chat::talk::*;

    #[test]
    fn buttons_are_numbered_through_the_thread() {
        let card = |ts: &str, actions: &[&str]| {
            let elements: Vec<_> = actions
                .iter()
                .map(|a| json!({"action_id": a, "text": {"text": a.to_uppercase()}}))
                .collect();
            json!({"ts": ts, "text": "a card", "blocks": [
                {"type": "section"}, {"type": "actions", "elements": elements}]})
        };
        let view = json!({"messages": [card("1", &["a"]), card("2", &["b", "c"])]});
        let labels: Vec<_> = buttons(&view)
            .into_iter()
            .map(|b| (b.message, b.label))
            .collect();
        let expected = [("1", "A"), ("2", "B"), ("2", "C")];
        assert_eq!(labels, expected.map(|(m, l)| (m.to_owned(), l.to_owned())));
    }
}
