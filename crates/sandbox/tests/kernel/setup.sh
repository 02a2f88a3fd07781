#!/bin/sh
# Fetches what run.sh needs: an emulator, a shell for the start, and Debian's kernel,
# which has control groups of the second version whatever the machine around it has.
set -eu
folder=$1
apt-get update --quiet
apt-get install --yes --quiet --no-install-recommends qemu-system-x86 busybox-static cpio
name=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-\)/\1/p' | head -n 1)
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
apt-get download --quiet "$name"
dpkg -x ./*.deb .
mv boot/vmlinuz-* vmlinuz
rm -rf ./*.deb boot lib usr
