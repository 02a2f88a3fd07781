//! `/codebutler` and `/pm`, answered by the hub itself: what needs no model is answered
//! at once and for the asker's eyes only, a question becomes a thread.

use butler_protocol::{ChannelId, UserId};
use butler_slack::Envelope;
use serde_json::json;
use tracing::warn;

use crate::{
    budget,
    error::Result,
    identity::Person,
    presence,
    relay::receive::{Asked, News, asks},
    store::Db,
    views::needs,
    workspace::{Channel, Rules, channels},
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
pub(crate) async fn take(news: News<'_>, envelope: &Envelope) -> Result<bool> {
    let News { app, relay, .. } = news;
    let payload = &envelope.payload;
    let text = |name: &str| payload[name].as_str().unwrap_or_default().to_owned();
    let (command, words) = (
        text("command"),
        butler_slack::mrkdwn::unescape(&text("text")),
    );
    let Some(wish) = read(&command, &words) else {
        return Ok(false);
    };
    let person = news.person(&UserId::new(text("user_id"))).await?;
    let here = ChannelId::new(text("channel_id"));
    let place = app.read(move |db| place(db, &here)).await?;
    let outside = news.outside(&person).await?;
    let answer = match (wish, place) {
        (Wish::Help, _) => HELP.to_owned(),
        (_, _) if outside.is_some() => outside.unwrap_or_default().to_owned(),
        (_, Err(answer)) => answer,
        (Wish::Ask(words), Ok(channel)) => {
            let asked = Asked::new(person, channel.id, None, words.to_owned());
            format!("The team has it: {}", asks::ask(news, asked).await?)
        }
        (Wish::Stop, Ok(channel)) => stop(news, person, channel).await?,
        (Wish::Status, Ok(channel)) => {
            let (rules, online) = (app.rules.clone(), app.presence.online());
            let look = move |db: &Db| status(db, &rules, &channel, &person, &online);
            let (mut said, links) = app.read(look).await?;
            for (title, channel, ts) in links {
                let link = asks::link(relay, &channel, &ts);
                said.push_str(&format!("\n• <{link}|{title}>"));
            }
            said
        }
        (Wish::Cost, Ok(channel)) => {
            let caps = app.rules.caps.clone();
            let look = app.read(move |db| {
                let day = budget::day_of(db.now_ms());
                budget::today(db, &channel.repo, &caps, &day)
            });
            let (spent, cap) = look.await?;
            format!("{spent} of {cap} spent today.")
        }
    };
    news.done().await?;
    let body = json!({"response_type": "ephemeral", "text": answer});
    let url = text("response_url");
    // An answer that is lost can be asked for again.
    if let Err(error) = relay.upstream.web.respond(&url, &body).await {
        warn!(%error, command, "a command is not answered");
    }
    Ok(true)
}

/// The channel that a command is about: its own, or the only one there is; else what
/// the person is told.
fn place(db: &Db, here: &ChannelId) -> Result<Result<Channel, String>> {
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
) -> Result<(String, Vec<Pointer>)> {
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
async fn stop(news: News<'_>, person: Person, channel: Channel) -> Result<String> {
    let (repo, online) = (channel.repo.clone(), news.app.presence.online());
    let look = move |db: &Db| presence::team(db, Some(&repo), &online, db.now_ms());
    let team = news.app.read(look).await?;
    let jobs = team.into_iter().flat_map(|member| member.working);
    let mut at_work: Vec<_> = jobs.map(|job| job.thread).collect();
    at_work.sort();
    at_work.dedup();
    let link = |ts: &str| asks::link(news.relay, &channel.id, ts);
    Ok(match at_work.as_slice() {
        [] => "Nothing is at work.".to_owned(),
        [thread] => {
            let root = thread.root.to_string();
            let stop = "stop".to_owned();
            let asked = Asked::new(person, channel.id.clone(), Some(root.clone()), stop);
            asks::ask(news, asked).await?;
            format!("Stopped: {}", link(&root))
        }
        many => {
            let links = many.iter().map(|thread| link(thread.root.as_str()));
            let links: String = links.map(|link| format!("\n• {link}")).collect();
            format!("Several threads are at work; say `stop` in the one you mean:{links}")
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
