//! What Slack makes the app from, and the link that fills it in.

use butler_hub::SCOPES;
use serde_json::{Value, json};
use url::Url;

/// Slack's page for new apps.
const NEW_APP: &str = "https://api.slack.com/apps?new_app=1";

/// Opens that page with the manifest filled in.
pub(crate) fn link() -> String {
    match Url::parse_with_params(NEW_APP, [("manifest_json", manifest().to_string())]) {
        Ok(link) => link.into(),
        Err(_) => NEW_APP.to_owned(),
    }
}

/// What Slack makes the app from.
pub(crate) fn manifest() -> Value {
    json!({
        "display_information": {
            "name": "CodeButler",
            "description": "A self-hosted software team that works in your Slack threads",
            "background_color": "#1f2937",
        },
        "features": {
            "bot_user": {"display_name": "codebutler", "always_online": true},
            "slash_commands": [
                {"command": "/codebutler", "description": "Ask the team, or how it is",
                    "usage_hint": "ask … | status | cost | stop | help", "should_escape": false},
                {"command": "/pm", "description": "Ask the team's PM for something",
                    "usage_hint": "add a login page", "should_escape": false},
            ],
            "shortcuts": [
                {"name": "Ask CodeButler about this", "type": "message",
                    "callback_id": "ask_about_message",
                    "description": "Opens a thread with the team about this message"},
                {"name": "Make it an item", "type": "message", "callback_id": "make_item",
                    "description": "Adds this message to the roadmap, after your approval"},
            ],
            "app_home": {"home_tab_enabled": true, "messages_tab_enabled": true,
                "messages_tab_read_only_enabled": false},
        },
        "oauth_config": {"scopes": {"bot": SCOPES}},
        "settings": {
            "event_subscriptions": {"bot_events": [
                "app_home_opened", "app_mention", "channel_archive", "channel_deleted", "channel_left",
                "channel_rename", "channel_unarchive", "group_archive", "group_deleted",
                "group_left", "group_rename", "group_unarchive", "member_joined_channel",
                "message.channels", "message.groups", "message.im", "reaction_added",
                "reaction_removed",
            ]},
            "interactivity": {"is_enabled": true},
            "org_deploy_enabled": false,
            "socket_mode_enabled": true,
            "token_rotation_enabled": false,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each event is silent without its scope.
    #[test]
    fn every_event_and_feature_has_its_scope() {
        let manifest = manifest();
        let scopes = manifest["oauth_config"]["scopes"]["bot"].to_string();
        let events = manifest["settings"]["event_subscriptions"]["bot_events"].to_string();
        for (event, scope) in [
            ("app_mention", "app_mentions:read"),
            ("message.channels", "channels:history"),
            ("message.groups", "groups:history"),
            ("message.im", "im:history"),
            ("reaction_added", "reactions:read"),
            ("member_joined_channel", "channels:read"),
        ] {
            assert!(events.contains(event) && scopes.contains(scope), "{event}");
        }
        assert!(scopes.contains("commands") && scopes.contains("chat:write.customize"));
        assert_eq!(manifest["settings"]["socket_mode_enabled"], true);
        assert_eq!(manifest["settings"]["interactivity"]["is_enabled"], true);
    }

    /// Slack's own limits on names and descriptions.
    #[test]
    fn texts_are_short_enough_for_slack() {
        let manifest = manifest();
        let about = &manifest["display_information"];
        assert!(about["name"].as_str().unwrap().len() <= 35);
        assert!(about["description"].as_str().unwrap().len() <= 140);
    }

    /// The link carries the whole manifest, and browsers take it.
    #[test]
    fn the_link_carries_the_manifest() {
        let link = Url::parse(&link()).unwrap();
        let given = link.query_pairs().find(|(name, _)| name == "manifest_json");
        let given: Value = serde_json::from_str(&given.unwrap().1).unwrap();
        assert_eq!(given, manifest());
        assert!(link.as_str().len() < 8_000, "{}", link.as_str().len());
    }
}
