//! The whole demo by clicks in a real Chromium, at desktop and phone size, and
//! its three stories in every order with every kind of no on the way. What drives
//! it lives in a folder made by `crates/hub/tests/browser/setup.sh <dir>` and named
//! by `CODEBUTLER_BROWSER_DIR`. With `CODEBUTLER_PICTURES=<dir>` the screenshots of
//! the documentation are taken on the way.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use assert_cmd::cargo::cargo_bin;
use serde_json::json;

const FEATURE: &str = "add a --json flag to list, so that other programs can read the notes";
const BUGFIX: &str = "fix: removing a note that is not there says nothing, it should be an error";
const CLEANUP: &str =
    "the folder tmp/ of my experiments shows up in every commit, please make that stop";

/// Where the driver is. Without it the tests are skipped at home, and fail
/// where everything must be tried.
#[expect(clippy::print_stderr, reason = "a skipped test must say so")]
pub(crate) fn driver() -> Option<PathBuf> {
    if let Some(dir) = std::env::var_os("CODEBUTLER_BROWSER_DIR") {
        return Some(dir.into());
    }
    assert!(
        std::env::var("CI").as_deref() != Ok("true"),
        "CODEBUTLER_BROWSER_DIR is not set; crates/hub/tests/browser/setup.sh <dir> makes the folder"
    );
    eprintln!(
        "SKIPPED: no browser; run crates/hub/tests/browser/setup.sh <dir>, set CODEBUTLER_BROWSER_DIR"
    );
    None
}

/// A running demo; it removes what it made when it is told to end.
struct Demo {
    process: Child,
    link: String,
}

impl Demo {
    fn start(home: &Path) -> Self {
        let mut process = Command::new(cargo_bin("codebutler"))
            .args(["demo", "--fast"])
            .env("HOME", home)
            .current_dir(home)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let link = lines
            .find_map(|line| {
                let line = line.unwrap();
                let at = line.find("http://")?;
                line.contains("/login?code=")
                    .then(|| line[at..].trim().to_owned())
            })
            .expect("the demo says where it is");
        // What it says later must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, link }
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let pid = self.process.id().to_string();
        let _ = Command::new("kill").args(["-INT", &pid]).status();
        let _ = self.process.wait();
    }
}

/// Runs a script of `crates/hub/tests/browser` on a demo of its own.
fn drive(script: &str, variables: &[(&str, &str)]) {
    if driver().is_none() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let demo = Demo::start(home.path());
    play(script, &demo.link, variables);
    assert!(
        !home.path().join(".codebutler").exists(),
        "the demo leaves the home alone"
    );
}

/// Runs a script of `crates/hub/tests/browser` at this address.
pub(crate) fn play(script: &str, link: &str, variables: &[(&str, &str)]) {
    let Some(dir) = driver() else { return };
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hub/tests/browser");
    let mut node = Command::new("node");
    node.arg(scripts.join(script))
        .env("BROWSER_DIR", dir)
        .env("LOGIN", link)
        .envs(variables.iter().copied())
        .stdin(Stdio::null());
    if let Some(pictures) = std::env::var_os("CODEBUTLER_PICTURES") {
        node.env("PICTURES", pictures);
    }
    let output = node.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success() && text(&output.stdout).contains("ok"),
        "{variables:?}: {}\n{}\n{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
}

#[test]
fn the_demo_is_played_by_clicks_on_a_desktop() {
    drive("demo.mjs", &[("REQUEST", FEATURE), ("SIZE", "desktop")]);
}

#[test]
fn the_demo_is_played_by_taps_on_a_phone() {
    drive("demo.mjs", &[("REQUEST", FEATURE), ("SIZE", "phone")]);
}

/// With `CODEBUTLER_GALLERY=<dir>`: every view of a played demo at three widths, in light
/// and dark, judged and kept as small pictures. Not a part of every run: what it judges, the
/// seeded views and the other stories do too.
#[test]
fn a_gallery_of_every_view() {
    let Ok(dir) = std::env::var("CODEBUTLER_GALLERY") else {
        return;
    };
    let asked = [("REQUEST", FEATURE), ("OTHER", BUGFIX)];
    let kept = [("PICTURES", dir.as_str()), ("SCALE", "0.6")];
    drive("gallery.mjs", &[asked, kept].concat());
}

/// What waits, through a whole story, with notifications and a search in the end.
fn needs(size: &str) {
    let found = [("WORD", "json flag"), ("FILE", "notes.sh")];
    let asked = [("REQUEST", FEATURE), ("SIZE", size)];
    drive("needs.mjs", &[asked, found].concat());
}

#[test]
fn what_needs_a_person_is_told_through_a_story_on_a_desktop() {
    needs("desktop");
}

#[test]
fn what_needs_a_person_is_told_through_a_story_on_a_phone() {
    needs("phone");
}

#[test]
fn a_thread_is_held_resumed_merged_closed_and_archived_by_clicks() {
    let stories = serde_json::to_string(&[FEATURE, BUGFIX]).unwrap();
    drive("acts.mjs", &[("STORIES", &stories)]);
}

/// Plays the stories in this order. `turn` says which of them meets which
/// obstacle, so that over all orders each meets each.
fn order(requests: [&str; 3], turn: usize) {
    let allows = |number: usize| (number + turn).is_multiple_of(2);
    let stories = requests.iter().enumerate();
    let stories: Vec<_> = stories
        .map(|(number, request)| json!({"request": request, "allow": allows(number)}))
        .collect();
    let stories = serde_json::to_string(&stories).unwrap();
    let turn = turn.to_string();
    drive("orders.mjs", &[("STORIES", &stories), ("TURN", &turn)]);
}

#[test]
fn the_demo_in_order_feature_bugfix_cleanup() {
    order([FEATURE, BUGFIX, CLEANUP], 0);
}

#[test]
fn the_demo_in_order_feature_cleanup_bugfix() {
    order([FEATURE, CLEANUP, BUGFIX], 1);
}

#[test]
fn the_demo_in_order_bugfix_feature_cleanup() {
    order([BUGFIX, FEATURE, CLEANUP], 1);
}

#[test]
fn the_demo_in_order_bugfix_cleanup_feature() {
    order([BUGFIX, CLEANUP, FEATURE], 2);
}

#[test]
fn the_demo_in_order_cleanup_feature_bugfix() {
    order([CLEANUP, FEATURE, BUGFIX], 2);
}

#[test]
fn the_demo_in_order_cleanup_bugfix_feature() {
    order([CLEANUP, BUGFIX, FEATURE], 0);
}
