//! What a log says about the thread's pull request on its forge: what was seen of it,
//! which news were told, and what is owed to whoever wrote there.

use butler_protocol::{
    CommitSha, HandOver, PrNumber, PullEvent, PullSeen, PullStatus, Record, Said,
};

/// The pull request of a thread, as one log knows it.
#[derive(Debug, Clone, Default)]
pub struct Pulls {
    /// What was last seen of it.
    pub seen: Option<PullSeen>,
    /// Everything that others did to it, in order.
    pub news: Vec<PullEvent>,
    /// So many of these were told in the thread.
    pub told: usize,
    /// Heads at which a check was red that is green on the base, since all were green.
    pub red_heads: Vec<CommitSha>,
    /// What this role, as the one who builds, was given to see to and has not answered.
    pub to_answer: Vec<(PrNumber, Said)>,
    /// Whether this role was asked to settle a conflict, and has not handed it over.
    pub conflict: bool,
}

impl Pulls {
    pub(super) fn push(&mut self, record: &Record) {
        match record {
            Record::PullSeen { seen, news } => self.saw(seen, news),
            Record::PullTold { news } => {
                let told = self.told + usize::try_from(*news).unwrap_or(usize::MAX);
                self.told = told.min(self.news.len());
            }
            Record::Received { hand_over, .. } => match &**hand_over {
                HandOver::Conflict { .. } => self.conflict = true,
                HandOver::FromForge { pr, news, .. } => self.given(*pr, news),
                _ => {}
            },
            Record::Gave { hand_over, .. } => {
                if matches!(**hand_over, HandOver::ReadyForReview { .. }) {
                    self.conflict = false;
                    self.to_answer.clear();
                }
            }
            _ => {}
        }
    }

    fn saw(&mut self, seen: &PullSeen, news: &[PullEvent]) {
        for one in news {
            if let PullEvent::CheckFailed(red) = one
                && !red.on_base
                && !self.red_heads.contains(&red.head)
            {
                self.red_heads.push(red.head.clone());
            }
        }
        if seen.red.is_empty() {
            self.red_heads.clear();
        }
        self.news.extend(news.iter().cloned());
        self.seen = Some(seen.clone());
    }

    fn given(&mut self, pr: PrNumber, news: &[PullEvent]) {
        for one in news {
            match one {
                PullEvent::Said(said) => self.to_answer.push((pr, said.clone())),
                PullEvent::Conflict { .. } => self.conflict = true,
                _ => {}
            }
        }
    }

    /// What was not told yet.
    pub fn untold(&self) -> &[PullEvent] {
        self.news.get(self.told..).unwrap_or_default()
    }

    /// Whether it was merged or closed, by whomever.
    pub fn is_over(&self) -> bool {
        let seen = self.seen.as_ref();
        seen.is_some_and(|seen| seen.state != PullStatus::Open)
    }

    /// The so-manieth attempt at a green head this is, from 1.
    pub fn attempt(&self, head: &CommitSha) -> usize {
        let at = self.red_heads.iter().position(|red| red == head);
        at.map_or(1, |at| at + 1)
    }
}
