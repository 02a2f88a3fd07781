//! From `init --yes` to green checks without a manual step, on a machine whose
//! caches are empty: each ecosystem's real tools against registries of our own.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use butler_testkit::ScratchRepo;
use serde_json::{Value, json};

use crate::{
    registries::Registries,
    scratch::{Ran, Scratch, git},
};

/// Whether a tool is here; a missing one is loudly skipped, and fails in CI
/// (`xtask/src/parts.rs`).
pub(crate) fn is_here(program: &str) -> bool {
    let here = Command::new(program).arg("--version").output().is_ok()
        || Command::new(program).arg("version").output().is_ok();
    told(here, program)
}

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn told(here: bool, what: &str) -> bool {
    assert!(
        here || std::env::var_os("CI").is_none(),
        "{what} is missing"
    );
    if !here {
        eprintln!("SKIPPED: {what} is not installed");
    }
    here
}

/// The files of a project in an ecosystem.
pub(crate) fn project(ecosystem: &str, registries: &Registries) -> Vec<(&'static str, String)> {
    let address = &registries.address;
    let package = |extra: &str| {
        format!(
            r#"{{"name": "app", "version": "1.0.0", "scripts": {{"test": "node --test"}}, "dependencies": {{"twice": "1.0.0"}}{extra}}}"#
        )
    };
    let node = |lock: Option<&'static str>| {
        let mut files = vec![
            ("package.json", package("")),
            ("app.js", "exports.four = () => require('twice')(2);\n".to_owned()),
            (
                "app.test.js",
                "const { test } = require('node:test');\nconst assert = require('node:assert');\ntest('four', () => assert.equal(require('./app').four(), 4));\n"
                    .to_owned(),
            ),
        ];
        files.extend(lock.map(|name| (name, registries.file(name))));
        files
    };
    let python = || {
        vec![
            (
                "pyproject.toml",
                "[build-system]\nrequires = [\"tiny-backend\"]\nbuild-backend = \"tiny_backend\"\n[project]\nname = \"app\"\nversion = \"1.0.0\"\nrequires-python = \">=3.8\"\ndependencies = [\"twice\"]\n[project.optional-dependencies]\ntest = [\"pytest\"]\n"
                    .to_owned(),
            ),
            ("src/app/__init__.py", "from twice import twice\n\ndef four():\n    return twice(2)\n".to_owned()),
            ("tests/test_four.py", "from app import four\n\ndef test_four():\n    assert four() == 4\n".to_owned()),
        ]
    };
    match ecosystem {
        "cargo" => vec![
            (
                "Cargo.toml",
                "[package]\nname = \"app\"\nversion = \"1.0.0\"\nedition = \"2021\"\n[dependencies]\ntwice = { version = \"1\", registry = \"ours\" }\n"
                    .to_owned(),
            ),
            (".cargo/config.toml", format!("[registries.ours]\nindex = \"sparse+{address}/cargo/\"\n")),
            (
                "src/lib.rs",
                "pub fn four() -> i32 {\n    twice::twice(2)\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn four() {\n        assert_eq!(super::four(), 4);\n    }\n}\n"
                    .to_owned(),
            ),
            (".gitignore", "/target\n".to_owned()),
        ],
        "go" => vec![
            ("go.mod", "module example.com/app\n\ngo 1.18\n\nrequire example.com/twice v1.0.0\n".to_owned()),
            ("go.sum", registries.file("go.sum")),
            ("app.go", "package app\n\nimport \"example.com/twice\"\n\nfunc Four() int { return twice.Twice(2) }\n".to_owned()),
            (
                "app_test.go",
                "package app\n\nimport \"testing\"\n\nfunc TestFour(t *testing.T) {\n\tif Four() != 4 {\n\t\tt.Fatal(Four())\n\t}\n}\n"
                    .to_owned(),
            ),
        ],
        "npm with a lock" => node(Some("package-lock.json")),
        "npm without a lock" => node(None),
        "pnpm" => node(Some("pnpm-lock.yaml")),
        "yarn 1" => node(Some("yarn.lock")),
        // As `yarn set version` leaves a project: the program is part of it.
        "yarn" => {
            let mut files = node(None);
            files.push((
                ".yarnrc.yml",
                "yarnPath: .yarn/releases/yarn.cjs\nunsafeHttpWhitelist:\n  - 127.0.0.1\n".to_owned(),
            ));
            files.push((".yarn/releases/yarn.cjs", fs::read_to_string(todays_yarn()).unwrap()));
            files.push((
                ".gitignore",
                ".pnp.*\n.yarn/*\n!.yarn/releases\n".to_owned(),
            ));
            files
        }
        "pip" | "uv" => python(),
        other => panic!("no project for {other}"),
    }
}

