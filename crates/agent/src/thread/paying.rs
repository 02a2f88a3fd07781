//! Asking for the money of a model call, and for its place in the hour. A limit
//! on calls is told once and waited for: nobody has to come back and press.

use std::time::Duration;

use butler_protocol::{CallLimit, Price, Reservation, ReserveAnswer, Usd, fault};
use butler_slack::SlackError;
use butler_turn::{Budget, Event, Reserve};
use tracing::info;

use crate::thread::{
    context::ThreadContext,
    driver::Done,
    money::{self, SHORTEST_ANSWER},
};

/// Sets the worst case of a call aside.
pub(crate) async fn reserve(context: ThreadContext, reserve: Reserve) -> Done {
    loop {
        context.agent.pause.over().await;
        let config = &context.agent.config.client;
        let price = config
            .prices
            .reserve_price(&reserve.model, &config.upper_price);
        fault("agent.before-reserve");
        let answer = bid(&context, &reserve, &price).await;
        fault("agent.after-reserve");
        let answer = match answer {
            Err(error) => return Done::Failed(error.into()),
            Ok(ReserveAnswer::Refused(refusal)) => Budget::Refused(refusal),
            Ok(ReserveAnswer::Granted {
                thread_total,
                thread_cap,
                amount,
            }) => Budget::Granted {
                amount,
                // After a crash the id may stand for a smaller amount than was asked for.
                max_tokens: money::bid(&reserve, &price, amount)
                    .map_or(reserve.max_tokens.min(SHORTEST_ANSWER), |bid| {
                        bid.max_tokens
                    }),
                thread_total,
                thread_cap,
            },
            Ok(ReserveAnswer::Later(limit)) => {
                if let Err(error) = tell(&context, &reserve, &limit).await {
                    return Done::Failed(error.into());
                }
                tokio::select! {
                    () = context.cancel.cancelled() => return Done::Nothing,
                    () = tokio::time::sleep(until(&limit, context.now_ms())) => continue,
                }
            }
        };
        return Done::Event(Event::Reserved {
            reserve: reserve.id,
            answer,
        });
    }
}

/// A budget that does not hold the whole worst case may pay for a shorter answer.
async fn bid(
    context: &ThreadContext,
    reserve: &Reserve,
    price: &Price,
) -> Result<ReserveAnswer, SlackError> {
    let whole = money::worst_case(reserve, price, reserve.max_tokens);
    let answer = ask(context, reserve, whole).await?;
    if let ReserveAnswer::Refused(refusal) = &answer {
        let left = refusal.cap.saturating_sub(refusal.used);
        if let Some(bid) = money::bid(reserve, price, left) {
            return ask(context, reserve, bid.amount).await;
        }
    }
    Ok(answer)
}

async fn ask(
    context: &ThreadContext,
    reserve: &Reserve,
    amount: Usd,
) -> Result<ReserveAnswer, SlackError> {
    let reservation = Reservation {
        id: reserve.id.clone(),
        thread: context.thread.clone(),
        person: context.facts().request.as_ref().map(|r| r.person.clone()),
        amount,
        heard: context.poster.heard,
    };
    context.poster.control.reserve(&reservation).await
}

/// Tells the thread why nothing happens and when it goes on. The same call has
/// the same key, so it is said once however often it is asked.
async fn tell(
    context: &ThreadContext,
    reserve: &Reserve,
    limit: &CallLimit,
) -> Result<(), SlackError> {
    info!(whose = limit.whose, limit = limit.limit, "too many calls");
    let idem = context.key(format_args!("{}-pace", reserve.id));
    context.say(idem, &words(limit, context.now_ms())).await?;
    Ok(())
}

fn words(limit: &CallLimit, now_ms: i64) -> String {
    let (what, key) = match limit.whose.as_str() {
        "person" => ("one person may cause", "limits.maxCallsPerPersonHour"),
        _ => ("this repository has", "limits.maxCallsPerHour"),
    };
    let minutes = limit
        .free_at_ms
        .saturating_sub(now_ms)
        .max(1)
        .div_euclid(60_000)
        + 1;
    format!(
        "I pause: {what} {} model calls an hour (`{key}`), and they are used up. I go on by myself in about {minutes} min; nothing is lost.",
        limit.limit
    )
}

fn until(limit: &CallLimit, now_ms: i64) -> Duration {
    let left = limit.free_at_ms.saturating_sub(now_ms).max(0);
    Duration::from_millis(u64::try_from(left).unwrap_or(0) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_named_with_its_key_and_when_it_goes_on() {
        let limit = |whose: &str| CallLimit {
            whose: whose.to_owned(),
            limit: 7,
            free_at_ms: 90_000,
        };
        let said = words(&limit("repo"), 0);
        assert!(
            said.contains("7 model calls an hour (`limits.maxCallsPerHour`)"),
            "{said}"
        );
        assert!(said.contains("in about 2 min"), "{said}");
        let said = words(&limit("person"), 89_999);
        assert!(said.contains("`limits.maxCallsPerPersonHour`"), "{said}");
        assert!(said.contains("in about 1 min"), "{said}");
    }
}
