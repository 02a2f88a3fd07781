//! From the archive and from the Debian package, in a bare Debian: the demo to
//! its merge, `init`, `up`. The binary is the one of this build; which older
//! systems the packaged one was tried on says docs/install.md.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use crate::bare_debian::BareDebian;

/// The packages, made of the binary that this build has made.
struct Packages {
    folder: tempfile::TempDir,
}

impl Packages {
    fn new() -> Self {
        let test = std::env::current_exe().unwrap();
        let binary = test.ancestors().nth(2).unwrap().join("codebutler");
        assert!(binary.exists(), "build it first: cargo build -p codebutler");
        // Packaged binaries are stripped; debug information would take minutes to pack.
        let folder = tempfile::tempdir().unwrap();
        let stripped = folder.path().join("codebutler");
        let strip = Command::new("strip")
            .arg("-o")
            .arg(&stripped)
            .arg(&binary)
            .status();
        assert!(strip.unwrap().success());
        Self::of(&stripped)
    }

    /// The same of a script that answers like the binary and is quickly packed.
    fn small(folder: &Path) -> Self {
        let binary = folder.join("codebutler");
        let script = "#!/bin/sh\ncase $1 in\n--version) echo codebutler 0.1.0 ;;\n\
                      man) mkdir -p \"$2\" && echo page > \"$2/codebutler.1\" ;;\n*) echo text ;;\nesac\n";
        fs::write(&binary, script).unwrap();
        fs::set_permissions(&binary, fs::Permissions::from_mode(0o755)).unwrap();
        Self::of(&binary)
    }

    fn of(binary: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
            .args(["dist", "--binary"])
            .arg(binary)
            .env("CARGO_TARGET_DIR", folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}");
        Self { folder }
    }

    fn dist(&self) -> PathBuf {
        self.folder.path().join("dist")
    }

    fn file(&self, ending: &str) -> PathBuf {
        let mut files = fs::read_dir(self.dist()).unwrap().flatten();
        let found = files.find(|file| file.file_name().to_string_lossy().ends_with(ending));
        found.unwrap_or_else(|| panic!("no {ending}")).path()
    }
}

/// A place to download from: Python's server, as a mirror has it.
struct Releases {
    server: Child,
    address: String,
}