/// A repository with these files, on a machine that has these registries.
fn repository(files: &[(&'static str, String)]) -> Scratch {
    let scratch = Scratch::new();
    for (name, text) in files {
        scratch.write(name, text);
    }
    git(&scratch.root(), &["add", "--all"]);
    git(&scratch.root(), &["commit", "--quiet", "-m", "first"]);
    scratch
}

fn init(scratch: &Scratch, registries: &Registries) -> Ran {
    let mut command = scratch.codebutler(&["init", "--yes"]);
    command.envs(registries.variables());
    command.env("HOME", scratch.home().join("person"));
    for name in ["RUSTUP_HOME", "PYENV_ROOT"] {
        let told = std::env::var_os(name);
        let usual = std::env::home_dir().map(|home| match name {
            "RUSTUP_HOME" => home.join(".rustup"),
            _ => home.join(".pyenv"),
        });
        if let Some(place) = told
            .map(Into::into)
            .or(usual)
            .filter(|place| place.is_dir())
        {
            command.env(name, place);
        }
    }
    crate::scratch::ran(&mut command)
}

fn written(scratch: &Scratch) -> Value {
    let text = scratch.read(".codebutler/config.json");
    let json: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    serde_json::from_str(&json.join("\n")).unwrap()
}

/// Everything is found, prepared, tried and green; a second time in another
/// folder nobody asks a registry.
fn green(ecosystem: &str, tool: &str, prepare: &[&str]) {
    if is_here(tool) {
        green_with(&Registries::start(), ecosystem, prepare);
    }
}

/// The same inside a company: the packages are behind its proxy, signed by its own
/// authority, and the machine config names that authority.
fn green_in_a_company(ecosystem: &str, tool: &str, prepare: &[&str]) {
    if !is_here(tool) {
        return;
    }
    let registries = Registries::start_in_a_company();
    green_with(&registries, ecosystem, prepare);
    let asked_for = registries.proxy.unwrap().asked_for();
    assert!(
        asked_for.iter().any(|name| name == "packages.example:443"),
        "{asked_for:?}"
    );
}

fn green_with(registries: &Registries, ecosystem: &str, prepare: &[&str]) {
    let mut files = project(ecosystem, registries);
    match ecosystem {
        "uv" => files.push(("uv.lock", uv_lock(&files, registries))),
        "yarn" => {
            let command = ["node", ".yarn/releases/yarn.cjs", "install"];
            let lock = locked(&command, "yarn.lock", &files, registries);
            files.push(("yarn.lock", lock));
        }
        _ => {}
    }
    let scratch = repository(&files);
    if let Some(proxy) = &registries.proxy {
        let authority = scratch.home().join("company.pem");
        scratch.machine(&json!({"network": {"caFile": authority}}).to_string());
        fs::write(authority, &proxy.authority).unwrap();
    }
    registries.asked();
    let first = init(&scratch, registries);
    assert_eq!(first.code, 0, "{first:?}");
    assert!(registries.asked() > 0, "the caches were empty: {first:?}");
    let config = written(&scratch);
    assert_eq!(config["prepare"], json!(prepare), "{first:?}");
    assert!(config["checks"]["test"].is_string(), "{first:?}");
    for word in ["is red", "left out", "does not work"] {
        assert!(!first.err.contains(word), "{ecosystem}: {}", first.err);
    }
    assert_eq!(git_status(&scratch.root()), "", "nothing of it is a change");
    // Another checkout of the same repo.
    let branches = scratch.root().join(".codebutler/branches");
    git(
        &scratch.root(),
        &[
            "worktree",
            "remove",
            "--force",
            "--force",
            ".codebutler/branches/_checks",
        ],
    );
    assert!(!branches.join("_checks").exists());
    fs::remove_file(scratch.root().join(".codebutler/config.json")).unwrap();
    let again = init(&scratch, registries);
    assert_eq!(again.code, 0, "{again:?}");
    assert_eq!(registries.asked(), 0, "no network: {again:?}");
    assert_eq!(written(&scratch), config, "{again:?}");
}

fn git_status(root: &Path) -> String {
    let output = Command::new("git")
        .args([
            "status",
            "--porcelain",
            "--",
            ".",
            ":!.codebutler",
            ":!.gitignore",
        ])
        .current_dir(root)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The program that projects bring along, where `CODEBUTLER_YARN_DIR` has it.
fn todays_yarn() -> PathBuf {
    let folder = std::env::var_os("CODEBUTLER_YARN_DIR").unwrap_or_default();
    Path::new(&folder).join("node_modules/@yarnpkg/cli-dist/bin/yarn.js")
}

/// What `uv lock` writes, made by the real one.
pub(crate) fn uv_lock(files: &[(&'static str, String)], registries: &Registries) -> String {
    locked(&["uv", "lock"], "uv.lock", files, registries)
}

/// The lock file that a command writes.
fn locked(
    command: &[&str],
    name: &str,
    files: &[(&'static str, String)],
    registries: &Registries,
) -> String {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let cache = folder.path().join("cache");
    let mut locking = Command::new(command[0]);
    locking
        .args(&command[1..])
        .current_dir(folder.path())
        .envs(registries.variables())
        .env("UV_CACHE_DIR", &cache)
        .env("YARN_GLOBAL_FOLDER", cache)
        // Where `CI` is set, yarn makes no new lock.
        .env("YARN_ENABLE_IMMUTABLE_INSTALLS", "false");
    if let Some(proxy) = &registries.proxy {
        let authority = folder.path().join("company.pem");
        fs::write(&authority, &proxy.authority).unwrap();
        for name in ["SSL_CERT_FILE", "YARN_HTTPS_CA_FILE_PATH"] {
            locking.env(name, &authority);
        }
        locking.env("YARN_HTTPS_PROXY", proxy.address());
    }
    let locked = locking.output().unwrap();
    assert!(locked.status.success(), "{locked:?}");
    fs::read_to_string(folder.path().join(name)).unwrap()
}

#[test]
fn rust_with_crates() {
    green("cargo", "cargo", &["cargo fetch"]);
}

#[test]
fn go_modules() {
    green("go", "go", &["go mod download"]);
}

#[test]
fn npm_with_a_lock() {
    green("npm with a lock", "npm", &["npm ci"]);
}

#[test]
fn npm_without_a_lock() {
    green(
        "npm without a lock",
        "npm",
        &["npm install --no-package-lock"],
    );
}

#[test]
fn pnpm() {
    green("pnpm", "pnpm", &["pnpm install --frozen-lockfile"]);
}

#[test]
fn yarn_1() {
    green("yarn 1", "yarn", &["yarn install --frozen-lockfile"]);
}

#[test]
fn yarn_of_today() {
    let release = todays_yarn();
    if is_here("yarn") && told(release.exists(), "@yarnpkg/cli-dist") {
        green("yarn", "yarn", &["yarn install --immutable"]);
    }
}

#[test]
fn pip_with_a_test_extra() {
    let prepare = [
        "python3 -m venv .venv",
        ".venv/bin/pip install -e '.[test]'",
    ];
    green("pip", "python3", &prepare);
}

#[test]
fn uv() {
    green("uv", "uv", &["uv sync --locked --extra test"]);
}

#[test]
fn yarn_of_today_in_a_company() {
    let release = todays_yarn();
    if is_here("yarn") && told(release.exists(), "@yarnpkg/cli-dist") {
        green_in_a_company("yarn", "yarn", &["yarn install --immutable"]);
    }
}

#[test]
fn npm_in_a_company() {
    green_in_a_company("npm with a lock", "npm", &["npm ci"]);
}

#[test]
fn pnpm_in_a_company() {
    green_in_a_company("pnpm", "pnpm", &["pnpm install --frozen-lockfile"]);
}

#[test]
fn yarn_1_in_a_company() {
    green_in_a_company("yarn 1", "yarn", &["yarn install --frozen-lockfile"]);
}

#[test]
fn rust_in_a_company() {
    green_in_a_company("cargo", "cargo", &["cargo fetch"]);
}

#[test]
fn go_in_a_company() {
    green_in_a_company("go", "go", &["go mod download"]);
}

#[test]
fn pip_in_a_company() {
    let prepare = [
        "python3 -m venv .venv",
        ".venv/bin/pip install -e '.[test]'",
    ];
    green_in_a_company("pip", "python3", &prepare);
}

#[test]
fn uv_in_a_company() {
    green_in_a_company("uv", "uv", &["uv sync --locked --extra test"]);
}

/// The files of another repository, from where the default branch says.
#[test]
fn a_submodule() {
    let scratch = Scratch::new();
    let inner = ScratchRepo::new();
    fs::write(inner.root().join("answer.sh"), "echo 4\n").unwrap();
    git(inner.root(), &["add", "--all"]);
    git(inner.root(), &["commit", "--quiet", "-m", "inner"]);
    scratch.write(
        "Makefile",
        "test:\n\ttest \"$$(sh lib/inner/answer.sh)\" = 4\n",
    );
    // A clone from this disk may name others on it.
    let here = scratch.root();
    git(
        &here,
        &["remote", "add", "origin", inner.root().to_str().unwrap()],
    );
    let url = inner.root().to_str().unwrap().to_owned();
    git(
        &here,
        &[
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
            &url,
            "lib/inner",
        ],
    );
    git(&here, &["add", "--all"]);
    git(&here, &["commit", "--quiet", "-m", "first"]);
    git(&here, &["update-ref", "refs/remotes/origin/main", "HEAD"]);
    let run = crate::scratch::ran(&mut scratch.codebutler(&["init", "--yes"]));
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(written(&scratch)["checks"]["test"], "make test", "{run:?}");
    assert!(!run.err.contains("is red"), "{run:?}");
    let checkout = here.join(".codebutler/branches/_checks");
    assert!(checkout.join("lib/inner/answer.sh").exists());
    assert!(
        !checkout.join("lib/inner/.git").exists(),
        "no repository inside"
    );
    let status = Command::new("git")
        .args(["status", "--porcelain"])
        .current_dir(&checkout)
        .output();
    assert_eq!(String::from_utf8(status.unwrap().stdout).unwrap(), "");
}
