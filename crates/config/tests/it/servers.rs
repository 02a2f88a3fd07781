//! MCP servers of a repo and of the machine.

use butler_protocol::Role;

use crate::scratch::Scratch;

fn told(scratch: &Scratch) -> Vec<String> {
    let settings = scratch.load().unwrap();
    settings.notices.iter().map(ToString::to_string).collect()
}

#[test]
fn both_names_of_the_list_are_read_and_roles_and_tools_are_told_apart() {
    let file = r#"{"servers": {"files": {"command": "npx", "args": ["-y", "files@1"], "roles": ["coder"],
        "allow": ["read", "write"], "deny": ["write"]}},
        "mcpServers": {"docs": {"type": "http", "url": "https://docs.example/mcp"}}}"#;
    let scratch = Scratch::new().repo("mcp.json", file);
    let settings = scratch.load().unwrap();
    assert_eq!(told(&scratch), Vec::<String>::new());
    let files = &settings.mcp["files"].server;
    assert!(files.is_for(Role::Coder) && !files.is_for(Role::Reviewer));
    assert!(files.offers("read") && !files.offers("write") && !files.offers("other"));
    assert_eq!(files.timeout, 30);
    assert!(settings.mcp["docs"].server.is_for(Role::Lead));
}

#[test]
fn one_bad_server_does_not_take_the_others_down() {
    let file = r#"{"servers": {"good": {"command": "run", "lazy": true}, "a__b": {"command": "x"},
        "both": {"command": "x", "url": "http://x"}, "neither": {}, "odd": {"command": 7},
        "off": {"command": "x", "disabled": true}}}"#;
    let scratch = Scratch::new().repo("mcp.json", file);
    let settings = scratch.load().unwrap();
    assert_eq!(settings.mcp.keys().collect::<Vec<_>>(), ["good"]);
    let told = told(&scratch);
    for (key, what) in [
        ("servers.good.lazy", "unknown key"),
        ("servers.a__b", "not a name"),
        ("servers.both", "not a server"),
        ("servers.neither", "not a server"),
        ("servers.odd.command", "expected a string"),
    ] {
        let found = told
            .iter()
            .any(|one| one.contains(key) && one.contains(what));
        assert!(found, "{key}: {told:#?}");
    }
    let broken = Scratch::new().repo("mcp.json", "{\"servers\": ");
    assert!(broken.load().unwrap().mcp.is_empty());
    assert_eq!(broken.load().unwrap().notices.len(), 1);
}

#[test]
fn a_repo_names_a_secret_and_only_the_machine_has_it() {
    let file = r#"{"servers": {"github": {"command": "gh-mcp", "env": {"TOKEN": "${HOME}", "MODE": "ro"}}}}"#;
    let scratch = Scratch::new().repo("mcp.json", file);
    assert!(scratch.load().unwrap().mcp.is_empty());
    let told = told(&scratch);
    assert!(told[0].contains("mcp.secrets.github.TOKEN"), "{told:?}");
    let machine = r#"{"mcp": {"secrets": {"github": {"TOKEN": "from the machine"}}}}"#;
    let scratch = scratch.machine(machine);
    let settings = scratch.load().unwrap();
    let entry = &settings.mcp["github"];
    assert_eq!(entry.server.env["TOKEN"].expose(), "from the machine");
    assert_eq!(entry.server.env["MODE"].expose(), "ro");
    let kept = settings.machine.secrets();
    assert!(kept.iter().any(|one| one.expose() == "from the machine"));
    // Another value of a secret is the same server; another argument is not.
    let rotated = r#"{"mcp": {"secrets": {"github": {"TOKEN": "another one"}}}}"#;
    let rotated = scratch.machine(rotated);
    assert_eq!(rotated.load().unwrap().mcp["github"].sha256, entry.sha256);
    let changed = rotated.repo("mcp.json", &file.replace("\"ro\"", "\"rw\""));
    assert_ne!(changed.load().unwrap().mcp["github"].sha256, entry.sha256);
    let elsewhere = changed.repo(
        "mcp.json",
        r#"{"servers": {"x": {"command": "run", "args": ["${HOME}"]}}}"#,
    );
    assert!(elsewhere.load().unwrap().mcp.is_empty());
}

#[test]
fn the_machines_own_server_wins() {
    let machine = r#"{"mcp": {"servers": {"files": {"command": "mine"}}}}"#;
    let file = r#"{"servers": {"files": {"command": "theirs"}}}"#;
    let scratch = Scratch::new().machine(machine).repo("mcp.json", file);
    let settings = scratch.load().unwrap();
    let command = settings.mcp["files"].server.command.as_deref();
    assert_eq!(command, Some("mine"));
}
