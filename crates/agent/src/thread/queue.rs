//! A thread that waits for a slot: told its place, told when it moves up, and
//! told when its turn has come. One message that is edited, and no model call.

use butler_protocol::{Idem, MessageTs, Record};
use butler_turn::Reserve;
use tracing::warn;

use crate::thread::{context::ThreadContext, driver::Done, slots::Ticket, worker::Beside};

/// A thread that was told its place.
pub(crate) struct Told {
    pub(crate) ticket: Ticket,
    pub(crate) reserve: Reserve,
    /// The message that says so.
    message: MessageTs,
    place: usize,
}

/// Tells the thread its place. The same wait has the same key, so a restart
/// finds the message again.
pub(crate) async fn tell(context: ThreadContext, ticket: Ticket, reserve: Reserve) -> Done {
    let place = ticket.place();
    match context.say(key(&context, &reserve), &text(place)).await {
        Err(error) => Done::Failed(error.into()),
        Ok(posted) => {
            context.write(Record::Queued {
                message: posted.ts.clone(),
            });
            Done::Beside(Beside::Queued(Box::new(Told {
                ticket,
                reserve,
                message: posted.ts,
                place,
            })))
        }
    }
}

/// Waits for the turn of a thread; a stop ends the wait.
pub(crate) async fn wait(context: ThreadContext, mut told: Told) -> Done {
    loop {
        let mut changes = context.agent.slots.changes();
        match told.ticket.take() {
            Ok(slot) => {
                turn_begins(&context, &told.message).await;
                return Done::Beside(Beside::Slot(slot, Box::new(told.reserve)));
            }
            Err(ticket) => told.ticket = ticket,
        }
        let place = told.ticket.place();
        if is_news(told.place, place) {
            told.place = place;
            edit(&context, &told.message, &text(place)).await;
        }
        tokio::select! {
            () = context.cancel.cancelled() => return Done::Nothing,
            _ = changes.changed() => {}
        }
    }
}

/// Whether a thread is told that it has moved up: half of the way, and every step
/// of the last few. With a thousand threads in the line every step of each would
/// be half a million messages.
fn is_news(told: usize, place: usize) -> bool {
    place > 0 && place < told && (place <= 3 || place * 2 <= told)
}

/// The turn of a thread has come, perhaps in another life of this process.
pub(crate) async fn turn_came(context: ThreadContext, message: MessageTs) -> Done {
    turn_begins(&context, &message).await;
    Done::Nothing
}

async fn turn_begins(context: &ThreadContext, message: &MessageTs) {
    edit(
        context,
        message,
        "It is this thread's turn: I am at work on it.",
    )
    .await;
    context.write(Record::Dequeued);
}

/// Cosmetic: the line itself does not depend on it.
async fn edit(context: &ThreadContext, message: &MessageTs, text: &str) {
    let web = &context.poster.web;
    if let Err(error) = web
        .update(&context.thread.channel, message, text, None)
        .await
    {
        warn!(%error, %message, "the place in the queue could not be told");
    }
}

fn text(place: usize) -> String {
    format!(
        "I am busy with other threads. This one is number {} in the queue; I begin by myself when it is its turn.",
        place.max(1)
    )
}

fn key(context: &ThreadContext, reserve: &Reserve) -> Idem {
    context.key(format_args!("{}-queued", reserve.id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_tells_each_thread_a_handful_of_times() {
        let mut told = 1000;
        let mut places = Vec::new();
        for place in (1..1000).rev() {
            if is_news(told, place) {
                told = place;
                places.push(place);
            }
        }
        assert_eq!(places, [500, 250, 125, 62, 31, 15, 7, 3, 2, 1]);
        assert!(!is_news(1, 0) && !is_news(2, 2));
    }
}
