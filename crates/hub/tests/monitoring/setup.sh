#!/bin/sh
# Puts Prometheus' promtool into the folder that is given, without installing the server:
# tests/it/monitoring.rs has it judge metrics and alert rules.
set -eu
mkdir -p "$1"
cd "$1"
apt-get update --quiet || true
apt-get download prometheus
dpkg-deb --extract prometheus_*.deb .
rm prometheus_*.deb
