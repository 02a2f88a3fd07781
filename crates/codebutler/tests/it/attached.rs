//! What people attach reaches the role that they speak to: on the page, in Slack, and as a
//! file of its own when it was pasted. Files that mean harm stay files.

use std::{fmt::Write as _, os::unix::fs::PermissionsExt};

use serde_json::Value;

use crate::team::{Team, says};

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
    let team = Team::start(KINDS).await;
    let files = kinds();
    let words = "what is in all of these?";
    let (status, answer) = team.say_with_files("", words, &borrowed(&files)).await;
    assert_eq!(status, 200, "{answer}");
    let root = answer["ts"].as_str().unwrap();
    let thread = team
        .until(root, "the answer", |thread| says(thread, "I have read all"))
        .await;
    assert_served_as_files(&team, &thread, &files).await;
    assert!(attached_as_sent(&team, &files));

    // What is too large is refused with a name; the thread stays as it was.
    let huge = vec![b'x'; 100 << 20];
    let (status, answer) = team
        .say_with_files(root, "and this?", &[("huge.log", &huge)])
        .await;
    assert_eq!(
        (status, answer["error"].as_str()),
        (413, Some("file_upload_size_restricted"))
    );
    let after = team.thread(root).await.unwrap();
    assert!(!says(&after, "and this?"), "{after}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_files_come_from_slack() {
    let team = Team::start_on_slack(KINDS).await;
    let (slack, ana) = team.slack_and_ana();
    let mut files = kinds();
    files.push(("huge.log", vec![b'x'; 100 << 20]));
    let words = "what is in all of these?";
    let root = slack.share_all(ana, &team.channel, words, &borrowed(&files));
    let thread = team
        .until(&root, "the answer", |thread| {
            says(thread, "I have read all")
        })
        .await;
    let (huge, kept) = files.split_last().unwrap();
    assert_served_as_files(&team, &thread, kept).await;
    assert!(attached_as_sent(&team, kept));
    assert!(
        team.log(&root, "pm")
            .contains("`huge.log` could not be brought here: That file is"),
        "the role is told of {}",
        huge.0
    );
}

/// A picture, a document, a log of 20 MB, a recording; then a picture that is a program of
/// a page, an archive that grows a thousandfold, and a page that calls itself a picture.
fn kinds() -> Vec<(&'static str, Vec<u8>)> {
    let line = "10:00:00 nothing special happened in this second of the night\n";
    let mut log = line.repeat((20 << 20) / line.len());
    log.push_str("10:00:01 ERROR: out of paper\n");
    let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert('svg ran')</script></svg>";
    let page = "<html><script>alert('page ran')</script></html>";
    vec![
        ("shot.png", PIXEL.to_vec()),
        ("manual.pdf", document("Press the green button")),
        ("night.log", log.into_bytes()),
        ("note.wav", recording()),
        ("logo.svg", svg.into()),
        ("bomb.zip", archive_of_zeros(64 << 20)),
        ("cat.png", page.into()),
    ]
}

fn borrowed<'a>(files: &'a [(&'a str, Vec<u8>)]) -> Vec<(&'a str, &'a [u8])> {
    files
        .iter()
        .map(|(name, bytes)| (*name, &**bytes))
        .collect()
}

/// What a browser gets runs nothing, and is what was sent.
async fn assert_served_as_files(team: &Team, thread: &Value, files: &[(&str, Vec<u8>)]) {
    let listed = thread["messages"][0]["files"].as_array().unwrap();
    for (name, bytes) in files {
        let file = listed.iter().find(|file| file["name"] == *name).unwrap();
        let answer = team.file(file["id"].as_str().unwrap()).await;
        let header = |name: &str| {
            let value = answer.headers().get(name);
            value.map_or("", |value| value.to_str().unwrap()).to_owned()
        };
        assert_eq!(header("x-content-type-options"), "nosniff", "{name}");
        assert_eq!(
            header("content-security-policy"),
            "default-src 'none'; sandbox",
            "{name}"
        );
        let shown = ["shot.png", "note.wav", "cat.png"].contains(name);
        assert_eq!(
            header("content-disposition").starts_with("inline"),
            shown,
            "{name}"
        );
        assert!(!header("content-type").contains("html"), "{name}");
        assert_eq!(answer.bytes().await.unwrap(), bytes, "{name}");
    }
    let root = thread["messages"][0]["ts"].as_str().unwrap();
    let page = team.page(&format!("c/{}/{root}", team.channel)).await;
    assert!(page.contains("manual.pdf") && page.contains("<audio"));
    assert!(
        !page.contains("<script>alert"),
        "a file's script is in the page"
    );
}

/// Whether the thread's folder has exactly these bytes, and nothing unpacked.
fn attached_as_sent(team: &Team, files: &[(&str, Vec<u8>)]) -> bool {
    let folder = team.scratch.root().join(".codebutler/attached");
    let threads = std::fs::read_dir(&folder).unwrap().flatten();
    let kept: Vec<_> = threads
        .filter(|thread| thread.path().is_dir())
        .flat_map(|thread| std::fs::read_dir(thread.path()).unwrap().flatten())
        .collect();
    kept.len() == files.len()
        && files.iter().all(|(name, bytes)| {
            let same = |path| std::fs::read(path).unwrap() == *bytes;
            kept.iter().any(|one| {
                let ours = one
                    .file_name()
                    .to_string_lossy()
                    .ends_with(&format!("-{name}"));
                ours && same(one.path())
            })
        })
}

/// A document of one page.
fn document(words: &str) -> Vec<u8> {
    let content = format!("BT /F1 24 Tf 72 700 Td ({words}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R \
         /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!(
            "<< /Length {} >>\nstream\n{content}\nendstream",
            content.len()
        ),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>".to_owned(),
    ];
    let mut made = "%PDF-1.4\n".to_owned();
    let mut places = String::new();
    for (index, object) in objects.iter().enumerate() {
        let _ = writeln!(places, "{:010} 00000 n ", made.len());
        let _ = write!(made, "{} 0 obj\n{object}\nendobj\n", index + 1);
    }
    let at = made.len();
    let _ = write!(
        made,
        "xref\n0 6\n0000000000 65535 f \n{places}trailer\n<< /Size 6 /Root 1 0 R >>\n\
         startxref\n{at}\n%%EOF\n"
    );
    made.into_bytes()
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
