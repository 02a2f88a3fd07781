//! Live work in a real browser on a real team: output is seen before its command ends.

use std::fs;

use crate::{
    browser,
    team::{Team, says},
};

/// A secret as the redactor knows them, put together here so that none stands in a file.
fn secret() -> String {
    ["gh", "p_", "0123456789abcdefghij", "KLMNOPQRSTUVWXYZ"].concat()
}

fn scenario() -> String {
    format!(
        r#"
title: a build that takes its time
roles:
  pm:
    - call:
        - tool: ProposePlan
          with:
            title: Say hello
            summary: As asked.
            steps: ["Write it — hello.txt:1"]
            criteria: ["it greets"]
            files: [hello.txt]
            complexity: simple
  coder:
    - call:
        - {{ tool: Write, with: {{ path: hello.txt, content: "hello\n" }} }}
        - {{ tool: Checklist, with: {{ steps: [{{ text: "write it", state: done }}, {{ text: "build it", state: doing }}] }} }}
    - say: "I build it now and look at the output."
      call:
        - {{ tool: Bash, with: {{ command: "echo compiling one; echo key {secret}; until [ -e go ]; do sleep 0.1; done; rm go; echo all compiled" }} }}
    - call:
        - {{ tool: AskUser, with: {{ question: "Is this the greeting you meant?" }} }}
"#,
        secret = secret()
    )
}

async fn watched(size: &str) {
    if browser::driver().is_none() {
        return;
    }
    let team = Team::start(&scenario()).await;
    let root = team.say("say hello").await;
    team.press(&root, "approve").await;
    let branches = team.scratch.root().join(".codebutler/branches");
    let own = || {
        let folders = fs::read_dir(&branches).ok()?.flatten();
        let mut own =
            folders.filter(|one| one.file_name().to_string_lossy().starts_with("say-hello"));
        own.next().map(|one| one.path())
    };
    team.wait("the file", || {
        own().is_some_and(|own| own.join("hello.txt").exists())
    })
    .await;
    let go = own().unwrap().join("go").display().to_string();
    let link = team.command().arg("link").output().unwrap();
    let link = String::from_utf8(link.stdout).unwrap();
    let variables = [
        ("CHANNEL", team.channel.as_str()),
        ("ROOT", &root),
        ("SIZE", size),
        ("GO", &go),
        ("SECRET", &secret()),
    ];
    tokio::task::block_in_place(|| browser::play("watching.mjs", link.trim(), &variables));
    let asks = "Is this the greeting you meant?";
    team.until(&root, "the question", |thread| says(thread, asks))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn output_is_seen_before_its_command_ends_on_a_desktop() {
    watched("desktop").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn output_is_seen_before_its_command_ends_on_a_phone() {
    watched("phone").await;
}
