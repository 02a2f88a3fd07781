//! One thread's worker: a flat loop that feeds events to the machine and
//! carries its effects out. Appends are durable before the next effect begins;
//! mail is acknowledged once it is in the log.

mod calls;
mod ending;
mod findings;
mod joining;
mod models;

use std::{
    collections::{HashSet, VecDeque},
    future::Future,
    path::PathBuf,
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use butler_journal::{Journal, ThreadDir};
use butler_turn::{Effect, Event, Machine, Mark, ModelCall, Reserve, Setup, StopCause};
use butler_vocab::{Entry, EventId, HandOver, Record, RequestId, Settlement, Waiting, fault};
use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, debug, info, info_span};

use self::calls::Waiter;
use crate::{
    TeamError,
    bench::{self, Bench},
    choices,
    chores::{Chore, Chores},
    context::Cards,
    desks::Desk,
    draft,
    errand::{self, Left},
    facts::Facts,
    hands::{self, Done, Question},
    intake::{Ack, Mail},
    matter::Matter,
    office::{Office, now_ms},
    orders, paying, queue, render,
    seat::Seat,
};

/// A worker without work goes away after this; its log brings it back.
const IDLE: Duration = Duration::from_secs(60);

type Doing = Pin<Box<dyn Future<Output = Done> + Send>>;

/// The worker of one thread.
pub struct Worker {
    seat: Seat,
    journal: Journal,
    machine: Machine,
    chores: Chores,
    bench: Option<Bench>,
    /// Calls that wait for the bench or for an earlier batch.
    waiting: VecDeque<Vec<Waiter>>,
    running: usize,
    doing: FuturesUnordered<Doing>,
    queue: VecDeque<Effect>,
    deadline_ms: Option<i64>,
    /// Cards whose buttons are being taken away.
    closing: HashSet<RequestId>,
    /// Where it is written down why.
    choices: PathBuf,
    /// Whether the log says anything yet.
    joined: bool,
    turn_of: Option<Desk>,
    /// Cancelled by a stop, and replaced afterwards; at the end of the process
    /// only when the tools have had their moment.
    work: CancellationToken,
    process: CancellationToken,
}

/// Runs a thread until it is idle or the process ends.
pub async fn run(
    office: Arc<Office>,
    matter: Matter,
    inbox: &mut mpsc::Receiver<Mail>,
    process: CancellationToken,
) -> Result<(), TeamError> {
    let (chores, chores_done) = Chores::start(Arc::clone(&office), matter.clone());
    let mut worker = Worker::open(office, matter, chores, process.clone()).await?;
    let result = worker.work(inbox).await;
    drop(worker);
    // A hub that stops at the same time must not hold us up.
    tokio::select! {
        _ = chores_done => {}
        () = process.cancelled() => {}
    }
    result
}

impl Worker {
    async fn open(
        office: Arc<Office>,
        matter: Matter,
        chores: Chores,
        process: CancellationToken,
    ) -> Result<Self, TeamError> {
        let path = matter.log(&office.threads(), office.role());
        let (journal, log) = tokio::task::block_in_place(|| Journal::open(&path, office.epoch))?;
        let seat = Seat::new(Arc::clone(&office), &matter, Facts::of(&log));
        let models = models::models_for(&office.config, &seat.facts());
        let task = seat.facts().task_words();
        let choices = ThreadDir::new(&office.threads(), &matter.thread).decisions(office.role());
        let setup = Setup {
            first_activation: matter.first_activation(),
            thread: matter.thread,
            role: office.role(),
            models,
            prompt: office.prompt(&task).await,
            tools: bench::offered(&seat),
            limits: office.config.limits,
        };
        let machine = Machine::new(setup, &log);
        let joined = !log.is_empty();
        if joined {
            chores.add(Chore::CatchUp(log)).await;
        }
        Ok(Self {
            choices,
            joined,
            seat,
            journal,
            machine,
            chores,
            bench: None,
            waiting: VecDeque::new(),
            running: 0,
            doing: FuturesUnordered::new(),
            queue: VecDeque::new(),
            deadline_ms: None,
            closing: HashSet::new(),
            turn_of: None,
            work: CancellationToken::new(),
            process,
        })
    }

