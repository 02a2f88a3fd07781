//! What people attach reaches the role that they speak to: on the page, by Slack's SDK, in
//! Slack, and as a file of its own when it was pasted. Files that mean harm stay files.
//! Recordings are spoken by espeak-ng.

use std::{
    fmt::Write as _,
    fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{
    browser,
    team::{Team, says},
};

/// Files of every kind, and files that mean harm.
const KINDS: &str = include_str!("scenarios/attached_kinds.yaml");

/// The smallest whole PNG picture.
pub(crate) const PIXEL: &[u8] = &[
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0,
    0, 0, 31, 21, 196, 137, 0, 0, 0, 13, 73, 68, 65, 84, 120, 156, 99, 248, 207, 192, 240, 31, 0,
    5, 0, 1, 255, 137, 153, 61, 29, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attached_files_are_read_and_pasted_logs_become_files() {
    let team = Team::start(include_str!("scenarios/attached.yaml")).await;
    let log = b"one\nERROR: out of paper\nthree\n";
    let words = "what does the printer want?";
    let root = team.say_with_file("", words, ("printer.log", log)).await;
    team.until(&root, "the answer", |thread| says(thread, "out of paper"))
        .await;

    let pasted = "and this?\n".to_owned() + &"a line of it\n".repeat(3_999);
    team.say_with_file(&root, &pasted, ("shot.png", PIXEL))
        .await;
    team.until(&root, "both", |thread| says(thread, "I have seen both"))
        .await;

    // They are in no change, and nobody can run them.
    let folder = team.scratch.root().join(".codebutler/attached");
    let threads = std::fs::read_dir(&folder).unwrap().flatten();
    let kept = threads
        .filter(|thread| thread.path().is_dir())
        .flat_map(|thread| std::fs::read_dir(thread.path()).unwrap().flatten());
    let modes: Vec<u32> = kept
        .map(|file| file.metadata().unwrap().permissions().mode() & 0o777)
        .collect();
    assert_eq!(modes, [0o400; 3]);
    let status = team.scratch.clone.git(&["status", "--porcelain"]);
    assert!(!status.contains("attached"), "{status}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_kind_of_file_comes_from_the_page_and_harmful_ones_stay_files() {
    let Some(files) = kinds() else { return };
    let team = Team::start(KINDS).await;
    let words = "what is in all of these?";
    let (status, answer) = team.say_with_files("", words, &borrowed(&files)).await;
    assert_eq!(status, 200, "{answer}");
    let root = answer["ts"].as_str().unwrap();
    let thread = team
        .until(root, "the answer", |thread| says(thread, "I have read all"))
        .await;
    assert_served_as_files(&team, &thread, &files).await;
    assert_attached_as_sent(&team, &files);

    // What is too large is refused with a name and kept nowhere, not even on the way; the
    // thread stays as it was.
    let growth = Growth::begin(&team);
    let huge = vec![b'x'; 100 << 20];
    let (status, answer) = team
        .say_with_files(root, "and this?", &[("huge.log", &huge)])
        .await;
    assert_eq!(
        (status, answer["error"].as_str()),
        (413, Some("file_upload_size_restricted"))
    );
    growth.assert_small();
    let after = team.thread(root).await.unwrap();
    assert!(!says(&after, "and this?"), "{after}");
}

/// How much the hub grows while something too large goes by.
struct Growth {
    hub: i32,
    before: u64,
}

impl Growth {
    fn begin(team: &Team) -> Self {
        let hub = team.pid("hub").unwrap();
        // The highest so far is what it has now.
        fs::write(format!("/proc/{hub}/clear_refs"), "5").unwrap();
        let before = memory(hub, "VmRSS:");
        Self { hub, before }
    }

    fn assert_small(&self) {
        let (before, peak) = (self.before, memory(self.hub, "VmHWM:"));
        assert!(
            peak < before + 16 * 1024,
            "the hub grew from {before} to {peak} KB while 100 MB went by"
        );
    }
}

/// A figure of a process, in KB.
fn memory(pid: i32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let figure = line.unwrap().trim().trim_end_matches(" kB");
    figure.parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_files_come_by_clicks_in_a_browser() {
    let Some(files) = kinds() else { return };
    if browser::driver().is_none() {
        return;
    }
    let team = Team::start(KINDS).await;
    let (_folder, paths) = on_disk(&files);
    let link = team.command().arg("link").output().unwrap();
    let link = String::from_utf8(link.stdout).unwrap();
    let variables = [
        ("WORDS", "what is in all of these?"),
        ("ANSWER", "I have read all of them."),
        ("FILES", &*serde_json::to_string(&paths).unwrap()),
    ];
    tokio::task::block_in_place(|| browser::play("brings.mjs", link.trim(), &variables));
    assert_attached_as_sent(&team, &files);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_files_come_by_slacks_own_sdk() {
    let (Some(files), Some(sdk)) = (kinds(), sdk()) else {
        return;
    };
    let team = Team::start(KINDS).await;
    let (_folder, paths) = on_disk(&files);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../hub/tests/sdk/upload.py");
    let mut python = Command::new(sdk.join("venv/bin/python"));
    python
        .arg(script)
        .env("HUB", &team.hub)
        .env("CHANNEL", &team.channel)
        .env("PERSON_TOKEN", team.token())
        .env("WORDS", "what is in all of these?")
        .env("FILES", serde_json::to_string(&paths).unwrap())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("NO_PROXY", "127.0.0.1")
        .env("no_proxy", "127.0.0.1")
        .stdin(Stdio::null());
    let output = tokio::task::block_in_place(|| python.output().unwrap());
    let said = String::from_utf8_lossy(&output.stdout);
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("ok"),
        "{said}{wrong}"
    );
    let messages = team.channel_messages().await;
    let asked = messages
        .iter()
        .find(|one| one["text"] == "what is in all of these?");
    let root = asked.unwrap()["ts"].as_str().unwrap().to_owned();
    let thread = team
        .until(&root, "the answer", |thread| {
            says(thread, "I have read all")
        })
        .await;
    assert_served_as_files(&team, &thread, &files).await;
    assert_attached_as_sent(&team, &files);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_files_come_from_slack() {
    let Some(files) = kinds() else { return };
    let team = Team::start_on_slack(KINDS).await;
    let (slack, ana) = team.slack_and_ana();
    let words = "what is in all of these?";
    let root = slack.share_all(ana, &team.channel, words, &borrowed(&files));
    let thread = team
        .until(&root, "the answer", |thread| {
            says(thread, "I have read all")
        })
        .await;
    assert_served_as_files(&team, &thread, &files).await;
    assert_attached_as_sent(&team, &files);

    // What is too large stays in Slack, and the role is told of it.
    let growth = Growth::begin(&team);
    let huge = vec![b'x'; 100 << 20];
    let root = slack.share_all(ana, &team.channel, "and this?", &[("huge.log", &huge)]);
    team.until(&root, "the answer", |thread| {
        says(thread, "It is too large")
    })
    .await;
    growth.assert_small();
    let told = "`huge.log` could not be brought here: That file is empty, or larger than";
    assert!(team.log(&root, "pm").contains(told));
}

/// Where Slack's SDKs are. Without them the test is skipped at home, and fails where
/// everything must be tried.
fn sdk() -> Option<PathBuf> {
    let dir = std::env::var_os("CODEBUTLER_SDK_DIR").map(PathBuf::from);
    dir.or_else(|| skipped("Slack's SDKs (CODEBUTLER_SDK_DIR)"))
}

/// A recording in which these words are spoken, by a real synthesiser.
pub(crate) fn spoken(words: &str) -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("spoken.wav");
    let mut espeak = Command::new("espeak-ng");
    match espeak.arg("-w").arg(&file).arg(words).status() {
        Ok(status) => assert!(status.success(), "{status}"),
        Err(_) => return skipped("espeak-ng"),
    }
    Some(fs::read(file).unwrap())
}

#[expect(clippy::print_stderr, reason = "a skipped test must say so")]
fn skipped<T>(missing: &str) -> Option<T> {
    let ci = std::env::var("CI").as_deref() == Ok("true");
    assert!(!ci, "{missing} is missing; `cargo xtask setup` installs it");
    eprintln!("SKIPPED: no {missing}; `cargo xtask setup` installs it");
    None
}

/// A name that says it is a picture, to whoever reads it from left to right.
const TURNED: &str = "in\u{202e}gpj.sh";

/// A picture, a document, a log of 20 MB, a recording; then a picture that is a program of
/// a page, an archive that grows a thousandfold, a document that does, a page and a program
/// that call themselves pictures, and a name that hides its end.
fn kinds() -> Option<Vec<(&'static str, Vec<u8>)>> {
    // Real logs are long, and a message brings 32 MB.
    let line = "10:00:00 nothing special happened in this second of the night\n";
    let mut log = line.repeat((20 << 20) / line.len());
    log.push_str("10:00:01 ERROR: out of paper\n");
    let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert('svg ran')</script></svg>";
    let page = "<html><script>alert('page ran')</script></html>";
    let mut program = b"\x7fELF\x02\x01\x01".to_vec();
    program.resize(256, 0);
    let words = "BT /F1 24 Tf 72 700 Td (Press the green button) Tj ET";
    let bomb = deflated(&vec![b' '; 48 << 20]);
    Some(vec![
        ("shot.png", PIXEL.to_vec()),
        ("manual.pdf", document("", words.as_bytes())),
        ("night.log", log.into_bytes()),
        ("note.wav", spoken("Please add a flag for lists.")?),
        ("logo.svg", svg.into()),
        ("bomb.zip", archive_of_zeros(64 << 20)),
        ("bomb.pdf", document("/Filter /FlateDecode", &bomb)),
        ("cat.png", page.into()),
        ("dog.png", program),
        (TURNED, b"#!/bin/sh\nrm -rf ~\n".to_vec()),
    ])
}

fn borrowed<'a>(files: &'a [(&'a str, Vec<u8>)]) -> Vec<(&'a str, &'a [u8])> {
    files
        .iter()
        .map(|(name, bytes)| (*name, &**bytes))
        .collect()
}

/// The files in a folder, and where each is.
fn on_disk(files: &[(&str, Vec<u8>)]) -> (tempfile::TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let paths = files.iter().map(|(name, bytes)| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    });
    let paths = paths.collect();
    (folder, paths)
}

/// A name as people and roles see it.
fn seen_as(name: &str) -> String {
    name.replace('\u{202e}', r"\u{202e}")
}

/// What a browser gets runs nothing, and is what was sent.
async fn assert_served_as_files(team: &Team, thread: &Value, files: &[(&str, Vec<u8>)]) {
    let listed = thread["messages"][0]["files"].as_array().unwrap();
    for (name, bytes) in files {
        let file = listed.iter().find(|file| file["name"] == seen_as(name));
        let file = file.unwrap_or_else(|| panic!("{name} is not among {listed:?}"));
        let answer = team.file(file["id"].as_str().unwrap()).await;
        let header = |name: &str| {
            let value = answer.headers().get(name);
            value.map_or("", |value| value.to_str().unwrap()).to_owned()
        };
        assert_eq!(header("x-content-type-options"), "nosniff", "{name}");
        let document = name.ends_with(".pdf");
        let policy = header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'"), "{name}: {policy}");
        assert_eq!(policy.ends_with("sandbox"), !document, "{name}: {policy}");
        assert!(!policy.contains("script"), "{name}: {policy}");
        let shown = document || ["shot.png", "note.wav"].contains(name);
        assert_eq!(
            header("content-disposition").starts_with("inline"),
            shown,
            "{name}"
        );
        let kind = header("content-type");
        assert!(!kind.contains("html"), "{name}: {kind}");
        assert_eq!(kind.starts_with("image/png"), *name == "shot.png", "{name}");
        assert_eq!(answer.bytes().await.unwrap(), bytes, "{name}");
    }
    let root = thread["messages"][0]["ts"].as_str().unwrap();
    let page = team.page(&format!("c/{}/{root}", team.channel)).await;
    assert!(page.contains("manual.pdf") && page.contains("<audio"));
    assert!(
        !page.contains("<script>alert") && !page.contains('\u{202e}'),
        "a file's script or a mark of direction is in the page"
    );
}

/// The thread's folder has exactly these bytes, nothing unpacked, and no two roles' copies.
fn assert_attached_as_sent(team: &Team, files: &[(&str, Vec<u8>)]) {
    let folder = team.scratch.root().join(".codebutler/attached");
    let threads = fs::read_dir(&folder).unwrap().flatten();
    let kept: Vec<PathBuf> = threads
        .filter(|thread| thread.path().is_dir())
        .flat_map(|thread| fs::read_dir(thread.path()).unwrap().flatten())
        .map(|file| file.path())
        .collect();
    assert_eq!(kept.len(), files.len(), "{kept:?}");
    for (name, bytes) in files {
        let plain = seen_as(name).replace(['\\', '{', '}'], "_");
        let ours = |path: &&PathBuf| path.to_string_lossy().ends_with(&format!("-{plain}"));
        let path = kept.iter().find(ours);
        let path = path.unwrap_or_else(|| panic!("{name} is not among {kept:?}"));
        assert!(fs::read(path).unwrap() == *bytes, "{name} is another file");
        let mode = fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o400, "{name}");
    }
}

/// A document of one page with this content.
fn document(packed: &str, content: &[u8]) -> Vec<u8> {
    let head = |length| format!("<< /Length {length} {packed} >>\nstream\n");
    let stream = [head(content.len()).as_bytes(), content, b"\nendstream"].concat();
    let objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R \
         /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_vec(),
        stream,
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>".to_vec(),
    ];
    let mut made = b"%PDF-1.4\n".to_vec();
    let mut places = String::new();
    for (index, object) in objects.iter().enumerate() {
        let _ = writeln!(places, "{:010} 00000 n ", made.len());
        made.extend(format!("{} 0 obj\n", index + 1).bytes());
        made.extend([object, &b"\nendobj\n"[..]].concat());
    }
    let end = format!(
        "xref\n0 6\n0000000000 65535 f \n{places}trailer\n<< /Size 6 /Root 1 0 R >>\n\
         startxref\n{}\n%%EOF\n",
        made.len()
    );
    made.extend(end.bytes());
    made
}

/// As archives and documents pack it.
fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut packing = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packing, bytes).unwrap();
    packing.finish().unwrap()
}

