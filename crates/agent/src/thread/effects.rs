//! What a worker posts for its machine, and the decisions it carries out. Each is
//! a future that owns what it needs and ends in a [`Done`].

use butler_protocol::{HandOver, Idem, Role, fault};
use butler_slack::{Posted, SlackError};
use butler_turn::{Event, Order, Outgoing, PostKind};

use crate::{
    ThreadContext, decide::outcomes, listen::buttons, thread::driver::Done, tools::findings,
};

/// Posts what the machine has to say.
pub(crate) async fn post(context: ThreadContext, outgoing: Outgoing) -> Done {
    // Whoever asked waits; what became of the question is for them.
    if let Some(body) = findings(&context, &outgoing.text) {
        return pass_on(&context, outgoing.idem, &body).await;
    }
    if outgoing.kind == PostKind::Failure {
        return offer_retry(&context, outgoing).await;
    }
    if outgoing.kind == PostKind::GoOn {
        // A word that names nobody reaches the PM, not whoever paused.
        let mention = context.role().mention();
        let text = format!("{} Say `{mention} go on`.", outgoing.text);
        return say(&context, outgoing.idem, &text).await;
    }
    say(&context, outgoing.idem, &outgoing.text).await
}

/// The reason, and a way to go on; nothing that was done is lost.
async fn offer_retry(context: &ThreadContext, outgoing: Outgoing) -> Done {
    let poster = &context.poster;
    let buttons = [(buttons::RETRY.to_owned(), "Retry")];
    let Outgoing { idem, text, .. } = outgoing;
    // Who cannot be found is not mentioned; the reason is posted all the same.
    let people = poster.people(&context.thread).await.unwrap_or_default();
    let offer = poster.offer_to(&context.thread, idem.clone(), &people, &text, &buttons);
    done(idem, offer.await)
}

/// A role that did not end as it should: the person is told what it said last.
pub(crate) async fn default_hand_over(context: ThreadContext, idem: Idem, text: String) -> Done {
    if let Some(body) = findings(&context, &text) {
        return pass_on(&context, idem, &body).await;
    }
    let text = format!(
        "{text}\n\n_(I did not pass this on to anybody. Answer here, or mention the role that should go on.)_"
    );
    say(&context, idem, &text).await
}

/// A role that goes in circles hands it up.
pub(crate) async fn escalate(context: ThreadContext, idem: Idem, text: String) -> Done {
    if let Some(body) = findings(&context, &text) {
        return pass_on(&context, idem, &body).await;
    }
    let above = match context.role() {
        Role::Coder => Role::Pm,
        _ => return ring(&context, idem, &text).await,
    };
    let body = HandOver::Question { to: above, text };
    pass_on(&context, idem, &body).await
}

async fn pass_on(context: &ThreadContext, idem: Idem, body: &HandOver) -> Done {
    let posted = context.hand_over(idem.clone(), body).await;
    done(idem, posted)
}

/// Somebody is needed.
async fn ring(context: &ThreadContext, idem: Idem, text: &str) -> Done {
    let poster = &context.poster;
    let people = poster.people(&context.thread).await.unwrap_or_default();
    let posted = poster.ask_people(&context.thread, idem.clone(), &people, text);
    done(idem, posted.await)
}

async fn say(context: &ThreadContext, idem: Idem, text: &str) -> Done {
    let posted = context.say(idem.clone(), text).await;
    done(idem, posted)
}

fn done(idem: Idem, posted: Result<Posted, SlackError>) -> Done {
    match posted {
        Ok(Posted { ts, .. }) => Done::Event(Event::Posted { idem, ts }),
        Err(error) => Done::Failed(error.into()),
    }
}

/// Carries a decision out.
pub(crate) async fn carry_out(context: ThreadContext, order: Order) -> Done {
    fault("agent.before-order");
    let outcome = outcomes::carry_out(&context, &order).await;
    fault("agent.after-order");
    match outcome {
        Ok(outcome) => Done::Event(Event::CarriedOut {
            request: order.request,
            outcome,
        }),
        Err(error) => Done::Failed(error),
    }
}
