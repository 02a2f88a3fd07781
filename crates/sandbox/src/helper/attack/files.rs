//! Attacks on files: what is outside, hidden or protected.

use std::{
    fs::{self, File, OpenOptions},
    os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink},
    path::Path,
};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::{Attack, Targets, Tried, tried};

/// The attack whose result only the caller can see.
pub(crate) const CREATE_OUTSIDE: &str = "create a file outside";
/// What it tries to leave in the folder around the worktree.
pub(crate) const MADE: &str = "made";

pub(super) const ATTACKS: &[Attack] = &[
    ("read a secret outside", |t| tried(fs::read(&t.secret))),
    ("read a secret through a link", read_through_link),
    ("read a secret through /proc/self/cwd", |t| {
        let way = format!("/proc/self/cwd/../{}", name(&t.secret));
        tried(fs::read(way))
    }),
    ("hard link a secret into the worktree", |t| {
        let inside = t.worktree.join("hard-link");
        let linked = fs::hard_link(&t.secret, &inside);
        let _ = fs::remove_file(inside);
        tried(linked)
    }),
    ("see the folder around the worktree", |t| {
        has(&t.outside, &name(&t.secret))
    }),
    ("learn the size of a secret", |t| {
        tried(fs::metadata(&t.secret))
    }),
    ("write outside", |t| {
        tried(OpenOptions::new().append(true).open(&t.secret))
    }),
    (CREATE_OUTSIDE, |t| {
        // Inside a private /tmp this works and reaches nothing; the caller looks.
        tried(fs::write(t.outside.join(MADE), "")).or(Err("not even inside".to_owned()))
    }),
    ("read the person's home", |t| match fs::read_dir(&t.home) {
        Ok(entries) => match entries.flatten().find(|entry| entry.path().is_file()) {
            Some(file) => tried(fs::read(file.path())),
            None => Err("no file in it".to_owned()),
        },
        Err(error) => Err(error.to_string()),
    }),
    ("read the password hashes", |_| {
        tried(fs::read("/etc/shadow"))
    }),
    ("change a system file", |_| {
        tried(OpenOptions::new().append(true).open("/etc/passwd"))
    }),
    ("create a system file", |_| {
        create(Path::new("/usr/bin/sandbox-self-test"))
    }),
    ("read a hidden file", |t| tried(fs::read(&t.hidden))),
    ("move a hidden file", |t| {
        moved(&t.hidden, &t.worktree.join("moved"))
    }),
    ("change a protected file", |t| {
        tried(OpenOptions::new().append(true).open(&t.protected))
    }),
    ("replace a protected file", |t| {
        let other = t.worktree.join("other");
        let _ = fs::write(&other, "");
        let result = moved(&other, &t.protected);
        let _ = fs::remove_file(other);
        result
    }),
    ("move a protected folder away", |t| {
        match t.protected.parent() {
            Some(folder) => moved(folder, &t.worktree.join("moved")),
            None => Err("no folder".to_owned()),
        }
    }),
    ("create a missing protected path", |t| create(&t.missing)),
    ("link a missing protected path", |t| {
        let linked = symlink("/etc/passwd", &t.missing);
        if linked.is_ok() {
            let _ = fs::remove_file(&t.missing);
        }
        tried(linked)
    }),
    ("make a set-uid file by chmod", |t| {
        let file = t.worktree.join("set-uid");
        let made = fs::write(&file, "")
            .and_then(|()| fs::set_permissions(&file, fs::Permissions::from_mode(0o4755)));
        let _ = fs::remove_file(file);
        tried(made)
    }),
    ("make a set-uid file by open", |t| {
        let file = t.worktree.join("set-uid");
        let made = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o4755)
            .open(&file);
        let _ = fs::remove_file(file);
        tried(made)
    }),
    ("make a device", |t| {
        let file = t.worktree.join("device");
        let made = mknodat(CWD, &file, FileType::CharacterDevice, Mode::RUSR, 0x0101);
        let _ = fs::remove_file(file);
        tried(made)
    }),
    ("open the memory device", |_| tried(File::open("/dev/mem"))),
    ("open a disk", open_disk),
    ("see /sys and control groups", |_| {
        has(Path::new("/sys"), "kernel")
    }),
    ("write to /dev", |_| create(Path::new("/dev/made"))),
];

fn read_through_link(targets: &Targets) -> Tried {
    let link = targets.worktree.join("link");
    symlink(&targets.secret, &link).map_err(|error| error.to_string())?;
    let read = fs::read(&link);
    let _ = fs::remove_file(link);
    tried(read)
}

/// Creates, and takes away again.
fn create(path: &Path) -> Tried {
    let made = OpenOptions::new().write(true).create_new(true).open(path);
    if made.is_ok() {
        let _ = fs::remove_file(path);
    }
    tried(made)
}

/// Moves, and moves back.
fn moved(from: &Path, to: &Path) -> Tried {
    let result = fs::rename(from, to);
    if result.is_ok() {
        let _ = fs::rename(to, from);
    }
    tried(result)
}

fn has(folder: &Path, name: &str) -> Tried {
    let mut entries = fs::read_dir(folder).map_err(|error| error.to_string())?;
    if entries.any(|entry| entry.is_ok_and(|entry| entry.file_name() == name)) {
        Ok(format!("{name} is there"))
    } else {
        Err(format!("{name} is not there"))
    }
}

fn open_disk(_: &Targets) -> Tried {
    for disk in ["sda", "vda", "nvme0n1", "xvda", "mmcblk0"] {
        if File::open(Path::new("/dev").join(disk)).is_ok() {
            return Ok(format!("opened {disk}"));
        }
    }
    Err("no disk can be opened".to_owned())
}

fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
