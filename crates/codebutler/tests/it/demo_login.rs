//! The way into the demo's page.

use crate::{
    running::{Running, line_with},
    scratch::Scratch,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_used_link_of_the_demo_does_not_send_people_to_another_hub() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let scratch = Scratch::without_git();
    let mut demo = Running::start(&mut scratch.codebutler(&["demo", "--fast"]));
    let line = line_with(&demo.out, "Open ");
    let link = line.trim_start_matches("Open").trim();
    let (page, code) = link.split_once("/login?code=").unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let enter = async || {
        let asking = client.post(format!("{page}/login")).header("origin", page);
        let answer = asking.form(&[("code", code)]).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    enter().await;
    let (status, text) = enter().await;
    assert_eq!(status, 401, "{text}");
    assert!(text.contains("start it again for another"), "{text}");
    assert!(!text.contains("codebutler link"), "{text}");
    demo.interrupt();
}
