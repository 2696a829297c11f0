#!/usr/bin/env bash
# Runs every fuzz target of the module for a while: scripts/fuzz.sh [TIME, such as 30s]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
time=${1:-30s}
go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./... | while read -r package; do
	go test -list '^Fuzz' "$package" </dev/null | { grep '^Fuzz' || true; } | while read -r target; do
		echo "== $package $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package" </dev/null
	done
done
