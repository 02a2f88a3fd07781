//! What happens to a repo's channel itself: a new name is taken over, and a channel
//! that cannot be used any more is told as that, until it can be used again.

use std::sync::Arc;

use butler_protocol::ChannelId;
use serde_json::{Value, json};

use crate::{
    error::Result,
    log::Notice,
    relay::{Relay, channel_requests, receive::News, settle},
    store::Tx,
    workspace::channels,
};

/// What an event means for its channel.
enum Change {
    Renamed(String),
    Unusable(fn(&ChannelId, &str) -> String),
    /// It may be usable again, and something may have been said meanwhile.
    Usable,
}

fn read(relay: &Relay, event: &Value) -> Option<(ChannelId, Change)> {
    let ours = || event["user"] == json!(relay.us.user);
    let news = match event["type"].as_str()? {
        "channel_rename" | "group_rename" => {
            let name = event["channel"]["name"].as_str()?.to_owned();
            let id = event["channel"]["id"].as_str()?;
            return Some((ChannelId::new(id), Change::Renamed(name)));
        }
        "channel_archive" | "group_archive" => Change::Unusable(|_, name| settle::archived(name)),
        "channel_left" | "group_left" => Change::Unusable(|_, name| settle::removed(name)),
        "member_left_channel" if ours() => Change::Unusable(|_, name| settle::removed(name)),
        "channel_deleted" | "group_deleted" => Change::Unusable(settle::gone),
        "channel_unarchive" | "group_unarchive" => Change::Usable,
        "member_joined_channel" if ours() => Change::Usable,
        _ => return None,
    };
    Some((ChannelId::new(event["channel"].as_str()?), news))
}

/// Takes it over; what is not about a repo's channel is done with.
pub(crate) async fn take(news: News<'_>, event: &Value) -> Result<()> {
    let change = read(news.relay, event);
    let usable = matches!(change, Some((_, Change::Usable)));
    let told = change.is_some();
    let work = move |tx: &mut Tx<'_>| {
        let Some((id, change)) = change else {
            return Ok(());
        };
        let Ok(channel) = channels::get(tx.db(), &id) else {
            return Ok(());
        };
        match change {
            Change::Renamed(name) => settle::rename(tx.db(), id.as_str(), &name),
            Change::Unusable(words) => {
                let why = words(&id, &channel.name);
                tracing::error!("{why}");
                channel_requests::troubled(tx.db(), &channel.repo, Some(&why))
            }
            Change::Usable => channel_requests::troubled(tx.db(), &channel.repo, None),
        }
    };
    news.settle(work).await?;
    if usable {
        news.relay.gaps.send_modify(|count| *count += 1);
    }
    if told {
        // Nobody listening is fine: notices are only wake-ups.
        let _ = news.app.notices.send(Arc::new(Notice::Presence));
    }
    Ok(())
}
