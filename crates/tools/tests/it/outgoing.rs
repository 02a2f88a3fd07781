//! Files that leave for the thread.

use std::sync::Arc;

use butler_policy::{Redactor, Scope};
use butler_protocol::Secret;
use butler_tools::Attached;

use crate::fixture::Fixture;

#[test]
fn only_files_within_reach_leave_and_without_secrets() {
    let beside = tempfile::tempdir().unwrap();
    let all = beside.path().canonicalize().unwrap();
    let attached = Attached::of(all, "abc234");
    let shot = attached.keep("F1", "shot.png", b"\x89PNG").unwrap();
    let key = ["hush", "hush", "12345678"].join("-");
    let redactor = Redactor::new(&[Secret::new(key.clone())], &[]).unwrap();
    let fixture = Fixture::surrounded(|around| {
        around.attached = Some(attached.folder().to_owned());
        around.redactor = Some(Arc::new(redactor));
    });
    fixture.write("log.txt", format!("key {key} end\n"));
    fixture.write(".env", "A=1\n");
    fixture.write("empty.txt", "");
    let secret = fixture.outside("secret.txt", "hush");
    std::os::unix::fs::symlink(&secret, fixture.root.join("link.txt")).unwrap();
    let out = |path: &str| fixture.context.outgoing(None, path);

    let (name, bytes) = out("log.txt").unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert!(
        name == "log.txt" && text.contains("[REDACTED") && !text.contains(&key),
        "{text}"
    );
    // One byte of another encoding makes no picture of a text.
    let latin = [b"caf\xe9: ".as_slice(), key.as_bytes(), b"\n"].concat();
    fixture.write("latin.txt", latin);
    assert_eq!(out("latin.txt").unwrap().1, b"caf\xe9: [REDACTED:secret]\n");
    assert_eq!(out(shot.to_str().unwrap()).unwrap().1, b"\x89PNG");
    for path in [
        ".env",
        "empty.txt",
        "../secret.txt",
        "link.txt",
        "/etc/passwd",
        "none",
    ] {
        assert!(out(path).is_err(), "{path}");
    }
    let research = Some(Scope::Research);
    assert!(fixture.context.outgoing(research, "log.txt").is_err());
    let other = fixture.context.outgoing(research, shot.to_str().unwrap());
    assert!(
        other.is_err(),
        "who reads a part only sends of that part only"
    );
}
