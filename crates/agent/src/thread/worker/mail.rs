//! What comes in: words, clicks, changes of mind. It is in the log before it is
//! acknowledged.

use std::sync::Arc;

use butler_protocol::{EventId, HandOver, Record, fault};
use butler_turn::Event;

use super::{Worker, models};
use crate::{
    AgentError,
    decide::outcomes,
    listen::{
        draft,
        intake::{Ack, Mail},
        shortcut::{self, Left},
    },
    tell::{joining::Cards, render},
    thread::{effects::Done, tool_session},
};

impl Worker {
    pub(super) async fn on_mail(&mut self, mail: Mail) -> Result<(), AgentError> {
        fault("agent.before-receive");
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
                        let left = match shortcut::start(&self.context, &heard, &self.work).await {
                            // The stop comes behind this message: it is kept, and
                            // nothing is begun with it.
                            Err(error) if error.is_stop() => Left::Message,
                            left => left?,
                        };
                        self.machine.set_tools(tool_session::offered_for(
                            &self.context,
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
                let model =
                    models::models_for(&self.context.agent.config, &self.context.facts()).usual;
                let cancel = self.process.clone();
                // A stop comes behind it, and a draft starts nobody.
                let mut context = self.context.clone();
                context.poster.heard = None;
                self.start(draft::make(context, model, notes, ack, cancel));
                None
            }
            Mail::Amended { change, ack } => {
                self.feed(Event::Amended(*change));
                ack
            }
            Mail::Act { asked, ack } => {
                self.act(*asked, ack).await?;
                None
            }
            Mail::Stop(stop) => {
                self.withdraw_merge().await?;
                self.feed(Event::Stop {
                    event: stop.event.clone(),
                    by: stop.by.clone(),
                });
                self.write_ahead().await?;
                let told = stop.told(Arc::clone(&self.context.agent), self.context.thread.clone());
                self.start(async move {
                    told.await;
                    Done::Nothing
                });
                None
            }
        };
        self.write_ahead().await?;
        self.close_cards();
        fault("agent.after-receive");
        acknowledge(ack).await;
        Ok(())
    }

    /// What changed in the playbook holds from the next activation on.
    async fn renew_prompt(&mut self, heard: &str) {
        let mut task = self.context.facts().task_words();
        if task.is_empty() {
            heard.clone_into(&mut task);
        }
        let prompt = self.context.agent.prompt(&task).await;
        self.machine.set_prompt(prompt);
    }

    /// What a click on a command sets in motion is the model's next call; the
    /// other kinds are carried out, and close their card then.
    pub(super) fn close_cards(&mut self) {
        let decided = self.context.facts().cards_to_close();
        for request in decided {
            if self.closing.insert(request.clone()) {
                self.start(outcomes::answered(self.context.clone(), request));
            }
        }
    }

    async fn receive(&mut self, event: &EventId, body: HandOver) -> Result<(), AgentError> {
        if self.context.facts().has_received(event) {
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
