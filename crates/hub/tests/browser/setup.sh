#!/bin/sh
# Puts what drives the browser into a private folder. The browser itself is a
# system package. usage: setup.sh <dir>; safe to run again.
set -eu
dir=$1
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$dir"
cp "$here/package.json" "$dir/package.json"
(cd "$dir" && npm install --silent --no-audit --no-fund --ignore-scripts)
echo "the browser's driver is in $dir"
