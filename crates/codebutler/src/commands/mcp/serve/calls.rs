//! Carries out what other agents ask for, as the person at this machine.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use butler_config::Settings;
use butler_protocol::{ActionId, Choice, MessageTs};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::{
    offer::{Answer, Ask, List, Nothing, Read, Say, Wait},
    speech::Call,
    told,
};
use crate::{
    CliError,
    commands::talk::{
        chat,
        message::{people, short, working},
    },
    person::{Away, Person},
    wiring,
};

/// The longest wait, in seconds.
const LONGEST: u64 = 300;
/// A team that rests this long has nothing more to say; without news it is looked as often.
const REST: Duration = Duration::from_secs(1);
/// Messages of a thread, unless more are wanted.
const MESSAGES: usize = 30;
const THREADS: usize = 20;

/// Tells how far a call is, to whoever wants to know.
pub(super) struct Progress<'a> {
    call: &'a Call,
    said: &'a mpsc::Sender<Value>,
}

impl<'a> Progress<'a> {
    pub(super) fn new(call: &'a Call, said: &'a mpsc::Sender<Value>) -> Self {
        Self { call, said }
    }

    fn tell(&self, step: u64, what: &str) {
        if let Some(message) = self.call.told(step, what) {
            // Who does not read cannot be told.
            let _ = self.said.try_send(message);
        }
    }
}

/// What is called, for the person whose hub this is.
pub(super) struct Calls {
    settings: Settings,
    repo: String,
    /// Found at the first use, and again after the hub went away.
    person: Mutex<Option<Arc<Person>>>,
}

impl Calls {
    pub(super) fn new(settings: Settings) -> Result<Self, CliError> {
        Ok(Self {
            repo: wiring::repo_name(&settings.home, &settings.root)?,
            settings,
            person: Mutex::default(),
        })
    }