    /// Receive, ask the machine, carry out; until there is nothing left to wait for.
    async fn work(&mut self, inbox: &mut mpsc::Receiver<Mail>) -> Result<(), TeamError> {
        self.feed(Event::Begin { now_ms: now_ms() });
        self.tell_findings();
        self.close_cards();
        loop {
            self.carry_out_all().await?;
            let process = self.process.clone();
            let pause = self.pause();
            tokio::select! {
                () = process.cancelled() => return self.wind_down().await,
                Some(done) = self.doing.next() => self.on_done(done).await?,
                mail = inbox.recv() => match mail {
                    Some(mail) => self.on_mail(mail).await?,
                    None => return Ok(()),
                },
                () = tokio::time::sleep(pause), if self.doing.is_empty() => {
                    if self.deadline_ms.is_none() {
                        return Ok(());
                    }
                    self.out_of_patience();
                }
            }
        }
    }

    /// Until the deadline of a sleeping activation, or until the worker is idle.
    fn pause(&self) -> Duration {
        match self.deadline_ms {
            None => IDLE,
            Some(deadline) => {
                let left = deadline.saturating_sub(now_ms()).max(0);
                Duration::from_millis(u64::try_from(left).unwrap_or(0) + 1)
            }
        }
    }

    fn feed(&mut self, event: Event) {
        let effects = self.machine.on(event);
        self.queue.extend(effects);
    }

    async fn on_mail(&mut self, mail: Mail) -> Result<(), TeamError> {
        fault("team.before-receive");
        let ack = match mail {
            Mail::Heard {
                heard,
                hand_over,
                ack,
            } => {
                let cards = match &hand_over {
                    Some(body) if render::brings_plan(body) => Cards::Headlines,
                    _ => Cards::Whole,
                };
                let mut all = self.context(heard.ts.as_ref(), cards).await?;
                all.extend(self.closed_note(&heard));
                all.extend(self.lane_note(&heard, hand_over.as_deref()));
                let findings = matches!(hand_over.as_deref(), Some(HandOver::Findings { .. }));
                if let Some(body) = hand_over {
                    self.receive(&heard.event, *body).await?;
                    self.choose_model()?;
                }
                if findings {
                    // In the log already; told when the others are there too.
                    self.tell_findings();
                } else {
                    if self.machine.is_idle() {
                        self.renew_prompt(&heard.text).await;
                        let left = errand::start(&self.seat, &heard, &self.work).await?;
                        self.machine
                            .set_tools(bench::offered_for(&self.seat, left.skill(&heard)));
                        match left {
                            Left::Nothing => {
                                acknowledge(ack).await;
                                return Ok(());
                            }
                            Left::WithNote(note) => all.extend([heard, *note]),
                            Left::Message => all.push(heard),
                        }
                    } else {
                        all.push(heard);
                    }
                    self.feed(Event::Heard(all));
                }
                ack
            }
            Mail::Decided { decision, ack } => {
                self.feed(Event::Decided(*decision));
                ack
            }
            Mail::Model { model, by, ack } => {
                self.swap_model(model, &by).await?;
                ack
            }
            Mail::Draft { notes, ack } => {
                let model = models::models_for(&self.seat.office.config, &self.seat.facts()).usual;
                let cancel = self.process.clone();
                self.start(draft::make(self.seat.clone(), model, notes, ack, cancel));
                None
            }
            Mail::Stop { by, ack } => {
                self.feed(Event::Stop {
                    by: StopCause::Person(by),
                });
                ack
            }
        };
        self.write_ahead().await?;
        self.close_cards();
        fault("team.after-receive");
        acknowledge(ack).await;
        Ok(())
    }

    /// What changed in the playbook holds from the next activation on.
    async fn renew_prompt(&mut self, heard: &str) {
        let mut task = self.seat.facts().task_words();
        if task.is_empty() {
            heard.clone_into(&mut task);
        }
        let prompt = self.seat.office.prompt(&task).await;
        self.machine.set_prompt(prompt);
    }

