//! What an app of Slack may be allowed to do.

/// Every scope that the app's manifest asks for.
pub const ALL_SCOPES: [&str; 16] = [
    "app_mentions:read",
    "channels:history",
    "channels:join",
    "channels:manage",
    "channels:read",
    "chat:write",
    "chat:write.customize",
    "commands",
    "files:read",
    "files:write",
    "groups:history",
    "groups:read",
    "im:history",
    "reactions:read",
    "reactions:write",
    "users:read",
];
