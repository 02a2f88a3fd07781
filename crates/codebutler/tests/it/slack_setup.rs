//! Connecting a repository to Slack at a real terminal, and looking at it afterwards:
//! every answer wrong once, each said and asked for again, nothing lost.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use butler_testkit::{Disconnect, SlackStandIn};

use crate::{
    scratch::{Scratch, ran},
    terminal::Terminal,
};

const UP: &str = "\u{1b}[A";

/// A repository that is set up, on a machine that finds the stand-in in Slack's place.
fn beside(address: &str) -> Scratch {
    let scratch = Scratch::new();
    let init = scratch.run(&["init", "--yes", "--untried"]);
    assert_eq!(init.code, 0, "{init:?}");
    scratch.machine(&format!("{{\"slack\": {{\"apiUrl\": \"{address}\"}}}}"));
    scratch
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_steps_with_every_answer_wrong_once() {
    let slack = SlackStandIn::start().await;
    let (ana, _ben) = (slack.person("ana"), slack.person("ben"));
    let _hidden = slack.private_channel("secret-room");
    let _other = slack.channel("general", false);
    slack.without_scope("reactions:read");
    slack.without_connections(true);
    let scratch = beside(&slack.base());
    let (bot, app) = (slack.bot_token(), slack.app_token());
    let (code, screen) = tokio::task::block_in_place(|| {
        let mut terminal = Terminal::start(&scratch, &["slack", "setup"]);
        terminal.expect_next("Step 1 of 3");
        terminal.expect_next("manifest_json=");
        // The bot token: nothing, the other kind, a wrong one, one without a scope.
        terminal.expect_next("Bot token");
        terminal.press("\r");
        terminal.expect_next("no token was given");
        terminal.expect_next("Bot token");
        terminal.press(&format!("{app}\r"));
        terminal.expect_next("that is the app-level token");
        terminal.expect_next("Bot token");
        terminal.press("xoxb-wrong\r");
        terminal.expect_next("the bot token is not accepted");
        terminal.expect_next("Bot token");
        terminal.press(&format!("{bot}\r"));
        terminal.expect_next("lacks reactions:read");
        terminal.expect_next("What now?");
        slack.with_scope("reactions:read");
        terminal.press("\r");
        terminal.expect_next("accepts the bot token for Stand-in");
        // The app-level token: the other kind, a wrong one, one without its right.
        terminal.expect_next("Step 2 of 3");
        terminal.expect_next("App-level token");
        terminal.press(&format!("{bot}\r"));
        terminal.expect_next("that is the bot token");
        terminal.expect_next("App-level token");
        terminal.press("xapp-wrong\r");
        terminal.expect_next("the app-level token is not accepted (invalid_auth)");
        terminal.expect_next("App-level token");
        terminal.press(&format!("{app}\r"));
        terminal.expect_next("lacks the scope connections:write");
        slack.without_connections(false);
        terminal.expect_next("App-level token");
        terminal.press(&format!("{app}\r"));
        terminal.expect_next("Slack is heard over its socket");
        // The channel: a private one that the app is not in, then the proposed one.
        terminal.expect_next("Step 3 of 3");
        terminal.expect_next("Which channel?");
        terminal.press(&format!("{UP}\r"));
        terminal.expect_next("Name of the channel");
        terminal.press("secret-room\r");
        terminal.expect_next("/invite @codebutler");
        terminal.expect_next("Which channel?");
        terminal.press("\r");
        terminal.expect_next("Who are you in Slack?");
        terminal.press("\r");
        terminal.expect_next("invited ana to #codebutler-app");
        terminal.expect_next("greeted #codebutler-app");
        terminal.expect_next("Your channel");
        terminal.end()
    });
    assert_eq!(code, 0, "{screen}");
    let made = slack.channel_named("codebutler-app").unwrap();
    assert!(screen.contains(&format!("archives/{made}")), "{screen}");
    assert_eq!(slack.members(&made), [ana]);
    let said = slack.messages(&made)[0]["text"].to_string();
    assert!(said.contains("@codebutler.pm"), "{said}");
    let config = scratch.read(".codebutler/config.json");
    assert!(
        config.contains(&made) && config.contains("codebutler-app"),
        "{config}"
    );
    let machine = std::fs::read_to_string(scratch.home().join("config.json")).unwrap();
    assert!(machine.contains(&bot) && machine.contains(&app));
    assert!(!screen.contains(&bot) && !screen.contains(&app), "{screen}");

    // Set up once more: the channel is the same, and nobody is greeted twice.
    let mut again = scratch.codebutler(&["slack", "setup"]);
    again
        .env("SLACK_BOT_TOKEN", &bot)
        .env("SLACK_APP_TOKEN", &app);
    let again = tokio::task::block_in_place(|| ran(&mut again));
    assert_eq!(again.code, 0, "{again:?}");
    assert_eq!(
        slack.messages(&made).len(),
        1,
        "{:?}",
        slack.messages(&made)
    );

    // Looked at again, and after something broke.
    let check = || tokio::task::block_in_place(|| scratch.run(&["slack", "check"]));
    let well = check();
    assert_eq!(well.code, 0, "{well:?}");
    for part in [
        "installed in Stand-in",
        "every scope",
        "in #codebutler-app",
        "is heard",
    ] {
        assert!(well.out.contains(part), "{part}: {well:?}");
    }
    slack.archive(&made, true);
    slack.disconnect(Disconnect::LinkDisabled);
    let broken = check();
    assert_eq!(broken.code, 5, "{broken:?}");
    assert!(
        broken.out.contains("#codebutler-app is archived"),
        "{broken:?}"
    );
    assert!(
        broken.out.contains("app-level token is not accepted"),
        "{broken:?}"
    );
}

/// Passes everything on, as a company's proxy does, and counts the tunnels; or lets none
/// through.
fn proxy(behind: SocketAddr, tunnels: Option<Arc<AtomicUsize>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let tunnels = tunnels.clone();
            thread::spawn(move || pass_on(client, behind, tunnels.as_deref()));
        }
    });
    address
}

