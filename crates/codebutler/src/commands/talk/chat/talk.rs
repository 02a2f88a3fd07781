//! One thread, live: what is new is shown, what is typed is posted, a number
//! presses a button, and somebody who thinks is seen to think.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use butler_config::Settings;
use butler_protocol::{MessageTs, Role, ThreadId};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    CliError, Exit, Paint, Ui,
    commands::talk::{
        chat::{
            buttons::{buttons, meant},
            outcome,
        },
        message::{people, words, working},
    },
    person::{Away, Person},
    process::stdin_lines,
    roles::titles,
};

/// Without news the thread is looked at all the same: a hub may restart.
const GLANCE: Duration = Duration::from_secs(2);
/// A team that rests this long has nothing more to say.
const REST: Duration = Duration::from_secs(1);
/// Who works this long is named again.
const STILL: Duration = Duration::from_secs(30);

pub(crate) struct Talk<'a> {
    person: Person,
    thread: Option<MessageTs>,
    shown: HashSet<String>,
    /// The hub did not answer the last time.
    away: bool,
    /// Who was said to be at work, and when.
    at_work: Option<(Vec<Role>, Instant)>,
    settings: &'a Settings,
    ui: &'a Ui,
}

/// What a person wants to say.
pub(crate) enum Words {
    /// This text; the number of a button presses it.
    Say(String),
    /// The button of this name or number.
    Press(String),
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
            at_work: None,
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
                let said = self.say(&Words::Say(line.trim().to_owned())).await;
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
        text: Words,
        seconds: u64,
        cancel: &CancellationToken,
    ) -> Result<Exit, CliError> {
        // What was said and done before is not an answer.
        let before = self.view().await?;
        let place = outcome::place(&before);
        self.shown
            .extend(messages(&before).iter().map(|one| ts(one).to_owned()));
        let mut news = self.person.news();
        let pressed = self.say(&text).await?;
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
                return Ok(outcome::since(&self.view().await?, &place));
            }
            if Instant::now() >= deadline {
                let name = self.name();
                self.ui.note(format_args!(
                    "the team is still at work; `codebutler chat {name}` goes on"
                ));
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

    /// Posts, or presses a button; whether it was a press.
    async fn say(&mut self, words: &Words) -> Result<bool, CliError> {
        let text = match words {
            Words::Say(text) | Words::Press(text) => text.trim(),
        };
        let buttons = buttons(messages(&self.view().await?));
        let pressed = match words {
            Words::Press(_) => Some(meant(&buttons, text)?),
            Words::Say(_) => buttons.iter().find(|button| button.number == text),
        };
        if let Some(button) = pressed {
            self.ui.note(format_args!("→ {}", button.label));
            self.person.click(&button.message, &button.action).await?;
            return Ok(true);
        }
        let ts = match &self.thread {
            None => {
                let root = self.person.say(text).await?;
                self.thread = Some(root.clone());
                self.ui
                    .note(format_args!("thread {}", self.name()).dimmed());
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
        let (buttons, people) = (buttons(messages(&view)), people(&view));
        let mut count = 0;
        for message in messages(&view) {
            if !self.shown.insert(ts(message).to_owned()) {
                continue;
            }
            count += 1;
            let who = message["username"].as_str().unwrap_or("you");
            self.ui
                .line(format_args!("{}: {}", who.bold(), words(message, &people)))?;
            for button in buttons.iter().filter(|one| one.message == ts(message)) {
                self.ui
                    .line(format_args!("  [{}] {}", button.number, button.label))?;
            }
        }
        self.tell_who_works(&view);
        Ok(count)
    }

    /// Names those who are at work when they begin, and again when it takes long:
    /// silence would look like nobody being there.
    fn tell_who_works(&mut self, view: &Value) {
        let roles = working(view);
        let told = match &self.at_work {
            Some((named, since)) => *named == roles && since.elapsed() < STILL,
            None => false,
        };
        if roles.is_empty() {
            self.at_work = None;
        } else if !told {
            self.ui
                .note(format_args!("… {} at work", titles(&roles)).dimmed());
            self.at_work = Some((roles, Instant::now()));
        }
    }

    /// The thread as it is now, for people or scripts.
    pub(crate) async fn read(&mut self, as_json: bool) -> Result<Exit, CliError> {
        if !as_json {
            self.show_new().await?;
            return Ok(Exit::Done);
        }
        let view = self.view().await?;
        let (buttons, people) = (buttons(messages(&view)), people(&view));
        let said = messages(&view).iter().map(|message| {
            let own = buttons.iter().filter(|one| one.message == ts(message));
            let own = own.map(|one| json!({"number": one.number, "name": one.label}));
            json!({"ts": ts(message), "who": message["username"].as_str().unwrap_or("you"),
                "text": words(message, &people), "buttons": own.collect::<Vec<_>>()})
        });
        let said: Vec<Value> = said.collect();
        self.ui
            .done_json(json!({"short": self.name(), "messages": said, "working": working(&view)}))
    }

    /// The thread's short id.
    fn name(&self) -> String {
        let thread = self.thread.as_ref();
        let id = thread.map(|root| ThreadId::new(self.person.channel().clone(), root.clone()));
        id.map(|id| id.short()).unwrap_or_default()
    }

    /// Nobody works in the thread, and nobody has mail.
    async fn team_rests(&self) -> Result<bool, CliError> {
        let works = !working(&self.view().await?).is_empty();
        Ok(!works && self.person.queues_empty().await?)
    }
}

fn messages(view: &Value) -> &[Value] {
    view["messages"].as_array().map_or(&[][..], Vec::as_slice)
}

fn ts(message: &Value) -> &str {
    message["ts"].as_str().unwrap_or_default()
}