    /// What a click on a command sets in motion is the model's next call; the
    /// other kinds are carried out, and close their card then.
    fn close_cards(&mut self) {
        let decided = self.seat.facts().cards_to_close();
        for request in decided {
            if self.closing.insert(request.clone()) {
                self.start(orders::answered(self.seat.clone(), request));
            }
        }
    }

    async fn receive(&mut self, event: &EventId, body: HandOver) -> Result<(), TeamError> {
        if self.seat.facts().has_received(event) {
            return Ok(());
        }
        let record = Record::Received {
            event: event.clone(),
            hand_over: Box::new(body),
        };
        self.write(vec![record]).await
    }

    async fn on_done(&mut self, done: Done) -> Result<(), TeamError> {
        match done {
            Done::Failed(error) => return Err(error),
            Done::Nothing => {
                let records = self.seat.take_written();
                self.write(records).await?;
            }
            Done::Queued(told) => {
                let records = self.seat.take_written();
                self.write(records).await?;
                self.start(queue::wait(self.seat.clone(), *told, self.work.clone()));
            }
            Done::Desk(desk, reserve) => {
                let records = self.seat.take_written();
                self.write(records).await?;
                self.sit_down(desk, *reserve);
            }
            Done::Bench(bench) => {
                self.bench = Some(*bench);
                self.running -= 1;
                self.next_batch().await?;
            }
            Done::Event(event) => {
                let records = self.seat.take_written();
                self.write(records).await?;
                if matches!(event, Event::ToolDone { .. }) {
                    self.running -= 1;
                }
                self.feed(event);
                self.write_ahead().await?;
                self.next_batch().await?;
            }
        }
        Ok(())
    }

    /// Carries the appends at the head of the queue out, as one write.
    async fn write_ahead(&mut self) -> Result<(), TeamError> {
        let mut records = Vec::new();
        while let Some(Effect::Append(_)) = self.queue.front() {
            if let Some(Effect::Append(record)) = self.queue.pop_front() {
                records.push(record);
            }
        }
        self.append(records).await.map(drop)
    }

    /// A line that the worker writes itself; the machine takes note of it.
    async fn write(&mut self, records: Vec<Record>) -> Result<(), TeamError> {
        for entry in self.append(records).await? {
            self.machine.wrote(&entry);
        }
        Ok(())
    }

    async fn append(&mut self, records: Vec<Record>) -> Result<Vec<Entry>, TeamError> {
        if records.is_empty() {
            return Ok(Vec::new());
        }
        for record in &records {
            self.seat.facts().note(record);
        }
        fault("team.before-append");
        let entries = tokio::task::block_in_place(|| self.journal.append_all(records, now_ms()))?;
        fault("team.after-append");
        let chosen = entries.iter();
        let chosen = chosen.filter_map(|entry| choices::of_record(&entry.record, entry.at_ms));
        choices::keep(&self.choices, &chosen.collect::<Vec<_>>());
        self.joined = true;
        for entry in &entries {
            self.tell_fallback(&entry.record);
        }
        self.chores.add(Chore::Records(entries.clone())).await;
        Ok(entries)
    }

    async fn carry_out_all(&mut self) -> Result<(), TeamError> {
        loop {
            self.write_ahead().await?;
            let Some(effect) = self.queue.pop_front() else {
                return Ok(());
            };
            self.carry_out(effect).await?;
        }
    }

    /// One effect. What takes long goes to `doing` and comes back as an event.
    async fn carry_out(&mut self, effect: Effect) -> Result<(), TeamError> {
        debug!(?effect, "effect");
        let seat = self.seat.clone();
        match effect {
            Effect::Append(record) => drop(self.append(vec![record]).await?),
            Effect::Reserve(reserve) => self.reserve(reserve),
            Effect::CallModel(call) => self.call_model(call),
            Effect::Summarise { call, messages } => {
                let question = Question {
                    call,
                    messages,
                    tools: Vec::new(),
                };
                self.start(hands::summarise(seat, question, self.work.clone()));
            }
            Effect::RunTools(calls) => self.line_up(calls).await?,
            Effect::RecoverTools(interrupted) => self.line_up_recoveries(interrupted).await?,
            Effect::Post(outgoing) => self.start(hands::post(seat, outgoing)),
            Effect::HandOverByDefault { idem, text } => {
                self.start(hands::default_hand_over(seat, idem, text));
            }
            Effect::Escalate { idem, text } => self.start(hands::escalate(seat, idem, text)),
            Effect::AskForMoney { request, refusal } => {
                self.ask_for_money(request, refusal).await?;
            }
            Effect::CarryOut(order) => {
                self.start(hands::carry_out(seat, order, self.work.clone()));
            }
            Effect::Cancel => self.stop_work().await,
            Effect::Park(waiting) => self.rest(Some(&waiting)).await,
            Effect::End(ending) => {
                info!(?ending, "the activation is over");
                self.rest(None).await;
            }
            other => self.chore(other).await,
        }
        Ok(())
    }

