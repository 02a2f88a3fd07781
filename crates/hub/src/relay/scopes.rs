//! What the app must be allowed to do. The manifest asks for these; without one
//! of them Slack is often silent instead of saying so.

/// Every bot scope that the relay uses, as Slack names them.
pub const SCOPES: [&str; 16] = [
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

/// The scopes that an app was installed without.
#[must_use]
pub fn missing(granted: &[String]) -> Vec<&'static str> {
    let lacks = |scope: &&'static str| !granted.iter().any(|one| one == scope);
    SCOPES.into_iter().filter(lacks).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let mut granted: Vec<String> = SCOPES.iter().map(|&scope| scope.to_owned()).collect();
        assert!(missing(&granted).is_empty());
        granted.retain(|scope| scope != "chat:write.customize");
        granted.push("team:read".to_owned());
        assert_eq!(missing(&granted), ["chat:write.customize"]);
    }
}
