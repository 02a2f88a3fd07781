//! Whether Slack is heard, as a state that everybody is told: `up`, `status`, `doctor`,
//! `/healthz`, `/metrics`, `/v1/slack` and the page ask the same function.

use std::sync::{Arc, Mutex, PoisonError};

use butler_slack::{Ended, Hearing};
use serde::Serialize;
use tracing::{error, info, warn};

use crate::{
    hub::App,
    log::Notice,
    relay::{Relay, channel_requests},
};

/// So long a connection may be on its way before that is called not hearing.
const PATIENCE_MS: i64 = 30_000;

/// How it stands between Slack and the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// What people say there arrives.
    Connected,
    /// It will in a moment.
    Reconnecting,
    /// It does not, and why is known.
    Deaf,
}

/// The state with its reason and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SlackStatus {
    pub(crate) state: State,
    pub(crate) why: Option<String>,
    pub(crate) fix: Option<String>,
    pub(crate) since_ms: i64,
    /// Connections of the same app that are not this hub's.
    pub(crate) others: u32,
}

impl SlackStatus {
    /// What a hub can say that is not the owner: whether the owner hears Slack is told there.
    pub(crate) fn heard_by_another(now_ms: i64) -> Self {
        Self {
            state: State::Connected,
            why: None,
            fix: None,
            since_ms: now_ms,
            others: 0,
        }
    }

    /// What is wrong, as one sentence; nothing while all is well.
    pub(crate) fn trouble(&self) -> Option<String> {
        let why = self.why.as_deref();
        let begin = match self.state {
            State::Connected => return Some(self.explained(why?)),
            State::Reconnecting => "Slack is not heard at the moment",
            State::Deaf => "Slack is not heard",
        };
        Some(match why {
            Some(why) => self.explained(&format!("{begin}: {why}")),
            None => begin.to_owned(),
        })
    }

    fn explained(&self, what: &str) -> String {
        match &self.fix {
            Some(fix) => format!("{what}; {fix}"),
            None => what.to_owned(),
        }
    }
}

/// What the socket said last, and since when.
#[derive(Debug, Clone)]
struct Heard {
    hearing: Hearing,
    since_ms: i64,
}

/// Where the relay keeps it.
#[derive(Debug)]
pub(crate) struct Ear(Mutex<Heard>);

impl Ear {
    pub(crate) fn new(hearing: Hearing, now_ms: i64) -> Self {
        Self(Mutex::new(Heard {
            hearing,
            since_ms: now_ms,
        }))
    }

    /// Takes over what the socket says; "still trying" goes on from when it began.
    fn hear(&self, hearing: Hearing, now_ms: i64) {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::discriminant(&heard.hearing) != std::mem::discriminant(&hearing) {
            heard.since_ms = now_ms;
        }
        heard.hearing = hearing;
    }
}

impl Relay {
    /// How it stands now.
    pub(crate) fn status(&self, now_ms: i64) -> SlackStatus {
        let heard = self.ear.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lacks = self.upstream.missing();
        judge(&heard, self.upstream.refused(), &lacks, now_ms)
    }

    /// Says once how the start went.
    pub(crate) fn announce(&self, app: &App) {
        tell(&self.status(app.store.now_ms()));
    }

    /// The socket has news. Who looks at a page sees it, and the log has it once.
    pub(crate) fn heard(&self, app: &App, hearing: Hearing) {
        let now = app.store.now_ms();
        let before = self.status(now);
        self.ear.hear(hearing, now);
        let after = self.status(now);
        if (before.state, &before.why) != (after.state, &after.why) {
            tell(&after);
            // Nobody listening is fine: notices are only wake-ups.
            let _ = app.notices.send(Arc::new(Notice::Presence));
        }
    }
}

fn tell(status: &SlackStatus) {
    match (status.state, status.trouble()) {
        (State::Connected, None) => info!("listening to Slack"),
        (State::Deaf, Some(trouble)) => error!("{trouble}"),
        (_, trouble) => warn!("{}", trouble.unwrap_or_default()),
    }
}

/// What is wrong with the way to Slack or with a repo's channel there, for the page.
pub(crate) fn troubles(
    db: &crate::store::db::Db,
    status: Option<&SlackStatus>,
) -> Result<Vec<String>, crate::Trouble> {
    let Some(status) = status else {
        return Ok(Vec::new());
    };
    let mut found: Vec<String> = status.trouble().into_iter().collect();
    found.extend(channel_requests::troubles(db)?);
    Ok(found)
}

