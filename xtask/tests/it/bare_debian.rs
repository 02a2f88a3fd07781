//! A bare Debian file system, made of the files of packages that are installed
//! here: a shell, the core tools, git, curl, dpkg and what these depend on. No
//! compiler, no cargo. It is entered with namespaces of its own, so no root is
//! needed and nothing of the machine is seen but its network.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// What somebody has who has just installed a server; the rest are dependencies.
const PACKAGES: [&str; 19] = [
    "base-files",
    "base-passwd",
    "bash",
    "ca-certificates",
    "coreutils",
    "curl",
    "dash",
    "debianutils",
    "diffutils",
    "dpkg",
    "findutils",
    "git",
    "grep",
    "gzip",
    "libc-bin",
    "mount",
    "sed",
    "tar",
    "util-linux",
];

/// Makes the file system the root of a new namespace and runs `sh -c "$2"` in it.
const ENTER: &str = r#"
set -e
mount --bind "$1" "$1"
cd "$1"
mount -t proc proc proc
mount --rbind /dev dev
mount --rbind /sys sys
mkdir -p old
pivot_root . old
umount -l old
exec chroot . /bin/sh -c "$2"
"#;

pub(crate) struct BareDebian {
    folder: tempfile::TempDir,
}

impl BareDebian {
    /// Builds it; nothing when this machine is no Debian or forbids namespaces.
    #[expect(clippy::print_stderr, reason = "a skipped test must say so")]
    pub(crate) fn new() -> Option<Self> {
        let enough = run("unshare", &["-Urmpf", "true"]).is_some()
            && run("dpkg-query", &["-W", "dpkg"]).is_some();
        if !enough {
            assert!(std::env::var("CI").is_err(), "CI has Debian and namespaces");
            eprintln!("SKIPPED: no Debian here, or no user namespaces");
            return None;
        }
        let bare = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let names = closure();
        bare.copy(&names);
        bare.arrange(&names);
        Some(bare)
    }

    pub(crate) fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside.trim_start_matches('/'))
    }

    /// Runs a script inside, as its root, with nothing of our environment.
    pub(crate) fn run(&self, script: &str) -> Output {
        Command::new("unshare")
            .args(["-Urmpf", "--kill-child", "sh", "-c", ENTER, "enter"])
            .arg(self.folder.path())
            .arg(script)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", "/root")
            .output()
            .unwrap()
    }

    /// What a script says; it must succeed.
    #[track_caller]
    pub(crate) fn says(&self, script: &str) -> String {
        let output = self.run(script);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (said, complaints) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{script}\n{said}\n{complaints}");
        said
    }

    fn copy(&self, names: &BTreeSet<String>) {
        let mut words = vec!["--listfiles"];
        words.extend(names.iter().map(String::as_str));
        let files = run("dpkg-query", &words).unwrap();
        for folder in ["usr/bin", "usr/sbin", "usr/lib", "usr/lib64"] {
            fs::create_dir_all(self.path(folder)).unwrap();
        }
        for name in ["bin", "sbin", "lib", "lib64"] {
            std::os::unix::fs::symlink(format!("usr/{name}"), self.path(name)).unwrap();
        }
        let skip = |file: &&str| {
            let path = Path::new(file);
            ["/usr/share/doc/", "/usr/share/man/", "/usr/share/locale/"]
                .iter()
                .any(|start| file.starts_with(start))
                || !(path.is_symlink() || path.is_file())
        };
        let list: String = files
            .lines()
            .filter(|file| file.starts_with('/') && !skip(file))
            .map(|file| format!("{}\n", &file[1..]))
            .collect();
        let wanted = self.path("wanted");
        fs::write(&wanted, list).unwrap();
        let tar = format!(
            "tar -C / --no-recursion -cf - -T '{0}/wanted' 2>/dev/null | tar -C '{0}' --keep-directory-symlink --no-same-owner -xf -",
            self.folder.path().display()
        );
        assert!(
            run("sh", &["-c", &tar]).is_some(),
            "the files could not be copied"
        );
        fs::remove_file(wanted).unwrap();
    }

    /// What packages make only when they are set up.
    fn arrange(&self, names: &BTreeSet<String>) {
        for folder in [
            "proc",
            "dev",
            "sys",
            "tmp",
            "root",
            "etc",
            "var/lib/dpkg/info",
            "var/lib/dpkg/updates",
            "etc/ssl/certs",
        ] {
            fs::create_dir_all(self.path(folder)).unwrap();
        }
        let awk = self.path("usr/bin/awk");
        let _ = std::os::unix::fs::symlink("mawk", awk);
        fs::write(self.path("etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n").unwrap();
        fs::write(self.path("etc/group"), "root:x:0:\n").unwrap();
        fs::write(self.path("etc/hosts"), "127.0.0.1 localhost\n").unwrap();
        // So that dpkg knows what is there when our package asks for it.
        let mut words = vec!["--status"];
        words.extend(names.iter().map(String::as_str));
        let status = run("dpkg-query", &words).unwrap();
        fs::write(self.path("var/lib/dpkg/status"), status).unwrap();
        for name in names {
            for architecture in ["", ":amd64", ":arm64"] {
                let list = format!("var/lib/dpkg/info/{name}{architecture}.list");
                let _ = fs::copy(Path::new("/").join(&list), self.path(&list));
            }
        }
        self.says("ldconfig");
    }
}

/// The packages and everything they depend on, as far as it is installed.
fn closure() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut open: Vec<String> = PACKAGES.map(str::to_owned).to_vec();
    while let Some(name) = open.pop() {
        let Some(needs) = run(
            "dpkg-query",
            &[
                "-W",
                "-f",
                "${db:Status-Status}, ${Pre-Depends}, ${Depends}\n",
                &name,
            ],
        ) else {
            continue;
        };
        // Packages that others only mention are known here, too.
        let Some(needs) = needs.strip_prefix("installed,") else {
            continue;
        };
        if !names.insert(name) {
            continue;
        }
        for need in needs.split([',', '|', '\n']) {
            let need = need.split_whitespace().next().unwrap_or_default();
            let need = need.split(':').next().unwrap_or_default();
            if !need.is_empty() && !names.contains(need) {
                open.push(need.to_owned());
            }
        }
    }
    for compiler in ["rustc", "cargo", "gcc", "libc6-dev"] {
        assert!(!names.contains(compiler), "{compiler} is not bare");
    }
    names
}

fn run(program: &str, words: &[&str]) -> Option<String> {
    let output = Command::new(program).args(words).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then_some(text)
}
