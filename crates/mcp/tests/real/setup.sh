#!/bin/sh
# Installs the real servers that tests/it/real.rs talks to, and the clients that talk to
# `codebutler mcp serve` in its tests, into the folder that is given.
set -eu
mkdir -p "$1"
cd "$1"
npm install --no-audit --no-fund --silent \
  @modelcontextprotocol/server-everything @modelcontextprotocol/server-filesystem \
  @modelcontextprotocol/server-memory @modelcontextprotocol/server-sequential-thinking \
  @modelcontextprotocol/server-github @modelcontextprotocol/server-postgres \
  @modelcontextprotocol/server-slack @upstash/context7-mcp @sentry/mcp-server \
  @notionhq/notion-mcp-server figma-developer-mcp \
  @modelcontextprotocol/sdk @modelcontextprotocol/inspector@2
python3 -m venv venv
venv/bin/pip install --quiet mcp mcp-server-git mcp-server-time mcp-server-fetch
