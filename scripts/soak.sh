#!/usr/bin/env bash
# Runs the server under load with reloads, disconnects and a restart of a database of its own: scripts/soak.sh [TIME, such as 10m] [flags of bench/soak]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
time=${1:-10m}
[[ $# -eq 0 ]] || shift
make --no-print-directory build
go run ./bench/soak -resq bin/resq -time "$time" "$@"
