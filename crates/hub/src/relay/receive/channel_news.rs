//! What happens to a repo's channel itself: a new name is taken over, and a channel
//! that cannot be used any more is told as that, until it can be used again.

use std::sync::Arc;

use butler_protocol::ChannelId;
use serde_json::{Value, json};

use crate::relay::{Relay, channel_requests, receive::inbox, settle};
use crate::{error::Trouble, hub::app::App, log::notice::Notice, workspace::channels};

/// What an event means for its channel.
enum News {
    Renamed(String),
    Unusable(fn(&ChannelId, &str) -> String),
    /// It may be usable again, and something may have been said meanwhile.
    Usable,
}

fn read(relay: &Relay, event: &Value) -> Option<(ChannelId, News)> {
    let ours = || event["user"] == json!(relay.us.user);
    let news = match event["type"].as_str()? {
        "channel_rename" | "group_rename" => {
            let name = event["channel"]["name"].as_str()?.to_owned();
            let id = event["channel"]["id"].as_str()?;
            return Some((ChannelId::new(id), News::Renamed(name)));
        }
        "channel_archive" | "group_archive" => News::Unusable(|_, name| settle::archived(name)),
        "channel_left" | "group_left" => News::Unusable(|_, name| settle::removed(name)),
        "member_left_channel" if ours() => News::Unusable(|_, name| settle::removed(name)),
        "channel_deleted" | "group_deleted" => News::Unusable(settle::gone),
        "channel_unarchive" | "group_unarchive" => News::Usable,
        "member_joined_channel" if ours() => News::Usable,
        _ => return None,
    };
    Some((ChannelId::new(event["channel"].as_str()?), news))
}

/// Takes it over; what is not about a repo's channel is done with.
pub(crate) async fn take(
    app: &Arc<App>,
    relay: &Arc<Relay>,
    seq: i64,
    event: &Value,
) -> Result<(), Trouble> {
    let news = read(relay, event);
    let usable = matches!(news, Some((_, News::Usable)));
    let told = news.is_some();
    app.as_owner()
        .write(move |tx| {
            inbox::done(tx.db(), seq)?;
            let Some((id, news)) = news else {
                return Ok(());
            };
            let Ok(channel) = channels::get(tx.db(), &id) else {
                return Ok(());
            };
            match news {
                News::Renamed(name) => settle::rename(tx.db(), id.as_str(), &name),
                News::Unusable(words) => {
                    let why = words(&id, &channel.name);
                    tracing::error!("{why}");
                    channel_requests::troubled(tx.db(), &channel.repo, Some(&why))
                }
                News::Usable => channel_requests::troubled(tx.db(), &channel.repo, None),
            }
        })
        .await?;
    if usable {
        relay.gaps.send_modify(|count| *count += 1);
    }
    if told {
        // Nobody listening is fine: notices are only wake-ups.
        let _ = app.notices.send(Arc::new(Notice::Presence));
    }
    Ok(())
}