    fn start(&self, future: impl Future<Output = Done> + Send + 'static) {
        self.doing.push(Box::pin(future));
    }

    /// Asks for money once there is a desk: at most so many threads work at once.
    fn reserve(&mut self, reserve: Reserve) {
        // Whoever works does not wait for an answer any more.
        self.deadline_ms = None;
        let seat = self.seat.clone();
        if self.turn_of.is_none() {
            match seat.office.desks.queue().sit() {
                Err(ticket) => return self.start(queue::tell(seat, ticket, reserve)),
                Ok(desk) => self.turn_of = Some(desk),
            }
            // Told in an earlier life of this process.
            if let Some(message) = self.seat.facts().queued.take() {
                self.start(queue::turn_came(seat.clone(), reserve.clone(), message));
            }
        }
        let cancel = self.work.clone();
        self.start(paying::reserve(seat, reserve, cancel));
    }

    /// The turn has come; after a stop nobody needs the desk any more.
    fn sit_down(&mut self, desk: Desk, reserve: Reserve) {
        if self.machine.activation().is_some() {
            self.turn_of = Some(desk);
            let cancel = self.work.clone();
            self.start(paying::reserve(self.seat.clone(), reserve, cancel));
        }
    }

    fn call_model(&mut self, call: ModelCall) {
        let question = Question {
            call,
            messages: self.machine.messages(),
            tools: self.machine.tools().to_vec(),
        };
        let span = info_span!("turn", turn = question.call.turn);
        let asking = hands::ask_model(self.seat.clone(), question, self.work.clone());
        self.start(asking.instrument(span));
    }

    /// Gives back what an activation holds while it sleeps or is over.
    async fn rest(&mut self, waiting: Option<&Waiting>) {
        self.deadline_ms = match waiting {
            Some(Waiting::Reply { deadline_ms }) => Some(*deadline_ms),
            _ => None,
        };
        self.clear_bench().await;
        self.turn_of = None;
    }

    async fn stop_work(&mut self) {
        self.work.cancel();
        self.work = CancellationToken::new();
        self.waiting.clear();
        self.clear_bench().await;
    }

    /// Background jobs do not outlive the activation that started them.
    async fn clear_bench(&mut self) {
        if let Some(bench) = self.bench.take() {
            bench.desk.jobs().stop_all().await;
        }
    }

    async fn chore(&mut self, effect: Effect) {
        let chore = match effect {
            Effect::Settle(settle) => Chore::Settle(Settlement {
                id: settle.id,
                cost: settle.cost,
                usage: settle.usage,
                model: settle.model,
            }),
            Effect::React { ts, mark } => Chore::React(
                ts,
                match mark {
                    Mark::Seen => "eyes",
                    Mark::Answered => "white_check_mark",
                },
            ),
            Effect::Activity { state, step } => Chore::Activity(state, step),
            Effect::Progress(text) => {
                Chore::Activity(butler_vocab::ActivityState::Working, Some(text))
            }
            Effect::Chose { what, why } => {
                info!(what, why, "choice");
                let choice = choices::stuck(what, why, now_ms());
                return choices::keep(&self.choices, &[choice]);
            }
            _ => return,
        };
        self.chores.add(chore).await;
    }
}

async fn acknowledge(ack: Option<Ack>) {
    if let Some(ack) = ack {
        fault("team.before-ack");
        ack.send().await;
        fault("team.after-ack");
    }
}
