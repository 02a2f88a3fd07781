//! What is given to people without Rust: an archive and a Debian package of one
//! binary with its man pages, completions and licences, and their checksums.
//!
//! The binary is linked by zig against an old C library, so that it runs on
//! distributions older than the machine it was built on. The archive has the
//! shape of a prefix: unpacked into `/usr/local` or `~/.local` it is installed.

mod debian;
mod prefix;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    Place, parts, say,
    steps::{command, succeeds},
};

/// The oldest C library that the packaged binary runs with; Rust itself asks for it.
pub(crate) const OLDEST_GLIBC: &str = "2.17";

/// Builds everything into `target/dist`. A binary that is given is packaged as it is.
pub(crate) fn run(place: &Place, given: Option<&str>) -> Result<bool> {
    let binary = match given {
        Some(path) => fs::canonicalize(path).with_context(|| format!("no binary at {path}"))?,
        None => build(place)?,
    };
    let version = version(&binary)?;
    let out = place.target.join("dist");
    fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    let name = format!("codebutler-{version}-linux-{}", std::env::consts::ARCH);
    let folder = out.join(&name);
    prefix::fill(place, &binary, &folder)?;
    let archive = pack(&out, &name)?;
    let package = debian::pack(&out, &folder, &version)?;
    let sums = sums(&out, &[&archive, &package])?;
    say::heading("packages");
    for file in [archive, package, sums] {
        let bytes = fs::metadata(&file)?.len();
        say::line(&format!(
            "{:7.1} MB  {}",
            bytes as f64 / 1e6,
            file.display()
        ));
    }
    Ok(true)
}

/// Builds the binary that others can run.
fn build(place: &Place) -> Result<PathBuf> {
    // Who builds packages gets the linker or is told: nothing is skipped here.
    let asked = Place {
        root: place.root.clone(),
        target: place.target.clone(),
        parts: place.parts.clone(),
        ci: true,
    };
    ensure!(parts::see_to(&[parts::ZIG], &asked), "packages need zig");
    let tools = place.parts.join("zig/bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(
        std::iter::once(tools).chain(std::env::split_paths(&path).collect::<Vec<_>>()),
    )?;
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let floor = format!("{target}.{OLDEST_GLIBC}");
    let words = [
        "cargo",
        "zigbuild",
        "--profile",
        "dist",
        "--target",
        &floor,
        "--package",
        "codebutler",
        "--locked",
    ];
    let path = path.to_string_lossy();
    if !succeeds(&place.root, &words, &[("PATH", &path)])? {
        bail!("the binary could not be built");
    }
    Ok(place.target.join(target).join("dist/codebutler"))
}

/// The version that the binary itself says: `codebutler 0.1.0 (commit …)`.
fn version(binary: &Path) -> Result<String> {
    let told = output(Path::new("."), &[&binary.to_string_lossy(), "--version"])?;
    let version = told.split_whitespace().nth(1).map(str::to_owned);
    version.with_context(|| format!("{} says no version", binary.display()))
}

/// The archive. The same files give the same bytes, whoever packs them and when.
fn pack(out: &Path, name: &str) -> Result<PathBuf> {
    let archive = format!("{name}.tar.gz");
    let words = [
        "tar",
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--mtime=@0",
        "--use-compress-program=gzip -9n",
        "-cf",
        &archive,
        name,
    ];
    output(out, &words)?;
    Ok(out.join(archive))
}

/// The checksums, in the form that `sha256sum --check` reads.
fn sums(out: &Path, files: &[&PathBuf]) -> Result<PathBuf> {
    let names: Vec<_> = files.iter().filter_map(|file| file.file_name()).collect();
    let mut words = vec!["sha256sum"];
    words.extend(names.iter().filter_map(|name| name.to_str()));
    let path = out.join("SHA256SUMS");
    fs::write(&path, output(out, &words)?)?;
    Ok(path)
}

/// What a program prints; its failure is an error with its own words.
fn output(place: &Path, words: &[&str]) -> Result<String> {
    let output = command(place, words, &[])?.output();
    let output = output.with_context(|| format!("cannot run {}", words[0]))?;
    ensure!(
        output.status.success(),
        "{} failed: {}",
        words[0],
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
