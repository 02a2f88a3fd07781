//! `/codebutler` and `/pm`, answered by the hub itself: what needs no model is answered
//! at once and for the asker's eyes only, a question becomes a thread.

use std::sync::Arc;

use butler_protocol::{ChannelId, UserId};
use butler_slack::Envelope;
use serde_json::json;
use tracing::warn;

use crate::relay::{
    Relay,
    receive::{
        asks::{self, Asked},
        inbox,
    },
};
use crate::{
    budget,
    error::Trouble,
    hub::app::App,
    identity::Person,
    presence,
    store::db::Db,
    views::needs,
    workspace::{
        channels::{self, Channel},
        decide::Rules,
    },
};

const HELP: &str = "\
*What you can say here*
• `/pm add a login page`: asks the team; a thread opens
• `/codebutler status`: who works on what, and what waits for you
• `/codebutler cost`: what was spent today
• `/codebutler stop`: stops the thread that is at work; in a thread say `stop` or react with 🛑
• in a thread: `@codebutler.pm`, `@codebutler.coder` and so on name a role; 👍 on a card approves";

/// What a command asks for.
#[derive(Debug, PartialEq, Eq)]
enum Wish<'a> {
    Ask(&'a str),
    Status,
    Cost,
    Stop,
    Help,
}

fn read<'a>(command: &str, text: &'a str) -> Option<Wish<'a>> {
    let text = text.trim();
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    Some(match (command, first.to_lowercase().as_str()) {
        ("/pm" | "/codebutler", "" | "help") if rest.is_empty() => Wish::Help,
        ("/pm", _) => Wish::Ask(text),
        ("/codebutler", "status") if rest.is_empty() => Wish::Status,
        ("/codebutler", "cost") if rest.is_empty() => Wish::Cost,
        ("/codebutler", "stop") if rest.is_empty() => Wish::Stop,
        ("/codebutler", "ask") if !rest.is_empty() => Wish::Ask(rest.trim()),
        // Whatever else is said is meant for the team.
        ("/codebutler", _) => Wish::Ask(text),
        _ => return None,
    })
}

/// Answers one of our own commands; false for anybody else's.
pub(crate) async fn take(
    app: &Arc<App>,
    relay: &Arc<Relay>,
    seq: i64,
    envelope: &Envelope,
) -> Result<bool, Trouble> {
    let payload = &envelope.payload;
    let text = |name: &str| payload[name].as_str().unwrap_or_default().to_owned();
    let (command, words) = (
        text("command"),
        butler_slack::mrkdwn::unescape(&text("text")),
    );
    let Some(wish) = read(&command, &words) else {
        return Ok(false);
    };
    let person = relay
        .person(&app.as_owner(), &UserId::new(text("user_id")))
        .await?;
    let here = ChannelId::new(text("channel_id"));
    let place = app.store.read(move |db| place(db, &here)).await?;
    let outsider = relay.outsider(&app.as_owner(), &person.id).await?;
    let answer = match (wish, place) {
        (Wish::Help, _) => HELP.to_owned(),
        (_, _) if outsider.is_some() => {
            let words = outsider.map(|outsider| outsider.words());
            words.unwrap_or_default().to_owned()
        }
        (_, Err(answer)) => answer,
        (Wish::Ask(words), Ok(channel)) => {
            let asked = Asked {
                person,
                channel: channel.id,
                thread: None,
                words: words.to_owned(),
            };
            let link = asks::ask(app, relay, seq, asked).await?;
            format!("The team has it: {link}")
        }
        (Wish::Stop, Ok(channel)) => stop(app, relay, seq, person, channel).await?,
        (Wish::Status, Ok(channel)) => {
            let (rules, online) = (app.rules.clone(), app.presence.online());
            let look = app
                .store
                .read(move |db| status(db, &rules, &channel, &person, &online));
            let (mut said, links) = look.await?;
            for (title, channel, ts) in links {
                let link = asks::link(relay, &channel, &ts);
                said.push_str(&format!("\n• <{link}|{title}>"));
            }
            said
        }
        (Wish::Cost, Ok(channel)) => {
            let caps = app.rules.caps.clone();
            let look = app.store.read(move |db| {
                let day = budget::day_of(db.now_ms());
                budget::today(db, &channel.repo, &caps, &day)
            });
            let (spent, cap) = look.await?;
            format!("{spent} of {cap} spent today.")
        }
    };
    app.as_owner()
        .write(move |tx| inbox::done(tx.db(), seq))
        .await?;
    let body = json!({"response_type": "ephemeral", "text": answer});
    // An answer that is lost can be asked for again.
    if let Err(error) = relay
        .upstream
        .web
        .respond(&text("response_url"), &body)
        .await
    {
        warn!(%error, command, "a command is not answered");
    }
    Ok(true)
}

