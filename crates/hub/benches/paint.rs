//! How soon a thread of 2,000 messages is on the screen, beside one of 20 and one
//! of 101, which is as much as a page holds at first: the
//! time until the HTML is there, its size, and, when `CODEBUTLER_BROWSER_DIR`
//! names the browser's driver, the first contentful paint in Chromium.
#![expect(
    clippy::print_stdout,
    reason = "a benchmark reports on standard output"
)]
#![expect(
    clippy::unwrap_used,
    reason = "a benchmark stops at the first surprise"
)]

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use butler_hub::{Hub, HubConfig, PersonToken, Tokens};
use butler_policy::Redactor;
use butler_protocol::{ChannelId, Secret};
use butler_slack::{SharedEpoch, Web};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const LONG: usize = 2_000;
/// A root and as many replies as a page shows at first.
const FULL: usize = 101;
const SHORT: usize = 20;
const ROUNDS: usize = 30;

/// A running hub and a person in it.
struct World {
    base: String,
    http: reqwest::Client,
    person: PersonToken,
    channel: ChannelId,
}

impl World {
    async fn say(&self, text: &str, root: Option<&str>) -> String {
        let body = json!({"channel": self.channel, "text": text, "thread_ts": root});
        let request = self
            .http
            .post(format!("{}v1/messages", self.base))
            .bearer_auth(self.person.token.expose())
            .json(&body);
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        answer["ts"].as_str().unwrap().to_owned()
    }

    /// A thread with prose, code and mentions, as threads are.
    async fn thread(&self, length: usize) -> String {
        let root = self.say("build it", None).await;
        stream::iter(1..length)
            .map(|number| {
                let text = format!(
                    "message {number}: *bold*, `code`, @codebutler.coder\n```rust\nfn main() {{ println!(\"{number}\"); }} // why\n```"
                );
                let root = &root;
                async move { self.say(&text, Some(root)).await }
            })
            .buffer_unordered(64)
            .collect::<Vec<_>>()
            .await;
        root
    }

    /// The median time to the whole HTML, and its length.
    async fn html(&self, root: &str) -> (Duration, usize) {
        let url = format!("{}c/{}/{root}", self.base, self.channel);
        let mut times = Vec::new();
        let mut length = 0;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            let request = self.http.get(&url).bearer_auth(self.person.token.expose());
            length = request.send().await.unwrap().text().await.unwrap().len();
            times.push(start.elapsed());
        }
        times.sort();
        (times[ROUNDS / 2], length)
    }
}

/// The median first contentful paint of a page, if there is a browser.
fn paint(dir: &Path, folder: &Path, path: &str, base: &str) -> Option<f64> {
    let code = Tokens::open(folder).unwrap().login_link().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/paint.mjs");
    let output = Command::new("node")
        .arg(script)
        .env("BROWSER_DIR", dir)
        .env("LOGIN", format!("{base}login?code={}", code.expose()))
        .env("PAGE", format!("{base}{path}"))
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}

#[tokio::main]
async fn main() {
    let folder = tempfile::tempdir().unwrap();
    let mut tokens = Tokens::open(folder.path()).unwrap();
    let channel = tokens.ensure_repo("app", "app").unwrap().channel;
    let person = tokens.ensure_person("ana").unwrap();
    let redactor = Redactor::new(&[], &[]).unwrap();
    let config = HubConfig::new(
        ([127, 0, 0, 1], 0).into(),
        folder.path().to_owned(),
        redactor,
    );
    let cancel = CancellationToken::new();
    let hub = Hub::start(config, cancel.clone()).await.unwrap();
    let base = format!("http://{}/", hub.address());
    // Making one of our own clients installs the TLS provider that reqwest wants.
    Web::new(
        &base.parse::<url::Url>().unwrap(),
        Secret::new(""),
        SharedEpoch::default(),
    )
    .unwrap();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let world = World {
        base,
        http,
        person,
        channel,
    };
    let browser = std::env::var_os("CODEBUTLER_BROWSER_DIR").map(PathBuf::from);
    let mut figures = Vec::new();
    for length in [SHORT, FULL, LONG] {
        let root = world.thread(length).await;
        let (time, bytes) = world.html(&root).await;
        let path = format!("c/{}/{root}", world.channel);
        let painted = browser
            .as_ref()
            .and_then(|dir| paint(dir, folder.path(), &path, &world.base));
        let painted_text = painted.map_or("not measured".to_owned(), |ms| format!("{ms:.0} ms"));
        println!(
            "thread of {length:>5}: HTML median {time:?}, {bytes} bytes, first paint {painted_text}"
        );
        figures.push((time.as_secs_f64(), painted));
    }
    println!(
        "HTML, {LONG} against {FULL} messages: {:.1} times",
        figures[2].0 / figures[1].0
    );
    if let (Some(full), Some(long)) = (figures[1].1, figures[2].1) {
        println!(
            "first paint, {LONG} against {FULL} messages: {:.1} times",
            long / full
        );
    }
    cancel.cancel();
    hub.wait().await;
}
