//! The cards that tool calls and model calls need.

use butler_policy::Question;
use butler_protocol::{
    BudgetRefusal, Remark, RequestId, Subject, Then, ToolCall, ToolOutcome, Waiting,
};
use butler_turn::{Event, Order};

use super::Worker;
use crate::{
    AgentError,
    decide::cards::{self, NewCard},
};

impl Worker {
    /// Runs the call that waited for a card.
    pub(super) fn run_approved(&mut self, order: Order) {
        let facts = self.edge.context.facts();
        let asked = facts.cards.asked.get(&order.request);
        let waited = asked.and_then(|asked| Some((asked.call.clone()?, asked.begun.clone())));
        match waited {
            Some((call, begun)) => self.line_up_approved(call, begun),
            None => self.feed(Event::CarriedOut {
                request: order.request,
                outcome: ToolOutcome::error("the card is not known any more; nothing was run"),
            }),
        }
    }

    /// Posts what would run and why it was caught; the model hears what came of it.
    pub(super) async fn ask_for_command(
        &mut self,
        call: &ToolCall,
        asking: Question,
    ) -> Result<ToolOutcome, AgentError> {
        self.write_ahead().await?;
        let request = RequestId::of(&call.id);
        let mut remarks = vec![
            Remark::runtime("Risk", asking.tier.as_str()),
            Remark::runtime("It asks because", &asking.reason),
        ];
        if let Some(origin) = &self.edge.context.facts().outside.taint {
            remarks.push(Remark::runtime(
                "Text from outside was read here",
                origin.to_string(),
            ));
        }
        let beside = self.edge.context.facts().cards.beside.clone();
        remarks.extend(cards::why(beside.as_deref(), call));
        let subject = Subject::Command(Box::new(asking.subject));
        let card = NewCard::new(request.clone(), subject).with(remarks);
        let context = &self.edge.context;
        // Not the key of the call: what the call posts when it runs is another message.
        let idem = context.idem_for(&request, "may");
        let record = match cards::post(context, idem, card).await {
            // Nobody is asked in a thread that was stopped.
            Err(error) if error.is_stop() => return Ok(ToolOutcome::error(error.to_string())),
            posted => posted?,
        };
        self.write(vec![record]).await?;
        Ok(ToolOutcome::error(format!(
            "not run yet: {}. A person was asked (card {request}). When they approve, it is run for you and you get the result; do not call it again.",
            asking.reason
        ))
        .then(Then::Park {
            waiting: Waiting::Decision { request },
        }))
    }

    pub(super) async fn ask_for_money(
        &mut self,
        request: RequestId,
        refusal: BudgetRefusal,
    ) -> Result<(), AgentError> {
        let mut remarks = vec![Remark::runtime(
            "Meanwhile",
            "work pauses here; nothing is lost",
        )];
        if refusal.is_operators() {
            remarks.push(Remark::runtime(
                "Who can raise it",
                "an admin: once with Raise, for good with `hub.limits` in the machine config of the hub",
            ));
        }
        let card = NewCard::new(request.clone(), Subject::Cap(refusal)).with(remarks);
        let idem = self.edge.context.idem_for(&request, "cap");
        let record = match cards::post(&self.edge.context, idem, card).await {
            Err(error) if error.is_stop() => return Ok(()),
            posted => posted?,
        };
        self.write(vec![record]).await?;
        self.feed(Event::Asked { request });
        Ok(())
    }
}
