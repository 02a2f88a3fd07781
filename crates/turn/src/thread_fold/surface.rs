//! What people will see of a change: its design, the pictures that were taken of it, and
//! what the Artist said about them.

use std::collections::HashMap;

use butler_protocol::{CallId, Design, Finding, HandOver, Picture, Plan, Record, RefusedFor, Then};
use serde_json::Value;

/// The surface of a change, as one log knows it.
#[derive(Debug, Clone, Default)]
pub struct Surface {
    /// The Artist's design, given or received last.
    pub design: Option<Box<Design>>,
    /// The files that the approved plan names.
    pub files: Vec<String>,
    /// What Screenshot was called with and gave a picture without asking anybody, each once.
    pub shots: Vec<Value>,
    /// The pictures of before and after that stand in the thread.
    pub pictures: Vec<Picture>,
    /// What this role, as the Artist, is to look at before the review.
    pub to_look: Option<Box<HandOver>>,
    /// What the Artist found so far, each as it was last said.
    pub findings: Vec<Finding>,
    /// How often the Artist sent it back.
    pub looks: u32,
    /// Hand-overs that were refused because there was no picture.
    pub unseen: u32,
    /// Plans that were refused because there was no design.
    pub undesigned: u32,
    taking: HashMap<CallId, Value>,
}

impl Surface {
    pub(super) fn push(&mut self, record: &Record) {
        match record {
            Record::Received { hand_over, .. } => self.exchanged(hand_over, true),
            Record::Gave { hand_over, .. } => self.exchanged(hand_over, false),
            Record::Assistant { calls, .. } => {
                let taken = calls.iter().filter(|call| call.name == "Screenshot");
                let taken = taken.map(|call| (call.id.clone(), call.arguments.clone()));
                self.taking.extend(taken);
            }
            Record::ToolResult { call, outcome } => {
                let count = |gate| u32::from(outcome.refused_for == Some(gate));
                self.unseen += count(RefusedFor::Unseen);
                self.undesigned += count(RefusedFor::Undesigned);
                let shot = self.taking.remove(call);
                if let Some(shot) = shot.filter(|_| outcome.ok && outcome.then == Then::GoOn) {
                    self.shots.retain(|known| *known != shot);
                    self.shots.push(shot);
                }
            }
            _ => {}
        }
    }

    /// Takes a hand-over in; what this role gave itself it need not look at.
    fn exchanged(&mut self, hand_over: &HandOver, received: bool) {
        match hand_over {
            HandOver::Design(design) => self.design = Some(design.clone()),
            HandOver::Task(task) if received => self.planned(&task.plan),
            HandOver::ReadyForReview {
                task,
                pictures,
                look,
                ..
            } => {
                if let Some(task) = task.as_ref().filter(|_| received) {
                    self.planned(&task.plan);
                }
                self.pictures.clone_from(pictures);
                self.to_look = (received && *look).then(|| Box::new(hand_over.clone()));
            }
            HandOver::Look { findings, .. } => {
                self.looks += 1;
                self.to_look.take_if(|_| !received);
                keep_newest(&mut self.findings, findings);
            }
            _ => {}
        }
    }

    fn planned(&mut self, plan: &Plan) {
        self.files.clone_from(&plan.files);
        if plan.design.is_some() {
            self.design.clone_from(&plan.design);
        }
    }
}

/// Keeps each finding as it was last said.
pub(super) fn keep_newest(known: &mut Vec<Finding>, said: &[Finding]) {
    for finding in said {
        known.retain(|one| one.id != finding.id);
        known.push(finding.clone());
    }
}