/// The channel that a command is about: its own, or the only one there is; else what
/// the person is told.
fn place(db: &Db, here: &ChannelId) -> Result<Result<Channel, String>, Trouble> {
    if let Ok(channel) = channels::get(db, here)
        && !channel.repo.is_empty()
    {
        return Ok(Ok(channel));
    }
    Ok(match asks::channels_of_repos(db)?.as_slice() {
        [one] => Ok(channels::get(db, one)?),
        [] => Err("No repository of this team has a channel here yet.".to_owned()),
        many => {
            let named: Vec<String> = many.iter().map(|id| format!("<#{id}>")).collect();
            Err(format!(
                "I work for several repositories; say it in the channel of the one you mean: {}",
                named.join(", ")
            ))
        }
    })
}

/// Title, channel and message of something to look at.
type Pointer = (String, ChannelId, String);

fn status(
    db: &Db,
    rules: &Rules,
    channel: &Channel,
    person: &Person,
    online: &std::collections::HashSet<i64>,
) -> Result<(String, Vec<Pointer>), Trouble> {
    let team = presence::team(db, Some(&channel.repo), online, db.now_ms())?;
    let absent = team.iter().filter(|one| !one.online);
    let absent: Vec<&str> = absent.map(|one| one.role.title()).collect();
    let mut said = match absent.as_slice() {
        [] => "Everybody is there.".to_owned(),
        all if all.len() == team.len() => "Nobody of the team is running.".to_owned(),
        some => format!("Not running: {}.", some.join(", ")),
    };
    for member in &team {
        for job in &member.working {
            let step = job.step.as_deref().unwrap_or("at work");
            said.push_str(&format!("\n{}: {step}", member.role.title()));
        }
    }
    let waiting = needs::of(db, rules, person)?;
    said.push_str(match waiting.len() {
        0 => "\nNothing waits for you.",
        _ => "\n*Waits for you:*",
    });
    let pointers = waiting.into_iter().take(10).map(|need| {
        let ts = need.message.unwrap_or(need.thread.root);
        let title = format!("{}: {}", need.kind.label(), need.title);
        let title = title.replace(['<', '>', '|', '\n'], " ");
        (title, need.thread.channel, ts.to_string())
    });
    Ok((said, pointers.collect()))
}

/// Stops the one thread that is at work; with several a person says which.
async fn stop(
    app: &Arc<App>,
    relay: &Arc<Relay>,
    seq: i64,
    person: Person,
    channel: Channel,
) -> Result<String, Trouble> {
    let (repo, online) = (channel.repo.clone(), app.presence.online());
    let team = app
        .store
        .read(move |db| presence::team(db, Some(&repo), &online, db.now_ms()))
        .await?;
    let mut at_work: Vec<_> = team
        .into_iter()
        .flat_map(|member| member.working)
        .map(|job| job.thread)
        .collect();
    at_work.sort();
    at_work.dedup();
    let link = |ts: &str| asks::link(relay, &channel.id, ts);
    Ok(match at_work.as_slice() {
        [] => "Nothing is at work.".to_owned(),
        [thread] => {
            let root = thread.root.to_string();
            let asked = Asked {
                person,
                channel: channel.id.clone(),
                thread: Some(root.clone()),
                words: "stop".to_owned(),
            };
            asks::ask(app, relay, seq, asked).await?;
            format!("Stopped: {}", link(&root))
        }
        many => {
            let links: Vec<String> = many
                .iter()
                .map(|thread| format!("\n• {}", link(thread.root.as_str())))
                .collect();
            format!(
                "Several threads are at work; say `stop` in the one you mean:{}",
                links.concat()
            )
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read() {
        for (command, text, wish) in [
            ("/pm", "add a page", Some(Wish::Ask("add a page"))),
            ("/pm", " ", Some(Wish::Help)),
            ("/codebutler", "", Some(Wish::Help)),
            ("/codebutler", "Status", Some(Wish::Status)),
            ("/codebutler", "cost", Some(Wish::Cost)),
            ("/codebutler", "stop", Some(Wish::Stop)),
            ("/codebutler", "ask  why?", Some(Wish::Ask("why?"))),
            (
                "/codebutler",
                "stop using tabs",
                Some(Wish::Ask("stop using tabs")),
            ),
            ("/deploy", "now", None),
        ] {
            assert_eq!(read(command, text), wish, "{command} {text}");
        }
    }
}
