//! What comes in: words, clicks, changes of mind. It is in the log before it is
//! acknowledged.

use std::sync::Arc;

use butler_protocol::{
    EventId, HandOver, Idem, MessageTs, Record, Refusal, Sha256Hex, Speaker, fault,
};
use butler_slack::{File, SlackError};
use butler_turn::{Event, Heard};

use super::{Worker, attached, joining, memory, models};
use crate::{
    AgentError, OrWarn,
    listen::{
        draft,
        intake::{Ack, Mail},
        issue,
        shortcut::{self, Left},
        triage,
    },
    tell::{joining::Cards, offers, render},
    thread::{driver::Edge, tool_session},
    upkeep::rules_in_force::{BETWEEN_ROLES, FOR_A_PERSON},
};

impl Worker {
    pub(super) async fn on_mail(
        &mut self,
        mail: Mail,
        mut ack: Option<Ack>,
    ) -> Result<(), AgentError> {
        fault("agent.before-receive");
        match mail {
            Mail::Heard {
                heard,
                hand_over,
                files,
                paid,
            } => {
                // A message that comes again was paid when it came first.
                if !paid.is_empty() && heard.ts.as_ref().is_some_and(|ts| self.is_new(ts)) {
                    self.write(paid).await?;
                }
                if !self.on_heard(heard, hand_over, files).await? {
                    acknowledge(ack).await;
                    return Ok(());
                }
            }
            Mail::Decided(decision) => self.feed(Event::Decided(*decision)),
            Mail::Model { model, by } => self.swap_model(model, &by).await?,
            Mail::Draft(notes) => {
                let rules = self.edge.context.agent.rules();
                let model = models::models_for(&rules.models, &self.edge.context.facts()).usual;
                // A stop comes behind it, and a draft starts nobody.
                let context = self.lasting().unstopped();
                self.start(draft::make(context, model, notes, ack.take()));
            }
            Mail::Edited(change) => self.feed(Event::Edited(*change)),
            Mail::Act(asked) => self.act(*asked, ack.take()).await?,
            Mail::Given => self.is_up_to_date().await?,
            Mail::FromForge(from) => self.hear_forge(*from).await?,
            Mail::Stop(stop) => {
                self.withdraw_merge().await?;
                self.feed(Event::Stop {
                    event: stop.event.clone(),
                    by: stop.by.clone(),
                });
                self.write_ahead().await?;
                let context = &self.edge.context;
                let (agent, thread) = (Arc::clone(&context.agent), context.thread.clone());
                self.aside(stop.told(agent, thread, ack.take()));
            }
        }
        self.write_ahead().await?;
        fault("agent.after-receive");
        acknowledge(ack).await;
        Ok(())
    }

    /// Takes words in with all that stands beside them; false when nothing is left to do
    /// about them.
    async fn on_heard(
        &mut self,
        heard: Heard,
        hand_over: Option<Box<HandOver>>,
        files: Vec<File>,
    ) -> Result<bool, AgentError> {
        let task = hand_over.as_deref().and_then(render::brings_task);
        let cards = task.map_or(Cards::Whole, |task| Cards::Headlines(&task.request));
        let (mut all, mut attached) = self.context(heard.ts.as_ref(), cards).await?;
        attached.extend(files);
        attached.extend(attached::of_hand_over(hand_over.as_deref()));
        let (context, body) = (self.here(), hand_over.as_deref());
        all.extend(attached::told(&context, heard.ts.as_ref(), &attached).await?);
        all.extend(models::closed_note(&context, &heard).await?);
        all.extend(models::fast_track_note(&context, &heard, body).await?);
        all.extend(joining::change(&context, body).await);
        all.extend(memory::seen_before(&context, &heard).await);
        all.extend(models::outside_note(&heard, body));
        all.extend(issue::brought(&context, &heard).await);
        self.void_offers(&heard);
        let findings = matches!(body, Some(HandOver::Findings { .. }));
        if let Some(body) = hand_over {
            self.receive(&heard.event, *body).await?;
        }
        if findings {
            // In the log already; told when the others are there too.
            self.tell_findings();
            return Ok(true);
        }
        if self.machine.is_idle() {
            self.renew(&heard).await?;
            if self.turns_away(&heard).await? {
                return Ok(false);
            }
            let left = match shortcut::start(&context, &heard).await {
                // The stop comes behind this message: it is kept, and nothing is begun
                // with it.
                Err(error) if error.is_stop() => Left::Message,
                left => left?,
            };
            let tools = tool_session::offered_for(&context, left.skill(&heard));
            self.machine.set_tools(tools);
            match left {
                Left::Nothing => return Ok(false),
                Left::WithNote(note) => all.extend([heard, *note]),
                Left::Message => all.push(heard),
            }
        } else {
            all.push(heard);
        }
        self.feed(Event::Heard(all));
        Ok(true)
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
        self.aside(async move {
            let (poster, thread) = (&context.poster, &context.thread);
            let voided = offers::void(poster, thread, &ts, offers::ends_with_words);
            voided
                .await
                .or_warn("buttons that do nothing any more are still there");
        });
    }

    /// What people should know about the rules, once each.
    fn tell_untold(&self) {
        for text in self.edge.context.agent.rules.untold() {
            let hash = Sha256Hex::of(&text);
            let role = self.edge.context.role();
            let key = format!("{role}-rules-{}", &hash.as_str()[..16]);
            self.mention(Idem::new(key), text);
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
