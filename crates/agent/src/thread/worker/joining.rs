//! What a role has to know of its thread before it goes on.

use butler_protocol::{EventId, MessageTs, Speaker};
use butler_turn::Heard;

use super::Worker;
use crate::{
    AgentError,
    tell::joining::{self, Cards},
};

impl Worker {
    /// The first thing in a new log is what was said before this role was
    /// called; one that comes back is told what it missed.
    pub(super) async fn context(
        &mut self,
        until: Option<&MessageTs>,
        cards: Cards,
    ) -> Result<Vec<Heard>, AgentError> {
        let at_work = self.machine.activation().is_some() && self.machine.parked().is_none();
        if self.edge.joined && at_work {
            return Ok(Vec::new());
        }
        let poster = &self.edge.context.poster;
        let messages = poster.web.replies(&self.edge.context.thread).await?;
        let names = poster.names(&messages).await?;
        let text = if self.edge.joined {
            let own_name = self.edge.context.role().user_name();
            let facts = self.edge.context.facts();
            joining::meanwhile(&messages, &facts.seen, until, &own_name, &names)
        } else {
            joining::so_far(&messages, until, &names, cards).map(|text| (text, false))
        };
        let heard = text.map(|(text, people_spoke)| Heard {
            event: EventId::context(until, people_spoke),
            ts: None,
            speaker: Speaker::Runtime,
            text,
            images: Vec::new(),
        });
        Ok(heard.into_iter().collect())
    }
}