impl Releases {
    fn new(packages: &Packages, work: &Path) -> Self {
        let latest = work.join("latest/download");
        fs::create_dir_all(&latest).unwrap();
        for ending in [".tar.gz", "SHA256SUMS"] {
            let file = packages.file(ending);
            fs::copy(&file, latest.join(file.file_name().unwrap())).unwrap();
        }
        let mut server = Command::new("python3")
            .args(["-u", "-m", "http.server", "--bind", "127.0.0.1", "0"])
            .current_dir(work)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let out = server.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        let port = line
            .split("port ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next());
        let address = format!("http://127.0.0.1:{}", port.unwrap());
        Self { server, address }
    }
}

impl Drop for Releases {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn install_script() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/install.sh");
    fs::read_to_string(path).unwrap()
}

/// The first quarter of an hour of somebody new: the demo, a repository, a team.
fn works(bare: &BareDebian) {
    assert!(bare.run("command -v cargo rustc cc").status.code() != Some(0));
    let said = bare.says("cd /root && codebutler demo --play --fast");
    assert!(said.contains("Merged #1"), "{said}");
    // The mailbox is a model server; nobody has to answer for a team to be ready.
    let said = bare.says(
        "set -e; cd /root; git init -q --bare origin.git -b main; git clone -q origin.git repo 2>&1; cd repo
         git config user.name ana; git config user.email ana@example.com
         echo true > check.sh; git add .; git commit -qm first; git push -q origin HEAD:main
         codebutler rehearsal mailbox /root/mail > /root/model.log 2>&1 & model=$!
         for i in $(seq 600); do grep -q '^ready ' /root/model.log && break; sleep 0.1; done
         url=$(sed -n 's/^ready //p' /root/model.log)
         codebutler init --yes --model-url $url --model any --check 'good=sh check.sh' 2>&1
         codebutler up --listen 127.0.0.1:0 > up.log 2>&1 & up=$!
         for i in $(seq 600); do grep -q '/login?code=' up.log && break; sleep 0.1; done
         kill $up; wait $up || true; kill $model; cat up.log",
    );
    assert!(
        said.contains("http://127.0.0.1:") && said.contains("/login?code="),
        "{said}"
    );
}

#[test]
fn the_archive_works_where_there_is_no_rust() {
    let Some(bare) = BareDebian::new() else {
        return;
    };
    let packages = Packages::new();
    let mirror = tempfile::tempdir().unwrap();
    let releases = Releases::new(&packages, mirror.path());
    fs::write(bare.path("install.sh"), install_script()).unwrap();
    let install = format!("CODEBUTLER_RELEASES={} sh /install.sh", releases.address);
    let said = bare.says(&install);
    assert!(
        said.contains("installed: /usr/local/bin/codebutler"),
        "{said}"
    );
    // A second time replaces it, also while it runs.
    let said = bare.says(&format!(
        "codebutler demo --fast >/dev/null 2>&1 & demo=$!; {install}; kill $demo; wait $demo; codebutler --version"
    ));
    assert!(said.contains("codebutler "), "{said}");
    works(&bare);
}

#[test]
fn the_debian_package_works_where_there_is_no_rust() {
    let Some(bare) = BareDebian::new() else {
        return;
    };
    let packages = Packages::new();
    fs::copy(packages.file(".deb"), bare.path("codebutler.deb")).unwrap();
    bare.says("dpkg -i /codebutler.deb");
    let files = bare.says("dpkg -L codebutler");
    for file in [
        "/usr/bin/codebutler",
        "/usr/share/man/man1/codebutler-init.1",
        "/usr/share/bash-completion/completions/codebutler",
        "/usr/share/doc/codebutler/copyright",
        "/usr/share/doc/codebutler/LICENSE-MIT",
    ] {
        assert!(files.lines().any(|line| line == file), "{file} in\n{files}");
    }
    works(&bare);
    bare.says("dpkg --purge codebutler && ! command -v codebutler");
}

#[test]
fn a_broken_download_installs_nothing() {
    let mirror = tempfile::tempdir().unwrap();
    let packages = Packages::small(mirror.path());
    let releases = Releases::new(&packages, mirror.path());
    let script = mirror.path().join("install.sh");
    fs::write(&script, install_script()).unwrap();
    let install = |prefix: &Path, more: &[&str]| {
        let output = Command::new("sh")
            .arg(&script)
            .arg("--prefix")
            .arg(prefix)
            .args(more)
            .env("CODEBUTLER_RELEASES", &releases.address)
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), told)
    };
    let archive = packages.file(".tar.gz");
    let served = mirror
        .path()
        .join("latest/download")
        .join(archive.file_name().unwrap());
    let mut bytes = fs::read(&served).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&served, &bytes).unwrap();
    let prefix = mirror.path().join("prefix");
    let (good, told) = install(&prefix, &[]);
    assert!(!good && told.contains("checksum"), "{told}");
    fs::write(
        mirror.path().join("latest/download/SHA256SUMS"),
        "nothing\n",
    )
    .unwrap();
    let (good, told) = install(&prefix, &[]);
    assert!(!good && told.contains("no package"), "{told}");
    let (good, told) = install(&prefix, &["--version", "9.9.9"]);
    assert!(!good && told.contains("cannot download"), "{told}");
    assert!(!prefix.exists(), "something was installed");
    fs::copy(&archive, &served).unwrap();
    fs::copy(
        packages.file("SHA256SUMS"),
        served.with_file_name("SHA256SUMS"),
    )
    .unwrap();
    let (good, told) = install(&prefix, &[]);
    assert!(good && prefix.join("bin/codebutler").exists(), "{told}");
}

#[test]
fn the_same_binary_gives_the_same_archive() {
    let scratch = tempfile::tempdir().unwrap();
    let sums = || fs::read_to_string(Packages::small(scratch.path()).file("SHA256SUMS")).unwrap();
    let archive = |sums: String| sums.lines().next().map(str::to_owned);
    let first = archive(sums());
    assert!(first.is_some());
    assert_eq!(first, archive(sums()));
}
