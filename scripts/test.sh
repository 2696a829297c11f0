#!/usr/bin/env bash
# Runs a command, by default all tests, with the databases that it needs, and ends those that it had to start.
#
#   scripts/test.sh                      go test -timeout 40m ./...
#   scripts/test.sh go test ./engine     any other command
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[[ $# -gt 0 ]] || set -- go test -timeout 40m ./...
names=$(scripts/databases.sh start)
eval "$names"
# shellcheck disable=SC2086 — a list of names
trap 'scripts/databases.sh stop $RESQ_TESTDB_STARTED' EXIT
"$@"
