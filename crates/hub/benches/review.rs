//! How long the hub takes for the page of a change with 10,000 lines: in a hundred files,
//! in one file that is folded, and in that file when it is opened. Each must be there
//! within a second.
#![expect(
    clippy::print_stdout,
    reason = "a benchmark reports on standard output"
)]
#![expect(
    clippy::unwrap_used,
    reason = "a benchmark stops at the first surprise"
)]

use std::{
    fmt::Write as _,
    process::ExitCode,
    time::{Duration, Instant},
};

use butler_hub::{Hub, HubConfig, Tokens};
use butler_policy::Redactor;
use butler_protocol::{CommitSha, PrNumber, PullNews, PullStatus, Role, ThreadId};
use butler_slack::{Control, SharedEpoch};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const LINES: usize = 10_000;
const ROUNDS: usize = 10;
const BAR: Duration = Duration::from_secs(1);

/// A change of code, in files of equal length.
fn change(files: usize) -> String {
    let mut diff = String::new();
    for file in 0..files {
        let lines = LINES / files;
        let _ = write!(
            diff,
            "diff --git a/src/part{file}/lib.rs b/src/part{file}/lib.rs\n@@ -0,0 +1,{lines} @@\n"
        );
        for line in 0..lines {
            let _ = writeln!(
                diff,
                "+    let value_{line} = call(\"{line}\", {line}); // why"
            );
        }
    }
    diff
}

#[tokio::main]
async fn main() -> ExitCode {
    let folder = tempfile::tempdir().unwrap();
    let mut tokens = Tokens::open(folder.path()).unwrap();
    let repo = tokens.ensure_repo("app", "app").unwrap();
    let person = tokens.ensure_person("ana").unwrap();
    let config = HubConfig::new(
        ([127, 0, 0, 1], 0).into(),
        folder.path().to_owned(),
        Redactor::new(&[], &[]).unwrap(),
    );
    let cancel = CancellationToken::new();
    let hub = Hub::start(config, cancel.clone()).await.unwrap();
    let base = format!("http://{}/", hub.address());
    let token = repo.agents[&Role::Lead].bot.clone();
    let lead = Control::new(
        &base.parse::<url::Url>().unwrap(),
        token,
        SharedEpoch::default(),
    )
    .unwrap();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut met = true;
    for (number, (name, files, query)) in [
        ("in a hundred files", 100, ""),
        ("in one file, folded", 1, ""),
        ("in one file, opened", 1, "?open=0"),
    ]
    .into_iter()
    .enumerate()
    {
        let body = json!({"channel": repo.channel, "text": "change it"});
        let said = http.post(format!("{base}v1/messages"));
        let said = said.bearer_auth(person.token.expose()).json(&body);
        let said: Value = said.send().await.unwrap().json().await.unwrap();
        let root = said["ts"].as_str().unwrap();
        let news = PullNews {
            thread: ThreadId::new(repo.channel.clone(), root.parse().unwrap()),
            number: PrNumber(number as u64 + 1),
            title: "A large change".into(),
            body: String::new(),
            branch: None,
            head: CommitSha::new("a".repeat(40)),
            state: PullStatus::Open,
            url: None,
            diff: Some(change(files)),
        };
        lead.pull(&news).await.unwrap();
        let page = format!("{base}c/{}/{root}/changes{query}", repo.channel);
        let mut times = Vec::new();
        let mut bytes = 0;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            let request = http.get(&page).bearer_auth(person.token.expose());
            bytes = request.send().await.unwrap().text().await.unwrap().len();
            times.push(start.elapsed());
        }
        times.sort();
        let median = times[ROUNDS / 2];
        met &= median < BAR;
        println!("{LINES} lines {name}: median {median:?}, {bytes} bytes");
    }
    cancel.cancel();
    hub.wait().await;
    println!("{}", if met { "met" } else { "missed: a second" });
    if met {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
