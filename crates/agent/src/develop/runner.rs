//! The loop of the PM's process that takes runs on: it looks, asks [`next`] and does
//! what comes out. What it remembers between two looks only saves work.

mod merging;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use butler_playbook::Roadmap;
use butler_policy::Duty;
use butler_protocol::{
    EventId, Idem, ItemReport, ItemState, ItemTag, PullStatus, Record, Refusal, RequestId, Role,
    RunChange, RunItem, RunReport, RunState, RunView, Speaker, StampKind, ThreadId, fault,
};
use butler_slack::SlackError;
use butler_turn::Heard;
use tokio::{
    sync::{Notify, mpsc},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::{
    answers, item, message,
    next::{Answer, Run, Standing, Step, next},
    orders::{is_open, reported},
    standing::standing,
};
use crate::{
    Agent, AgentError,
    decide::roadmap,
    listen::{intake::Mail, work_key::WorkKey},
    tell::thread_logs::{self, RoleLog},
    upkeep::overlap::ahead::Ahead,
};

/// What a press, a post and a log line cause comes in a burst.
const SETTLES: Duration = Duration::from_millis(300);
/// Deadlines of questions, and whatever no event tells.
const ROUND: Duration = Duration::from_secs(5);
/// Without a run nothing is due; a decision wakes us.
const NOTHING_OPEN: Duration = Duration::from_secs(600);
/// When the hub or git could not be asked.
const SOON: Duration = Duration::from_secs(3);
/// A thread that has not written down what it was given gets it again.
const GIVEN_AGAIN: Duration = Duration::from_secs(20);

/// Mail that the runtime itself writes to a thread's worker.
pub(crate) type Letter = (WorkKey, Mail);

/// What the rest of the process knows of runs.
#[derive(Debug, Default)]
pub(crate) struct Develop {
    poked: Notify,
    seen: Mutex<Seen>,
    /// What the team has before it, for the page.
    pub(crate) ahead: Ahead,
}

#[derive(Debug, Default)]
struct Seen {
    runs: Vec<RunView>,
    reports: HashMap<RequestId, BTreeMap<u32, ItemReport>>,
    orders: HashMap<RequestId, Vec<u32>>,
}

impl Develop {
    /// Has the runs looked at soon.
    pub(crate) fn poke(&self) {
        self.poked.notify_one();
    }

    /// Something happened in the workspace.
    pub(crate) fn heard(&self, kind: StampKind) {
        let open = self.seen().runs.iter().any(is_open);
        if open || kind == StampKind::Decision {
            self.poke();
        }
    }

    /// The newest run that was started in this thread.
    pub(crate) fn run_of(&self, thread: &ThreadId) -> Option<RunView> {
        let seen = self.seen();
        let mut newest_first = seen.runs.iter();
        newest_first.find(|run| run.thread == *thread).cloned()
    }

    /// What people were told of its items.
    pub(crate) fn reports_of(&self, run: &RunView) -> BTreeMap<u32, ItemReport> {
        let known = self.seen().reports.get(&run.request).cloned();
        known.unwrap_or_else(|| reported(run))
    }

    /// The order in which what waits for its merge is merged best.
    pub(crate) fn order_of(&self, run: &RunView) -> Vec<u32> {
        let known = self.seen().orders.get(&run.request).cloned();
        known.unwrap_or_default()
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes all runs on until `cancel`.
pub(crate) async fn keep_going(
    agent: Arc<Agent>,
    letters: mpsc::Sender<Letter>,
    cancel: CancellationToken,
) {
    let mut runner = Runner {
        agent: Arc::clone(&agent),
        letters,
        cancel: cancel.clone(),
        given: HashMap::new(),
        shown: HashMap::new(),
        asked: HashMap::new(),
        roadmap: None,
        turns: merging::Turns::default(),
    };
    loop {
        let pause = match runner.look().await {
            Ok(true) => ROUND,
            Ok(false) => NOTHING_OPEN,
            Err(error) => {
                warn!(%error, "the runs over the roadmap could not be looked at");
                SOON
            }
        };
        tokio::select! {
            () = cancel.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
            () = agent.develop.poked.notified() => {
                tokio::select! {
                    () = cancel.cancelled() => return,
                    () = tokio::time::sleep(SETTLES) => {}
                }
            }
        }
    }
}

struct Runner {
    agent: Arc<Agent>,
    letters: mpsc::Sender<Letter>,
    cancel: CancellationToken,
    /// When a thread was given its item.
    given: HashMap<ThreadId, Instant>,
    /// The words of each run's message.
    shown: HashMap<RequestId, String>,
    /// The newest question that people were told of.
    asked: HashMap<RequestId, i64>,
    /// As it was when it was fetched last.
    roadmap: Option<Roadmap>,
    /// Whose turn it is to be merged.
    turns: merging::Turns,
}

impl Runner {
    /// One look at every run. Whether one of them is open.
    async fn look(&mut self) -> Result<bool, AgentError> {
        let runs = self.agent.poster.control.runs().await?;
        self.agent.develop.seen().runs.clone_from(&runs);
        let mut open = false;
        // The newest comes first.
        for (at, view) in runs.into_iter().enumerate() {
            if is_open(&view) {
                open = true;
                self.advance(view).await?;
            } else if at == 0 {
                // Ended or stopped, perhaps while its message still said otherwise.
                let reports = self.agent.develop.reports_of(&view);
                self.show(&view, &reports).await?;
            }
        }
        Ok(open)
    }

    async fn advance(&mut self, view: RunView) -> Result<(), AgentError> {
        let view = self.as_decidable(view);
        let mut run = Run {
            standing: BTreeMap::new(),
            order: self.merge_order(&view).await?,
            merging: self.is_merging(&view),
            view,
        };
        let order = run.order.clone();
        let known = run.view.request.clone();
        self.agent.develop.seen().orders.insert(known, order);
        for item in run.view.items.clone() {
            let standing = self.stands(&run.view, &item).await?;
            run.standing.insert(item.number, standing);
        }
        self.find_answers(&mut run).await?;
        let mut steps = next(&run, &self.known_roadmap().await?);
        let begins = |step: &Step| matches!(step, Step::Open(_) | Step::Finish);
        if steps.iter().any(begins) {
            // Nothing begins, or ends, on an old word.
            self.roadmap = None;
            steps = next(&run, &self.known_roadmap().await?);
        }
        self.carry_out(&run, steps).await
    }

    async fn known_roadmap(&mut self) -> Result<Roadmap, AgentError> {
        if let Some(known) = &self.roadmap {
            return Ok(known.clone());
        }
        let now = roadmap::of(&self.agent, &self.cancel).await?;
        self.roadmap = Some(now.clone());
        Ok(now)
    }

    /// How an item stands; its PM gets it, if it has not written it down yet.
    async fn stands(&mut self, view: &RunView, item: &RunItem) -> Result<Standing, AgentError> {
        let mut logs = Vec::new();
        if !matches!(
            item.pull,
            Some((_, PullStatus::Merged | PullStatus::Closed))
        ) {
            logs = thread_logs::of_thread(&self.agent, &item.thread).await?;
            self.give(view, item, &logs).await?;
        }
        Ok(standing(item, &logs, self.agent.now_ms()))
    }

    /// Gives the PM of the item's thread what it is to build. Once it is in the log,
    /// nothing gives it again.
    async fn give(
        &mut self,
        view: &RunView,
        item: &RunItem,
        logs: &[RoleLog],
    ) -> Result<(), AgentError> {
        let event = EventId::item(item.number, view.request.as_str());
        let mut own = logs.iter().filter(|log| Duty::Front.is_of(log.role));
        let written = own.any(|log| {
            let mut entries = log.entries.iter();
            entries.any(|entry| {
                matches!(&entry.record, Record::User { event: Some(known), .. } if *known == event)
            })
        });
        let given = self.given.get(&item.thread);
        if written || given.is_some_and(|given| given.elapsed() < GIVEN_AGAIN) {
            return Ok(());
        }
        let roadmap = self.known_roadmap().await?;
        let mut items = view.subject.items.iter();
        let Some(started) = items.find(|one| one.number == item.number) else {
            return Ok(());
        };
        let below = self.stack(view, item).await?;
        let heard = Heard {
            event,
            ts: Some(item.thread.root.clone()),
            speaker: self.speaker(&view.person).await?,
            text: item::request(started, &roadmap, below),
            images: Vec::new(),
        };
        self.send(&item.thread, heard).await;
        self.given.insert(item.thread.clone(), Instant::now());
        Ok(())
    }

    async fn speaker(&self, user: &butler_protocol::UserId) -> Result<Speaker, AgentError> {
        Ok(Speaker::Person {
            user: user.clone(),
            name: self.agent.poster.web.user_name(user).await?,
        })
    }

    async fn send(&self, thread: &ThreadId, heard: Heard) {
        let mail = Mail::words(heard);
        // The process ends when nobody takes it.
        let _ = self
            .letters
            .send((WorkKey::thread(thread.clone()), mail))
            .await;
    }

    /// Answers of people, and of the clock where that was allowed.
    async fn find_answers(&self, run: &mut Run) -> Result<(), AgentError> {
        let waits = |one: &Standing| one.asked_by.is_some();
        if !run.standing.values().any(waits) {
            return Ok(());
        }
        let thread = &run.view.thread;
        let messages = self.agent.poster.web.replies(thread).await?;
        let now_ms = self.agent.now_ms();
        let allowed = run.view.subject.answer_after_minutes;
        for (number, standing) in run.standing.iter_mut().filter(|(_, one)| waits(one)) {
            let due = allowed.filter(|_| standing.state == ItemState::Asks);
            let due = due.map(|minutes| standing.since_ms + i64::from(minutes) * 60_000);
            let suggested = due.filter(|due| *due <= now_ms).map(|_| Answer::Suggested);
            standing.answer = answers::given(&messages, *number, standing).or(suggested);
        }
        Ok(())
    }

    async fn carry_out(&mut self, run: &Run, steps: Vec<Step>) -> Result<(), AgentError> {
        let mut view = run.view.clone();
        let mut reports = BTreeMap::new();
        let mut over = false;
        for step in steps {
            match step {
                Step::Open(number) => {
                    let report = self.open(&view, number).await?;
                    reports.insert(number, report);
                }
                Step::Decide(number) => self.decide(&view, number).await?,
                Step::MoveUp(number) => self.move_up(&view, number).await,
                Step::Answer(number, answer) => {
                    if let Some(standing) = run.standing.get(&number) {
                        self.answer(&view, number, standing, &answer).await?;
                    }
                }
                Step::Report(number, report) => drop(reports.insert(number, report)),
                Step::Finish => over = true,
            }
        }
        self.report(&view, &reports).await?;
        if over {
            view.state = RunState::Done;
        }
        self.show(&view, &reports).await?;
        self.ask(run, &reports).await?;
        if over {
            self.finish(&view, &reports).await?;
        }
        Ok(())
    }

    /// Opens the thread of an item. The hub refuses what was begun already and what the
    /// budget does not hold, whoever asks.
    async fn open(&self, view: &RunView, number: u32) -> Result<ItemReport, AgentError> {
        let mut items = view.subject.items.iter();
        let Some(item) = items.find(|item| item.number == number) else {
            return Err(AgentError::Missing(format!("the run has no item {number}")));
        };
        let poster = &self.agent.poster;
        let mut text = format!("**Item {number}: {}**", item.title);
        for criterion in &item.criteria {
            text.push_str(&format!("\n- {criterion}"));
        }
        let name = poster.web.user_name(&view.person).await?;
        let place = poster.address(&view.thread).await;
        text.push_str(&format!(
            "\n\nFrom the roadmap, started by {name} in the thread {}.",
            place.unwrap_or_else(|| format!("`{}`", view.thread.short()))
        ));
        let tag = ItemTag {
            run: view.request.clone(),
            number,
        };
        let key = Idem::new(format!("{}-item-{number}", view.request));
        fault("agent.before-item");
        let opened = poster
            .open(&view.thread.channel, key, &text, Some(tag))
            .await;
        fault("agent.after-item");
        match opened {
            Ok(posted) => {
                info!(number, root = %posted.ts, "an item of the roadmap has a thread");
                self.agent.develop.poke();
                Ok(working())
            }
            Err(error) => refused(error),
        }
    }

    /// The item goes on. Where it asked people see the answer; its role gets it.
    async fn answer(
        &self,
        view: &RunView,
        number: u32,
        standing: &Standing,
        answer: &Answer,
    ) -> Result<(), AgentError> {
        let begun = view.items.iter().find(|item| item.number == number);
        let (Some(item), Some(role)) = (begun, standing.asked_by) else {
            return Ok(());
        };
        let poster = &self.agent.poster;
        let (key, speaker, words, shown) = match answer {
            Answer::Said { ts, user, words } => {
                let speaker = self.speaker(user).await?;
                let name = poster.web.user_name(user).await?;
                let shown = format!("{name} answers in the thread of the run: {words}");
                (ts.to_string(), speaker, words.clone(), shown)
            }
            Answer::Suggested => {
                let words = "Nobody answered in time. As the person who started the run allowed, go on with what you suggested yourself.";
                let key = standing.since_ms.to_string();
                (key, Speaker::Runtime, words.to_owned(), words.to_owned())
            }
        };
        let ours = Duty::Front.is_of(role);
        let to: Vec<Role> = (!ours).then_some(role).into_iter().collect();
        let idem = Idem::new(format!("{}-answer-{number}-{key}", view.request));
        fault("agent.before-answer");
        poster.say_to(&item.thread, idem, &shown, to).await?;
        fault("agent.after-answer");
        if ours {
            let heard = Heard {
                event: EventId::new(format!("answer:{number}:{key}")),
                ts: None,
                speaker,
                text: words,
                images: Vec::new(),
            };
            self.send(&item.thread, heard).await;
        }
        if let Answer::Said { ts, .. } = answer {
            let channel = &view.thread.channel;
            let marked = poster.web.react(channel, ts, "white_check_mark").await;
            if let Err(error) = marked {
                debug!(%error, "an answer has no mark");
            }
        }
        Ok(())
    }

    /// For the page and the command line; what they have heard is not told again.
    async fn report(
        &self,
        view: &RunView,
        reports: &BTreeMap<u32, ItemReport>,
    ) -> Result<(), AgentError> {
        let before = self.agent.develop.reports_of(view);
        for (number, report) in reports {
            if before.get(number) == Some(report) {
                continue;
            }
            let report = RunReport {
                request: view.request.clone(),
                number: *number,
                report: report.clone(),
            };
            self.agent.poster.control.run_report(&report).await?;
        }
        let mut seen = self.agent.develop.seen();
        seen.reports.insert(view.request.clone(), reports.clone());
        Ok(())
    }

    /// The one message of the run. The key finds it again after a crash.
    async fn show(
        &mut self,
        view: &RunView,
        reports: &BTreeMap<u32, ItemReport>,
    ) -> Result<(), AgentError> {
        let order = self.agent.develop.order_of(view);
        let text = self.agent.clean(&message::board(view, reports, &order));
        if self.shown.get(&view.request) == Some(&text) {
            return Ok(());
        }
        let key = Idem::new(format!("{}-run{}", view.request, message::KEY));
        let poster = &self.agent.poster;
        let shown = poster.say(&view.thread, key, &text).await?;
        poster.edit(&view.thread, &shown.ts, &text).await?;
        self.shown.insert(view.request.clone(), text);
        Ok(())
    }

    /// Tells people what waits for them, once for each new question.
    async fn ask(
        &mut self,
        run: &Run,
        reports: &BTreeMap<u32, ItemReport>,
    ) -> Result<(), AgentError> {
        let open = |one: &Standing| one.asked_by.is_some() && one.answer.is_none();
        let asking = run.standing.iter().filter(|(_, one)| open(one));
        let newest = asking.clone().map(|(_, one)| one.since_ms).max();
        let Some(newest) = newest else {
            return Ok(());
        };
        let view = &run.view;
        if self.asked.get(&view.request) >= Some(&newest) {
            return Ok(());
        }
        let asking: Vec<(u32, &ItemReport)> = asking
            .filter_map(|(number, _)| Some((*number, reports.get(number)?)))
            .collect();
        let minutes = view.subject.answer_after_minutes;
        let text = self.agent.clean(&message::needed(view, &asking, minutes));
        let key = Idem::new(format!("{}-needs-{newest}", view.request));
        let people = std::slice::from_ref(&view.person);
        let poster = &self.agent.poster;
        poster.ask_people(&view.thread, key, people, &text).await?;
        self.asked.insert(view.request.clone(), newest);
        Ok(())
    }

    /// Said before it is so: whoever is killed in between says it again.
    async fn finish(
        &self,
        view: &RunView,
        reports: &BTreeMap<u32, ItemReport>,
    ) -> Result<(), AgentError> {
        let text = self.agent.clean(&message::ended(view, reports));
        let key = Idem::new(format!("{}-ended", view.request));
        let people = std::slice::from_ref(&view.person);
        let poster = &self.agent.poster;
        poster.ask_people(&view.thread, key, people, &text).await?;
        fault("agent.before-run-ended");
        let change = RunChange {
            request: view.request.clone(),
            state: RunState::Done,
        };
        poster.control.run_state(&change).await?;
        fault("agent.after-run-ended");
        self.agent.develop.poke();
        Ok(())
    }
}

fn working() -> ItemReport {
    ItemReport {
        state: ItemState::Working,
        why: String::new(),
    }
}

/// A refusal is an answer: the next look sees what the hub saw.
fn refused(error: SlackError) -> Result<ItemReport, AgentError> {
    let why = match error.refusal() {
        Some(Refusal::ItemAlreadyStarted) => return Ok(working()),
        Some(Refusal::RunBudget) => "the budget of the run does not hold it now",
        Some(Refusal::RunNotRunning) => "the run does not go on",
        _ => return Err(error.into()),
    };
    Ok(ItemReport {
        state: ItemState::Waiting,
        why: why.to_owned(),
    })
}