fn pass_on(mut client: TcpStream, behind: SocketAddr, tunnels: Option<&AtomicUsize>) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if client.read_exact(&mut byte).is_err() {
            return;
        }
        head.push(byte[0]);
    }
    let mut there = TcpStream::connect(behind).unwrap();
    if head.starts_with(b"CONNECT slack.test:80 ") {
        let Some(tunnels) = tunnels else {
            let _ = client.write_all(b"HTTP/1.1 403 Forbidden\r\n\r\n");
            return;
        };
        tunnels.fetch_add(1, Ordering::SeqCst);
        client.write_all(b"HTTP/1.1 200 go on\r\n\r\n").unwrap();
    } else {
        there.write_all(&head).unwrap();
    }
    let (mut from, mut to) = (client.try_clone().unwrap(), there.try_clone().unwrap());
    thread::spawn(move || std::io::copy(&mut from, &mut to));
    let _ = std::io::copy(&mut there, &mut client);
}

/// Calls and socket go through the proxy that the environment names; one that lets no
/// tunnel through is named.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slack_is_reached_through_a_proxy() {
    let slack = SlackStandIn::start().await;
    slack.reached_as("slack.test");
    let scratch = beside("http://slack.test/");
    let machine = format!(
        "{{\"slack\": {{\"apiUrl\": \"http://slack.test/\", \"botToken\": \"{}\", \"appToken\": \"{}\"}}}}",
        slack.bot_token(),
        slack.app_token()
    );
    scratch.machine(&machine);
    let tunnels = Arc::new(AtomicUsize::new(0));
    let address = proxy(slack.address(), Some(Arc::clone(&tunnels)));
    let check = |proxy: &str| {
        let mut command = scratch.codebutler(&["slack", "check"]);
        command
            .env_remove("NO_PROXY")
            .env_remove("no_proxy")
            .env("HTTP_PROXY", proxy)
            .env("http_proxy", proxy);
        tokio::task::block_in_place(|| ran(&mut command))
    };
    let through = check(&format!("http://{address}"));
    assert_eq!(through.code, 0, "{through:?}");
    assert!(through.out.contains("is heard"), "{through:?}");
    assert!(
        tunnels.load(Ordering::SeqCst) > 0,
        "the socket went another way"
    );
    let strict = check(&format!("http://{}", proxy(slack.address(), None)));
    assert_eq!(strict.code, 5, "{strict:?}");
    let named = "does not let a connection to slack.test through: HTTP/1.1 403";
    assert!(strict.out.contains(named), "{strict:?}");
    let dead = check("http://127.0.0.1:1");
    assert_eq!(dead.code, 5, "{dead:?}");
    assert!(dead.out.contains("Slack does not answer"), "{dead:?}");
}