fn judge(heard: &Heard, refused: Option<String>, lacks: &[&str], now_ms: i64) -> SlackStatus {
    let status = |state, why: Option<String>, fix: Option<&str>| SlackStatus {
        state,
        why,
        fix: fix.map(str::to_owned),
        since_ms: heard.since_ms,
        others: 0,
    };
    if let Some(code) = refused {
        let why = format!("the bot token is not accepted ({code})");
        return status(State::Deaf, Some(why), Some(NEW_TOKENS));
    }
    match &heard.hearing {
        Hearing::Connected { others: 0 } if lacks.is_empty() => {
            status(State::Connected, None, None)
        }
        Hearing::Connected { others: 0 } => {
            let why = format!("the Slack app lacks {}", lacks.join(", "));
            status(State::Connected, Some(why), Some(ADD_SCOPES))
        }
        Hearing::Connected { others } => {
            let why = match others {
                1 => "another connection of the same Slack app is open".to_owned(),
                _ => format!("{others} other connections of the same Slack app are open"),
            };
            let one = status(State::Connected, Some(why), Some(ONE_HUB));
            SlackStatus {
                others: *others,
                ..one
            }
        }
        Hearing::Reconnecting { why, .. } => {
            let long = now_ms - heard.since_ms > PATIENCE_MS;
            let state = if long {
                State::Deaf
            } else {
                State::Reconnecting
            };
            status(state, why.clone(), why.as_ref().map(|_| BLOCKED))
        }
        Hearing::Ended(Ended::Cancelled | Ended::Displaced) => {
            status(State::Reconnecting, None, None)
        }
        Hearing::Ended(ended) => {
            let fix = match ended {
                Ended::Disabled => SWITCH_ON,
                _ => NEW_TOKENS,
            };
            status(State::Deaf, Some(ended.to_string()), Some(fix))
        }
    }
}

const NEW_TOKENS: &str = "`codebutler slack setup` asks for new tokens and checks them";
const ONE_HUB: &str = "each of them takes some of what people say: \
    stop the other hub, or give it an app of its own";
const BLOCKED: &str = "the hub goes on trying; wss://*.slack.com must be reachable from here, \
    HTTPS_PROXY and network.caFile are used";
const ADD_SCOPES: &str = "without that it hears or says less: add it at https://api.slack.com/apps \
    under \"OAuth & Permissions\" and install the app again";
const SWITCH_ON: &str = "switch it on at https://api.slack.com/apps under \"Socket Mode\"; \
    the hub looks again every minute";

/// The same words for a hub that cannot start at all.
pub(super) fn cannot_start(ended: Ended) -> String {
    let heard = Heard {
        hearing: Hearing::Ended(ended),
        since_ms: 0,
    };
    let status = judge(&heard, None, &[], 0);
    status.explained(status.why.as_deref().unwrap_or("stopped"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(hearing: Hearing, ms: i64) -> SlackStatus {
        judge(
            &Heard {
                hearing,
                since_ms: 1_000,
            },
            None,
            &[],
            1_000 + ms,
        )
    }

    #[test]
    fn every_way_not_to_hear_has_its_state_reason_and_remedy() {
        let trying = |why: Option<&str>| Hearing::Reconnecting {
            why: why.map(str::to_owned),
            tries: 3,
        };
        let refused = |code: &str| Hearing::Ended(Ended::Refused(code.to_owned()));
        let cases = [
            (after(trying(None), 0), State::Reconnecting, ""),
            (
                after(trying(Some("no route")), 29_000),
                State::Reconnecting,
                "no route",
            ),
            (
                after(trying(Some("no route")), 31_000),
                State::Deaf,
                "wss://",
            ),
            (
                after(Hearing::Ended(Ended::Disabled), 0),
                State::Deaf,
                "Socket Mode",
            ),
            (
                after(refused("missing_scope"), 0),
                State::Deaf,
                "connections:write",
            ),
            (
                after(refused("invalid_auth"), 0),
                State::Deaf,
                "slack setup",
            ),
        ];
        for (status, state, part) in cases {
            let told = status.trouble().unwrap();
            assert_eq!(status.state, state, "{told}");
            assert!(told.contains(part), "{told}");
        }
        let well = after(Hearing::Connected { others: 0 }, 0);
        assert_eq!((well.state, well.trouble()), (State::Connected, None));
        let shared = after(Hearing::Connected { others: 2 }, 0);
        assert!(shared.trouble().unwrap().contains("stop the other hub"));
        let revoked = judge(
            &Heard {
                hearing: Hearing::Connected { others: 0 },
                since_ms: 0,
            },
            Some("token_revoked".to_owned()),
            &[],
            0,
        );
        assert_eq!(revoked.state, State::Deaf);
        assert!(revoked.trouble().unwrap().contains("token_revoked"));
    }
}
