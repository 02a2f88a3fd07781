//! What comes in: words, clicks, changes of mind. It is in the log before it is
//! acknowledged.

use std::sync::Arc;

use butler_protocol::{EventId, HandOver, MessageTs, Record, Refusal, Sha256Hex, Speaker, fault};
use butler_slack::SlackError;
use butler_turn::{Event, Heard};

use super::{Worker, attached, joining, memory, models};
use crate::{
    AgentError,
    listen::{
        draft,
        intake::{Ack, Mail},
        issue,
        shortcut::{self, Left},
        triage,
    },
    tell::{joining::Cards, offers, render},
    thread::{
        driver::{Done, Edge},
        tool_session,
    },
    upkeep::rules_in_force::{BETWEEN_ROLES, FOR_A_PERSON},
};

impl Worker {
    pub(super) async fn on_mail(&mut self, mail: Mail) -> Result<(), AgentError> {
        fault("agent.before-receive");
        let ack = match mail {
            Mail::Heard {
                heard,
                hand_over,
                files,
                paid,
                ack,
            } => {
                // A message that comes again was paid when it came first.
                if !paid.is_empty() && heard.ts.as_ref().is_some_and(|ts| self.is_new(ts)) {
                    self.write(paid).await?;
                }
                let cards = match &hand_over {
                    Some(body) if render::brings_plan(body) => Cards::Headlines,
                    _ => Cards::Whole,
                };
                let (mut all, mut attached) = self.context(heard.ts.as_ref(), cards).await?;
                attached.extend(files);
                attached.extend(attached::of_hand_over(hand_over.as_deref()));
                let context = &self.edge.context;
                all.extend(attached::told(context, heard.ts.as_ref(), &attached).await?);
                all.extend(models::closed_note(&self.edge.context, &heard).await?);
                all.extend(
                    models::fast_track_note(&self.edge.context, &heard, hand_over.as_deref())
                        .await?,
                );
                all.extend(
                    joining::change(&self.edge.context, hand_over.as_deref(), &self.work).await,
                );
                all.extend(memory::seen_before(&self.edge.context, &heard, &self.work).await);
                all.extend(models::outside_note(&heard, hand_over.as_deref()));
                all.extend(issue::brought(&self.edge.context, &heard, &self.work).await);
                self.void_offers(&heard);
                let findings = matches!(hand_over.as_deref(), Some(HandOver::Findings { .. }));
                if let Some(body) = hand_over {
                    self.receive(&heard.event, *body).await?;
                }
                if findings {
                    // In the log already; told when the others are there too.
                    self.tell_findings();
                } else {
                    if self.machine.is_idle() {
                        self.renew(&heard).await?;
                        if self.turns_away(&heard).await? {
                            acknowledge(ack).await;
                            return Ok(());
                        }
                        let left =
                            match shortcut::start(&self.edge.context, &heard, &self.work).await {
                                // The stop comes behind this message: it is kept, and
                                // nothing is begun with it.
                                Err(error) if error.is_stop() => Left::Message,
                                left => left?,
                            };
                        self.machine.set_tools(tool_session::offered_for(
                            &self.edge.context,
                            left.skill(&heard),
                        ));
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
                let rules = self.edge.context.agent.rules();
                let model = models::models_for(&rules.models, &self.edge.context.facts()).usual;
                let cancel = self.edge.process.clone();
                // A stop comes behind it, and a draft starts nobody.
                let mut context = self.edge.context.clone();
                context.poster.heard = None;
                self.start(draft::make(context, model, notes, ack, cancel));
                None
            }
            Mail::Edited { change, ack } => {
                self.feed(Event::Edited(*change));
                ack
            }
            Mail::Act { asked, ack } => {
                self.act(*asked, ack).await?;
                None
            }
            Mail::Given { ack } => {
                self.is_up_to_date().await?;
                ack
            }
            Mail::FromForge(from) => {
                self.hear_forge(*from).await?;
                None
            }
            Mail::Stop(stop) => {
                self.withdraw_merge().await?;
                self.feed(Event::Stop {
                    event: stop.event.clone(),
                    by: stop.by.clone(),
                });
                self.write_ahead().await?;
                let told = stop.told(
                    Arc::clone(&self.edge.context.agent),
                    self.edge.context.thread.clone(),
                );
                self.start(async move {
                    told.await;
                    Done::Nothing
                });
                None
            }
        };
        self.write_ahead().await?;
        fault("agent.after-receive");
        acknowledge(ack).await;
        Ok(())
    }

    /// Whether the log here is the one that the hub has: a process that lost a thread and
    /// has it again takes it up anew.
    async fn is_up_to_date(&mut self) -> Result<(), AgentError> {
        self.write_ahead().await?;
        self.edge.mirrored().await?;
        let (context, end) = (&self.edge.context, self.edge.end);
        let control = &context.poster.control;
        let held = control.records_held(&context.thread, end).await?;
        let same = held.keep == Some(end.seq) && held.entries.is_empty();
        match same || held.last.is_none() {
            true => Ok(()),
            false => Err(AgentError::Hub(SlackError::Api {
                method: "records".to_owned(),
                code: Refusal::ThreadTaken.code().to_owned(),
            })),
        }
    }

    fn is_new(&self, ts: &MessageTs) -> bool {
        self.edge.context.facts().seen.missed(ts)
    }

    /// What was pushed to the default branch holds from the next activation on:
    /// rules, models, role files.
    async fn renew(&mut self, heard: &Heard) -> Result<(), AgentError> {
        let agent = Arc::clone(&self.edge.context.agent);
        let by_person = matches!(heard.speaker, Speaker::Person { .. });
        let patience = if by_person {
            FOR_A_PERSON
        } else {
            BETWEEN_ROLES
        };
        agent.rules.renew(&agent.repo, patience).await;
        agent.slots.resize(agent.rules().limits.threads_at_once);
        if by_person {
            self.tell_untold();
        }
        self.choose_model();
        let mut task = self.edge.context.facts().task_words();
        if task.is_empty() {
            task.clone_from(&heard.text);
        }
        let prompt = agent.prompt(&task, &self.edge.context.thread).await;
        self.machine.set_prompt(prompt);
        Ok(())
    }

    /// A person's own words answer what this role had offered buttons for.
    fn void_offers(&self, heard: &Heard) {
        let (Speaker::Person { .. }, Some(ts)) = (&heard.speaker, heard.ts.clone()) else {
            return;
        };
        let context = self.edge.context.clone();
        self.start(async move {
            let (poster, thread) = (&context.poster, &context.thread);
            let voided = offers::void(poster, thread, &ts, offers::ends_with_words);
            if let Err(error) = voided.await {
                tracing::warn!(%error, "buttons that do nothing any more are still there");
            }
            Done::Nothing
        });
    }

    /// What people should know about the rules, once each.
    fn tell_untold(&self) {
        for text in self.edge.context.agent.rules.untold() {
            let hash = Sha256Hex::of(&text);
            let role = self.edge.context.role();
            self.mention(format!("{role}-rules-{}", &hash.as_str()[..16]), text);
        }
    }

    /// Whether the rules that were just read no longer let this person ask.
    async fn turns_away(&mut self, heard: &Heard) -> Result<bool, AgentError> {
        let (Speaker::Person { user, .. }, Some(ts)) = (&heard.speaker, &heard.ts) else {
            return Ok(false);
        };
        let context = &self.edge.context;
        let may = triage::may_ask(&context.agent, &context.thread, user, ts).await?;
        Ok(!may)
    }

    async fn receive(&mut self, event: &EventId, body: HandOver) -> Result<(), AgentError> {
        if self.edge.context.facts().seen.has_received(event) {
            return Ok(());
        }
        let record = Record::Received {
            event: event.clone(),
            hand_over: Box::new(body),
        };
        self.write(vec![record]).await
    }
}

async fn acknowledge(ack: Option<Ack>) {
    if let Some(ack) = ack {
        fault("agent.before-ack");
        ack.send().await;
        fault("agent.after-ack");
    }
}
