#!/bin/sh
# Puts Slack's own SDKs into a private folder: a Python venv and node modules.
# usage: setup.sh <dir>; safe to run again.
set -eu
dir=$1
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$dir"
if [ ! -x "$dir/venv/bin/python" ]; then
    python3 -m venv "$dir/venv"
fi
"$dir/venv/bin/pip" install --quiet --requirement "$here/requirements.txt"
cp "$here/package.json" "$dir/package.json"
(cd "$dir" && npm install --silent --no-audit --no-fund --ignore-scripts)
echo "SDKs are in $dir"
