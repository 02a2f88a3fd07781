#!/bin/sh
# Installs CodeButler from a release archive: downloads it, compares its checksum
# and unpacks it below ~/.local (root: /usr/local). Nothing is installed when the
# checksum differs. Needs curl or wget, tar, gzip and sha256sum.
#
#   sh install.sh [--version 0.1.0] [--prefix DIR]
#
# CODEBUTLER_RELEASES is another place to download from, a company's mirror.
set -eu

releases=${CODEBUTLER_RELEASES:-https://github.com/codebutler/codebutler/releases}
version=
prefix=$HOME/.local
[ "$(id -u)" != 0 ] || prefix=/usr/local

fail() {
    echo "install.sh: $1" >&2
    exit 1
}

while [ $# -gt 0 ]; do
    case $1 in
        --version) version=${2:?--version needs a version, as in 0.1.0}; shift 2 ;;
        --prefix) prefix=${2:?--prefix needs a folder}; shift 2 ;;
        *) fail "unknown option $1; there are --version and --prefix" ;;
    esac
done

[ "$(uname -s)" = Linux ] || fail "there are packages for Linux only; with Rust: cargo install --path crates/codebutler"
case $(uname -m) in
    x86_64 | amd64) machine=x86_64 ;;
    aarch64 | arm64) machine=aarch64 ;;
    *) fail "there is no package for $(uname -m); with Rust: cargo install --path crates/codebutler" ;;
esac
command -v sha256sum >/dev/null || fail "sha256sum is missing; it comes with coreutils"

fetch() { # address, file
    if command -v curl >/dev/null; then
        curl --fail --silent --show-error --location --output "$2" "$1"
    elif command -v wget >/dev/null; then
        wget --quiet --output-document "$2" "$1"
    else
        fail "neither curl nor wget is installed"
    fi || fail "cannot download $1"
}

if [ -n "$version" ]; then
    from=$releases/download/v$version
else
    from=$releases/latest/download
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
fetch "$from/SHA256SUMS" "$work/SHA256SUMS"
line=$(grep -E "^[0-9a-f]{64}  codebutler-[0-9A-Za-z.+-]*-linux-$machine\.tar\.gz\$" "$work/SHA256SUMS" | head -n 1)
[ -n "$line" ] || fail "$from has no package for $machine"
archive=${line##* }
fetch "$from/$archive" "$work/$archive"
(cd "$work" && echo "$line" | sha256sum --check --status) ||
    fail "the checksum of $archive is wrong; nothing was installed. Try again, and report it if it stays so."

mkdir -p "$prefix" || fail "cannot write to $prefix; choose another folder with --prefix"
# The running binary is replaced, not overwritten: tar removes the old name first.
tar -xzf "$work/$archive" -C "$prefix" --strip-components=1 --no-same-owner --unlink-first ||
    fail "cannot unpack into $prefix; choose another folder with --prefix"
echo "installed: $prefix/bin/codebutler ($("$prefix/bin/codebutler" --version))"
case :$PATH: in
    *:"$prefix/bin":*) ;;
    *) echo "add it to your PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
command -v git >/dev/null || echo "git is missing: install it before you go on"
echo "next: codebutler demo"