/// A second of a tone, 8 kHz, one channel of bytes.
pub(crate) fn recording() -> Vec<u8> {
    let tone: Vec<u8> = (0..8_000_u32)
        .map(|at| if at % 20 < 10 { 96 } else { 160 })
        .collect();
    let mut made = b"RIFF".to_vec();
    let long = |made: &mut Vec<u8>, number: usize| {
        made.extend(u32::try_from(number).unwrap().to_le_bytes());
    };
    long(&mut made, 36 + tone.len());
    made.extend(b"WAVEfmt ");
    long(&mut made, 16);
    made.extend([1, 0, 1, 0]);
    long(&mut made, 8_000);
    long(&mut made, 8_000);
    made.extend([1, 0, 8, 0]);
    made.extend(b"data");
    long(&mut made, tone.len());
    made.extend(tone);
    made
}

/// A ZIP archive with one member of zeros, deflated.
fn archive_of_zeros(size: usize) -> Vec<u8> {
    let zeros = vec![0; size];
    let mut packing = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut packing, &zeros).unwrap();
    let packed = packing.finish().unwrap();
    let mut crc = flate2::Crc::new();
    crc.update(&zeros);
    let long = |number: usize| u32::try_from(number).unwrap().to_le_bytes();
    let mut member = vec![20, 0, 0, 0, 8, 0, 0, 0, 0, 0];
    member.extend(crc.sum().to_le_bytes());
    member.extend(long(packed.len()));
    member.extend(long(size));
    member.extend([1, 0, 0, 0]);
    let mut made = b"PK\x03\x04".to_vec();
    made.extend(&member);
    made.push(b'z');
    made.extend(&packed);
    let directory = made.len();
    made.extend(b"PK\x01\x02\x14\0");
    made.extend(&member);
    made.extend([0; 14]);
    made.push(b'z');
    let length = made.len() - directory;
    made.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    made.extend(long(length));
    made.extend(long(directory));
    made.extend([0, 0]);
    made
}