    /// Carries out a call.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        progress: &Progress<'_>,
    ) -> Result<Value, CliError> {
        let done = self.carry_out(tool, arguments, progress).await;
        if let Err(error) = &done
            && error.cause::<Away>().is_some()
        {
            self.person
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
        }
        done
    }

    async fn carry_out(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        progress: &Progress<'_>,
    ) -> Result<Value, CliError> {
        match tool {
            "ask" => {
                let Ask {
                    request,
                    wait_seconds,
                } = read(arguments)?;
                let person = self.person()?;
                let root = person.say_words(None, some(&request, "request")?).await?;
                self.after(&person, &root, &root, wait_seconds, progress)
                    .await
            }
            "say" => {
                let Say {
                    thread,
                    text,
                    wait_seconds,
                } = read(arguments)?;
                let person = self.person()?;
                let root = chat::thread(&person, &self.settings, &thread).await?;
                let said = person.say_words(Some(&root), some(&text, "text")?).await?;
                self.after(&person, &root, &said, wait_seconds, progress)
                    .await
            }
            "list_threads" => {
                let List { limit } = read(arguments)?;
                let board = self.person()?.board_of_channel().await?;
                let threads = board["threads"].as_array().into_iter().flatten();
                let rows = threads.take(limit.unwrap_or(THREADS)).map(told::row);
                Ok(json!({"threads": rows.collect::<Vec<_>>()}))
            }
            "read_thread" => {
                let Read { thread, limit } = read(arguments)?;
                let person = self.person()?;
                let root = chat::thread(&person, &self.settings, &thread).await?;
                let view = person.thread(&root).await?;
                let mut told = told::thread(&view, limit.unwrap_or(MESSAGES));
                told["page"] = json!(person.page_of(&root)?.as_str());
                Ok(told)
            }
            "needs" => self.needs(read(arguments)?, progress).await,
            "answer_card" => self.answer(read(arguments)?).await,
            "status" => {
                let Nothing {} = read(arguments)?;
                self.status().await
            }
            other => Err(CliError::user(format!("there is no tool `{other}`"))),
        }
    }

    fn person(&self) -> Result<Arc<Person>, CliError> {
        let mut person = self.person.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(person) = &*person {
            return Ok(Arc::clone(person));
        }
        let url = wiring::hub_url(&self.settings)?;
        let joined = Arc::new(Person::join(&self.settings, url.as_str())?);
        *person = Some(Arc::clone(&joined));
        Ok(joined)
    }

    /// The thread once the team has answered and rests, or the time is over.
    async fn after(
        &self,
        person: &Person,
        root: &MessageTs,
        said: &MessageTs,
        seconds: u64,
        progress: &Progress<'_>,
    ) -> Result<Value, CliError> {
        let mut rests_since: Option<Instant> = None;
        let look = async || {
            let view = person.thread(root).await?;
            let answered = told::answers_after(&view, said) > 0;
            let rests = answered && working(&view).is_empty() && person.queues_empty().await?;
            rests_since = rests.then(|| rests_since.unwrap_or_else(Instant::now));
            let done = rests_since.is_some_and(|since| since.elapsed() >= REST);
            Ok((view, done))
        };
        let view = until(person, seconds, progress, "the team is at work", look).await?;
        let mut told = told::thread(&view, MESSAGES);
        told["page"] = json!(person.page_of(root)?.as_str());
        Ok(told)
    }

    async fn needs(&self, wait: Wait, progress: &Progress<'_>) -> Result<Value, CliError> {
        let person = self.person()?;
        let look = async || {
            let needs = person.needs().await?;
            let done = !needs.is_empty();
            Ok((needs, done))
        };
        let waiting = "nothing is needed yet";
        let needs = until(&person, wait.wait_seconds, progress, waiting, look).await?;
        let mut all = Vec::new();
        for need in &needs {
            let mut told = told::need(need);
            let root = need["thread"]["root"].as_str().unwrap_or_default().parse();
            if let Ok(root) = root {
                let view = person.thread(&root).await?;
                let cards = told::open_cards(&view);
                let mut cards = cards.iter();
                let own = cards.find(|card| need["message"] == card.asked.message.as_str());
                told["card"] =
                    own.map_or(Value::Null, |card| told::card(card, &view, &people(&view)));
                told["page"] = json!(person.page_of(&root)?.as_str());
            }
            all.push(told);
        }
        Ok(json!({"needs": all}))
    }

    async fn answer(&self, answer: Answer) -> Result<Value, CliError> {
        let person = self.person()?;
        let root = chat::thread(&person, &self.settings, &answer.thread).await?;
        let view = person.thread(&root).await?;
        let cards = told::open_cards(&view);
        let card = cards
            .iter()
            .find(|card| card.asked.request.as_str() == answer.card);
        let card = card.ok_or_else(|| {
            CliError::user(format!(
                "there is no open card `{}` in this thread",
                answer.card
            ))
            .hint("`read_thread` shows those that are open")
        })?;
        let shown = card.asked.sha256.as_str();
        if shown != answer.sha256 {
            return Err(CliError::user(
                "this is not the hash of what the card says now, so nothing was decided",
            )
            .hint("read the card again with `read_thread`, and show it to the person"));
        }
        let choices = card.asked.kind.choices();
        let meant = |one: &&Choice| one.as_str().eq_ignore_ascii_case(answer.choice.trim());
        let choice = choices.iter().find(meant).ok_or_else(|| {
            let words: Vec<&str> = choices.iter().map(|one| one.as_str()).collect();
            CliError::user(format!("`{}` is no choice of this card", answer.choice))
                .hint(format!("its choices are {}", words.join(", ")))
        })?;
        let action = ActionId {
            request: card.asked.request.clone(),
            choice: *choice,
        };
        let message = card.asked.message.as_str();
        person
            .decide(message, &action.to_string(), &answer.sha256)
            .await?;
        if let Some(reason) = answer.reason.filter(|reason| !reason.trim().is_empty()) {
            let said = person.say_words(Some(&root), reason.trim()).await;
            said.map_err(|error| error.hint("the card is answered; only the reason was not said"))?;
        }
        Ok(json!({"card": answer.card, "decided": choice.as_str()}))
    }

    async fn status(&self) -> Result<Value, CliError> {
        let person = self.person()?;
        let agents = person.agents().await?;
        let agents = agents["agents"].as_array().into_iter().flatten();
        let own = agents.filter(|agent| agent["repo"] == self.repo.as_str());
        let own = own.map(|agent| {
            let working = agent["working"].as_array().into_iter().flatten();
            let threads = working.filter_map(|job| short(&job["thread"]));
            json!({"role": agent["role"], "online": agent["online"],
                "working_on": threads.collect::<Vec<_>>()})
        });
        let own: Vec<Value> = own.collect();
        let cost = person.cost_of(&self.repo).await?;
        let cost = &cost["cost"];
        let needs = person.needs().await?.len();
        Ok(json!({"repo": self.repo, "agents": own, "needs": needs,
            "spent_today": told::dollars(&cost["today"]), "day_cap": told::dollars(&cost["day_cap"])}))
    }
}

/// Looks until it is enough, or the seconds are over; the last look either way.
async fn until<T>(
    person: &Person,
    seconds: u64,
    progress: &Progress<'_>,
    what: &str,
    mut look: impl AsyncFnMut() -> Result<(T, bool), CliError>,
) -> Result<T, CliError> {
    let deadline = Instant::now() + Duration::from_secs(seconds.min(LONGEST));
    let mut news = person.news();
    for step in 1.. {
        let (seen, enough) = look().await?;
        let left = deadline.saturating_duration_since(Instant::now());
        if enough || left.is_zero() {
            return Ok(seen);
        }
        progress.tell(step, what);
        tokio::select! {
            () = news.wait() => {}
            () = tokio::time::sleep(left.min(REST)) => {}
        }
    }
    Err(CliError::user("the wait has no end"))
}

fn read<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, CliError> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| CliError::user(format!("the arguments do not fit: {error}")))
}

fn some<'a>(text: &'a str, name: &str) -> Result<&'a str, CliError> {
    match text.trim() {
        "" => Err(CliError::user(format!("`{name}` is empty"))),
        text => Ok(text),
    }
}
